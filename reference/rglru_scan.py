"""rglru_scan.py - parts 06.4 to 06.6 of lab 06 in float64: the scan, the fused pass and
the step of one token. The contract is labs/lab06_rglru/rglru.h; rglru.py imports the
whole lab.
"""

import numpy as np

from rglru_block import (
    convolution,
    decay,
    documents,
    gate_matrices,
    gate_slopes,
    integers,
    lay_out,
    positions,
    product,
    rglru_gates_backward,
    rglru_gates_forward,
    root_lost,
    roundings,
    row_lengths,
    slope_size,
    softplus,
    unread,
)
from swiglu import gelu, gelu_slope, near, sigmoid
from wb import bound, rounded, sum_type

# --- the formulas: time is the second to last axis -------------


def at(values, t):
    return values[..., t, :]


def scan(a, z, h0=None):
    """h[t] = a[t] h[t-1] + z[t]"""
    h = np.empty(np.broadcast_shapes(a.shape, z.shape))
    state, E = np.zeros_like(at(h, 0)) if h0 is None else h0, sum_type()
    if h.shape[-2] > 256 and E is None:
        return scan_chunks(*np.broadcast_arrays(a, z), state)
    for t in range(h.shape[-2]):
        state = a[..., t, :] * state + z[..., t, :]
        h[..., t, :] = state = state if E is None else rounded(state, E)
    return h


def scan_chunks(a, z, state):
    """the same for many steps, without a Python loop over all of them"""
    (*batch, T, C), size = a.shape, int(np.sqrt(a.shape[-2]))
    after = [(0, 0)] * len(batch) + [(0, -T % size), (0, 0)]
    a, z = (np.pad(x, after).reshape(*batch, -1, size, C) for x in (a, z))
    h, kept = scan(a, z), np.cumprod(a, -2)  # h: each chunk from 0
    for n in range(h.shape[-3]):
        h[..., n, :, :] += kept[..., n, :, :] * state[..., None, :]
        state = h[..., n, -1, :]
    return h.reshape(*batch, -1, C)[..., :T, :]


def before(h, h0=None):
    """h[t-1] at index t"""
    first = np.zeros_like(h[..., :1, :]) if h0 is None else h0[..., None, :]
    return np.concatenate([first, h[..., :-1, :]], axis=-2)


def after(a, last=1.0):
    """a[t+1] at index t"""
    return np.concatenate([a[..., 1:, :], np.full_like(a[..., :1, :], last)], axis=-2)


def scan_back(a, dh, dh_last=None):
    """dz[t] = dh[t] + a[t+1] dz[t+1]"""
    return np.flip(scan(np.flip(after(a), -2), np.flip(dh, -2), dh_last), -2)


def linear_scan_forward(h, h_last, a, z, h0, B, T, C):
    h[...] = scan(a, z, h0)
    if h_last is not None:
        h_last[...] = h[:, -1]


def linear_scan_backward(da, dz, dh0, dh, dh_last, a, h, h0, B, T, C):
    dz[...] = scan_back(a, dh, dh_last)
    da[...] = dz * before(h, h0)
    if dh0 is not None:
        dh0[...] = a[:, 0] * dz[:, 0]


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


def remembering(call, B, T, C, longest, edges):
    """a: each channel keeps about 1 - 10^-k of its state, k from 0.2 to `longest`;
    edges=1: some a are 0 and some 1"""
    forget = 10.0 ** -np.linspace(0.2, longest, C)
    a = 1 - forget * call.rng.uniform(0.5, 1, (B, T, C))
    if edges:
        a = np.where(call.rng.random((B, T, C)) < 0.03, 0, a)
        a = np.where(call.rng.random((B, T, C)) < 0.2, 1, a)
    return a


def scan_input(call, B, T, C, longest):
    """z of a size that keeps every channel's state close to 1"""
    size = 10.0 ** (-0.5 * np.linspace(0.2, longest, C))
    return call.rng.standard_normal((B, T, C)) * size + 0.2 * size**2


