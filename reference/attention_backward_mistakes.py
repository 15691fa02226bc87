"""attention_backward_mistakes.py - what backward kernels with known mistakes compute in
lab 05, so that the report can name them. attention.py imports it.
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
    visible,
)
from attention_mistakes import (
    FIRST_KEY,
    keys_below_0,
    wrong_ends,
    wrong_reaches,
    wrong_sequences,
)
from wb import rounded, total


def attention_backward_mistakes(
    dout, q, k, v, out, lse, pos, B, T, S, H, K, D, ldq, ldkv, window, scale, memory
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
    dp = doh @ for_queries(v, H, D).swapaxes(-1, -2)
    slope = see * (dp - total(doh * oh))
    for cause, words, mask in wrong_queries(right, T, S, window):
        other = (p * mask).swapaxes(-1, -2)
        yield cause, words, {
            "dk": scale * group_sum((other * slope.swapaxes(-1, -2)) @ qh, K),
            "dv": group_sum(other @ doh, K),
        }
    for cause, words, other in wrong_ends(T, S):
        yield cause, words, results(p * other)
    for cause, words, other in wrong_reaches(pos, B, T, S, window):
        yield cause, words, results(masked_exp(s, visible(other, T, S), lse))
    for keys, queries in ((16, 16), (16, 32), (32, 32), (16, 64), (64, 64)):
        other = masked_at_own_key(see, right, T, S, H, H // K, keys, queries)
        if np.array_equal(other, np.broadcast_to(see, other.shape)):
            continue
        seen = masked_exp(s, other, lse)
        left = results(seen)
        large = (seen * ~see > 100).any(-2)[..., None] * np.ones(D)  # may be inf in E
        unknown = group_sum(large, K) > 0
        yield f"mask_diagonal_{keys}_{queries}", (
            "tiles are masked only at the diagonal: mask also those in which the window "
            "or the document begins"
        ), {name: np.where(unknown, np.nan, left[name]) for name in ("dk", "dv")}
    for n in (32, 64, 128):
        if n < D:
            yield f"delta_first_{n}", (
                f"delta sums only the first {n} channels: it is dout . out over all D"
            ), results(out=rows(oh * (np.arange(D) < n)))
    for cause, words, *kv in wrong_sequences(memory, B, T, S, K, D, ldkv):
        scores = scale * qh @ for_queries(kv[0], H, D).swapaxes(-1, -2)
        other = masked_exp(scores, see, lse)
        yield cause, words, dict(
            zip(names, gradients(other, q, *kv, dout, out, H, K, D, scale))
        )
    below = keys_below_0(memory, pos, B, T, S, K, D, ldkv, window)
    if below:
        kh, vh = (for_queries(x, H, D) for x in below[:2])
        other = masked_exp(scale * qh @ kh.swapaxes(-1, -2), below[2], lse)
        ds = other * (doh @ vh.swapaxes(-1, -2) - total(doh * oh))
        yield "first_key_negative", FIRST_KEY, {
            "dq": rows(np.where(below[3], np.nan, scale * ds @ kh))
        }
    yield "no_p", "the factor p is missing in ds = p (dp - delta)", {
        "dq": scale * rows(slope @ for_queries(k, H, D)),
        "dk": scale * group_sum(slope.swapaxes(-1, -2) @ qh, K),
    }
    yield "dv_of_ds", "dv is the sum of ds dout: it should be that of p dout", {
        "dv": group_sum((p * slope).swapaxes(-1, -2) @ doh, K)
    }
    if window == ALL and S == T and abs(scale) > 1e-6:
        yield "window_overflow", (
            "always 0: the last query that sees a key is not its own + window if that "
            "overflows int, as with WB_ALL"
        ), {"dk": 0.0, "dv": 0.0}
    if ldq != H * D:
        yield from wrong_dout(
            memory, p, see, total(doh * oh), q, k, v, ldq, K, D, scale
        )
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


def masked_at_own_key(see, reach, T, S, H, group, keys, count):
    """what is seen if a tile of keys and of `count` rows (t, head of the group), from the
    first that sees one of the keys of a block, is masked only where its last key is after
    the own key of the first row"""
    ago, j = S - T, np.arange(S)
    head = np.arange(H)[:, None, None] % group
    row = np.arange(T)[:, None] * group + head  # (heads,T,1)
    j0 = j // keys * keys
    j1 = np.minimum(j0 + keys, S) - 1
    block = max(keys, count)
    begin = np.maximum(j // block * block - ago, 0) * group
    first = begin + (row - begin) // count * count
    last = np.minimum((first + count - 1) // group, T - 1)
    first = np.maximum(first, 0) // group
    reaches = (ago + first - reach[:, first] <= j1) & (row >= begin)
    return see | (reaches & (j0 <= ago + last) & (j1 <= ago + first))


def wrong_queries(reach, T, S, window):
    """yields (cause, words, mask) of loops over queries that end too early for some keys
    of a block, or start too late"""
    j, t, ago = np.arange(S), np.arange(T), S - T
    first = ago + t - reach  # key of each query
    words = (
        "the loop over queries ends too early: go on while a query sees the last key of "
        "the block"
    )
    told = set()
    for keys in (16, 32, 64, 128):
        last = (j % keys == keys - 1) | (j == S - 1)
        for queries in (1, 16, 32):
            lost = last & (first[..., None] == j) & after_last(first, j, ago, queries)
            if lost.any() and lost.tobytes() not in told:
                told.add(lost.tobytes())
                yield f"last_query_{keys}_{queries}", words, ~lost[:, None]
    for keys in (1, 16, 32, 64, 128) if ago else ():
        late = t[:, None] < j // keys * keys
        lost = late & (first[..., None] <= j) & (j <= ago + t[:, None])
        if lost.any() and lost.tobytes() not in told:
            told.add(lost.tobytes())
            yield f"first_query_{keys}", (
                "the loop over queries starts too late: query t is key S-T+t, so the "
                "first that sees key j0 is j0 - (S-T)"
            ), ~late
    if window == 0:
        return  # each query sees its own key alone: as wrong_ends
    for keys, queries in ((16, 16), (32, 32), (64, 16), (64, 64)):
        j0 = j // keys * keys
        begin = np.maximum(j0 - ago, 0)
        tile = begin + np.maximum(t[:, None] - begin, 0) // queries * queries
        yield f"stops_early_{keys}_{queries}", words, (first[:, tile] <= j0)[:, None]


def after_last(first, j, ago, queries):
    """(B,T,S): is query t after the last tile that has a query whose first key is before
    key j? Tiles start at the first query that sees key j."""
    t, begin = np.arange(first.shape[1]), np.maximum(j - ago, 0)
    before = (first[..., None] < j).sum(1)[:, None]  # first never falls
    end = begin + -(-np.maximum(before - begin, 0) // queries) * queries
    return t[:, None] >= end


def wrong_dout(memory, p, see, delta, q, k, v, ldq, K, D, scale):
    """yields what kernels compute that read dout with the stride of q; only the first row
    of a tile of 16 or 32 queries may be right"""
    qh, S = heads(q, D), k.shape[1]
    B, H, T, _ = qh.shape
    kh, vh = for_queries(k, H, D), for_queries(v, H, D)
    t = np.arange(B * T).reshape(B, 1, T, 1)
    channel = D * np.arange(H)[:, None, None] + np.arange(D)
    for tile in (0, 16, 32):
        begin = t - t % T % tile if tile else 0 * t
        doh = memory("dout", H * D * begin + ldq * (t - begin) + channel)
        unknown, doh = np.isnan(doh), np.nan_to_num(doh)
        ds = scale * p * (doh @ vh.swapaxes(-1, -2) - delta)
        seen = see.swapaxes(-1, -2).astype(float)  # unknown: what sums unknown values
        queries = unknown.any(-1, keepdims=True)
        lost = group_sum(np.broadcast_to(seen @ queries, seen.shape[:1] + (H, S, D)), K)
        yield f"dout_stride_{tile}", (
            "rows of dout are read ldq apart, but dout is contiguous: they are H*D apart"
        ), {
            "dq": rows(np.where(queries, np.nan, ds @ kh)),
            "dk": np.where(lost > 0, np.nan, group_sum(ds.swapaxes(-1, -2) @ qh, K)),
            "dv": np.where(
                group_sum(seen @ unknown, K) > 0,
                np.nan,
                group_sum(p.swapaxes(-1, -2) @ doh, K),
            ),
        }


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
