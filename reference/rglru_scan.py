"""rglru_scan.py - parts 06.4 to 06.6 of lab 06 in float64: the scan, the fused pass and the
step of one token. The contract is labs/lab06_rglru/rglru.h; rglru.py gathers the lab.
"""


def check(checks):
    """what reference/rglru.py checks of this file"""
