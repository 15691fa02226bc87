"""softmax.py - lab 04 in float64. The contract is labs/lab04_softmax/softmax.h.

softmax_formulas.py has the formulas, softmax_mistakes.py and cross_entropy_mistakes.py
the known mistakes.

    python reference/softmax.py     checks the gradients against finite differences
"""

import numpy as np

import wb
from cross_entropy_mistakes import cross_entropy_mistakes  # noqa: F401
from softmax_formulas import *
from softmax_mistakes import *
from wb import bound, total

# --- cases ------------------------------------------------------------------------------


def scores(call, R, N, sd, shift, ramp):
    """Rows have +shift, -shift and 0 in turn, so that exp overflows in one and is 0 in
    the next, and a maximum of 0 and that of other rows differ. ramp: grows from left to
    right, so that the running maximum keeps changing."""
    x = sd * call.rng.standard_normal((R, N)) + ramp * np.linspace(0, 1, N)
    return x + shift * np.resize([1.0, -1.0, 0.0], R)[:, None]


def softmax_forward_data(
    call, R, N, scale=1.0, sd=1.0, shift=0.0, ramp=0.0, peak=0.0, zigzag=0.0, inplace=0
):
    """peak: row 0 is 0, except for its first column. One float sum that starts there
    drops all other terms; four or more partial sums keep enough of them. zigzag: what
    every second column is above the others."""
    x = scores(call, R, N, sd, shift, ramp)
    x[:, ::2] += zigzag
    if peak:
        x[0] = peak * (np.arange(N) == 0)
    call.out("out", (R, N), at="x" if inplace else None, owner="row")
    call.input("x", x, owner="row")


def softmax_causal_forward_data(
    call, R, T, S, scale=1.0, sd=1.0, shift=0.0, nan=1, inplace=0
):
    """nan=1: hidden scores are NaN or large; nan=0: they are like the others"""
    x = scores(call, R, S, sd, shift, 0.0)
    if nan:
        hidden = ~visible(R, T, S)
        x[hidden] = call.rng.choice([np.nan, 6e4], np.count_nonzero(hidden))
    call.out("out", (R, S), at="x" if inplace else None, owner="row")
    call.input("x", x, owner="row")


def softmax_backward_data(call, R, N, scale=1.0, sd=1.0, T=0, inplace=0):
    """p is the result of softmax or, with T, of the causal softmax"""
    t = sd * call.rng.standard_normal((R, N))
    p = softmax(np.where(visible(R, T, N), t, -np.inf) if T else t)
    call.out("dx", (R, N), at="dout" if inplace else None, owner="row")
    call.input("dout", call.normal((R, N)), owner="row")
    call.input("p", p, owner="row")


def cross_entropy_data(
    call,
    R,
    V,
    ld=0,
    softcap=0.0,
    ignore=-100,
    ignored=0,
    gscale=None,
    sd=1.0,
    shift=0.0,
    ramp=0.0,
    grad=1,
    nan=1,
    inplace=0,
    low=0.0,
    zero=0,
):
    """ignored=n: every n-th target is `ignore`. gscale=null: NULL. nan=1: the padding
    columns are NaN or large, nan=0: they are like the others. grad=0: dlogits is NULL. low: is
    subtracted from the logit of every second target, so that exp underflows there.
    zero=1: the logit of every target is 0."""
    ld = ld or V
    logits = scores(call, R, ld, sd, shift, ramp)
    if nan:
        logits[:, V:] = call.rng.choice([np.nan, 6e4], (R, ld - V))
    target = call.rng.integers(0, V, R)
    target[:1] = V - 1
    logits[np.arange(0, R, 2), target[::2]] -= low
    if zero:
        logits[np.arange(R), target] = 0
    if ignored:
        target[1::ignored] = ignore
    call.out("loss", (R,), "f32", owner="row")
    if grad:
        call.out("dlogits", (R, ld), at="logits" if inplace else None, owner="row")
    else:
        call.null("dlogits", "out")
    call.input("logits", logits, owner="row")
    call.input("target", target, "i32")
    if gscale in (None, "null"):
        call.null("gscale", dtype="f32")
    else:
        call.input("gscale", [gscale], "f32")
    call.scalar("ld", ld)


# --- error model: see "Tolerance" in the header -----------------------------------------


def exponent_error(t, m):
    """of exp(t - m) in units of 2^-24: t, m and their difference are rounded"""
    return 8 + np.abs(t) + np.abs(m) + np.abs(t - m)


