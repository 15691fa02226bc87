"""rglru_mistakes.py - what kernels with known mistakes compute in parts 06.1 to 06.3 of
lab 06, so that the report can name them.
"""

import numpy as np

from rglru_block import (
    conv1d_backward,
    convolution,
    decay,
    gate_slopes,
    last_inputs,
    never_forgets,
    outer,
    positions,
    product,
    softplus,
    transposed,
)
from swiglu import sigmoid

TIMES_0 = (
    "what belongs to another document is multiplied by 0, but 0 times inf is NaN: skip it"
)
ROOT_OF_0 = (
    "m computed as q / sqrt(q) is 0 times inf = NaN where q = 1 - a^2 is 0: bound q from "
    "below"
)


def roots_of_0(pa, a_param, first, **outputs):
    """yields the mistake of an m that is NaN where it is 0, in these outputs"""
    still = never_forgets(pa, a_param) & ~first
    if still.any():
        lost = np.where(still, np.nan, 0)
        yield "some_root_of_0", ROOT_OF_0, {n: y + lost for n, y in outputs.items()}


# --- 06.1 -------------------------------------------------------------------------------


def block_linear_forward_mistakes(px, pa, c, wx, bx, wa, ba, G, M):
    def both(x, a):
        return {"px": x, "pa": a}

    yield "transposed", (
        "the matrices are read transposed: in w[g,i,j], i is the input and j the output"
    ), (both(product(c, transposed(wx)) + bx, product(c, transposed(wa)) + ba))
    yield "gates_swapped", "wx and wa are swapped", both(pa, px)
    yield "no_bias", "the bias is missing", both(px - bx, pa - ba)
    yield "one_bias", "both gates use the bias bx", {"pa": pa - ba + bx}
    yield "biases_swapped", "the biases bx and ba are swapped", {"px": px - bx + ba}
    yield "first_block", "every block uses the matrix of block 0", both(
        product(c, np.broadcast_to(wx[:1], wx.shape)) + bx,
        product(c, np.broadcast_to(wa[:1], wa.shape)) + ba,
    )


def block_linear_backward_mistakes(
    dc, dwx, dbx, dwa, dba, dc_in, dpx, dpa, c, wx, wa, R, G, M
):
    past = 0 if dc_in is None else dc_in
    x, a = product(dpx, transposed(wx)), product(dpa, transposed(wa))
    yield "transposed", "the matrices are read transposed: dc sums over the outputs j", {
        "dc": past + product(dpx, wx) + product(dpa, wa)
    }
    yield "no_dc_in", "dc_in is not added", {"dc": x + a}
    yield "x_alone", "the part of gate a is missing in dc", {"dc": past + x}
    yield "a_alone", "the part of gate x is missing in dc", {"dc": past + a}
    yield "gates_swapped", "wx and wa are swapped", {
        "dc": past + product(dpa, transposed(wx)) + product(dpx, transposed(wa))
    }
    here, there = outer(c, dpx), outer(c, dpa)
    yield "dw_transposed", (
        "the gradient is stored transposed: in w[g,i,j], i is the input and j the output"
    ), {
        "dwx": dwx - here + transposed(here),
        "dwa": dwa - there + transposed(there),
    }
    yield "not_added", "the gradient is overwritten: add to it (+=)", {
        "dwx": here,
        "dwa": there,
        "dbx": dpx.sum(0),
        "dba": dpa.sum(0),
    }
    if dc_in is not None:
        yield "read_late", "the gradients are computed from dc in place of c", {
            "dwx": dwx - here + outer(dc, dpx)
        }


# --- 06.2 -------------------------------------------------------------------------------


def moved_slots(ring, step):
    return np.roll(ring, step, axis=1)


