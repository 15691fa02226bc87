"""rglru_mistakes.py - what kernels with known mistakes compute in parts 06.1 and 06.2 of
lab 06, so that the report can name them.
"""

import numpy as np

from rglru_block import (
    conv1d_backward,
    convolution,
    earlier,
    last_inputs,
    outer,
    positions,
    product,
    transposed,
)

TIMES_0 = (
    "what belongs to another document is multiplied by 0, but 0 times inf is NaN: skip it"
)


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
    yield "one_matrix", "both gates use the matrix wx", {"pa": px - bx + ba}
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
    yield "one_matrix", "both gates use the matrix wx", {
        "dc": past + x + product(dpa, transposed(wx))
    }
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
    if R >= 128:
        yield from overlapping_parts(c, dpx, dpa, dwx, dbx, dwa, dba)
    if dc_in is not None:
        yield "read_late", "the gradients are computed from dc in place of c", {
            "dwx": dwx - here + outer(dc, dpx)
        }


def overlapping_parts(c, dpx, dpa, dwx, dbx, dwa, dba):
    """yields what kernels compute that split the sums over rows into parts, each in steps
    of some rows; the last of them may end past the part"""
    row, told = np.arange(len(c)), set()
    for parts in range(2, 9):
        size = -(-len(c) // parts)
        for step in (16, 32, 64):
            twice = (row >= size) & (row % size < -size % step)
            if not twice.any() or twice.tobytes() in told:
                continue
            told.add(twice.tobytes())
            yield f"parts_{parts}_{step}", (
                "rows at the border of two parts count twice: the last step of a part "
                "should end where the part does"
            ), {
                "dwx": dwx + outer(c[twice], dpx[twice]),
                "dwa": dwa + outer(c[twice], dpa[twice]),
                "dbx": dbx + dpx[twice].sum(0),
                "dba": dba + dpa[twice].sum(0),
            }


# --- 06.2 -------------------------------------------------------------------------------


def moved_slots(ring, step):
    return np.roll(ring, step, axis=1)


def chunks(T):
    """{name: tokens} of likely chunks: of a kernel's, or as long as to make 2 to 8"""
    sizes = {f"{n}": n for n in (8, 16, 32, 64)}
    sizes |= {f"of_{n}": -(-T // n) for n in range(2, 9)}
    return {name: n for name, n in sizes.items() if n < T}


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
    terms, t = {}, np.arange(T)
    for s in range(1, width):
        inputs, same = earlier(x, s, None, pos, width)
        terms[s] = np.where(same & (t >= s)[:, None], w[:, width - 1 - s] * inputs, 0)
    for name, n in chunks(T).items():
        lost = sum(np.where((t % n < s)[:, None], term, 0) for s, term in terms.items())
        yield told(
            f"chunk_{name}",
            "the first tokens of a chunk lack the inputs of the chunk before: read "
            "width-1 tokens before its start",
            out - lost,
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
    short = before.copy()
    last_inputs(short, x, pos, len, width, width - 1)
    yield "kept_less", (
        "only width - 1 inputs are stored: the ring keeps the last `width`"
    ), {"conv_state": short}
    if pos is not None:
        moved = before.copy()
        last_inputs(moved, x, None, len, width)
        yield "slot_of_t", (
            "an input is stored in slot t mod width: it belongs in slot pos mod width"
        ), {"conv_state": moved}
    if len is not None:
        t, end = np.arange(T), np.maximum(len, 1)[:, None] - 1
        moved = before.copy()
        last_inputs(moved, x, p[:, -1:] - end + t, len, width)
        yield "pos_of_T", (
            "the last token is len - 1, but its position is read at T - 1"
        ), {"conv_state": moved}
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
    if B > 1 and T >= width:
        joined = [m.reshape(1, B * T, C) for m in (dout, x)]
        p = positions(pos, B, T).reshape(1, B * T)
        yield "rows_joined", (
            "dw reads the end of sequence b - 1: use token t - s only if t >= s"
        ), {"dw": start + partial_sum(*joined, w, p, width)}
    terms, t = {}, np.arange(T)[:, None]
    for s in range(1, width):
        _, same = earlier(x, s, None, pos, width)
        later = np.zeros((B, T, C))
        later[:, : max(T - s, 0)] = np.where(same, dout, 0)[:, s:]
        terms[s] = w[:, width - 1 - s] * later
    for name, n in chunks(T).items():
        lost = sum(np.where(t % n + s >= n, term, 0) for s, term in terms.items())
        yield f"chunk_{name}", (
            "the last tokens of a chunk lack the gradients of tokens in the next chunk: "
            "read width-1 tokens past its end"
        ), {"dx": dx - lost}
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