def linear_scan_forward_data(
    call, B, T, C, longest=1.5, edges=0, h0=0, h_last=1, inplace=0, skew=0
):
    """inplace=1: h is z, h_last is h0 if there is one"""
    call.out("h", (B, T, C), at="z" if inplace else None, skew=skew, owner="element")
    if h_last:
        at = "h0" if inplace and h0 else None
        call.out("h_last", (B, C), "f32", at=at, owner="element")
    else:
        call.null("h_last", "out", "f32")
    call.input("a", remembering(call, B, T, C, longest, edges), skew=skew)
    call.input("z", scan_input(call, B, T, C, longest), skew=skew)
    (
        call.input("h0", call.normal((B, C), 3), "f32")
        if h0
        else call.null("h0", dtype="f32")
    )


def linear_scan_backward_data(
    call, B, T, C, longest=1.5, edges=0, h0=0, dh_last=0, dh0=0, inplace=0, skew=0
):
    """h0, dh_last, dh0=1: with that argument; inplace=1: dz is dh"""
    call.out("da", (B, T, C), skew=skew, owner="element")
    call.out("dz", (B, T, C), at="dh" if inplace else None, skew=skew, owner="element")
    if dh0:
        call.out("dh0", (B, C), "f32", owner="element")
    else:
        call.null("dh0", "out", "f32")
    call.input("dh", scan_input(call, B, T, C, longest), skew=skew)
    if dh_last:
        call.input("dh_last", call.normal((B, C), 3), "f32")
    else:
        call.null("dh_last", dtype="f32")
    call.input("a", remembering(call, B, T, C, longest, edges), skew=skew)
    call.input("h", call.normal((B, T, C)), skew=skew)
    call.input("h0", call.normal((B, C)), "f32") if h0 else call.null("h0", dtype="f32")


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

DECAYING = "sum over earlier steps of |a h| + |z|, each decayed since"
FUSED = "the errors of all earlier steps, each decayed since"


def linear_scan_forward_bounds(h, h_last, a, z, h0):
    M = scan(np.abs(a), np.abs(a * before(h, h0)) + np.abs(z))
    bounds = {"h": bound(M, DECAYING, c=4)}
    if h_last is not None:
        bounds["h_last"] = bound(M[:, -1], DECAYING, c=4)
    return bounds


def linear_scan_backward_bounds(da, dz, dh0, dh, dh_last, a, h, h0):
    later = (
        after(dz, 0.0)
        if dh_last is None
        else np.flip(before(np.flip(dz, -2), dh_last), -2)
    )
    M = scan_back(np.abs(a), np.abs(after(a) * later) + np.abs(dh))
    bounds = {
        "dz": bound(M, "sum over later steps of |a dz| + |dh|, decayed", c=4),
        "da": bound(M * np.abs(before(h, h0)) + np.abs(da), "M of dz |h| + |da|", c=4),
    }
    if dh0 is not None:
        first = np.abs(a[:, 0]) * M[:, 0] + np.abs(dh0)
        bounds["dh0"] = bound(first, "M of dz[0] |a| + |dh0|", c=4)
    return bounds


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


def check_scan(checks):
    rng, (B, T, C) = np.random.default_rng(4), (2, 5, 3)
    a, z, dh, da, dz, h = (rng.standard_normal((B, T, C)) for _ in range(6))
    h0, dh_last, h_last, dh0 = (rng.standard_normal((B, C)) for _ in range(4))

    def loss():
        linear_scan_forward(h, h_last, a, z, h0, B, T, C)
        return np.sum(h * dh) + np.sum(h_last * dh_last)

    loss()
    linear_scan_backward(da, dz, dh0, dh, dh_last, a, h.copy(), h0, B, T, C)
    for name, at, d in (("a", a, da), ("z", z, dz), ("h0", h0, dh0)):
        checks.gradient(f"scan: d{name}", loss, at, d)


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


def check(checks):
    check_scan(checks)
    check_fused(checks)
    check_steps(checks)
