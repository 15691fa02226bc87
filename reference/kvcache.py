"""kvcache.py - lab 07 in float64. The contract is labs/lab07_kvcache/kvcache.h.

    python reference/kvcache.py     checks that tokens, chunks and whole sequences agree

Arrays are (..., K*D) where the contract says (..., K, D): the heads of a token follow
each other. kvcache_formulas.py has the formulas, kvcache_mistakes.py the known mistakes,
sampling.py has sample.
"""

import numpy as np

import wb
from kvcache_formulas import *
from kvcache_mistakes import *
from rope import rope_table
from sampling import sample, sample_bounds, sample_data, sample_mistakes  # noqa: F401
from wb import bound

# --- cases ------------------------------------------------------------------------------


def cache(call, names, B, S, width, role="inout", fill=None):
    """Two rings with values in every slot, or NaN where the mask `fill` (b,slot) is
    true."""
    for name in names:
        values = call.normal((B, S, width))
        if fill is not None:
            values[fill] = np.nan
        skew = call.skew(name)
        call.buffer(name, np.concatenate([np.ones(skew), values.ravel()]))
        call.view(name, role, name, values.shape, offset=skew)


def rows_of(call, name, shape, ld):
    """an input with ld elements from token to token; the gaps are random"""
    skew = call.skew(name)
    call.buffer(name, call.normal((skew + int(np.prod(shape[:-1])) * ld,)))
    call.view(name, "in", name, shape, offset=skew, stride=ld)


def change(call, name, by, D=1):
    """a buffer without gaps becomes by(its values), heads of D channels"""
    buffer = call.buffers[name]
    values = by(wb.decode(buffer["bits"], call.E).reshape(-1, D))
    buffer["bits"] = np.ravel(wb.encode(values, call.E))


def keys_and_values(call, shape, ldkv):
    ldkv = ldkv or shape[-1]
    call.scalar("ldkv", ldkv)
    rows_of(call, "k", shape, ldkv), rows_of(call, "v", shape, ldkv)


