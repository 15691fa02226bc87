"""peers.py - the finished kernels beside PyTorch's and Liger's, in one run.

    make bench-peers                 on a machine with a card and a Python that has torch
    python bench/peers.py --check    compares results at small shapes and times nothing

Every side is checked first, against the same formula in float64 (float32 for the largest
tensors), and then timed in the same way: events around one call, the median of at least
30. Before each call a buffer five times the size of the L2 cache is read, so that inputs
come from memory and nothing is left to be written back; then the card spins until the
call is enqueued, so that no side pays for its launches. GB/s counts the fewest bytes that
the operation can move, every input once and every output once, also for a side that moves
more. Fractions are of a copy within the card, measured in the same run.

Sides: ours (lib*.so, called with torch's tensors and stream), torch eager, torch.compile,
and Liger where liger_kernel can be imported. Forward passes are those of training: what
the backward pass needs is kept.
"""

import argparse
import ctypes
import datetime
import glob
import json
import math
import os
import re
import statistics
import sys
import time
from dataclasses import dataclass
from typing import Callable, Optional

try:
    import torch
    import torch._dynamo
    import torch._functorch.config
    import torch.nn.functional as F
except ImportError:
    sys.exit(
        f"peers.py: {sys.executable} has no torch: say which Python has it, "
        "make bench-peers TORCH_PYTHON=path"
    )

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SEED = 0x5EED
LEAST_CALLS, MOST_CALLS = 30, 100
GOAL, OF_PEER = 0.80, 0.95  # target: the lower of 0.80 of copy and 0.95 of the best peer
SUFFIX = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16"}
# |got - want| / |want|, as norms. Rounding to bf16 alone gives 0.002; peers may round in
# between, which is theirs to judge: they are only asked to compute the same thing.
OURS_MAY_BE_OFF = {torch.float32: 1e-5, torch.bfloat16: 4e-3}
PEERS_MAY_BE_OFF = 0.05


# --- our launchers ----------------------------------------------------------------------


def prototypes():
    """{function: (return type, [(type, is a pointer, name)])} from the list for every E in
    the labs' headers, so that arguments can be given by name and be checked."""
    found = {}
    for path in glob.glob(os.path.join(HERE, "labs", "lab*", "*.h")):
        with open(path, encoding="utf-8") as f:
            text = f.read().replace("\\\n", " ")
        for returns, name, arguments in re.findall(
            r"(wb_status|size_t) (\w+)_##e\(([^)]*)\)", text
        ):
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
    POINTED = {"float": torch.float32, "int": torch.int32, "void": torch.uint8}

    def __init__(self, path):
        if not os.path.exists(path):
            sys.exit(f"peers.py: there is no {path}: make BACKEND=cuda bench-peers")
        self.library = ctypes.CDLL(os.path.abspath(path))
        self.library.wb_status_name.restype = ctypes.c_char_p
        self.prototypes = prototypes()

    def prepare(self, function, dtype, given):
        """the C function of this element type, its arguments in the header's order"""
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
        """a call without arguments that enqueues the kernel on torch's stream"""
        given["stream"] = torch.cuda.current_stream().cuda_stream if CARD else None
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
    call: Callable  # what is timed
    results: Callable  # from what call() returned to tensors comparable with want
    before: Optional[Callable] = None  # not timed: puts back what call() overwrites


@dataclass
class Row:
    op: str
    dtype: torch.dtype
    shape: str
    bytes: int
    want: list
    ours: Side
    peers: dict  # name: function that makes a Side


def tensor(dtype, *shape, scale=1.0):
    return (torch.randn(*shape, device=DEVICE) * scale).to(dtype)


def output(dtype, *shape):
    return torch.full(shape, math.nan, dtype=dtype, device=DEVICE)


def workspace(size):
    return torch.empty(max(size, 1), dtype=torch.uint8, device=DEVICE)


def as_list(value):
    return list(value) if isinstance(value, (tuple, list)) else [value]


