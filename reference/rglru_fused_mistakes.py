"""rglru_fused_mistakes.py - what kernels with known mistakes compute in parts 06.5 and
06.6 of lab 06, so that the report can name them.
"""

import numpy as np

from rglru_block import decay, positions, product, softplus
from rglru_fused import keep_last, resumed, scan_slopes, side
from rglru_gates_mistakes import FIRST_OF_BATCH, first_of_batch, roots_of_0, wrong_gates
from rglru_scan import before, scan, scan_back
from rglru_scan_mistakes import (
    SHORT,
    cut,
    cut_words,
    h_words,
    half_state,
    half_words,
    shorter,
)
from rglru_step import step_parts
from swiglu import erf, gelu, gelu_slope, sigmoid, silu

# --- 06.5 -------------------------------------------------------------------------------


def gate_parts(c, px, pa, a_param, pos):
    B, T, C = c.shape
    first = (positions(pos, B, T) == 0)[:, :, None]
    log_a = decay(pa, a_param)
    return first, np.exp(log_a), np.sqrt(-np.expm1(2 * log_a)), sigmoid(px) * c


def rglru_forward_mistakes(
    out, h, state, state_before, c, px, pa, y, a_param, pos, len, B, T, C, ldy, memory
):
    first, free, m, x = gate_parts(c, px, pa, a_param, pos)
    a, z, start = np.where(first, 0, free), np.where(first, 1, m) * x, state_before
    begin = resumed(state_before, pos)  # for mistakes other than a missing reset

    def told(cause, words, states, of_side=side(y)):
        wrong = {"out": states * of_side, "h": states}
        if start is not None:
            wrong["state"] = start.copy()
            keep_last(wrong["state"], states, len)
        return cause, words, wrong

    states = scan(a, z, begin)
    yield told(
        "no_reset",
        "there is no reset at pos 0, where a is 0 and m is 1",
        scan(free, m * x, start),
    )
    yield told(
        "a_not_reset",
        "the reset at pos 0 is incomplete: m is 1, but a is not 0",
        scan(free, z, start),
    )
    yield told(
        "m_not_reset",
        "the reset at pos 0 is incomplete: a is 0, but m is not 1",
        scan(a, m * x, begin),
    )
    yield told("no_multiplier", "the multiplier m is missing", scan(a, x, begin))
    for cause, words, wrong_a, wrong_z in wrong_gates(c, px, pa, a_param):
        states_of = scan(np.where(first, 0, wrong_a), np.where(first, x, wrong_z), begin)
        yield told(cause, words, states_of)
    gates = sigmoid(pa) * c * np.sqrt(-np.expm1(2 * decay(px, a_param)))
    yield told(
        "gates_swapped",
        "px and pa are swapped",
        scan(
            np.where(first, 0, np.exp(decay(px, a_param))),
            np.where(first, sigmoid(pa) * c, gates),
            begin,
        ),
    )
    if T <= SHORT:
        yield told("state_bf16", half_words("bf16"), half_state(a, z, begin, "bf16"))
    for chunk in shorter(T):
        yield told(f"chunk_{chunk}", cut_words(chunk), scan(cut(a, chunk), z, begin))
    once = first_of_batch(pos, B, T)
    if once is not None:
        yield told(
            "first_of_batch",
            FIRST_OF_BATCH,
            scan(np.where(once, 0, free), np.where(once, 1, m) * x),
        )
    if start is not None and pos is not None and B > 1:  # before no_state
        first_b = np.where(np.ravel(pos)[:B, None] > 0, start, 0)
        yield told(
            "pos_of_batch",
            "whether sequence b continues is read at pos[b]: in pos (B,T) it is pos[b*T]",
            scan(a, z, np.where(pos[:, :1] > 0, first_b, 0)),
        )
    if start is not None:
        yield told(
            "no_state", "the state is ignored: every sequence starts from 0", scan(a, z)
        )
        yield "state_kept", "the state is not written back", {"state": start}
    if len is not None:
        yield "no_len", "len is ignored: the state should be that of token len-1", {
            "state": states[:, -1]
        }
        if start is not None and T > 1:
            for cause, words, step in (
                ("len_less", "the state is that of token len-2: it should be len-1", -1),
                ("len_more", "the state is that of token len: it should be len-1", 1),
            ):
                kept = start.copy()
                keep_last(kept, states, np.where(len > 0, np.clip(len + step, 1, T), 0))
                yield cause, words, {"state": kept}
    if y is not None:
        yield told("no_side", "the factor gelu(y) is missing: out = h gelu(y)", states, 1)
        yield told("no_gelu", "h is multiplied by y itself: out = h gelu(y)", states, y)
        yield told("silu", "silu is used in place of gelu", states, silu(y))
        yield told(
            "erf",
            "this is the erf form of GELU: the side branch uses the tanh form",
            states,
            y / 2 * (1 + erf(y / np.sqrt(2))),
        )
        if ldy != C:
            words = "rows of y are read C elements apart: they are ldy apart"
            yield told("no_ldy", words, states, gelu(memory("y", rows_at(y, C))))
            words = "{} of y is found with C in place of ldy: its rows are ldy apart"
            for n in [n for n in (4, 8, 16) if n < T] + [T] * (T > 1):
                begin = f"every group of {n} tokens" if n < T else "every sequence"
                yield told(
                    f"no_ldy_{n if n < T else 'sequence'}",
                    words.format(begin),
                    states,
                    gelu(memory("y", rows_at(y, C, ldy, n))),
                )


