"""rglru_block.py - parts 06.1 to 06.3 of lab 06 in float64: what is around the scan. The
contract is labs/lab06_rglru/rglru.h; rglru.py imports the whole lab and checks it.
"""

import numpy as np

import wb
from swiglu import sigmoid
from wb import bound, total

# --- the formulas -----------------------------------------------------------------------


def softplus(v):
    return np.log1p(np.exp(-np.abs(v))) + np.maximum(v, 0)  # never overflows


def positions(pos, B, T):
    return np.broadcast_to(np.arange(T), (B, T)) if pos is None else pos


def product(x, w):
    """y[r,g,j] = sum_i x[r,g,i] w[g,i,j]"""
    each = [total(x[:, g, :, None] * w[g], axis=1)[:, 0] for g in range(w.shape[0])]
    return np.stack(each, axis=1)


def outer(x, y):
    """sum_r x[r,g,i] y[r,g,j]"""
    each = [
        total(x[:, g, :, None] * y[:, g, None, :], axis=0)[0] for g in range(x.shape[1])
    ]
    return np.stack(each)


def transposed(w):
    return np.swapaxes(w, 1, 2)


def block_linear_forward(px, pa, c, wx, bx, wa, ba, R, G, M):
    px[...] = product(c, wx) + bx
    pa[...] = product(c, wa) + ba


def block_linear_backward(dc, dwx, dbx, dwa, dba, dc_in, dpx, dpa, c, wx, wa, R, G, M):
    past = 0 if dc_in is None else dc_in
    dc[...] = past + product(dpx, transposed(wx)) + product(dpa, transposed(wa))
    dwx += outer(c, dpx)
    dwa += outer(c, dpa)
    dbx += total(dpx, axis=0)[0]
    dba += total(dpa, axis=0)[0]


def earlier(x, s, state, pos, width):
    """x[b,t-s], from the ring if that is before the sequence; and where it may be used"""
    B, T, C = x.shape
    p = positions(pos, B, T)
    before = np.zeros((B, T, C))
    before[:, s:] = x[:, : max(T - s, 0)]
    if state is not None:
        for t in range(min(s, T)):
            before[:, t] = state[np.arange(B), (p[:, t] - s) % width]
    return before, (p >= s)[:, :, None]


def convolution(x, state, w, bias, pos, width):
    terms = [np.broadcast_to(bias, x.shape)]
    for s in range(width):
        before, same = earlier(x, s, state, pos, width)
        terms.append(np.where(same, w[:, width - 1 - s] * before, 0))
    return total(np.stack(terms, -1))[..., 0]


def last_inputs(state, x, pos, len, width, kept=None):
    """stores in the ring what a sequence leaves there: the inputs of its last document,
    the last `kept`, by default `width`"""
    B, T, _ = x.shape
    p = positions(pos, B, T)
    for b in range(B):
        end = T if len is None else len[b]
        for t in range(max(0, end - (kept or width)), end):
            if p[b, t] + end - 1 - t == p[b, end - 1]:
                state[b, p[b, t] % width] = x[b, t]


def conv1d_forward(out, conv_state, x, w, bias, pos, len, B, T, C, width, ld):
    out[...] = convolution(x, conv_state, w, bias, pos, width)
    if conv_state is not None:
        last_inputs(conv_state, x, pos, len, width)


def conv1d_backward(dx, dw, dbias, dout, x, w, pos, B, T, C, width, ld):
    terms = []
    for s in range(width):
        before, same = earlier(x, s, None, pos, width)
        dw[:, width - 1 - s] += total(
            np.where(same, dout * before, 0).reshape(B * T, C), axis=0
        )[0]
        back = np.zeros_like(x)
        back[:, : max(T - s, 0)] = np.where(same, dout, 0)[:, s:]
        terms.append(w[:, width - 1 - s] * back)
    dx[...] = total(np.stack(terms, -1))[..., 0]
    dbias += total(dout.reshape(B * T, C), axis=0)[0]


