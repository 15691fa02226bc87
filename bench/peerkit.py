"""peerkit.py - the parts of peers.py's rows: our launchers as Python functions, a row
with its sides, tensors, the passes of a formula."""

import ctypes
import glob
import math
import os
import re
import sys
from dataclasses import dataclass
from typing import Callable, Optional

try:
    import torch
    import torch._dynamo
    import torch._functorch.config
except ImportError:
    sys.exit(
        f"peers.py: {sys.executable} has no torch: name a Python that has it, "
        "make bench-peers TORCH_PYTHON=path"
    )

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HAS_GPU = torch.cuda.is_available()
DEVICE = "cuda" if HAS_GPU else "cpu"
BF16, F32 = torch.bfloat16, torch.float32
SUFFIX = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16"}


# --- our launchers ----------------------------------------------------------------------


def prototypes():
    """{function: (return type, [(type, is a pointer, name)])}, read from the declarations
    for every E in the labs' headers, so that arguments can be passed by name and
    checked."""
    found = {}
    for path in glob.glob(os.path.join(HERE, "labs", "lab*", "*.h")):
        with open(path, encoding="utf-8") as f:
            text = re.sub(r"//.*|/\*[\s\S]*?\*/", "", f.read()).replace("\\\n", " ")
        for returns, name, arguments in re.findall(
            r"(wb_status|size_t) (\w+)_(?:f32|##e)\(([^)]*)\)", text
        ):  # the declarations with E follow those of f32
            parameters = re.findall(r"(?:const )?(\w+) (\*?)(\w+)", arguments)
            found[name] = returns, [(t, p == "*", n) for t, p, n in parameters]
    return found


class Kernels:
    SCALARS = {
        "int": ctypes.c_int,
        "float": ctypes.c_float,
        "size_t": ctypes.c_size_t,
        "cudaStream_t": ctypes.c_void_p,
    }
    POINTED = {
        "float": torch.float32, "int": torch.int32, "void": torch.uint8,
        "uint8_t": torch.uint8, "uint64_t": torch.uint64,
    }

    def __init__(self, path):
        if not os.path.exists(path):
            sys.exit(f"peers.py: {path} does not exist: run make BACKEND=cuda bench-peers")
        self.library = ctypes.CDLL(os.path.abspath(path))
        self.library.wb_status_name.restype = ctypes.c_char_p
        self.prototypes = prototypes()

    def prepare(self, function, dtype, given):
        """the C function for this element type; its arguments in the header's order"""
        returns, parameters = self.prototypes[function]
        wrong = {name for _, _, name in parameters} ^ given.keys()
        if wrong:
            raise TypeError(f"{function}: {', '.join(sorted(wrong))}: missing or unknown")
        f = getattr(self.library, f"{function}_{SUFFIX[dtype]}")
        f.restype = ctypes.c_int if returns == "wb_status" else ctypes.c_size_t
        types, values = [], []
        for kind, pointer, name in parameters:
            value = given[name]
            types.append(ctypes.c_void_p if pointer else self.SCALARS[kind])
            if pointer and value is not None:
                want = dtype if kind == "E" else self.POINTED[kind]
                if value.dtype != want or not value.is_contiguous():
                    raise TypeError(f"{function}: {name} must be a contiguous {want}")
                value = value.data_ptr()
            values.append(value)
        f.argtypes = types
        return f, values

    def size(self, function, dtype, **given):
        f, values = self.prepare(function, dtype, given)
        return f(*values)

    def bind(self, function, dtype, **given):
        """a function without arguments that enqueues the kernel on torch's stream"""
        given["stream"] = torch.cuda.current_stream().cuda_stream if HAS_GPU else None
        f, values = self.prepare(function, dtype, given)

        def call():
            status = f(*values)
            if status:
                name = self.library.wb_status_name(status).decode()
                raise RuntimeError(f"{function}_{SUFFIX[dtype]}: {name}")

        call.tensors = given  # keeps them alive
        return call


# --- what is compared -------------------------------------------------------------------


@dataclass
class Side:
    call: Callable  # timed
    results: Callable  # converts what call() returned to tensors comparable with want
    before: Optional[Callable] = None  # not timed: restores what call() overwrites


@dataclass
class Row:
    op: str
    dtype: torch.dtype
    shape: str
    bytes: int  # the least that the operation can move
    want: list
    ours: Side
    peers: dict  # name: function that makes a Side
    flops: int = 0  # where arithmetic is the limit: TFLOP/s instead of bytes
    tolerance: Optional[float] = None  # where ours rounds intermediate results too


def tensor(dtype, *shape, scale=1.0):
    return (torch.randn(*shape, device=DEVICE) * scale).to(dtype)


def output(dtype, *shape):
    return torch.full(shape, math.nan, dtype=dtype, device=DEVICE)


def workspace(size):
    return torch.empty(max(size, 1), dtype=torch.uint8, device=DEVICE)


def as_list(value):
    return list(value) if isinstance(value, (tuple, list)) else [value]


def sides_of(eager, libraries, formula=None):
    """the peers, by name, as functions of the inputs"""
    peers = {"eager": eager, **libraries}
    if HAS_GPU:
        peers["compile"] = torch.compile(formula or eager, dynamic=False)
    return peers


def pass_forward(f, inputs):
    own = [x.detach().clone().requires_grad_() for x in inputs]
    return Side(lambda: f(*own), lambda y: [y.detach()])


def pass_backward(f, inputs, dout):
    """On copies: some backward passes overwrite their inputs."""
    own = [x.detach().clone().requires_grad_() for x in inputs]
    dy, y = dout.clone(), f(*own)
    return Side(lambda: torch.autograd.grad(y, own, dy, retain_graph=True), as_list)


def both_passes(op, shape, inputs, dout, formula, peers, ours, sizes, backward=True):
    """Rows of the forward and backward pass. ours(y, gradients), called with the
    reference, returns two Sides; sizes are the bytes of each pass."""
    wide = [x.double().requires_grad_() for x in inputs]
    y = formula(*wide)
    gradients = list(torch.autograd.grad(y, wide, dout.double()))
    y = y.detach()
    forward_side, backward_side = ours(y, gradients)
    dtype = inputs[0].dtype
    yield Row(
        f"{op}_forward", dtype, shape, sizes[0], [y], forward_side,
        {name: lambda f=f: pass_forward(f, inputs) for name, f in peers.items()},
    )
    if backward:
        yield Row(
            f"{op}_backward", dtype, shape, sizes[1], gradients, backward_side,
            {name: lambda f=f: pass_backward(f, inputs, dout) for name, f in peers.items()},
        )
