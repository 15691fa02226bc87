"""rope_mistakes.py - what kernels with known mistakes compute in lab 02, so that the
report can name them.
"""

import numpy as np

from rope_formulas import angles, positions, rotate
from wb import rounded


def float_frequencies(i, N, base):
    """base^(-2i/N) by powf and expf, in the usual ways to write it"""
    f32 = np.float32
    x = f32(2) * f32(i) / f32(N)
    one, log = f32(1), np.log(f32(base))
    ways = {
        "rounded": f32(float(base) ** (-2 * i / N)),
        "float": f32(float(base) ** -x.astype(np.float64)),
        "inverse": one / f32(float(base) ** x.astype(np.float64)),
        "exponential": np.exp((-x * log).astype(np.float64)).astype(f32),
    }
    for cause, frequency in ways.items():
        yield cause, frequency.astype(np.float64)


def rope_table_mistakes(cis, P, N, base):
    def table(a):
        return {"cis": np.stack([np.cos(a), np.sin(a)], -1)}

    a, p, i = angles(P, N, base), np.arange(P)[:, None], np.arange(N // 2)
    yield "swapped", "cosine and sine are swapped", {"cis": cis[..., ::-1]}
    in_float = np.float32(base ** (-2 * i / N)) * p.astype(np.float32)
    yield "float_angle", (
        "the angle is computed in float, with an error of 2^-24 p: use double"
    ), (table(in_float.astype(np.float64)))
    for cause, frequency in float_frequencies(i, N, base):
        yield f"{cause}_power", (
            "base^(-2i/N) is computed in float, which gives the angle an error of 2^-24 "
            "p: use double"
        ), table(frequency * p)
    exponent = np.float32(-1) * np.float32(i) / np.float32(N // 2)
    yield "exponent_float", (
        "the exponent -2i/N is rounded to float, which gives the angle an error of 2^-24 "
        "p: divide in double"
    ), table(float(base) ** exponent.astype(np.float64) * p)
    yield "exponent_half", "the exponent is -i/N, but it should be -2i/N", table(
        p * base ** (-i / N)
    )
    yield "exponent_twice", "the exponent is -4i/N, but it should be -2i/N", table(
        p * base ** (-4 * i / N)
    )
    yield "exponent_next", "the exponent is -2(i+1)/N, but i should start at 0", (
        table(p * base ** (-2 * (i + 1) / N))
    )
    yield "exponent_sign", "the exponent has the wrong sign: it should be -2i/N", (
        table(p * base ** (2 * i / N))
    )
    yield "position_next", "row p holds the angles of position p + 1", table(
        angles(P + 1, N, base)[1:]
    )
    yield "sine_sign", "the sine has the wrong sign", {"cis": cis * [1, -1]}
    yield "base_built_in", "the base is 10000, but it should be the argument base", (
        table(angles(P, N, 10000.0))
    )
    yield "float_functions", (
        "the angle is rounded to float before cosf and sinf: use double for them too"
    ), table(np.float32(a).astype(np.float64))
    yield "no_position", "the angle does not depend on the position", table(
        np.broadcast_to(angles(2, N, base)[1:], a.shape)
    )
    yield "split", "all cosines of a row come first: store (cosine, sine) of each pair", {
        "cis": np.concatenate([np.cos(a), np.sin(a)], -1).reshape(cis.shape)
    }
    yield "turns", "the angle is multiplied by 2 pi: it is in radians already", (
        table(a * 2 * np.pi)
    )
    yield "natural", "exp(-2i/N) in place of base^(-2i/N)", table(p * np.exp(-2 * i / N))
    yield "base_two", "exp2 is used with the natural logarithm of the base", (
        table(p * 2.0 ** (-2 * i / N * np.log(base)))
    )
    if N > 2:
        yield "exponent_end", (
            "the exponents run to -1, but the last one should be -2(N/2-1)/N"
        ), table(p * base ** (-i / (N / 2 - 1)))
        yield "transposed", "position and pair are swapped: row p belongs to position p", {
            "cis": np.swapaxes(
                np.stack([np.cos(a), np.sin(a)], -1).reshape(N // 2, P, 2), 0, 1
            )
        }


def told_of_pairs(told, heads, right, cis, p, sign, N):
    """mistakes in the formula of one pair"""
    i, j = slice(0, N // 2), slice(N // 2, N)
    c, s = cis[p][:, :, None, :, 0], sign * cis[p][:, :, None, :, 1]
    a, b = heads[..., i], heads[..., j]

    def pairs(first, second):
        y = heads.copy()
        y[..., i], y[..., j] = first, second
        return y

    yield told(
        "used_new",
        "x_i is overwritten before out_j reads it: read both first",
        pairs(right[..., i], b * c + right[..., i] * s),
    )
    yield told(
        "half_done",
        "only the first channel of each pair is rotated",
        pairs(right[..., i], b),
    )
    yield told(
        "plus",
        "out_i = x_i c + x_j s: it should be a minus",
        pairs(a * c + b * s, right[..., j]),
    )
    yield told(
        "minus",
        "out_j = x_j c - x_i s: it should be a plus",
        pairs(right[..., i], b * c - a * s),
    )
    yield told("only_cosine", "the terms with the sine are missing", pairs(a * c, b * c))
    yield told(
        "wrong_partner",
        "the sine multiplies the channel itself: out_i needs x_j, and out_j needs x_i",
        pairs(a * c - a * s, b * c + b * s),
    )
    yield told(
        "swapped_results",
        "the two results of a pair are swapped",
        pairs(right[..., j], right[..., i]),
    )


def told_of_table(told, rotated, cis, p, B, T, H, D, N):
    """mistakes in the use of the table"""
    flat = np.concatenate([cis.ravel(), np.full(len(cis) * D, np.nan)])
    for cause, stride, words in (
        ("table_of_d", D, "D apart, but they are N floats apart"),
        ("table_half", N // 2, "N/2 floats apart, but they are N floats apart"),
    ):
        rows = stride * np.arange(len(cis))[:, None] + np.arange(N)
        yield told(
            cause,
            f"the rows of the table are read {words}",
            rotated(cis=flat[rows].reshape(cis.shape)),
        )
    yield told(
        "first_angle",
        "every pair is rotated by the angle of pair 0",
        rotated(cis=np.broadcast_to(cis[:, :1], cis.shape)),
    )
    yield told(
        "next_pair",
        "pair i is rotated by the angle of pair i + 1",
        rotated(cis=np.roll(cis, -1, 1)),
    )
    c, s = cis[..., 0], cis[..., 1]
    doubled = np.stack([c**2 - s**2, 2 * c * s], -1)
    yield told("twice", "rotated by twice the angle", rotated(cis=doubled))
    for E, bits in (("bf16", 8), ("f16", 11)):
        yield told(
            f"table_{E}",
            f"cosine and sine are rounded to {E} ({bits} bits): keep the table in float",
            rotated(cis=rounded(cis, E)),
        )


def rotation_mistakes(name, x_name, x, cis, pos, sign, B, T, H, D, N, ld, memory):
    p = positions(pos, B, T)

    def told(cause, words, y):
        return cause, words, {name: np.reshape(y, x.shape)}

    def rotated(p=p, sign=sign, cis=cis, **how):
        return rotate(x, cis, p, sign, B, T, H, D, N, **how)

    read_at = H * D * np.arange(B * T)[:, None] + np.arange(H * D)
    if ld != H * D:
        yield told(
            "ld_ignored",
            "token k is read at k*H*D, but it starts at k*ld",
            rotate(memory(x_name, read_at), cis, p, sign, B, T, H, D, N),
        )
    yield told(
        "sign",
        "rotated in the wrong direction: the sine has the wrong sign",
        rotated(sign=-sign),
    )
    if N > 2:
        yield told(
            "interleaved",
            "the pairs are neighbours (2i, 2i+1), but pair i should be (i, i + N/2)",
            rotated(interleaved=True),
        )
    if N > 0:
        yield told(
            "swapped",
            "the cosine and the sine of the table are swapped",
            rotated(cis=cis[..., ::-1]),
        )
    heads, right = x.reshape(B, T, H, D), rotated().reshape(B, T, H, D)
    if N > 0:
        yield from told_of_pairs(told, heads, right, cis, p, sign, N)
        yield from told_of_table(told, rotated, cis, p, B, T, H, D, N)
    if 0 < N < D:
        whole, far = np.arange(N // 2), np.arange(N // 2) + D // 2
        c, s = cis[p][:, :, None, :, 0], sign * cis[p][:, :, None, :, 1]
        y = heads.copy()
        y[..., whole] = heads[..., whole] * c - heads[..., far] * s
        y[..., far] = heads[..., far] * c + heads[..., whole] * s
        yield told(
            "pair_of_d", "pair i is (i, i + D/2), but it should be (i, i + N/2)", y
        )
    if pos is not None and np.max(pos, initial=0) >= 1 << 16:
        yield told(
            "pos_wraps",
            "the position is kept in 16 bits: it is an int",
            rotated(pos % (1 << 16)),
        )
    if pos is not None and T <= len(cis):
        yield told(
            "pos_ignored",
            "pos is ignored: the position is pos[b,t], not t",
            rotated(positions(None, B, T)),
        )
    if pos is not None and B > 1:
        yield told(
            "pos_of_t",
            "pos is read at t, but it should be pos[b*T + t]",
            rotated(np.broadcast_to(pos[:1], (B, T))),
        )
        yield told(
            "pos_of_sequence",
            "pos is read once per sequence, but every token has its own",
            rotated(np.broadcast_to(pos[:, :1], (B, T))),
        )
    if pos is not None and B * T <= len(cis):
        yield told(
            "pos_is_token",
            "pos is ignored: the position is pos[b,t], not b*T + t",
            rotated(np.arange(B * T).reshape(B, T)),
        )
    if pos is None and B * T <= len(cis):
        yield told(
            "counts_on",
            "positions continue from one sequence to the next: each starts at 0",
            rotated(np.arange(B * T).reshape(B, T)),
        )
    yield told(
        "next",
        "row p + 1 of the table is used in place of row p",
        rotated((p + 1) % len(cis)),
    )
    yield told(
        "before",
        "row p - 1 of the table is used in place of row p",
        rotated((p - 1) % len(cis)),
    )
    if H > 1:
        y = heads.copy()
        y[:, :, 0] = right[:, :, 0]
        yield told("first_head", "only the first head is rotated", y)
        each = (np.arange(H) + p[:, :, None]) % len(cis)
        y = [rotated(each[..., h]).reshape(heads.shape)[:, :, h] for h in range(H)]
        yield told(
            "position_of_head",
            "the position counts heads too: all heads of a token have its position",
            np.stack(y, 2),
        )
    if B > 1:
        y = heads.copy()
        y[0] = right[0]
        yield told("first_sequence", "only the first sequence is rotated", y)
    if N < D:
        y = right.copy()
        y[..., N:] = 0
        yield told("rest_zero", "the channels N..D-1 become 0: copy them", y)


def rope_forward_mistakes(out, x, cis, pos, B, T, H, D, N, ld, memory):
    yield from rotation_mistakes(
        "out", "x", x, cis, pos, 1, B, T, H, D, N, ld, memory
    )


def rope_backward_mistakes(dx, dout, cis, pos, B, T, H, D, N, ld, memory):
    yield from rotation_mistakes(
        "dx", "dout", dout, cis, pos, -1, B, T, H, D, N, ld, memory
    )
