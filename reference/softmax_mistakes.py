"""softmax_mistakes.py - what kernels with known mistakes compute in lab 04, so that the
report can name them. softmax.py imports it.
"""

import numpy as np

import wb
from softmax_formulas import capped, softmax, visible
from wb import total


def float_softmax(t, m):
    """in float, with m in place of the maximum: exp overflows, or all terms are 0"""
    with np.errstate(all="ignore"):
        e = np.exp(np.minimum(t - m, 1000)).astype(np.float32).astype(np.float64)
        return e / np.sum(e, -1, keepdims=True)


def wrong_maxima(t):
    """(cause, words, m) if the search starts too high"""
    for cause, start in (("0", 0), ("1e4", -1e4), ("1e5", -1e5)):
        yield f"max_from_{cause}", (
            f"the maximum starts at {start:g}, but values can be smaller: start at -inf"
        ), np.maximum(start, np.max(t, -1, keepdims=True))


def own_maxima(t, vector, threads):
    """for each column, the maximum of the columns of its thread"""
    R, N = t.shape
    steps = -(-N // (vector * threads))
    padded = np.full((R, steps * vector * threads), -np.inf)
    padded[:, :N] = t
    padded = padded.reshape(R, steps, threads, vector)
    padded[...] = padded.max((1, 3), keepdims=True)
    return padded.reshape(R, -1)[:, :N]


def softmax_forward_mistakes(out, x, R, N, scale):
    t = scale * x
    e = np.exp(t - np.max(t, -1, keepdims=True))
    yield "no_scale", "scale is ignored", {"out": softmax(x)}
    yield "scale_after", "scale multiplies the result: it should multiply x", {
        "out": scale * softmax(x)
    }
    yield "no_division", "exp(s x - m) is not divided by the sum", {"out": e}
    yield "base_two", "2^z is used in place of exp(z)", {"out": softmax(t * np.log(2))}
    yield "sum_of_matrix", "divided by the sum over all rows: each row has its own sum", {
        "out": e / np.sum(e)
    }
    yield "logarithm", "this is the logarithm of the softmax", {"out": np.log(softmax(t))}
    for cause, words, m in wrong_maxima(t):
        yield cause, words, {"out": float_softmax(t, m)}
    yield "max_of_x", "the maximum is that of x: it should be that of scale x", {
        "out": float_softmax(t, scale * np.max(x, -1, keepdims=True))
    }
    for vector, threads in ((4, 4), (1, 32), (1, 256)):
        if vector * threads <= N or threads == 256:
            yield f"own_maximum_{vector}x{threads}", (
                "exp is relative to the maximum of the thread's own columns: multiply it "
                "by exp(own maximum - maximum of the row)"
            ), {"out": np.exp(t - own_maxima(t, vector, threads)) / total(e)}
    one_by_one = np.cumsum(e, -1, dtype=np.float32)[:, -1:].astype(np.float64)
    yield "one_float", (
        f"a single float accumulator is not enough for {N} terms: it rounds small terms "
        "away. Add partial sums, or accumulate in double"
    ), {"out": e / one_by_one}
    yield "negative", "the exponent has the wrong sign", {"out": softmax(-t)}
    yield "scale_twice", "x is multiplied by scale twice", {"out": softmax(scale * t)}
    yield "divided", "x is divided by scale: multiply by it", {"out": softmax(x / scale)}
    yield "no_scale_of_max", "exp(scale (x - m)) with the maximum m of scale x", {
        "out": e * np.exp(-(scale - 1) * np.max(t, -1, keepdims=True)) / total(e)
    }
    yield "base_e", "exp is used with log2(e): that factor belongs to exp2", {
        "out": softmax(t / np.log(2))
    }
    yield "of_columns", "divided by the sum of the column: each row has its own sum", {
        "out": e / np.sum(e, 0)
    }
    yield "next_sum", "divided by the sum of the next row", {
        "out": e / np.roll(total(e), -1, 0)
    }
    yield "sum_without_max", "the maximum is not subtracted in the sum", {
        "out": e / total(np.exp(t))
    }
    yield "mean", "divided by the mean of exp: it should be the sum", {
        "out": e / total(e) * N
    }
    yield "half_warp", "the sum is only over 16 lanes: start with an offset of 16", {
        "out": e / wb.half_warp_sum(e)
    }
    yield "sum_of_warp", (
        "only the first 32 partial sums are added: the warps' sums are not combined"
    ), {"out": e / total(np.where(np.arange(N) % 256 < 32, e, 0))}
    if N > 1:
        for cause, words, column in (
            ("last_column", "the last column is left out", N - 1),
            ("first_column", "the first column is left out", 0),
        ):
            rest = softmax(np.where(np.arange(N) == column, -np.inf, t))
            yield cause, words, {"out": rest}
            yield cause + "_of_sum", words + " of the sum", {
                "out": e / total(np.where(np.arange(N) == column, 0, e))
            }
    yield "half_of_block", (
        "the reduction leaves out the second half of the 256 threads"
    ), {"out": e / total(np.where(np.arange(N) % 256 < 128, e, 0))}
    last = np.where(np.arange(N) < max(N // 32 * 32, 1), e, 0)
    yield "sum_misses_tail", (
        "the sum leaves out the columns after the last multiple of 32"
    ), {"out": e / total(last)}
    for n in (512, 1024, 2048, 4096, 8192, 32768):
        if n >= N:
            break
        yield f"first_{n}", f"only the first {n} columns enter the sum", {
            "out": wb.first_columns(e / total(e[:, :n]), n)
        }
    if N > 8192:
        summed = np.arange(N) % 8192 < 4096
        yield "half_of_part", (
            "only the first 4096 of every 8192 columns enter the sum: a part has more "
            "columns than its block covers"
        ), {"out": np.where(summed, e / total(e * summed), np.nan)}


def softmax_causal_forward_mistakes(out, x, R, T, S, scale):
    def masked(see):
        t = np.where(see, scale * x, -np.inf)
        t[~see.any(-1), 0] = 0  # a row that sees no key
        return {"out": softmax(t)}

    r = np.arange(R)[:, None]
    yield "sees_one_more", (
        "the mask is off by one: query t also sees key S-T+t+1"
    ), masked(visible(R, T, S, 1))
    yield "sees_one_less", (
        "the mask is off by one: query t does not see its own key, S-T+t"
    ), masked(visible(R, T, S, -1))
    yield "no_offset", (
        "query t sees only the keys 0..t: add S-T, because it is key S-T+t"
    ), masked(np.arange(S) <= r % T)
    yield "row_not_modulo", (
        "the mask treats row r as query r, but it is query r % T"
    ), masked(np.arange(S) <= S - T + r)
    yield "no_scale", "scale is ignored", {
        "out": softmax(np.where(visible(R, T, S), x, -np.inf))
    }
    keys = np.arange(S)
    yield "mask_reversed", "the mask is the wrong way round: j <= S-T+t is seen", masked(
        keys >= S - T + r % T
    )
    yield "not_masked", "there is no mask: row r sees j <= S-T + r % T", masked(keys < S)
    yield "row_over_t", "the query is r / T, but it is r % T", masked(
        keys <= S - T + r // T % T
    )
    yield "row_over_rows", "the query is r / (R/T), but it is r % T", masked(
        keys <= S - T + r // (R // T)
    )
    yield "mask_of_s", "the mask uses r % S: the query is r % T", masked(
        keys <= S - T + r % S
    )
    see = visible(R, T, S)
    yield "hidden_zero", "hidden scores are set to 0, and exp(0) is 1: leave them out", {
        "out": softmax(np.where(see, scale * x, 0))
    }
    t = np.where(see, scale * x, -np.inf)
    yield "scale_after", "scale multiplies the result: it should multiply x", {
        "out": scale * softmax(np.where(see, x, -np.inf))
    }
    for cause, words, m in wrong_maxima(t):
        yield cause, words, {"out": np.where(see, float_softmax(t, m), 0)}
    p = softmax(scale * x)
    yield "masked_after", (
        "the mask is applied after the division: the sum includes hidden keys"
    ), {"out": np.where(visible(R, T, S), p, 0)}


def softmax_backward_mistakes(dx, dout, p, R, N, scale):
    inner = total(p * dout)
    yield "no_scale", "the factor scale is missing", {"dx": p * (dout - inner)}
    yield "no_sum", "the sum of p dout is not subtracted", {"dx": scale * p * dout}
    yield "sum_added", "the sum of p dout has the wrong sign", {
        "dx": scale * p * (dout + inner)
    }
    yield "no_p", "the factor p is missing", {"dx": scale * (dout - inner)}
    yield "sum_of_dout", "the sum is over dout: it should be over p dout", {
        "dx": scale * p * (dout - total(dout))
    }
    yield "no_p_outside", "dx is scale (p dout - sum): the sum must be multiplied by p", {
        "dx": scale * (p * dout - inner)
    }
    yield "p_twice", "there is an extra factor p", {"dx": scale * p**2 * (dout - inner)}
    yield "scale_twice", "scale is applied twice", {"dx": scale**2 * p * (dout - inner)}
    yield "divided", "divided by scale: multiply by it", {
        "dx": p * (dout - inner) / scale
    }
    yield "sign", "the sign is wrong: dout minus the sum", {
        "dx": scale * p * (inner - dout)
    }
    yield "mean", "the sum of p dout is divided by N", {
        "dx": scale * p * (dout - inner / N)
    }
    yield "sum_of_p", "the sum is over p: it should be over p dout", {
        "dx": scale * p * (dout - total(p))
    }
    yield "next_sum", "the sum is that of the next row", {
        "dx": scale * p * (dout - np.roll(inner, -1, 0))
    }
    yield "sum_of_matrix", "the sum is over all rows: each row has its own", {
        "dx": scale * p * (dout - np.sum(inner))
    }
    columns = np.arange(N)
    yield "half_warp", "the sum is only over 16 lanes: start with an offset of 16", {
        "dx": scale * p * (dout - wb.half_warp_sum(p * dout))
    }
    yield "sum_misses_tail", (
        "the sum leaves out the columns after the last multiple of 32"
    ), {"dx": scale * p * (dout - total(p * dout * (columns < N // 32 * 32)))}
    yield "sum_of_warp", (
        "only the first 32 partial sums are added: the warps' sums are not combined"
    ), {"dx": scale * p * (dout - total(p * dout * (columns % 256 < 32)))}
    yield "diagonal", "only the diagonal of the Jacobian is used: p (1 - p) dout", {
        "dx": scale * p * (1 - p) * dout
    }


def cross_entropy_mistakes(
    loss, dlogits, logits, target, gscale, R, V, ld, softcap, ignore, memory
):
    counts, hit = (target != ignore)[:, None], np.arange(V) == target[:, None]
    g = 1 if gscale is None else gscale[0]

    def outputs(z, slope=1.0, counts=counts, hit=hit, g=g):
        m = np.max(z, -1, keepdims=True)
        z_target = np.sum(z[:, :V] * hit, -1, keepdims=True)
        wrong = {
            "loss": np.where(counts, np.log(total(np.exp(z - m))) + m - z_target, 0)[:, 0]
        }
        if dlogits is not None:
            wrong["dlogits"] = np.zeros((R, ld))
            p = softmax(z)[:, :V]
            wrong["dlogits"][:, :V] = np.where(counts, g * (p - hit) * slope, 0)
        return wrong

    def gradient(**change):
        wrong = outputs(z, **dict({"slope": slope}, **change))
        return {name: y for name, y in wrong.items() if name == "dlogits"}

    z = capped(logits[:, :V], softcap)
    slope = 1 - (z / softcap) ** 2 if softcap else 1.0
    m = np.max(z, -1)
    yield "no_softcap", "softcap is ignored", outputs(logits[:, :V])
    if softcap:
        yield "tanh_overflows", (
            "tanh from exp(2 logits / softcap) is inf / inf for large logits: use tanhf"
        ), outputs(np.where(2 * logits[:, :V] / softcap > 88.7, np.nan, z), slope)

    def ignoring(rows):
        """with other rows ignored; the loss of a target outside [0,V) is anything"""
        wrong = outputs(z, slope, rows[:, None])
        unknown = rows & ((target < 0) | (target >= V))
        wrong["loss"] = np.where(unknown, np.nan, wrong["loss"])
        return wrong

    yield "ignore_counted", (
        "rows whose target is `ignore` get a loss and a gradient: both should be 0"
    ), ignoring(np.full(R, True))
    yield "ignore_negative", (
        "negative targets are ignored: compare with `ignore`, which may be any number"
    ), ignoring(target >= 0)
    yield "ignore_built_in", (
        "-100 is built in: compare the target with `ignore`, which may be any number"
    ), ignoring(target != -100)
    everything = np.where(counts[:, 0], 1.0, 0.0)
    p_target = np.sum(softmax(z) * hit, -1)
    with np.errstate(divide="ignore"):
        in_float = -np.log(p_target.astype(np.float32).astype(np.float64))
    yield "log_of_p", (
        "the loss is -log(p), and p underflows to 0: use log sum exp - z instead"
    ), {"loss": np.where(counts[:, 0], in_float, 0)}
    yield "probability", "the loss is p of the target: it is -log(p)", {
        "loss": everything * p_target
    }
    yield "one_minus_p", "the loss is 1 - p: it is -log(p)", {
        "loss": everything * (1 - p_target)
    }
    yield "loss_scaled", "gscale multiplies the loss: it scales only the gradient", {
        "loss": loss * g
    }
    yield "no_z_target", "the logit of the target is not subtracted", {
        "loss": everything * (np.log(total(np.exp(z - m[:, None]))) + m[:, None])[:, 0]
    }
    yield "some_no_z_target", (
        "in some rows the logit of the target is not subtracted: has the thread that "
        "writes the loss read the target's column?"
    ), {
        "loss": everything * (np.log(total(np.exp(z - m[:, None]))) + m[:, None])[:, 0]
    }
    yield "largest", "the largest logit is subtracted: it should be that of the target", {
        "loss": everything * np.log(total(np.exp(z - m[:, None])))[:, 0]
    }
    raw_target = np.sum(np.where(hit, logits[:, :V], 0), -1)
    z_target = np.sum(np.where(hit, z, 0), -1)
    yield "raw_target", "the target's logit lacks the soft cap", {
        "loss": loss + everything * (z_target - raw_target)
    }
    lse = np.log(total(np.exp(z - m[:, None])))[:, 0] + m
    for cause, words, n in (
        ("next_target", "the logit after the target's is used", 1),
        ("previous_target", "the logit before the target's is used", -1),
    ):
        inside = counts[:, 0] & (target + n >= 0) & (target + n < V)
        other = z[np.arange(R), np.where(inside, target + n, 0)]
        one_off = np.where(inside, lse - other, np.where(counts[:, 0], np.nan, 0))
        yield cause, words, {"loss": one_off}
    yield "first_target", "every row uses the target of row 0", {
        "loss": np.where(counts[:, 0], lse - z[:, target[0]], 0)
    }
    for cause, words, start in wrong_maxima(z):
        with np.errstate(all="ignore"):
            low = np.log(np.sum(np.exp(z - start).astype(np.float32), -1)) + start[:, 0]
            p = np.exp(z - start).astype(np.float32)
            p = p / np.sum(p, -1, keepdims=True)
        wrong = outputs(z, slope)
        wrong["loss"] = np.where(counts[:, 0], low - z_target, 0)
        if dlogits is not None:
            wrong["dlogits"][:, :V] = np.where(counts, g * (p - hit) * slope, 0)
        yield cause, words, wrong
    if softcap:
        yield "no_outer_cap", "the factor softcap of tanh is missing", (
            outputs(z / softcap, slope)
        )
        yield "no_inner_cap", "tanh of the logits: divide them by softcap first", outputs(
            softcap * np.tanh(logits[:, :V]), slope
        )
        yield "clipped", "the logits are clipped: the soft cap is softcap tanh(...)", (
            outputs(np.clip(logits[:, :V], -softcap, softcap), slope)
        )
    apart = memory("logits", V * np.arange(R)[:, None] + np.arange(V))
    yield "ld_ignored", "row r is read at r*V, but it starts at r*ld", outputs(
        capped(apart, softcap), slope
    )
    yield "padding_counted", "the sum includes the padding columns", outputs(
        capped(logits, softcap), slope
    )
    yield "no_max", "the maximum is not added back to the logarithm", {"loss": loss - m}
    yield "negative", "the sign of the loss is wrong", {"loss": -loss}
    yield "log_of_base_two", "log2 is used in place of the natural logarithm", {
        "loss": loss / np.log(2)
    }
    yield "mean", "divided by R: every row has a loss of its own", {"loss": loss / R}
    yield "no_softcap_gradient", "the factor 1 - (z/softcap)^2 is missing", gradient(
        slope=1.0
    )
    if softcap > 1e-6:  # below that it is no_softcap_gradient
        yield "slope_divided_once", (
            "1 - z^2/softcap: softcap must be squared too, 1 - (z/softcap)^2"
        ), gradient(slope=1 - z**2 / softcap)
    if softcap:
        yield "some_no_softcap_gradient", (
            "some columns lack the factor 1 - (z/softcap)^2: has the tail after "
            "the last whole vector got it?"
        ), gradient(slope=1.0)
    yield "no_gscale", "gscale is ignored", gradient(g=1)
    yield "gscale_of_target", (
        "gscale multiplies only the 1 at the target: multiply p - 1, and p elsewhere"
    ), gradient(g=1, hit=g * hit)
    yield "no_target", "1 is not subtracted at the target", gradient(hit=0 * hit)
    yield "wrong_sign", "the sign of the gradient is wrong", gradient(g=-g)
    yield "gscale_divides", "divided by gscale: multiply by it", gradient(g=1 / g)
    if R > 1:
        yield "next_hit", "1 is subtracted one column after the target", gradient(
            hit=np.roll(hit, 1, 1)
        )
    if softcap:
        yield "slope_of_logits", "1 - (logits/softcap)^2: use z, after the cap", (
            gradient(slope=1 - (logits[:, :V] / softcap) ** 2)
        )
        yield "slope_without_square", "1 - z/softcap: the square is missing", gradient(
            slope=1 - z / softcap
        )
    if dlogits is not None:
        e, wrong = np.exp(z - m[:, None]), np.zeros((R, ld))
        wrong[:, :V] = np.where(counts, g * (e - hit) * slope, 0)
        yield "not_normalised", "exp(z - m) is not divided by the sum", {"dlogits": wrong}
        kept = np.where(counts, dlogits, logits)
        kept[:, V:] = 0
        yield "ignored_kept", "ignored rows keep their logits: they should be 0", {
            "dlogits": kept
        }
    yield "gradient_mean", (
        "divided by R: the caller asks for the mean through gscale"
    ), gradient(g=g / R)
