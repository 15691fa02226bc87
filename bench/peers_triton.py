"""peers_triton.py - the recurrence of lab 06 in Triton, in the same layout (B,T,C): with
tl.associative_scan, and with a loop over time.

A tile is BT tokens by BC channels. `tiles` processes the tiles one after another and
carries the state in registers, so it reads and writes everything once, with B C / BC
programs. `twice` first reduces all tiles in parallel, then carries the state between
them, then computes them again: more programs, but it reads twice. Backwards in time
(BACK), row i of the scan is token T-1-i."""

import triton
import triton.language as tl


@triton.jit
def after(a1, z1, a2, z2):
    return a1 * a2, a2 * z1 + z2


@triton.jit
def tile(a, z, i, c, T, C, BACK: tl.constexpr):
    """coefficients and terms of rows i; the identity past the end"""
    inside = (i[:, None] < T) & (c[None, :] < C)
    if BACK:
        t = T - 1 - i
        coefficient = tl.load(
            a + (t[:, None] + 1) * C + c[None, :], mask=inside & (i[:, None] > 0), other=1.0
        )
    else:
        t = i
        coefficient = tl.load(a + t[:, None] * C + c[None, :], mask=inside, other=1.0)
    term = tl.load(z + t[:, None] * C + c[None, :], mask=inside, other=0.0)
    return coefficient.to(tl.float32), term.to(tl.float32)


@triton.jit
def store_states(s, out, da, h, i, c, T, C, BACK: tl.constexpr):
    """writes the states; backwards also da[t] = dz[t] h[t-1]"""
    inside = (i[:, None] < T) & (c[None, :] < C)
    t = i
    if BACK:
        t = T - 1 - i
        at = t[:, None] * C + c[None, :]
        before = tl.load(h + at - C, mask=inside & (t[:, None] > 0), other=0.0)
        tl.store(da + at, s * before.to(tl.float32), mask=inside)
    tl.store(out + t[:, None] * C + c[None, :], s, mask=inside)


@triton.jit
def last_row(x, BT: tl.constexpr):
    return tl.sum(tl.where(tl.arange(0, BT)[:, None] == BT - 1, x, 0.0), 0)


@triton.jit
def tiles(
    out, da, a, z, h, T, C, BT: tl.constexpr, BC: tl.constexpr, BACK: tl.constexpr
):
    c = tl.program_id(0) * BC + tl.arange(0, BC)
    row = tl.program_id(1).to(tl.int64) * T * C
    state = tl.zeros([BC], tl.float32)
    for first in range(0, T, BT):
        i = first + tl.arange(0, BT)
        A, Z = tile(a + row, z + row, i, c, T, C, BACK)
        A, Z = tl.associative_scan((A, Z), 0, after)
        Z += A * state[None, :]
        store_states(Z, out + row, da + row, h + row, i, c, T, C, BACK)
        state = last_row(Z, BT)


@triton.jit
def loop(out, da, a, z, h, T, C, BC: tl.constexpr, U: tl.constexpr, BACK: tl.constexpr):
    """one token per iteration, U of them unrolled"""
    c = tl.program_id(0) * BC + tl.arange(0, BC)
    row = tl.program_id(1).to(tl.int64) * T * C
    state = tl.zeros([1, BC], tl.float32)
    for first in range(0, T, U):
        for u in tl.static_range(U):
            i = first + u + tl.arange(0, 1)
            A, Z = tile(a + row, z + row, i, c, T, C, BACK)
            state = A * state + Z
            store_states(state, out + row, da + row, h + row, i, c, T, C, BACK)