def liger(module, function):
    """a function of liger_kernel.ops, or None"""
    if not CARD:
        return None
    try:
        library = __import__(f"liger_kernel.ops.{module}", fromlist=[function])
        return getattr(library, function).apply
    except Exception:  # not installed, or not for this torch and Triton
        return None


def sides_of(eager, from_liger, formula=None):
    """the peers, by name, as functions of the inputs"""
    peers = {"eager": eager}
    if from_liger:
        peers["liger"] = from_liger
    if CARD:
        peers["compile"] = torch.compile(formula or eager, dynamic=False)
    return peers


def pass_forward(f, inputs):
    own = [x.detach().clone().requires_grad_() for x in inputs]
    return Side(lambda: f(*own), lambda y: [y.detach()])


def pass_backward(f, inputs, dout):
    """Of its own copies: some backward passes write over what they are given."""
    own = [x.detach().clone().requires_grad_() for x in inputs]
    dy, y = dout.clone(), f(*own)
    return Side(lambda: torch.autograd.grad(y, own, dy, retain_graph=True), as_list)


def both_passes(op, shape, inputs, dout, formula, peers, ours, sizes, backward=True):
    """Rows of the forward and backward pass. ours(y, gradients), of the reference, gives
    two Sides; sizes are the bytes of each pass."""
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


def rmsnorm(kernels, dtype, R, C):
    eps = 1e-6

    def formula(x, w):
        wide = x if x.dtype == torch.float64 else x.float()
        rstd = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)
        return (wide * rstd * w.to(wide.dtype)).to(x.dtype)

    x, w, dout = tensor(dtype, R, C), tensor(dtype, C), tensor(dtype, R, C)
    out, dx = output(dtype, R, C), output(dtype, R, C)
    rstd, dw = output(torch.float32, R), torch.zeros(C, device=DEVICE)
    size = kernels.size("rmsnorm_backward_workspace", dtype, R=R, C=C)
    space = workspace(size)
    wide = x.double()
    kept = torch.rsqrt(wide.pow(2).mean(-1) + eps).float()

    def ours(y, gradients):
        forward = kernels.bind(
            "rmsnorm_forward", dtype, out=out, rstd=rstd, x=x, w=w, R=R, C=C, eps=eps,
            offset=0.0,
        )
        backward = kernels.bind(
            "rmsnorm_backward", dtype, dx=dx, dw=dw, dout=dout, x=x, w=w, rstd=kept,
            dres=None, R=R, C=C, offset=0.0, workspace=space, workspace_bytes=size,
        )
        return Side(forward, lambda _: [out]), Side(backward, lambda _: [dx, dw])

    apply = liger("rms_norm", "LigerRMSNormFunction")
    peers = sides_of(
        lambda x, w: F.rms_norm(x, (C,), w, eps),
        apply and (lambda x, w: apply(x, w, eps, 0.0, "llama", False)),
        formula,
    )
    e = x.element_size()
    small = C * e + 4 * R  # w and rstd
    sizes = 2 * R * C * e + small, 3 * R * C * e + small + 8 * C  # dw is added to
    yield from both_passes(
        "rmsnorm", f"{R}x{C}", [x, w], dout, formula, peers, ours, sizes
    )


def softmax(kernels, dtype, R, N, backward=True):
    x, dout = tensor(dtype, R, N, scale=2.0), tensor(dtype, R, N)
    out, dx = output(dtype, R, N), output(dtype, R, N)
    size = kernels.size("softmax_forward_workspace", dtype, R=R, N=N)
    space = workspace(size)

    def ours(y, gradients):
        forward_call = kernels.bind(
            "softmax_forward", dtype, out=out, x=x, R=R, N=N, scale=1.0, workspace=space,
            workspace_bytes=size,
        )
        backward_call = kernels.bind(
            "softmax_backward", dtype, dx=dx, dout=dout, p=y.to(dtype), R=R, N=N,
            scale=1.0,
        )
        return Side(forward_call, lambda _: [out]), Side(backward_call, lambda _: [dx])

    def formula(x):
        return torch.softmax(x, -1)

    peers = sides_of(formula, liger("softmax", "LigerSoftmaxFunction"))
    whole = R * N * x.element_size()
    yield from both_passes(
        "softmax", f"{R}x{N}", [x], dout, formula, peers, ours, (2 * whole, 3 * whole),
        backward,
    )


