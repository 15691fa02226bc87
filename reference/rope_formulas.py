"""rope_formulas.py - what the functions of lab 02 compute, in float64."""

import numpy as np

# x (B,T,H,D) has the shape (B,T,H*D) here: the heads of a token follow each other, tokens
# are ld apart.


def angles(P, N, base):
    """a[p,i] = p base^(-2i/N)"""
    return np.arange(P)[:, None] * float(base) ** (-2 * np.arange(N // 2) / N)


def rope_table(cis, P, N, base):
    a = angles(P, N, base)
    cis[...] = np.stack([np.cos(a), np.sin(a)], -1)


def positions(pos, B, T):
    return np.broadcast_to(np.arange(T), (B, T)) if pos is None else pos


def rotate(x, cis, p, sign, B, T, H, D, N, interleaved=False):
    """rotates the first N channels of every head by sign times the angles of position
    p"""
    x = x.reshape(B, T, H, D)
    c, s = cis[p][:, :, None, :, 0], sign * cis[p][:, :, None, :, 1]  # (B,T,1,N/2)
    i = slice(0, N, 2) if interleaved else slice(0, N // 2)
    j = slice(1, N, 2) if interleaved else slice(N // 2, N)
    y = x.copy()  # channels N..D-1 stay as they are
    y[..., i] = x[..., i] * c - x[..., j] * s
    y[..., j] = x[..., j] * c + x[..., i] * s
    return y.reshape(B, T, H * D)


def rope_forward(out, x, cis, pos, B, T, H, D, N, ld):
    out[...] = rotate(x, cis, positions(pos, B, T), 1, B, T, H, D, N)


def rope_backward(dx, dout, cis, pos, B, T, H, D, N, ld):
    dx[...] = rotate(dout, cis, positions(pos, B, T), -1, B, T, H, D, N)
