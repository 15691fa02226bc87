"""sampling_formulas.py - sample of lab 07 in float64: the formulas."""

from functools import lru_cache

import numpy as np

from ops_formulas import philox
from softmax_formulas import capped
from wb import total


def scores(logits, seen, softcap, penalty):
    """z before the temperature. total() of one number: half_sums rounds it, so some
    tie."""
    z = capped(total(logits[..., None])[..., 0], softcap)
    if seen is None:
        return z
    return np.where(seen != 0, np.where(z > 0, z / penalty, z * penalty), z)


def largest_first(z):
    """indices in descending order of z, the lower index first if equal"""
    return np.argsort(-z, kind="stable")


def nucleus(z, top_k, top_p):
    """the kept indices of one row, largest z first"""
    order = largest_first(z)[: top_k or None]
    if top_p >= 1:
        return order
    z, best = z[order], z[order[0]]
    p = np.exp(np.subtract(z, best, out=np.zeros(len(z)), where=z != best))  # inf - inf
    reached = np.cumsum(p / total(p)[0]) >= top_p
    return order[: np.argmax(reached) + 1 if reached.any() else None]


def noise(seed, V, pos, c2=0, step=1):
    """shape (V), or (n,V) for a column of positions. step: 1; other values for mistakes"""
    groups = step * np.arange((V + 3) // 4)
    fours = philox(int(seed) & (2**64 - 1), groups, pos, c2, 0)
    numbers = np.stack(fours, -1)
    numbers = numbers.reshape(*numbers.shape[:-2], -1)[..., :V]
    return -np.log(-np.log1p(-(numbers + 0.5) * 2.0**-32))


@lru_cache(256)  # a batch: mistakes sample it again and again
def row_noise(seed, V, pos):
    return noise(seed, V, pos)


def sampled(z, kept, g):
    """argmax of z + g over the kept tokens; among equal ones the lowest index"""
    among = np.full(z.shape, -np.inf)
    among[kept] = z[kept] + g[kept]
    return int(np.argmax(among))


def tokens(z, seed, pos, temperature, top_k, top_p):
    if temperature == 0:
        return np.argmax(z, -1)
    z = z / temperature
    return np.array(
        [
            sampled(row, nucleus(row, top_k, top_p), row_noise(s, len(row), p))
            for row, s, p in zip(z, seed, pos)
        ]
    )


def sample(
    token, seen, logits, seed, pos, B, V, ld, softcap, penalty, temperature, top_k, top_p
):
    z = scores(logits, seen, softcap, penalty)
    token[...] = tokens(z, seed, pos, temperature, top_k, top_p)
    if seen is not None:
        seen[np.arange(B), token.astype(int)] = 1
