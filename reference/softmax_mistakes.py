"""softmax_mistakes.py - what kernels with known mistakes compute in parts 04.1 to 04.4 of
lab 04, so that the report can name them. cross_entropy_mistakes.py has those of the loss.
"""

import numpy as np

import wb
from softmax_formulas import softmax, visible
from wb import total


def float_softmax(t, m):
    """in float, with m in place of the maximum: exp overflows, or all terms are 0"""
    with np.errstate(all="ignore"):
        e = np.exp(np.minimum(t - m, 1000)).astype(np.float32).astype(np.float64)
        return e / np.sum(e, -1, keepdims=True)


UNDERFLOW = 104  # exp(-104) is 0 in float


def wrong_maxima(t):
    """(cause, words, m) if there is no maximum, or its search starts too high or takes in
    other rows"""
    own = np.max(t, -1, keepdims=True)
    yield "nan_no_max", (
        "no maximum is subtracted: exp overflows, or every term is 0"
    ), 0 * own
    for cause, start in (("0", 0), ("1e4", -1e4), ("1e5", -1e5)):
        yield f"nan_max_from_{cause}", (
            f"the maximum starts at {start:g}, but values can be smaller: start at -inf"
        ), np.maximum(start, own)
    for rows in (2, 4, 8, 16, 32):
        first = np.arange(0, len(own), rows)
        m = np.repeat(np.maximum.reduceat(own, first), rows, 0)[: len(own)]
        if np.any(m - own > UNDERFLOW):  # otherwise any maximum of several rows will do
            yield f"nan_max_of_{rows}_rows", (
                f"the maximum is that of {rows} rows: each row has its own (a reduction "
                "of all 32 lanes, though a warp has several rows?)"
            ), m


def own_maxima(t, vector, threads):
    """for each column, the maximum of the columns of its thread"""
    R, N = t.shape
    steps = -(-N // (vector * threads))
    padded = np.full((R, steps * vector * threads), -np.inf)
    padded[:, :N] = t
    padded = padded.reshape(R, steps, threads, vector)
    padded[...] = padded.max((1, 3), keepdims=True)
    return padded.reshape(R, -1)[:, :N]


def sum_not_rescaled(t, threads):
    """the sum of a row if each of so many threads keeps a running maximum of its columns,
    but leaves its sum in units of the old one"""
    R, N = t.shape
    own = np.full((R, -(-N // threads), threads), -np.inf)
    own.reshape(R, -1)[:, :N] = t
    running = np.maximum(np.maximum.accumulate(own, 1), -1e30)
    sums, top = np.sum(np.exp(own - running), 1), running[:, -1]
    return total(sums * np.exp(top - np.max(t, -1, keepdims=True)))


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
    for threads in (1, 32, 64, 128, 256, 512):
        if threads < N:
            yield f"not_rescaled_{threads}", (
                "the sum is not rescaled when the running maximum grows: multiply it by "
                "exp(old maximum - new maximum) first"
            ), {"out": e / sum_not_rescaled(t, threads)}
    if N < 256:
        yield "nan_no_column", (
            "the maximum of a thread without a column stays -inf, and -inf - -inf is NaN: "
            "start at -FLT_MAX"
        ), {"out": np.nan}
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
    for part in (4096, 8192):
        if N > part:
            summed = np.arange(N) % part < part // 2
            yield f"half_of_{part}", (
                f"only the first {part // 2} of every {part} columns enter the sum: a "
                "part has more columns than its block covers"
            ), {"out": np.where(summed, e / total(e * summed), np.nan)}


def softmax_forward_factors(x, N, scale):
    """mistakes of kernels that let several blocks share a row"""
    part = 2048
    if N <= 16 * part:
        return
    t = np.pad(scale * x, [(0, 0), (0, -N % (128 * part))], constant_values=-np.inf)
    t = t.reshape(len(x), -1, part)
    top = np.maximum(np.max(t, -1), -1e30)  # of each part
    sums = total(np.exp(t - top[..., None]))[..., 0]
    m = np.max(top, -1, keepdims=True)
    right = total(sums * np.exp(top - m))
    words = (
        "the sum of a part is not rescaled: multiply it by exp(maximum of the part - "
        "common maximum)"
    )
    for part in (part, 2 * part, 4 * part):
        yield f"part_{part}_not_rescaled", words, {"out": right / total(sums)}
        if N > 32 * part:
            yield f"part_{part}_first_32", (
                "only 32 parts of a row are combined, one for each lane: it may have more"
            ), {"out": right / total(sums[:, :32] * np.exp(top[:, :32] - m))}
            yield f"part_{part}_of_lane", words, {
                "out": right / total(sum_of_lanes(top, sums, m))
            }
        top, fine = np.max(top.reshape(len(x), -1, 2), -1), top
        sums = sums * np.exp(fine - np.repeat(top, 2, -1))
        sums = np.sum(sums.reshape(len(x), -1, 2), -1)


def sum_of_lanes(top, sums, m):
    """each of 32 lanes adds the sums of parts n, n + 32, ..., but rescales only those
    that it has already"""
    lane_max, lane_sum = top[:, :32], sums[:, :32]
    for n in range(32, top.shape[1], 32):
        before, lane_max = lane_max, np.maximum(lane_max, top[:, n : n + 32])
        lane_sum = lane_sum * np.exp(before - lane_max) + sums[:, n : n + 32]
    return lane_sum * np.exp(lane_max - m)


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
    last = (S - T + r % T) + 1
    for name, vector in (("1", 1), ("4", 4), ("8", 8), ("all", S)):
        loaded = keys < (last // vector + 1) * vector
        m = np.fmax.reduce(np.where(loaded, scale * x, -np.inf), -1, keepdims=True)
        yield f"nan_max_of_hidden_{name}", (
            "hidden scores enter the maximum: if one is far above the others, all terms "
            "become 0"
        ), {"out": np.where(see, float_softmax(t, m), 0)}
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
    yield "scale_of_sum", (
        "the sum of p dout is multiplied by scale as well: only the difference should be"
    ), {"dx": scale * p * (dout - scale * inner)}
    yield "scale_of_dout", (
        "scale multiplies dout, but not the sum: it should multiply their difference"
    ), {"dx": p * (scale * dout - inner)}
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