@triton.jit
def reduce_tiles(
    totals, a, z, T, C, BT: tl.constexpr, BC: tl.constexpr, BACK: tl.constexpr
):
    """totals (2,B,tiles,C): the effect of each tile on a state"""
    c = tl.program_id(0) * BC + tl.arange(0, BC)
    i = tl.program_id(1) * BT + tl.arange(0, BT)
    row = tl.program_id(2).to(tl.int64) * T * C
    A, Z = tile(a + row, z + row, i, c, T, C, BACK)
    A, Z = tl.associative_scan((A, Z), 0, after)
    count = tl.num_programs(1)
    at = (tl.program_id(2) * count + tl.program_id(1)) * C + c
    tl.store(totals + at, last_row(A, BT), mask=c < C)
    at += tl.num_programs(2) * count * C
    tl.store(totals + at, last_row(Z, BT), mask=c < C)


@triton.jit
def carry_tiles(totals, count, C, BC: tl.constexpr):
    """replaces the second half of totals by the state before each tile"""
    c = tl.program_id(0) * BC + tl.arange(0, BC)
    half = tl.num_programs(1) * count * C
    at = tl.program_id(1) * count * C + c
    state = tl.zeros([BC], tl.float32)
    for _ in range(count):
        A = tl.load(totals + at, mask=c < C, other=0.0)
        Z = tl.load(totals + half + at, mask=c < C, other=0.0)
        tl.store(totals + half + at, state, mask=c < C)
        state = A * state + Z
        at += C


@triton.jit
def finish_tiles(
    out, da, a, z, h, totals, T, C, BT: tl.constexpr, BC: tl.constexpr, BACK: tl.constexpr
):
    c = tl.program_id(0) * BC + tl.arange(0, BC)
    i = tl.program_id(1) * BT + tl.arange(0, BT)
    row = tl.program_id(2).to(tl.int64) * T * C
    A, Z = tile(a + row, z + row, i, c, T, C, BACK)
    A, Z = tl.associative_scan((A, Z), 0, after)
    count = tl.num_programs(1)
    at = ((tl.num_programs(2) + tl.program_id(2)) * count + tl.program_id(1)) * C + c
    state = tl.load(totals + at, mask=c < C, other=0.0)
    store_states(Z + A * state[None, :], out + row, da + row, h + row, i, c, T, C, BACK)


def scan_by(name, out, da, a, z, h, totals, back):
    """One of "tiles", "loop", "twice". da and h are used backwards only."""
    B, T, C = a.shape
    if name == "loop":
        loop[triton.cdiv(C, 32), B](
            out, da, a, z, h, T, C, BC=32, U=8, BACK=back, num_warps=1
        )
        return
    if name == "tiles":
        tiles[triton.cdiv(C, 32), B](
            out, da, a, z, h, T, C, BT=32, BC=32, BACK=back, num_warps=4
        )
        return
    count = triton.cdiv(T, TOKENS)
    grid = triton.cdiv(C, 64), count, B
    options = dict(BT=TOKENS, BC=64, BACK=back, num_warps=4)
    reduce_tiles[grid](totals, a, z, T, C, **options)
    carry_tiles[triton.cdiv(C, 128), B](totals, count, C, BC=128, num_warps=4)
    finish_tiles[grid](out, da, a, z, h, totals, T, C, **options)


TOKENS = 64  # per tile of `twice`


# --- the fused RG-LRU -------------------------------------------------------------------


@triton.jit
def softplus(x):
    return tl.where(x > 20.0, x, tl.log(1.0 + tl.exp(x)))


@triton.jit
def gate(x):
    return 1.0 / (1.0 + tl.exp(-x))


@triton.jit
def load(p, at, inside):
    return tl.load(p + at, mask=inside, other=0.0).to(tl.float32)


@triton.jit
def gelu_and_slope(y):
    """the tanh approximation"""
    inner = 0.7978845608 * (y + 0.044715 * y * y * y)
    s = gate(2.0 * inner)
    slope = s + y * 2.0 * s * (1.0 - s) * 0.7978845608 * (1.0 + 3 * 0.044715 * y * y)
    return y * s, slope


@triton.jit
def decay(pa, rate):
    return tl.exp(rate * gate(pa))


