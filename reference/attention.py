"""attention.py - lab 05 in float64. The contract is labs/lab05_attention/attention.h.

    python reference/attention.py   checks the gradients against finite differences
"""

import numpy as np

import wb
from rope import make_positions
from wb import TYPES, bound, rounded, total

ALL = 2**31 - 1  # WB_ALL: no window

# --- the formulas -----------------------------------------------------------------------
# q has the shape (B,T,H*D), k and v (B,S,K*D), with rows ldq and ldkv apart. The formulas
# put heads first: q (B,H,T,D); k and v with a copy for each head of a group, (B,H,S,D).


def heads(x, D):
    """(B,T,H*D) to (B,H,T,D)"""
    return x.reshape(*x.shape[:2], -1, D).swapaxes(1, 2)


def rows(x):
    """(B,H,T,D) to (B,T,H*D)"""
    return x.swapaxes(1, 2).reshape(x.shape[0], x.shape[2], -1)


def for_queries(x, H, D, head_of=None):
    """k or v (B,S,K*D) to (B,H,S,D): head h uses key head h // (H/K), or head_of(h)"""
    x = heads(x, D)
    head_of = head_of or (lambda h: h // (H // x.shape[1]))
    return x[:, [head_of(h) for h in range(H)]]


def group_sum(x, K):
    """(B,H,S,D) to (B,S,K*D): the sum over the H/K heads of each group"""
    B, H, S, D = x.shape
    return rows(total(x.reshape(B, K, H // K, S, D), 2)[:, :, 0])


def product(a, b):
    """matrix multiply over the last two axes, summed by total() inside half_sums"""
    if wb._sum_type is None:
        return a @ b
    return total(a[..., :, None, :] * b.swapaxes(-1, -2)[..., None, :, :])[..., 0]


def reach(pos, B, T, S, window):
    """(B,T): the number of keys before its own that a query sees"""
    i = np.broadcast_to(S - T + np.arange(T), (B, T))
    return np.minimum(np.minimum(i if pos is None else pos, i), window)


def visible(reach, T, S, ahead=0, offset=None):
    """(B,1,T,S): key j is seen if 0 <= i - j <= reach. ahead: later keys that are seen
    too"""
    i = (S - T if offset is None else offset) + np.arange(T)
    back = i[:, None] - np.arange(S)
    return ((back >= -ahead) & (back <= reach[:, :, None]))[:, None]


def masked_exp(s, see, lse):
    return np.exp(np.where(see, s - lse[..., None], -np.inf))


def softmax_parts(s, see):
    """p and lse (B,H,T) of the visible scores; a query that sees nothing uses key 0"""
    see = see | (~see.any(-1, keepdims=True) & (np.arange(s.shape[-1]) == 0))
    s = np.where(see, s, -np.inf)
    m = np.max(s, -1, keepdims=True)
    lse = (m + np.log(total(np.exp(s - m))))[..., 0]
    return np.exp(s - lse[..., None]), lse


def attention_forward(out, lse, q, k, v, pos, B, T, S, H, K, D, ldq, ldkv, window, scale):
    s = scale * product(heads(q, D), for_queries(k, H, D).swapaxes(-1, -2))
    p, l = softmax_parts(s, visible(reach(pos, B, T, S, window), T, S))
    out[...] = rows(product(p, for_queries(v, H, D)))
    if lse is not None:
        lse[...] = l


def gradients(p, q, k, v, dout, out, H, K, D, scale):
    """dq, dk, dv of weights p (B,H,T,S)"""
    q, dout, out = heads(q, D), heads(dout, D), heads(out, D)
    k, v = for_queries(k, H, D), for_queries(v, H, D)
    ds = p * (product(dout, v.swapaxes(-1, -2)) - total(dout * out))
    dq = scale * product(ds, k)
    dk = scale * product(ds.swapaxes(-1, -2), q)
    dv = product(p.swapaxes(-1, -2), dout)
    return rows(dq), group_sum(dk, K), group_sum(dv, K)


def attention_backward(
    dq, dk, dv, dout, q, k, v, out, lse, pos, B, T, S, H, K, D, ldq, ldkv, window, scale
):
    s = scale * product(heads(q, D), for_queries(k, H, D).swapaxes(-1, -2))
    p = masked_exp(s, visible(reach(pos, B, T, S, window), T, S), lse)
    dq[...], dk[...], dv[...] = gradients(p, q, k, v, dout, out, H, K, D, scale)


# --- cases ------------------------------------------------------------------------------


def document_positions(call, kind, B, T, S):
    """kind: none (NULL) or documents (several in each sequence). If S > T, the first
    document began in an earlier call."""
    pos, _ = make_positions(call, kind, B, T)
    if pos is None:
        return None
    before = call.rng.integers(0, S - T + 1, (B, 1))
    return np.where(pos == np.arange(T), pos + before, pos)


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
        wide = np.zeros((*shape[:-1], lds[n]))
        if role == "in":
            wide[...] = call.rng.standard_normal(wide.shape)
            wide[..., : shape[-1]] = values[n]
        call.buffer(name, wide if role == "in" else None, wide.size)
        call.view(name, role, name, shape, 0, lds[n], owner="row")
    return lds[0], lds[1]


def random_qkv(call, B, T, S, H, K, D, sd, ramp):
    """q, k, v. sd: spread of the scores for scale 1/sqrt(D). ramp: channel 0 makes the
    scores grow by this much along the row, so that the running maximum keeps changing."""
    q = call.rng.standard_normal((B, T, H, D)) + 0.2
    k = call.rng.standard_normal((B, S, K, D))
    v = call.normal((B, S, K, D))
    q *= sd * np.exp2(call.rng.uniform(-0.5, 0.5, (B, T, H, 1)))
    if ramp:
        q[..., 0] = np.sqrt(D)
        k[..., 0] = ramp * np.linspace(0, 1, S)[:, None]
    return [rounded(x.reshape(*x.shape[:2], -1), call.E) for x in (q, k, v)]


def default_scale(call, scale, D):
    scale = float(np.float32(1 / np.sqrt(D) if scale is None else scale))
    call.scalar("scale", scale)
    return scale


def attention_forward_data(
    call,
    B,
    T,
    H,
    D,
    S=None,
    K=None,
    window=ALL,
    scale=None,
    sd=1.5,
    ramp=0.0,
    pos="none",
    packed=0,
    padq=0,
    padkv=0,
    lse=1,
):
    """Defaults: S = T, K = H, scale = 1/sqrt(D). packed: q, k, v side by side in one row
    (S = T). padq, padkv: elements between rows. lse=0: NULL."""
    S, K = S or T, K or H
    call.scalar("S", S), call.scalar("K", K), call.scalar("window", window)
    default_scale(call, scale, D)
    qkv = random_qkv(call, B, T, S, H, K, D, sd, ramp)
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
    H,
    D,
    S=None,
    K=None,
    window=ALL,
    scale=None,
    sd=1.5,
    pos="none",
    packed=0,
    padq=0,
    padkv=0,
):
    """as for the forward pass; the gradients have the layout of q, k and v"""
    S, K = S or T, K or H
    call.scalar("S", S), call.scalar("K", K), call.scalar("window", window)
    scale = default_scale(call, scale, D)
    qkv = random_qkv(call, B, T, S, H, K, D, sd, 0)
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


def score_errors(s, D):
    """c of a product with p: the effect of an error of s on exp(s), in units of 2^-24"""
    return 16 + np.max(np.abs(s), -1) * np.sqrt(D)  # (B,H,T)


def attention_forward_bounds(out, lse, q, k, v, pos, B, T, S, H, K, D, window, scale, E):
    qh, kh, vh = heads(q, D), for_queries(k, H, D), for_queries(v, H, D)
    see = visible(reach(pos, B, T, S, window), T, S)
    s = np.where(see, scale * (qh @ kh.swapaxes(-1, -2)), 0)
    p, _ = softmax_parts(s, see)
    c = score_errors(s, D)[..., None] + TYPES[E]["unit"] * 2**24
    b = {
        "out": bound(
            rows(p @ np.abs(vh)),
            "sum p |v|",
            c=rows(np.broadcast_to(c, qh.shape)),
            c_text="16 + max |s| sqrt(D) + u 2^24",
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
    is rounded to a multiple of E's smallest step."""
    qh, kh, vh = heads(q, D), for_queries(k, H, D), for_queries(v, H, D)
    doh, oh, u = heads(dout, D), heads(out, D), TYPES[E]["unit"] * 2**24
    step = TYPES[E]["least"] * 2**24
    see = visible(reach(pos, B, T, S, window), T, S)
    s = np.where(see, scale * (qh @ kh.swapaxes(-1, -2)), 0)
    c = score_errors(s, D)[..., None]
    p, scale = masked_exp(s, see, lse), np.abs(scale)
    ds = scale * p * np.abs(doh @ vh.swapaxes(-1, -2) - total(doh * oh))
    doh, oh = np.abs(doh), np.abs(oh)
    parts = scale * p * (doh @ np.abs(vh).swapaxes(-1, -2) + total(doh * oh))
    down, across = np.sqrt(T * (H // K) + D), np.sqrt(S + D)
    rounding = 2 * u * ds + 2 * step * scale * see
    at_k, at_q = (parts * (c + n) + rounding for n in (across, down))
    M = {
        "dq": rows(at_k @ np.abs(kh)),
        "dk": group_sum(at_q.swapaxes(-1, -2) @ np.abs(qh), K),
        "dv": group_sum((p * (c + u + down) + step * see).swapaxes(-1, -2) @ doh, K),
    }
    text = "sum |products| (16 + max |s| sqrt(D) + roundings to E + sqrt(n))"
    return {name: bound(m, text, c=1) for name, m in M.items()}


# --- mistakes that the report should name -----------------------------------------------


def wrong_reaches(pos, B, T, S, window):
    """yields (cause, words, reach) of masks that reach too far back or not far enough"""
    right = reach(pos, B, T, S, window)
    yield "no_window", "window is ignored", reach(pos, B, T, S, ALL)
    if window < ALL:
        rule = "a query should see itself and `window` earlier keys"
        yield "window_less", f"the window is one key too small: {rule}", (
            reach(pos, B, T, S, max(window - 1, 0))
        )
        yield "window_more", f"the window is one key too large: {rule}", (
            reach(pos, B, T, S, window + 1)
        )
    yield "no_pos", "pos is ignored: a query sees earlier documents", (
        reach(None, B, T, S, window)
    )
    if pos is not None:
        yield "pos_less", "the first token of a document is not seen by the others", (
            reach(np.maximum(pos - 1, 0), B, T, S, window)
        )
        yield "pos_more", "queries also see the last token of the previous document", (
            reach(pos + 1, B, T, S, window)
        )
    if S > T:
        yield "reach_of_chunk", (
            "queries see only the keys of this call, none of the first S-T"
        ), (np.minimum(right, np.arange(T)))


def wrong_heads(H, K):
    """yields (cause, words, map from query head to key head)"""
    yield "head_modulo", (
        "query head h uses key head h % K, but it should use h / (H/K)"
    ), lambda h: h % K
    yield "head_first", (
        "all query heads use key head 0, but head h should use h / (H/K)"
    ), lambda h: 0


def attention_forward_mistakes(out, lse, q, k, v, pos, B, T, S, H, K, D, window, scale):
    kh, vh = for_queries(k, H, D), for_queries(v, H, D)
    right = reach(pos, B, T, S, window)
    products = heads(q, D) @ kh.swapaxes(-1, -2)
    s, see = scale * products, visible(right, T, S)

    def results(s=s, see=see, vh=vh):
        p, l = softmax_parts(s, see)
        return {"out": rows(p @ vh), "lse": l}

    yield "no_scale", "scale is ignored", results(products)
    yield "own_scale", "1/sqrt(D) is used in place of scale", results(
        products / np.sqrt(D)
    )
    yield "scores_in_half", (
        "the scores are stored in half precision: keep them in float"
    ), (results(rounded(s, "f16")))
    yield "not_causal", (
        "queries see later keys: query t may see key j only if j <= S-T+t"
    ), (results(see=visible(right, T, S, S)))
    yield "sees_one_more", "the mask is off by one: query t also sees key S-T+t+1", (
        results(see=visible(right, T, S, 1))
    )
    yield "sees_one_less", (
        "the mask is off by one: query t does not see its own key, S-T+t"
    ), (results(see=visible(right, T, S, -1)))
    if S > T:
        yield "no_offset", "the mask treats query t as key t, but it is key S-T+t", (
            results(see=visible(np.minimum(right, np.arange(T)), T, S, offset=0))
        )
    for cause, words, other in wrong_reaches(pos, B, T, S, window):
        yield cause, words, results(see=visible(other, T, S))
    for cause, words, head in wrong_heads(H, K):
        yield cause, words, results(
            scale * heads(q, D) @ for_queries(k, H, D, head).swapaxes(-1, -2),
            vh=for_queries(v, H, D, head),
        )
    e, l = softmax_parts(s, see)
    m = np.max(np.where(see, s, -np.inf), -1)
    yield "no_division", "the result is not divided by the sum of the exponentials", {
        "out": rows(e * np.exp(l - m)[..., None] @ vh)
    }
    yield "lse_no_max", "the maximum is not added back to the logarithm", {"lse": l - m}
    yield "lse_base_two", "log2 is used in place of the natural logarithm", {
        "lse": l / np.log(2)
    }
    for tile in (16, 32, 64):
        yield f"no_rescale_{tile}", (
            "the sum of p v is not rescaled when the running maximum grows"
        ), {"out": rows(not_rescaled(s, see, vh, tile))}


def not_rescaled(s, see, vh, tile):
    """adds the products of p and v tile by tile, without rescaling them"""
    s = np.where(see, s, -np.inf)
    m, l, acc = np.full(s.shape[:-1], -1e30), 0.0, 0.0
    for j in range(0, s.shape[-1], tile):
        grown = np.maximum(m, np.max(s[..., j : j + tile], -1))
        p = np.exp(s[..., j : j + tile] - grown[..., None])
        l = l * np.exp(m - grown) + np.sum(p, -1)
        acc = acc + p @ vh[:, :, j : j + tile]
        m = grown
    return acc / l[..., None]


def attention_backward_mistakes(
    dout, q, k, v, out, lse, pos, B, T, S, H, K, D, window, scale
):
    right = reach(pos, B, T, S, window)
    qh, doh, oh = heads(q, D), heads(dout, D), heads(out, D)
    s = scale * (qh @ for_queries(k, H, D).swapaxes(-1, -2))
    see = visible(right, T, S)
    p = masked_exp(s, see, lse)
    names = ("dq", "dk", "dv")

    def results(p=p, scale=scale, out=out):
        return dict(zip(names, gradients(p, q, k, v, dout, out, H, K, D, scale)))

    def only(name, **change):
        return {name: results(**change)[name]}

    yield "no_scale_dq", "the factor scale is missing in dq", only("dq", scale=1.0)
    yield "no_scale_dk", "the factor scale is missing in dk", only("dk", scale=1.0)
    yield "no_scale", "scale is ignored in the scores", results(
        masked_exp(s / scale, see, lse)
    )
    yield "no_delta", "delta = dout . out is not subtracted", results(out=0 * out)
    yield "scores_in_half", (
        "the scores are stored in half precision: keep them in float"
    ), results(masked_exp(rounded(s, "f16"), see, lse))
    yield "sees_one_more", (
        "the mask is off by one: query t also sees key S-T+t+1"
    ), results(masked_exp(s, visible(right, T, S, 1), lse))
    for cause, words, other in wrong_reaches(pos, B, T, S, window):
        yield cause, words, results(masked_exp(s, visible(other, T, S), lse))
    ds = p * (doh @ for_queries(v, H, D).swapaxes(-1, -2))
    ds = scale * (ds - p * total(doh * oh))
    each = {"dk": ds.swapaxes(-1, -2) @ qh, "dv": p.swapaxes(-1, -2) @ doh}
    for name, x in each.items():
        of = x.reshape(B, K, H // K, S, D)
        yield f"last_head_{name}", (
            "only the last head of each group counts: sum over all heads of the group"
        ), {name: rows(of[:, :, -1])}
        yield f"first_head_{name}", (
            "only the first head of each group counts: sum over all heads of the group"
        ), {name: rows(of[:, :, 0])}


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


if __name__ == "__main__":
    checks = wb.Checks()
    check(checks, 5, 5, 2, 2, ALL, None)
    check(checks, 4, 6, 4, 2, 2, None)
    check(checks, 5, 7, 3, 1, ALL, np.array([[1, 2, 0, 1, 2], [0, 0, 1, 2, 3]]))
    check_reach(checks)
    checks.done()
