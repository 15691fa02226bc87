"""call.py - one call of a contract function: its buffers and arguments."""

import inspect
import zlib

import numpy as np

from wb import Broken, decode, encode, parameters


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
