"""ops.py - the common operations in float64. The contract is common/ops/ops.h.

    python reference/ops.py     checks the gradients against finite differences

Here wb_train is an array of ten numbers, in the order of STATE.
"""

import numpy as np

import softmax
import swiglu
import wb
from wb import TYPES, bound, rounded, total

STATE = "seed tick step updates good loss_scale lr grad_scale loss grad_norm".split()
SEED, TICK, STEP, UPDATES, GOOD, LOSS_SCALE, LR, GRAD_SCALE, LOSS, GRAD_NORM = range(10)
LINEAR, SWIGLU, GEGLU = range(3)


# --- matrix multiplies ------------------------------------------------------------------


def matmul_forward(y, x, w, bias, res, R, I, O):
    y[...] = x @ w.T + (0 if bias is None else bias) + (0 if res is None else res)


def matmul_backward(dx, dw, dbias, dy, x, w, R, I, O):
    if dx is not None:
        dx[...] = dy @ w
    dw += dy.T @ x
    if dbias is not None:
        dbias += total(dy, axis=0)[0]


def normed(x, norm, eps, offset):
    if norm is None:
        return x
    return x / np.sqrt(wb.mean(x**2) + eps) * (offset + norm)


def activated(y, O, act):
    if act == LINEAR:
        return y
    of = swiglu.silu if act == SWIGLU else swiglu.gelu
    return of(y[:, :O]) * y[:, O:]


def linear_step(out, x, w, bias, norm, res, R, I, O, act, eps, offset):
    y = normed(x, norm, eps, offset) @ w.T + (0 if bias is None else bias)
    out[...] = activated(y, O, act) + (0 if res is None else res)


def logits_step(logits, x, w, norm, R, C, V, eps, offset):
    logits[...] = normed(x, norm, eps, offset) @ w.T


# --- attention --------------------------------------------------------------------------


def heads(x, n, D):
    """(B,T,n*D) as (B,n,T,D)"""
    return x.reshape(*x.shape[:2], n, D).transpose(0, 2, 1, 3)


def rows(x):
    """(B,n,T,D) as (B,T,n*D)"""
    B, n, T, D = x.shape
    return x.transpose(0, 2, 1, 3).reshape(B, T, n * D)


