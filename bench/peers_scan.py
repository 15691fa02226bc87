"""peers_scan.py - the linear scan and the fused RG-LRU of lab 06, all in (B,T,C),
compared with torch.compile of torch's associative_scan and with Triton kernels
(peers_triton.py). The reference is a loop over time in float64."""

import os

import torch
import torch.nn.functional as F

import peers_libraries
from peerkit import BF16, HAS_GPU, DEVICE, F32, Row, Side, output, tensor, workspace

try:
    from torch._higher_order_ops.associative_scan import associative_scan
except ImportError:
    associative_scan = None
try:
    # Without a GPU only Triton's interpreter runs the kernels (TRITON_INTERPRET=1), slowly
    if not (HAS_GPU or os.environ.get("TRITON_INTERPRET")):
        raise ImportError
    import peers_triton
except ImportError:
    peers_triton = None


def forwards(a, z):
    """h[t] = a[t] h[t-1] + z[t]"""
    h, state = torch.empty_like(z), torch.zeros_like(z[:, 0])
    for t in range(z.shape[1]):
        state = torch.addcmul(z[:, t], a[:, t], state)
        h[:, t] = state
    return h


def backwards(a, dh):
    """dz[t] = dh[t] + a[t+1] dz[t+1]"""
    one = torch.zeros_like(a[:, :1])
    return forwards(torch.cat((one, a[:, 1:].flip(1)), 1), dh.flip(1)).flip(1)


def before(h):
    return torch.cat((torch.zeros_like(h[:, :1]), h[:, :-1]), 1)


def torch_scan(a, z):
    def after(first, second):
        return first[0] * second[0], second[0] * first[1] + second[1]

    return associative_scan(after, (a.float(), z.float()), dim=1)[1].to(z.dtype)


