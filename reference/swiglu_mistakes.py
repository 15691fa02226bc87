"""swiglu_mistakes.py - what kernels with known mistakes compute in lab 01, so that the
report can name them.
"""

import numpy as np

from swiglu_formulas import CUBE, K, gelu, gelu_slope, sigmoid, silu, silu_slope


def rows_at(R, F, step):
    """offsets of R rows of F columns, `step` apart"""
    return step * np.arange(R)[:, None] + np.arange(F)


NO_LD = "row r of {} is read at r*F, but it starts at r*ld"

# bounds to which learners clamp z against overflow
LIMITS = (10, 16, 20, 88)
LIMITED = (
    "z is clamped everywhere, even where it is a factor: clamp only what enters the "
    "exponential, z^2 or z^3"
)


# too small a bound of the argument of s(2u): it is not yet 0 or 1 there
CLOSE = 2, 3, 4
TOO_CLOSE = (
    "z is clamped at {} in the argument of tanh, which is not yet -1 or 1 there: clamp "
    "at 16"
)


def forward_mistakes(act, gate, up, R, F, ld, memory):
    yield "swapped", "gate and up are swapped: the activation belongs on gate", {
        "out": act(up) * gate
    }
    yield "no_up", "the factor up is missing: out = act(gate) * up", {"out": act(gate)}
    yield "no_activation", "the activation is missing: out = act(gate) * up", {
        "out": gate * up
    }
    yield "added", "up is added: it should be a factor", {"out": act(gate) + up}
    yield "both", "the activation is applied to up too", {"out": act(gate) * act(up)}
    yield "of_product", "the activation is applied to gate * up: apply it to gate only", {
        "out": act(gate * up)
    }
    yield "outer_gate", "there is an extra factor gate", {"out": act(gate) * gate * up}
    yield "relu", "this is ReLU of gate, not the activation of the header", {
        "out": np.maximum(gate, 0) * up
    }
    yield "next_column", "up is read one column too far right", {
        "out": act(gate) * np.roll(up, -1, axis=1)
    }
    for limit in LIMITS:
        yield f"limit_{limit}", LIMITED, {"out": act(np.clip(gate, -limit, limit)) * up}
    if R > 1:
        yield "first_row", "every row uses row 0 of up", {"out": act(gate) * up[:1]}
    z, u = (memory(name, rows_at(R, F, F)) for name in ("gate", "up"))
    yield "ld_ignored", "row r is read at r*F, but it starts at r*ld", {"out": act(z) * u}
    for name, y in (("gate", act(z) * up), ("up", act(gate) * u)):
        yield f"ld_of_{name}", NO_LD.format(name), {"out": y}
    z, u = (memory(name, rows_at(R, F, 2 * F)) for name in ("gate", "up"))
    yield "ld_twice", "row r is read at r*2F, but it starts at r*ld", {"out": act(z) * u}


def swiglu_forward_mistakes(out, gate, up, R, F, ld, memory):
    yield "no_gate", "the factor gate is missing: silu(z) is z * s(z), not s(z)", {
        "out": sigmoid(gate) * up
    }
    yield "sigmoid_sign", "the exponent has the wrong sign: s(z) = 1 / (1 + exp(-z))", {
        "out": gate * sigmoid(-gate) * up
    }
    yield "gelu", "this is GeGLU: SwiGLU multiplies by silu(gate)", {
        "out": gelu(gate) * up
    }
    yield "tanh", "tanh(z) is used for s(z)", {"out": gate * np.tanh(gate) * up}
    yield "tanh_twice", "s(z) is (1 + tanh(z/2)) / 2: here z is not halved", {
        "out": gate * sigmoid(2 * gate) * up
    }
    yield "quick_gelu", "the exponent has a factor 1.702: that is the quick GELU", {
        "out": gate * sigmoid(1.702 * gate) * up
    }
    yield "base_two", "2^-z is used in place of exp(-z)", {
        "out": gate * sigmoid(gate * np.log(2)) * up
    }
    yield "absolute", "exp(-|z|) is used for negative z too, where it must be exp(-z)", {
        "out": gate * sigmoid(np.abs(gate)) * up
    }
    yield "overflow", (
        "exp(z) / (1 + exp(z)) is inf / inf for z > 88: let no positive exponent occur"
    ), {"out": np.where(gate > 88.7, np.nan, out)}
    with np.errstate(over="ignore"):
        product = (gate * up).astype(np.float32).astype(np.float64)
    yield "product_overflows", (
        "gate * up overflows: multiply one of them by s(z) first"
    ), {"out": np.where(np.isinf(product), product * sigmoid(gate), out)}
    yield "gate_of_up", "the factor gate is missing, and up appears twice", {
        "out": sigmoid(gate) * up * up
    }
    yield from forward_mistakes(silu, gate, up, R, F, ld, memory)


