"""wb.py - what all references share: element types, sums, tolerances, checks.

A reference file such as rmsnorm.py defines, for each contract function X,

    X(out, rstd, x, w, R, C, eps, offset)   the formula in float64, with the arguments of
                                            the C contract except workspace and stream. It
                                            fills its outputs and adds to its `acc`s.
    X_data(call, R, C, eps=1e-5, ...)       makes the arguments of one case. Its keywords
                                            are the keys that a line of the cases file may
                                            use.
    X_bounds(same arguments as X)           {output: bound(...)}, the error model.
    X_mistakes(same arguments as X)         optional: yields (cause, words, {output: what
                                            a kernel with that mistake computes}).

Arguments are passed by name, so each function names only those that it needs. A last
argument `E` is the element type. X_bounds and X_mistakes may take `k_before`, the
contents of the inout argument k before the call, and X_mistakes may take `memory`, see
Call.memory in call.py. cases.py reads the cases, dump.py writes their data to files.
"""

import functools
import inspect

import numpy as np


class Broken(Exception):
    """An error of the exercise (cases file or reference), in one line."""


# --- element types ----------------------------------------------------------------------

# unit: half the relative distance between neighbours; least: half their distance at 0
TYPES = {
    "f32": {"file": "F32", "numpy": np.float32, "unit": 2.0**-24, "least": 2.0**-150},
    "f16": {"file": "F16", "numpy": np.float16, "unit": 2.0**-11, "least": 2.0**-25},
    "bf16": {"file": "BF16", "numpy": np.uint16, "unit": 2.0**-8, "least": 2.0**-134},
    "f64": {"file": "F64", "numpy": np.float64, "unit": 0.0, "least": 0.0},
    "i32": {"file": "I32", "numpy": np.int32, "unit": 0.0, "least": 0.0},
    "i64": {"file": "I64", "numpy": np.int64, "unit": 0.0, "least": 0.0},
    "u8": {"file": "U8", "numpy": np.uint8, "unit": 0.0, "least": 0.0},
}


def encode(values, E):
    """values in the bits of element type E (bf16, which NumPy lacks, as uint16)"""
    with np.errstate(over="ignore"):
        if E != "bf16":
            return np.asarray(values).astype(TYPES[E]["numpy"])
        bits = np.asarray(values, np.float32).view(np.uint32)
    nan = (bits & 0x7FFFFFFF) > 0x7F800000
    even = (bits >> 16) & 1  # ties round to even
    return np.where(nan, 0x7FFF, (bits + 0x7FFF + even) >> 16).astype(np.uint16)


def decode(bits, E):
    """the inverse of encode: float64, or the integers themselves"""
    if E in ("i32", "i64", "u8"):
        return bits
    if E == "bf16":
        bits = (bits.astype(np.uint32) << 16).view(np.float32)
    return bits.astype(np.float64)


def rounded(values, E):
    """float64 values, rounded to float32 and then to E"""
    if E == "f64":
        return np.asarray(values, np.float64)
    return decode(encode(np.asarray(values, np.float64).astype(np.float32), E), E)


# --- sums -------------------------------------------------------------------------------

_sum_type = None  # None: float64; "f16" or "bf16": sums in half precision


def total(values, axis=-1):
    """Sum over one axis, which stays with length 1. References use this in place of
    np.sum, so that dump.py can check that a sum in half precision fails (see
    half_sums)."""
    values = np.asarray(values, np.float64)
    if _sum_type is None:
        return values.sum(axis, keepdims=True)
    values = np.moveaxis(values, axis, -1)
    # A tree has the smallest rounding error; if it fails, every other order does too.
    width = 1 << max(0, values.shape[-1] - 1).bit_length()
    pad = [(0, 0)] * (values.ndim - 1) + [(0, width - values.shape[-1])]
    values = rounded(np.pad(values, pad), _sum_type)
    while values.shape[-1] > 1:
        values = rounded(values[..., ::2] + values[..., 1::2], _sum_type)
    return np.moveaxis(values, -1, axis)


def mean(values, axis=-1):
    return total(values, axis) / np.shape(values)[axis]


def half_warp_sum(values):
    """Of each column, the sum that its lane, c % 32, gets if a warp adds only over 16
    lanes. For mistakes."""
    lower = np.arange(values.shape[-1]) % 32 < 16
    return np.where(lower, total(values * lower), total(values * ~lower))


