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
    call, R, C, eps=1e-5, offset=0.0, scale=1.0, out_at=0, sum_at=0, rstd=1
):
    call.out("out", (R, C), at=out_at or None, owner="row")
    call.out("sum", (R, C), at=sum_at or None, owner="row")
    statistic(call, "rstd", R, null=not rstd)
    call.input("x", call.normal((R, C), scale), owner="row")
    call.input("res", call.normal((R, C), 2 * scale), owner="row")
    weight(call, C, offset)


def rmsnorm_backward_data(call, R, C, offset=0.0, scale=1.0, dres=1, dx_at=0):
    call.out("dx", (R, C), at=dx_at or None, owner="row")
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


LANE_0 = (
    "only lane 0 has the sum of the warp: use __shfl_xor_sync, or broadcast lane 0's sum"
)
EXITED = (
    "a shuffle reads lanes that have exited: threads without a column must not return "
    "early, but add 0"
)


def with_neighbour(values):
    """values (R,1): each row's value plus that of row r ^ 1, if there is one"""
    R = len(values)
    other = np.arange(R) ^ 1
    return values + values[np.minimum(other, R - 1)] * (other < R)[:, None]


def sum_without_step(values, vector, step):
    """a butterfly over 32 lanes that leaves out one step: lanes whose number differs in
    that bit do not meet"""
    half = np.arange(values.shape[-1]) // vector & step != 0
    return np.where(half, total(values * half), total(values * ~half))


def wrong_sums(values):
    """yields (cause, words, sum of each row as each column gets it)"""
    C = values.shape[-1]
    for step in (1, 2, 4, 8, 16):
        words = f"the shuffles leave out the step of {step}: it takes 16, 8, 4, 2 and 1"
        for vector in (1, 4):
            yield f"no_step_{step}_{vector}", words, sum_without_step(values, vector, step)
    for vector in (1, 4):
        yield f"lane_0_{vector}", LANE_0, wb.lane_sum(values, vector, down=True)
    if C < 32:
        yield "exited", EXITED, wb.lane_sum(values)


