"""cross_entropy_mistakes.py - what kernels with known mistakes compute in parts 04.5 and
04.6 of lab 04, so that the report can name them.
"""

import numpy as np

from softmax_formulas import capped, softmax
from softmax_mistakes import wrong_maxima
from wb import total


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
        yield "slope_not_divided", (
            "1 - z^2: z must be divided by softcap, 1 - (z/softcap)^2"
        ), gradient(slope=1 - z**2)
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