def probability_bound(y, t, n):
    """t: the argument of exp; -inf where y is exactly 0"""
    m = np.max(t, -1, keepdims=True)
    c = exponent_error(np.where(np.isinf(t), m, t), m) * ~np.isinf(t)
    # below 2^-126 any number that small passes, or 0
    least = 2.0**-126 / (np.maximum(c, 1) * 2.0**-24)
    M = np.maximum(np.abs(y), np.where(np.isinf(t), 0, least))
    return {"out": bound(M, "|y|", c=c, c_text="8 + |s x| + |m| + |s x - m|", n=n)}


def softmax_forward_bounds(out, x, N, scale):
    return probability_bound(out, scale * x, N)


def softmax_causal_forward_bounds(out, x, R, T, S, scale):
    return probability_bound(out, np.where(visible(R, T, S), scale * x, -np.inf), S)


def softmax_backward_bounds(dx, dout, p, N, scale):
    M = np.abs(scale) * p * (np.abs(dout) + total(np.abs(p * dout)))
    return {"dx": bound(M, "|s| p (|dout| + sum |p dout|)", n=N)}


def cross_entropy_bounds(
    loss, dlogits, logits, target, gscale, R, V, ld, softcap, ignore
):
    z = capped(logits[:, :V], softcap)
    m = np.max(z, -1, keepdims=True)
    counts = target != ignore
    z_target = np.sum(np.where(np.arange(V) == target[:, None], np.abs(z), 0), -1)
    M = counts * (1 + np.abs(m[:, 0]) + z_target)
    b = {"loss": bound(M, "1 + |m| + |z[t]|", n=V)}
    if dlogits is not None:
        M, c = np.zeros((2, R, ld))
        p = softmax(z) + (np.arange(V) == target[:, None])
        M[:, :V] = counts[:, None] * p * (1 if gscale is None else abs(gscale[0]))
        c[:, :V] = exponent_error(z, m)
        b["dlogits"] = bound(
            M, "|gscale| (p + [j = t])", c=c, c_text="8 + |z| + |m| + |z - m|", n=V
        )
    return b


# --- checks of this file ----------------------------------------------------------------


def check_softmax(checks):
    rng, (R, N), scale = np.random.default_rng(4), (6, 7), -0.7
    x, dout = rng.standard_normal((2, R, N))
    out, dx = np.empty((2, R, N))

    def loss():
        softmax_forward(out, x, R, N, scale)
        return np.sum(out * dout)

    loss()
    checks.close("softmax: rows sum to 1", np.sum(out, -1), np.ones(R))
    softmax_backward(dx, dout, out.copy(), R, N, scale)
    checks.gradient("softmax: dx", loss, x, dx)

    def causal_loss():
        softmax_causal_forward(out, x, R, 3, N, scale)
        return np.sum(out * dout)

    causal_loss()
    seen = np.count_nonzero(out, -1)
    checks.ok("causal: query t of 3 sees 7 - 3 + t + 1 keys", list(seen) == 2 * [5, 6, 7])
    softmax_backward(dx, dout, out.copy(), R, N, scale)
    checks.gradient("causal: dx", causal_loss, x, dx)
    causal_loss()
    before = out.copy()
    x[~visible(R, 3, N)] = np.nan
    causal_loss()
    checks.ok("causal: NaN in hidden scores changes nothing", np.array_equal(out, before))


def check_cross_entropy(softcap, checks):
    rng, (R, V, ld) = np.random.default_rng(5), (5, 7, 9)
    logits, dlogits = 2 * rng.standard_normal((R, ld)), np.full((R, ld), np.nan)
    target, gscale, each = rng.integers(0, V, R), np.array([0.3]), np.empty(R)
    target[2] = -1

    def loss():
        cross_entropy(each, None, logits, target, None, R, V, ld, softcap, -1)
        return gscale[0] * np.sum(each)

    cross_entropy(each, dlogits, logits, target, gscale, R, V, ld, softcap, -1)
    what = f"cross-entropy softcap {softcap}"
    checks.gradient(
        f"{what}: dlogits, padding and the ignored row", loss, logits, dlogits
    )
    checks.ok(f"{what}: no loss where ignored", each[2] == 0 and np.all(each >= 0))


if __name__ == "__main__":
    checks = wb.Checks()
    check_softmax(checks)
    check_cross_entropy(0.0, checks)
    check_cross_entropy(3.0, checks)
    checks.done()