def conv1d_forward_mistakes(
    out, conv_state, conv_state_before, x, w, bias, pos, len, B, T, C, width
):
    before = conv_state_before
    p = positions(pos, B, T)
    whole_row = np.broadcast_to(np.arange(T), (B, T)) + p[:, :1]

    def told(cause, words, y):
        return cause, words, {"out": y}

    yield told(
        "reversed",
        "the taps are reversed: w[c,width-1] multiplies the current token",
        convolution(x, before, w[:, ::-1], bias, pos, width),
    )
    yield told("no_bias", "the bias is missing", out - bias)
    yield told(
        "first_tap",
        "the first tap is missing: it multiplies the oldest of `width` inputs",
        convolution(x, before, np.where(np.arange(width) > 0, w, 0), bias, pos, width),
    )
    yield told(
        "last_tap",
        "the last tap is missing: it multiplies the current token",
        convolution(
            x, before, np.where(np.arange(width) < width - 1, w, 0), bias, pos, width
        ),
    )
    yield told(
        "documents",
        "reads past the start of a document: use token t - s only if pos[t] >= s",
        convolution(x, before, w, bias, whole_row, width),
    )
    yield told(
        "no_row_start",
        "sequence b reads the end of sequence b - 1",
        convolution(x, np.roll(x[:, -1:], 1, 0) + 0 * w.T, w, bias, p + width, width),
    )
    if np.isinf(x).any():
        there, all = np.isinf(x).astype(float), np.ones_like(w)
        across = convolution(there, None, all, 0, whole_row, width)
        across -= convolution(there, None, all, 0, pos, width)
        yield told("times_0", TIMES_0, np.where(across > 0, np.nan, out))
    if before is None:
        return
    yield told(
        "no_state",
        "the ring is not read: tokens before this call count as 0",
        convolution(x, None, w, bias, pos, width),
    )
    yield told(
        "slot",
        "the ring is read one slot too early: position p is in slot p mod width",
        convolution(x, moved_slots(before, 1), w, bias, pos, width),
    )
    yield told(
        "slot_late",
        "the ring is read one slot too late: position p is in slot p mod width",
        convolution(x, moved_slots(before, -1), w, bias, pos, width),
    )
    yield "ring_kept", "the ring is not updated", {"conv_state": before}
    for cause, words, step, end in (
        ("stored_late", "inputs are stored one slot too late", 1, len),
        ("stored_early", "inputs are stored one slot too early", -1, len),
        ("no_len", "len is ignored: padding enters the ring", 0, None),
    ):
        moved = np.roll(before, -step, axis=1)
        last_inputs(moved, x, pos, end, width)
        yield cause, words, {"conv_state": np.roll(moved, step, axis=1)}
    yield told(
        "overwritten",
        "the ring is read after it has been overwritten: read first, then write",
        convolution(x, conv_state, w, bias, pos, width),
    )
    aligned = np.stack(
        [before[b, (p[b, 0] + np.arange(width)) % width] for b in range(B)]
    )
    yield told(
        "queue",
        "the ring is read as a queue with the oldest input in slot 0: position p is in "
        "slot p mod width",
        convolution(x, aligned, w, bias, p - p[:, :1] + width, width),
    )


