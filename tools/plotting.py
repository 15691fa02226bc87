"""plotting.py - shared by plot_*.py: reading a CSV, the style, saving. Needs matplotlib."""

import csv
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

COLORS = ["#2a5a9c", "#c44e2b", "#3c8d5a", "#8a5fa8", "#b08a2e", "#4a4a4a"]


def arguments(script, inputs="FILE.csv"):
    """the paths: one or more CSVs, then the PNG"""
    if len(sys.argv) < 3 or not sys.argv[-1].endswith(".png"):
        sys.exit(f"usage: {script} {inputs} OUT.png")
    return sys.argv[1:-1], sys.argv[-1]


def read(path, columns):
    """rows as dicts; exits with a message if one of these columns is missing"""
    try:
        with open(path, newline="", encoding="utf-8") as f:
            rows = list(csv.DictReader(f))
    except (OSError, ValueError) as error:
        sys.exit(f"{path}: {error}")
    if not rows:
        sys.exit(f"{path}: no data rows yet")
    missing = [c for c in columns if c not in rows[0] or rows[0][c] is None]
    if missing:
        sys.exit(f"{path}: no column '{missing[0]}'")
    return rows


def groups(rows, *names):
    """{(values of these columns): rows}, in the order of the file"""
    found = {}
    for row in rows:
        found.setdefault(tuple(row[n] for n in names), []).append(row)
    return found


def numbers(rows, name, path):
    try:
        return [float(row[name]) for row in rows]
    except (TypeError, ValueError):
        sys.exit(f"{path}: column '{name}' has a value that is not a number")


def figure(columns=1):
    fig, axes = plt.subplots(
        1, columns, figsize=(7 if columns == 1 else 4.6 * columns, 4.2),
        layout="constrained", squeeze=False,
    )  # fmt: skip
    for ax in axes[0]:
        ax.grid(alpha=0.25)
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
    return fig, list(axes[0])


def lengths(ax, values):
    """a log2 axis with plain numbers as labels"""
    ax.set_xscale("log", base=2)
    ax.set_xticks(sorted(set(values)))
    ax.xaxis.set_major_formatter(lambda x, _: f"{x:.0f}")


def save(fig, path):
    try:
        fig.savefig(path, dpi=110)
    except OSError as error:
        sys.exit(f"{path}: {error}")
    print(f"plot   {path}")
