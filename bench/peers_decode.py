"""peers_decode.py - lab 07 compared with PyTorch: attention of one token to a cache, and
sampling the next token."""

import math

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import flex_attention

from peerkit import BF16, HAS_GPU, DEVICE, F32, Row, Side, output, tensor, workspace

BACK_ENDS = {  # the third one, "efficient", does not support grouped queries
    "flash": SDPBackend.FLASH_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
}
if not HAS_GPU:
    BACK_ENDS = {"math": SDPBackend.MATH}


def decode(kernels, dtype, B, H, K, S, D):
    """A token at position S-1 attends to S keys including its own. Ours reads the others
    from the ring and writes the last one; the peers have all of them in (B,K,S,D). No
    rotation."""
    q = tensor(dtype, B, H, 1, D)
    k, v = tensor(dtype, B, K, S, D), tensor(dtype, B, K, S, D)
    scale, grouped = 1.0 / math.sqrt(D), H != K
    wide = q.view(B, K, H // K, D).double()
    want = torch.softmax(scale * wide @ k.double().mT, -1) @ v.double()
    ring = [x.transpose(1, 2).contiguous() for x in (k, v)]  # (B,S,K,D)
    token = [x[:, -1].contiguous() for x in ring]
    sizes = dict(B=B, S=S, H=H, K=K, D=D)
    size = kernels.size("attention_decode_workspace", dtype, **sizes)
    out = output(dtype, B, H, D)
    call = kernels.bind(
        "attention_decode", dtype, out=out, kcache=ring[0], vcache=ring[1],
        q=q.view(B, H, D), k=token[0], v=token[1], cis=None,
        pos=torch.full((B,), S - 1, dtype=torch.int32, device=DEVICE), **sizes, N=0,
        ldq=H * D, ldkv=K * D, scale=scale, workspace=workspace(size),
        workspace_bytes=size,
    )

    def side(f):
        return Side(lambda: f(q, k, v), lambda y: [y.view(B, K, H // K, D)])

    def sdpa(back_end):
        def attend(q, k, v):
            with sdpa_kernel([back_end]):
                return F.scaled_dot_product_attention(
                    q, k, v, scale=scale, enable_gqa=grouped
                )

        return side(attend)

    def flex():
        f = torch.compile(flex_attention, dynamic=False)
        return side(lambda q, k, v: f(q, k, v, scale=scale, enable_gqa=grouped))

    peers = {n: lambda b=b: sdpa(b) for n, b in BACK_ENDS.items()}
    if HAS_GPU:
        peers["flex"] = flex
    bytes_ = (2 * k.numel() + 2 * q.numel()) * k.element_size()
    yield Row(
        "attention_decode", dtype, f"B{B} H{H}/{K} S{S} D{D}", bytes_, [want],
        Side(call, lambda _: [out.view(B, K, H // K, D)]), peers,
        tolerance={BF16: 8e-3, F32: 2e-5}[dtype],
    )


def sample(kernels, dtype, B, V, top_k, top_p, temperature):
    """The sides use different random numbers. So the check is whether the logit of the
    sampled token is at least the smallest that may be sampled (with argmax: the
    largest)."""
    logits = tensor(dtype, B, V, scale=4.0)
    least = logits.double().amax(1, keepdim=True)
    if temperature:
        first, _ = (logits.double() / temperature).topk(top_k or V)
        p = torch.softmax(first, 1)
        kept = (p.cumsum(1) - p < top_p).sum(1, keepdim=True)
        least = first.gather(1, kept - 1) * temperature

    def allowed(token):
        chosen = logits.double().gather(1, token.long().view(B, 1))
        return [(chosen >= least - 1e-6).double()]

    size = kernels.size("sample_workspace", dtype, B=B, V=V)
    token = torch.full((B,), -1, dtype=torch.int32, device=DEVICE)
    call = kernels.bind(
        "sample", dtype, token=token, seen=None, logits=logits,
        seed=torch.arange(B, device=DEVICE).to(torch.uint64),
        pos=torch.zeros(B, dtype=torch.int32, device=DEVICE), B=B, V=V, ld=V, softcap=0.0,
        penalty=1.0, temperature=temperature, top_k=top_k, top_p=top_p,
        workspace=workspace(size), workspace_bytes=size,
    )

    def draw(x):
        if not temperature:
            return x.argmax(1)
        first, index = (x / temperature).topk(top_k or V)
        p = torch.softmax(first, 1)
        p = torch.where(p.cumsum(1) - p < top_p, p, 0.0)
        # argmax of p / noise: a sample without a transfer to the host
        noise = torch.empty_like(p).exponential_()
        return index.gather(1, (p / noise).argmax(1, keepdim=True))

    peers = {"eager": lambda: Side(lambda: draw(logits), allowed)}
    if HAS_GPU:
        f = torch.compile(draw, dynamic=False)
        peers["compile"] = lambda: Side(lambda: f(logits), allowed)
    how = f"k{top_k} p{top_p}" if temperature else "argmax"
    yield Row(
        "sample", dtype, f"{B}x{V} {how}", 4 * B * V,
        [torch.ones(B, 1, dtype=torch.float64, device=DEVICE)],
        Side(call, lambda _: allowed(token)), peers,
    )


CASES = [
    (decode, BF16, 64, 10, 1, 2048, 256),
    (decode, BF16, 32, 32, 8, 8192, 128),
    (decode, BF16, 1, 10, 1, 2048, 256),
    (sample, F32, 32, 256000, 0, 1.0, 0.0),
    (sample, F32, 32, 256000, 50, 0.9, 0.8),
]
SMALL = [
    (decode, BF16, 3, 10, 1, 100, 64),
    (decode, F32, 2, 6, 3, 33, 16),
    (sample, F32, 3, 1000, 0, 1.0, 0.0),
    (sample, F32, 3, 1000, 50, 0.9, 0.8),
]
