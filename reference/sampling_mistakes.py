"""sampling_mistakes.py - what kernels with known mistakes compute in parts 07.5 and 07.6
of lab 07, so that the report can name them.
"""

import numpy as np

from sampling_formulas import noise, nucleus, row_noise, sampled, scores, tokens
from softmax_formulas import capped

# the noise where a random number is so close to 2^32 or 0 that a float rounds it away
LOWEST, HIGHEST = (-np.log(-np.log1p(-u)) for u in (1 - 127 * 2.0**-32, 127 * 2.0**-32))


def last_of_best(z):
    return z.shape[-1] - 1 - np.argmax(z[:, ::-1], -1)


def sample_mistakes(
    token, logits, seed, pos, B, V, softcap, penalty, temperature, top_k, top_p,
    seen_before, memory,
):  # fmt: skip
    seen = seen_before
    if seen is not None:
        yield "not_marked", "seen of the sampled token is not set", {"seen": seen}

    def z(softcap=softcap, penalty=penalty):
        return scores(logits, seen, softcap, penalty)

    def told(z, seed=seed, pos=pos, temperature=temperature, top_k=top_k, top_p=top_p):
        return {"token": tokens(z, seed, pos, temperature, top_k, top_p)}

    def each(kept=lambda r: nucleus(r, top_k, top_p), of_noise=lambda g: g, noises=None):
        """tokens sampled from kept(row of z), with of_noise(its noise)"""
        noises = noises or [row_noise(s, V, p) for s, p in zip(seed, pos)]
        rows = zip(z() / temperature, noises)
        return {"token": np.array([sampled(r, kept(r), of_noise(g)) for r, g in rows])}

    apart = memory("logits", V * np.arange(B)[:, None] + np.arange(V))
    if not np.isnan(apart).any():
        yield "ld_ignored", "row r of logits is read at r*V, but it starts at r*ld", told(
            scores(apart, seen, softcap, penalty)
        )
    if softcap and np.max(logits) > 44 * softcap:  # twice that is beyond the 88 of expf
        yield "softcap_nan", (
            "tanh computed from exp(2x) is inf / inf = NaN for x > 44: a logit far above "
            "softcap never wins"
        ), told(np.where(logits > 44 * softcap, -np.inf, z()))
    if temperature == 0 and np.any((logits == 0) & np.signbit(logits)):
        bits = np.where((logits == 0) & np.signbit(logits), -1e-45, logits)
        yield "zero_sign", (
            "-0 counts as less than 0: they are equal, but the bits of one are larger"
        ), {"token": np.argmax(bits, -1)}
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
    yield "greedy", (
        "the best token always wins: is the noise missing, or are the others dropped?"
    ), {"token": np.argmax(z(), -1)}
    yield "pos_ignored", "the noise does not depend on pos", told(z(), pos=0 * pos)
    yield "pos_next", "the noise is that of pos + 1", told(z(), pos=pos + 1)
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
    yield "counter_of_token", (
        "the noise of tokens i to i+3 is that of counter i: it should be i / 4"
    ), each(noises=[noise(s, V, p, step=4) for s, p in zip(seed, pos)])
    yield "number_of_token", (
        "token i uses the first number of counter i: number i % 4 of counter i / 4"
    ), each(noises=[noise(s, 4 * V, p)[::4] for s, p in zip(seed, pos)])
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
        yield "no_top_k", "top_k is ignored, or far more tokens are kept", told(
            z(), top_k=0
        )
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
            yield "some_top_p_adds", (
                "some tokens that tie with the last of top_p are kept, although top_k "
                "drops them: keep what both keep"
            ), each(lambda r: np.flatnonzero(r >= r[nucleus(r, top_k, top_p)[-1]]))
            yield "top_p_first", (
                "top_p is applied before top_k: apply it to what top_k keeps"
            ), each(lambda r: nucleus(r, 0, top_p)[:top_k])
        if temperature != 1:
            yield "temperature_late", (
                "top_p is applied before the temperature: apply it after"
            ), each(lambda r: nucleus(r * temperature, top_k, top_p))