def swiglu(kernels, dtype, R, C):
    gate, up, dout = tensor(dtype, R, C), tensor(dtype, R, C), tensor(dtype, R, C)
    out, dgate, dup = output(dtype, R, C), output(dtype, R, C), output(dtype, R, C)

    def ours(y, gradients):
        forward = kernels.bind(
            "swiglu_forward", dtype, out=out, gate=gate, up=up, R=R, F=C, ld=C
        )
        backward = kernels.bind(
            "swiglu_backward", dtype, dgate=dgate, dup=dup, dout=dout, gate=gate, up=up,
            R=R, F=C, ld=C,
        )
        return Side(forward, lambda _: [out]), Side(backward, lambda _: [dgate, dup])

    def formula(gate, up):
        return F.silu(gate) * up

    peers = sides_of(formula, liger("swiglu", "LigerSiLUMulFunction"))
    whole = R * C * gate.element_size()
    yield from both_passes(
        "swiglu", f"{R}x{C}", [gate, up], dout, formula, peers, ours,
        (3 * whole, 5 * whole),
    )


def cross_entropy(kernels, dtype, R, V):
    """Loss and gradient. Ours and Liger's write the gradient over the logits, which are put
    back before each call. The gradient at the target outweighs all others of its row, so
    it is compared by itself."""
    logits = tensor(dtype, R, V, scale=2.0)
    target = torch.randint(V, (R,), device=DEVICE)
    at = target[:, None]

    def parts(loss, gradient):
        hit = gradient.gather(1, at)
        return [loss.detach().float(), hit, gradient.scatter(1, at, 0.0)]

    wide = logits.to(torch.float64 if R * V < 1 << 27 else torch.float32).requires_grad_()
    loss = F.cross_entropy(wide, target)
    want = parts(loss, torch.autograd.grad(loss, wide)[0])
    del wide, loss

    inplace, losses = logits.clone(), output(torch.float32, R)
    call = kernels.bind(
        "cross_entropy", dtype, loss=losses, dlogits=inplace, logits=inplace,
        target=target.int(), gscale=torch.full((1,), 1.0 / R, device=DEVICE), R=R, V=V,
        ld=V, softcap=0.0, ignore=-1,
    )
    ours = Side(
        call, lambda _: parts(losses.mean(), inplace), lambda: inplace.copy_(logits)
    )

    def side(f, overwrites):
        own = logits.clone().requires_grad_()

        def both():
            loss = f(own, target)
            return loss, torch.autograd.grad(loss, own)[0]

        def put_back():
            with torch.no_grad():
                own.copy_(logits)

        return Side(both, lambda r: parts(*r), put_back if overwrites else None)

    def eager_f32(x, t):
        return F.cross_entropy(x.float(), t)

    apply = liger("cross_entropy", "LigerCrossEntropyFunction")

    def from_liger(x, t):
        return as_list(apply(x, t, None))[0]  # newer ones return more than the loss

    functions = sides_of(F.cross_entropy, apply and from_liger, eager_f32)
    peers = {
        name: lambda f=f, name=name: side(f, name == "liger")
        for name, f in functions.items()
    }
    size = 2 * R * V * logits.element_size() + 8 * R
    yield Row("cross_entropy", dtype, f"{R}x{V}", size, want, ours, peers)


