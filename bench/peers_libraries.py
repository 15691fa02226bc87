"""peers_libraries.py - kernels of other libraries as functions of torch tensors, for those
that can be imported on this computer: Liger, quack, cuDNN's norms through its Python front
end, and the scans of flash-linear-attention (fla) and accelerated-scan."""

import torch

from peerkit import HAS_GPU, Side, as_list

LIBRARIES = {  # what peers.py reports as missing: module -> package on PyPI
    "liger_kernel": "liger-kernel",
    "quack": "quack-kernels",
    "cudnn": "nvidia-cudnn-frontend",
    "fla": "flash-linear-attention",
    "accelerated_scan": "accelerated-scan",
}


def load(module, name):
    """an object of a module; None: not installed, or not compatible with this torch"""
    if not HAS_GPU:
        return None
    try:
        return getattr(__import__(module, fromlist=[name]), name)
    except Exception:
        return None


def missing():
    """the packages that could not be imported"""
    return [package for module, package in LIBRARIES.items() if not importable(module)]


def importable(module):
    try:
        __import__(module)
    except Exception:
        return False
    return True


def liger(module, function):
    """apply of an autograd.Function of liger_kernel.ops, or None"""
    found = load(f"liger_kernel.ops.{module}", function)
    return found and found.apply


def rmsnorms(eps):
    """{name: f(x, w)}"""
    from_liger = liger("rms_norm", "LigerRMSNormFunction")
    from_quack = load("quack", "rmsnorm")
    return used(
        liger=from_liger and (lambda x, w: from_liger(x, w, eps, 0.0, "llama", False)),
        quack=from_quack and (lambda x, w: from_quack(x, w, eps=eps)),
        cudnn=load("cudnn", "pygraph") and (lambda x, w: CudnnNorm.apply(x, w, eps)),
    )


def softmaxes():
    return used(
        liger=liger("softmax", "LigerSoftmaxFunction"), quack=load("quack", "softmax")
    )


def cross_entropies():
    """{name: f(logits, target), the mean loss}; Liger's and quack's write the gradient
    over the logits"""
    from_liger = liger("cross_entropy", "LigerCrossEntropyFunction")
    from_quack = load("quack", "cross_entropy")
    return used(  # newer versions of Liger return more than the loss
        liger=from_liger and (lambda x, t: as_list(from_liger(x, t, None))[0]),
        quack=from_quack and (lambda x, t: from_quack(x, t, inplace_backward=True)),
    )


def used(**functions):
    return {name: f for name, f in functions.items() if f}


# --- cuDNN ------------------------------------------------------------------------------


def cudnn_tensors(graph, *tensors):
    """A matrix (R,C) is an image of R pixels to cuDNN; a vector one pixel."""
    shaped = [t.view(-1, t.shape[-1] if t.dim() > 1 else t.numel(), 1, 1) for t in tensors]
    return [graph.tensor_like(t.detach()) for t in shaped]


class CudnnNorm(torch.autograd.Function):
    """RMSNorm. The graphs of a shape are built at its first call."""

    graphs = {}

    @staticmethod
    def build(x, w, eps):
        import cudnn

        def graph():
            return cudnn.pygraph(
                intermediate_data_type=cudnn.data_type.FLOAT,
                compute_data_type=cudnn.data_type.FLOAT,
            )

        def finish(graph, outputs):
            for one, dtype in outputs:
                one.set_output(True).set_data_type(dtype)
            graph.build([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
            size = graph.get_workspace_size()
            return torch.empty(max(size, 1), dtype=torch.uint8, device=x.device)

        kind = {torch.bfloat16: cudnn.data_type.BFLOAT16}.get(x.dtype, cudnn.data_type.FLOAT)
        small = torch.full((1, 1, 1, 1), eps, dtype=torch.float32)
        first, second = graph(), graph()
        xs, ws = cudnn_tensors(first, x, w)
        es = first.tensor_like(small)
        out, rstd = first.rmsnorm(
            norm_forward_phase=cudnn.norm_forward_phase.TRAINING, input=xs, scale=ws,
            epsilon=es,
        )
        spaces = [finish(first, [(out, kind), (rstd, cudnn.data_type.FLOAT)])]
        kept = torch.empty(x.shape[0], dtype=torch.float32, device=x.device)
        dys, xb, wb = cudnn_tensors(second, x, x, w)
        rb = second.tensor_like(kept.view(-1, 1, 1, 1))
        dx, dw, _ = second.rmsnorm_backward(
            grad=dys, input=xb, scale=wb, inv_variance=rb, has_dbias=False
        )
        spaces.append(finish(second, [(dx, kind), (dw, kind)]))
        return (first, second, spaces, small), (xs, ws, es, out, rstd), (dys, xb, wb, rb, dx, dw)

    @classmethod
    def of(cls, x, w, eps):
        key = x.shape, x.dtype, eps
        if key not in cls.graphs:
            cls.graphs[key] = cls.build(x, w, eps)
        return cls.graphs[key]

    @staticmethod
    def forward(ctx, x, w, eps):
        (graph, _, spaces, small), names, _ = CudnnNorm.of(x, w, eps)
        out = torch.empty_like(x)
        rstd = torch.empty(x.shape[0], dtype=torch.float32, device=x.device)
        graph.execute(dict(zip(names, (x.detach(), w.detach(), small, out, rstd))), spaces[0])
        ctx.save_for_backward(x, w, rstd)
        ctx.eps = eps
        return out

    @staticmethod
    def backward(ctx, dout):
        x, w, rstd = ctx.saved_tensors
        (_, graph, spaces, _), _, names = CudnnNorm.of(x, w, ctx.eps)
        dx, dw = torch.empty_like(x), torch.empty_like(w)
        graph.execute(dict(zip(names, (dout, x, w, rstd, dx, dw))), spaces[1])
        return dx, dw, None


# --- scans ------------------------------------------------------------------------------


def scans(a, z, dh):
    """{name: function that makes the forward and the backward Side} for the linear scan of
    tensors (B,T,C). Each library gets the layout and the inputs that it works on."""
    hgrn = load("fla.ops.hgrn", "chunk_hgrn")
    T = a.shape[1]

    def sides(f, gate, token, gradient, da, natural):
        gate, token = gate.requires_grad_(), token.requires_grad_()
        h = f(gate, token)
        return (
            Side(lambda: f(gate, token), lambda y: [natural(y.detach())]),
            Side(
                lambda: torch.autograd.grad(h, (gate, token), gradient, retain_graph=True),
                lambda d: [da(natural(d[0]).float()), natural(d[1])],
            ),
        )

    def of_hgrn():  # takes log a, and returns its gradient a da
        return sides(
            lambda g, x: hgrn(x, g)[0], a.float().log().to(a.dtype), z.clone(), dh,
            lambda d: d / a.float(), lambda y: y,
        )

    def of_warp():  # (B,C,T); the import compiles the kernels, which takes long
        from accelerated_scan.warp import scan as warp

        def turned(y):
            return y.transpose(1, 2).contiguous()

        return sides(warp, turned(a), turned(z), turned(dh), lambda d: d, turned)

    fits = T & (T - 1) == 0  # all that accelerated-scan takes
    warps = HAS_GPU and fits and importable("accelerated_scan")
    return used(fla=hgrn and of_hgrn, accelerated=warps and of_warp)
