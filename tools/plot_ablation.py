"""Plots how much lab 03's kernels contribute to the speed of TinyLM:
python tools/plot_ablation.py ablation.csv ablation.png"""

from statistics import mean, pstdev

import plotting

NAMES = {"naive": "first rung", "fused": "solution", "residual": "solution,\naddition fused"}
WORK = {"step": "a training step", "forward": "a forward pass"}


def main():
    (path,), out = plotting.arguments("plot_ablation.py")
    rows = plotting.read(path, ("machine", "model", "dtype", "work", "launch", "norm", "ms"))
    panels = plotting.groups(rows, "model", "dtype", "work")
    fig, axes = plotting.figure(len(panels))
    for ax, ((model, dtype, work), panel) in zip(axes, panels.items()):
        norms = [key[0] for key in plotting.groups(panel, "norm")]
        for i, ((launch,), bars) in enumerate(plotting.groups(panel, "launch").items()):
            times = [plotting.numbers(g, "ms", path) for g in plotting.groups(bars, "norm").values()]
            x = [n + 0.38 * (i - 0.5) for n in range(len(times))]
            means = [mean(t) for t in times]
            ax.bar(
                x, means, 0.36, yerr=[pstdev(t) for t in times], capsize=3,
                color=plotting.COLORS[i],
                label={"eager": "launch by launch", "graph": "one CUDA graph"}.get(launch, launch),
            )  # fmt: skip
            for at, value in zip(x, means):
                ax.annotate(
                    f"{value:.3g}", (at, 0), xytext=(0, 4), textcoords="offset points",
                    ha="center", color="white", fontsize=8,
                )  # fmt: skip
        ax.set_xticks(range(len(norms)), [NAMES.get(n, n) for n in norms], fontsize=8)
        ax.set(ylabel=f"ms for {WORK.get(work, work)}", title=f"{model} ({dtype})")
    handles, labels = axes[0].get_legend_handles_labels()
    fig.legend(handles, labels, frameon=False, fontsize=8, loc="outside lower center", ncols=2)
    fig.suptitle(f"RMSNorm's part: {rows[0]['machine']}")
    plotting.save(fig, out)


if __name__ == "__main__":
    main()
