"""swiglu.py - lab 01 in float64. The contract is labs/lab01_swiglu/swiglu.h.

    python reference/swiglu.py      checks the gradients against finite differences

swiglu_formulas.py has the activations, swiglu_mistakes.py the known mistakes.
"""

import numpy as np

import wb
from swiglu_formulas import CUBE, K, gelu, gelu_slope, sigmoid, silu, silu_slope
from swiglu_mistakes import *
from wb import bound

# --- the formulas -----------------------------------------------------------------------


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
    """scale: the size of z; far: half of them have |z| from 90 to 1e30, and one row is
    special"""
    z = call.normal((R, F), scale)
    if far:
        at = call.rng.choice(z.size, z.size // 2, replace=False)
        values = np.resize(FAR, at.size) * call.rng.uniform(0.9, 1.1, at.size)
        z.reshape(-1)[at] = values * np.where(np.arange(at.size) // len(FAR) % 2, 1, -1)
    if R * F < 8:  # so few that all might be far below 0, where the results are small
        z = np.abs(z) + 0.5
    if far in (2, 5):
        z[0] = call.rng.uniform(-8, -6, F)  # act'(z) is about -0.005
    if far == 3:
        z[0] = call.rng.uniform(0.88, 0.98, F)  # GELU: act'(z) > 1, act(z) < 1
    if far == 4:
        z[-1] = call.rng.uniform(-60, -50, F)  # act(z) is 0 or nearly
    return z


def huge(call, shape, scale, far):
    """Values of up or dout. In one row, a product of two overflows: with far=2, up dout, but
    not if it is multiplied by act'(z); with far=3, act'(z) dout, but not times up;
    with far=4, z up, but not act(z) up; with far=5, z dout, but not act(z) dout."""
    values = call.normal(shape, scale)
    if far == 2:
        values[0] = call.rng.uniform(0.9e20, 1.1e20, shape[1])
    if far == 4:
        values[-1] = call.rng.uniform(1e37, 2e37, shape[1])
    if far in (3, 5):  # scale: 1 for up, 0.5 for dout
        large = (3.3e38, 3.4e38) if scale < 1 else (0.2, 0.4)
        values[0] = call.rng.uniform(*large, shape[1])
    return values


def some_zeros(call, values, zero):
    """zero=1: of ten values, three are 0 or tiny."""
    if zero:
        special = call.rng.choice([0.0, -0.0, 1e-12], values.shape)
        values = np.where(call.rng.random(values.shape) < 0.3, special, values)
    return values


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


def lay_out(call, R, F, ld, packed, scale, far, zero):
    """The buffers of gate and up: {name: (buffer, offset)}, ld. The gaps between rows are
    random too, so a kernel that reads them fails."""
    ld = ld or (2 * F if packed else F)
    call.scalar("ld", ld)
    z, u = gates(call, R, F, scale, far), huge(call, (R, F), 1.0, far)
    z, u = some_zeros(call, z, zero), some_zeros(call, u, zero)
    parts = places(call, "", F, packed)
    for buffer in {b: None for b, _ in parts.values()}:
        memory = call.normal((first_of(parts, buffer) + R * ld,))
        for name, values in (("gate", z), ("up", u)):
            if parts[name][0] == buffer:
                at = parts[name][1] + ld * np.arange(R)[:, None] + np.arange(F)
                memory[at] = values
        call.buffer(buffer, memory)
    return parts, ld


def forward_data(call, R, F, ld=0, packed=0, scale=1.5, far=0, zero=0):
    parts, ld = lay_out(call, R, F, ld, packed, scale, far, zero)
    call.out("out", (R, F), owner="element")
    for name, (buffer, offset) in parts.items():
        call.view(name, "in", buffer, (R, F), offset, ld)


def backward_data(
    call, R, F, ld=0, packed=0, scale=1.5, far=0, inplace=0, zero=0
):
    parts, ld = lay_out(call, R, F, ld, packed, scale, far, zero)
    gradients = places(call, "d", F, packed)
    for name, place in parts.items():
        buffer, offset = place if inplace else gradients["d" + name]
        if buffer not in call.buffers:
            call.buffer(buffer, None, first_of(gradients, buffer) + R * ld)
        call.view("d" + name, "out", buffer, (R, F), offset, ld, owner="element")
    call.input("dout", some_zeros(call, huge(call, (R, F), 0.5, far), zero))
    for name, (buffer, offset) in parts.items():
        call.view(name, "in", buffer, (R, F), offset, ld)


swiglu_forward_data = geglu_forward_data = forward_data
swiglu_backward_data = geglu_backward_data = backward_data

# --- error model: see "Tolerance" in the header -----------------------------------------


def near(z):
    return np.minimum(np.abs(z), 128)  # beyond that, s(z) is 0 or 1 in float


def lost(z):
    return 8 + 1.25 * near(z)


def scaled(M, M_text, z):
    return bound(M, M_text, c=lost(z), c_text="8 + 1.25 |gate|")


def relative(y, z, factor):
    """M = |y|; an s(z) below 2^-126 may be any number below it, or 0"""
    least = 2.0**-126 * np.abs(z * factor) / (lost(z) * 2.0**-24)
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
