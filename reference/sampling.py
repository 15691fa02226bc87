"""sampling.py - sample of lab 07 in float64. The contract is
labs/lab07_kvcache/kvcache.h.

    python reference/sampling.py    checks how often each token is sampled

sampling_formulas.py has the formulas, sampling_mistakes.py the known mistakes.
"""

import numpy as np

import wb
from sampling_formulas import *
from sampling_mistakes import sample_mistakes  # noqa: F401
from wb import bound

# --- cases ------------------------------------------------------------------------------

# (seed, pos, index) of random numbers at least 2^32 - 100, and of numbers below 100: the
# noise is so low and so high that float arithmetic must not round u or 1 - u to 1
EDGES = (
    ((2148698493663666685, 4170, 48), (6260705749512347485, 691, 24)),
    ((-6317994327121859469, 3904, 5), (1756036741226663862, 360, 28)),
    ((4932737048852500747, 2494, 15), (-1385257278269358722, 3231, 30)),
    ((5418093667028829855, 3975, 5), (-7795946471130544476, 3317, 17)),
)

APART = 1e-4  # between best and second best; the float32 errors of z and g are below 1e-5


def clear(z, g, temperature, top_k, top_p, exact=0):
    """Does float32 arithmetic find the same token in this row? exact: also if it reaches
    top_p with no rounding error"""
    if temperature == 0:
        best = np.max(z)
        if np.isinf(best):
            return np.sum(z == best) == 1
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
    infinite=1: a third of the logits are -inf; infinite=2: one is inf, and always wins.
    zeros=1: the best are -0, 0 and -0, in this order. A row is generated again until its
    best is clear."""
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
                three = np.sort(rng.permutation(V)[:3])
                row = -np.abs(row) - 1
                row[three] = -0.0, 0.0, -0.0
                marks[b, three] = 0
            if last:
                row[-1] = np.max(row) + 1
                marks[b, -1] = 0
            if edges:
                row[edge] = np.min(row) - 30 if b % 2 else np.max(row) + 30
            if infinite == 1:
                row[rng.permutation(V)[: V // 3]] = -np.inf
            elif infinite:
                row[rng.integers(V)] = np.inf
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