def erf(x):
    """Abramowitz and Stegun 7.1.26: an error of 1.5e-7 is enough to name a mistake"""
    t = 1 / (1 + 0.3275911 * np.abs(x))
    a = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
    return np.sign(x) * (
        1 - np.exp(-(x**2)) * sum(c * t ** (i + 1) for i, c in enumerate(a))
    )


def argument(z, k=K, cube=CUBE):
    """the argument of tanh in GELU, and its derivative"""
    return k * (z + cube * z**3), k * (1 + 3 * cube * z**2)


def wrong_arguments(z):
    """(cause, words, argument of tanh, its derivative) of mistakes in
    k (z + 0.044715 z^3)"""
    yield "k_missing", "the factor k = sqrt(2/pi) is missing", *argument(z, 1)
    yield "k_without_root", "k is 2/pi, but it should be sqrt(2/pi)", *argument(z, K**2)
    yield "k_inverse", "k is sqrt(pi/2), but it should be sqrt(2/pi)", *argument(z, 1 / K)
    yield "k_twice", (
        "the argument of tanh is doubled: 1 + tanh(u) = 2 s(2u)"
    ), *argument(z, 2 * K)
    yield "k_once", (
        "with s the argument must be doubled: 1 + tanh(u) = 2 s(2u)"
    ), *argument(z, K / 2)
    yield "cube_sign", "the cubic term is subtracted", *argument(z, cube=-CUBE)
    yield "cube_digit", (
        "the factor of the cube is 0.44715, not 0.044715"
    ), *argument(z, cube=10 * CUBE)
    yield (
        "k_of_first",
        "k multiplies only z, but it should multiply the cube as well",
        K * z + CUBE * z**3,
        K + 3 * CUBE * z**2,
    )
    yield (
        "square",
        "z^2 is used in place of z^3",
        K * (z + CUBE * z**2),
        K * (1 + 2 * CUBE * z),
    )


def geglu_forward_mistakes(out, gate, up, R, F, ld, memory):
    yield "erf", "this is the erf form of GELU: GeGLU uses the tanh form", {
        "out": gate / 2 * (1 + erf(gate / np.sqrt(2))) * up
    }
    yield "silu", "this is SwiGLU: GeGLU multiplies by gelu(gate)", {
        "out": silu(gate) * up
    }
    yield "quick_gelu", (
        "this is z * s(1.702 z), the quick GELU: GeGLU uses the tanh form"
    ), {"out": gate * sigmoid(1.702 * gate) * up}
    yield "no_cube", "the term 0.044715 z^3 is missing", {
        "out": gate * sigmoid(2 * K * gate) * up
    }
    yield "half_missing", "the factor 1/2 is missing", {"out": 2 * gelu(gate) * up}
    for cause, words, u, _ in wrong_arguments(gate):
        yield cause, words, {"out": gate * sigmoid(2 * u) * up}
    yield "no_one", "the 1 is missing in 1 + tanh(...)", {
        "out": gate / 2 * np.tanh(K * (gate + CUBE * gate**3)) * up
    }
    yield "no_gate", "the factor gate is missing: gelu(z) = z/2 (1 + tanh(...))", {
        "out": gelu(gate) / gate * up
    }
    for limit in CLOSE:
        u, _ = argument(np.clip(gate, -limit, limit))
        yield f"close_{limit}", TOO_CLOSE.format(limit), {
            "out": gate * sigmoid(2 * u) * up
        }
    yield from forward_mistakes(gelu, gate, up, R, F, ld, memory)