def decay(pa, a_param):
    return -8 * sigmoid(pa) * softplus(a_param)


def rglru_gates_forward(a, z, c, px, pa, a_param, pos, B, T, C):
    first = (positions(pos, B, T) == 0)[:, :, None]
    log_a = decay(pa, a_param)
    a[...] = np.where(first, 0, np.exp(log_a))
    z[...] = np.where(first, 1, np.sqrt(-np.expm1(2 * log_a))) * sigmoid(px) * c


def gate_slopes(da, dz, c, px, pa, a_param, pos):
    """dlog_a and m, the multiplier"""
    first = (positions(pos, *pa.shape[:2]) == 0)[:, :, None]
    log_a = decay(pa, a_param)
    a, q = np.exp(log_a), -np.expm1(2 * log_a)
    dq = dz * sigmoid(px) * c / np.sqrt(np.maximum(4 * q, 1e-6))
    return np.where(first, 0, da * a - 2 * a**2 * dq), np.where(first, 1, np.sqrt(q))


def rglru_gates_backward(
    dc, dpx, dpa, da_param, da, dz, c, px, pa, a_param, pos, B, T, C
):
    dlog_a, m = gate_slopes(da, dz, c, px, pa, a_param, pos)
    gx, ga = sigmoid(px), sigmoid(pa)
    dc[...] = dz * m * gx
    dpx[...] = dz * m * c * gx * (1 - gx)
    dpa[...] = -8 * softplus(a_param) * ga * (1 - ga) * dlog_a
    da_param += sigmoid(a_param) * total((-8 * ga * dlog_a).reshape(B * T, C), axis=0)[0]


# --- cases ------------------------------------------------------------------------------


def gate_matrices(call, G, M):
    for gate in "xa":
        call.input("w" + gate, call.normal((G, M, M), M**-0.5))
        call.input("b" + gate, call.rng.standard_normal((G, M)))


def block_linear_forward_data(call, R, G, M, skew=0):
    """skew: elements off 16-byte alignment"""
    for name in ("px", "pa"):
        call.out(name, (R, G, M), skew=skew, owner="element")
    call.input("c", call.normal((R, G, M)), skew=skew)
    gate_matrices(call, G, M)


def block_linear_backward_data(call, R, G, M, dc_in=1, inplace=0, skew=0):
    call.out("dc", (R, G, M), at="dc_in" if inplace else None, skew=skew, owner="element")
    for gate in "xa":
        call.acc("dw" + gate, (G, M, M), owner="element")
        call.acc("db" + gate, (G, M), owner="element")
    if dc_in:
        call.input("dc_in", call.normal((R, G, M)), skew=skew)
    else:
        call.null("dc_in")
    for name in ("dpx", "dpa"):
        call.input(name, call.normal((R, G, M), 0.5), skew=skew)
    call.input("c", call.normal((R, G, M)), skew=skew)
    for gate in "xa":
        call.input("w" + gate, call.normal((G, M, M), M**-0.5))


def documents(call, B, T, kind, lengths=None, last=1):
    """pos (B,T) or None. kind: none; starts (every sequence begins a document, and others
    follow); goes_on (all sequences except the second continue an earlier call, at 1, 2,
    3, ...); mixed (both). Some begin next to the end of a chunk of 16, 32, ... 1024 tokens.
    No document starts in the last `last` - 1 real tokens."""
    if kind == "none":
        return None
    if kind not in ("starts", "goes_on", "mixed"):
        raise wb.Broken(f"pos={kind}: use none, starts, goes_on or mixed")
    p = np.empty((B, T), int)
    for b in range(B):
        end = T if lengths is None else lengths[b]
        at = 0 if kind == "starts" or b == 1 else 1 + b
        edges = 2 ** np.arange(4, 11) + call.rng.integers(-1, 2, 7)
        edges = edges[call.rng.random(7) < 0.5]
        for t in range(T):
            rare = kind != "goes_on" and (call.rng.random() < 3 / T or t in edges)
            new = t > 0 and rare and t <= end - last
            at = 0 if new or t >= end else at
            p[b, t] = at
            at += 1
    return p


