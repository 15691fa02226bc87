"""attention.py - lab 05 in float64. The contract is labs/lab05_attention/attention.h.

    python reference/attention.py   checks the gradients against finite differences

attention_formulas.py has the formulas, attention_mistakes.py and
attention_backward_mistakes.py the known mistakes.
"""

import numpy as np

import wb
from attention_backward_mistakes import attention_backward_mistakes  # noqa: F401
from attention_formulas import *
from attention_mistakes import attention_forward_mistakes  # noqa: F401
from call import Call
from rope import make_positions
from wb import TYPES, bound, rounded, total

# --- cases ------------------------------------------------------------------------------


def edge_positions(B, T, S):
    """Documents begin at the keys 16, 32, 64, 128, ... of sequence 0, one key later in
    sequence 1, one earlier in sequence 2, and so on: where tiles begin and end."""
    pos, key = np.zeros((B, T), int), np.arange(S - T, S)
    for b in range(B):
        first = key - (b + 1) % 3 + 1
        begins = (first >= 16) & (first & (first - 1) == 0)
        begins[0] = True
        pos[b] = np.arange(T) - np.maximum.accumulate(np.where(begins, np.arange(T), 0))
    return pos


def document_positions(call, kind, B, T, S):
    """kind: none (NULL), documents (several in each sequence), last (the last token, too,
    begins one) or edges (documents begin where tiles begin and end). If S > T, the first
    document began in an earlier call; in the last of several sequences it began before
    the first key."""
    if kind == "edges":
        pos = edge_positions(B, T, S)
    else:
        pos, _ = make_positions(call, "documents" if kind == "last" else kind, B, T)
    if pos is None:
        return None
    before = call.rng.integers(0, S - T + 1, (B, 1))
    if B > 1:
        before[-1] = S - T + call.rng.integers(100, 200)
    pos = np.where(pos == np.arange(T), pos + before, pos)
    if kind == "last":
        pos[:, -1] = 0
    return pos


def lay_out(call, names, role, values, widths, packed, pads):
    """Three tensors of rows: side by side in one buffer (packed), or each in its own
    buffer with `pads` elements after a row. values=None: poison. Returns the two
    strides."""
    lds = [w + pads[n > 0] for n, w in enumerate(widths)]
    if packed:
        lds = [sum(widths)] * 3
        height = np.prod(packed)
        fill = None if values is None else np.concatenate(values, -1)
        call.buffer(names[0], fill, height * lds[0])
    for n, name in enumerate(names):
        shape = [*packed, widths[n]] if packed else [*values[n].shape]
        if packed:
            call.view(name, role, names[0], shape, sum(widths[:n]), lds[0], owner="row")
            continue
        wide, skew = np.zeros((*shape[:-1], lds[n])), call.skew(name)
        if role == "in":
            wide[...] = call.rng.standard_normal(wide.shape)
            wide[..., : shape[-1]] = values[n]
        fill = np.concatenate([np.ones(skew), wide.ravel()]) if role == "in" else None
        call.buffer(name, fill, skew + wide.size)
        call.view(name, role, name, shape, skew, lds[n], owner="row")
    return lds[0], lds[1]


def head_counts(call, H, K, G):
    """H and K of a case that gives H, or G, the heads of a group"""
    K = K or H or 1
    H = K * G if H is None else H
    call.scalar("H", H), call.scalar("K", K)
    return H, K


def peaks(B, T, S, window):
    """Every 24th key, and the queries that see none of them"""
    key = (S - 1 - np.arange(S)) % 24 == 0
    see = visible(reach(None, B, T, S, window), T, S)[:, 0]
    return key, ~(see & key).any(-1)


