"""attention_formulas.py - lab 05 in float64: the formulas. attention.py has the rest of
the lab. The contract is labs/lab05_attention/attention.h.
"""

import numpy as np

import wb
from wb import total

ALL = 2**31 - 1  # WB_ALL: no window

# --- the formulas -----------------------------------------------------------------------
# q has the shape (B,T,H*D), k and v (B,S,K*D), with rows ldq and ldkv apart. The formulas
# put heads first: q (B,H,T,D); k and v with a copy for each head of a group, (B,H,S,D).


def heads(x, D):
    """(B,T,H*D) to (B,H,T,D)"""
    return x.reshape(*x.shape[:2], x.shape[2] // D, D).swapaxes(1, 2)


def rows(x):
    """(B,H,T,D) to (B,T,H*D)"""
    B, H, T, D = x.shape
    return x.swapaxes(1, 2).reshape(B, T, H * D)


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
