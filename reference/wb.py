"""wb.py - what all references share: element types, cases, data, tolerances, checks.

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
Call.memory. dump.py writes the cases to files.
"""

import functools
import inspect
import itertools
import math
import zlib

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


# --- one call of a contract function ----------------------------------------------------


class Call:
    """The buffers and arguments of one case, filled by X_data.

    A buffer is one allocation of device memory. An argument is a view of a buffer
    (offset, shape, distance between rows), so packed and in-place operands are two
    arguments with one buffer. Values are rounded to their type before any reference sees
    them.
    """

    def __init__(self, dtype, seed, off=()):
        self.E, self.off = dtype, off
        self.rng = np.random.Generator(np.random.Philox(seed))
        self.buffers = {}  # name: {"dtype", "elements", "bits" (None: poisoned)}
        self.args = {}  # name: {"role", "buffer", "offset", "shape", ...} in call order
        self.scalars = {}

    # data

    def normal(self, shape, scale=1.0, mean=0.2):
        """Random, not symmetric about 0, and with a different size in every row, so that
        a kernel fails if it mixes up rows or relies on sums that cancel."""
        values = self.rng.standard_normal(shape) + mean
        if len(shape) > 1:
            values *= np.exp2(self.rng.uniform(-1, 1, shape[:-1] + (1,)))
        return values * scale

    def buffer(self, name, values=None, elements=None, dtype=None):
        """Device memory with initial values, or (values=None) `elements` of poison."""
        dtype = dtype or self.E
        bits = None if values is None else np.ravel(encode(values, dtype))
        self.buffers[name] = {
            "dtype": dtype,
            "elements": int(elements if bits is None else bits.size),
            "bits": bits,
        }

    # arguments, in the order of the contract

    def skew(self, name):
        """Elements between a 16-byte boundary and the first of this argument: 1 if the
        case names it in off=."""
        return int(name in self.off)

    def view(self, name, role, buffer, shape, offset=0, stride=None, owner=""):
        """An argument in an existing buffer. owner, for the report only: "row" if a block
        or warp usually computes a row of it, "column", "element"."""
        shape = [int(n) for n in shape]
        self.args[name] = {
            "role": role,
            "buffer": buffer,
            "offset": int(offset),
            "shape": shape,
            "stride": int(shape[-1] if stride is None else stride),
            "dtype": self.buffers[buffer]["dtype"],
            "opt": False,
            "null": False,
            "owner": owner,
        }

    def input(self, name, values, dtype=None, skew=0, **view):
        """An input in its own buffer, `skew` elements after the (aligned) start."""
        skew = skew or self.skew(name)
        front = np.ones(skew, np.asarray(values).dtype)
        self.buffer(name, np.concatenate([front, np.ravel(values)]), dtype=dtype)
        self.view(name, "in", name, np.shape(values), offset=skew, **view)

    def out(self, name, shape, dtype=None, at=None, skew=0, **view):
        """An output in its own buffer, `skew` elements after the start, or in the buffer
        of argument `at`, which may come later in the list."""
        skew = skew or self.skew(at or name)
        view["offset"] = view.get("offset", skew)
        if at is None:
            self.buffer(name, None, skew + int(np.prod(shape, dtype=np.int64)), dtype)
            at = name
        elif at not in self.buffers:
            self.buffers[at] = {"dtype": dtype or self.E, "elements": 0, "bits": None}
        self.view(name, "out", at, shape, **view)

    def acc(self, name, shape, dtype="f32", **view):
        """An output that is added to: it starts with random values."""
        skew, values = self.skew(name), self.rng.standard_normal(shape)
        self.buffer(name, np.concatenate([np.ones(skew), values.ravel()]), dtype=dtype)
        self.view(name, "acc", name, shape, offset=skew, **view)

    def null(self, name, role="in", dtype=None):
        """An optional argument that is NULL."""
        self.args[name] = {
            "role": role,
            "buffer": "",
            "offset": 0,
            "shape": [0],
            "stride": 0,
            "dtype": dtype or self.E,
            "opt": True,
            "null": True,
            "owner": "",
        }

    def scalar(self, name, value):
        """A scalar of the contract that is not a key of the case, such as a stride."""
        self.scalars[name] = value

    # what the reference sees

    def indices(self, name):
        a = self.args[name]
        rows = int(np.prod(a["shape"][:-1], dtype=np.int64))
        at = a["stride"] * np.arange(rows)[:, None] + np.arange(a["shape"][-1])
        return a["offset"] + at.reshape(a["shape"])

    def array(self, name):
        """Float64 copy of an argument before the call; NaN if it has no contents yet."""
        a = self.args[name]
        if a["null"]:
            return None
        bits = self.buffers[a["buffer"]]["bits"]
        if a["role"] == "out" or bits is None:
            return np.full(a["shape"], np.nan)
        return decode(bits[self.indices(name)], a["dtype"])

    def memory(self, name, starts):
        """What lies at these offsets from the start of an argument, before the call; NaN
        outside of its buffer. For mistakes in an index."""
        a = self.args[name]
        bits = self.buffers[a["buffer"]]["bits"]
        at = np.asarray(starts) + a["offset"]
        inside = (at >= 0) & (at < bits.size)
        values = decode(bits[np.where(inside, at, 0)], a["dtype"])
        return np.where(inside, values, np.nan)

    def outputs(self):
        return [n for n, a in self.args.items() if a["role"] != "in" and not a["null"]]