def rope(kernels, dtype, B, T, H, D):
    """Queries and keys: one call of ours on 2H heads, two tensors for the peers, which
    read cosines and sines of the inputs' type."""
    x, out = tensor(dtype, B, T, 2 * H, D), output(dtype, B, T, 2 * H, D)
    turn = 10000.0 ** (-torch.arange(0, D, 2, device=DEVICE).double() / D)
    angle = torch.arange(T, device=DEVICE).double()[:, None] * turn  # (T,D/2)
    cis = torch.stack((angle.cos(), angle.sin()), -1).float().contiguous()
    angle = torch.cat((angle, angle), -1)[None, :, None]  # (1,T,1,D)

    def rotated(x, cos, sin):
        first, second = x.chunk(2, -1)
        return x * cos + torch.cat((-second, first), -1) * sin

    def formula(q, k, cos, sin):
        return rotated(q, cos, sin), rotated(k, cos, sin)

    want = rotated(x.double(), angle.cos(), angle.sin())
    call = kernels.bind(
        "rope_forward", dtype, out=out, x=x, cis=cis, pos=None, B=B, T=T, H=2 * H, D=D,
        N=D, ld=2 * H * D,
    )
    halves = [half.contiguous() for half in x.chunk(2, 2)]  # (B,T,H,D) each
    cos, sin = angle.cos().to(dtype), angle.sin().to(dtype)

    def side(f):
        return Side(lambda: f(*halves, cos, sin), lambda r: [torch.cat(r, 2)])

    apply = liger("rope", "LigerRopeFunction")

    def side_of_liger():  # in place, in memory (B,T,H,D), seen as (B,H,T,D)
        own = [half.clone() for half in halves]
        views = [half.transpose(1, 2) for half in own]
        flat = cos[:, :, 0].contiguous(), sin[:, :, 0].contiguous()

        def put_back():
            for mine, half in zip(own, halves):
                mine.copy_(half)

        return Side(
            lambda: apply(*views, *flat),
            lambda r: [torch.cat([half.transpose(1, 2) for half in r], 2)],
            put_back,
        )

    functions = sides_of(formula, apply)
    peers = {
        name: side_of_liger if name == "liger" else lambda f=f: side(f)
        for name, f in functions.items()
    }
    size = 2 * x.numel() * x.element_size() + 4 * cis.numel()
    shape = f"{B}x{T}x{H}x{D} q+k"
    ours = Side(call, lambda _: [out])
    yield Row("rope_forward", dtype, shape, size, [want], ours, peers)


BF16, F32 = torch.bfloat16, torch.float32
CASES = [  # where peers differ most comes first, in case the budget ends early
    (rmsnorm, BF16, 4096, 4096),
    (rmsnorm, BF16, 16384, 2560),
    (softmax, BF16, 4096, 4096),
    (softmax, BF16, 16384, 1024),
    (cross_entropy, BF16, 8192, 50304),
    (swiglu, BF16, 8192, 11008),
    (rope, BF16, 8, 2048, 16, 128),
    (rmsnorm, F32, 4096, 4096),
    (softmax, F32, 4096, 4096),
    (softmax, F32, 32, 256000, False),
    (cross_entropy, BF16, 2048, 256000),
    (rmsnorm, F32, 16384, 2560),
]
SMALL = [
    (rmsnorm, BF16, 64, 512),
    (rmsnorm, F32, 33, 1000),
    (softmax, BF16, 64, 512),
    (softmax, F32, 4, 20000, False),
    (softmax, F32, 33, 1000),
    (cross_entropy, BF16, 32, 1000),
    (swiglu, BF16, 64, 688),
    (rope, BF16, 2, 64, 4, 32),
]


# --- results and times ------------------------------------------------------------------


def error_of(got, want):
    """the worst of |got - want| / |want|; NaN if any is"""
    worst = 0.0
    for g, w in zip(got, want, strict=True):
        if g.shape != w.shape:
            raise ValueError(f"the result is {tuple(g.shape)}, not {tuple(w.shape)}")
        error = float((g.to(w.dtype) - w).norm() / w.norm())
        worst = error if math.isnan(error) else max(worst, error)
        if math.isnan(worst):
            break
    return worst


def check(side, want):
    if side.before:
        side.before()
    error = error_of(side.results(side.call()), want)
    wait()
    return error


def wait():
    if CARD:
        torch.cuda.synchronize()


