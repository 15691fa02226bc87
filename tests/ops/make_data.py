"""make_data.py - inputs and expected outputs of tests/ops/cases, for the program ops.c.

    python tests/ops/make_data.py OUT [--seed 0x5eed]

The files also work on a computer without Python.
"""

import argparse
import os
import sys

import numpy as np

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
sys.path.insert(0, os.path.join(ROOT, "reference"))
import dump  # noqa: E402
import ops  # noqa: E402
import wb  # noqa: E402
from call import make_call  # noqa: E402
from cases import read_cases  # noqa: E402

parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
parser.add_argument("out", help="folder for the tensors")
parser.add_argument("--seed", type=lambda s: int(s, 0), default=0x5EED)
args = parser.parse_args()

os.makedirs(args.out, exist_ok=True)
cases = read_cases(os.path.join(ROOT, "tests/ops/cases"))
try:
    for case in cases.values():
        call = make_call(ops, case, "ops", args.seed, "a")
        want, _ = dump.expected(ops, case, call)
        want = {name: (np.float64(y), *rest) for name, (y, *rest) in want.items()}
        dump.write_inputs(args.out, case, call, args.seed, "a")
        dump.write_wants(args.out, case, want, "a")
except wb.Broken as error:
    sys.exit(f"make_data: {error}")
with open(os.path.join(args.out, "names"), "w", encoding="utf-8") as names:
    names.writelines(f"{name}\n" for name in cases)
print(f"{len(cases)} cases of the given ops in {args.out}")
