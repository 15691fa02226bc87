"""attention_mistakes.py - what forward kernels with known mistakes compute in lab 05, so
that the report can name them. attention_backward_mistakes.py has the backward pass.
"""

import numpy as np

from attention_formulas import (
    ALL,
    for_queries,
    heads,
    reach,
    rows,
    softmax_parts,
    visible,
)
from wb import rounded


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
        if B > 1:
            yield "pos_of_first", "every sequence reads the pos of sequence 0", (
                reach(np.repeat(pos[:1], B, 0), B, T, S, window)
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


def wrong_sequences(memory, B, T, S, K, D, ldkv):
    """yields (cause, words, k, v) of kernels that read the keys of another sequence"""
    first = ldkv * np.arange(S)[:, None] + np.arange(K * D)
    if B > 1:
        yield "keys_of_sequence_0", (
            "every sequence reads the keys of sequence 0: those of b start at b*S*ldkv"
        ), *(np.repeat(memory(x, first)[None], B, 0) for x in "kv")
    if B > 1 and S > T:
        at = T * ldkv * np.arange(B)[:, None, None] + first
        yield "keys_batch_stride", (
            "the keys of sequence b are read at b*T*ldkv, but they start at b*S*ldkv"
        ), *(memory(x, at) for x in "kv")


FIRST_KEY = "keys before key 0 are read where pos reaches further back: start at key 0"


def keys_below_0(memory, pos, B, T, S, K, D, ldkv, window):
    """k, v and visible keys if the first key is not limited to 0, and the queries
    (B,1,T,1) that read outside of the buffers; None if no pos reaches back so far"""
    i = S - T + np.arange(T)
    if pos is None or B == 1 or np.all(pos <= i):
        return None
    back = np.minimum(pos, window)
    n = max(np.max(back - i), 0)
    at = ldkv * (S * np.arange(B)[:, None] + np.arange(-n, S))
    k, v = (memory(x, at[..., None] + np.arange(K * D)) for x in "kv")
    see = visible(back, T, n + S, offset=n + S - T)
    unknown = (see & np.isnan(k + v).any(-1)[:, None, None]).any(-1, keepdims=True)
    return np.nan_to_num(k), np.nan_to_num(v), see, unknown


def masked_at_diagonal(see, reach, T, S, H, K, tile, rows):
    """the keys that are seen if, for each `rows` rows (t, head of the group), only tiles
    that end after the own key of one of them are masked"""
    group = H // K
    head = np.arange(H if rows > 1 and group > 1 else 1) % group
    row = np.arange(T) * group + head[:, None]
    t = row // rows * rows // group  # of the first of these rows: (heads,T)
    own, tiles = (S - T + t)[..., None], np.arange(S) // tile
    begin = (own - reach[:, t][..., None]) // tile
    return see | ((tiles >= begin) & (tiles * tile + tile <= own + 1))


def attention_forward_mistakes(
    out, lse, q, k, v, pos, B, T, S, H, K, D, ldkv, window, scale, memory
):
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
    for cause, words, *kv in wrong_sequences(memory, B, T, S, K, D, ldkv):
        other, values = (for_queries(x, H, D) for x in kv)
        scores = scale * heads(q, D) @ other.swapaxes(-1, -2)
        yield cause, words, results(scores, vh=values)
    below = keys_below_0(memory, pos, B, T, S, K, D, ldkv, window)
    if below:
        other, values = (for_queries(x, H, D) for x in below[:2])
        scores = scale * heads(q, D) @ other.swapaxes(-1, -2)
        p, l = softmax_parts(scores, below[2])
        yield "first_key_negative", FIRST_KEY, {
            "out": rows(np.where(below[3], np.nan, p @ values)),
            "lse": np.where(below[3][..., 0], np.nan, l),
        }
    if window < S or pos is not None:
        wider = [visible(reach(pos, B, T, S, w), T, S) for w in (window + 1, ALL)]
        for tile, count in ((16, 1), (32, 1), (64, 1), (64, 16), (64, 32)):
            seen = masked_at_diagonal(see, right, T, S, H, K, tile, count)
            if any(np.array_equal(seen, other) for other in wider):
                continue
            yield f"mask_diagonal_{tile}_{count}", (
                "tiles are masked only at the diagonal: mask also those in which the "
                "window or the document begins"
            ), results(see=seen)
    p, l = softmax_parts(s, see)
    yield from wrong_sums(np.where(see, s, -np.inf), p, l, vh)
    yield from wrong_maxima(s, see, right, p, l, vh)
    yield from wrong_tiles(s, see, right, results)
    for cause, words, weight in wrong_parts(right, T, S):
        total = np.sum(p * weight, -1, keepdims=True)
        yield cause, words, {
            "out": rows((p * weight) @ vh / total),
            "lse": l + np.log(total[..., 0]),
        }
    if right.max() + 64 < S - T:  # whole tiles that no query sees
        yield "nan_unseen_tile", (
            "a tile or a part of the keys of which a query sees none gives NaN: 0 / 0, or "
            "-inf - -inf"
        ), {"out": np.nan}
    if H > 1 and T > 1:
        yield "lse_layout", "lse is stored as (B,T,H): it should be (B,H,T)", {
            "lse": l.swapaxes(1, 2).reshape(l.shape)
        }


TILES = 1, 16, 32, 64


def wrong_sums(s, p, l, vh):
    """yields mistakes in the maximum and the sum. s: the scores, -inf where masked"""
    m, o = np.max(s, -1), p @ vh
    yield "no_division", "the result is not divided by the sum of the exponentials", {
        "out": rows(o * np.exp(l - m)[..., None])
    }
    yield "lse_no_max", "the maximum is not added back to the logarithm", {"lse": l - m}
    yield "lse_base_two", "log2 is used in place of the natural logarithm", {
        "lse": l / np.log(2)
    }
    if np.any(l != m):
        yield "lse_mixed_units", (
            "lse is max log2(e) + ln(sum): multiply a maximum in base-2 units by ln 2"
        ), {"lse": m / np.log(2) + l - m}
        yield "lse_log2_of_sum", (
            "lse is max + log2(sum): the logarithm of the sum should be natural, too"
        ), {"lse": m + (l - m) / np.log(2)}
    dead = m < -104  # exp is 0 in float
    if dead.any():
        yield "maximum_starts_at_zero", (
            "the running maximum begins at 0: all exponentials of low scores become 0"
        ), {
            "out": rows(np.where(dead[..., None], np.nan, o)),
            "lse": np.where(dead, -np.inf, l),
        }
    for tile in TILES:
        e = not_rescaled(s, tile)
        yield f"no_rescale_{tile}", (
            "the sum of p v is not rescaled when the running maximum grows"
        ), {"out": rows(e @ vh * np.exp(m - l)[..., None])}
        yield f"sum_not_rescaled_{tile}", (
            "the sum of the exponentials is not rescaled when the running maximum grows"
        ), {
            "out": rows(o * (np.exp(l - m) / np.sum(e, -1))[..., None]),
            "lse": m + np.log(np.sum(e, -1)),
        }


UNDERFLOW = 104  # exp(-104) is 0 in float


def wrong_maxima(s, see, reach, p, l, vh):
    """yields mistakes of kernels that take the maximum over all keys of the tiles that a
    query needs: if one is far above those that it sees, all terms become 0"""
    T, S = s.shape[-2:]
    own, seen = S - T + np.arange(T), np.max(np.where(see, s, -np.inf), -1)
    told = set()
    for keys, queries in ((16, 0), (32, 0), (64, 0), (16, 64), (32, 64), (64, 64)):
        first = own - reach
        begin = first[:, np.arange(T) // queries * queries] if queries else 0 * first
        begin, end = (begin + (x - begin) // keys * keys for x in (first, own))
        j = np.arange(S)
        loaded = (j >= begin[..., None]) & (j < end[..., None] + keys)
        top = np.max(np.where(loaded[:, None], s, -np.inf), -1)
        with_zeros = np.where((end + keys > S)[:, None], np.maximum(top, 0), top)
        for name, top in (("", top), ("_zeros", with_zeros)):  # zeros after key S-1
            dead = top - seen > UNDERFLOW
            if not dead.any() or dead.tobytes() in told:
                continue
            told.add(dead.tobytes())
            yield f"nan_max_of_masked_{keys}_{queries}{name}", (
                "keys that a query does not see enter its maximum, and all other terms "
                "become 0: mask the scores first"
            ), {
                "out": rows(np.where(dead[..., None], np.nan, p @ vh)),
                "lse": np.where(dead, -np.inf, l),
            }


def wrong_tiles(s, see, reach, results):
    """yields mistakes in the keys that a block of queries loads, or of a tile's sum.
    results(see): what a kernel gives whose queries see these keys"""
    T, S = s.shape[-2:]
    first, j = S - T + np.arange(T) - reach, np.arange(S)
    for queries in (16, 32, 64, 128):
        last = np.minimum(np.arange(T) // queries * queries + queries, T) - 1
        loaded = see & (j >= first[:, last][:, None, :, None])
        if np.any(loaded != see):
            yield f"nan_first_of_last_{queries}", (
                f"a block of {queries} queries starts at the first key of its last "
                "query: start at the smallest of all"
            ), results(see=loaded)
    top = np.max(np.where(see, s, -np.inf), -1, keepdims=True)
    for keys in (32, 64, 128):
        half = np.where(see & (j % keys < keys // 2), np.exp(s - top), 0)
        yield f"half_of_{keys}", (
            f"the sum has only half of each {keys} keys: add the sums of the lanes that "
            "share a row"
        ), {"lse": top[..., 0] + np.log(np.sum(half, -1))}


def wrong_parts(reach, T, S):
    """yields (cause, words, weight of each key) of kernels that split the keys of few
    queries into parts of whole tiles, which overlap"""
    if T > 32 or S < 128:
        return
    first, told = np.min(S - T - reach[:, 0]), set()
    for tile in (32, 64):
        at = np.arange(S) - first // tile * tile
        count = -(-(S - first // tile * tile) // tile)
        for parts in range(2, 10):
            size = -(-count // parts)  # tiles
            later = (at // tile >= size) & (at // tile % size == 0)
            for what, twice in (
                ("tile", later),
                ("key", later & (at % tile == 0)),
            ):
                if twice.any() and twice.tobytes() not in told:
                    told.add(twice.tobytes())
                    yield f"{what}_twice_{parts}_{tile}", (
                        "keys at the border of two parts count twice: a part ends before "
                        "the first key of the next"
                    ), 1 + twice


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


def not_rescaled(s, tile):
    """the exponentials, each with the running maximum of its tile"""
    ends = np.minimum(np.arange(s.shape[-1]) // tile * tile + tile, s.shape[-1]) - 1
    return np.exp(s - np.maximum(np.maximum.accumulate(s, -1)[..., ends], -1e30))
