"""sampling.py - sample of lab 07 in float64. The contract is
labs/lab07_kvcache/kvcache.h.

    python reference/sampling.py    checks how often each token is sampled
"""

from functools import lru_cache

import numpy as np

import wb
from ops import philox
from softmax import capped
from wb import bound, total

# --- the formulas -----------------------------------------------------------------------


def scores(logits, seen, softcap, penalty):
    """z before the temperature. total() of one number: half_sums rounds it, so some
    tie."""
    z = capped(total(logits[..., None])[..., 0], softcap)
    if seen is None:
        return z
    return np.where(seen != 0, np.where(z > 0, z / penalty, z * penalty), z)


def largest_first(z):
    """indices in descending order of z, the lower index first if equal"""
    return np.argsort(-z, kind="stable")


def nucleus(z, top_k, top_p):
    """the kept indices of one row, largest z first"""
    order = largest_first(z)[: top_k or None]
    if top_p >= 1:
        return order
    p = np.exp(z[order] - z[order[0]])
    reached = np.cumsum(p / total(p)[0]) >= top_p
    return order[: np.argmax(reached) + 1 if reached.any() else None]


def noise(seed, V, pos, c2=0):
    """shape (V), or (n,V) for a column of positions"""
    i, seed = np.arange(V), int(seed) & (2**64 - 1)
    fours = np.stack(philox(seed, i // 4, pos, c2, 0))
    numbers = np.choose(i % 4, fours)
    return -np.log(-np.log1p(-(numbers + 0.5) * 2.0**-32))


@lru_cache(256)  # a batch: mistakes sample it again and again
def row_noise(seed, V, pos):
    return noise(seed, V, pos)


def sampled(z, kept, g):
    """argmax of z + g over the kept tokens; among equal ones the lowest index"""
    among = np.full(z.shape, -np.inf)
    among[kept] = z[kept] + g[kept]
    return int(np.argmax(among))


def tokens(z, seed, pos, temperature, top_k, top_p):
    if temperature == 0:
        return np.argmax(z, -1)
    z = z / temperature
    return np.array(
        [
            sampled(row, nucleus(row, top_k, top_p), row_noise(s, len(row), p))
            for row, s, p in zip(z, seed, pos)
        ]
    )


def sample(
    token, seen, logits, seed, pos, B, V, ld, softcap, penalty, temperature, top_k, top_p
):
    z = scores(logits, seen, softcap, penalty)
    token[...] = tokens(z, seed, pos, temperature, top_k, top_p)
    if seen is not None:
        seen[np.arange(B), token.astype(int)] = 1


# --- cases ------------------------------------------------------------------------------

# (seed, pos, index) of random numbers at least 2^32 - 100, and of numbers below 100: the
# noise is so low and so high that float arithmetic must not round u or 1 - u to 1
EDGES = (
    ((2148698493663666685, 4170, 48), (6260705749512347485, 691, 24)),
    ((-6317994327121859469, 3904, 5), (1756036741226663862, 360, 28)),
    ((4932737048852500747, 2494, 15), (-1385257278269358722, 3231, 30)),
    ((5418093667028829855, 3975, 5), (-7795946471130544476, 3317, 17)),
)
LOWEST, HIGHEST = (-np.log(-np.log1p(-u)) for u in (1 - 127 * 2.0**-32, 127 * 2.0**-32))

APART = 1e-4  # between best and second best; the float32 errors of z and g are below 1e-5


def clear(z, g, temperature, top_k, top_p, exact=0):
    """Does float32 arithmetic find the same token in this row? exact: also if it reaches
    top_p with no rounding error"""
    if temperature == 0:
        best = np.max(z)
        return best - np.max(z[z < best], initial=-np.inf) > APART * max(1, abs(best))
    z = z / temperature
    if top_k and top_k < len(z):
        order = largest_first(z)
        last, dropped = z[order[top_k - 1]], z[order[top_k]]
        if dropped < last < dropped + APART:
            return False
    about = (1,) if exact else (1 - APART, 1, 1 + APART)
    kept = [nucleus(z, top_k, min(top_p * f, 1)) for f in about]
    noisy = np.sort((z + g)[kept[-1]])
    found = {sampled(z, k, g) for k in kept}
    return len(found) == 1 and (len(noisy) < 2 or noisy[-1] - noisy[-2] > APART)


def sample_data(
    call,
    B,
    V,
    ld=0,
    softcap=0.0,
    penalty=1.0,
    temperature=0.0,
    top_k=0,
    top_p=1.0,
    sd=3.0,
    mean=0.3,
    seen=1,
    ties=0,
    near=0,
    last=0,
    edges=0,
    exact=0,
    far=0,
    peak=0.0,
    infinite=0,
    zeros=0,
):
    """sd, mean: of the logits. seen=0: NULL; seen=1: a third of the tokens are marked,
    each with any number but 0.
    ties: the number of logits with the highest value (temperature 0), or all values are
    multiples of 1/ties. near=1: the best is 2^-12 above another one, a tie in half
    precision. last=1: the best is the last entry. edges=1: seeds and positions of EDGES;
    the entry with the lowest noise wins all the same, that with the highest does not.
    exact=1: the logits are equal (sd=0), and their softmax reaches top_p without a
    rounding error. far=1: in every fourth row, one logit is 1000 times softcap. peak: what
    one logit is above the others, which together still matter: one of them wins.
    infinite=1: a third of the logits are -inf. zeros=1: the best are -0 and, after it, 0.
    A row is generated again until its best is clear."""
    rng, ld = call.rng, ld or V
    call.scalar("ld", ld)
    seeds = rng.integers(-(2**63), 2**63 - 1, B)
    pos = rng.integers(0, 5000, B)
    marks = (rng.random((B, V)) < 1 / 3) * rng.integers(1, 256, (B, V))
    logits = np.full((B, ld), 50.0)  # padding columns would be the best
    for b in range(B):
        if edges:
            seeds[b], pos[b], edge = EDGES[b // 2 % len(EDGES)][b % 2]
        g = noise(seeds[b], V, pos[b]) if temperature else None
        for _ in range(1000 if peak else 200):
            row = rng.standard_normal(V) * sd + mean
            if sd == 0:  # only the noise can make the best clear
                seeds[b] = rng.integers(-(2**63), 2**63 - 1)
                g = noise(seeds[b], V, pos[b])
            if far and b % 4 == 0:
                row[rng.integers(V)] = 1000 * softcap
            if peak:
                row[rng.integers(V)] += peak
            if ties and temperature:
                row = np.round(row * ties) / ties
            elif ties:
                row[rng.permutation(V)[:ties]] = np.max(row) + 1
                marks[b, row == np.max(row)] = 0
            if near:
                two = np.sort(rng.permutation(V)[:2])
                row[two] = np.max(row) + 1, (np.max(row) + 1) * (1 + 2.0**-12)
                marks[b, two] = 0
            if zeros:
                two = np.sort(rng.permutation(V)[:2])
                row = -np.abs(row) - 1
                row[two] = -0.0, 0.0
                marks[b, two] = 0
            if last:
                row[-1] = np.max(row) + 1
                marks[b, -1] = 0
            if edges:
                row[edge] = np.min(row) - 30 if b % 2 else np.max(row) + 30
            if infinite:
                row[rng.permutation(V)[: V // 3]] = -np.inf
            row = row.astype(np.float32).astype(float)
            z = scores(row, marks[b] if seen else None, softcap, penalty)
            one = slice(b, b + 1)
            chosen = tokens(z[None], seeds[one], pos[one], temperature, top_k, top_p)
            if peak and chosen == np.argmax(z):
                seeds[b] = rng.integers(-(2**63), 2**63 - 1)
                g = noise(seeds[b], V, pos[b])
                continue
            if clear(z, g, temperature, top_k, top_p, exact):
                break
        else:
            raise wb.Broken(f"sample V={V}: no row with a clear best in 200")
        logits[b, :V] = row
        marks[b, chosen] = np.minimum(marks[b, chosen], 1)  # what a kernel stores there
    call.out("token", (B,), "i32")
    if seen:
        call.buffer("seen", marks, dtype="u8")
        call.view("seen", "inout", "seen", (B, V))
    else:
        call.null("seen", "inout", "u8")
    call.buffer("logits", logits)
    call.view("logits", "in", "logits", (B, V), stride=ld)
    call.input("seed", seeds, "i64")
    call.input("pos", pos, "i32")


# --- error model: see "Tolerance" in the header -----------------------------------------


def sample_bounds():
    return {"token": bound(exact=True), "seen": bound(exact=True)}


# --- mistakes that the report should name -----------------------------------------------


def last_of_best(z):
    return z.shape[-1] - 1 - np.argmax(z[:, ::-1], -1)


def sample_mistakes(
    token, logits, seed, pos, B, V, softcap, penalty, temperature, top_k, top_p,
    seen_before,
):  # fmt: skip
    seen = seen_before

    def z(softcap=softcap, penalty=penalty):
        return scores(logits, seen, softcap, penalty)

    def told(z, seed=seed, pos=pos, temperature=temperature, top_k=top_k, top_p=top_p):
        return {"token": tokens(z, seed, pos, temperature, top_k, top_p)}

    def each(kept=lambda r: nucleus(r, top_k, top_p), of_noise=lambda g: g, noises=None):
        """tokens sampled from kept(row of z), with of_noise(its noise)"""
        noises = noises or [row_noise(s, V, p) for s, p in zip(seed, pos)]
        rows = zip(z() / temperature, noises)
        return {"token": np.array([sampled(r, kept(r), of_noise(g)) for r, g in rows])}

    if softcap and np.max(logits) > 44 * softcap:  # twice that is beyond the 88 of expf
        yield "softcap_nan", (
            "tanh computed from exp(2x) is inf / inf = NaN for x > 44: a logit far above "
            "softcap never wins"
        ), told(np.where(logits > 44 * softcap, -np.inf, z()))
    if temperature == 0:
        yield "highest", "of equal z, the highest index wins: it should be the lowest", {
            "token": last_of_best(z())
        }
    if softcap and temperature:
        yield "no_softcap", "softcap is ignored", told(z(softcap=0))
    elif softcap:  # the cap is monotonic: these two have the same argmax
        yield "softcap_late", (
            "softcap is ignored, or applied after the repetition penalty"
        ), told(z(softcap=0))
    if seen is not None and penalty != 1:
        plain = capped(logits, softcap)
        yield "no_penalty", "the repetition penalty is ignored", told(plain)
        yield "negative_divided", (
            "a negative z is divided by penalty, which makes the token likelier: "
            "multiply it"
        ), told(np.where(seen != 0, plain / penalty, plain))
        yield "inverted", (
            "penalty is inverted: it should make a seen token less likely (divide a "
            "positive z, multiply a negative one)"
        ), told(scores(logits, seen, softcap, 1 / penalty))
        yield "unseen_penalised", (
            "the test of seen is inverted: penalty is applied where seen is 0"
        ), told(scores(logits, seen == 0, softcap, penalty))
        yield "seen_one", (
            "only tokens whose seen is 1 are penalised: any number but 0 counts"
        ), told(scores(logits, seen == 1, softcap, penalty))
        yield "subtracted", (
            "penalty is subtracted: divide a positive z, multiply a negative one"
        ), told(np.where(seen != 0, plain - penalty, plain))
        yield "all_penalised", "penalty is applied to every token: only to seen ones", (
            told(scores(logits, 1 + 0 * seen, softcap, penalty))
        )
        if temperature and temperature != 1:
            yield "penalty_late", (
                "penalty is applied to probabilities: apply it to z"
            ), told(plain - np.where(seen != 0, temperature * np.log(penalty), 0))
        if softcap and temperature:
            yield "penalty_first", (
                "penalty is applied before softcap: apply it after"
            ), told(capped(scores(logits, seen, 0, penalty), softcap))
    if temperature == 0:
        return
    yield "greedy", "the best token always wins: is the noise missing, or are the others dropped?", {
        "token": np.argmax(z(), -1)
    }
    yield "pos_ignored", "the noise does not depend on pos", told(z(), pos=0 * pos)
    yield "seed_0", "every sequence uses the seed of sequence 0", told(
        z(), seed=0 * seed + seed[0]
    )
    yield "seed_low", "only the low 32 bits of seed are used: it has 64", each(
        noises=[noise(s & (2**32 - 1), V, p) for s, p in zip(seed, pos)]
    )
    yield "row_in_noise", (
        "the noise depends on the row of the batch: it should depend on seed, pos and i"
    ), each(noises=[noise(s, V, p, b) for b, (s, p) in enumerate(zip(seed, pos))])
    yield "row_for_pos", (
        "the noise depends on the row of the batch in place of pos"
    ), each(noises=[noise(s, V, b) for b, s in enumerate(seed)])
    yield "rounded_u", (
        "for a random number near 2^32, u rounds to 1 in float, and the noise is -inf: "
        "compute 1 - u from ~number"
    ), each(of_noise=lambda g: np.where(g < LOWEST, -np.inf, g))
    yield "log_of_1", (
        "for a random number near 0, 1 - u rounds to 1 in float, and the noise is inf: "
        "use log1p(-u)"
    ), each(of_noise=lambda g: np.where(g > HIGHEST, np.inf, g))
    if temperature != 1:
        yield "no_temperature", "temperature is ignored", told(z(), temperature=1.0)
        yield "times_temperature", "z is multiplied by temperature: divide it", told(
            z(), temperature=1 / temperature
        )
        yield "noise_scaled", "the noise is divided by temperature, too", each(
            of_noise=lambda g: g / temperature
        )
    if softcap and temperature != 1:
        yield "softcap_last", "softcap comes after the temperature: it should be first", (
            told(temperature * scores(logits / temperature, seen, softcap, penalty))
        )
    yield "noise_sign", "the noise is subtracted: add it", each(of_noise=lambda g: -g)
    yield "one_number", "all four tokens of a group use the noise of the first", each(
        of_noise=lambda g: g[np.arange(V) // 4 * 4]
    )
    cuts = []
    for limit in (32, 64, 128, 256, 1024, 2048, 4096):
        if limit < min(top_k, V):
            words = f"top_k is cut off at {limit}"
            cuts.append((limit, f"top_k_{limit}", words, told(z(), top_k=limit)))
        if limit < V and not top_k and top_p < 1:
            words = f"the nucleus is cut off at {limit} tokens"
            cut = each(lambda r, n=limit: nucleus(r, 0, top_p)[:n])
            cuts.append((limit, f"nucleus_{limit}", words, cut))
    for limit, cause, words, got in cuts:  # of many, some seeds show no difference
        same = sum(np.array_equal(got["token"], of["token"]) for *_, of in cuts)
        if limit <= 256 or same == 1 and np.any(got["token"] != token):
            yield cause, words, got
    if top_k:
        yield "no_top_k", "top_k is ignored", told(z(), top_k=0)
        yield "top_k_more", "top_k + 1 tokens are kept", told(z(), top_k=top_k + 1)
        if top_k > 1:
            yield "top_k_less", "top_k - 1 tokens are kept", told(z(), top_k=top_k - 1)
        yield "top_k_ties", (
            "all tokens that tie with the last of top_k are kept: keep only the lower "
            "indices"
        ), each(lambda r: nucleus(r, np.sum(r >= r[nucleus(r, top_k, 1.0)[-1]]), top_p))
    if top_p < 1:
        whole = lambda r: nucleus(r, top_k, 1.0)  # noqa: E731
        size = lambda r: len(nucleus(r, top_k, top_p))  # noqa: E731
        if top_k:  # before no_top_p, which may give the same tokens
            yield "top_p_of_all", (
                "top_p is applied to the softmax of all tokens: apply it to that of the "
                "top_k"
            ), each(lambda r: whole(r)[: len(nucleus(r, 0, top_p))])
        yield "no_top_p", "top_p is ignored", told(z(), top_p=1.0)
        yield "top_p_ties", (
            "all tokens that tie with the last of top_p are kept: keep only the lower "
            "indices"
        ), each(
            lambda r: whole(r)[r[whole(r)] >= r[nucleus(r, top_k, top_p)[-1]]]
        )
        yield "top_p_reversed", (
            "of equal logits, the higher index is kept first: keep the lower"
        ), each(lambda r: V - 1 - nucleus(r[::-1], top_k, top_p))
        yield "top_p_less", "the token that reaches top_p is dropped: keep it", each(
            lambda r: whole(r)[: max(1, size(r) - 1)]
        )
        yield "top_p_more", "one token more than top_p needs is kept", each(
            lambda r: whole(r)[: size(r) + 1]
        )
        if top_k:
            yield "top_p_first", (
                "top_p is applied before top_k: apply it to what top_k keeps"
            ), each(lambda r: nucleus(r, 0, top_p)[:top_k])
        if temperature != 1:
            yield "temperature_late", (
                "top_p is applied before the temperature: apply it after"
            ), each(lambda r: nucleus(r * temperature, top_k, top_p))


# --- checks of this file ----------------------------------------------------------------


def check(temperature, top_k, top_p, checks):
    """20,000 samples with seed 42: every token as often as its probability says"""
    logits, samples = np.array([[0.3, -1.0, 2.0, 1.9, 0.0, 1.9, -3.0]]), 20000
    V, seed = logits.shape[1], np.array([42])
    row = logits[0] / temperature
    kept = nucleus(row, top_k, top_p)
    p = np.zeros(V)
    p[kept] = np.exp(row[kept]) / np.sum(np.exp(row[kept]))
    noisy = row[kept] + noise(42, V, np.arange(samples)[:, None])[:, kept]
    got = kept[np.argmax(noisy, -1)]
    few = slice(0, 200)  # through sample itself, which is slow
    token, pos = np.empty(200), np.arange(200)
    sample(
        token, None, np.tile(logits, (200, 1)), np.tile(seed, 200), pos, 200, V, V, 0, 1,
        temperature, top_k, top_p,
    )  # fmt: skip
    assert np.array_equal(token, got[few])
    sigma = np.sqrt(samples * p * (1 - p)) + 1e-9
    off = np.max(np.abs(np.bincount(got, minlength=V) - samples * p) / sigma)
    what = f"sample, seed 42, temperature {temperature}, top_k {top_k}, top_p {top_p}"
    checks.ok(f"{what}: {samples} samples are at most {off:.1f} sigma off", off < 4)


if __name__ == "__main__":
    checks = wb.Checks()
    for settings in ((1.0, 0, 1.0), (0.7, 3, 1.0), (1.3, 0, 0.8), (1.0, 2, 0.5)):
        check(*settings, checks)
    z = np.array([1.0, 3.0, 3.0, 2.0, 3.0])
    checks.ok(
        "top_k keeps the lower index of equal ones", list(nucleus(z, 2, 1.0)) == [1, 2]
    )
    z = np.log([0.5, 0.25, 0.125, 0.125])
    checks.ok("top_p keeps the fewest tokens that reach it", len(nucleus(z, 0, 0.7499)) == 2)
    checks.ok("top_p applies to the softmax of top_k", len(nucleus(z, 2, 0.66)) == 1)
    checks.done()
