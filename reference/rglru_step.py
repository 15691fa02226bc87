"""rglru_step.py - part 06.6 of lab 06 in float64: the step of one token. The contract is
labs/lab06_rglru/rglru.h; rglru.py imports the whole lab.
"""

import numpy as np

from rglru_block import (
    convolution,
    decay,
    gate_matrices,
    integers,
    lay_out,
    product,
    rglru_gates_forward,
    roundings,
    softplus,
    unread,
)
from rglru_fused import (
    remembered,
    resumed,
    rglru_forward,
    side_error,
    side_values,
    still_first,
)
from rglru_scan import scan
from swiglu import gelu, sigmoid
from wb import bound

# --- the formulas -----------------------------------------------------------------------


def step_parts(conv_state, state, x, w, bias, wx, bx, wa, ba, a_param, pos, G, M, width):
    """c, px, pa, a, z, h of one token, each (B,C), but c (B,G,M). x (B,1,C)"""
    B, _, C = x.shape
    c = convolution(x, conv_state, w, bias, pos[:, None], width).reshape(B, G, M)
    px = (product(c, wx) + bx).reshape(B, 1, C)
    pa = (product(c, wa) + ba).reshape(B, 1, C)
    a, z = np.empty((B, 1, C)), np.empty((B, 1, C))
    rglru_gates_forward(a, z, c.reshape(B, 1, C), px, pa, a_param, pos[:, None], B, 1, C)
    h = scan(a, z, resumed(state, pos))
    return c, px[:, 0], pa[:, 0], a[:, 0], z[:, 0], h[:, 0]


def rglru_step(
    out,
    conv_state,
    state,
    x,
    y,
    w,
    bias,
    wx,
    bx,
    wa,
    ba,
    a_param,
    pos,
    B,
    G,
    M,
    width,
    ld,
):
    *_, h = step_parts(
        conv_state, state, x, w, bias, wx, bx, wa, ba, a_param, pos, G, M, width
    )
    state[...] = h
    out[...] = h * gelu(y[:, 0])
    conv_state[np.arange(B), pos % width] = x[:, 0]


# --- cases ------------------------------------------------------------------------------


