"""rglru.py - lab 06 in float64. The contract is labs/lab06_rglru/rglru.h.

    python reference/rglru.py       checks the gradients against finite differences

rglru_block.py has the functions around the scan (parts 06.1 to 06.3), rglru_scan.py the
scan (06.4), rglru_fused.py the fused pass (06.5), rglru_step.py the step (06.6).
rglru_mistakes.py (06.1, 06.2), rglru_gates_mistakes.py (06.3), rglru_scan_mistakes.py
(06.4) and rglru_fused_mistakes.py (06.5, 06.6) have the known mistakes.
"""

import numpy as np

import wb
from rglru_block import *
from rglru_fused import *
from rglru_fused_mistakes import *
from rglru_gates_mistakes import *
from rglru_mistakes import *
from rglru_scan import *
from rglru_scan_mistakes import *
from rglru_step import *

# --- checks of this file ----------------------------------------------------------------


def check_block_linear(checks):
    rng, (R, G, M) = np.random.default_rng(6), (4, 2, 3)
    c, past, dpx, dpa, px, pa, dc = (rng.standard_normal((R, G, M)) for _ in range(7))
    wx, wa, dwx, dwa = (rng.standard_normal((G, M, M)) for _ in range(4))
    bx, ba, dbx, dba = (rng.standard_normal((G, M)) for _ in range(4))

    def loss():
        block_linear_forward(px, pa, c, wx, bx, wa, ba, R, G, M)
        return np.sum(px * dpx) + np.sum(pa * dpa) + np.sum(c * past)

    start = [d.copy() for d in (dwx, dbx, dwa, dba)]
    block_linear_backward(dc, dwx, dbx, dwa, dba, past, dpx, dpa, c, wx, wa, R, G, M)
    checks.gradient("block_linear: dc", loss, c, dc)
    for name, at, d, d0 in zip(
        ("wx", "bx", "wa", "ba"), (wx, bx, wa, ba), (dwx, dbx, dwa, dba), start
    ):
        checks.gradient(f"block_linear: d{name}, added to", loss, at, d - d0)


def check_conv1d(width, checks):
    rng, (B, T, C) = np.random.default_rng(width), (2, 9, 3)
    x, dout, out, dx = (rng.standard_normal((B, T, C)) for _ in range(4))
    w, dw = (rng.standard_normal((C, width)) for _ in range(2))
    bias, dbias = rng.standard_normal(C), np.zeros(C)
    pos = np.array([[0, 1, 2, 3, 4, 0, 0, 1, 2], np.arange(9)])

    def loss():
        conv1d_forward(out, None, x, w, bias, pos, None, B, T, C, width, C)
        return np.sum(out * dout)

    start = dw.copy()
    conv1d_backward(dx, dw, dbias, dout, x, w, pos, B, T, C, width, C)
    checks.gradient(f"conv1d of width {width}: dx", loss, x, dx)
    checks.gradient(f"conv1d of width {width}: dw, added to", loss, w, dw - start)
    checks.gradient(f"conv1d of width {width}: dbias", loss, bias, dbias)


def check_ring(checks):
    """several calls with the ring give the outputs of one"""
    rng, (B, T, C, width) = np.random.default_rng(2), (2, 11, 3, 4)
    x, out, part = (rng.standard_normal((B, T, C)) for _ in range(3))
    w, bias, ring = rng.standard_normal((C, width)), rng.standard_normal(C), None
    ring = np.full((B, width, C), np.nan)
    pos = np.array([np.arange(11), [0, 1, 2, 0, 1, 2, 3, 4, 5, 6, 7]])
    conv1d_forward(out, None, x, w, bias, pos, None, B, T, C, width, C)
    for t, end in ((0, 2), (2, 3), (3, 5), (5, 11)):
        conv1d_forward(
            part[:, t:end],
            ring,
            x[:, t:end],
            w,
            bias,
            pos[:, t:end],
            None,
            B,
            end - t,
            C,
            width,
            C,
        )
    checks.close("conv1d: a sequence in four calls with the ring", part, out)


def check_gates(checks):
    rng, (B, T, C) = np.random.default_rng(3), (2, 4, 3)
    c, px, pa, da, dz, a, z, dc, dpx, dpa = (
        rng.standard_normal((B, T, C)) for _ in range(10)
    )
    a_param, da_param = rng.standard_normal(C), rng.standard_normal(C)
    pos = np.array([[0, 1, 0, 1], [3, 4, 5, 6]])

    def loss():
        rglru_gates_forward(a, z, c, px, pa, a_param, pos, B, T, C)
        return np.sum(a * da) + np.sum(z * dz)

    start = da_param.copy()
    rglru_gates_backward(dc, dpx, dpa, da_param, da, dz, c, px, pa, a_param, pos, B, T, C)
    for name, at, d in (("c", c, dc), ("px", px, dpx), ("pa", pa, dpa)):
        checks.gradient(f"gates: d{name}", loss, at, d)
    checks.gradient("gates: da_param, added to", loss, a_param, da_param - start)
    loss()
    kept = (positions(pos, B, T) > 0)[:, :, None]
    gx = sigmoid(px)
    checks.close("gates: a^2 + m^2 = 1", kept * (a**2 + (z / gx / c) ** 2), kept + 0 * a)


if __name__ == "__main__":
    checks = wb.Checks()
    check_block_linear(checks)
    check_conv1d(2, checks)
    check_conv1d(4, checks)
    check_conv1d(8, checks)
    check_ring(checks)
    check_gates(checks)
    check_scan(checks)
    check_fused(checks)
    check_steps(checks)
    checks.done()