def backward_mistakes(act, slope, dout, gate, up, R, F, ld, memory):
    dgate = dout * up * slope(gate)
    apart = memory("dout", rows_at(R, F, ld))
    yield "dout_at_ld", "row r of dout is read at r*ld, but it starts at r*F", {
        "dgate": apart * up * slope(gate),
        "dup": apart * act(gate),
    }
    z, u = (memory(name, rows_at(R, F, F)) for name in ("gate", "up"))
    yield "ld_ignored", "row r of gate and up is read at r*F, but it starts at r*ld", {
        "dgate": dout * u * slope(z),
        "dup": dout * act(z),
    }
    yield "ld_of_gate", NO_LD.format("gate"), {
        "dgate": dout * up * slope(z),
        "dup": dout * act(z),
    }
    yield "ld_of_up", NO_LD.format("up"), {"dgate": dout * u * slope(gate)}
    for limit in LIMITS:
        yield f"limit_{limit}", LIMITED, {"dup": dout * act(np.clip(gate, -limit, limit))}
    yield "slope_of_up", "the derivative is taken at up, but it should be at gate", {
        "dgate": dout * up * slope(up)
    }
    yield "act_of_up", "the activation is applied to up, but it should be to gate", {
        "dup": dout * act(up)
    }
    yield "dup_slope", "dup uses the derivative: it is dout * act(gate)", {
        "dup": dout * slope(gate)
    }
    yield "dup_gate", "the activation is missing in dup: it is dout * act(gate)", {
        "dup": dout * gate
    }
    yield "extra_gate", "dgate has an extra factor gate", {"dgate": dgate * gate}
    yield "no_slope", "the derivative is missing in dgate", {"dgate": dout * up}
    yield "swapped", "dgate and dup are swapped", {
        "dgate": dout * act(gate),
        "dup": dgate,
    }
    yield "no_up", "the factor up is missing in dgate", {"dgate": dout * slope(gate)}
    yield "dup_with_up", "dup has an extra factor up: it is dout * act(gate)", {
        "dup": dout * act(gate) * up
    }
    yield "no_dout", "the factor dout is missing", {
        "dgate": up * slope(gate),
        "dup": act(gate),
    }
    yield "forward", "dgate uses the activation itself, not its derivative", {
        "dgate": dout * up * act(gate)
    }
    yield "some_in_place_order", (
        "dup is computed from gate after dgate has overwritten it: read gate first"
    ), {"dup": dout * act(dgate)}


def swiglu_backward_mistakes(dgate, dup, dout, gate, up, R, F, ld, memory):
    s = sigmoid(gate)
    with np.errstate(over="ignore"):
        product = (dout * up).astype(np.float32).astype(np.float64)
    yield "product_overflows", (
        "dout * up overflows: multiply one of them by the derivative first"
    ), {"dgate": np.where(np.isinf(product), product * silu_slope(gate), dgate)}
    with np.errstate(over="ignore"):
        product = (dout * gate).astype(np.float32).astype(np.float64)
    yield "dup_overflows", (
        "dout * gate overflows: multiply gate by s(gate) first"
    ), {"dup": np.where(np.isinf(product), product, dup)}
    yield "first_term_alone", "the term z * s(z) * (1 - s(z)) is missing in dgate", {
        "dgate": dout * up * s
    }
    yield "second_term_alone", "the term s(z) is missing in dgate", {
        "dgate": dout * up * gate * s * (1 - s)
    }
    yield "one_minus_s", "dgate uses s(z) in place of 1 - s(z)", {
        "dgate": dout * up * s * (1 + gate * s)
    }
    yield "no_gate", "the factor gate is missing in dup: silu(z) is z * s(z)", {
        "dup": dout * s
    }
    b = sigmoid(1.702 * gate)
    yield "quick_gelu", "the exponent has a factor 1.702: that is the quick GELU", {
        "dgate": dout * up * b * (1 + gate * (1 - b)),
        "dup": dout * gate * b,
    }
    b = sigmoid(2 * gate)
    yield "tanh_twice", "s(z) is (1 + tanh(z/2)) / 2: here z is not halved", {
        "dgate": dout * up * b * (1 + gate * (1 - b)),
        "dup": dout * gate * b,
    }
    yield "sigmoid_sign", "the exponent has the wrong sign: s(z) = 1 / (1 + exp(-z))", {
        "dgate": dout * up * (1 - s) * (1 + gate * s),
        "dup": dout * gate * (1 - s),
    }
    yield "relu", "this is ReLU of gate, not the activation of the header", {
        "dgate": dout * up * (gate > 0),
        "dup": dout * np.maximum(gate, 0),
    }
    yield "overflow", (
        "exp(z) / (1 + exp(z)) is inf / inf for z > 88: let no positive exponent occur"
    ), {
        "dgate": np.where(gate > 88.7, np.nan, dgate),
        "dup": np.where(gate > 88.7, np.nan, dup),
    }
    yield "second_sign", "the term z * s(z) * (1 - s(z)) has the wrong sign in dgate", {
        "dgate": dout * up * s * (1 - gate * (1 - s))
    }
    yield "sigmoid_slope", "dgate has the derivative of s(z), not of z s(z)", {
        "dgate": dout * up * s * (1 - s)
    }
    yield "gate_left_out", "the factor z is missing in z * s(z) * (1 - s(z)) in dgate", {
        "dgate": dout * up * s * (2 - s)
    }
    yield "sigmoid_left_out", "the factor s(z) is missing in z * s(z) * (1 - s(z))", {
        "dgate": dout * up * (s + gate * (1 - s))
    }
    yield from backward_mistakes(
        silu, silu_slope, dout, gate, up, R, F, ld, memory
    )