def random_qkv(call, B, T, S, H, K, D, sd, ramp, shift, scale, unseen, window):
    """q, k, v. sd: spread of the scores for scale 1/sqrt(D). ramp: channel 0 makes the
    scores grow by this much along the row, so that the running maximum keeps changing.
    shift: channel 0 moves all scores by this much. unseen: where a query sees none of
    peaks(), their scores are this much larger than the others."""
    q = call.rng.standard_normal((B, T, H, D)) + 0.2
    k = call.rng.standard_normal((B, S, K, D))
    v = call.normal((B, S, K, D))
    q *= sd * np.exp2(call.rng.uniform(-0.5, 0.5, (B, T, H, 1)))
    if ramp:
        q[..., 0] = np.sqrt(D)
        k[..., 0] = ramp * np.linspace(0, 1, S)[:, None]
    if shift:  # few products: next to a large one, each adds a rounding error
        q[..., 1:4] *= np.sqrt(D / 3)
        q[..., 4:] = 0
        q[..., 0] = min(abs(shift / scale), 3e4)  # k stays small, and dq, which sums it
        k[..., 0] = shift / scale / q[0, 0, 0, 0]
    if unseen:
        key, blind = peaks(B, T, S, window)
        q[..., 0] = blind[..., None] * np.sqrt(D)
        k[..., 0] = key[:, None] * unseen / scale / np.sqrt(D)
    return [rounded(x.reshape(*x.shape[:2], x.shape[2] * D), call.E) for x in (q, k, v)]


def default_scale(call, scale, D):
    scale = float(np.float32(1 / np.sqrt(D) if scale is None else scale))
    call.scalar("scale", scale)
    return scale


def attention_forward_data(
    call,
    B,
    T,
    D,
    S=None,
    H=None,
    K=None,
    G=1,
    window=ALL,
    scale=None,
    sd=1.5,
    ramp=0.0,
    shift=0.0,
    unseen=0.0,
    pos="none",
    packed=0,
    padq=0,
    padkv=0,
    lse=1,
):
    """Defaults: S = T, K = H, scale = 1/sqrt(D). G: heads of a group, H = K*G. packed: q,
    k, v side by side in one row (S = T). padq, padkv: elements between rows. lse=0: NULL."""
    S, (H, K) = S or T, head_counts(call, H, K, G)
    call.scalar("S", S), call.scalar("window", window)
    scale = default_scale(call, scale, D)
    qkv = random_qkv(call, B, T, S, H, K, D, sd, ramp, shift, scale, unseen, window)
    call.out("out", (B, T, H * D), owner="row")
    call.out("lse", (B, H, T), "f32") if lse else call.null("lse", "out", "f32")
    ld = lay_out(
        call,
        "qkv",
        "in",
        qkv,
        (H * D, K * D, K * D),
        (B, T) if packed else 0,
        (padq, padkv),
    )
    call.scalar("ldq", ld[0]), call.scalar("ldkv", ld[1])
    p = document_positions(call, pos, B, T, S)
    call.null("pos", dtype="i32") if p is None else call.input("pos", p, "i32")


def attention_backward_data(
    call,
    B,
    T,
    D,
    S=None,
    H=None,
    K=None,
    G=1,
    window=ALL,
    scale=None,
    sd=1.5,
    shift=0.0,
    unseen=0.0,
    pos="none",
    packed=0,
    padq=0,
    padkv=0,
):
    """as for the forward pass; the gradients have the layout of q, k and v"""
    S, (H, K) = S or T, head_counts(call, H, K, G)
    call.scalar("S", S), call.scalar("window", window)
    scale = default_scale(call, scale, D)
    qkv = random_qkv(call, B, T, S, H, K, D, sd, 0, shift, scale, unseen, window)
    p = document_positions(call, pos, B, T, S)
    out, lse = np.empty((B, T, H * D)), np.empty((B, H, T))
    attention_forward(out, lse, *qkv, p, B, T, S, H, K, D, 0, 0, window, scale)
    layout = (H * D, K * D, K * D), (B, T) if packed else 0, (padq, padkv)
    lay_out(call, ("dq", "dk", "dv"), "out", None if packed else qkv, *layout)
    call.input("dout", call.normal((B, T, H * D)), owner="row")
    ld = lay_out(call, "qkv", "in", qkv, *layout)
    call.scalar("ldq", ld[0]), call.scalar("ldkv", ld[1])
    call.input("out", out, owner="row")
    call.input("lse", lse, "f32")
    call.null("pos", dtype="i32") if p is None else call.input("pos", p, "i32")


# --- error model: see "Tolerance" in the header -----------------------------------------


