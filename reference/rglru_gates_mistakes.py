"""rglru_gates_mistakes.py - what kernels with known mistakes compute in part 06.3 of lab
06, so that the report can name them.
"""

import numpy as np

from rglru_block import decay, gate_slopes, never_forgets, positions, softplus
from swiglu import sigmoid

ROOT_OF_0 = (
    "m computed as q / sqrt(q) is 0 times inf = NaN where q = 1 - a^2 is 0: bound q from "
    "below"
)
FIRST_OF_BATCH = (
    "without pos, only the first token of sequence 0 starts a document: t = 0 of every "
    "sequence does"
)


def first_of_batch(pos, B, T):
    """(B,T,1): the tokens at which such a kernel resets; None if it does not show"""
    if pos is not None or B < 2:
        return None
    return (np.arange(B * T) == 0).reshape(B, T, 1)


def roots_of_0(pa, a_param, first, **outputs):
    """yields the mistake of an m that is NaN where it is 0, in these outputs"""
    still = never_forgets(pa, a_param) & ~first
    if still.any():
        lost = np.where(still, np.nan, 0)
        yield "some_root_of_0", ROOT_OF_0, {n: y + lost for n, y in outputs.items()}


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
    at_0 = first | (np.arange(T) == 0)[:, None]
    yield "call_is_document", (
        "the first token of a call is reset, but only a token at pos 0 should be"
    ), {
        "a": np.where(at_0, 0, np.exp(log_a)),
        "z": np.where(at_0, 1, np.sqrt(-np.expm1(2 * log_a))) * gx * c,
    }
    once = first_of_batch(pos, B, T)
    if once is not None:
        yield "first_of_batch", FIRST_OF_BATCH, {
            "a": np.where(once, 0, np.exp(log_a)),
            "z": np.where(once, 1, np.sqrt(-np.expm1(2 * log_a))) * gx * c,
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
    once = first_of_batch(pos, B, T)
    if once is not None:
        m_once, free = np.where(once, 1, np.sqrt(q)), da * a - 2 * a**2 * dq
        yield "first_of_batch", FIRST_OF_BATCH, {
            "dc": dz * m_once * gx,
            "dpx": dz * m_once * c * gx * (1 - gx),
            # the tolerance of 0 is 0
            "dpa": np.where(first & ~once, np.nan, dpa),
            "da_param": da_param + sums(np.where(once, 0, free) - dlog_a),
        }
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