def with_infinite(x, pos, after):
    """x (B,T,C) with inf in a third of the channels, at the last token of each document
    that another follows, or (after) at the first token of that other one: inf times 0 is
    NaN, so a kernel must skip what lies across the start of a document"""
    starts = np.argwhere(pos[:, 1:] == 0)
    for b, t in starts:
        x[b, t + after, ::3] = np.inf
    return x


def row_lengths(call, B, T):
    lengths = call.rng.integers(T // 2, T + 1, B)
    lengths[0] = 0  # no tokens, and none before its end either
    return lengths


def integers(call, name, values):
    call.null(name, dtype="i32") if values is None else call.input(name, values, "i32")


def lay_out(call, names, role, values, ld, shift):
    """(B,T,C) in rows of ld elements. The gaps are random in an input and poison in an
    output, so a kernel that reads or writes them fails."""
    B, T, C = values.shape
    call.scalar("ld", ld)
    memory = None
    if role == "in":
        memory = call.normal((shift + B * T * ld,))
        at = shift + ld * np.arange(B * T)[:, None] + np.arange(C)
        memory[at] = values.reshape(B * T, C)
    call.buffer(names, memory, shift + B * T * ld)
    call.view(names, role, names, (B, T, C), shift, ld, owner="element")


def unread(nan):
    """what a state holds where it must not be read: 0 times NaN is seen, too"""
    return np.nan if nan else 3e4


def conv_weights(call, C, width):
    call.input("w", call.normal((C, width), width**-0.5))


def conv1d_forward_data(
    call, B, T, C, width=4, ld=0, pos="none", state=0, len=0, shift=0, nan=0, infinite=0,
    late=0
):
    """state=1: with a ring; late=1: documents may start in its last tokens, whose slots
    then hold anything (judge=out); len=1: sequences of unequal length; shift: elements off
    16-byte alignment; nan=1: what must not be read is NaN (some of it stays, so
    judge=out); infinite=1: documents end with inf"""
    lengths = row_lengths(call, B, T) if len else None
    p = documents(call, B, T, pos, lengths, width if state and not late else 1)
    call.out("out", (B, T, C), skew=shift, owner="element")
    if state:
        ring = call.normal((B, width, C), 2)
        for b in range(B):  # what must not be read is large
            known = 0 if p is None else p[b, 0]
            slots = [(known - 1 - k) % width for k in range(min(known, width - 1))]
            if not (len and lengths[b] == 0):
                ring[b, [s for s in range(width) if s not in slots]] = unread(nan)
        call.buffer("conv_state", ring)
        call.view("conv_state", "inout", "conv_state", (B, width, C), owner="element")
    else:
        call.null("conv_state", "inout")
    x = call.normal((B, T, C))
    lay_out(call, "x", "in", with_infinite(x, p, 0) if infinite else x, ld or C, shift)
    conv_weights(call, C, width)
    call.input("bias", call.rng.standard_normal(C))
    integers(call, "pos", p)
    integers(call, "len", lengths)


def conv1d_backward_data(
    call, B, T, C, width=4, ld=0, pos="none", shift=0, infinite=0
):
    """infinite=1: documents after the first begin with inf in dout (so judge=dx)"""
    p = documents(call, B, T, pos)
    lay_out(call, "dx", "out", np.empty((B, T, C)), ld or C, shift)
    call.acc("dw", (C, width), owner="element")
    call.acc("dbias", (C,), owner="column")
    dout = call.normal((B, T, C), 0.5)
    call.input("dout", with_infinite(dout, p, 1) if infinite else dout, skew=shift)
    lay_out(call, "x", "in", call.normal((B, T, C)), ld or C, shift)
    conv_weights(call, C, width)
    integers(call, "pos", p)


def gate_inputs(call, B, T, C, lowest, highest, far):
    """a_param between `lowest` and `highest`; far=1: some pre-activations from -110 to
    100, and one a_param of -120: there m is 0 in float"""
    call.input("c", call.normal((B, T, C)))
    for name in ("px", "pa"):
        p = call.normal((B, T, C), 1.5)
        if far:
            few = call.rng.random((B, T, C)) < 0.2
            p = np.where(few, call.rng.uniform(-110, 100, (B, T, C)), p)
        call.input(name, p)
    a_param = call.rng.uniform(lowest, highest, C)
    call.input("a_param", np.where(far & (np.arange(C) == 1), -120, a_param))


def rglru_gates_forward_data(
    call, B, T, C, lowest=-3.0, highest=3.0, far=0, pos="none", shift=0
):
    """shift: elements of a and z off 16-byte alignment"""
    for name in ("a", "z"):
        call.out(name, (B, T, C), "f32", skew=shift, owner="element")
    gate_inputs(call, B, T, C, lowest, highest, far)
    integers(call, "pos", documents(call, B, T, pos))


def rglru_gates_backward_data(
    call, B, T, C, lowest=-3.0, highest=3.0, far=0, pos="none", shift=0
):
    for name in ("dc", "dpx", "dpa"):
        call.out(name, (B, T, C), skew=shift, owner="element")
    call.acc("da_param", (C,), owner="column")
    for name in ("da", "dz"):
        call.input(name, call.normal((B, T, C)), "f32")
    gate_inputs(call, B, T, C, lowest, highest, far)
    integers(call, "pos", documents(call, B, T, pos))


# --- error model: see "Tolerance" in the header -----------------------------------------


def block_linear_forward_bounds(px, pa, c, wx, bx, wa, ba, M):
    def gate(w, b):
        return product(np.abs(c), np.abs(w)) + np.abs(b)

    return {
        "px": bound(gate(wx, bx), "|bx| + sum |c wx|", c=4, n=M + 1),
        "pa": bound(gate(wa, ba), "|ba| + sum |c wa|", c=4, n=M + 1),
    }


def block_linear_backward_bounds(
    dc, dwx, dbx, dwa, dba, dc_in, dpx, dpa, c, wx, wa, R, M
):
    past = 0 if dc_in is None else np.abs(dc_in)
    x, a, c = np.abs(dpx), np.abs(dpa), np.abs(c)
    all_of_dc = (
        past + product(x, transposed(np.abs(wx))) + product(a, transposed(np.abs(wa)))
    )

    def summed(M, M_text):
        return bound(M, M_text, c=4, n=R + 1)

    return {
        "dc": bound(all_of_dc, "|dc_in| + sum |dpx wx| + sum |dpa wa|", c=4, n=2 * M + 1),
        "dwx": summed(np.abs(dwx) + outer(c, x), "|dwx| + sum |c dpx|"),
        "dwa": summed(np.abs(dwa) + outer(c, a), "|dwa| + sum |c dpa|"),
        "dbx": summed(np.abs(dbx) + x.sum(0), "|dbx| + sum |dpx|"),
        "dba": summed(np.abs(dba) + a.sum(0), "|dba| + sum |dpa|"),
    }


def conv1d_forward_bounds(out, conv_state, conv_state_before, x, w, bias, pos, width):
    ring = None if conv_state is None else np.abs(conv_state_before)
    M = convolution(np.abs(x), ring, np.abs(w), np.abs(bias), pos, width)
    bounds = {"out": bound(M, "|bias| + sum |w x|", c=4, n=width + 1)}
    if conv_state is not None:
        bounds["conv_state"] = bound(exact=True)
    return bounds


def conv1d_backward_bounds(dx, dw, dbias, dout, x, w, pos, B, T, C, width, ld):
    M = [np.zeros_like(x), np.abs(dw), np.abs(dbias)]
    conv1d_backward(*M, np.abs(dout), np.abs(x), np.abs(w), pos, B, T, C, width, ld)
    return {
        "dx": bound(M[0], "sum |w dout|", c=4, n=width),
        "dw": bound(M[1], "|dw| + sum |dout x|", c=4, n=B * T + 1),
        "dbias": bound(M[2], "|dbias| + sum |dout|", c=4, n=B * T + 1),
    }


def roundings(px, pa, a_param):
    """The errors of the logistic functions and of a and z, in units of 2^-24: exp(z)
    loses up to 1.25 |z| in __expf, and is 0 or 1 beyond |z| = 128."""
    return 16 + 1.25 * sum(np.minimum(np.abs(z), 128) for z in (px, pa, a_param))


ROUNDINGS = "16 + 1.25 (|px| + |pa| + |a_param|)"


def gate_bound(M, M_text, lost, least=0.0):
    """lost: see roundings; least: the size below which a logistic function loses bits or
    is 0"""
    M = np.maximum(M, least * 2.0**-126 / (lost * 2.0**-24))
    return bound(M, M_text, c=lost, c_text=ROUNDINGS)


def never_forgets(pa, a_param):
    """Is m perhaps 0 in float? Below 2^-120 = exp(-83), log_a and its factors lose bits
    or are 0."""
    few = np.abs(decay(pa, a_param)) < 2.0**-120
    return few | (np.minimum(pa, a_param) < -83)


def root_lost(x, pa, a_param):
    """|x| m in units of 2^-24 where m may be 0"""
    m = np.sqrt(-np.expm1(2 * decay(pa, a_param)))
    return np.where(never_forgets(pa, a_param), np.abs(x) * m * 2.0**24, 0)


def rglru_gates_forward_bounds(a, z, c, px, pa, a_param):
    log_a, lost = decay(pa, a_param), roundings(px, pa, a_param)
    of_z = np.abs(z) + root_lost(sigmoid(px) * c, pa, a_param)
    return {
        "a": gate_bound(np.abs(a) * (1 - log_a), "|a| (1 + |log_a|)", lost, 1.0),
        "z": gate_bound(of_z, "|z|", lost, np.abs(c)),
    }


def slope_size(da, dz, c, px, pa, a_param, pos):
    """the sizes of the two terms of dlog_a; an error of log_a is a relative error of a"""
    first = (positions(pos, *pa.shape[:2]) == 0)[:, :, None]
    log_a = decay(pa, a_param)
    a, q = np.exp(log_a), -np.expm1(2 * log_a)
    dq = np.abs(dz * sigmoid(px) * c) / np.sqrt(np.maximum(4 * q, 1e-6))
    M = np.abs(da) * a * (1 - log_a) + 2 * a**2 * dq * (1 - 2 * log_a)
    return np.where(first, 0, M)


def rglru_gates_backward_bounds(
    dc, dpx, dpa, da_param, da, dz, c, px, pa, a_param, pos, B, T, C
):
    M = slope_size(da, dz, c, px, pa, a_param, pos)
    gx, part = sigmoid(px), np.abs(dc * c)
    summed = sigmoid(a_param) * (8 * sigmoid(pa) * M).sum((0, 1))
    lost = roundings(px, pa, a_param)
    return {
        "dc": gate_bound(
            np.abs(dc) + root_lost(dz * gx, pa, a_param), "|dc|", lost, np.abs(dz)
        ),
        "dpx": gate_bound(
            part + root_lost(dz * c * gx * (1 - gx), pa, a_param),
            "|dz m c gx|",
            lost,
            np.abs(dz * c),
        ),
        "dpa": gate_bound(
            8 * softplus(a_param) * sigmoid(pa) * M,
            "8 softplus ga (|da| a (1 + |log_a|) + 2 a^2 |dq| (1 + 2 |log_a|))",
            lost,
            8 * (1 + softplus(a_param)) * (np.abs(da) + 2e3 * np.abs(dz * c)),
        ),
        "da_param": bound(
            np.abs(da_param) + summed,
            "|da_param| + s(a_param) sum 8 ga |terms of dlog_a|",
            c=np.max(lost, (0, 1)),
            n=B * T + 1,
            c_text=f"max({ROUNDINGS})",
        ),
    }
