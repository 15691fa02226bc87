"""kvcache_mistakes.py - what kernels with known mistakes compute in parts 07.1 to 07.4 of
lab 07, so that the report can name them.
"""

import numpy as np

from kvcache_formulas import decoded, kept_tokens, positions, rotate_heads, seen_slots


def stored(kcache, vcache, k, v, B, places):
    """both rings after token t of sequence b is stored in slot s, for (t, s) in
    places(b)"""
    rings = kcache.copy(), vcache.copy()
    for b in range(B):
        for t, s in places(b):
            rings[0][b, s], rings[1][b, s] = k[b, t], v[b, t]
    return {"kcache": rings[0], "vcache": rings[1]}


def packed(memory, name, B, T, K, D):
    """k or v as if its rows were K*D elements apart, not ldkv"""
    starts = np.arange(B * T * K * D).reshape(B, T, K * D)
    return memory(name, starts)


LD_WORDS = "rows of {} are read K*D elements apart: they are ldkv apart"


def kv_append_mistakes(
    k, v, pos, len, B, T, S, K, D, ldkv, kcache_before, vcache_before, memory
):
    p, n = positions(pos, B, T), np.full(B, T) if len is None else len

    def told(places):
        return stored(kcache_before, vcache_before, k, v, B, places)

    yield "slot_of_t", (
        "a token is stored in slot t mod S: it belongs in slot pos mod S"
    ), told(lambda b: [(t, t % S) for t in kept_tokens(p[b], n[b], S)])
    yield "first_slots", (
        "the last tokens are stored from slot 0 on: each belongs in slot pos mod S"
    ), told(lambda b: [(t, i) for i, t in enumerate(kept_tokens(p[b], n[b], S))])
    yield "first_tokens", (
        "of a prompt longer than the ring, the first S tokens are kept: keep the last S"
    ), told(lambda b: [(t, p[b, t] % S) for t in reversed(range(n[b]))])
    yield "len_ignored", "padding after the first len tokens is stored", told(
        lambda b: [(t, p[b, t] % S) for t in range(T)]
    )
    yield "next_slot", "a token is stored one slot too late: it belongs in pos mod S", (
        told(lambda b: [(t, (p[b, t] + 1) % S) for t in kept_tokens(p[b], n[b], S)])
    )
    yield "slot_before", (
        "a token is stored one slot too early: it belongs in pos mod S"
    ), told(lambda b: [(t, (p[b, t] - 1) % S) for t in kept_tokens(p[b], n[b], S)])
    yield "one_less", "one token too few is stored: keep the last S", told(
        lambda b: [(t, p[b, t] % S) for t in kept_tokens(p[b], n[b], S)[1:]]
    )
    yield "no_last", "the last token is not stored", told(
        lambda b: [(t, p[b, t] % S) for t in kept_tokens(p[b], n[b], S)[:-1]]
    )
    yield "earlier_document", (
        "tokens of an earlier document are stored: keep the last pos[len-1]+1"
    ), told(lambda b: [(t, p[b, t] % S) for t in range(max(0, n[b] - S), n[b])])
    last = p[np.arange(B), np.maximum(n - 1, 0)]

    def backwards(b, last):
        """(token, position), from the last token on, as if it were all one document"""
        return [(n[b] - 1 - i, last - i) for i in range(min(n[b], S))]

    yield "document_before", (
        "tokens of an earlier document are stored in the slots before that of pos 0: "
        "keep the last pos[len-1]+1"
    ), told(lambda b: [(t, s % S) for t, s in backwards(b, last[b])])
    rings = kcache_before.copy(), vcache_before.copy()
    for ring, tokens in zip(rings, (k, v)):
        slots = ring.reshape(B * S, -1)
        for b in range(B):
            for t, s in backwards(b, last[b]):
                to = b * S + (s % S if s >= 0 else -(-s % S))
                if to >= 0:
                    slots[to] = tokens[b, t]
    yield "slots_below_0", (
        "tokens of an earlier document are stored in slots below 0, in the sequence "
        "before: keep the last pos[len-1]+1"
    ), {"kcache": rings[0], "vcache": rings[1]}
    if pos is None and len is not None:
        yield "len_without_pos", (
            "the last token is stored as if it were token T-1: without pos, its position "
            "is len-1"
        ), told(lambda b: [(t, s % S) for t, s in backwards(b, T - 1)])
    if pos is not None and len is not None:
        end = p[:, -1]
        yield "pos_of_T", (
            "the last token is len-1, but its position is read at T-1"
        ), told(lambda b: [(t, s % S) for t, s in backwards(b, end[b]) if s >= 0])
    if ldkv != K * D:
        for name, ring in (("k", "kcache"), ("v", "vcache")):
            wrong = packed(memory, name, B, T, K, D)
            rings = stored(
                kcache_before, vcache_before, wrong, wrong, B,
                lambda b: [(t, p[b, t] % S) for t in kept_tokens(p[b], n[b], S)],
            )  # fmt: skip
            yield f"ld_of_{name}", LD_WORDS.format(name), {ring: rings[ring]}
    yield "k_alone", "vcache is not written", {"vcache": vcache_before}
    yield "v_alone", "kcache is not written", {"kcache": kcache_before}
    swapped = stored(
        kcache_before, vcache_before, v, k, B,
        lambda b: [(t, p[b, t] % S) for t in kept_tokens(p[b], n[b], S)],
    )  # fmt: skip
    yield "swapped", "k and v are swapped", swapped


