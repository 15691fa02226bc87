"""check_wb.py - what the references share: rounding, sums, bounds, views, seeds."""

import os
import sys
import types

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../reference"))
import wb  # noqa: E402
from call import Call, make_call  # noqa: E402

checks = wb.Checks()


def bits(value, E):
    return int(wb.encode(np.array([value]), E).view(f"u{2 if E != 'f32' else 4}")[0])


def check_rounding():
    for value, want in [
        (1.0, 0x3F80),
        (1 + 2.0**-8, 0x3F80),  # a tie rounds to even: down
        (1 + 3 * 2.0**-8, 0x3F82),  # and up
        (1 + 2.0**-8 + 2.0**-20, 0x3F81),
        (-0.0, 0x8000),
        (3.4e38, 0x7F80),  # above the largest bf16: infinity
        (np.inf, 0x7F80),
        (2.0**-133, 0x0001),
    ]:
        checks.ok(f"bf16 of {value!r} is {want:#06x}", bits(value, "bf16") == want)
    nan = wb.decode(wb.encode(np.array([np.nan]), "bf16"), "bf16")
    checks.ok("bf16 keeps NaN", bool(np.isnan(nan[0])))
    checks.ok("f16 of 65536 is infinity", bits(65536.0, "f16") == 0x7C00)
    rng = np.random.default_rng(1)
    values = rng.standard_normal(1000)
    for E in ("f32", "f16", "bf16"):
        back = wb.decode(wb.encode(values, E), E)
        error = np.abs(back - values) / np.abs(values)
        unit = wb.TYPES[E]["unit"]
        small = unit / 4 < error.max() <= unit * 1.001
        checks.ok(f"{E} has an error of at most its unit", small)
        checks.ok(f"{E} keeps its own values", np.array_equal(wb.rounded(back, E), back))


def check_sums():
    values = np.random.default_rng(2).standard_normal((3, 1000)) ** 2
    checks.close("total is a sum", wb.total(values, 0)[0], values.sum(0))
    checks.ok("total keeps the axis", wb.mean(values).shape == (3, 1))
    with wb.half_sums("f16"):
        half = wb.total(values)
    error = np.max(np.abs(half / values.sum(-1, keepdims=True) - 1))
    checks.ok("half_sums loses digits", 1e-5 < error < 1e-2)
    checks.ok("half_sums ends", np.array_equal(wb.total(values)[:, 0], values.sum(-1)))


def check_bounds():
    y = np.array([1.0, -2.0, 0.0])
    tol = wb.bound(y, n=9).tolerance(y, "f32")
    checks.close("f32 bound", tol, np.abs(y) * 12 * 2.0**-24 + [0, 0, 2.0**-150], 1e-6)
    tol = wb.bound(y, c=0).tolerance(y, "f16")
    checks.close("f16 bound near zero: half of the smallest step", tol[2], 2.0**-25, 1e-6)
    exact = wb.bound(exact=True)
    checks.ok("an exact bound is zero", not exact.tolerance(y, "bf16").any())
    text = wb.bound(y, c=8, n=1000).text("bf16")
    checks.ok(
        "a bound in words", text == "|got-y| <= 2^-8|y| + (8 + sqrt(1000)) 2^-24 M, M = |y|"
    )


def check_views():
    call = Call("f32", 1)
    call.buffer("packed", np.arange(24.0))
    call.view("up", "in", "packed", (2, 2, 3), offset=3, stride=6)
    want = [[[3, 4, 5], [9, 10, 11]], [[15, 16, 17], [21, 22, 23]]]
    checks.ok("a view has an offset and a stride", np.array_equal(call.array("up"), want))
    call.out("out", (2, 3), at="x")
    call.input("x", np.ones((2, 3)))
    checks.ok("in place is one buffer", call.args["out"]["buffer"] == "x")
    checks.ok("an output starts as NaN", bool(np.isnan(call.array("out")).all()))
    checks.ok("its input has values", np.array_equal(call.array("x"), np.ones((2, 3))))
    call.input("y", np.full((2, 2), 7.0), skew=3)
    checks.ok("a skewed input starts after 3 elements", call.args["y"]["offset"] == 3)
    checks.ok("and has its values", np.array_equal(call.array("y"), np.full((2, 2), 7.0)))
    call.null("dres")
    checks.ok("a NULL argument is None", call.array("dres") is None)


def check_off_alignment():
    call = Call("f32", 1, ["x", "dw"])
    call.out("out", (2, 3), at="x")
    call.input("x", np.arange(6.0).reshape(2, 3))
    call.acc("dw", (4,))
    call.out("y", (2, 3))
    starts = [call.args[name]["offset"] for name in ("out", "x", "dw", "y")]
    checks.ok("off= moves an argument, and what shares its buffer", starts == [1, 1, 1, 0])
    checks.ok("but not its values", np.array_equal(call.array("x").ravel(), np.arange(6.0)))
    past = call.memory("x", [[5, 6], [-1, 0]])
    right = past[0, 0] == 5 and np.isnan(past[0, 1]) and past[1, 1] == 0
    checks.ok("memory is what lies there, NaN outside of the buffer", bool(right))


def check_seeds():
    op = types.ModuleType("op")
    op.f = lambda x, R, eps: None
    op.f_data = lambda call, R, eps=0.1: call.input("x", call.normal((R, 4)))
    case = {"name": "n", "at": "cases:1", "function": "f", "dtype": "f32", "off": []}
    case["keys"] = {"R": 3}

    def x(seed=1, data_set="a", lab="lab"):
        return make_call(op, case, lab, seed, data_set).array("x")

    checks.ok("equal seeds give equal data", np.array_equal(x(), x()))
    for what, other in [("seed", x(2)), ("set", x(1, "b")), ("lab", x(1, "a", "bal"))]:
        checks.ok(f"another {what} gives other data", not np.array_equal(x(), other))
    eps = make_call(op, case, "lab", 1, "a").scalars["eps"]
    checks.ok("scalars are what a C float holds", eps == float(np.float32(0.1)))


check_rounding()
check_sums()
check_bounds()
check_views()
check_off_alignment()
check_seeds()
checks.done()
