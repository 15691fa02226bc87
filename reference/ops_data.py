"""ops_data.py - the arguments of the cases in tests/ops/cases, for ops.py."""

import numpy as np

import softmax
from ops_formulas import LINEAR, LOSS_SCALE, STATE


def optional(call, name, given, values, dtype=None):
    call.input(name, values, dtype) if given else call.null(name, dtype=dtype)


def inout(call, name, values, dtype="f32"):
    call.buffer(name, values, dtype=dtype)
    call.view(name, "inout", name, np.shape(values))


def weights(call, O, I):
    return call.rng.standard_normal((O, I)) / np.sqrt(I)


def matmul_forward_data(call, R, I, O, bias=0, res=0, res_at_y=0):
    if res_at_y:
        inout(call, "y", call.normal((R, O)), call.E)
        call.view("res", "in", "y", (R, O))
    else:
        call.out("y", (R, O))
    call.input("x", call.normal((R, I)))
    call.input("w", weights(call, O, I))
    optional(call, "bias", bias, call.normal((O,)))
    if not res_at_y:
        optional(call, "res", res, call.normal((R, O)))


def matmul_backward_data(call, R, I, O, dx=1, dbias=0):
    call.out("dx", (R, I)) if dx else call.null("dx", "out")
    call.acc("dw", (O, I))
    call.acc("dbias", (O,)) if dbias else call.null("dbias", "acc", "f32")
    call.input("dy", call.normal((R, O)))
    call.input("x", call.normal((R, I)))
    call.input("w", weights(call, O, I))


def linear_step_data(call, R, I, O, act=0, eps=1e-5, offset=0.0, bias=0, norm=0, res=0):
    wide = O if act == LINEAR else 2 * O
    call.out("out", (R, O))
    call.input("x", call.normal((R, I)))
    call.input("w", weights(call, wide, I))
    optional(call, "bias", bias, call.normal((wide,)))
    optional(call, "norm", norm, 1 - offset + 0.3 * call.rng.standard_normal(I))
    optional(call, "res", res, call.normal((R, O)))


def logits_step_data(call, R, C, V, eps=1e-5, offset=0.0, norm=1):
    call.out("logits", (R, V), "f32")
    call.input("x", call.normal((R, C)))
    call.input("w", weights(call, V, C))
    optional(call, "norm", norm, 1 - offset + 0.3 * call.rng.standard_normal(C))


def packed(call, name, role, B, T, width, at, stride, elements):
    """a view (B,T,width) of packed rows, starting `at` elements into each row"""
    call.view(name, role, elements, (B, T, width), offset=at, stride=stride)


def attention_inputs(call, B, T, S, H, K, D, ldq, ldkv, prefix="", role="in"):
    """one packed buffer if S = T, otherwise separate ones for queries, keys and values"""
    q, k, v = (prefix + n for n in "qkv")
    if ldq == ldkv and S == T:
        name = prefix + "qkv"
        values = call.rng.standard_normal((B, T, ldq)) if role == "in" else None
        call.buffer(name, values, B * T * ldq)
        packed(call, q, role, B, T, H * D, 0, ldq, name)
        packed(call, k, role, B, S, K * D, H * D, ldkv, name)
        packed(call, v, role, B, S, K * D, (H + K) * D, ldkv, name)
        return
    keys = (S, K * D, ldkv)
    for n, length, width, ld in ((q, T, H * D, ldq), (k, *keys), (v, *keys)):
        values = call.rng.standard_normal((B, length, ld)) if role == "in" else None
        call.buffer(n + "_rows", values, B * length * ld)
        packed(call, n, role, B, length, width, 0, ld, n + "_rows")


def strides(T, S, H, K, D, gap):
    both = (H + 2 * K) * D + gap
    return (both, both) if S == T else (H * D + gap, K * D + gap)


def attention_gemm_forward_data(call, B, T, S, H, K, D, scale=0.25, gap=0):
    ldq, ldkv = strides(T, S, H, K, D, gap)
    call.out("out", (B, T, H * D))
    call.out("p", (B, H, T, S))
    attention_inputs(call, B, T, S, H, K, D, ldq, ldkv)
    call.scalar("ldq", ldq)
    call.scalar("ldkv", ldkv)


def attention_gemm_backward_data(call, B, T, S, H, K, D, scale=0.25, gap=0):
    ldq, ldkv = strides(T, S, H, K, D, gap)
    attention_inputs(call, B, T, S, H, K, D, ldq, ldkv, "d", "out")
    call.input("dout", call.rng.standard_normal((B, T, H * D)))
    attention_inputs(call, B, T, S, H, K, D, ldq, ldkv)
    visible = np.arange(S) <= S - T + np.arange(T)[:, None]
    t = np.where(visible, call.rng.standard_normal((B, H, T, S)), -np.inf)
    call.input("p", softmax.softmax(t))
    call.scalar("ldq", ldq)
    call.scalar("ldkv", ldkv)


def tokens(call, R, V):
    """some tokens are frequent, as in a text"""
    return np.minimum(call.rng.geometric(min(1, 8 / V), R) - 1, V - 1)


def embedding_forward_data(call, R, C, V, scale=1.0):
    call.out("out", (R, C))
    call.input("table", call.normal((V, C)))
    call.input("token", tokens(call, R, V), "i32")


def embedding_backward_data(call, R, C, V, scale=1.0):
    call.acc("dtable", (V, C))
    call.input("dout", call.normal((R, C)))
    call.input("token", tokens(call, R, V), "i32")