@functools.cache
def parameters(function):
    return list(inspect.signature(function).parameters)


def by_name(function, values):
    """calls a function with those of `values` that it names"""
    return function(**{name: values[name] for name in parameters(function)})


# --- cases ------------------------------------------------------------------------------


def number(text):
    for kind in (lambda s: int(s, 0), float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


GRADERS_KEYS = (
    "status",
    "workspace_less",
    "workspace_below",
    "dry",
    "bound",
    "sms",
    "arch",
)  # only the grader uses them


MAX_VARIANTS = 64  # as in grader/cases.h


def read_bad(text, at):
    """bad=ld:1,x:null as {"ld": 1, "x": "null"}"""
    pairs = [pair.split(":") for pair in text.split(",") if pair]
    if any(len(pair) != 2 for pair in pairs):
        raise Broken(f"{at}: bad={text}: use bad=NAME:VALUE,NAME:VALUE")
    return {name: number(value) for name, value in pairs}


def read_variants(keys, at):
    """Yields (words, keys): each choice of one alternative per key, the last key fastest.
    words: the chosen alternatives, "C=32 inplace=1". The key T/S has pairs as values,
    T/S=9/64|2/16: they do not multiply. 12*x is the alternative x, twelve times."""
    values = [list(repeated(value)) for value in keys.values()]
    count = math.prod(map(len, values))
    if count > MAX_VARIANTS:
        raise Broken(f"{at}: {count} variants, more than {MAX_VARIANTS}")
    several = [key for key, of in zip(keys, values) if len(of) > 1]
    for choice in itertools.product(*values):
        if "" in choice:
            raise Broken(f"{at}: an alternative is empty")
        chosen = dict(zip(keys, choice))
        words = dict(apart({key: chosen[key] for key in several}, at))
        yield " ".join(f"{key}={value}" for key, value in words.items()), dict(apart(chosen, at))


def repeated(value):
    for one in value.split("|"):
        times, star, rest = one.partition("*")
        yield from [rest] * int(times) if star and times.isdigit() else [one]


def apart(chosen, at):
    """Yields the keys one by one: T/S=9/64 as T=9 and S=64"""
    for key, value in chosen.items():
        names, values = [key], [value]
        if "/" in key:
            names, values = key.split("/"), value.split("/")
            if len(names) != len(values):
                raise Broken(f"{at}: {key}={value}: as many values as names, with / between")
            if {"dtype", "judge", "bad", "off", *GRADERS_KEYS} & {*names}:
                raise Broken(f"{at}: {key}: the keys that every function has stand alone")
        yield from zip(names, values)


def read_case(line, at, earlier):
    """name part points function key=value ... ; needs ; what it catches

    Every function has four keys: dtype (default f32); judge (default: all outputs), the
    outputs that count in this case, with commas; the others may hold anything; and off,
    the arguments that start one element after a 16-byte boundary, with commas. off=each
    is for the grader: two more calls for each buffer, which then alone starts one element,
    then 8 bytes, after one.
    bad=ld:1 passes 1 for ld, to data that is laid out without it, and bad=x:null passes
    NULL for the argument x: with status=.
    A value may have alternatives, C=31|32|33. The case's `variants` are all combinations.
    Several have the names case@1, case@2, ...
    """
    fields, *rest = [part.strip() for part in line.split(";", 2)]
    fields = fields.split()
    if len(fields) < 4 or len(rest) != 2:
        form = "name part points function key=value ... ; needs ; catches"
        raise Broken(f"{at}: a case is: {form}")
    name, part, points, function, *keys = fields
    if name in earlier:
        raise Broken(f"{at}: case {name} appears twice")
    if not points.isdigit():
        raise Broken(f"{at}: points of {name}: not a whole number: {points}")
    if not all("=" in key for key in keys):
        raise Broken(f"{at}: {name}: expected key=value, got {' '.join(keys)}")
    keys = dict(key.split("=", 1) for key in keys)
    needs = [] if rest[0] == "-" else [n.strip() for n in rest[0].split(",")]
    for need in needs:
        if need not in earlier:
            raise Broken(f"{at}: {name} needs {need}, which is not an earlier case")
    case = {"name": name, "at": at, "part": part, "points": int(points)}
    case.update(function=function, needs=needs, catches=rest[1])
    variants = [dict(case, **read_keys(*v, at)) for v in read_variants(keys, at)]
    for n, variant in enumerate(variants, 1):
        variant["first"] = n == 1
        if len(variants) > 1:
            variant["name"] += f"@{n}"
            variant["at"] += f" with {variant['words']}"
    return dict(variants[0], name=name, at=at, variants=variants)


def read_keys(words, keys, at):
    return {
        "words": words,
        "dtype": keys.pop("dtype", "f32"),
        "judge": keys.pop("judge", ""),
        "dry": keys.get("dry") == "1",
        "status": keys.get("status", "WB_OK"),
        "bad": read_bad(keys.pop("bad", ""), at),
        "off": [n for n in keys.pop("off", "").split(",") if n not in ("", "each")],
        "keys": {k: number(v) for k, v in keys.items() if k not in GRADERS_KEYS},
    }


# --- values drawn at random -------------------------------------------------------------


def draw_one(rng, text, keys):
    """~1..300: a whole number from 1 to 300; ~16..256:8: a multiple of 8; ~0..D: at most the
    value of D; ~a,b,c: one of them. A third of the numbers are drawn from a logarithmic
    scale, a third near (2, 3 or 5) * 2^k, where kernels switch paths, and a third are
    multiples of 4 to 64."""
    low, dots, high = text.partition("..")
    if not dots:
        choices = text.split(",")
        return number(choices[rng.integers(len(choices))])
    high, _, step = high.partition(":")
    low, high, step = int(low), int(keys.get(high, high)), int(step or 1)
    kind = rng.integers(3)
    if kind == 0:
        x = np.exp(rng.uniform(np.log(low + 0.5), np.log(high + 0.5)))
    elif kind == 1:
        x = rng.choice([2, 3, 5]) * 2 ** rng.integers(high.bit_length())
        x += rng.choice([-8, -4, -1, 0, 1, 4, 8])
    else:
        unit = 4 << rng.integers(5)
        x = unit * rng.integers(1, high // unit + 2)
    x = int(round(x / step)) * step
    return x if low <= x <= high else draw_one(rng, text, keys)


def draw_case(case, lab, seed, attempt):
    """The case with its random values chosen, in the order of the keys. H*D+~0..9 adds to
    the product of the values of H and D. They depend only on (lab, case, seed, attempt)."""
    names = [zlib.crc32(s.encode()) for s in (lab, case["name"], "draw")]
    rng = np.random.default_rng([seed, attempt, *names])
    keys, drawn = dict(case["keys"]), []
    for key, value in keys.items():
        base, random, text = value.partition("~") if isinstance(value, str) else ("", "", "")
        if not random:
            continue
        keys[key] = draw_one(rng, text, keys)
        if base:
            keys[key] += math.prod(keys[factor] for factor in base.rstrip("+").split("*"))
        drawn.append(f"{key}={keys[key]}")
    return dict(case, keys=keys, drawn=" ".join(drawn))


def read_cases(path):
    """{name: case} in the order of the file"""
    cases = {}
    with open(path, encoding="utf-8") as lines:
        for n, line in enumerate(lines, 1):
            if line.strip() and not line.startswith("#"):
                case = read_case(line.strip(), f"{path}:{n}", cases)
                cases[case["name"]] = case
    return cases


def make_call(module, case, lab, seed, data_set):
    """The arguments of a case. They depend only on (lab, case, seed, set)."""
    function = getattr(module, case["function"], None)
    data = getattr(module, case["function"] + "_data", None)
    if function is None or data is None:
        file = f"reference/{module.__name__}.py"
        raise Broken(f"{case['at']}: {file} lacks {case['function']}")
    if case["dtype"] not in ("f32", "f16", "bf16"):
        raise Broken(f"{case['at']}: dtype={case['dtype']}: use f32, f16 or bf16")
    names = [zlib.crc32(s.encode()) for s in (lab, case["name"], data_set)]
    off = case.get("off", ())
    call = Call(case["dtype"], np.random.SeedSequence([seed, *names]), off)
    try:
        keys = inspect.signature(data).bind(call, **case["keys"])
    except TypeError as error:
        allowed = ", ".join(parameters(data)[1:])
        raise Broken(f"{case['at']}: {error}; the keys are: {allowed}") from None
    keys.apply_defaults()
    data(**keys.arguments)
    for name in off:
        if name not in call.args or not call.args[name]["offset"]:
            raise Broken(f"{case['at']}: off={name}: no such argument, or not its buffer")
    for name in parameters(function):
        if name in call.args or name == "E":
            continue
        value = call.scalars.get(name, keys.arguments.get(name))
        if value is None:
            raise Broken(f"{case['at']}: {case['function']} needs {name}=...")
        # the kernel gets a C float; the reference must see the same number
        if isinstance(value, float):
            value = float(np.float32(value))
        call.scalars[name] = value
    return call


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
