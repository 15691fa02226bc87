"""ops_formulas.py - the formulas of the common operations, for ops.py.

Here wb_train is an array of ten numbers, in the order of STATE.
"""

import numpy as np

import softmax
import swiglu
import wb
from wb import rounded, total

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
