"""gradients.py FILE - compares what tests/tinylm/gradients.c wrote with reference/tinylm.py.

Tolerance of each gradient: its largest difference, as a fraction of its own largest entry.
f32: 2e-5, some hundred roundings of 2^-24 in a row of layers. bf16: 0.06, f16: 0.008: each
activation is rounded to 8 or 11 bits, some dozen times on the way; in griffin, where a
recurrent block rounds between its parts too, half as much again.
"""

import json
import sys

import numpy as np

sys.path.insert(0, "reference")
import folder  # noqa: E402
import tinylm  # noqa: E402
import wb  # noqa: E402

TOLERANCE = {"f32": 2e-5, "bf16": 0.06, "f16": 0.008}


def main():
    meta, t = folder.read(sys.argv[1])
    E, scale = meta["dtype"], float(meta["loss_scale"])
    weights = {k: wb.rounded(v, E) for k, v in t.items() if "grad." + k in t}
    config = tinylm.from_json(json.loads(meta["config"]))
    assert {k: v.shape for k, v in weights.items()} == config.shapes()
    loss, g = tinylm.Model(config, weights).gradients(t["tokens"], t["targets"])
    worst, where = 0, ""
    for name, want in g.items():
        d = np.abs(t["grad." + name] / scale - want).max() / np.abs(want).max()
        if not d <= worst:
            worst, where = d, name
    off = abs(float(t["loss"]) - loss) / loss
    limit = TOLERANCE[E] * (1.5 if config.griffin and E != "f32" else 1)
    print(f"loss off by {off:.1e}, {len(g)} gradients by at most {worst:.1e} ({where}); "
          f"tolerance {limit:g}")  # fmt: skip
    sys.exit(not (worst <= limit and off <= limit))


if __name__ == "__main__":
    main()
