"""rglru_fused.py - part 06.5 of lab 06 in float64: gates, scan and output in one pass. The
contract is labs/lab06_rglru/rglru.h; rglru.py imports the whole lab.
"""

import numpy as np

from rglru_block import (
    decay,
    documents,
    gate_slopes,
    integers,
    lay_out,
    positions,
    rglru_gates_backward,
    rglru_gates_forward,
    root_lost,
    roundings,
    row_lengths,
    slope_size,
    softplus,
    unread,
)
from rglru_scan import after, before, scan, scan_back
from swiglu import gelu, gelu_slope, near, sigmoid
from wb import bound

# --- the formulas -----------------------------------------------------------------------


def side(y):
    return 1.0 if y is None else gelu(y)


def keep_last(state, h, len):
    """stores the state of token len-1 of each sequence; without tokens it stays as it
    is"""
    for b in range(h.shape[0]):
        end = h.shape[1] if len is None else len[b]
        if end:
            state[b] = h[b, end - 1]


def resumed(state, pos):
    """the state before the first token: 0 at pos 0, whatever the memory holds"""
    if state is None or pos is None:
        return None
    first = pos[:, 0] if pos.ndim == 2 else pos
    return np.where(first[:, None] > 0, state, 0)


def rglru_forward(out, h, state, c, px, pa, y, a_param, pos, len, B, T, C, ldy):
    a, z = np.empty_like(c), np.empty_like(c)
    rglru_gates_forward(a, z, c, px, pa, a_param, pos, B, T, C)
    states = scan(a, z, resumed(state, pos))
    out[...] = states * side(y)
    if h is not None:
        h[...] = states
    if state is not None:
        keep_last(state, states, len)


def scan_slopes(dout, c, px, pa, y, h, a_param, pos):
    """dz and da of the scan, and a"""
    B, T, C = c.shape
    a, z = np.empty_like(c), np.empty_like(c)
    rglru_gates_forward(a, z, c, px, pa, a_param, pos, B, T, C)
    dz = scan_back(a, dout * side(y))
    return dz, dz * before(h), a


def rglru_backward(
    dc, dpx, dpa, dy, da_param, dout, c, px, pa, y, h, a_param, pos, B, T, C, ldy
):
    dz, da, _ = scan_slopes(dout, c, px, pa, y, h, a_param, pos)
    rglru_gates_backward(dc, dpx, dpa, da_param, da, dz, c, px, pa, a_param, pos, B, T, C)
    if dy is not None:
        dy[...] = dout * h * gelu_slope(y)


# --- cases ------------------------------------------------------------------------------


def gate_data(call, B, T, C, lowest, highest, skew, still):
    """adds c, px, pa; returns a_param, in ascending order, which comes later in the
    list. still=1: the first is -120, and there m is 0 in float"""
    call.input("c", call.normal((B, T, C)), skew=skew)
    for name in ("px", "pa"):
        call.input(name, call.normal((B, T, C), 1.5), skew=skew)
    a_param = np.linspace(lowest, highest, C) + call.rng.uniform(-0.1, 0.1, C)
    return still_first(a_param, still)


def still_first(a_param, still):
    return np.where(still & (np.arange(a_param.size) == 0), -120, a_param)


def side_values(call, B, T, C):
    """y before the gelu; a few are large, where exp overflows"""
    few = call.rng.random((B, T, C)) < 0.03
    return np.where(few, call.rng.uniform(-60, 60, (B, T, C)), call.normal((B, T, C)))


def side_data(call, name, role, B, T, C, y, ldy, shift, huge=0):
    """y or dy in rows of ldy elements; y=0: NULL; huge=1: some y of the first tokens are
    1e20 or -1e20, where y * y overflows. (Gradients of earlier tokens would drown.)"""
    if y:
        values = side_values(call, B, T, C) if role == "in" else np.empty((B, T, C))
        if huge:
            values[:, 0, 1::16], values[:, 0, 9::16] = 1e20, -1e20
        lay_out(call, name, role, values, ldy or C, shift)
    else:
        call.null(name, role)
    call.scalar("ldy", ldy or C)


def rglru_forward_data(
    call,
    B,
    T,
    C,
    lowest=-3.0,
    highest=1.0,
    pos="none",
    state=0,
    len=0,
    h=1,
    y=0,
    ldy=0,
    skew=0,
    shift=0,
    nan=0,
    huge=0,
    still=0,
):
    """state, len, h, y=1: with that argument. skew: elements of the tensors, shift:
    elements of y off 16-byte alignment. nan=1: a state that must not be read is NaN.
    huge=1: some y of 1e20"""
    lengths = row_lengths(call, B, T) if len else None
    p = documents(call, B, T, pos, lengths)
    call.out("out", (B, T, C), skew=skew, owner="element")
    if h:
        call.out("h", (B, T, C), "f32", skew=skew, owner="element")
    else:
        call.null("h", "out", "f32")
    if state:
        values = call.normal((B, C), 2)
        starts = positions(p, B, T)[:, 0] == 0
        if lengths is not None:
            starts &= lengths > 0  # without tokens the state stays
        values[starts] = unread(nan)
        call.buffer("state", values, dtype="f32")
        call.view("state", "inout", "state", (B, C), owner="element")
    else:
        call.null("state", "inout", "f32")
    a_param = gate_data(call, B, T, C, lowest, highest, skew, still)
    side_data(call, "y", "in", B, T, C, y, ldy, shift, huge)
    call.input("a_param", a_param)
    integers(call, "pos", p)
    integers(call, "len", lengths)