def lane_sum(values, vector=1, lanes=32, down=False):
    """For each column, the sum that its lane gets when every lane adds its columns and
    the lanes combine them by shuffles. down: by __shfl_down_sync, so only lane 0 has the
    full sum; otherwise by xor, where a lane without columns has exited and its reader
    adds its own value. For mistakes."""
    C = values.shape[-1]
    lane = np.arange(C) // vector % lanes
    v = np.stack([np.sum(values * (lane == k), -1) for k in range(lanes)], -1)
    k, there = np.arange(lanes), min(lanes, -(-C // vector))
    m = lanes // 2
    while m:
        other = k + m if down else k ^ m
        v = v + v[..., np.where(other < (lanes if down else there), other, k)]
        m //= 2
    return v[..., lane]


def first_columns(y, n):
    """y of a kernel that sums only the first n columns. It may write only those, so the
    others are unknown, unless they are the larger part. For mistakes."""
    N = y.shape[-1]
    return np.where((np.arange(N) < n) | (2 * n < N), y, np.nan)


def sum_type():
    """the type to which a recurrence must round each step, or None"""
    return _sum_type


class half_sums:
    """with half_sums("bf16"): ...   total() and mean() accumulate in that type"""

    def __init__(self, E):
        self.E = E

    def __enter__(self):
        global _sum_type
        _sum_type = self.E

    def __exit__(self, *error):
        global _sum_type
        _sum_type = None


# --- tolerances -------------------------------------------------------------------------


class bound:
    """|got - y| <= u |y| + (c + sqrt(n)) 2^-24 M, the error model of common/wb.h.

    c may be an array, described by c_text; M_text is the formula of M.
    exact=True: the bits must agree (u, c, n are ignored).
    """

    def __init__(self, M=0.0, M_text="|y|", c=8, n=0, c_text=None, exact=False):
        self.M, self.M_text, self.c, self.n, self.exact = np.abs(M), M_text, c, n, exact
        self.c_text = c_text or f"{c:g}"

    def tolerance(self, y, E):
        if self.exact:
            return np.zeros(np.shape(y), np.float32)
        unit, least = TYPES[E]["unit"], TYPES[E]["least"]
        tol = np.maximum(unit * np.abs(y), least)  # f16 has fewer digits below 2^-14
        tol = tol + (self.c + np.sqrt(self.n)) * 2.0**-24 * self.M
        return np.broadcast_to(tol, np.shape(y)).astype(np.float32)

    def text(self, E):
        if self.exact:
            return "exactly equal"
        u = int(round(np.log2(TYPES[E]["unit"])))
        root = f" + sqrt({self.n})" if self.n else ""
        return f"|got-y| <= 2^{u}|y| + ({self.c_text}{root}) 2^-24 M, M = {self.M_text}"


# --- arguments by name ------------------------------------------------------------------


@functools.cache
def parameters(function):
    return list(inspect.signature(function).parameters)


def by_name(function, values):
    """calls a function with those of `values` that it names"""
    return function(**{name: values[name] for name in parameters(function)})


# --- the checks of a reference ----------------------------------------------------


class Checks:
    """TAP lines for the checks that a reference file makes when it is run."""

    def __init__(self):
        self.count = self.failed = 0

    def ok(self, what, passed):
        self.count += 1
        self.failed += not passed
        print(f"{'ok' if passed else 'not ok'} - {what}", flush=True)

    def close(self, what, got, want, tolerance=1e-12):
        """compares by the largest difference, relative to the largest expected value"""
        error = np.max(np.abs(np.asarray(got) - want)) / max(np.max(np.abs(want)), 1e-300)
        self.ok(f"{what} ({error:.1e} <= {tolerance:.0e})", bool(error <= tolerance))

    def gradient(self, what, loss, at, gradient, h=1e-5, tolerance=1e-7):
        """compares the gradient of the scalar loss() with respect to the array `at`
        (changed in place and restored) with central differences of fourth order, which
        are accurate enough for 1e-7"""
        slope, flat = np.empty(at.size), at.reshape(-1)
        assert np.shares_memory(flat, at)
        for i in range(at.size):
            x = flat[i]
            near = []
            for step in (h, -h, 2 * h, -2 * h):
                flat[i] = x + step
                near.append(loss())
            flat[i] = x
            slope[i] = (8 * (near[0] - near[1]) - (near[2] - near[3])) / (12 * h)
        what += " against finite differences"
        self.close(what, gradient.reshape(-1), slope, tolerance)

    def done(self):
        print(f"1..{self.count}")
        raise SystemExit(self.failed != 0)
