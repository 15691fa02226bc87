"""rglru_scan_mistakes.py - what kernels with known mistakes compute in part 06.4 of lab
06, so that the report can name them.
"""

import numpy as np

from rglru_scan import after, at, before, scan, scan_back
from wb import rounded

CHUNKS = (32, 64, 128, 256, 512, 1024, 4096, 8192)  # likely chunk sizes of a kernel


def cut(a, chunk):
    """a, with nothing passed from one chunk to the next, forwards or backwards in time"""
    a = np.array(a)
    a[..., chunk::chunk, :] = 0
    return a


def cut_words(chunk):
    return f"the scan restarts every {chunk} steps: the state from before is lost"


def h_words(chunk):
    return (
        f"h[t-1] counts as 0 at the first of every {chunk} steps: there it is the last h "
        "of the chunk before"
    )


SHORT = 2048  # steps that half_state takes in a moment


def last_words(chunk):
    return f"what passes to the next {chunk} steps lacks the last step of these"


def carry_words(chunk):
    return (
        f"the first {chunk} steps are right, the next are not: is the state that passes "
        "from chunk to chunk wrong?"
    )


def without_last(a, z, h0, chunk):
    """the states if the last step of each chunk does not count for the next chunk"""
    h, state = np.empty_like(z), h0
    for first in range(0, z.shape[1], chunk):
        here = slice(first, first + chunk)
        h[:, here] = scan(a[:, here], z[:, here], state)
        state = h[:, here][:, chunk - 2 : chunk - 1].sum(1)
    return h


def half_words(E):
    return f"the state is rounded to {E} at every step: keep it in float"


def half_state(a, z, h0, E):
    h, state = np.empty_like(z), np.zeros_like(at(z, 0)) if h0 is None else rounded(h0, E)
    for t in range(z.shape[-2]):
        state = rounded(at(a, t) * state + at(z, t), E)
        h[..., t, :] = state
    return h


def shorter(T):
    """the chunk sizes that have a border within T steps"""
    return [chunk for chunk in CHUNKS if chunk < T]


def linear_scan_forward_mistakes(h, h_last, a, z, h0, B, T, C):
    def told(cause, words, states):
        return cause, words, {"h": states, "h_last": states[:, -1]}

    if h0 is not None:
        yield told("no_h0", "h0 is ignored: the state starts from 0", scan(a, z))
        if B > 1:
            yield told(
                "h0_of_0", "every sequence starts from h0[0]", scan(a, z, h0[:1] + 0 * h0)
            )
        yield told(
            "h0_added",
            "the factor a[0] of h0 is missing",
            scan(a, z + first_only(h0 - a[:, 0] * h0, T), h0),
        )
    if T > 1:
        yield "h_last_less", "h_last is h of the last token but one", {"h_last": h[:, -2]}
    yield told("a_late", "a[t-1] is used in place of a[t]", scan(before(a), z, h0))
    yield told("a_early", "a[t+1] is used in place of a[t]", scan(after(a), z, h0))
    yield told(
        "times_z", "z is multiplied by 1 - a, but h = a h + z", scan(a, (1 - a) * z, h0)
    )
    yield told(
        "no_decay",
        "the factor a is missing: the state is just the sum of z",
        scan(np.ones_like(a), z, h0),
    )
    for E in ("bf16", "f16") if T <= SHORT else ():
        yield told(f"state_{E}", half_words(E), half_state(a, z, h0, E))
    for chunk in shorter(T):
        yield told(f"chunk_{chunk}", cut_words(chunk), scan(cut(a, chunk), z, h0))
        yield told(f"last_{chunk}", last_words(chunk), without_last(a, z, h0, chunk))
        if T <= 2 * chunk:  # the second chunk is wrong, but unknown
            later = np.where((np.arange(T) < chunk)[:, None], h, np.nan)
            yield f"carry_{chunk}", carry_words(chunk), {"h": later}
    if B > 1:
        rows = scan(
            a.reshape(B * T, C), z.reshape(B * T, C), None if h0 is None else h0[0]
        )
        yield told(
            "rows_joined",
            "sequence b continues from the end of sequence b - 1",
            rows.reshape(B, T, C),
        )


def first_only(values, T):
    z = np.zeros((values.shape[0], T, values.shape[1]))
    z[:, 0] = values
    return z


def linear_scan_backward_mistakes(da, dz, dh0, dh, dh_last, a, h, h0, B, T, C):
    def told(cause, words, d):
        return cause, words, {"dz": d, "da": d * before(h, h0), "dh0": a[:, 0] * d[:, 0]}

    if dh_last is not None:
        yield told("no_dh_last", "dh_last is ignored", scan_back(a, dh))
    if h0 is not None:
        yield "no_h0", "h0 is ignored: da[0] = dz[0] h0", {"da": dz * before(h)}
        yield "dh0_decay", "the factor a[0] is missing in dh0", {"dh0": dz[:, 0]}
    yield "h_now", "h[t] is used in place of h[t-1]", {"da": dz * h}
    for chunk in shorter(T):
        yield f"h_of_chunk_{chunk}", h_words(chunk), {
            "da": dz * cut(before(h, h0), chunk)
        }
    yield told(
        "a_now",
        "a[t] is used in place of a[t+1]",
        scan_back(before(a, a[:, 0]), dh, dh_last),
    )
    yield told(
        "causal",
        "the scan runs forwards in time: dz[t] needs dz[t+1]",
        scan(a, dh, dh_last),
    )
    for chunk in shorter(T):
        yield told(
            f"chunk_{chunk}", cut_words(chunk), scan_back(cut(a, chunk), dh, dh_last)
        )