def score_errors(s, qh, kh, see, scale, D):
    """The effect of an error of s on exp(s), in units of 2^-24, with one rounding per
    term. The terms of a small s may be large."""
    sums = see * np.abs(scale) * (np.abs(qh) @ np.abs(kh).swapaxes(-1, -2))
    return np.max(np.maximum(np.abs(s) * np.sqrt(D), sums), -1)  # (B,H,T)


def attention_forward_bounds(out, lse, q, k, v, pos, B, T, S, H, K, D, window, scale, E):
    qh, kh, vh = heads(q, D), for_queries(k, H, D), for_queries(v, H, D)
    see = visible(reach(pos, B, T, S, window), T, S)
    s = np.where(see, scale * (qh @ kh.swapaxes(-1, -2)), 0)
    p, _ = softmax_parts(s, see)
    # without fused multiply-add there are two roundings per term
    c = 2 * score_errors(s, qh, kh, see, scale, D)[..., None]
    c += 16 + TYPES[E]["unit"] * 2**24
    b = {
        "out": bound(
            rows(p @ np.abs(vh)),
            "sum p |v|",
            c=rows(np.broadcast_to(c, qh.shape)),
            c_text="16 + 2 max(|s| sqrt(D), |scale| sum |q k|) + u 2^24",
            n=S,
        )
    }
    if lse is not None:
        M = np.abs(scale) * np.max(see * (np.abs(qh) @ np.abs(kh).swapaxes(-1, -2)), -1)
        b["lse"] = bound(1 + M, "1 + max |scale| sum |q k|", n=S + D)
    return b