def shared(x, H):
    """key heads (B,K,S,D) as query heads see them: (B,H,S,D)"""
    return np.repeat(x, H // x.shape[1], axis=1)


def attention_gemm_forward(out, p, q, k, v, B, T, S, H, K, D, scale):
    s = scale * heads(q, H, D) @ shared(heads(k, K, D), H).transpose(0, 1, 3, 2)
    visible = np.arange(S) <= S - T + np.arange(T)[:, None]
    p[...] = softmax.softmax(np.where(visible, s, -np.inf))
    out[...] = rows(p @ shared(heads(v, K, D), H))


def attention_gemm_backward(dq, dk, dv, dout, q, k, v, p, B, T, S, H, K, D, scale):
    do, kh, vh = heads(dout, H, D), shared(heads(k, K, D), H), shared(heads(v, K, D), H)
    dp = do @ vh.transpose(0, 1, 3, 2)
    ds = scale * p * (dp - total(p * dp))
    dq[...] = rows(ds @ kh)

    def of_group(x):  # sums (B,H,S,D) over the heads that share a key head
        return rows(x.reshape(B, K, H // K, S, D).sum(2))

    dk[...] = of_group(ds.transpose(0, 1, 3, 2) @ heads(q, H, D))
    dv[...] = of_group(p.transpose(0, 1, 3, 2) @ do)


# --- rows and elements ------------------------------------------------------------------


def embedding_forward(out, table, token, R, C, V, scale):
    out[...] = scale * table[token]


def embedding_backward(dtable, dout, token, R, C, V, scale):
    np.add.at(dtable, token, scale * dout)


def gather_rows(out, x, index, R, C):
    out[index >= 0] = x[index[index >= 0]]


def add_forward(out, a, b, N):
    out[...] = a + b


def cast(out, x, N, E="f64"):
    out[...] = rounded(x, E)


def widen(out, x, N):
    out[...] = x


def softcap(out, x, N, cap):
    out[...] = cap * np.tanh(x / cap)


def sum(out, x, N):
    out += total(x)


# --- training ---------------------------------------------------------------------------


def learning_rate(step, kind, warmup, steps, max_lr, min_lr):
    if step < warmup:
        return max_lr * (step + 1) / warmup
    way = (step - warmup) / (steps - warmup) if step < steps else 1
    if kind == 0:
        return max_lr
    if kind == 1:
        return max_lr + (min_lr - max_lr) * way
    return min_lr + 0.5 * (max_lr - min_lr) * (1 + np.cos(np.pi * way))


def train_begin(st, kind, warmup, steps, max_lr, min_lr, tokens, first):
    st[TICK] += 1
    if first:
        st[LR] = learning_rate(st[STEP], kind, warmup, steps, max_lr, min_lr)
        st[GRAD_SCALE] = st[LOSS_SCALE] / tokens
        st[LOSS] = 0


def train_end(st, growth):
    st[STEP] += 1
    if not np.isfinite(st[GRAD_NORM]):
        st[LOSS_SCALE] /= 2
        st[GOOD] = 0
        st[GRAD_NORM] = 0  # 0 means here that it is not judged
        return
    st[UPDATES] += 1
    st[GOOD] += 1
    if growth and st[GOOD] >= growth:
        st[LOSS_SCALE] *= 2
        st[GOOD] = 0


def gradnorm(st, grad, N):
    st[GRAD_NORM] = np.sqrt(total(grad**2))[0] / st[LOSS_SCALE]


def gradnorm_join(st, norm, n):
    st[GRAD_NORM] = np.sqrt(np.sum(norm**2))


def adamw_step(param, master, m, v, grad, st, N, b1, b2, eps, decay, clip, E="f64"):
    w = param if master is None else master
    if np.isfinite(st[GRAD_NORM]):
        g = grad / st[LOSS_SCALE]
        if clip:
            g = g * min(1, clip / st[GRAD_NORM])
        n = st[UPDATES] + 1
        m[...] = b1 * m + (1 - b1) * g
        v[...] = b2 * v + (1 - b2) * g**2
        step = m / (1 - b1**n) / (np.sqrt(v / (1 - b2**n)) + eps)
        w -= st[LR] * (step + decay * w)
        if master is not None:
            param[...] = w
    grad[...] = 0


def philox(seed, c0, c1, c2, c3):
    """Philox-4x32-10 (Salmon et al., SC 2011): four arrays of 32-bit numbers"""
    counters = (np.asarray(c, np.uint64) for c in (c0, c1, c2, c3))
    c0, c1, c2, c3 = np.broadcast_arrays(*counters)
    low = np.uint64(0xFFFFFFFF)
    k0, k1 = seed & 0xFFFFFFFF, seed >> 32
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c0, np.uint64(0xCD9E8D57) * c2
        c0, c1 = (p1 >> np.uint64(32)) ^ c1 ^ np.uint64(k0), p1 & low
        c2, c3 = (p0 >> np.uint64(32)) ^ c3 ^ np.uint64(k1), p0 & low
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c0, c1, c2, c3


def dropout_forward(out, x, st, N, first, p, site):
    group = first // 4 + np.arange((N + 3) // 4)
    fours = philox(int(st[SEED]), group, 0, site, int(st[TICK]))
    numbers = np.stack(fours, -1).reshape(-1)[:N]
    out[...] = np.where(numbers >= p * 2.0**32, x / (1 - p), 0)


# --- generation -------------------------------------------------------------------------


def prompt_chunk(token, pos, len, last, seen, prompt, n, base, B, T, P, V, t0):
    token[...], pos[...], last[...] = 0, 0, -1
    marks = None if seen is None else seen.view(np.uint8).reshape(B, V)
    for b in range(B):
        len[b] = real = min(max(n[b] - t0, 0), T)
        token[b, :real] = prompt[b, t0 : t0 + real]
        pos[b, :real] = base[b] + t0 + np.arange(real)
        if marks is not None:
            marks[b, prompt[b, t0 : t0 + real]] = 1
        if t0 < n[b] <= t0 + T:
            last[b] = b * T + real - 1


def generate_advance(out, table, token, pos, done, count, text, stop, B, L, nstop, C, scale):
    for b in range(B):
        if done[b]:
            token[b] = 0
        else:
            if count[b] < L:
                text[b, count[b]] = token[b]
                count[b] += 1
            pos[b] += 1
            done[b] = int(token[b] in stop)
    if out is not None:
        out[...] = scale * table[token]


# --- cases ------------------------------------------------------------------------------


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


# --- error model: see "Tolerance" in wb.h -----------------------------------------------


def product_bound(M, n, c=8, text="sum |x w| + |addends|"):
    return bound(M, text, c=c, n=n)


def matmul_forward_bounds(x, w, bias, res, I):
    M = np.abs(x) @ np.abs(w).T
    M = M + (0 if bias is None else np.abs(bias)) + (0 if res is None else np.abs(res))
    return {"y": product_bound(M, I)}


def matmul_backward_bounds(dx, dw, dbias, dy, x, w, R, O):
    b = {"dw": product_bound(np.abs(dw) + np.abs(dy).T @ np.abs(x), R)}
    if dx is not None:
        b["dx"] = product_bound(np.abs(dy) @ np.abs(w), O)
    if dbias is not None:
        b["dbias"] = product_bound(np.abs(dbias) + np.abs(dy).sum(0), R)
    return b


def step_magnitude(x, w, bias, norm, eps, offset):
    u = np.abs(normed(x, norm, eps, offset))
    return u @ np.abs(w).T + (0 if bias is None else np.abs(bias))


def linear_step_bounds(x, w, bias, norm, res, I, O, act, eps, offset):
    M = step_magnitude(x, w, bias, norm, eps, offset)
    if act != LINEAR:  # |act(z)| and |act'(z)| are at most 1.13 |z| and 1.13
        M = 3 * M[:, :O] * (1 + M[:, O:])
    return {"out": product_bound(M + (0 if res is None else np.abs(res)), 2 * I, 16)}


def logits_step_bounds(x, w, norm, C, eps, offset):
    M = step_magnitude(x, w, None, norm, eps, offset)
    return {"logits": product_bound(M, 2 * C, 16)}


def units(E):
    """the rounding to E, in units of that to float"""
    return TYPES[E]["unit"] * 2.0**24


def attention_gemm_forward_bounds(out, p, q, k, v, H, K, D, S, scale, E):
    """scores s are rounded to E before the softmax, and P after it"""
    qh, kt = heads(q, H, D), shared(heads(k, K, D), H).transpose(0, 1, 3, 2)
    most = np.max(np.abs(scale * qh @ kt), -1, keepdims=True)
    most_sum = np.max(np.abs(scale) * np.abs(qh) @ np.abs(kt), -1, keepdims=True)
    c = 16 + 2 * most * units(E) + 2 * most_sum * (8 + np.sqrt(D))
    c_text = "16 + 2 max|s| u 2^24 + 2 max(sum |q k|) (8 + sqrt(D))"
    M = rows(p @ np.abs(shared(heads(v, K, D), H)))
    c_out = rows(np.broadcast_to(c + units(E), c.shape[:-1] + (D,)))
    return {
        "p": bound(p, "|y|", c=c, c_text=c_text, n=S),
        "out": bound(M, "sum p |v|", c=c_out, c_text=c_text + " + u 2^24", n=S),
    }


def attention_gemm_backward_bounds(
    dq, dk, dv, dout, q, k, v, p, B, T, S, H, K, D, scale, E
):
    """Float errors are bounded by the sums of magnitudes. dP and dS are also rounded to
    E: these errors are independent, so their squares add up (2.5: four deviations)."""
    do, qh = np.abs(heads(dout, H, D)), np.abs(heads(q, H, D))
    kh, vh = shared(heads(k, K, D), H), shared(heads(v, K, D), H)
    dp = heads(dout, H, D) @ vh.transpose(0, 1, 3, 2)
    ds = np.abs(scale * p * (dp - total(p * dp)))
    dp_M = do @ np.abs(vh).transpose(0, 1, 3, 2)
    ds_M = np.abs(scale) * p * (dp_M + total(p * dp_M))
    ds_error = ds + np.abs(scale) * p * (np.abs(dp) + np.sqrt(total((p * dp) ** 2)))

    def of_group(left, right):
        x = left.transpose(0, 1, 3, 2) @ right
        return rows(x.reshape(B, K, H // K, S, D).sum(2))

    M = {"dq": rows(ds_M @ np.abs(kh)), "dk": of_group(ds_M, qh), "dv": of_group(p, do)}
    squares = {
        "dq": rows(ds_error**2 @ kh**2),
        "dk": of_group(ds_error**2, qh**2),
        "dv": 0,
    }
    n = max(S, T * H // K) + D
    c = {name: 16 + 2.5 * units(E) * np.sqrt(squares[name]) / M[name] for name in M}
    texts = {"M_text": "sums of magnitudes", "c_text": "16 + rounded dP, dS"}
    return {name: bound(M[name], c=c[name], n=n, **texts) for name in M}


def embedding_forward_bounds(out):
    return {"out": bound(out, c=1)}


def embedding_backward_bounds(dtable, dout, token, R, scale):
    M = np.abs(dtable)
    np.add.at(M, token, np.abs(scale * dout))
    return {"dtable": bound(M, "|dtable| + sum |scale dout|", n=R)}


def gather_rows_bounds(out):
    return {"out": bound(exact=True)}


def add_forward_bounds(out):
    return {"out": bound(out, c=0)}


def cast_bounds(out):
    return {"out": bound(exact=True)}


def widen_bounds(out):
    return {"out": bound(exact=True)}


def softcap_bounds(out):
    return {"out": bound(out)}


def sum_bounds(out, x, N):
    return {"out": bound(np.abs(out) + np.abs(x).sum(), "|out| + sum |x|", n=N)}


def train_begin_bounds(st):
    return {"st": bound(st, c=2)}


def train_end_bounds(st):
    return {"st": bound(exact=True)}


def gradnorm_bounds(st, N):
    return {"st": bound(st, n=N)}


def gradnorm_join_bounds(st, n):
    return {"st": bound(st, n=n)}


def adamw_step_bounds(param, master, m, v, grad, st, b1, b2, eps, decay):
    n, lr = st[UPDATES] + 1, st[LR]
    w = np.abs(param if master is None else master)
    step = np.abs(m) / (1 - b1**n) / (np.sqrt(v / (1 - b2**n)) + eps)
    M = w + lr * (step + decay * w)
    # m may be a difference of larger numbers, which are bounded by what Adam divides by
    m_M = np.abs(m) + (1 - b1) * np.sqrt(v / (1 - b2))
    M = M + lr * m_M / (1 - b1**n) / (np.sqrt(v / (1 - b2**n)) + eps)
    b = {
        "param": bound(M, "|w| + lr (|step| + decay |w|)", c=16),
        "m": bound(m_M, "|m| + (1-b1) sqrt(v/(1-b2))"),
        "v": bound(v),
        "grad": bound(exact=True),
    }
    if master is not None:
        b["master"] = bound(M, "|w| + lr (|step| + decay |w|)", c=16)
    return b


def dropout_forward_bounds(out):
    return {"out": bound(out, c=1)}


def prompt_chunk_bounds(seen):
    names = ["token", "pos", "len", "last"] + (["seen"] if seen is not None else [])
    return {name: bound(exact=True) for name in names}


def generate_advance_bounds(out):
    names = ("token", "pos", "done", "count", "text")
    exact = {name: bound(exact=True) for name in names}
    return exact if out is None else {"out": bound(out, c=1), **exact}


# --- checks of this file ----------------------------------------------------------------


def check_matmul(checks):
    rng, R, I, O = np.random.default_rng(3), 4, 5, 3
    x, w, bias, dy = (rng.standard_normal(s) for s in ((R, I), (O, I), (O,), (R, O)))
    y, dx = np.empty((R, O)), np.empty((R, I))
    dw, dbias = rng.standard_normal((O, I)), rng.standard_normal(O)
    dw0, dbias0 = dw.copy(), dbias.copy()

    def loss():
        matmul_forward(y, x, w, bias, None, R, I, O)
        return np.sum(y * dy)

    matmul_backward(dx, dw, dbias, dy, x, w, R, I, O)
    checks.gradient("matmul: dx", loss, x, dx)
    checks.gradient("matmul: dw, added to", loss, w, dw - dw0)
    checks.gradient("matmul: dbias, added to", loss, bias, dbias - dbias0)


def check_attention(checks, H, K, T, S):
    rng, B, D, scale = np.random.default_rng(4), 2, 3, 0.4
    q, k, v = (rng.standard_normal((B, n, h * D)) for n, h in ((T, H), (S, K), (S, K)))
    out, p = np.empty((B, T, H * D)), np.empty((B, H, T, S))
    dout = rng.standard_normal(out.shape)
    dq, dk, dv = np.empty_like(q), np.empty_like(k), np.empty_like(v)

    def loss():
        attention_gemm_forward(out, p, q, k, v, B, T, S, H, K, D, scale)
        return np.sum(out * dout)

    loss()
    attention_gemm_backward(dq, dk, dv, dout, q, k, v, p, B, T, S, H, K, D, scale)
    what = f"attention H={H} K={K} T={T} S={S}"
    for name, at, gradient in (("dq", q, dq), ("dk", k, dk), ("dv", v, dv)):
        checks.gradient(f"{what}: {name}", loss, at, gradient)
    loss()
    before = out[:, 0].copy()
    k[:, S - T + 1 :] += 1  # keys after the first query
    loss()
    checks.close(f"{what}: the first query sees no later key", out[:, 0], before)


def check_embedding(checks):
    rng, R, C, V = np.random.default_rng(5), 6, 3, 4
    table, dout = rng.standard_normal((V, C)), rng.standard_normal((R, C))
    token = rng.integers(0, V, R)
    out, dtable = np.empty((R, C)), np.zeros((V, C))

    def loss():
        embedding_forward(out, table, token, R, C, V, 1.5)
        return np.sum(out * dout)

    embedding_backward(dtable, dout, token, R, C, V, 1.5)
    checks.gradient("embedding: dtable", loss, table, dtable)


def check_random(checks):
    """the published results of Random123 for Philox-4x32-10"""
    ones = 0xFFFFFFFF
    for what, seed, counter, want in (
        ("zeros", 0, (0,) * 4, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ("ones", (1 << 64) - 1, (ones,) * 4, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ):
        got = " ".join(f"{int(n):08x}" for n in philox(seed, *counter))
        checks.ok(f"philox of {what} gives {want}", got == want)


def check_dropout(checks):
    N, st = 40000, np.zeros(10)
    st[SEED], st[TICK] = 99, 3
    out = np.empty(N)
    dropout_forward(out, np.ones(N), st, N, 0, 0.25, 1)
    kept = np.mean(out != 0)
    near = abs(kept - 0.75) < 4 * np.sqrt(0.1875 / N)
    checks.ok(f"dropout 0.25 keeps {kept:.3f}", bool(near))
    checks.close("dropout divides by 1 - p", out.max(), 4 / 3)


def check_schedule(checks):
    for kind in (1, 2):
        first, last = (learning_rate(n, kind, 10, 100, 1.0, 0.1) for n in (10, 100))
        checks.close(f"schedule {kind} starts at max_lr", first, 1.0)
        checks.close(f"schedule {kind} ends at min_lr", last, 0.1)
    checks.close("half of the cosine", learning_rate(55, 2, 10, 100, 1.0, 0.2), 0.6)
    checks.close("warm-up", learning_rate(4, 0, 10, 100, 1.0, 0.2), 0.5)


if __name__ == "__main__":
    checks = wb.Checks()
    check_matmul(checks)
    for sizes in ((4, 4, 5, 5), (6, 2, 4, 4), (6, 1, 3, 5)):
        check_attention(checks, *sizes)
    check_embedding(checks)
    check_random(checks)
    check_dropout(checks)
    check_schedule(checks)
    checks.done()
