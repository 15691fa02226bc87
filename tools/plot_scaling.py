"""Plots training over the number of ranks: weak scaling as efficiency, strong scaling as
tokens per second: python tools/plot_scaling.py scaling.jsonl scaling.png"""

import json

import plotting


def main():
    (path,), out = plotting.arguments("plot_scaling.py")
    with open(path, encoding="utf-8") as f:
        rows = [json.loads(line) for line in f]
    fig, (left, right) = plotting.figure(2)
    sides = {}
    for r in rows:
        sides.setdefault((r["kind"], r["side"]), []).append(r)
    for i, ((kind, side), line) in enumerate(sides.items()):
        x = [r["ranks"] for r in line]
        label = f"{line[0]['preset']}, {'PyTorch DDP' if side == 'ddp' else 'TinyLM'}"
        if kind == "weak":
            y, ax = [r["efficiency"] for r in line], left
        else:
            y, ax = [r["tokens_per_s"] / 1e6 for r in line], right
            ideal = [y[0] * n / x[0] for n in x]
            ax.plot(x, ideal, ":", color=plotting.COLORS[i], linewidth=1)
        ax.plot(x, y, "o-", markersize=4, linewidth=1.5, color=plotting.COLORS[i], label=label)
    left.set(xlabel="ranks", ylabel="efficiency, t(1)/t(n)", ylim=(0, 1.05),
             title="Weak: the same rows per rank")
    right.set(xlabel="ranks", ylabel="million tokens/s (dotted: n times one rank)", ylim=(0, None),
              title=f"Strong: the same rows in all, {rows[0]['machine']}")
    for ax in (left, right):
        ax.set_xticks(sorted({r["ranks"] for r in rows}))
        ax.legend(frameon=False, fontsize=8)
    plotting.save(fig, out)


if __name__ == "__main__":
    main()
