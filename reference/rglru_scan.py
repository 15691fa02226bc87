"""rglru_scan.py - part 06.4 of lab 06 in float64: the scan. The contract is
labs/lab06_rglru/rglru.h; rglru.py imports the whole lab.
"""

import numpy as np

from wb import bound, rounded, sum_type

# --- the formulas: time is the second to last axis --------------------------------------


def at(values, t):
    return values[..., t, :]


def scan(a, z, h0=None):
    """h[t] = a[t] h[t-1] + z[t]"""
    h = np.empty(np.broadcast_shapes(a.shape, z.shape))
    state, E = np.zeros_like(at(h, 0)) if h0 is None else h0, sum_type()
    if h.shape[-2] > 256 and E is None:
        return scan_chunks(*np.broadcast_arrays(a, z), state)
    for t in range(h.shape[-2]):
        state = a[..., t, :] * state + z[..., t, :]
        h[..., t, :] = state = state if E is None else rounded(state, E)
    return h


def scan_chunks(a, z, state):
    """the same for many steps, without a Python loop over all of them"""
    (*batch, T, C), size = a.shape, int(np.sqrt(a.shape[-2]))
    after = [(0, 0)] * len(batch) + [(0, -T % size), (0, 0)]
    a, z = (np.pad(x, after).reshape(*batch, -1, size, C) for x in (a, z))
    h, kept = scan(a, z), np.cumprod(a, -2)  # h: each chunk from 0
    for n in range(h.shape[-3]):
        h[..., n, :, :] += kept[..., n, :, :] * state[..., None, :]
        state = h[..., n, -1, :]
    return h.reshape(*batch, -1, C)[..., :T, :]


def before(h, h0=None):
    """h[t-1] at index t"""
    first = np.zeros_like(h[..., :1, :]) if h0 is None else h0[..., None, :]
    return np.concatenate([first, h[..., :-1, :]], axis=-2)


def after(a, last=1.0):
    """a[t+1] at index t"""
    return np.concatenate([a[..., 1:, :], np.full_like(a[..., :1, :], last)], axis=-2)


def scan_back(a, dh, dh_last=None):
    """dz[t] = dh[t] + a[t+1] dz[t+1]"""
    return np.flip(scan(np.flip(after(a), -2), np.flip(dh, -2), dh_last), -2)


def linear_scan_forward(h, h_last, a, z, h0, B, T, C):
    h[...] = scan(a, z, h0)
    if h_last is not None:
        h_last[...] = h[:, -1]


def linear_scan_backward(da, dz, dh0, dh, dh_last, a, h, h0, B, T, C):
    dz[...] = scan_back(a, dh, dh_last)
    da[...] = dz * before(h, h0)
    if dh0 is not None:
        dh0[...] = a[:, 0] * dz[:, 0]


# --- cases ------------------------------------------------------------------------------


def remembering(call, B, T, C, longest, edges):
    """a: each channel keeps about 1 - 10^-k of its state, k from 0.2 to `longest`;
    edges=1: some a are 0 and some 1"""
    forget = 10.0 ** -np.linspace(0.2, longest, C)
    a = 1 - forget * call.rng.uniform(0.5, 1, (B, T, C))
    if edges:
        a = np.where(call.rng.random((B, T, C)) < 0.03, 0, a)
        a = np.where(call.rng.random((B, T, C)) < 0.2, 1, a)
    return a


def scan_input(call, B, T, C, longest):
    """z of a size that keeps every channel's state close to 1"""
    size = 10.0 ** (-0.5 * np.linspace(0.2, longest, C))
    return call.rng.standard_normal((B, T, C)) * size + 0.2 * size**2


def linear_scan_forward_data(
    call, B, T, C, longest=1.5, edges=0, h0=0, h_last=1, inplace=0, skew=0
):
    """inplace=1: h is z, h_last is h0 if there is one"""
    call.out("h", (B, T, C), at="z" if inplace else None, skew=skew, owner="element")
    if h_last:
        at = "h0" if inplace and h0 else None
        call.out("h_last", (B, C), "f32", at=at, owner="element")
    else:
        call.null("h_last", "out", "f32")
    call.input("a", remembering(call, B, T, C, longest, edges), skew=skew)
    call.input("z", scan_input(call, B, T, C, longest), skew=skew)
    (
        call.input("h0", call.normal((B, C), 3), "f32")
        if h0
        else call.null("h0", dtype="f32")
    )


def linear_scan_backward_data(
    call, B, T, C, longest=1.5, edges=0, h0=0, dh_last=0, dh0=0, inplace=0, skew=0
):
    """h0, dh_last, dh0=1: with that argument; inplace=1: dz is dh"""
    call.out("da", (B, T, C), skew=skew, owner="element")
    call.out("dz", (B, T, C), at="dh" if inplace else None, skew=skew, owner="element")
    if dh0:
        call.out("dh0", (B, C), "f32", owner="element")
    else:
        call.null("dh0", "out", "f32")
    call.input("dh", scan_input(call, B, T, C, longest), skew=skew)
    if dh_last:
        call.input("dh_last", call.normal((B, C), 3), "f32")
    else:
        call.null("dh_last", dtype="f32")
    call.input("a", remembering(call, B, T, C, longest, edges), skew=skew)
    call.input("h", call.normal((B, T, C)), skew=skew)
    call.input("h0", call.normal((B, C)), "f32") if h0 else call.null("h0", dtype="f32")


# --- error model: see "Tolerance" in the header -----------------------------------------

DECAYING = "sum over earlier steps of |a h| + |z|, each decayed since"


def linear_scan_forward_bounds(h, h_last, a, z, h0):
    M = scan(np.abs(a), np.abs(a * before(h, h0)) + np.abs(z))
    bounds = {"h": bound(M, DECAYING, c=4)}
    if h_last is not None:
        bounds["h_last"] = bound(M[:, -1], DECAYING, c=4)
    return bounds


def linear_scan_backward_bounds(da, dz, dh0, dh, dh_last, a, h, h0):
    later = (
        after(dz, 0.0)
        if dh_last is None
        else np.flip(before(np.flip(dz, -2), dh_last), -2)
    )
    M = scan_back(np.abs(a), np.abs(after(a) * later) + np.abs(dh))
    bounds = {
        "dz": bound(M, "sum over later steps of |a dz| + |dh|, decayed", c=4),
        "da": bound(M * np.abs(before(h, h0)) + np.abs(da), "M of dz |h| + |da|", c=4),
    }
    if dh0 is not None:
        first = np.abs(a[:, 0]) * M[:, 0] + np.abs(dh0)
        bounds["dh0"] = bound(first, "M of dz[0] |a| + |dh0|", c=4)
    return bounds


# --- checks: what reference/rglru.py checks of this file --------------------------------


def check_scan(checks):
    rng, (B, T, C) = np.random.default_rng(4), (2, 5, 3)
    a, z, dh, da, dz, h = (rng.standard_normal((B, T, C)) for _ in range(6))
    h0, dh_last, h_last, dh0 = (rng.standard_normal((B, C)) for _ in range(4))

    def loss():
        linear_scan_forward(h, h_last, a, z, h0, B, T, C)
        return np.sum(h * dh) + np.sum(h_last * dh_last)

    loss()
    linear_scan_backward(da, dz, dh0, dh, dh_last, a, h.copy(), h0, B, T, C)
    for name, at, d in (("a", a, da), ("z", z, dz), ("h0", h0, dh0)):
        checks.gradient(f"scan: d{name}", loss, at, d)
