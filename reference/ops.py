"""ops.py - the common operations in float64. The contract is common/ops/ops.h.

    python reference/ops.py     checks the gradients against finite differences

ops_formulas.py has the operations, ops_data.py their cases.
"""

import numpy as np

import wb
from ops_data import *
from ops_formulas import *
from wb import TYPES, bound, total

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