def scan(kernels, dtype, B, T, C):
    a = (0.9 + 0.1 * torch.rand(B, T, C, device=DEVICE)).to(dtype)
    z, dh = tensor(dtype, B, T, C), tensor(dtype, B, T, C)
    h = forwards(a.double(), z.double()).float()
    dz = backwards(a.double(), dh.double())
    kept = h.to(dtype)
    want = [(dz * before(kept.double())).float(), dz.float()]
    del dz
    sizes = dict(B=B, T=T, C=C)
    shape, whole = f"B{B} T{T} C{C}", a.numel() * a.element_size()

    def space(function):
        size = kernels.size(f"linear_scan_{function}_workspace", dtype, **sizes)
        return dict(workspace=workspace(size), workspace_bytes=size)

    out, other = output(dtype, B, T, C), output(dtype, B, T, C)
    totals = None
    if peers_triton:
        totals = output(F32, 2, B, -(-T // peers_triton.TOKENS), C)

    def triton_side(name, back):
        inputs = (a, dh, kept) if back else (a, z, kept)

        def call():
            peers_triton.scan_by(name, out, other, *inputs, totals, back)

        return Side(call, (lambda _: [other, out]) if back else (lambda _: [out]))

    def compile_side():
        f = torch.compile(torch_scan, dynamic=False)
        return Side(lambda: f(a, z), lambda y: [y])

    names = ("loop", "tiles", "twice") if peers_triton else ()
    call = kernels.bind(
        "linear_scan_forward", dtype, h=out, h_last=None, a=a, z=z, h0=None, **sizes,
        **space("forward"),
    )
    peers = {f"triton {n}": lambda n=n: triton_side(n, False) for n in names}
    if associative_scan and HAS_GPU:
        peers["compile"] = compile_side
    libraries = peers_libraries.scans(a, z, dh)
    peers.update({n: lambda f=f: f()[0] for n, f in libraries.items()})
    yield Row(
        "linear_scan_forward", dtype, shape, 3 * whole, [h], Side(call, lambda _: [out]),
        peers,
    )
    call = kernels.bind(
        "linear_scan_backward", dtype, da=other, dz=out, dh0=None, dh=dh, dh_last=None,
        a=a, h=kept, h0=None, **sizes, **space("backward"),
    )
    peers = {f"triton {n}": lambda n=n: triton_side(n, True) for n in names}
    peers.update({n: lambda f=f: f()[1] for n, f in libraries.items()})
    yield Row(
        "linear_scan_backward", dtype, shape, 5 * whole, want,
        Side(call, lambda _: [other, out]), peers,
    )


def gates(c, px, pa, a_param):
    """a and z; the first token starts a document"""
    log_a = -8.0 * torch.sigmoid(pa) * F.softplus(a_param)
    start = torch.zeros_like(log_a, dtype=torch.bool)
    start[:, 0] = True
    a = torch.where(start, 0.0, log_a.exp())
    m = torch.where(start, 1.0, torch.sqrt(-torch.expm1(2.0 * log_a)))
    return a, m * torch.sigmoid(px) * c


def gelu(y):
    return F.gelu(y, approximate="tanh")


def rglru_truth(inputs, dout):
    """h, out and the gradients of c, px, pa, y, a_param in float64"""
    c, px, pa, y, a_param = (x.double().requires_grad_() for x in inputs)
    a, z = gates(c, px, pa, a_param)
    h = forwards(a.detach(), z.detach())
    side = gelu(y)
    dout = dout.double()
    dz = backwards(a.detach(), dout * side.detach())
    through = torch.autograd.grad((a, z), (c, px, pa, a_param), (dz * before(h), dz))
    (dy,) = torch.autograd.grad(side, y, dout * h)
    out = h * side.detach()
    return [x.float() for x in (h, out, *through[:3], dy, through[3])]


def rglru(kernels, dtype, B, T, C):
    c, px, pa, y, dout = (tensor(dtype, B, T, C) for _ in range(5))
    # a between 0.9 and 0.999 where the gate is open, as at initialization
    a_param = torch.empty(C, device=DEVICE).uniform_(0.9, 0.999).log_().div_(-8.0)
    a_param = a_param.expm1_().log_().to(dtype)
    inputs = c, px, pa, y, a_param
    h, want, *grads = rglru_truth(inputs, dout)
    shape, count, size = f"B{B} T{T} C{C}", c.numel(), c.element_size()
    sizes = dict(B=B, T=T, C=C, ldy=C)

    def space(function):
        few = dict(B=B, T=T, C=C)
        bytes_ = kernels.size(f"rglru_{function}_workspace", dtype, **few)
        return dict(workspace=workspace(bytes_), workspace_bytes=bytes_)

    given = dict(c=c, px=px, pa=pa, y=y, a_param=a_param, pos=None)
    out, kept = output(dtype, B, T, C), output(F32, B, T, C)
    call = kernels.bind(
        "rglru_forward", dtype, out=out, h=kept, state=None, len=None, **given, **sizes,
        **space("forward"),
    )

    def formula(c, px, pa, y, a_param):
        a, z = gates(c.float(), px.float(), pa.float(), a_param.float())
        h = torch_scan(a, z)
        return (h * gelu(y.float())).to(c.dtype), h

    def compile_side():
        f = torch.compile(formula, dynamic=False)
        return Side(lambda: f(*inputs), list)

    def triton_forward():
        return Side(
            lambda: peers_triton.rglru_by_tiles(out, kept, *inputs),
            lambda _: [out, kept],
        )

    peers = {"triton tiles": triton_forward} if peers_triton else {}
    if associative_scan and HAS_GPU:
        peers["compile"] = compile_side
    off = {BF16: 5e-3, F32: 1e-4}[dtype]  # exp and square root of values close to one
    yield Row(
        "rglru_forward", dtype, shape, count * (5 * size + 4), [want, h],
        Side(call, lambda _: [out, kept]), peers, tolerance=off,
    )

    made = [output(dtype, B, T, C) for _ in range(4)]
    names = "dc", "dpx", "dpa", "dy"
    parameter = torch.zeros(C, device=DEVICE)
    call = kernels.bind(
        "rglru_backward", dtype, **dict(zip(names, made)), da_param=parameter, dout=dout,
        h=h, **given, **sizes, **space("backward"),
    )
    partial = output(F32, B, C)

    def triton_backward():
        def both():
            peers_triton.rglru_back_by_tiles(*made, partial, dout, c, px, pa, y, h, a_param)
            return partial.sum(0)

        return Side(both, lambda total: [*made, total])

    yield Row(
        "rglru_backward", dtype, shape, count * (9 * size + 4), grads,
        Side(call, lambda _: [*made, parameter], parameter.zero_),
        {"triton tiles": triton_backward} if peers_triton else {}, tolerance=off,
    )


CASES = [
    (scan, F32, 8, 4096, 2560),
    (scan, BF16, 8, 4096, 2560),
    (scan, F32, 1, 4096, 2560),
    (scan, BF16, 1, 4096, 2560),
    (rglru, BF16, 8, 4096, 2560),
    (rglru, BF16, 1, 4096, 2560),
    (rglru, F32, 8, 4096, 2560),
]
SMALL = [
    (scan, F32, 2, 100, 40),
    (scan, BF16, 1, 65, 33),
    (rglru, F32, 2, 70, 40),
    (rglru, BF16, 2, 33, 65),
]
