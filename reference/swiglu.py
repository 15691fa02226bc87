"""swiglu.py - lab 01 in float64. The contract is labs/lab01_swiglu/swiglu.h.

    python reference/swiglu.py      checks the gradients against finite differences
"""

import numpy as np

import wb
from wb import bound

K, CUBE = np.sqrt(2 / np.pi), 0.044715

# --- the formulas -----------------------------------------------------------------------


def sigmoid(z):
    e = np.exp(-np.abs(z))  # never overflows
    return np.where(z < 0, e, 1) / (1 + e)


def silu(z):
    return z * sigmoid(z)


def silu_slope(z):
    s = sigmoid(z)
    return s * (1 + z * (1 - s))


def gelu(z):  # 1 + tanh(u) = 2 sigmoid(2u), without the cancellation
    return z * sigmoid(2 * K * (z + CUBE * z**3))


def gelu_slope(z):
    s = sigmoid(2 * K * (z + CUBE * z**3))
    return s + 2 * z * s * (1 - s) * K * (1 + 3 * CUBE * z**2)


def swiglu_forward(out, gate, up, R, F, ld):
    out[...] = silu(gate) * up


def swiglu_backward(dgate, dup, dout, gate, up, R, F, ld):
    dgate[...] = dout * up * silu_slope(gate)
    dup[...] = dout * silu(gate)


def geglu_forward(out, gate, up, R, F, ld):
    out[...] = gelu(gate) * up


def geglu_backward(dgate, dup, dout, gate, up, R, F, ld):
    dgate[...] = dout * up * gelu_slope(gate)
    dup[...] = dout * gelu(gate)


# --- cases ------------------------------------------------------------------------------

FAR = [90.0, 200.0, 1e4, 1e15, 1e30]  # where exp overflows, where z^3 does