def rglru_backward_data(
    call,
    B,
    T,
    C,
    lowest=-3.0,
    highest=1.0,
    pos="none",
    y=0,
    ldy=0,
    skew=0,
    shift=0,
    huge=0,
    still=0,
):
    p = documents(call, B, T, pos)
    for name in ("dc", "dpx", "dpa"):
        call.out(name, (B, T, C), skew=skew, owner="element")
    side_data(call, "dy", "out", B, T, C, y, ldy, shift)
    call.acc("da_param", (C,), owner="column")
    call.input("dout", call.normal((B, T, C), 0.5), skew=skew)
    a_param = gate_data(call, B, T, C, lowest, highest, skew, still)
    side_data(call, "y", "in", B, T, C, y, ldy, shift, huge)
    call.buffer("a_param", a_param)
    call.view("a_param", "in", "a_param", (C,))
    c, px, pa, a_param = (call.array(name) for name in ("c", "px", "pa", "a_param"))
    h = np.empty((B, T, C))
    rglru_forward(h, None, None, c, px, pa, None, a_param, p, None, B, T, C, C)
    call.input("h", h, "f32", skew=skew)
    call.args["a_param"] = call.args.pop("a_param")  # moves it to its place in the list
    integers(call, "pos", p)


# --- error model: see "Tolerance" in the header -----------------------------------------

FUSED = "the errors of all earlier steps, each decayed since"


def remembered(log_a):
    """an error of log_a is a relative error of a"""
    return 1 + np.abs(log_a)


def side_error(y, factor):
    """of factor gelu(y), in units of 2^-24"""
    return np.abs(factor) * (1 if y is None else (16 + near(y)) * np.abs(y))


def rglru_forward_bounds(
    out, h, state, state_before, c, px, pa, y, a_param, pos, len, B, T, C
):
    a, z = np.empty_like(c), np.empty_like(c)
    rglru_gates_forward(a, z, c, px, pa, a_param, pos, B, T, C)
    start = resumed(state_before, pos)
    states = scan(a, z, start)
    kept = np.abs(a * before(states, start)) * remembered(decay(pa, a_param))
    lost = root_lost(sigmoid(px) * c, pa, a_param)
    M = scan(a, roundings(px, pa, a_param) * (kept + np.abs(z)) + lost)
    of_out = M * np.abs(side(y)) + side_error(y, states)
    bounds = {"out": bound(of_out, FUSED, c=1)}
    if h is not None:
        bounds["h"] = bound(M, FUSED, c=1)
    if state is not None:
        of_state = np.zeros_like(state)
        keep_last(of_state, M, len)
        bounds["state"] = bound(of_state, FUSED, c=1)
    return bounds


def rglru_backward_bounds(
    dc, dpx, dpa, dy, da_param, dout, c, px, pa, y, h, a_param, pos, B, T, C
):
    dz, da, a = scan_slopes(dout, c, px, pa, y, h, a_param, pos)
    log_a, gx, ga = decay(pa, a_param), sigmoid(px), sigmoid(pa)
    near_gates = roundings(px, pa, a_param)
    _, m = gate_slopes(da, dz, c, px, pa, a_param, pos)
    lost = near_gates * np.abs(a) * remembered(log_a)  # where dz flows back through a
    M = scan_back(a, side_error(y, dout) + after(lost, 0.0) * np.abs(after(dz, 0.0)))
    first = (positions(pos, B, T) == 0)[:, :, None]
    steep = np.abs(gx * c) / np.sqrt(np.maximum(-4 * np.expm1(2 * log_a), 1e-6))
    through = np.where(first, 0, a * np.abs(before(h)) + 2 * a**2 * steep)
    size = slope_size(da, dz, c, px, pa, a_param, pos)
    of_log_a, root = M * through + near_gates * size, np.sqrt(B * T)
    bounds = {
        "dc": M * m * gx + near_gates * np.abs(dc) + root_lost(dz * gx, pa, a_param),
        "dpx": M * m * np.abs(c) * gx * (1 - gx)
        + near_gates * np.abs(dz * m * c * gx)
        + root_lost(dz * c * gx * (1 - gx), pa, a_param),
        "dpa": np.maximum(8 * softplus(a_param) * ga * of_log_a, 2.0**-90),
        "da_param": (4 + root) * np.abs(da_param)
        + sigmoid(a_param) * (8 * ga * (of_log_a + root * size)).sum((0, 1)),
    }
    if dy is not None:
        size = np.minimum(1 + np.abs(y), 64)  # beyond that, gelu' is 0 or 1
        bounds["dy"] = side_error(size, dout * h)
    return {
        name: bound(M, FUSED.replace("earlier", "later"), c=1)
        for name, M in bounds.items()
    }


# --- checks: what reference/rglru.py checks of this file --------------------------------


def check_fused(checks):
    rng, (B, T, C) = np.random.default_rng(5), (2, 5, 3)
    c, px, pa, y, dout, out, h, dc, dpx, dpa, dy = (
        rng.standard_normal((B, T, C)) for _ in range(11)
    )
    a_param, da_param = rng.standard_normal(C), rng.standard_normal(C)
    pos = np.array([[0, 1, 2, 0, 1], [3, 4, 0, 1, 2]])

    def loss():
        rglru_forward(out, h, None, c, px, pa, y, a_param, pos, None, B, T, C, C)
        return np.sum(out * dout)

    loss()
    start = da_param.copy()
    rglru_backward(
        dc, dpx, dpa, dy, da_param, dout, c, px, pa, y, h.copy(), a_param, pos, B, T, C, C
    )
    for name, at, d in (("c", c, dc), ("px", px, dpx), ("pa", pa, dpa), ("y", y, dy)):
        checks.gradient(f"rglru: d{name}", loss, at, d)
    checks.gradient("rglru: da_param, added to", loss, a_param, da_param - start)
