"""peers_rows.py - labs 01 to 04 compared with torch eager, torch.compile, and the libraries
of peers_libraries.py."""

import torch
import torch.nn.functional as F

import peers_libraries
from peerkit import BF16, DEVICE, F32, Row, Side, both_passes, output, sides_of, tensor
from peerkit import workspace
from peers_libraries import liger


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

    peers = sides_of(
        lambda x, w: F.rms_norm(x, (C,), w, eps), peers_libraries.rmsnorms(eps), formula
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

    peers = sides_of(formula, peers_libraries.softmaxes())
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

    from_liger = liger("swiglu", "LigerSiLUMulFunction")
    peers = sides_of(formula, {"liger": from_liger} if from_liger else {})
    whole = R * C * gate.element_size()
    yield from both_passes(
        "swiglu", f"{R}x{C}", [gate, up], dout, formula, peers, ours,
        (3 * whole, 5 * whole),
    )


def cross_entropy(kernels, dtype, R, V):
    """Loss and gradient. Ours and the libraries' write the gradient over the logits, which
    are restored before each call. The gradient at the target is much larger than the others
    of its row, so it is compared separately."""
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

        def restore():
            with torch.no_grad():
                own.copy_(logits)

        return Side(both, lambda r: parts(*r), restore if overwrites else None)

    def eager_f32(x, t):
        return F.cross_entropy(x.float(), t)

    libraries = peers_libraries.cross_entropies()
    functions = sides_of(F.cross_entropy, libraries, eager_f32)
    peers = {
        name: lambda f=f, name=name: side(f, name in libraries)
        for name, f in functions.items()
    }
    size = 2 * R * V * logits.element_size() + 8 * R
    yield Row("cross_entropy", dtype, f"{R}x{V}", size, want, ours, peers)


def rope(kernels, dtype, B, T, H, D):
    """Queries and keys: one call of ours on 2H heads, two tensors for the peers, which
    read cosines and sines in the dtype of the inputs."""
    x, out = tensor(dtype, B, T, 2 * H, D), output(dtype, B, T, 2 * H, D)
    frequency = 10000.0 ** (-torch.arange(0, D, 2, device=DEVICE).double() / D)
    angle = torch.arange(T, device=DEVICE).double()[:, None] * frequency  # (T,D/2)
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

    def side_of_liger():  # in place; stored as (B,T,H,D), viewed as (B,H,T,D)
        own = [half.clone() for half in halves]
        views = [half.transpose(1, 2) for half in own]
        flat = cos[:, :, 0].contiguous(), sin[:, :, 0].contiguous()

        def restore():
            for mine, half in zip(own, halves):
                mine.copy_(half)

        return Side(
            lambda: apply(*views, *flat),
            lambda r: [torch.cat([half.transpose(1, 2) for half in r], 2)],
            restore,
        )

    functions = sides_of(formula, {"liger": apply} if apply else {})
    peers = {
        name: side_of_liger if name == "liger" else lambda f=f: side(f)
        for name, f in functions.items()
    }
    size = 2 * x.numel() * x.element_size() + 4 * cis.numel()
    shape = f"{B}x{T}x{H}x{D} q+k"
    ours = Side(call, lambda _: [out])
    yield Row("rope_forward", dtype, shape, size, [want], ours, peers)


CASES = [  # the cases in which peers differ most come first, in case the budget runs out
    (rmsnorm, BF16, 4096, 4096),
    (rmsnorm, BF16, 16384, 2560),
    (rmsnorm, BF16, 16384, 384),
    (rmsnorm, BF16, 2048, 16384),
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


