"""min_p.py PROGRAM FOLDER - --min-p alone and with the other options: every token that
the program samples is the one of the definition in transformers, in float64: of the tokens
that --top-k and then --top-p keep, those whose probability is at least min-p times the
largest; the sample is the largest sum of logit and noise. The logits come from
--logits-out, the noise from reference/sampling.py. A token may differ where float32
decides: among kept sets and sums closer than sampling.APART. Prints TAP."""

import sys

import numpy as np

sys.path[:0] = ["reference", "tools"]
import rg_program  # noqa: E402
import sampling  # noqa: E402
import wb  # noqa: E402

SEED, TOKENS = 17, 40
CASES = (
    (0.5, 1.5, 0, 1, 1),
    (0.3, 2.0, 0, 0.8, 1),  # the kept sets of min-p and top-p: either may be the smaller
    (0.1, 3.0, 0, 0.5, 1),
    (0.2, 2.0, 12, 0.95, 1),
    (0.3, 1.5, 5, 1, 1),
    (0.3, 2.0, 0, 0.9, 1.3),
    (1.0, 2.0, 0, 1, 1),
)


def kept_sets(z, min_p, top_k, top_p):
    """the kept tokens, and those with limits a little lower and higher"""
    for about in (1, 1 - sampling.APART, 1 + sampling.APART):
        nucleus = sampling.nucleus(z, top_k, min(top_p * about, 1))
        yield nucleus[z[nucleus] - z.max() >= np.log(min(min_p * about, 1))]


def fits(z, token, position, min_p, top_k, top_p):
    """is it the sample of one of the kept sets, up to rounding?"""
    noisy = z + sampling.noise(SEED, len(z), position)
    sets = kept_sets(z, min_p, top_k, top_p)
    best = [noisy[kept].max() for kept in sets if token in kept]
    return bool(best) and noisy[token] >= min(best) - sampling.APART


def main():
    program, folder = sys.argv[1:]
    checks = wb.Checks()
    print(f"# seed {SEED}")
    prompt = np.random.default_rng(SEED).integers(0, 256, 9).tolist()
    for min_p, temperature, top_k, top_p, penalty in CASES:
        values = {"temperature": temperature, "top-k": top_k, "top-p": top_p,
                  "repetition-penalty": penalty, "seed": SEED,
                  "max-new-tokens": TOKENS}  # fmt: skip
        options = [word for name, v in values.items() for word in (f"--{name}", str(v))]
        options += ["--ids", "--ignore-eos"]
        filtered = [*options, "--min-p", str(min_p)]
        line = rg_program.run(program, folder, [prompt], filtered)
        row = prompt + [int(word) for word in line.split()]
        (logits,) = rg_program.logits(program, folder, [row])
        fine = 0
        for at in range(len(prompt), len(row)):
            seen = np.isin(np.arange(logits.shape[1]), row[:at]) if penalty != 1 else None
            z = sampling.scores(logits[at - 1], seen, 0, penalty) / temperature
            fine += fits(z, row[at], at - 1, min_p, top_k, top_p)
        free = rg_program.run(program, folder, [prompt], options)
        checks.ok(f"--min-p {min_p} {' '.join(options[:8])}: {fine} tokens",
                  fine == TOKENS and free != line)  # fmt: skip
    checks.done()


if __name__ == "__main__":
    main()
