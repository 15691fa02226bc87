"""rmsnorm.py - lab 03 in float64. The contract is labs/lab03_rmsnorm/rmsnorm.h.

    python reference/rmsnorm.py     checks the gradients against finite differences
"""

import numpy as np

import wb
from wb import bound, mean, rounded, total

# --- the formulas -----------------------------------------------------------------------


def rmsnorm_forward(out, rstd, x, w, R, C, eps, offset):
    r = 1 / np.sqrt(mean(x**2) + eps)  # (R,1)
    out[...] = x * r * (offset + w)
    if rstd is not None:
        rstd[...] = r[:, 0]


def rmsnorm_residual_forward(out, sum, rstd, x, res, w, R, C, eps, offset, E="f64"):
    sum[...] = rounded(x + res, E)  # the stored, rounded sum is normalised
    rmsnorm_forward(out, rstd, sum, w, R, C, eps, offset)


def rmsnorm_backward(dx, dw, dout, x, w, rstd, dres, R, C, offset):
    r = rstd[:, None]
    u = dout * (offset + w)
    dx[...] = (0 if dres is None else dres) + r * u - r**3 * x * mean(u * x)
    dw += total(dout * x * r, axis=0)[0]


# --- cases ------------------------------------------------------------------------------


def statistic(call, name, R, null):
    call.null(name, "out", "f32") if null else call.out(name, (R,), "f32", owner="row")


def weight(call, C, offset):
    call.input("w", 1 - offset + 0.3 * call.rng.standard_normal(C))


def rmsnorm_forward_data(
    call, R, C, eps=1e-5, offset=0.0, scale=1.0, inplace=0, rstd=1
):
    call.out("out", (R, C), at="x" if inplace else None, owner="row")
    statistic(call, "rstd", R, null=not rstd)
    call.input("x", call.normal((R, C), scale), owner="row")
    weight(call, C, offset)


def rmsnorm_residual_forward_data(
    call, R, C, eps=1e-5, offset=0.0, scale=1.0, out_at=None, sum_at=None, rstd=1
):
    call.out("out", (R, C), at=out_at, owner="row")
    call.out("sum", (R, C), at=sum_at, owner="row")
    statistic(call, "rstd", R, null=not rstd)
    call.input("x", call.normal((R, C), scale), owner="row")
    call.input("res", call.normal((R, C), 2 * scale), owner="row")
    weight(call, C, offset)


def rmsnorm_backward_data(call, R, C, offset=0.0, scale=1.0, dres=1, dx_at=None):
    call.out("dx", (R, C), at=dx_at, owner="row")
    call.acc("dw", (C,), owner="column")
    call.input("dout", call.normal((R, C), 0.5), owner="row")
    x = rounded(call.normal((R, C), scale), call.E)
    call.input("x", x, owner="row")
    weight(call, C, offset)
    call.input("rstd", 1 / np.sqrt(np.mean(x**2, -1) + 1e-5), "f32", owner="row")
    call.input("dres", call.normal((R, C)), owner="row") if dres else call.null("dres")


# --- error model: see "Tolerance" in the header -----------------------------------------


def rmsnorm_forward_bounds(out, rstd, C):
    b = {"out": bound(out, "|y|", n=C)}
    if rstd is not None:
        b["rstd"] = bound(rstd, "|y|", n=C)
    return b


def rmsnorm_residual_forward_bounds(out, sum, rstd, C):
    return rmsnorm_forward_bounds(out, rstd, C) | {"sum": bound(sum, "|y|", c=1)}


def rmsnorm_backward_bounds(dx, dw, dout, x, w, rstd, dres, R, C, offset):
    r, u = rstd[:, None], np.abs(dout * (offset + w))
    past = np.abs(0 if dres is None else dres)
    M = past + r * u + r**3 * np.abs(x) * mean(u * np.abs(x))
    N = np.abs(dw) + total(np.abs(dout * x * r), axis=0)[0]
    return {
        "dx": bound(M, "|dres| + rstd |u| + rstd^3 |x| mean|u x|", n=C),
        "dw": bound(N, "|dw| + sum_r |dout x rstd|", n=R),
    }


# --- mistakes that the report should name -----------------------------------------------