def conv1d_backward_mistakes(dx, dw, dbias, dout, x, w, pos, B, T, C, width, ld):
    def run(dout=dout, x=x, w=w, pos=pos):
        made = np.zeros((B, T, C)), np.zeros((C, width)), np.zeros(C)
        conv1d_backward(*made, dout, x, w, pos, B, T, C, width, ld)
        return made

    zero = run()
    start, start_bias = dw - zero[1], dbias - zero[2]
    yield "reversed", (
        "the taps are reversed: w[c,width-1] multiplies the current token"
    ), {
        "dx": run(w=w[:, ::-1])[0],
        "dw": start + zero[1][:, ::-1],
    }
    yield "causal", "dx sums over earlier tokens: it needs dout[t+s]", {
        "dx": convolution(dout, None, w, np.zeros(C), pos, width)
    }
    no_starts = np.broadcast_to(np.arange(T), (B, T))
    whole = run(pos=no_starts)
    yield "documents", (
        "reads past the start of a document: use token t - s only if pos[t] >= s"
    ), {
        "dx": whole[0],
        "dw": start + whole[1],
    }
    if np.isinf(dout).any():
        there, all = np.isinf(dout).astype(float), np.ones_like(w)
        across = run(there, w=all, pos=no_starts)[0] - run(there, w=all)[0]
        yield "times_0", TIMES_0, {"dx": np.where(across > 0, np.nan, dx)}
    yield "not_added", "the gradient is overwritten: add to it (+=)", {
        "dw": zero[1],
        "dbias": zero[2],
    }
    yield "one_row", "only the first sequence of the batch is summed", {
        "dw": start + partial_sum(dout[:1], x[:1], w, pos, width),
        "dbias": start_bias + dout[0].sum(0),
    }
    yield "bias_twice", "every token counts twice in dbias", {
        "dbias": dbias + zero[2]
    }
    yield "bias_per_tap", (
        "every tap adds to dbias, width times in all: only one may"
    ), {"dbias": start_bias + width * zero[2]}
    if T < 512:
        return
    t, shares = np.arange(T), {-(-T // n) for n in range(2, 29)}
    for walk in sorted({16, 32, 64, 128, 256} | shares):  # tokens of a chunk
        late = (t % walk < width - 1) & (t >= walk)
        yield f"past_{walk}", (
            "tokens at the boundary of two chunks count twice in dbias: use the tokens "
            "past a chunk's end for dx only"
        ), {"dbias": dbias + dout[:, late].sum((0, 1))}


def partial_sum(dout, x, w, pos, width):
    (B, T, C), p = x.shape, None if pos is None else pos[: len(x)]
    made = np.zeros((B, T, C)), np.zeros((C, width)), np.zeros(C)
    conv1d_backward(*made, dout, x, w, p, B, T, C, width, C)
    return made[1]


# --- 06.3 -------------------------------------------------------------------------------


def in_float(v):
    return np.asarray(v, np.float32)


def wrong_gates(c, px, pa, a_param):
    """yields (cause, words, a, z) of mistakes in the gates, apart from the reset"""
    gx, ga, plus = sigmoid(px), sigmoid(pa), softplus(a_param)
    log_a = -8 * ga * plus

    def told(cause, words, log_a, m=None, gx=gx):
        m = np.sqrt(-np.expm1(2 * log_a)) if m is None else m
        return cause, words, np.exp(log_a), m * gx * c

    yield told("no_eight", "the factor 8 is missing in log_a", log_a / 8)
    yield told("no_gate_a", "the gate ga is missing in log_a", -8 * plus + 0 * ga)
    yield told(
        "no_softplus",
        "a_param is used in place of softplus(a_param)",
        -8 * ga * np.abs(a_param),
    )
    yield told(
        "softplus_sign",
        "softplus(-a_param) is used in place of softplus(a_param)",
        -8 * ga * softplus(-a_param),
    )
    yield told(
        "no_root",
        "the square root is missing: m = sqrt(1 - a^2)",
        log_a,
        -np.expm1(2 * log_a),
    )
    yield told(
        "not_squared",
        "a is not squared: m = sqrt(1 - a^2)",
        log_a,
        np.sqrt(-np.expm1(log_a)),
    )
    yield told(
        "one_minus_a", "m is 1 - a: it should be sqrt(1 - a^2)", log_a, -np.expm1(log_a)
    )
    yield told("no_gate", "the input gate gx is missing in z = m gx c", log_a, gx=1)
    yield told("no_sigmoid_x", "px is used in place of s(px)", log_a, gx=px)
    yield told(
        "tanh_x", "tanh is used in place of the sigmoid in gx", log_a, gx=np.tanh(px)
    )


def rglru_gates_forward_mistakes(a, z, c, px, pa, a_param, pos, B, T, C):
    first = (positions(pos, B, T) == 0)[:, :, None]
    gx, ga = sigmoid(px), sigmoid(pa)

    def told(cause, words, log_a, m=None, g=gx, no_reset=False):
        if m is None:
            m = np.sqrt(-np.expm1(2 * log_a))
        if not no_reset:
            return (
                cause,
                words,
                {
                    "a": np.where(first, 0, np.exp(log_a)),
                    "z": np.where(first, 1, m) * g * c,
                },
            )
        return cause, words, {"a": np.exp(log_a), "z": m * g * c}

    log_a = decay(pa, a_param)
    yield told(
        "no_reset",
        "there is no reset at pos 0, where a is 0 and m is 1",
        log_a,
        no_reset=True,
    )
    yield "m_not_reset", "the reset at pos 0 is incomplete: a is 0, but m is not 1", {
        "z": np.sqrt(-np.expm1(2 * log_a)) * gx * c
    }
    yield from roots_of_0(pa, a_param, first, z=z)
    naive = in_float(1) - in_float(np.exp(in_float(2) * in_float(log_a)))
    yield told(
        "cancels",
        "1 - exp(2 log_a) cancels where a is near 1: use -expm1(2 log_a)",
        log_a,
        np.sqrt(np.maximum(naive, 0).astype(np.float64)),
    )
    with np.errstate(over="ignore"):
        log_sum = np.log(in_float(1) + np.exp(in_float(a_param)))
    yield told(
        "softplus_overflows",
        "softplus overflows for a large a_param: exp(89) is inf",
        -8 * ga * np.where(np.isfinite(log_sum), log_sum.astype(np.float64), 1e30),
    )
    yield told("gates_swapped", "px and pa are swapped", decay(px, a_param), g=ga)
    for cause, words, wrong_a, wrong_z in wrong_gates(c, px, pa, a_param):
        yield cause, words, {
            "a": np.where(first, 0, wrong_a),
            "z": np.where(first, gx * c, wrong_z),
        }
    yield "a_inverse", "a is exp(-log_a): log_a is negative already", {
        "a": np.where(first, 0, np.exp(-log_a))
    }


def rglru_gates_backward_mistakes(
    dc, dpx, dpa, da_param, da, dz, c, px, pa, a_param, pos, B, T, C
):
    first = (positions(pos, B, T) == 0)[:, :, None]
    gx, ga, log_a = sigmoid(px), sigmoid(pa), decay(pa, a_param)
    a, q = np.exp(log_a), -np.expm1(2 * log_a)
    dlog_a, m = gate_slopes(da, dz, c, px, pa, a_param, pos)
    dq = dz * gx * c / np.sqrt(np.maximum(4 * q, 1e-6))

    def sums(d):
        return sigmoid(a_param) * (-8 * ga * d).sum((0, 1))

    yield from roots_of_0(pa, a_param, first, dc=dc, dpx=dpx)

    def told(cause, words, d):
        return (
            cause,
            words,
            {
                "dpa": -8 * softplus(a_param) * ga * (1 - ga) * d,
                "da_param": da_param + sums(d - dlog_a),
            },
        )

    yield told("no_eight", "the factor 8 is missing", dlog_a / 8)
    yield told(
        "a_alone",
        "a is not squared: dlog_a = da a - 2 a^2 dq",
        np.where(first, 0, da * a - 2 * a * dq),
    )
    yield told(
        "no_two",
        "the factor 2 is missing: dlog_a = da a - 2 a^2 dq",
        np.where(first, 0, da * a - a**2 * dq),
    )
    yield told(
        "no_a",
        "the factor a is missing: dlog_a = da a - 2 a^2 dq",
        np.where(first, 0, da - 2 * a**2 * dq),
    )
    yield "no_softplus", "the factor softplus(a_param) is missing in dpa", {
        "dpa": -8 * ga * (1 - ga) * dlog_a
    }
    yield told(
        "no_dz_term",
        "the term of m, -2 a^2 dq, is missing in dlog_a",
        np.where(first, 0, da * a),
    )
    yield told(
        "no_da_term",
        "the term da a is missing in dlog_a",
        np.where(first, 0, -2 * a**2 * dq),
    )
    yield told(
        "sign",
        "the term of m in dlog_a has the wrong sign",
        np.where(first, 0, da * a + 2 * a**2 * dq),
    )
    free = dz * gx * c / np.sqrt(np.maximum(4 * q, 1e-60))
    yield told(
        "unbounded",
        "the slope of the square root is not bounded: divide by sqrt(max(4q, 1e-6))",
        np.where(first, 0, da * a - 2 * a**2 * free),
    )
    low = dz * gx * c / np.sqrt(np.maximum(4 * q, 4e-6))
    yield told(
        "bound_of_q",
        "the bound 1e-6 is that of 4q, not of q: divide by sqrt(max(4q, 1e-6))",
        np.where(first, 0, da * a - 2 * a**2 * low),
    )
    cause, words, wrong = told(
        "no_reset",
        "there is no reset at pos 0: there a is the constant 0, so dlog_a is 0",
        da * a - 2 * a**2 * dq,
    )
    wrong["dpa"] = np.where(first, np.nan, wrong["dpa"])  # the tolerance of 0 is 0
    yield cause, words, wrong
    yield "m_not_reset", "m is not reset at pos 0, where it should be the constant 1", {
        "dc": dz * np.sqrt(q) * gx,
        "dpx": dz * np.sqrt(q) * c * gx * (1 - gx),
    }
    yield "no_multiplier", "the multiplier m is missing", {
        "dc": dz * gx,
        "dpx": dz * c * gx * (1 - gx),
    }
    yield "slope_x", "the slope gx (1 - gx) is missing in dpx", {"dpx": dz * m * c}
    yield "slope_a", "the slope ga (1 - ga) is missing in dpa", {
        "dpa": -8 * softplus(a_param) * dlog_a
    }
    yield "param_slope", "the slope of softplus, s(a_param), is missing in da_param", {
        "da_param": da_param - sums(dlog_a) + sums(dlog_a) / sigmoid(a_param)
    }
    yield "not_added", "the gradient is overwritten: add to it (+=)", {
        "da_param": sums(dlog_a)
    }
