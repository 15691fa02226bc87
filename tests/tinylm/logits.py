"""logits.py CHECKPOINT FILE - the logits that tests/tinylm/logits.c wrote: with a cache as
without, and both as reference/tinylm.py in float64.

Tolerance, as a fraction of the largest logit: f32 2e-5, bf16 0.05 (activations are rounded
to 8 bits on the way). The most likely token must be the same at every position, unless the
reference has another one within the tolerance of it.
"""

import sys

import numpy as np
from gradients import folder, tinylm

TOLERANCE = {"f32": 2e-5, "bf16": 0.05}


def load(path):
    c, weights = folder.load(path)
    config = tinylm.from_json(c)
    assert {k: v.shape for k, v in weights.items()} == config.shapes()
    E = {"float32": "f32", "bfloat16": "bf16"}[c["torch_dtype"]]
    return E, tinylm.Model(config, weights)


def main():
    E, model = load(sys.argv[1])
    _, t = folder.read(sys.argv[2])
    want = model.logits(t["tokens"][None])[0]
    size = np.abs(want).max()
    errors = {}
    last = t["cached"]
    for a, b, what in (
        (t["logits"], want, "one pass"),
        (last, want, "cached"),
        (last, t["logits"], "one from the other"),
    ):
        errors[what] = np.abs(a - b).max() / size
    limit = TOLERANCE[E]
    rows = np.arange(len(want))
    top = last.argmax(1)
    short = (want.max(1) - want[rows, top]).max() / size  # by how much another was likelier
    print("; ".join(f"{k} off by {v:.1e}" for k, v in errors.items()), f"; tolerance {limit:g}")
    sys.exit(not (max(errors.values()) <= limit and short <= limit))


if __name__ == "__main__":
    main()