def kv_unroll_mistakes(
    kall, vall, kcache, vcache, k, v, pos, B, T, S, K, D, ldkv, memory
):
    def told(slot, count):
        rings = kall.copy(), vall.copy()
        for ring, source in zip(rings, (kcache, vcache)):
            for b in range(B):
                for j in range(1, min(S, count(pos[b, 0])) + 1):
                    ring[b, S - j] = source[b, slot(pos[b, 0], j) % S]
        return {"kall": rings[0], "vall": rings[1]}

    def starts_at(start):
        rings = kall.copy(), vall.copy()
        for ring, source in zip(rings, (kcache, vcache)):
            ring[:, :S] = 0
            for b in range(B):
                j = np.arange(1, min(S, start[b]) + 1)
                ring[b, S - j] = source[b, (start[b] - j) % S]
        return {"kall": rings[0], "vall": rings[1]}

    yield "pos_of_batch", "start is read from pos[b]: in pos (B,T) it is pos[b*T]", (
        starts_at(np.resize(pos, B))
    )
    yield "pos_of_first", "every sequence starts where sequence 0 does", starts_at(
        np.repeat(pos[0, 0], B)
    )
    if T > 1:
        yield "start_of_last", (
            "start is counted back from the last token, which may be in a later "
            "document: it is pos[b,0]"
        ), starts_at(np.maximum(pos[:, -1] - T + 1, 0))
    if ldkv != K * D:
        for name, all in (("k", kall), ("v", vall)):
            wrong = all.copy()
            wrong[:, S:] = packed(memory, name, B, T, K, D)
            yield f"ld_of_{name}", LD_WORDS.format(name), {f"{name}all": wrong}
    lost = [
        np.where((np.arange(S + T) == S - pos[:, :1])[..., None], 0, all)
        for all in (kall, vall)
    ]
    yield "first_lost", "position 0 is left out: it has a slot, too", {
        "kall": lost[0],
        "vall": lost[1],
    }
    full = lambda p: min(p, S)  # noqa: E731
    yield "as_it_lies", (
        "the ring is copied slot by slot: copy it in the order of positions"
    ), told(lambda p, j: S - j, full)
    yield "one_early", (
        "position start-j is read from slot start-j-1, one too early"
    ), told(lambda p, j: p - j - 1, full)
    yield "one_late", "position start-j is read from slot start-j+1, one too late", told(
        lambda p, j: p - j + 1, full
    )
    if np.any(pos[:, 0] < S):
        yield "nan_unused", (
            "slots that hold no position yet are copied: rows before position 0 are 0"
        ), told(lambda p, j: p - j, lambda p: S)
    yield "swapped", "kcache and vcache are swapped", {"kall": vall, "vall": kall}
    yield "chunk_first", "the chunk comes before the ring: it belongs after", {
        "kall": np.roll(kall, T, axis=1),
        "vall": np.roll(vall, T, axis=1),
    }
    yield "backward", "the positions are in descending order: they should ascend", told(
        lambda p, j: p - 1 - min(S, p) + j, full
    )