class Clock:
    CYCLES_PER_S = 3e9  # above the clock of any card: the spin is never too short

    def __init__(self):
        l2 = torch.cuda.get_device_properties(0).L2_cache_size
        self.other = torch.zeros(5 * l2 // 4, device=DEVICE)

    def measure(self, side, calls, spin_s):
        events = []
        for _ in range(calls):
            start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            if side.before:
                side.before()
            self.other.sum()
            torch.cuda._sleep(int(spin_s * self.CYCLES_PER_S))
            start.record()
            side.call()
            stop.record()
            events.append((start, stop))
        wait()
        return [start.elapsed_time(stop) for start, stop in events]

    def time(self, side):
        """the times of the calls in ms"""
        self.measure(side, 3, 0.0)
        start = time.perf_counter()
        side.call()
        enqueued = time.perf_counter() - start
        wait()
        spin = min(max(2 * enqueued, 50e-6), 4e-3)
        about = statistics.median(self.measure(side, 3, spin))
        calls = int(min(max(40.0 / max(about, 1e-3), LEAST_CALLS), MOST_CALLS))
        return self.measure(side, calls, spin)


def copy_speed(clock):
    source = torch.ones(1 << 28, device=DEVICE)  # 1 GiB
    to = torch.empty_like(source)
    side = Side(lambda: to.copy_(source), as_list)
    ms = statistics.median(clock.time(side))
    return 2 * source.numel() * 4 / ms / 1e6


# --- report -----------------------------------------------------------------------------


class Report:
    def __init__(self, path, machine):
        self.json = open(path, "w", encoding="utf-8") if path else None
        self.common = {
            "machine": machine,
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat("T", "seconds"),
            "torch": torch.__version__,
            "command": " ".join(sys.argv),
        }
        self.table = []

    def line(self, **figures):
        if self.json:
            self.json.write(json.dumps({**self.common, **figures}) + "\n")
            self.json.flush()

    def print_table(self, copy):
        print(f"\nfractions of the copy speed, {copy:.0f} GB/s, {self.common['machine']}, "
              f"torch {torch.__version__}")
        print(f"{'':22} {'':4} {'':19} {'ours':>6}  {'best peer':15} {'target':>6}")
        for op, dtype, shape, ours, peer, name, target, verdict in self.table:
            ours = f"{ours:6.3f}" if ours is not None else "     -"
            best = f"{peer:.3f} {name}" if peer is not None else "-"
            print(f"{op:22} {dtype:4} {shape:19} {ours}  {best:15} {target:6.3f} {verdict}")


def run_side(row, name, make, limit, clock, copy, report):
    """checks, times and prints one side; its fraction of the copy speed, or None"""
    what = {"op": row.op, "dtype": SUFFIX[row.dtype], "shape": row.shape, "side": name}
    head = f"{row.op:18} {what['dtype']:4} {row.shape:20} {name:8}"
    try:
        side = make()
        error = check(side, row.want)
        if not error <= limit:
            raise ValueError(f"wrong result: off by {error:.2g}, at most {limit:.2g}")
        if not clock:
            print(f"{head} off by {error:.2g}")
            return 1.0
        times = clock.time(side)
    except Exception as e:  # a peer that cannot run is a line of the report
        reason = f"{type(e).__name__}: {e}".splitlines()[0][:200]
        print(f"{head} failed: {reason}", flush=True)
        report.line(**what, failed=reason)
        try:
            wait()
        except RuntimeError as lost:
            first = str(lost).splitlines()[0]
            sys.exit(f"peers.py: the card stopped answering after {head}: {first}")
        return None
    ms = statistics.median(times)
    speed = row.bytes / ms / 1e6
    print(f"{head} {ms:8.4f} ms {speed:7.1f} GB/s {speed / copy:6.3f} of copy, "
          f"off by {error:.1g}", flush=True)
    report.line(
        **what, ms=round(ms, 5), least_ms=round(min(times), 5), calls=len(times),
        bytes=row.bytes, GBs=round(speed, 1), copy_GBs=round(copy, 1),
        of_copy=round(speed / copy, 4), error=error,
    )
    return speed / copy


def run_row(row, args, clock, copy, report, deadline):
    limit = OURS_MAY_BE_OFF[row.dtype]
    ours = run_side(row, "ours", lambda: row.ours, limit, clock, copy, report)
    best, best_name, late = None, "", []
    for name, make in {} if args.ours_only else row.peers.items():
        if time.monotonic() > deadline:
            late.append(name)
            continue
        fraction = run_side(row, name, make, PEERS_MAY_BE_OFF, clock, copy, report)
        if fraction is not None and (best is None or fraction > best):
            best, best_name = fraction, name
    target = min(GOAL, OF_PEER * best) if best is not None else GOAL
    verdict = "FAILED" if ours is None else "PASS" if ours >= target else "short"
    if late:
        verdict += f" (no time for {', '.join(late)})"
        report.line(
            op=row.op, dtype=SUFFIX[row.dtype], shape=row.shape, not_run=late,
            why=f"--budget {args.budget:.0f}",
        )
    report.table.append(
        (row.op, SUFFIX[row.dtype], row.shape, ours, best, best_name, target, verdict)
    )
    return ours is not None


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0].removeprefix("peers.py - ")
    )
    parser.add_argument("--library", default="build/cuda/bench/libkernels.so")
    parser.add_argument("--json", metavar="FILE", help="figures, one JSON line each")
    parser.add_argument(
        "--budget", type=float, default=150.0, metavar="SECONDS",
        help="start no peer after this time (default 150)",
    )
    parser.add_argument("--ours-only", action="store_true", help="no peers")
    parser.add_argument(
        "--only", default="", metavar="OPS", help="rmsnorm,softmax,cross_entropy, ..."
    )
    parser.add_argument(
        "--check", action="store_true", help="small shapes, results only, no times"
    )
    args = parser.parse_args()
    known = {case[0].__name__ for case in CASES}
    args.only = set(args.only.split(",")) if args.only else known
    if args.only - known:
        parser.error(f"--only: there are {', '.join(sorted(known))}")
    return args