def rows_at(y, C, ldy=0, n=1):
    """the offsets of a kernel that uses C in place of ldy for the first of n tokens"""
    B, T, _ = y.shape
    b, t, channel = np.ogrid[:B, :T, :C]
    return (b * T + t // n * n) * C + t % n * ldy + channel


def rglru_backward_mistakes(
    dc, dpx, dpa, dy, da_param, dout, c, px, pa, y, h, a_param, pos, B, T, C
):
    first, free, m, x = gate_parts(c, px, pa, a_param, pos)
    gx, ga = sigmoid(px), sigmoid(pa)
    dh = dout * side(y)
    bounded = x / np.sqrt(np.maximum(4 * m**2, 1e-6))

    def log_slope(dz, h_before, steep=bounded, reset=True):
        d = dz * (h_before * free - 2 * free**2 * steep)
        return np.where(first, 0, d) if reset else d

    truth = log_slope(scan_slopes(dout, c, px, pa, y, h, a_param, pos)[0], before(h))
    yield from roots_of_0(pa, a_param, first, dc=dc, dpx=dpx)
    if dy is not None and np.abs(y).max() > 1e19:
        yield "huge_y", (
            "the slope of gelu is 0 times inf = NaN where y * y overflows: bound y * y"
        ), {"dy": np.where(np.abs(y) > 1e19, np.nan, dy)}

    def told(cause, words, dz, d=None, mult=np.where(first, 1, m)):
        d = log_slope(dz, before(h)) if d is None else d
        return (
            cause,
            words,
            {
                "dc": dz * mult * gx,
                "dpx": dz * mult * c * gx * (1 - gx),
                "dpa": -8 * softplus(a_param) * ga * (1 - ga) * d,
                "da_param": da_param + sums(d - truth),
            },
        )

    def sums(d):
        return sigmoid(a_param) * (-8 * ga * d).sum((0, 1))

    a = np.where(first, 0, free)
    dz = scan_back(a, dh)
    over = scan_back(free, dh)
    yield told(
        "no_reset",
        "there is no reset at pos 0: the gradient flows on into the previous document",
        over,
        log_slope(over, before(h), reset=False),
        m,
    )
    yield told(
        "m_not_reset",
        "m is not reset at pos 0, where it should be the constant 1",
        dz,
        truth,
        m,
    )
    yield told("no_scan", "dz is just dh: the gradient from later tokens is missing", dh)
    yield told(
        "a_now", "a[t] is used in place of a[t+1]", scan_back(before(a, a[:, 0]), dh)
    )
    yield told("h_now", "h[t] is used in place of h[t-1]", dz, log_slope(dz, h))
    for chunk in shorter(T):
        yield told(
            f"h_of_chunk_{chunk}",
            h_words(chunk),
            dz,
            log_slope(dz, cut(before(h), chunk)),
        )
    once = first_of_batch(pos, B, T)
    if once is not None:
        m_once, free_once = np.where(once, 1, m), np.where(once, 0, free)
        on = scan_back(free_once, dh)
        d = log_slope(on, before(h), reset=False)
        yield told("first_of_batch", FIRST_OF_BATCH, on, np.where(once, 0, d), m_once)
    with np.errstate(all="ignore"):
        free_slope = x / (2 * np.maximum(m, 1e-30))
    yield told(
        "unbounded",
        "the slope of the square root is not bounded: divide by sqrt(max(4q, 1e-6))",
        dz,
        log_slope(dz, before(h), free_slope),
    )
    yield told(
        "no_dz_term",
        "the term of m, -2 a^2 dq, is missing in dlog_a",
        dz,
        log_slope(dz, before(h), 0),
    )
    yield told(
        "no_da_term", "the term da a is missing in dlog_a", dz, log_slope(dz, 0 * h)
    )
    yield "not_added", "the gradient is overwritten: add to it (+=)", {
        "da_param": sums(truth)
    }
    for chunk in shorter(T):
        yield told(f"chunk_{chunk}", cut_words(chunk), scan_back(cut(a, chunk), dh))
    if y is not None:
        yield told("no_side", "the factor gelu(y) is missing in dh", scan_back(a, dout))
        yield "dy_gelu", "gelu(y) is used in place of its derivative", {
            "dy": dout * h * gelu(y)
        }
        yield "dy_no_h", "the factor h is missing in dy", {"dy": dout * gelu_slope(y)}
        yield "dy_dh", "dy has the factor dh = dout gelu(y): its factor is dout", {
            "dy": dh * h * gelu_slope(y)
        }


# --- 06.6 -------------------------------------------------------------------------------


def rglru_step_mistakes(
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
    ld,
    memory,
):
    def run(
        ring=conv_state_before, w=w, bias=bias, wx=wx, bx=bx, wa=wa, ba=ba, pos=pos
    ):
        return step_parts(
            ring, state_before, x, w, bias, wx, bx, wa, ba, a_param, pos, G, M, width
        )

    def told(cause, words, h):
        return cause, words, {"state": h, "out": h * gelu(y[:, 0])}

    raw_state, state_before = state_before, resumed(state_before, pos)

    c, px, pa, a, z, h = run()
    first, C = (pos == 0)[:, None], G * M
    flat = c.reshape(B, C)
    free, m = np.exp(decay(pa, a_param)), np.sqrt(-np.expm1(2 * decay(pa, a_param)))
    moved = m * sigmoid(px) * flat
    if np.isnan(raw_state[pos == 0]).any():
        yield told(
            "times_0",
            "at pos 0 the state is multiplied by 0, but 0 times NaN is NaN: skip it",
            h + 0 * raw_state,
        )
    yield told(
        "no_reset",
        "there is no reset at pos 0, where a is 0 and m is 1",
        free * raw_state + moved,
    )
    yield told(
        "m_not_reset",
        "the reset at pos 0 is incomplete: a is 0, but m is not 1",
        a * state_before + moved,
    )
    yield from roots_of_0(pa, a_param, first, state=h, out=h * gelu(y[:, 0]))
    yield told("no_state", "the state is ignored", z)
    if B > 1:
        yield told(
            "pos_of_0",
            "every sequence uses pos[0]: that of sequence b is pos[b]",
            run(pos=pos[:1] + 0 * pos)[-1],
        )
    own = run(pos=pos + width)  # the same slots, and all of them hold an input
    x_own = sigmoid(own[1]) * own[0].reshape(B, C)
    yield told(
        "slots_without_input",
        "slots that hold no input yet are read: tap s needs one only if pos >= s",
        np.where(first, x_own, a * state_before + own[4]),
    )
    yield told(
        "z_of_x",
        "the gate multiplies x: it should multiply the output of conv1d",
        a * state_before + np.where(first, 1, m) * sigmoid(px) * x[:, 0],
    )
    x_in = sigmoid(px) * flat
    for cause, words, wrong_a, wrong_z in wrong_gates(flat, px, pa, a_param):
        yield told(
            cause,
            words,
            np.where(first, 0, wrong_a) * state_before + np.where(first, x_in, wrong_z),
        )
    for cause, words, own in (
        ("no_bias", "the bias of conv1d is missing", {"bias": 0 * bias}),
        ("no_bx", "the biases of the gates are missing", {"bx": 0 * bx, "ba": 0 * ba}),
        ("biases_swapped", "the biases bx and ba are swapped", {"bx": ba, "ba": bx}),
        (
            "first_tap",
            "the first tap is missing: it multiplies the oldest input",
            {"w": np.where(np.arange(width) > 0, w, 0)},
        ),
    ):
        yield told(cause, words, run(**own)[-1])
    yield told(
        "reversed",
        "the taps are reversed: w[c,width-1] multiplies the current token",
        run(w=w[:, ::-1])[-1],
    )
    yield told(
        "slot",
        "the ring is read one slot too early: position p is in slot p mod width",
        run(ring=np.roll(conv_state_before, 1, axis=1))[-1],
    )
    yield told(
        "slot_late",
        "the ring is read one slot too late: position p is in slot p mod width",
        run(ring=np.roll(conv_state_before, -1, axis=1))[-1],
    )
    if width > 4 and not np.isnan(conv_state_before).any():
        again, b, s = conv_state_before.copy(), np.arange(B)[:, None], np.arange(4, width)
        slots = [(pos[:, None] - n) % width for n in (s, s % 4)]
        again[b, slots[0]] = conv_state_before[b, slots[1]]
        yield told(
            "slot_of_four",
            "taps from 4 on start again at the slot of pos: tap s needs that of pos - s",
            run(ring=again)[-1],
        )
    yield told(
        "no_ring",
        "the ring is not read: earlier tokens count as 0",
        run(ring=np.zeros_like(conv_state_before))[-1],
    )
    yield told(
        "transposed",
        "the matrices are read transposed: in w[g,i,j], i is the input and j the output",
        run(wx=np.swapaxes(wx, 1, 2), wa=np.swapaxes(wa, 1, 2))[-1],
    )
    yield told("gates_swapped", "wx and wa are swapped", run(wx=wa, wa=wx)[-1])
    i, sizes = np.arange(M)[:, None], [n for n in (64, 128, 256) if n < M]
    parts = [
        (f"first_{n}", f"only the first {n} inputs of a block enter the sum", i < n)
        for n in sizes
    ] + [
        (
            f"from_{n}",
            f"only the inputs of a block from input {n} on enter the sum: is it "
            "overwritten (= in place of +=)?",
            i >= n,
        )
        for n in sorted({(M - 1) // n * n for n in sizes})
    ]
    for cause, words, kept in parts:
        part = run(wx=np.where(kept, wx, 0), wa=np.where(kept, wa, 0))
        yield told(cause, words, part[-1])
    raw = x.reshape(B, G, M)
    gx, ga = product(raw, wx) + bx, (product(raw, wa) + ba).reshape(B, C)
    log_a = decay(ga, a_param)
    yield told(
        "gates_of_x",
        "the gates read x: they should read the output of conv1d",
        np.where(first, 0, np.exp(log_a)) * state_before
        + np.where(first, 1, np.sqrt(-np.expm1(2 * log_a)))
        * sigmoid(gx.reshape(B, C))
        * flat,
    )
    yield "ring_kept", "the input is not written to the ring", {
        "conv_state": conv_state_before
    }
    late = conv_state_before.copy()
    late[np.arange(B), (pos + 1) % width] = x[:, 0]
    yield "slot_written", (
        "the input is written one slot too late: it belongs in slot pos mod width"
    ), {"conv_state": late}
    yield "no_side", "the factor gelu(y) is missing: out = h gelu(y)", {"out": h}
    yield "no_gelu", "h is multiplied by y itself: out = h gelu(y)", {"out": h * y[:, 0]}
    yield "erf", "this is the erf form of GELU: the side branch uses the tanh form", {
        "out": h * y[:, 0] / 2 * (1 + erf(y[:, 0] / np.sqrt(2)))
    }
    if ld != C:
        there = np.arange(B)[:, None] * C + np.arange(C)
        yield "ld_of_y", "rows of y are read C elements apart: they are ld apart", {
            "out": h * gelu(memory("y", there))
        }
