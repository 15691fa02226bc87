"""Plots the loss curves of one or several runs. The title is the column `machine`, if it exists:
python tools/plot_training.py train.csv [other.csv ...] loss.png"""

import os

import plotting


def column(rows, name, path):
    """steps and values of the rows in which the column is not empty"""
    rows = [r for r in rows if r[name]]
    return [int(s) for s in plotting.numbers(rows, "step", path)], plotting.numbers(
        rows, name, path
    )


def smoothed(values):
    """moving average over a fortieth of all values on each side"""
    side = max(1, len(values) // 40)
    near = [values[max(0, i - side) : i + side + 1] for i in range(len(values))]
    return [sum(v) / len(v) for v in near]


def draw(ax, path, name, color, tail):
    """Draws one run. Returns the range of its losses without the first steps, and the machine."""
    rows = plotting.read(path, ("step", "loss", "val"))
    steps, loss = column(rows, "loss", path)
    vsteps, val = column(rows, "val", path)
    if not steps:
        raise SystemExit(f"{path}: no data rows yet")
    ax.plot(steps, loss, color=color, alpha=0.25, linewidth=1)
    ax.plot(steps, smoothed(loss), color=color, linewidth=1.6, label=name + "training, smoothed")
    if val:
        ax.plot(vsteps, val, "o-", color=tail, markersize=4, label=name + "validation")
        best = min(range(len(val)), key=val.__getitem__)
        ax.annotate(
            f"{val[best]:.3f}", (vsteps[best], val[best]), color=tail,
            textcoords="offset points", xytext=(0, 8), ha="center",
        )  # fmt: skip
    top = smoothed(loss)[min(len(loss) - 1, max(1, len(loss) // 50))]
    return min(loss + val), top, rows[0].get("machine")


def main():
    paths, out = plotting.arguments("plot_training.py", "train.csv [other.csv ...]")
    fig, (ax,) = plotting.figure()
    ranges = []
    for i, path in enumerate(paths):
        name = os.path.splitext(os.path.basename(path))[0] + ": " if len(paths) > 1 else ""
        colors = plotting.COLORS
        ranges.append(
            draw(ax, path, name, colors[2 * i % len(colors)], colors[(2 * i + 1) % len(colors)])
        )
    low, top = min(r[0] for r in ranges), max(r[1] for r in ranges)
    ax.set_ylim(low - 0.05 * (top - low) - 0.02, top + 0.05)
    ax.set(xlabel="step", ylabel="loss, nats per token", title=ranges[0][2] or "")
    ax.legend(frameon=False)
    plotting.save(fig, out)


if __name__ == "__main__":
    main()
