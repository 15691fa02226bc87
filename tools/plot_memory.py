"""Plots the memory of the caches over the sequence length, as allocated and by formula:
python tools/plot_memory.py memory.csv memory.png"""

import plotting


def main():
    (path,), out = plotting.arguments("plot_memory.py")
    rows = plotting.read(
        path, ("machine", "model", "arch", "dtype", "context", "cache_bytes", "formula_bytes")
    )
    fig, (ax,) = plotting.figure()
    for color, ((model, dtype), line) in zip(
        plotting.COLORS, plotting.groups(rows, "model", "dtype").items()
    ):
        x = [int(r["context"]) for r in line]
        counted = [v / 1e6 for v in plotting.numbers(line, "cache_bytes", path)]
        formula = [v / 1e6 for v in plotting.numbers(line, "formula_bytes", path)]
        ax.plot(x, formula, "-", color=color, linewidth=1.5, label=f"{model} ({dtype}), formula")
        ax.plot(x, counted, "o", color=color, markersize=5, label="allocated")
    plotting.lengths(ax, [int(r["context"]) for r in rows])
    ax.set_yscale("log")
    ax.set(
        xlabel="sequence length, tokens", ylabel="keys, values and states, MB",
        title=f"Caches of one sequence: {rows[0]['machine']}",
    )  # fmt: skip
    ax.legend(frameon=False, fontsize=8)
    plotting.save(fig, out)


if __name__ == "__main__":
    main()