def attention_backward_bounds(
    dout, q, k, v, out, lse, pos, B, T, S, H, K, D, window, scale, E
):
    """c belongs to a query, and dk and dv sum over queries, so c is inside their sums. ds
    is rounded to E, not the larger products whose difference it is. A p or ds close to 0
    is rounded to a multiple of E's smallest step.

    delta may be dout . out or sum p dp. The two differ: `out` is rounded to E, which
    gives delta D errors with independent signs: twice their root mean square is `stored`.
    An error of delta is the same for all keys; those of queries have independent
    signs."""
    qh, kh, vh = heads(q, D), for_queries(k, H, D), for_queries(v, H, D)
    doh, oh, u = heads(dout, D), heads(out, D), TYPES[E]["unit"] * 2**24
    step = TYPES[E]["least"] * 2**24
    see = visible(reach(pos, B, T, S, window), T, S)
    s = np.where(see, scale * (qh @ kh.swapaxes(-1, -2)), 0)
    c = 16 + score_errors(s, qh, kh, see, scale, D)[..., None]
    p, scale = masked_exp(s, see, lse), np.abs(scale)
    ds = scale * p * np.abs(doh @ vh.swapaxes(-1, -2) - total(doh * oh))
    stored = 2 * u * np.sqrt(total((doh * oh) ** 2))
    doh, oh = np.abs(doh), np.abs(oh)
    parts = scale * p * (doh @ np.abs(vh).swapaxes(-1, -2) + total(doh * oh))
    down, across = np.sqrt(T * (H // K) + D), np.sqrt(S + D)
    rounding = 2 * u * ds + 2 * step * scale * see
    squares = (p * stored).swapaxes(-1, -2) ** 2 @ qh**2
    at_k, at_q = (parts * (c + n) + rounding for n in (across, down))
    M = {
        "dq": rows(at_k @ np.abs(kh) + scale * stored * np.abs(p @ kh)),
        "dk": group_sum(at_q.swapaxes(-1, -2) @ np.abs(qh), K)
        + scale * np.sqrt(group_sum(squares, K)),
        "dv": group_sum((p * (c + u + down) + step * see).swapaxes(-1, -2) @ doh, K),
    }
    text = (
        "sum |products| (16 + max(|s| sqrt(D), |scale| sum |q k|) + roundings to E, "
        "delta + sqrt(n))"
    )
    return {name: bound(m, text, c=1) for name, m in M.items()}


# --- checks of this file ----------------------------------------------------------------


def check(checks, T, S, H, K, window, pos):
    rng, (B, D, scale) = np.random.default_rng(5), (2, 4, 0.6)
    q, dout, out, dq = (rng.standard_normal((B, T, H * D)) for _ in range(4))
    k, v, dk, dv = (rng.standard_normal((B, S, K * D)) for _ in range(4))
    lse = np.empty((B, H, T))
    shape = (pos, B, T, S, H, K, D, 0, 0, window, scale)

    def loss():
        attention_forward(out, lse, q, k, v, *shape)
        return np.sum(out * dout)

    loss()
    attention_backward(dq, dk, dv, dout, q, k, v, out.copy(), lse.copy(), *shape)
    what = f"attention T={T} S={S} H={H} K={K} window={window}"
    for name, x, dx in (("dq", q, dq), ("dk", k, dk), ("dv", v, dv)):
        checks.gradient(f"{what}: {name}", loss, x, dx)
    before = lse.copy()
    weights = np.exp(scale * heads(q, D) @ for_queries(k, H, D).swapaxes(-1, -2))
    weights = weights * visible(reach(pos, B, T, S, window), T, S)
    checks.close(f"{what}: lse", before, np.log(np.sum(weights, -1)))


def check_reach(checks):
    """counted by hand: T = 4 queries, which are keys 2..5 of S = 6"""
    see = visible(reach(None, 1, 4, 6, 1), 4, 6)[0, 0]
    checks.ok("window 1: a query sees two keys", list(see.sum(-1)) == [2, 2, 2, 2])
    pos = np.array([[3, 4, 0, 1]])
    see = visible(reach(pos, 1, 4, 6, ALL), 4, 6)[0, 0]
    checks.ok("documents: keys 0..2, 0..3, 4, 4..5", list(see.sum(-1)) == [3, 4, 1, 2])
    checks.ok(
        "documents: a start sees itself", list(see[2]) == [False] * 4 + [True, False]
    )


def check_delta(checks, E, seed, **sizes):
    """a right kernel may compute delta as sum p dp; here in float, rounded to E where
    tensor cores would round"""
    call = Call(E, seed)
    attention_backward_data(call, **sizes)
    x = {name: call.array(name) for name in call.args}
    z = {n: call.scalars.get(n, sizes.get(n)) for n in "BTSHKD"}
    z.update(window=call.scalars["window"], scale=call.scalars["scale"])
    want = {n: np.empty(x[n].shape) for n in ("dq", "dk", "dv")}
    by_name = dict(x, **z, ldq=0, ldkv=0, E=E)
    wb.by_name(attention_backward, by_name | want)
    bounds = wb.by_name(attention_backward_bounds, by_name)
    f = {n: np.float32(v) for n, v in x.items() if n not in want and v is not None}
    H, K, D, T, S = (z[n] for n in "HKDTS")
    q, dout = heads(f["q"], D), heads(f["dout"], D)
    k, v = for_queries(f["k"], H, D), for_queries(f["v"], H, D)
    see = visible(reach(x["pos"], z["B"], T, S, z["window"]), T, S)
    s = np.float32(z["scale"]) * (q @ k.swapaxes(-1, -2))
    p = np.where(see, np.exp(s - f["lse"][..., None]), np.float32(0))
    dp = dout @ v.swapaxes(-1, -2)
    ds = p * (dp - (p * dp).sum(-1, keepdims=True))
    ds, p = (rounded(y, E).astype(np.float32).swapaxes(-1, -2) for y in (ds, p))
    scale = np.float32(z["scale"])
    got = {
        "dq": rows(scale * (ds.swapaxes(-1, -2) @ k)),
        "dk": group_sum(scale * (ds @ q), K),
        "dv": group_sum(p @ dout, K),
    }
    for n, y in got.items():
        error = np.abs(rounded(y, E) - want[n]) / bounds[n].tolerance(want[n], E)
        what = f"{n} in {E} with delta = sum p dp, seed {seed}"
        checks.ok(f"{what}: {error.max():.2f} tolerances", bool(error.max() <= 1))


if __name__ == "__main__":
    checks = wb.Checks()
    check(checks, 5, 5, 2, 2, ALL, None)
    check(checks, 4, 6, 4, 2, 2, None)
    check(checks, 5, 7, 3, 1, ALL, np.array([[1, 2, 0, 1, 2], [0, 0, 1, 2, 3]]))
    check_reach(checks)
    for E, seed in (("f32", 1), ("f16", 2), ("bf16", 3)):
        check_delta(checks, E, seed, B=2, T=70, H=4, K=2, D=32, sd=3.0)
    checks.done()