@triton.jit
def rglru_tiles(
    out, h, c_, px, pa, y, a_param, T, C, BT: tl.constexpr, BC: tl.constexpr
):
    c = tl.program_id(0) * BC + tl.arange(0, BC)
    row = tl.program_id(1).to(tl.int64) * T * C
    rate = -8.0 * softplus(load(a_param, c, c < C))[None, :]
    state = tl.zeros([BC], tl.float32)
    for first in range(0, T, BT):
        t = first + tl.arange(0, BT)
        inside = (t[:, None] < T) & (c[None, :] < C)
        at = row + t[:, None] * C + c[None, :]
        start = t[:, None] == 0
        a = tl.where(start, 0.0, decay(load(pa, at, inside), rate))
        z = tl.sqrt(1.0 - a * a) * gate(load(px, at, inside)) * load(c_, at, inside)
        A, Z = tl.associative_scan((a, z), 0, after)
        Z += A * state[None, :]
        state = last_row(Z, BT)
        side, _ = gelu_and_slope(load(y, at, inside))
        tl.store(h + at, Z, mask=inside)
        tl.store(out + at, Z * side, mask=inside)


@triton.jit
def rglru_tiles_back(
    dc, dpx, dpa, dy, da_param, dout, c_, px, pa, y, h, a_param, T, C,
    BT: tl.constexpr, BC: tl.constexpr,
):
    """da_param (B,C): a partial sum per sequence"""
    c = tl.program_id(0) * BC + tl.arange(0, BC)
    row = tl.program_id(1).to(tl.int64) * T * C
    parameter = load(a_param, c, c < C)
    rate = -8.0 * softplus(parameter)[None, :]
    state = tl.zeros([BC], tl.float32)
    total = tl.zeros([BC], tl.float32)
    for first in range(0, T, BT):
        i = first + tl.arange(0, BT)
        t = T - 1 - i
        inside = (i[:, None] < T) & (c[None, :] < C)
        at = row + t[:, None] * C + c[None, :]
        later = inside & (i[:, None] > 0)
        a_later = tl.where(later, decay(load(pa, at + C, later), rate), 0.0)
        g, above = load(y, at, inside), load(dout, at, inside)
        side, slope = gelu_and_slope(g)
        tl.store(dy + at, above * load(h, at, inside) * slope, mask=inside)
        A, Z = tl.associative_scan((a_later, above * side), 0, after)
        dz = Z + A * state[None, :]
        state = last_row(dz, BT)

        x, gx = load(c_, at, inside), gate(load(px, at, inside))
        ga = gate(load(pa, at, inside))
        start = t[:, None] == 0
        a = tl.where(start, 0.0, tl.exp(rate * ga))
        q = 1.0 - a * a
        m = tl.sqrt(q)
        dq = dz * gx * x / tl.sqrt(tl.maximum(4.0 * q, 1e-6))
        da = dz * load(h, at - C, inside & (t[:, None] > 0))
        dlog = tl.where(start | (i[:, None] >= T), 0.0, da * a - 2.0 * a * a * dq)
        tl.store(dc + at, dz * m * gx, mask=inside)
        tl.store(dpx + at, dz * m * x * gx * (1.0 - gx), mask=inside)
        tl.store(dpa + at, rate * ga * (1.0 - ga) * dlog, mask=inside)
        total += tl.sum(-8.0 * ga * dlog, 0)
    at = tl.program_id(1) * C + c
    tl.store(da_param + at, gate(parameter) * total, mask=c < C)


def rglru_by_tiles(out, h, c, px, pa, y, a_param):
    B, T, C = c.shape
    rglru_tiles[triton.cdiv(C, 32), B](
        out, h, c, px, pa, y, a_param, T, C, BT=32, BC=32, num_warps=4
    )


def rglru_back_by_tiles(dc, dpx, dpa, dy, da_param, dout, c, px, pa, y, h, a_param):
    B, T, C = c.shape
    rglru_tiles_back[triton.cdiv(C, 32), B](
        dc, dpx, dpa, dy, da_param, dout, c, px, pa, y, h, a_param, T, C, BT=32, BC=32,
        num_warps=4,
    )