def rmsnorm_forward_mistakes(out, rstd, x, w, R, C, eps, offset, E="f64"):
    square, f = mean(x**2), offset + w
    root = np.sqrt(square + eps)

    def divided(root):
        return {"out": x / root * f, "rstd": 1 / root[:, 0]}

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
    yield "root_twice", "the root is taken twice: rstd is already 1 / sqrt(...)", {
        "out": x / np.sqrt(root) * f
    }
    yield "multiplied", "x is multiplied by the root: divide by it", {"out": x * root * f}
    yield "mean_not_squared", "the mean is of x, but it should be of x^2", {
        "out": x / np.sqrt(np.abs(mean(x)) + eps) * f
    }
    yield "absolute", "the mean is of |x|, but it should be of x^2, with a root", {
        "out": x / (mean(np.abs(x)) + eps) * f
    }
    yield "offset_last", "offset is added to the result: it belongs to w", {
        "out": x / root * w + offset
    }
    yield "one_added", "the factor is 1 + w, but it should be offset + w", {
        "out": x / root * (1 + w)
    }
    yield "divided_by_weight", "divided by the weight: multiply by it", {
        "out": x / root / f
    }
    yield "next_weight", "the weight of the next column is used", {
        "out": x / root * np.roll(f, -1)
    }
    yield "eps_in_sum", "eps is added to the sum, before the division by C", {
        "out": x / np.sqrt(square + eps / C) * f
    }
    yield "first_row_sum", "every row is divided by the root of row 0", {
        "out": x / root[:1] * f
    }
    yield "sum_misses_tail", (
        "the sum leaves out the columns after the last multiple of 32"
    ), {"out": x / np.sqrt(total(x**2 * (np.arange(C) < C // 32 * 32)) / C + eps) * f}
    if C > 1:
        for cause, words, column in (
            ("last_column", "the sum leaves out the last column", C - 1),
            ("first_column", "the sum leaves out the first column", 0),
        ):
            rest = total(x**2 * (np.arange(C) != column)) / C
            yield cause, words, {"out": x / np.sqrt(rest + eps) * f}
    yield "half_of_block", (
        "the reduction leaves out the second half of the 256 threads"
    ), {"out": x / np.sqrt(total(x**2 * (np.arange(C) % 256 < 128)) / C + eps) * f}
    yield "half_warp", "the sum is only over 16 lanes: start with an offset of 16", {
        "out": x / np.sqrt(wb.half_warp_sum(x**2) / C + eps) * f
    }
    for cause, words, y in wrong_sums(x**2):
        yield cause, words, {"out": x / np.sqrt(y / C + eps) * f}
    yield "sum_of_warp", (
        "only the first 32 partial sums are added: the warps' sums are not combined"
    ), {"out": x / np.sqrt(total(x**2 * (np.arange(C) % 256 < 32)) / C + eps) * f}
    if np.any(square < eps):  # without such a row this is no_eps
        yield "eps_max", "eps is a lower limit of mean(x^2): add it to mean(x^2)", (
            divided(np.sqrt(np.maximum(square, eps)))
        )
    yield "neighbour", (
        "the sum includes that of the neighbouring row: shuffle only among the lanes of "
        "one row"
    ), divided(np.sqrt(with_neighbour(square) + eps))
    for n in (1024, 2048, 4096, 8192):
        if n >= C:
            break
        wrong = divided(np.sqrt(total(x[:, :n] ** 2) / C + eps))
        wrong["out"] = wb.first_columns(wrong["out"], n)
        yield f"first_{n}", f"only the first {n} columns enter the sum of squares", wrong
    if rstd is not None:
        r = 1 / root[:, 0]
        if E != "f64":
            near = np.sqrt(square + float(rounded(eps, E)))
            yield "rstd_eps", "eps is rounded to 16 bits: it is a float", {
                "rstd": 1 / near[:, 0]
            }
        yield "rstd_is_root", "rstd is the root itself, but it should be 1 / root", {
            "rstd": 1 / r
        }
        yield "rstd_is_square", "rstd lacks the square root", {"rstd": r**2}
        yield "rstd_is_mean", "rstd is the mean of squares: it should be 1 / sqrt(...)", {
            "rstd": square[:, 0]
        }
        yield "rstd_no_eps", "rstd lacks eps", {"rstd": 1 / np.sqrt(square[:, 0])}


def rmsnorm_residual_forward_mistakes(
    out, sum, rstd, x, res, w, R, C, eps, offset, E="f64"
):
    factor = (offset + w) / np.sqrt(mean(sum**2) + eps)
    yield "unrounded", (
        "x + res is normalised before it is rounded: normalise what is stored in sum"
    ), {"out": (x + res) / np.sqrt(mean((x + res) ** 2) + eps) * (offset + w)}
    yield "res_ignored", "only x is normalised: it should be x + res", {
        "out": x / np.sqrt(mean(x**2) + eps) * (offset + w)
    }
    yield "res_normalised", "only res is normalised: it should be x + res", {
        "out": res / np.sqrt(mean(res**2) + eps) * (offset + w)
    }
    yield "sum_is_x", "sum is x alone: it should be x + res", {"sum": x}
    yield "sum_is_res", "sum is res alone: it should be x + res", {"sum": res}
    yield "difference", "sum is a difference: it should be x + res", {"sum": x - res}
    yield "res_after", "res is added after the norm: it should be added before", {
        "out": x / np.sqrt(mean(x**2) + eps) * (offset + w) + res
    }
    yield "sum_is_out", "sum is the normalised result: it should be x + res", {"sum": out}
    yield "statistics_of_x", "the root is that of x: it should be that of x + res", {
        "out": sum / np.sqrt(mean(x**2) + eps) * (offset + w)
    }
    yield "x_scaled", "x is multiplied by rstd: multiply x + res by it", {
        "out": x * factor
    }
    yield "x_twice", (
        "x is added again after res was overwritten, as sum may be res: add only once"
    ), {"out": rounded(sum + x, E) * factor}
    yield "res_twice", (
        "res is added again after x was overwritten, as sum may be x: add only once"
    ), {"out": rounded(sum + res, E) * factor}
    yield from rmsnorm_forward_mistakes(out, rstd, sum, w, R, C, eps, offset)


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
    yield "rstd_squared", "rstd^2 in the second term: it should be rstd^3", {
        "dx": past + r * u - r**2 * x * mean(u * x)
    }
    yield "weight_left_out", "dout is used in place of u = dout (offset + w)", {
        "dx": past + r * dout - r**3 * x * mean(dout * x)
    }
    yield "weight_in_mean_only", "the first term has dout in place of u", {
        "dx": past + r * dout - back
    }
    yield "half_warp", "the sum is only over 16 lanes: start with an offset of 16", {
        "dx": past + r * u - r**3 * x * wb.half_warp_sum(u * x) / C
    }
    yield "sum_misses_tail", (
        "the sum leaves out the columns after the last multiple of 32"
    ), {"dx": past + r * u - r**3 * x * total(u * x * (np.arange(C) < C // 32 * 32)) / C}
    for cause, words, y in wrong_sums(u * x):
        yield cause, words, {"dx": past + r * u - r**3 * x * y / C}
    r32 = r.astype(np.float32)
    yield "cube", (
        "rstd^3 underflows in float where x is large: multiply by x before the last "
        "factor rstd"
    ), {"dx": past + r * u - (r32 * r32 * r32).astype(np.float64) * x * mean(u * x)}
    v = dout * w
    yield "offset_ignored", "offset is ignored: u = dout (offset + w)", {
        "dx": past + r * v - r**3 * x * mean(v * x)
    }
    yield "offset_in_mean_only", (
        "offset is ignored in the first term: u = dout (offset + w) in both"
    ), {"dx": past + r * v - back}
    yield "offset_not_in_mean", (
        "offset is ignored in the mean: u = dout (offset + w) in both terms"
    ), {"dx": past + r * u - r**3 * x * mean(v * x)}
    yield "mean_without_weight", "the mean is of dout x: it should be of u x", {
        "dx": past + r * u - r**3 * x * mean(dout * x)
    }
    yield "sum_not_mean", "the sum of u x is not divided by C", {
        "dx": past + r * u - r**3 * x * mean(u * x) * C
    }
    yield "no_x", "the factor x is missing in the second term", {
        "dx": past + r * u - r**3 * mean(u * x)
    }
    yield "mean_of_u", "the mean is of u: it should be of u x", {
        "dx": past + r * u - r**3 * x * mean(u)
    }
    yield "layernorm", "the mean of u is subtracted too: that is LayerNorm", {
        "dx": past + r * (u - mean(u)) - back
    }
    yield "no_rstd", "the factor rstd is missing in the first term", {
        "dx": past + u - back
    }
    yield "dres_twice", "dres is added twice", {"dx": 2 * past + r * u - back}
    yield "dres_scaled", "dres is multiplied by rstd: it passes the norm unchanged", {
        "dx": r * (past + u) - back
    }
    yield "dw_from_dx", (
        "dw is computed from dx: read dout before dx overwrites it (dx may be dout)"
    ), {"dw": dw - here + total(dx * x * r, axis=0)[0]}
    yield "dw_of_out", "dw sums dout x / rstd: it should sum dout x rstd", {
        "dw": dw - here + total(dout * x / r, axis=0)[0]
    }
    yield "dw_without_x", "the factor x is missing in dw", {
        "dw": dw - here + total(dout * r, axis=0)[0]
    }
    yield "dw_mean", "dw is divided by R: it is a sum", {"dw": dw - here + here / R}
    yield "dw_misses_rows", (
        "dw leaves out the rows after the last multiple of 32"
    ), {"dw": dw - here + total((dout * x * r)[: R // 32 * 32], axis=0)[0]}
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
