"""parity.py PROGRAM FOLDER [MODEL...] - the engine on random models of odd sizes (odd.py),
written to FOLDER, and on other model folders, beside the float64 reference: logits in both windows, in chunks of every kind, rows of
unequal lengths side by side and alone; and the likeliest tokens, one by one.

Tolerance: 1e-4 for logits that spread by 2, as these do. A token may differ from the
reference's only where the best two are closer than twice that. Prints TAP.
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

TOKENS = 12  # written behind each row
LONGEST = 48


class Parity:
    def __init__(self, checks, program, folder):
        self.checks, self.program, self.folder = checks, program, folder
        self.name, c = os.path.basename(folder), self.model(False).c
        seed = zlib.crc32(self.name.encode())
        rng, self.W = np.random.default_rng(seed), c.before
        lengths = {1, 2, self.W - 1, self.W, self.W + 1, min(2 * self.W + 5, LONGEST)} - {0}
        self.rows = [rng.integers(0, c.vocab, n).tolist() for n in rng.permutation([*lengths])]
        print(f"# {self.name}: rows of {[len(r) for r in self.rows]} tokens, seed {seed}")

    def model(self, hf):
        return recurrentgemma.Model.open(self.folder, hf_window=hf)

    def window(self, hf):
        """the reference's answers"""
        model = self.model(hf)
        self.options = ["--hf-window"] if hf else []
        self.what = f"{self.name}, {model.c.before + 1} keys: "
        self.want = [model.whole(row)[0] for row in self.rows]
        self.answers = [recurrentgemma.Row(model).greedy(row, TOKENS) for row in self.rows]
        spread = np.concatenate([w.ravel() for w in self.want]).std()
        self.tolerance = 1e-4 * max(1, spread / 2)

    def ok(self, what, passed):
        self.checks.ok(self.what + what, bool(passed))

    def logits(self, *chunks):
        most = 0
        for chunk in chunks:
            options = self.options + (["--chunk", str(chunk)] if chunk else [])
            got = rg_program.logits(self.program, self.folder, self.rows, *options)
            off = max(np.abs(g - w).max() for g, w in zip(got, self.want))
            most = off if not off <= most else most
        self.ok(f"logits in chunks of {chunks} off by {most:.1e} <= {self.tolerance:.1e}",
                most <= self.tolerance)  # fmt: skip

    def margin(self, drawn, want, logits):
        """0 if the tokens are the reference's; else how far apart the two were where they
        first differ (what follows has another past)"""
        if list(drawn) == want.tolist():
            return 0
        if len(drawn) != len(want):
            return np.inf
        at = np.flatnonzero(drawn != want)[0]
        return logits[at].max() - logits[at, drawn[at]]

    def tokens(self, rows, *options):
        options = [*self.options, *options]
        texts = rg_program.greedy(self.program, self.folder, rows, TOKENS, *options)
        answers = [self.answers[self.rows.index(row)] for row in rows]
        worst = max(self.margin(text, *answer) for text, answer in zip(texts, answers))
        what = " ".join([f"{TOKENS} tokens behind {len(rows)} rows", *options])
        self.ok(what, len(texts) == len(rows) and worst <= 2 * self.tolerance)

    def check(self):
        W = self.W
        for hf in (False, True):
            self.window(hf)
            self.logits(*((0, 3) if hf else sorted({0, 1, 3, max(W - 1, 1), W, W + 1})))
            self.tokens(self.rows)
            if not hf:
                self.tokens(self.rows, "--no-graph", "--chunk", "2")
                self.tokens(self.rows[:1])


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
