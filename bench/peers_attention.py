"""peers_attention.py - lab 05 compared with PyTorch: scaled_dot_product_attention with
each of its back ends, and flex_attention, which supports windows. Each side gets its
preferred layout: ours (B,T,H,D), the peers (B,H,T,D)."""

import math

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from peerkit import BF16, HAS_GPU, DEVICE, F32, Row, Side, output, pass_backward
from peerkit import pass_forward, tensor, workspace

ALL = 2**31 - 1  # WB_ALL of wb.h: no window
BACK_ENDS = {
    "flash": SDPBackend.FLASH_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
}


def visible(T, window):
    """visible pairs of query and key in one head: min(t, window) + 1 keys for query t"""
    few = min(T, window + 1)
    return few * (few + 1) // 2 + (T - few) * few


def mask_of(T, window):
    t = torch.arange(T, device=DEVICE)
    back = t[:, None] - t
    return (back >= 0) & (back <= window)


def truth(q, k, v, dout, window, scale, backward):
    """lse, out and the gradients in float64, one sequence after another"""
    parts = []
    mask = mask_of(q.shape[2], window)
    groups = q.shape[1] // k.shape[1]
    for b in range(q.shape[0]):
        own = [x[b].double().requires_grad_() for x in (q, k, v)]
        wide_k, wide_v = (x.repeat_interleave(groups, 0) for x in own[1:])
        with torch.set_grad_enabled(backward):
            scores = (scale * own[0] @ wide_k.mT).masked_fill(~mask, -math.inf)
            out = torch.softmax(scores, -1) @ wide_v
        grads = torch.autograd.grad(out, own, dout[b].double()) if backward else ()
        lse = torch.logsumexp(scores.detach(), -1)
        parts.append([x.detach().float() for x in (lse, out, *grads)])
    return [torch.stack(x) for x in zip(*parts)]


def flex(T, window, scale, grouped):
    def mask(b, h, i, j):
        return (i >= j) & (i - j <= window)

    blocks = create_block_mask(mask, None, None, T, T, device=DEVICE)
    compiled = torch.compile(flex_attention, dynamic=False)
    return lambda q, k, v: compiled(
        q, k, v, block_mask=blocks, scale=scale, enable_gqa=grouped
    )


def peers_of(T, window, scale, grouped):
    """{name: function of q, k, v}"""

    def with_back_end(back_end):
        def attend(q, k, v):
            with sdpa_kernel([back_end]):
                return F.scaled_dot_product_attention(
                    q, k, v, is_causal=True, scale=scale, enable_gqa=grouped
                )

        return attend

    def eager(q, k, v):
        wide = [x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v)]
        scores = (scale * q @ wide[0].mT).masked_fill(~mask_of(T, window), -math.inf)
        return torch.softmax(scores, -1) @ wide[1]

    if not HAS_GPU:
        return {"eager": lambda: eager}
    named = {"flex": lambda: flex(T, window, scale, grouped)}
    if window == ALL:
        named |= {n: lambda b=b: with_back_end(b) for n, b in BACK_ENDS.items()}
    if T <= 1024:
        named["compile"] = lambda: torch.compile(eager, dynamic=False)
    return named


def attention(kernels, dtype, B, T, H, K, D, window=ALL, backward=True):
    q, k, v = tensor(dtype, B, H, T, D), tensor(dtype, B, K, T, D), tensor(dtype, B, K, T, D)
    dout = tensor(dtype, B, H, T, D)
    scale = 1.0 / math.sqrt(D)
    lse, y, *gradients = truth(q, k, v, dout, window, scale, backward)
    ours = {n: x.transpose(1, 2).contiguous() for n, x in dict(q=q, k=k, v=v).items()}
    sizes = dict(
        B=B, T=T, S=T, H=H, K=K, D=D, ldq=H * D, ldkv=K * D, window=window, scale=scale,
        pos=None,
    )
    names = "B", "T", "S", "H", "K", "D"

    def space(function):
        few = {n: sizes[n] for n in names}
        size = kernels.size(f"attention_{function}_workspace", dtype, **few)
        return dict(workspace=workspace(size), workspace_bytes=size)

    out, kept = output(dtype, B, T, H, D), output(F32, B, H, T)
    call = kernels.bind(
        "attention_forward", dtype, out=out, lse=kept, **ours, **sizes, **space("forward")
    )
    make = peers_of(T, window, scale, H != K)
    made = {}  # each function is compiled once, for both passes

    def peer(name):
        if name not in made:
            made[name] = make[name]()
        return made[name]

    heads = f"{H}" if H == K else f"{H}/{K}"
    shape = f"B{B} H{heads} T{T} D{D}" + (f" W{window}" if window != ALL else "")
    flops = 4 * B * H * D * visible(T, window)
    numbers = 2 * B * T * (H + K) * D * q.element_size()
    off = {BF16: 8e-3, F32: 2e-5}[dtype]  # p is rounded to bf16 for the second GEMM
    yield Row(
        "attention_forward", dtype, shape, numbers + 4 * lse.numel(), [y],
        Side(call, lambda _: [out.transpose(1, 2)]),
        {n: lambda n=n: pass_forward(peer(n), [q, k, v]) for n in make}, flops, off,
    )
    if not backward:
        return

    grads = [output(dtype, B, T, h, D) for h in (H, K, K)]
    call = kernels.bind(
        "attention_backward", dtype, **dict(zip(("dq", "dk", "dv"), grads)),
        dout=dout.transpose(1, 2).contiguous(), lse=lse,
        out=y.transpose(1, 2).contiguous().to(dtype), **ours, **sizes,
        **space("backward"),
    )
    yield Row(
        "attention_backward", dtype, shape, 2 * numbers + 4 * lse.numel(), gradients,
        Side(call, lambda _: [g.transpose(1, 2) for g in grads]),
        {n: lambda n=n: pass_backward(peer(n), [q, k, v], dout) for n in make},
        flops * 5 // 2, off,
    )


CASES = [
    (attention, BF16, 4, 4096, 16, 16, 64),
    (attention, BF16, 4, 4096, 16, 16, 128),
    (attention, BF16, 4, 4096, 16, 16, 256),
    (attention, BF16, 2, 8192, 10, 1, 256, 2048),
    (attention, BF16, 64, 256, 6, 6, 64),
]
SMALL = [
    (attention, BF16, 2, 100, 4, 2, 64, 30),
    (attention, F32, 1, 65, 3, 1, 16),
]
