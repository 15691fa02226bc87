"""kvcache_formulas.py - lab 07 in float64: the formulas of parts 07.1 to 07.4. kvcache.py
has the rest of the lab. The contract is labs/lab07_kvcache/kvcache.h.
"""

import numpy as np

from rope import rotate as rotate_rope
from wb import rounded, total

# --- the formulas -----------------------------------------------------------------------


def positions(pos, B, T):
    return np.broadcast_to(np.arange(T), (B, T)) if pos is None else pos


def kept_tokens(pos, length, S):
    """range of the tokens of one sequence that stay in the ring"""
    if length == 0:
        return range(0)
    return range(length - min(length, S, pos[length - 1] + 1), length)


def kv_append(kcache, vcache, k, v, pos, len, B, T, S, K, D, ldkv):
    p = positions(pos, B, T)
    for b in range(B):
        for t in kept_tokens(p[b], T if len is None else len[b], S):
            kcache[b, p[b, t] % S] = k[b, t]
            vcache[b, p[b, t] % S] = v[b, t]


def kv_unroll(kall, vall, kcache, vcache, k, v, pos, B, T, S, K, D, ldkv):
    kall[:, :S], vall[:, :S] = 0, 0
    kall[:, S:], vall[:, S:] = k, v
    for b in range(B):
        for j in range(1, min(pos[b, 0], S) + 1):
            slot = (pos[b, 0] - j) % S
            kall[b, S - j], vall[b, S - j] = kcache[b, slot], vcache[b, slot]


def rotate_heads(x, cis, pos, D, N):
    """rotates every head of x (B,heads*D) by the angles of its sequence's position"""
    if cis is None:
        return x
    B, width = x.shape
    return rotate_rope(x, cis, pos[:, None], 1, B, 1, width // D, D, N).reshape(B, width)


def seen_slots(p, S):
    return [q % S for q in range(max(0, p - S), p)]


def attend(q, keys, values, scale, kv_head, D):
    """(heads*D), error of s, sum p|v| of one token: q (H,D), keys and values (n,K,D). The
    error, per head and in units of 2^-24: max(|s| sqrt(D), |scale| sum |q k|)."""
    heads = range(len(q))
    s = scale * np.stack([total(keys[:, kv_head[h]] * q[h])[:, 0] for h in heads])
    e = np.exp(s - np.max(s, -1, keepdims=True))
    p = e / total(e)
    y = [total(p[h][:, None] * values[:, kv_head[h]], axis=0)[0] for h in heads]
    M = [p[h] @ np.abs(values[:, kv_head[h]]) for h in heads]
    sums = [np.abs(keys[:, kv_head[h]]) @ np.abs(q[h]) for h in heads]
    error = np.maximum(np.abs(s) * np.sqrt(D), np.abs(scale) * np.stack(sums))
    return np.ravel(y), np.max(error, -1), np.ravel(M)


def decoded(
    q, k, v, kcache, vcache, pos, S, H, K, D, scale, slots=None, more=1, heads=None
):
    """attention of each sequence over its ring and over k, v; q and k are rotated
    already. Returns out, the error of s, and sum p|v|. The last three arguments are for
    mistakes: other slots, k and v missing or twice, other heads."""
    heads = np.arange(H) // (H // K) if heads is None else heads
    rows = []
    for b, p in enumerate(pos):
        at = seen_slots(p, S) if slots is None else slots(p)
        ring = [c[b, at].reshape(-1, K, D) for c in (kcache, vcache)]
        self = [x[b].reshape(1, K, D) for x in (k, v)]
        keys, values = (np.concatenate([r] + more * [s]) for r, s in zip(ring, self))
        rows.append(attend(q[b].reshape(H, D), keys, values, scale, heads, D))
    return [np.stack(part) for part in zip(*rows)]


def attention_decode(
    out, kcache, vcache, q, k, v, cis, pos, B, S, H, K, D, N, ldq, ldkv, scale, E="f64"
):
    q, k = rotate_heads(q, cis, pos, D, N), rotate_heads(k, cis, pos, D, N)
    kept = rounded(k, E)  # attention uses the value that the ring will hold
    out[...] = decoded(q, kept, v, kcache, vcache, pos, S, H, K, D, scale)[0]
    rows = np.arange(B)
    kcache[rows, pos % S], vcache[rows, pos % S] = k, v
