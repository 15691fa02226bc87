"""griffin.py PROGRAM LOGITS CHECKPOINT - a Griffin that TinyLM has trained answers in the
engine PROGRAM what it answers in TinyLM itself, by tests/tinylm/logits.c: in both windows, for
a text longer than that. Tolerance, as a fraction of the largest logit: f32 2e-5, bf16 0.05
(the two round in other places)."""

import subprocess
import sys
import tempfile

import numpy as np

sys.path[:0] = ["reference", "tools"]
import folder  # noqa: E402
import rg_program  # noqa: E402

TOLERANCE = {"f32": 2e-5, "bf16": 0.05}
TEXT = "The miller counts 3 sacks of meal, and 9 birds sit"


def main():
    program, logits, checkpoint = sys.argv[1:]
    good = True
    for window in ([], ["hf-window"]):
        with tempfile.NamedTemporaryFile() as f:
            subprocess.run([logits, checkpoint, TEXT, f.name, *window], check=True)
            meta, t = folder.read(f.name)
            tokens, want = t["tokens"].tolist(), np.array(t["logits"])
        options = ["--" + w for w in window]
        (got,) = rg_program.logits(program, checkpoint, [tokens], *options)
        off, limit = np.abs(got - want).max() / np.abs(want).max(), TOLERANCE[meta["dtype"]]
        print(f"{meta['dtype']} {' '.join(window)}: {len(tokens)} tokens off by {off:.1e}, "
              f"tolerance {limit:g}")  # fmt: skip
        good &= bool(off <= limit)
    sys.exit(not good)


if __name__ == "__main__":
    main()