def gates(call, R, F, scale, far):
    """scale: the size of z; far=1: half of them have |z| from 90 to 1e30"""
    z = call.normal((R, F), scale)
    if far:
        at = call.rng.choice(z.size, z.size // 2, replace=False)
        values = np.resize(FAR, at.size) * call.rng.uniform(0.9, 1.1, at.size)
        z.reshape(-1)[at] = values * np.where(np.arange(at.size) // len(FAR) % 2, 1, -1)
    return z


def places(call, prefix, F, packed):
    """{name: (buffer, offset)} of gate and up, or with prefix d of their gradients"""
    gate, up = prefix + "gate", prefix + "up"
    skew = call.skew(gate)
    if packed:
        return {gate: (prefix + "gate_up", skew), up: (prefix + "gate_up", skew + F)}
    return {gate: (gate, skew), up: (up, call.skew(up))}


def first_of(parts, buffer):
    """The offset of the first row in a buffer"""
    return min(offset for b, offset in parts.values() if b == buffer)


def lay_out(call, R, F, ld, packed, scale, far):
    """The buffers of gate and up: {name: (buffer, offset)}, ld. The gaps between rows are
    random too, so a kernel that reads them fails."""
    ld = ld or (2 * F if packed else F)
    call.scalar("ld", ld)
    z, u = gates(call, R, F, scale, far), call.normal((R, F))
    parts = places(call, "", F, packed)
    for buffer in {b: None for b, _ in parts.values()}:
        memory = call.normal((first_of(parts, buffer) + R * ld,))
        for name, values in (("gate", z), ("up", u)):
            if parts[name][0] == buffer:
                at = parts[name][1] + ld * np.arange(R)[:, None] + np.arange(F)
                memory[at] = values
        call.buffer(buffer, memory)
    return parts, ld


def forward_data(call, R, F, ld=0, packed=0, scale=1.5, far=0):
    parts, ld = lay_out(call, R, F, ld, packed, scale, far)
    call.out("out", (R, F), owner="element")
    for name, (buffer, offset) in parts.items():
        call.view(name, "in", buffer, (R, F), offset, ld)


def backward_data(call, R, F, ld=0, packed=0, scale=1.5, far=0, inplace=0):
    parts, ld = lay_out(call, R, F, ld, packed, scale, far)
    gradients = places(call, "d", F, packed)
    for name, place in parts.items():
        buffer, offset = place if inplace else gradients["d" + name]
        if buffer not in call.buffers:
            call.buffer(buffer, None, first_of(gradients, buffer) + R * ld)
        call.view("d" + name, "out", buffer, (R, F), offset, ld, owner="element")
    call.input("dout", call.normal((R, F), 0.5))
    for name, (buffer, offset) in parts.items():
        call.view(name, "in", buffer, (R, F), offset, ld)


swiglu_forward_data = geglu_forward_data = forward_data
swiglu_backward_data = geglu_backward_data = backward_data

# --- error model: see "Tolerance" in the header -----------------------------------------


def near(z):
    return np.minimum(np.abs(z), 128)  # beyond that, s(z) is 0 or 1 in float


def scaled(M, M_text, z):
    return bound(M, M_text, c=8 + near(z), c_text="8 + |gate|")


def relative(y, z, factor):
    """M = |y|; an s(z) below 2^-126 may be any number below it, or 0"""
    least = 2.0**-126 * np.abs(z * factor) / ((8 + near(z)) * 2.0**-24)
    return scaled(np.maximum(np.abs(y), least), "|y|", z)


def swiglu_forward_bounds(out, gate, up):
    return {"out": relative(out, gate, up)}


def swiglu_backward_bounds(dgate, dup, dout, gate, up):
    M = dout * up * (1 + near(gate))
    return {
        "dgate": scaled(M, "|dout up (1 + |gate|)|", gate),
        "dup": relative(dup, gate, dout),
    }


def geglu_forward_bounds(out, gate, up):
    return {"out": scaled(gate * up, "|gate up|", gate)}


def geglu_backward_bounds(dgate, dup, dout, gate, up):
    M = dout * up * (1 + near(gate))
    return {
        "dgate": scaled(M, "|dout up (1 + |gate|)|", gate),
        "dup": scaled(dout * gate, "|dout gate|", gate),
    }


# --- mistakes that the report should name -----------------------------------------------


def ld_ignored(gate, up, R, F, ld):
    """gate and up, packed, as a kernel sees them that uses F in place of ld"""
    flat = np.concatenate([gate, up], axis=1).reshape(-1)
    return flat[: R * F].reshape(R, F), flat[F : F + R * F].reshape(R, F)


def forward_mistakes(act, gate, up, R, F, ld):
    yield "swapped", "gate and up are swapped: the activation belongs on gate", {
        "out": act(up) * gate
    }
    yield "no_up", "the factor up is missing: out = act(gate) * up", {"out": act(gate)}
    yield "no_activation", "the activation is missing: out = act(gate) * up", {
        "out": gate * up
    }
    if ld == 2 * F and R > 1:
        yield "ld_ignored", "row r is read at r*F, but it starts at r*ld", {
            "out": (lambda z, u: act(z) * u)(*ld_ignored(gate, up, R, F, ld))
        }


def swiglu_forward_mistakes(out, gate, up, R, F, ld):
    yield "no_gate", "the factor gate is missing: silu(z) is z * s(z), not s(z)", {
        "out": sigmoid(gate) * up
    }
    yield "sigmoid_sign", "the exponent has the wrong sign: s(z) = 1 / (1 + exp(-z))", {
        "out": gate * sigmoid(-gate) * up
    }
    yield "gelu", "this is GeGLU: SwiGLU multiplies by silu(gate)", {
        "out": gelu(gate) * up
    }
    yield from forward_mistakes(silu, gate, up, R, F, ld)


def erf(x):
    """Abramowitz and Stegun 7.1.26: an error of 1.5e-7 is enough to name a mistake"""
    t = 1 / (1 + 0.3275911 * np.abs(x))
    a = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
    return np.sign(x) * (
        1 - np.exp(-(x**2)) * sum(c * t ** (i + 1) for i, c in enumerate(a))
    )


def geglu_forward_mistakes(out, gate, up, R, F, ld):
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
    yield from forward_mistakes(gelu, gate, up, R, F, ld)


def backward_mistakes(act, slope, dout, gate, up):
    dgate = dout * up * slope(gate)
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
    yield "in_place_order", (
        "dup is computed from gate after dgate has overwritten it: read gate first"
    ), {"dup": dout * act(dgate)}


def swiglu_backward_mistakes(dgate, dup, dout, gate, up):
    s = sigmoid(gate)
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
    yield from backward_mistakes(silu, silu_slope, dout, gate, up)


def geglu_backward_mistakes(dgate, dup, dout, gate, up):
    z, s = gate, sigmoid(2 * K * (gate + CUBE * gate**3))
    yield "first_term_alone", "the term with 1 - h^2 is missing in dgate", {
        "dgate": dout * up * s
    }
    yield "inner_slope", (
        "the factor 1 + 3 * 0.044715 z^2, from the cubic term, is missing in dgate"
    ), {"dgate": dout * up * (s + 2 * z * s * (1 - s) * K)}
    yield "silu", "these are the gradients of SwiGLU", {
        "dgate": dout * up * silu_slope(z),
        "dup": dout * silu(z),
    }
    yield from backward_mistakes(gelu, gelu_slope, dout, gate, up)


# --- checks of this file ----------------------------------------------------------------


def check(name, forward, backward, checks):
    rng, (R, F) = np.random.default_rng(1), (3, 11)
    gate, up, dout = (2 * rng.standard_normal((R, F)) for _ in range(3))
    out, dgate, dup = (np.empty((R, F)) for _ in range(3))

    def loss():
        forward(out, gate, up, R, F, F)
        return np.sum(out * dout)

    backward(dgate, dup, dout, gate, up, R, F, F)
    checks.gradient(f"{name}: dgate", loss, gate, dgate)
    checks.gradient(f"{name}: dup", loss, up, dup)


if __name__ == "__main__":
    checks = wb.Checks()
    check("swiglu", swiglu_forward, swiglu_backward, checks)
    check("geglu", geglu_forward, geglu_backward, checks)
    z = np.linspace(-6, 6, 101)
    h = np.tanh(K * (z + CUBE * z**3))
    checks.close("gelu is the tanh form", gelu(z), z / 2 * (1 + h))
    checks.close(
        "its derivative is the header's",
        gelu_slope(z),
        (1 + h) / 2 + z / 2 * (1 - h**2) * K * (1 + 3 * CUBE * z**2),
    )
    checks.close("silu(1)", silu(np.array([1.0])), np.array([1 / (1 + np.exp(-1))]))
    far = np.array([-1e30, -800.0, 800.0, 1e30])
    with np.errstate(all="ignore"):
        checks.ok("values for large |z|", np.array_equal(silu(far), [0, 0, 800, 1e30]))
    checks.done()