def geglu_backward_mistakes(dgate, dup, dout, gate, up, R, F, ld, memory):
    z, s = gate, sigmoid(2 * K * (gate + CUBE * gate**3))
    with np.errstate(over="ignore"):
        slope_dout = (gelu_slope(z) * dout).astype(np.float32).astype(np.float64)
    yield "slope_overflows", (
        "dout times the derivative, which may be larger than 1, overflows: multiply dout "
        "by 0.5 first, and the product by 2"
    ), {"dgate": np.where(np.isinf(slope_dout), slope_dout * up, dgate)}
    yield "first_term_alone", "the term with 1 - h^2 is missing in dgate", {
        "dgate": dout * up * s
    }
    yield "inner_slope", (
        "the factor 1 + 3 * 0.044715 z^2, from the cubic term, is missing in dgate"
    ), {"dgate": dout * up * (s + 2 * z * s * (1 - s) * K)}
    for cause, words, u, slope in wrong_arguments(z):
        s_u = sigmoid(2 * u)
        yield cause, words, {
            "dgate": dout * up * (s_u + 2 * z * s_u * (1 - s_u) * slope),
            "dup": dout * z * s_u,
        }
    for cause, most in (("square_overflow", 1e19), ("cube_overflow", 1e13)):
        yield cause, (
            "z^2 or z^3 overflows, and 0 times inf is NaN: limit z first, 16 is enough"
        ), {"dgate": np.where(np.abs(z) > most, np.nan, dgate)}
    for limit in CLOSE:
        u, slope = argument(np.clip(z, -limit, limit))
        s_u = sigmoid(2 * u)
        yield f"close_{limit}", TOO_CLOSE.format(limit), {
            "dgate": dout * up * (s_u + 2 * z * s_u * (1 - s_u) * slope),
            "dup": dout * z * s_u,
        }
    h, inner = 2 * s - 1, K * (1 + 3 * CUBE * z**2)
    yield "h_squared", "the second term has h^2 in place of 1 - h^2", {
        "dgate": dout * up * ((1 + h) / 2 + z / 2 * h**2 * inner)
    }
    yield "one_minus_h", "the second term has 1 - h in place of 1 - h^2", {
        "dgate": dout * up * ((1 + h) / 2 + z / 2 * (1 - h) * inner)
    }
    yield "second_term_alone", "the term (1+h)/2 is missing in dgate", {
        "dgate": dout * up * z / 2 * (1 - h**2) * inner
    }
    yield "inner_k", "the factor k is missing in the second term of dgate", {
        "dgate": dout * up * (s + z / 2 * (1 - h**2) * inner / K)
    }
    yield "inner_three", "0.044715 z^2 has no factor 3 in the second term of dgate", {
        "dgate": dout * up * (s + z / 2 * (1 - h**2) * K * (1 + CUBE * z**2))
    }
    yield "no_half", "the second term of dgate has z in place of z/2", {
        "dgate": dout * up * (s + z * (1 - h**2) * inner)
    }
    yield "silu", "these are the gradients of SwiGLU", {
        "dgate": dout * up * silu_slope(z),
        "dup": dout * silu(z),
    }
    yield from backward_mistakes(
        gelu, gelu_slope, dout, gate, up, R, F, ld, memory
    )
