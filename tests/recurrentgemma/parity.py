"""parity.py PROGRAM FOLDER [MODEL...] - the engine on random models of odd sizes (odd.py),
written to FOLDER, and on other model folders, compared with the float64 reference: logits in
both windows, in chunks of every kind, sequences of unequal lengths in a batch and alone; and
the most likely tokens, one by one.

Tolerance in f32: 1e-4 for logits that spread by 2, as these do. In bf16, against the same
rounded weights: 0.4, and 0.05 on average; PyTorch in bf16 is off by up to 0.38 and 0.044 on
these models. A token may differ from the reference's where the best two are closer than twice
the tolerance. Prints TAP.
"""

import os
import sys
import zlib

import numpy as np

sys.path[:0] = ["reference", "tools"]
import odd  # noqa: E402
import recurrentgemma  # noqa: E402
import rg_program  # noqa: E402
import wb  # noqa: E402

TOKENS = 12  # generated after each prompt
LONGEST = 48


class Parity:
    def __init__(self, checks, program, folder):
        self.checks, self.program, self.folder = checks, program, folder
        self.name = os.path.basename(folder)
        c = recurrentgemma.Model.open(folder).c
        seed = zlib.crc32(self.name.encode())
        rng, self.W = np.random.default_rng(seed), c.before
        lengths = {1, 2, self.W - 1, self.W, self.W + 1, min(2 * self.W + 5, LONGEST)} - {0}
        self.rows = [rng.integers(0, c.vocab, n).tolist() for n in rng.permutation([*lengths])]
        print(f"# {self.name}: rows of {[len(r) for r in self.rows]} tokens, seed {seed}")

    def window(self, hf, E="f64"):
        """the reference's answers"""
        self.model = recurrentgemma.Model.open(self.folder, E, hf_window=hf)
        self.options = ["--hf-window"] if hf else []
        self.what = f"{self.name}, {self.model.c.before + 1} keys: "
        self.want = [self.model.whole(row)[0] for row in self.rows]
        spread = np.concatenate([w.ravel() for w in self.want]).std()
        self.tolerance = 1e-4 * max(1, spread / 2)

    def ok(self, what, passed):
        self.checks.ok(self.what + what, bool(passed))

    def distances(self, *options):
        options = [*self.options, *options]
        got = rg_program.logits(self.program, self.folder, self.rows, *options)
        d = np.concatenate([np.abs(g - w).ravel() for g, w in zip(got, self.want)])
        return d.max(), d.mean()

    def logits(self, *chunks):
        most = max(self.distances("--chunk", str(chunk))[0] for chunk in chunks)
        self.ok(f"logits in chunks of {chunks} off by {most:.1e} <= {self.tolerance:.1e}",
                most <= self.tolerance)  # fmt: skip

    def tokens(self, rows, *options):
        options = [*self.options, *options]
        texts = rg_program.greedy(self.program, self.folder, rows, TOKENS, *options)
        worst = max(
            rg_program.shortfall(self.model.whole(row + text)[0], row, text)
            for row, text in zip(rows, texts, strict=True)
        )
        what = " ".join([f"{TOKENS} tokens after {len(rows)} prompts", *options])
        whole = all(len(text) == TOKENS for text in texts)
        self.ok(what, whole and worst <= 2 * self.tolerance)

    def bf16(self):
        self.window(False, "bf16")
        self.tolerance = 0.4
        most, mean = self.distances("--dtype", "bf16", "--chunk", "7")
        self.ok(f"bf16: logits off by {most:.3f} <= 0.4, on average {mean:.4f} <= 0.05",
                most <= 0.4 and mean <= 0.05)  # fmt: skip
        self.tokens(self.rows, "--dtype", "bf16")

    def check(self):
        W = self.W
        for hf in (True, False):
            self.window(hf)
            self.logits(*((0, 3) if hf else sorted({0, 1, 3, max(W - 1, 1), W, W + 1})))
            self.tokens(self.rows)
        self.tokens(self.rows, "--no-graph", "--chunk", "2")
        self.tokens(self.rows[:1])
        self.bf16()


def main():
    program, folder, *models = sys.argv[1:]
    checks = wb.Checks()
    for name in odd.MODELS:
        models.append(f"{folder}/{name}")
        odd.write(name, models[-1])
    for model in models:
        Parity(checks, program, model).check()
    checks.done()


if __name__ == "__main__":
    main()
