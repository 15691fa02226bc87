"""attention_mistakes.py - what kernels with known mistakes compute in lab 05, so that the
report can name them. attention.py imports it.
"""

import numpy as np

from attention_formulas import (
    ALL,
    for_queries,
    gradients,
    group_sum,
    heads,
    masked_exp,
    reach,
    rows,
    softmax_parts,
    visible,
)
from wb import rounded, total


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
    yield "scale_twice", "scale is applied twice", results(scale * s)
    if scale == 0:
        yield "scale_zero", (
            "scale is 0, but the products count: all scores should be 0"
        ), results(np.log(2) * products)
    yield "scale_sign", "the sign of scale is lost", results(np.abs(scale) * products)
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
        if all(head(h) == h // (H // K) for h in range(H)):
            continue
        scores = scale * heads(q, D) @ for_queries(k, H, D, head).swapaxes(-1, -2)
        values = for_queries(v, H, D, head)
        yield cause, words, results(scores, vh=values)
        yield cause + "_k", f"for k only, {words}", results(scores)
        for_v = words.replace("key head", "key/value head")
        yield cause + "_v", f"for v only, {for_v}", results(vh=values)
    for cause, words, other in wrong_ends(T, S):
        yield cause, words, results(see=see & other)
    yield from wrong_masks(s, see, vh)
    yield "values_are_keys", "the weighted sum is over k: it should be over v", {
        "out": rows(softmax_parts(s, see)[0] @ kh)
    }
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


def wrong_ends(T, S):
    """yields (cause, words, mask) of loops that end too early"""
    j = np.arange(S)
    for limit in (64, 128, 256, 512, 1024, 2048, 4096, 8192):
        if limit < S:
            yield f"first_{limit}", f"only the first {limit} keys are used", j < limit
    for tile in (16, 32, 64, 128):
        if tile < S and S % tile:
            yield f"no_tail_{tile}", (
                f"the last keys are missing: S is not a multiple of {tile}"
            ), (j < S // tile * tile)


def wrong_masks(s, see, vh):
    """yields mistakes of kernels that give masked keys a finite score"""
    S = s.shape[-1]
    for value in (0.0, -1e4, -65504.0):
        everywhere = np.where(see, s, value)
        p, l = softmax_parts(everywhere, np.ones_like(see))
        yield f"mask_{-value:g}", (  # the values differ in lse alone
            "masked keys have a finite score such as 0 or -1e4, and that of a visible key "
            "may be lower: p of a masked key should be 0"
        ), {"out": rows(p @ vh), "lse": l}
    p, l = softmax_parts(s, np.ones_like(see))
    yield "masked_late", (
        "the mask is applied after the softmax: masked keys count in the sum"
    ), {"out": rows((p * see) @ vh), "lse": l}


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

    yield "scale_twice_dq", "the factor scale appears twice in dq", only(
        "dq", scale=scale * scale
    )
    yield "scale_twice_dk", "the factor scale appears twice in dk", only(
        "dk", scale=scale * scale
    )
    yield "delta_added", "delta is added: ds = p (dp - delta)", results(out=-out)
    yield "delta_scaled", "delta is multiplied by scale: ds = p (dp - delta)", results(
        out=scale * out
    )
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
    yield "sees_one_less", (
        "the mask is off by one: query t does not see its own key, S-T+t"
    ), results(masked_exp(s, visible(right, T, S, -1), lse))
    yield "not_causal", (
        "queries see later keys: query t may see key j only if j <= S-T+t"
    ), results(masked_exp(s, visible(right, T, S, S), lse))
    if S > T:
        yield "no_offset", "the mask treats query t as key t, but it is key S-T+t", (
            results(masked_exp(
                s, visible(np.minimum(right, np.arange(T)), T, S, offset=0), lse
            ))
        )
    for cause, words, other in wrong_ends(T, S):
        yield cause, words, results(p * other)
    for cause, words, other in wrong_reaches(pos, B, T, S, window):
        yield cause, words, results(masked_exp(s, visible(other, T, S), lse))
    dp = doh @ for_queries(v, H, D).swapaxes(-1, -2)
    slope = see * (dp - total(doh * oh))
    yield "no_p", "the factor p is missing in ds = p (dp - delta)", {
        "dq": scale * rows(slope @ for_queries(k, H, D)),
        "dk": scale * group_sum(slope.swapaxes(-1, -2) @ qh, K),
    }
    yield "dv_of_ds", "dv is the sum of ds dout: it should be that of p dout", {
        "dv": group_sum((p * slope).swapaxes(-1, -2) @ doh, K)
    }
    if 1 < K < H:
        words = "query head h uses key head h % K, but it should use h / (H/K)"
        yield "head_modulo", words, (
            gradients_modulo(q, k, v, dout, out, see, lse, H, K, D, scale)
        )
        kh, vh = (for_queries(x, H, D, lambda h: h % K) for x in (k, v))
        other = masked_exp(scale * qh @ kh.swapaxes(-1, -2), see, lse)
        ds = scale * other * slope
        yield "head_modulo_k", f"for k only, {words}", {
            "dq": rows(ds @ kh),
            "dk": group_sum(ds.swapaxes(-1, -2) @ qh, K),
            "dv": group_sum(other.swapaxes(-1, -2) @ doh, K),
        }
        ds = scale * p * (doh @ vh.swapaxes(-1, -2) - total(doh * oh))
        for_v = words.replace("key head", "key/value head")
        yield "head_modulo_v", f"for v only, {for_v}", {
            "dq": rows(ds @ for_queries(k, H, D)),
            "dk": group_sum(ds.swapaxes(-1, -2) @ qh, K),
        }
    ds = scale * p * slope
    each = {"dk": ds.swapaxes(-1, -2) @ qh, "dv": p.swapaxes(-1, -2) @ doh}
    for name, x in each.items():
        of = x.reshape(B, K, H // K, S, D)
        yield f"last_head_{name}", (
            "only the last head of each group counts: sum over all heads of the group"
        ), {name: rows(of[:, :, -1])}
        yield f"first_head_{name}", (
            "only the first head of each group counts: sum over all heads of the group"
        ), {name: rows(of[:, :, 0])}


def gradients_modulo(q, k, v, dout, out, see, lse, H, K, D, scale):
    """the gradients if query head h uses key head h % K"""
    qh, doh = heads(q, D), heads(dout, D)
    kh, vh = (for_queries(x, H, D, lambda h: h % K) for x in (k, v))
    p = masked_exp(scale * qh @ kh.swapaxes(-1, -2), see, lse)
    ds = scale * p * (doh @ vh.swapaxes(-1, -2) - total(doh * heads(out, D)))

    def sums(x):
        B, _, S, _ = x.shape
        return rows(x.reshape(B, H // K, K, S, D).sum(1))

    return {
        "dq": rows(ds @ kh),
        "dk": sums(ds.swapaxes(-1, -2) @ qh),
        "dv": sums(p.swapaxes(-1, -2) @ doh),
    }
