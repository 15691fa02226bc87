"""rope.py - lab 02 in float64. The contract is labs/lab02_rope/rope.h.

    python reference/rope.py        checks the gradients against finite differences

rope_formulas.py has the formulas, rope_mistakes.py the known mistakes.
"""

import numpy as np

import wb
from rope_formulas import *
from rope_mistakes import *
from wb import bound

# --- cases ------------------------------------------------------------------------------


def rope_table_data(call, P, N, base=10000.0):
    call.out("cis", (P, N // 2, 2), "f32", owner="element")


def make_positions(call, kind, B, T):
    """(B,T) positions, or None if the case passes NULL, and the number of rows of a table
    that is large enough. kind: none (NULL); offset (every sequence continues from an
    earlier call); documents (several in each sequence, each from 0); any; far (any, above
    2^16)."""
    t = np.arange(T)
    if kind == "none":
        return None, B * T
    if kind == "offset":
        return t + call.rng.integers(1, 500, (B, 1)), T + 500
    if kind == "documents":
        starts = call.rng.random((B, T)) < 4 / T
        starts[:, 0] = True
        return t - np.maximum.accumulate(np.where(starts, t, 0), axis=1), T + 1
    if kind == "any":
        return call.rng.integers(0, 900, (B, T)), 901
    if kind == "far":
        return call.rng.integers(1 << 16, 66000, (B, T)), 66001
    raise wb.Broken(f"pos={kind}: use none, offset, documents, any or far")


def rotation_data(
    call, names, B, T, H, D, N=None, ld=None, pos="none", base=10000.0, inplace=0
):
    """Defaults: N = D, ld = H*D. What follows the heads of a token is random."""
    out, x = names
    N, ld = D if N is None else N, H * D if ld is None else ld
    call.scalar("N", N), call.scalar("ld", ld)
    p, P = make_positions(call, pos, B, T)
    shape, elements = (B, T, H * D), B * T * ld
    call.buffer(x, call.normal((call.skew(x) + elements,)))
    to = x if inplace else out
    if not inplace:
        call.buffer(out, None, call.skew(out) + elements)
    call.view(out, "out", to, shape, call.skew(to), ld, owner="element")
    call.view(x, "in", x, shape, call.skew(x), ld)
    cis = np.empty((P, N // 2, 2))
    rope_table(cis, P, N, base)
    call.input("cis", cis, "f32")
    call.null("pos", dtype="i32") if p is None else call.input("pos", p, "i32")


def rope_forward_data(call, B, T, H, D, N=None, ld=None, pos="none", inplace=0):
    names = "out", "x"
    rotation_data(call, names, B, T, H, D, N, ld, pos, inplace=inplace)


def rope_backward_data(call, B, T, H, D, N=None, ld=None, pos="none", inplace=0):
    names = "dx", "dout"
    rotation_data(call, names, B, T, H, D, N, ld, pos, inplace=inplace)


# --- error model: see "Tolerance" in the header -----------------------------------------


def rope_table_bounds(cis):
    return {"cis": bound(np.ones(cis.shape), "1", c=1)}


def rotation_bound(x, B, T, H, D, N):
    M = np.abs(x.reshape(B, T, H, D))
    i, j = M[..., : N // 2], M[..., N // 2 : N]
    M = np.concatenate([i + j, i + j, 0 * M[..., N:]], -1)
    return bound(M.reshape(x.shape), "|x_i| + |x_j|", c=4)


def rope_forward_bounds(out, x, B, T, H, D, N):
    return {"out": rotation_bound(x, B, T, H, D, N)}


def rope_backward_bounds(dx, dout, B, T, H, D, N):
    return {"dx": rotation_bound(dout, B, T, H, D, N)}


# --- checks of this file ----------------------------------------------------------------


def check(N, pos, checks):
    rng, (B, T, H, D) = np.random.default_rng(2), (2, 3, 2, 8)
    x, dout, out, dx = (rng.standard_normal((B, T, H * D)) for _ in range(4))
    cis = np.empty((9, N // 2, 2))
    rope_table(cis, 9, N, 50.0)

    def loss():
        rope_forward(out, x, cis, pos, B, T, H, D, N, H * D)
        return np.sum(out * dout)

    rope_backward(dx, dout, cis, pos, B, T, H, D, N, H * D)
    checks.gradient(f"rope N={N}: dx", loss, x, dx)
    loss()
    checks.close(f"rope N={N}: lengths stay the same", np.sum(out**2), np.sum(x**2))


def check_relative(checks):
    """<rotate(q,m), rotate(k,n)> depends only on m - n, the purpose of RoPE"""
    rng, D = np.random.default_rng(4), 16
    q, k = rng.standard_normal((2, D))
    cis = np.empty((40, D // 2, 2))
    rope_table(cis, 40, D, 10000.0)

    def score(m, n):
        at = [rotate(v.reshape(1, 1, D), cis, np.array([[p]]), 1, 1, 1, 1, D, D)
              for v, p in ((q, m), (k, n))]  # fmt: skip
        return np.sum(at[0] * at[1])

    checks.close("rope: scores depend only on the distance", score(39, 32), score(7, 0))


if __name__ == "__main__":
    checks = wb.Checks()
    check(8, None, checks)
    check(4, np.array([[0, 1, 0], [5, 8, 2]]), checks)
    check_relative(checks)
    checks.done()