def rmsnorm_forward_mistakes(out, x, w, R, C, eps, offset):
    square, f = mean(x**2), offset + w
    yield "eps_outside", "eps is added outside the square root", {
        "out": x / (np.sqrt(square) + eps) * f
    }
    yield "no_eps", "eps is missing", {"out": x / np.sqrt(square) * f}
    yield "no_offset", "offset is ignored: the factor should be offset + w, not w", {
        "out": x / np.sqrt(square + eps) * w
    }
    yield "no_weight", "w is ignored", {"out": x / np.sqrt(square + eps)}
    yield "sum_not_mean", "the sum of squares is not divided by C", {
        "out": x / np.sqrt(square * C + eps) * f
    }
    yield "layernorm", "the mean of x is subtracted: that is LayerNorm", {
        "out": (x - mean(x)) / np.sqrt(mean((x - mean(x)) ** 2) + eps) * f
    }
    yield "no_root", "the square root is missing: x is divided by mean(x^2) + eps", {
        "out": x / (square + eps) * f
    }


def rmsnorm_residual_forward_mistakes(out, sum, x, res, w, R, C, eps, offset):
    yield "res_ignored", "only x is normalised: it should be x + res", {
        "out": x / np.sqrt(mean(x**2) + eps) * (offset + w)
    }
    yield "res_normalised", "only res is normalised: it should be x + res", {
        "out": res / np.sqrt(mean(res**2) + eps) * (offset + w)
    }
    yield from rmsnorm_forward_mistakes(out, sum, w, R, C, eps, offset)


def rmsnorm_backward_mistakes(dx, dw, dout, x, w, rstd, dres, R, C, offset):
    r, u = rstd[:, None], dout * (offset + w)
    past = 0 if dres is None else dres
    back = r**3 * x * mean(u * x)
    here = total(dout * x * r, axis=0)[0]
    yield "no_dres", "dres is not added", {"dx": r * u - back}
    yield "no_mean_term", "the term rstd^3 x mean(u x) is missing", {"dx": past + r * u}
    yield "mean_term_sign", "the term rstd^3 x mean(u x) has the wrong sign", {
        "dx": past + r * u + back
    }
    yield "rstd_not_cubed", "rstd is not cubed in the second term", {
        "dx": past + r * u - r * x * mean(u * x)
    }
    yield "weight_left_out", "dout is used in place of u = dout (offset + w)", {
        "dx": past + r * dout - r**3 * x * mean(dout * x)
    }
    yield "dw_not_added", "dw is overwritten: add to it (+=)", {"dw": here}
    yield "dw_without_rstd", "the factor rstd is missing in dw", {
        "dw": dw - here + total(dout * x, axis=0)[0]
    }
    yield "dw_of_u", (
        "dw sums u x rstd, but it should sum dout x rstd, without (offset + w)"
    ), {"dw": dw - here + total(u * x * r, axis=0)[0]}


# --- checks of this file ----------------------------------------------------------------


def check(offset, checks):
    rng, (R, C), eps = np.random.default_rng(3), (5, 7), 1e-2
    x, res, dout, dres, w = (rng.standard_normal(s) for s in 4 * [(R, C)] + [C])
    out, sum, dx, rstd, dw = (np.empty(s) for s in 3 * [(R, C)] + [R, C])

    def loss():  # sum is also the residual stream, with gradient dres
        rmsnorm_residual_forward(out, sum, rstd, x, res, w, R, C, eps, offset)
        return np.sum(out * dout) + np.sum(sum * dres)

    loss()
    dw[...] = start = rng.standard_normal(C)
    rmsnorm_backward(dx, dw, dout, sum.copy(), w, rstd.copy(), dres, R, C, offset)
    checks.gradient(f"rmsnorm offset {offset}: dx as the gradient of x", loss, x, dx)
    checks.gradient(f"rmsnorm offset {offset}: dx as the gradient of res", loss, res, dx)
    checks.gradient(f"rmsnorm offset {offset}: dw, added to", loss, w, dw - start)
    rmsnorm_forward(out, rstd, x, np.ones(C), R, C, 0.0, 0.0)
    checks.close("rmsnorm: rows of length sqrt(C)", np.sum(out**2, -1), np.full(R, C))


if __name__ == "__main__":
    checks = wb.Checks()
    check(0.0, checks)
    check(1.0, checks)
    checks.done()