def main():
    args = arguments()
    if not CARD and not args.check:
        sys.exit("peers.py: torch sees no card; run it on a machine with one (nvidia-smi)")
    deadline = time.monotonic() + args.budget
    kernels = Kernels(args.library)
    torch.manual_seed(SEED)
    machine, clock, copy = "CPU", None, 0.0
    if CARD:
        machine = torch.cuda.get_device_name(0)
        # A backward pass is called more than once, so it must not reuse its inputs' memory.
        torch._functorch.config.donated_buffer = False
    if not args.check:
        clock = Clock()
        copy = copy_speed(clock)
    print(f"{machine}, torch {torch.__version__}, seed {SEED:#x}, copy {copy:.1f} GB/s"
          if clock else f"{machine}, torch {torch.__version__}, results only")
    if CARD and not args.ours_only and not liger("rms_norm", "LigerRMSNormFunction"):
        print("liger_kernel cannot be imported: its kernels are left out")
    report, good = Report(args.json, machine), True
    for op, dtype, *sizes in SMALL if args.check else CASES:
        if op.__name__ not in args.only:
            continue
        try:
            for row in op(kernels, dtype, *sizes):
                good &= run_row(row, args, clock, copy, report, deadline)
                del row
        except Exception as e:  # such as too little memory; the other cases still run
            reason = f"{type(e).__name__}: {e}".splitlines()[0][:200]
            print(f"{op.__name__} {SUFFIX[dtype]} {sizes} failed: {reason}", flush=True)
            report.line(op=op.__name__, dtype=SUFFIX[dtype], sizes=sizes, failed=reason)
            good = False
        if CARD:
            torch._dynamo.reset()
            torch.cuda.empty_cache()
    if clock:
        again = copy_speed(clock)
        report.line(op="copy", GBs=round(copy, 1), GBs_at_the_end=round(again, 1))
        print(f"copy at the end {again:.1f} GB/s")
        report.print_table(copy)
    return 0 if good else 1


CARD = torch.cuda.is_available()
DEVICE = "cuda" if CARD else "cpu"

if __name__ == "__main__":
    sys.exit(main())