def rglru_step_data(
    call, B, G, M, width=4, ld=0, lowest=-3.0, highest=1.0, nan=0, still=0
):
    """sequences at positions 0, 1, 2, ... and at large ones; nan=1: what must not be read
    is NaN (judge=out,state: some of the ring stays). still=1: gate_data"""
    C = G * M
    low = min(6, (B + 1) // 2)
    p = np.where(np.arange(B) < low, np.arange(B), call.rng.integers(6, 5000, B))
    call.rng.shuffle(p)
    call.out("out", (B, C), owner="element")
    ring = call.normal((B, width, C), 2)
    for b in range(B):
        known = [(p[b] - 1 - k) % width for k in range(min(p[b], width - 1))]
        ring[b, [s for s in range(width) if s not in known]] = unread(nan)
    call.buffer("conv_state", ring)
    call.view("conv_state", "inout", "conv_state", (B, width, C), owner="element")
    state = np.where(p[:, None], call.normal((B, C)), unread(nan))
    call.buffer("state", state, dtype="f32")
    call.view("state", "inout", "state", (B, C), owner="element")
    lay_out(call, "x", "in", call.normal((B, 1, C)), ld or C, 0)
    lay_out(call, "y", "in", side_values(call, B, 1, C), ld or C, 0)
    call.input("w", call.normal((C, width), width**-0.5))
    call.input("bias", call.rng.standard_normal(C))
    gate_matrices(call, G, M)
    call.input("a_param", still_first(call.rng.uniform(lowest, highest, C), still))
    integers(call, "pos", p)


# --- error model: see "Tolerance" in the header -----------------------------------------


def rglru_step_bounds(
    out,
    conv_state,
    conv_state_before,
    state,
    state_before,
    x,
    y,
    w,
    bias,
    wx,
    bx,
    wa,
    ba,
    a_param,
    pos,
    B,
    G,
    M,
    width,
):
    ring, p = conv_state_before, pos[:, None]
    c, px, pa, a, z, h = step_parts(
        ring, state_before, x, w, bias, wx, bx, wa, ba, a_param, pos, G, M, width
    )
    sizes = convolution(np.abs(x), np.abs(ring), np.abs(w), np.abs(bias), p, width)
    of_c = (4 + np.sqrt(width + 1)) * sizes.reshape(B, G, M)

    def of_gate(w, b):
        own = product(np.abs(c), np.abs(w)) + np.abs(b)
        e = product(of_c, np.abs(w)) + (4 + np.sqrt(M + 1)) * own
        return e.reshape(B, G * M)

    first, gx, ga = p == 0, sigmoid(px), sigmoid(pa)
    state_before = resumed(state_before, pos)
    log_a, near_gates = decay(pa, a_param), roundings(px, pa, a_param)
    of_log_a = 8 * softplus(a_param) * ga * (1 - ga) * of_gate(wa, ba)
    m = np.where(first, 1, np.sqrt(-np.expm1(2 * log_a)))
    of_m = np.where(first, 0, a**2 / m * of_log_a)
    flat = c.reshape(B, G * M)
    of_z = np.abs(z) * (near_gates + (1 - gx) * of_gate(wx, bx))
    of_z += m * gx * of_c.reshape(B, G * M) + np.abs(gx * flat) * of_m
    kept = np.abs(a * state_before)
    of_h = kept * (near_gates * remembered(log_a) + of_log_a) + of_z
    M_text = "the errors of c, px, pa, a and z that reach it"
    of_out = of_h * np.abs(gelu(y[:, 0])) + side_error(y[:, 0], h)
    return {
        "out": bound(of_out, M_text, c=1),
        "state": bound(of_h, M_text, c=1),
        "conv_state": bound(exact=True),
    }


# --- checks: what reference/rglru.py checks of this file --------------------------------


def check_steps(checks):
    """token by token, and in two calls with the state: the outputs of the whole
    sequence"""
    rng, (B, T, G, M, width) = np.random.default_rng(7), (2, 9, 2, 3, 4)
    C = G * M
    x, y, out, part = (rng.standard_normal((B, T, C)) for _ in range(4))
    w, bias = rng.standard_normal((C, width)), rng.standard_normal(C)
    wx, wa = (rng.standard_normal((G, M, M)) for _ in range(2))
    bx, ba, a_param = rng.standard_normal((G, M)), rng.standard_normal((G, M)), bias * 2
    pos = np.array([np.arange(T), [0, 1, 2, 3, 0, 1, 2, 3, 4]])
    c = convolution(x, None, w, bias, pos, width)
    px, pa = (
        (product(c.reshape(B * T, G, M), v) + b).reshape(B, T, C)
        for v, b in ((wx, bx), (wa, ba))
    )
    rglru_forward(out, None, None, c, px, pa, y, a_param, pos, None, B, T, C, C)
    state = np.full((B, C), 3e4)
    for p in (slice(0, 3), slice(3, T)):
        n = p.stop - p.start
        rglru_forward(
            part[:, p],
            None,
            state,
            c[:, p],
            px[:, p],
            pa[:, p],
            y[:, p],
            a_param,
            pos[:, p],
            None,
            B,
            n,
            C,
            C,
        )
    checks.close("rglru: a sequence in two calls with the state", part, out)
    ring, state = np.full((B, width, C), 3e4), np.full((B, C), 3e4)
    for t in range(T):
        rglru_step(
            part[:, t],
            ring,
            state,
            x[:, t : t + 1],
            y[:, t : t + 1],
            w,
            bias,
            wx,
            bx,
            wa,
            ba,
            a_param,
            pos[:, t],
            B,
            G,
            M,
            width,
            C,
        )
    checks.close(
        "rglru_step: token by token, the outputs of the whole sequence", part, out
    )
