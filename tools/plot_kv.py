"""Plots tokens per second over the sequence length, with and without a KV cache:
python tools/plot_kv.py kv.csv kv.png"""

from statistics import mean, pstdev

import plotting


def main():
    (path,), out = plotting.arguments("plot_kv.py")
    rows = plotting.read(path, ("machine", "model", "dtype", "mode", "context", "tokens_per_s"))
    fig, (ax,) = plotting.figure()
    colors = {m: plotting.COLORS[i] for i, m in enumerate(plotting.groups(rows, "model"))}
    runs = set()
    for (model, dtype, mode), line in plotting.groups(rows, "model", "dtype", "mode").items():
        points = plotting.groups(line, "context")
        x = [int(key[0]) for key in points]
        speeds = [plotting.numbers(group, "tokens_per_s", path) for group in points.values()]
        runs.update(len(s) for s in speeds)
        cached = mode == "cached"
        ax.errorbar(
            x, [mean(s) for s in speeds], yerr=[pstdev(s) for s in speeds], capsize=3,
            fmt="o-" if cached else "s--", markersize=4, linewidth=1.5, color=colors[(model,)],
            label=f"{model} ({dtype}), " + ("with a cache" if cached else "without a cache"),
        )  # fmt: skip
        plotting.lengths(ax, [int(r["context"]) for r in rows])
    ax.set_yscale("log")
    n = f"{min(runs)}" if len(runs) == 1 else f"{min(runs)} to {max(runs)}"
    ax.set(
        xlabel="sequence length, tokens", ylabel=f"tokens/s (mean and standard deviation of {n} runs)",
        title=f"One sequence: {rows[0]['machine']}",
    )  # fmt: skip
    ax.legend(frameon=False, fontsize=8)
    plotting.save(fig, out)


if __name__ == "__main__":
    main()
