"""scaling.py - training steps over the number of ranks: TinyLM, and the same model in
PyTorch with DDP, on one machine in one run.

    make bench-scaling [RANKS="1 2 4"] [TORCH_PYTHON=python-with-torch]

Weak scaling: every rank has the rows that one rank alone has; efficiency is t(1)/t(n).
Strong scaling: the ranks share the rows; efficiency is t(1)/(n t(n)). PyTorch's side is
bench/peers_ddp.py. Every line of JSON has the model, the sizes and the time of a step.
"""

import argparse
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def last_line(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        sys.exit(f"scaling.py: '{' '.join(command[:5])} ...' failed (see the lines above)")
    return json.loads(lines[-1])


def ours(args, ranks, preset, batch, runs):
    return last_line([
        os.path.join(HERE, "tools/mpi.sh"), "run", str(ranks), args.program, "--preset", preset,
        "--batch", str(batch), "--runs", str(runs), *args.options])


def ddp(args, ranks, like):
    return last_line([
        args.torch, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node",
        str(ranks), os.path.join(HERE, "bench/peers_ddp.py"), json.dumps(like),
        "--steps", str(args.runs)])


def measure(args):
    numbers = [int(n) for n in args.ranks.split()]
    for kind in ("weak", "strong"):
        preset, rows = getattr(args, kind).split(":")
        for n in numbers:
            batch = int(rows) * (n if kind == "weak" else 1)
            yield {"kind": kind, **ours(args, n, preset, batch, args.runs)}
    if not args.torch:
        return
    preset, rows = args.strong.split(":")
    like = ours(args, 1, preset, int(rows), 1)
    for n in numbers:
        yield {"kind": "strong", **ddp(args, n, like)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", default="build/cuda/bench/tinylm/scaling")
    parser.add_argument("--torch", metavar="PYTHON", default="", help="which has torch")
    parser.add_argument("--ranks", default="1 2 4", help='"1 2 4"')
    parser.add_argument("--weak", metavar="PRESET:ROWS", default="baby:64", help="per rank")
    parser.add_argument("--strong", metavar="PRESET:ROWS", default="medium:64", help="of all")
    parser.add_argument("--runs", type=int, default=20, help="steps of a round (20)")
    parser.add_argument("--json", metavar="FILE", help="figures, appended as JSON lines")
    args, args.options = parser.parse_known_args()
    first = {}
    print(f"{'':6} {'side':6} {'preset':8} {'ranks':>5} {'rows':>5} {'ms':>9} "
          f"{'tokens/s':>10} {'efficiency':>10} {'MB/rank':>9}")
    for r in measure(args):
        key = r["kind"], r["side"]
        one = first.setdefault(key, r)
        per_rank = one["tokens_per_s"] / one["ranks"]
        r["efficiency"] = r["tokens_per_s"] / (r["ranks"] * per_rank)
        print(f"{r['kind']:6} {r['side']:6} {r['preset']:8} {r['ranks']:5} {r['batch']:5} "
              f"{r['ms']:9.3f} {r['tokens_per_s']:10.0f} {r['efficiency']:10.3f} "
              f"{r['arena_mb']:9.0f}", flush=True)
        if args.json:
            with open(args.json, "a", encoding="utf-8") as f:
                f.write(json.dumps(r) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