def gather_rows_data(call, R, C, n=7):
    inout(call, "out", call.normal((R, C)), call.E)
    call.input("x", call.normal((n, C)))
    call.input("index", call.rng.integers(-2, n, R), "i32")


def at_offset(call, role, name, N, offset, values=None, dtype=None):
    """N elements of a buffer from `offset` on; with 1 they are not 16-byte aligned"""
    if values is not None:
        values = np.concatenate([np.zeros(offset), values])
    call.buffer(name, values, N + offset, dtype)
    call.view(name, role, name, (N,), offset=offset)


def add_forward_data(call, N, offset=0, at=""):
    a, b = call.normal((N,)), call.normal((N,))
    at_offset(call, "in", "a", N, offset, a)
    at_offset(call, "in", "b", N, offset, b)
    if at:
        call.view("out", "out", at, (N,), offset=offset)
    else:
        at_offset(call, "out", "out", N, offset)


def cast_data(call, N, offset=0):
    at_offset(call, "out", "out", N, offset)
    at_offset(call, "in", "x", N, offset, call.normal((N,)), "f32")


def widen_data(call, N, offset=0):
    at_offset(call, "out", "out", N, offset, dtype="f32")
    at_offset(call, "in", "x", N, offset, call.normal((N,)), "bf16")


def softcap_data(call, N, cap=3.0, offset=0):
    at_offset(call, "out", "out", N, offset)
    at_offset(call, "in", "x", N, offset, call.normal((N,), 4))


def sum_data(call, N, offset=0):
    call.acc("out", (1,))
    at_offset(call, "in", "x", N, offset, call.normal((N,)))


def state(call, role="inout", **fields):
    values = np.zeros(len(STATE))
    values[LOSS_SCALE] = 1
    for name, value in fields.items():
        values[STATE.index(name)] = value
    call.buffer("st", values, dtype="f32")
    call.view("st", role, "st", (len(STATE),))


def train_begin_data(
    call,
    step,
    kind=2,
    warmup=10,
    steps=100,
    max_lr=1e-3,
    min_lr=1e-4,
    tokens=768,
    first=1,
    loss_scale=1.0,
):
    state(
        call, step=step, tick=step * 3, loss=5.5, lr=0.25, loss_scale=loss_scale, seed=7
    )


def train_end_data(call, growth=0, good=0, grad_norm=1.5, loss_scale=1.0):
    state(call, step=4, updates=3, good=good, loss_scale=loss_scale, grad_norm=grad_norm)


def gradnorm_data(call, N, loss_scale=1.0, offset=0):
    state(call, loss_scale=loss_scale, step=3)
    at_offset(call, "in", "grad", N, offset, call.normal((N,)), "f32")


def gradnorm_join_data(call, n):
    state(call, step=3, grad_norm=0.5)
    call.buffer("norm", np.abs(call.normal((n,))), dtype="f32")
    call.view("norm", "in", "norm", (n,))


def adamw_step_data(
    call,
    N,
    b1=0.9,
    b2=0.99,
    eps=1e-8,
    decay=0.1,
    clip=1.0,
    master=0,
    updates=0,
    grad_norm=2.5,
    loss_scale=1.0,
    offset=0,
):
    w = 0.1 * call.rng.standard_normal(N)
    if master:
        at_offset(call, "out", "param", N, offset)
        at_offset(call, "inout", "master", N, offset, w, "f32")
    else:
        at_offset(call, "inout", "param", N, offset, w)
        call.null("master", "inout", "f32")
    started = 0 if updates == 0 else 1
    m, v = 0.01 * call.rng.standard_normal(N), 1e-4 * call.rng.random(N)
    at_offset(call, "inout", "m", N, offset, started * m, "f32")
    at_offset(call, "inout", "v", N, offset, started * v, "f32")
    grad = loss_scale * 0.03 * call.rng.standard_normal(N)
    at_offset(call, "inout", "grad", N, offset, grad, "f32")
    state(
        call,
        "in",
        updates=updates,
        lr=1e-2,
        loss_scale=loss_scale,
        grad_norm=grad_norm,
        step=updates,
    )


def dropout_forward_data(call, N, first=0, p=0.2, site=3, offset=0):
    at_offset(call, "out", "out", N, offset)
    at_offset(call, "in", "x", N, offset, call.normal((N,)))
    state(call, "in", seed=1234567, tick=42)


def prompt_chunk_data(call, B=5, T=6, P=20, V=32, t0=6, seen=1):
    for name, shape in (
        ("token", (B, T)),
        ("pos", (B, T)),
        ("len", (B,)),
        ("last", (B,)),
    ):
        call.out(name, shape, "i32")
    if seen:
        inout(call, "seen", np.zeros((B, V // 4)), "i32")
    else:
        call.null("seen", "inout", "i32")
    call.input("prompt", call.rng.integers(0, V, (B, P)), "i32")
    n = [0, t0, t0 + 1, t0 + T, min(P, t0 + T + 3)] + [P] * B
    call.input("n", n[:B], "i32")
    call.input("base", 100 * np.arange(B), "i32")


def generate_advance_data(call, B=6, L=4, nstop=2, C=0, V=7, scale=1.0):
    call.out("out", (B, C)) if C else call.null("out", "out")
    optional(call, "table", C, call.normal((V, C)))
    inout(call, "token", 3 + np.arange(B) % 4, "i32")
    inout(call, "pos", 10 + np.arange(B), "i32")
    inout(call, "done", (np.arange(B) == 1).astype(int), "i32")
    inout(call, "count", np.arange(B) % (L + 1), "i32")
    inout(call, "text", np.full((B, L), -1), "i32")
    call.input("stop", 5 + np.arange(nstop), "i32")