def rotate_neighbours(x, cis, pos, D, N):
    """as rotate_heads, with pairs (x[2i], x[2i+1])"""
    heads = x.reshape(len(x), -1, D)
    apart = np.concatenate([heads[..., 0:N:2], heads[..., 1:N:2], heads[..., N:]], -1)
    turned = rotate_heads(apart.reshape(x.shape), cis, pos, D, N).reshape(heads.shape)
    back = turned.copy()
    back[..., 0:N:2], back[..., 1:N:2] = turned[..., : N // 2], turned[..., N // 2 : N]
    return back.reshape(x.shape)


def unscaled(q, k, kcache, pos, S, H, K, D, scale):
    """(B,H): the right sum of the exponentials, divided by one to which the ring's is
    added relative to the ring's own maximum"""
    head, factors = np.arange(H) // (H // K), []
    for b, p in enumerate(pos):
        keys = [kcache[b, seen_slots(p, S)].reshape(-1, K, D), k[b].reshape(1, K, D)]
        keys = np.concatenate(keys)[:, head]
        s = scale * np.sum(keys * q[b].reshape(H, D), -1)
        m, own = np.max(s, 0), np.max(s[:-1], 0, initial=-1e30)
        wrong = np.sum(np.exp(s[:-1] - own), 0) + np.exp(s[-1] - m)
        factors.append(np.sum(np.exp(s - m), 0) / wrong)
    return np.stack(factors)


def attention_decode_mistakes(
    out, q, k, v, cis, pos, B, S, H, K, D, N, scale, kcache_before, vcache_before
):
    qt, kt = rotate_heads(q, cis, pos, D, N), rotate_heads(k, cis, pos, D, N)
    ring = kcache_before, vcache_before

    def told(q=qt, k=kt, scale=scale, ring=ring, **how):
        return {"out": decoded(q, k, v, *ring, pos, S, H, K, D, scale, **how)[0]}

    def rings_with(k, v, step=0):
        """both rings after k and v are stored in slot (pos + step) mod S"""
        places = lambda b: [(0, (pos[b] + step) % S)]  # noqa: E731
        return stored(*ring, k[:, None], v[:, None], B, places)

    def keys(k):
        return {"kcache": rings_with(k, v)["kcache"]}

    yield "next_slot", "k and v are stored one slot too late: slot p mod S", rings_with(
        kt, v, 1
    )
    yield "slot_before", (
        "k and v are stored one slot too early: slot p mod S"
    ), rings_with(kt, v, -1)
    yield "k_not_stored", "k is not stored in its slot", {"kcache": kcache_before}
    yield "v_not_stored", "v is not stored in its slot", {"vcache": vcache_before}
    for limit in (256, 512, 1024, 2048, 4096, 8192):
        if limit < S:
            yield f"first_{limit}", f"only the first {limit} slots are used", told(
                slots=lambda p, n=limit: range(min(p, S, n))
            )
    for n in (32, 64, 128):
        if n < D:
            some = np.arange(H * D) % D < n
            yield f"channels_{n}", f"only the first {n} channels enter the scores", told(
                q=np.where(some, qt, 0)
            )
    few = -(-K // (H // K))  # key heads of the first K query heads
    if few < K:
        some = np.repeat(np.arange(K) < few, D)
        rings = rings_with(kt, v)
        yield "groups_not_stored", (
            "k and v of some key heads are not stored: query head h has key head "
            "h / (H/K)"
        ), {
            "kcache": np.where(some, rings["kcache"], kcache_before),
            "vcache": np.where(some, rings["vcache"], vcache_before),
        }
    if np.any(pos >= S) and S > 1:
        yield "last_slot", (
            "the last slot of a full ring is not read: a token sees S slots and itself"
        ), told(slots=lambda p: range(min(p, S - 1)))
    n, lost = np.minimum(pos, S), set()
    for parts in range(2, 33) if S >= 64 else ():
        if any(n % parts) and tuple(n % parts) not in lost:
            lost.add(tuple(n % parts))
            yield f"parts_{parts}", (
                f"the last slots are not read: a part of 1 / {parts} of the slots is "
                "rounded down, so round it up"
            ), told(slots=lambda p, m=parts: range(min(p, S) // m * m))
    yield "ring_not_rescaled", (
        "sums with different maxima are added: multiply each by exp(its maximum - the "
        "common one)"
    ), {"out": out * np.repeat(unscaled(qt, kt, ring[0], pos, S, H, K, D, scale), D, 1)}
    yield "scale_twice", "the scores are scaled twice", told(scale=scale * scale)
    all_but_oldest = lambda p: seen_slots(p, S)[int(p >= S) :]  # noqa: E731
    yield "oldest_lost", (
        "position p-S is not seen: a token sees S+1 keys, not S (is k written before "
        "its slot is read?)"
    ), told(slots=all_but_oldest)
    yield "written_first", (
        "k and v count twice, position p-S not at all: they are written before the slot "
        "is read"
    ), told(slots=all_but_oldest, more=2)
    if min(pos) > 0:
        yield "no_self", "the token does not see itself", told(more=0)
    yield "unused_read", "slots that hold no position yet are read", told(
        slots=lambda p: range(S)
    )
    yield "slot_of_p", "slot p mod S is read before position p is in it", told(
        slots=lambda p: range(min(p + 1, S))
    )
    if np.any(pos >= S):
        places = lambda b: [(0, min(pos[b], S - 1))]  # noqa: E731
        yield "slot_clamped", (
            "once the ring is full, k and v go to its last slot: they belong in slot p "
            "mod S"
        ), stored(*ring, kt[:, None], v[:, None], B, places)
    yield "no_scale", "the scores are not scaled", told(scale=1.0)
    yield "no_scores", "all keys have the same weight: are their scores 0?", told(scale=0)
    if scale:
        yield "own_not_scaled", "the token's own score is not scaled", told(k=kt / scale)
    yield "own_scale", "1/sqrt(D) is used in place of scale", told(scale=D**-0.5)
    yield "scale_sign", "the sign of scale is lost", told(scale=abs(scale))
    if cis is not None:
        yield "not_rotated", "neither q nor k is rotated", told(q=q, k=k) | keys(k)
        yield "q_not_rotated", "q is not rotated", told(q=q)
        yield "k_not_rotated", "k is not rotated", told(k=k) | keys(k)
        for cause, words, angles, at in (
            ("next_angle", "by the angles of position p + 1", cis, pos + 1),
            ("last_angle", "by the angles of position p - 1", cis, pos - 1),
            ("angle_sign", "in the wrong direction", cis * [1, -1], pos),
            ("sine_cosine", "with sine and cosine swapped", cis[..., ::-1], pos),
        ):
            wrong = [rotate_heads(x, angles, at % len(cis), D, N) for x in (q, k)]
            yield cause, f"q and k are rotated {words}", told(*wrong) | keys(wrong[1])
        wrong = [rotate_neighbours(x, cis, pos, D, N) for x in (q, k)]
        yield "neighbours", (
            "channels 2i and 2i+1 are rotated together: the pairs are i and i + N/2"
        ), told(*wrong) | keys(wrong[1])
        yield "v_rotated", "v is rotated, too: only q and k are", {
            "vcache": rings_with(kt, rotate_heads(v, cis, pos, D, N))["vcache"]
        }
    if 1 < K < H:
        yield "heads", (
            "query head h uses key head h mod K, but it should use h / (H/K)"
        ), told(heads=np.arange(H) % K)
    if K > 1:
        yield "head_0", (
            "all query heads use key head 0, but head h should use h / (H/K)"
        ), told(heads=np.zeros(H, int))
