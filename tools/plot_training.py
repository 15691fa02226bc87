"""Draws the loss curves of a run: python tools/plot_training.py train.csv loss.png"""

import csv
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402


def column(rows, name):
    """steps and values where the column has one"""
    pairs = [(int(r["step"]), float(r[name])) for r in rows if r[name]]
    return [p[0] for p in pairs], [p[1] for p in pairs]


def smoothed(values):
    """mean of the neighbours, a fortieth of all on each side"""
    side = max(1, len(values) // 40)
    near = [values[max(0, i - side) : i + side + 1] for i in range(len(values))]
    return [sum(v) / len(v) for v in near]


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: plot_training.py train.csv loss.png")
    try:
        with open(sys.argv[1], newline="") as f:
            rows = list(csv.DictReader(f))
        steps, loss = column(rows, "loss")
        vsteps, val = column(rows, "val")
    except (OSError, KeyError, ValueError) as error:
        sys.exit(f"{sys.argv[1]}: {error}")
    if not steps:
        sys.exit(f"{sys.argv[1]}: no line yet")
    fig, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
    ax.plot(steps, loss, color="#b8c4d6", linewidth=1, label="training, each logged step")
    ax.plot(steps, smoothed(loss), color="#2a5a9c", linewidth=1.6, label="training, smoothed")
    if val:
        ax.plot(vsteps, val, "o-", color="#c44e2b", markersize=4, label="held-out tail")
        best = min(range(len(val)), key=val.__getitem__)
        ax.annotate(
            f"{val[best]:.3f}", (vsteps[best], val[best]), color="#c44e2b",
            textcoords="offset points", xytext=(0, 8), ha="center",
        )  # fmt: skip
    top = smoothed(loss)[min(len(loss) - 1, max(1, len(loss) // 50))]
    low = min(loss + val)
    ax.set_ylim(low - 0.05 * (top - low) - 0.02, top + 0.05)
    ax.set(xlabel="step", ylabel="loss, nats per token")
    ax.grid(alpha=0.25)
    ax.legend(frameon=False)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    try:
        fig.savefig(sys.argv[2], dpi=140)
    except OSError as error:
        sys.exit(f"{sys.argv[2]}: {error}")
    print(f"plot   {sys.argv[2]}")


if __name__ == "__main__":
    main()