def kv_append_data(call, B, T, S, K, D, ldkv=0, pos="go_on", len="none"):
    """pos: none (NULL), start (0, 1, ...), go_on (from any position) or documents
    (several in each sequence). len: none (NULL) or any (0 and T too). Padding has pos
    0."""
    t, rng = np.arange(T), call.rng
    length = np.full(B, T) if len == "none" else rng.integers(0, T + 1, B)
    if len != "none":
        few = max(T // 2, 1)  # 0 first: nothing precedes pos, so pos[-1] is out of bounds
        length[: min(B, 3)] = [0, T, few] if B > 2 else [few, T][:B]
    if pos == "documents":
        starts = rng.random((B, T)) < 3 / T
        starts[:, 0] = True
        if B > 1:  # a short last document after a longer one
            starts[1, -13:] = np.arange(13)[-T:] == 9
        p = t - np.maximum.accumulate(np.where(starts, t, 0), axis=1)
    else:
        first = (
            rng.integers(1, 3 * S + 2, (B, 1))
            if pos == "go_on"
            else np.zeros((B, 1), int)
        )
        p = t + first
    p = np.where(t < length[:, None], p, 0)
    cache(call, ("kcache", "vcache"), B, S, K * D)
    keys_and_values(call, (B, T, K * D), ldkv)
    call.null("pos", dtype="i32") if pos == "none" else call.input("pos", p, "i32")
    call.null("len", dtype="i32") if len == "none" else call.input("len", length, "i32")


def kv_unroll_data(call, B, T, S, K, D, ldkv=0, start="any", docs=0):
    """start: the first position: any, short (before the ring is full) or zero. docs=1:
    documents start within the chunk."""
    first = {
        "any": call.rng.integers(S, 4 * S, B),
        "short": call.rng.integers(0, S, B),
        "zero": np.zeros(B, int),
    }[start]
    first[0] = {"any": 2 * S + S // 2, "short": S - 1, "zero": 0}[start]
    if B > 1 and start != "zero":
        first[1] = {"any": S, "short": S // 2}[start]
    filled = np.arange(S) < np.minimum(first, S)[:, None]
    call.out("kall", (B, S + T, K * D)), call.out("vall", (B, S + T, K * D))
    cache(call, ("kcache", "vcache"), B, S, K * D, "in", ~filled)
    keys_and_values(call, (B, T, K * D), ldkv)
    t = np.arange(T)
    new = np.where(docs, T // 2, T)  # where the next document starts
    call.input("pos", np.where(t < max(new, 1), first[:, None] + t, t - new), "i32")


def attention_decode_data(
    call,
    B,
    S,
    K,
    D,
    H=None,
    G=1,
    N=None,
    pad=0,
    scale=0.0,
    pos="any",
    nan=0,
    rotate=1,
    sharp=1.0,
    shift=0.0,
    ramp=0.0,
    spike=0.0,
):
    """G: heads of a group; without H, it is K*G. pos: any, zero (a first token), short
    (the ring is not full), full (just full), wrap (after that). nan=1: slots that hold no
    position yet are NaN. pad: elements between the queries and keys of tokens. scale=0:
    D^-1/2. sharp: a factor of the queries. shift: the last channel, which is not rotated
    (N < D), moves all scores by this much; next to so large a product each of the others
    adds a rounding error, so only the first two are not 0. ramp: the last channel makes
    the scores grow by this much from the first slot to the last. spike: the last channel
    makes one slot of each sequence score this much more than the others."""
    rng, N, scale = call.rng, D if N is None else N, scale or float(D) ** -0.5
    low, high = {
        "any": (0, 3 * S + 2),
        "zero": (0, 1),
        "short": (0, S),
        "full": (S, S + 1),
        "wrap": (S + 1, 4 * S + 2),
    }[pos]
    p = rng.integers(low, high, B)
    if pos == "any":
        p[:2] = [2 * S + S // 2, S // 2][: min(B, 2)]
    H = K * G if H is None else H
    call.scalar("H", H), call.scalar("N", N), call.scalar("scale", scale)
    call.scalar("ldq", H * D + pad), call.scalar("ldkv", K * D + pad)
    call.out("out", (B, H * D))
    unused = np.arange(S) >= np.minimum(p, S)[:, None]
    cache(call, ("kcache", "vcache"), B, S, K * D, fill=unused if nan else None)
    rows_of(call, "q", (B, H * D), H * D + pad)
    for name in ("k", "v"):
        rows_of(call, name, (B, K * D), K * D + pad)
    change(call, "q", lambda q: sharp * q)
    if shift:
        large = min(abs(shift / scale), 3e4)
        few = np.arange(D) < 2
        change(call, "q", lambda q: np.where(few, q, large * (np.arange(D) == D - 1)), D)
        for name in ("k", "kcache"):
            key = shift / scale / large
            change(call, name, lambda k: np.where(np.arange(D) < D - 1, k, key), D)
    if ramp or spike:
        last, row = np.arange(D) == D - 1, np.arange(B * S * K)[:, None] // K
        one = rng.integers(0, np.clip(p, 1, S))[row // S]
        extra = ramp * (row % S) / S + spike * (row % S == one)
        change(call, "q", lambda q: np.where(last, 1, q), D)
        change(call, "kcache", lambda k: np.where(last, extra / scale, k), D)
    cis = np.empty((high + 1, N // 2, 2))
    rope_table(cis, len(cis), N, 10000.0)
    call.input("cis", cis, "f32") if rotate else call.null("cis", dtype="f32")
    call.input("pos", p, "i32")


# --- error model: see "Tolerance" in the header -----------------------------------------


def kv_append_bounds():
    return {"kcache": bound(exact=True), "vcache": bound(exact=True)}


def kv_unroll_bounds():
    return {"kall": bound(exact=True), "vall": bound(exact=True)}


def attention_decode_bounds(
    kcache, q, k, v, cis, pos, B, S, H, K, D, N, scale, kcache_before, vcache_before, E
):
    ring = kcache_before, vcache_before
    qt, kt = (rotate_heads(x, cis, pos, D, N) for x in (q, k))
    _, error, M = decoded(qt, kt, v, *ring, pos, S, H, K, D, scale)
    unit = wb.TYPES[E]["unit"] * 2.0**24  # u M more, in units of 2^-24 M
    c = np.repeat(16 + error + unit, D, axis=-1)
    far = np.zeros(kcache.shape)
    far[np.arange(B), pos % S] = np.abs(k) + np.max(np.abs(k))
    text = "16 + max(|s| sqrt(D), |scale| sum |q k|) + 2^24 u"
    return {
        "out": bound(M, "sum p|v|", c=c, c_text=text, n=S + 1),
        "kcache": bound(far, "|k_i| + |k_j|, 0 in other slots", c=4),
        "vcache": bound(exact=True),
    }


# --- checks of this file ----------------------------------------------------------------


class Model:
    """A sequence of tokens, and attention over all of it with the mask of the header."""

    def __init__(self, T, S, H=4, K=2, D=8, N=4):
        self.sizes, self.scale = (S, H, K, D), 0.3
        self.T, self.N, rng = T, N, np.random.default_rng(7)
        self.q, self.k, self.v = (rng.standard_normal((T, n * D)) for n in (H, K, K))
        self.cis = np.empty((T, N // 2, 2))
        rope_table(self.cis, T, N, 100.0)
        at = np.arange(T)
        self.rotated_q = rotate_heads(self.q, self.cis, at, D, N)
        self.rotated_k = rotate_heads(self.k, self.cis, at, D, N)

    def full(self):
        S, H, K, D = self.sizes
        heads, rows = np.arange(H) // (H // K), []
        for i in range(self.T):
            seen = slice(max(0, i - S), i + 1)
            keys, values = (x[seen].reshape(-1, K, D) for x in (self.rotated_k, self.v))
            rows.append(
                attend(
                    self.rotated_q[i].reshape(H, D), keys, values, self.scale, heads, D
                )[0]
            )
        return np.stack(rows)

    def rings(self):
        S, _, K, D = self.sizes
        return np.full((2, 1, S, K * D), np.nan)

    def append(self, rings, t0, t1):
        S, _, K, D = self.sizes
        k, v, pos = (
            self.rotated_k[None, t0:t1],
            self.v[None, t0:t1],
            np.arange(t0, t1)[None],
        )
        kv_append(*rings, k, v, pos, None, 1, t1 - t0, S, K, D, K * D)

    def one_by_one(self, rings, start):
        S, H, K, D = self.sizes
        out = np.empty((self.T, H * D))
        for t in range(start, self.T):
            attention_decode(
                out[t : t + 1], *rings, self.q[t : t + 1], self.k[t : t + 1],
                self.v[t : t + 1], self.cis, np.array([t]), 1, S, H, K, D, self.N, H * D,
                K * D, self.scale,
            )  # fmt: skip
        return out[start:]

    def chunked(self, chunk):
        S, H, K, D = self.sizes
        rings, heads, rows = self.rings(), np.arange(H) // (H // K), []
        for t0 in range(0, self.T, chunk):
            t1 = min(self.T, t0 + chunk)
            n = t1 - t0
            kall, vall = np.empty((2, 1, S + n, K * D))
            kv_unroll(
                kall, vall, *rings, self.rotated_k[None, t0:t1], self.v[None, t0:t1],
                np.arange(t0, t1)[None], 1, n, S, K, D, K * D,
            )  # fmt: skip
            for t in range(n):
                i = S + t
                seen = slice(i - min(t0 + t, S), i + 1)
                keys, values = (x[0, seen].reshape(-1, K, D) for x in (kall, vall))
                q = self.rotated_q[t0 + t].reshape(H, D)
                rows.append(attend(q, keys, values, self.scale, heads, D)[0])
            self.append(rings, t0, t1)
        return np.stack(rows)


def check(S, checks):
    model = Model(T=23, S=S)
    full = model.full()
    same = "equals attention over the whole sequence"
    checks.close(
        f"ring of {S}: token by token {same}", model.one_by_one(model.rings(), 0), full
    )
    for prompt in {1, min(S, 22), min(S + 1, 22), 17}:
        rings = model.rings()
        model.append(rings, 0, prompt)
        what = f"ring of {S}: a prompt of {prompt} appended, then token by token, {same}"
        checks.close(what, model.one_by_one(rings, prompt), full[prompt:])
    for chunk in (1, 3, S, S + 1, 23):
        what = f"ring of {S}: chunks of {chunk}, the ring unrolled before each, {same}"
        checks.close(what, model.chunked(chunk), full)


if __name__ == "__main__":
    checks = wb.Checks()
    for slots in (1, 5, 8, 30):
        check(slots, checks)
    checks.done()
