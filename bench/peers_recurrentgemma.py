"""peers_recurrentgemma.py - prefill and decode of a RecurrentGemma model folder, by this
program and by Hugging Face transformers, on one machine in one run.

    make BACKEND=cuda bench-recurrentgemma          2B shape; RANDOM=9b: 9B shape
    python bench/peers_recurrentgemma.py --tiny     peers of a tiny shape, on any machine

A case BxPxG: prefill B sequences of P random tokens, then decode G tokens of each,
greedily. Prefill and decode are timed separately, each from an idle device to an idle
device, and decode only after --warm steps. A peer decodes at most --steps tokens, because
later steps cost the same. Peers have random weights of the shape in FOLDER/config.json,
created on the device: their values do not affect the speed.

Sides: `ours`; `eager`; `compile`, each layer of a decode step under torch.compile. (Their
prefill is a Python loop over time, which torch.compile would unroll, so it stays eager.)
Each side runs in its own process with a time limit. If it hangs or fails, the report has
a line with the reason.

The program counts the lower bounds. A step reads every weight, the visible keys and
values and the states once, at the bandwidth of a copy; a prefill computes its GEMMs at
the speed of a large square GEMM. Both speeds are measured when the program runs.
"""

import argparse
import datetime
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SEED = 0x5EED
CASES = "2x4096x1024,1x512x256,32x512x128"
TINY = {
    "num_hidden_layers": 4, "vocab_size": 97, "hidden_size": 32, "intermediate_size": 96,
    "num_attention_heads": 2, "num_key_value_heads": 1, "lru_width": 32,
    "attention_window_size": 8, "block_types": ["recurrent", "recurrent", "attention"],
}
TINY_CASES = "2x12x6,1x3x12"
BLOCKS = 4  # timed blocks of steps; the median leaves out one that still compiles
MARK = "@figures "  # starts a line of JSON, because torch may print other lines


def say(**figures):
    print(MARK + json.dumps(figures), flush=True)


# --- a worker: one side in its own process ----------------------------------------------


class Clock:
    def __init__(self, torch):
        self.torch, self.on_gpu = torch, torch.cuda.is_available()
        self.device = "cuda" if self.on_gpu else "cpu"

    def ms(self, call):
        """(time of a call in ms, its result)"""
        wait = self.torch.cuda.synchronize if self.on_gpu else lambda: None
        wait()
        start = time.perf_counter()
        result = call()
        wait()
        return (time.perf_counter() - start) * 1e3, result


def make_model(torch, clock, config):
    from transformers import RecurrentGemmaConfig, RecurrentGemmaForCausalLM

    config = RecurrentGemmaConfig(**config)
    torch.manual_seed(SEED)
    torch.set_default_dtype(torch.bfloat16 if clock.on_gpu else torch.float32)
    with torch.device(clock.device):
        model = RecurrentGemmaForCausalLM(config).eval()
    torch.set_default_dtype(torch.float32)
    path = os.path.join(HERE, "tools", "transformers_model.py")
    spec = importlib.util.spec_from_file_location("transformers_model", path)
    tools = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tools)
    fixes = tools.mend_rotary(model)
    return model, fixes.strip()


class Sequences:
    """a batch of sequences: prefill, then decode token by token"""

    def __init__(self, torch, model):
        self.torch, self.model, self.cache = torch, model, None

    def prefill(self, tokens):
        from transformers import DynamicCache

        self.model._setup_cache(self.model.config, tokens.shape[0], tokens.device,
                                self.model.dtype)
        self.cache = DynamicCache(config=self.model.config)
        self.at = 0
        self.next = self.forward(tokens)

    def forward(self, tokens):
        n = tokens.shape[1]
        pos = self.torch.arange(self.at, self.at + n, device=tokens.device)[None]
        out = self.model(input_ids=tokens, position_ids=pos, past_key_values=self.cache,
                         use_cache=True, logits_to_keep=1)
        self.at += n
        return out.logits[:, -1:].argmax(-1)

    def decode(self, steps):
        for _ in range(steps):
            self.next = self.forward(self.next)


def peer(torch, clock, side, config, args):
    model, fixes = make_model(torch, clock, config)
    import transformers

    about = {"side": side, "transformers": transformers.__version__, "mended": fixes}
    originals = [layer.forward for layer in model.model.layers]
    if side == "compile":
        torch._dynamo.config.recompile_limit = 256
    generator = torch.Generator().manual_seed(SEED)
    for B, P, G in args.cases:
        tokens = torch.randint(config["vocab_size"], (B, P), generator=generator)
        tokens = tokens.to(clock.device)
        batch = Sequences(torch, model)
        batch.prefill(tokens[:, :2])
        prefill, _ = clock.ms(lambda: batch.prefill(tokens))
        if side == "compile":
            for layer, forward in zip(model.model.layers, originals):
                layer.forward = torch.compile(forward)
        steps = max(min(G, args.steps) // BLOCKS, 1)
        warm, _ = clock.ms(lambda: batch.decode(args.warm))
        blocks = [clock.ms(lambda: batch.decode(steps))[0] for _ in range(BLOCKS)]
        for layer, forward in zip(model.model.layers, originals):
            layer.forward = forward
        say(**about, rows=B, read=P, written=G, prefill_ms=prefill,
            step_ms=statistics.median(blocks) / steps, steps=BLOCKS * steps,
            warm_s=warm / 1e3)


def work(args, config):
    try:
        import torch
    except ImportError:
        sys.exit(f"{sys.executable} has no torch: run make with TORCH_PYTHON=PATH")
    clock = Clock(torch)
    with torch.no_grad():
        peer(torch, clock, args.worker, config, args)


# --- all sides, one after the other -----------------------------------------------------


def run(command, limit):
    """(the figures that it printed, why it ended early or None)"""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
        out, why = done.stdout, None
        if done.returncode:
            why = (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]
    except subprocess.TimeoutExpired as late:
        out = (late.stdout or b"").decode(errors="replace")
        why = f"stopped at the time limit of {limit:.0f} s (--limit)"
    except OSError as error:
        return [], str(error)
    lines = [line for line in out.splitlines() if line.startswith(MARK)]
    return [json.loads(line[len(MARK):]) for line in lines], why


def ours(args):
    """the program's own --bench: times and lower bounds of the cases"""
    with tempfile.TemporaryDirectory() as folder:
        figures = os.path.join(folder, "figures")
        command = [args.program, "--model", args.model, "--bench", args.cases_text,
                   "--json", figures]
        _, why = run(command, args.limit)
        if not os.path.exists(figures):
            return [], why or "the program wrote no figures"
        with open(figures, encoding="utf-8") as f:
            return [{"side": "ours", **json.loads(line)} for line in f], why


class Report:
    def __init__(self, args):
        self.rows, self.bounds = [], {}
        self.file = open(args.json, "w", encoding="utf-8") if args.json else None
        now = datetime.datetime.now(datetime.timezone.utc)
        self.common = {
            "date": now.isoformat("T", "seconds"), "command": " ".join(sys.argv),
            "model": args.model or "tiny", "seed": SEED,
        }

    def line(self, **figures):
        if self.file:
            self.file.write(json.dumps({**self.common, **figures}) + "\n")
            self.file.flush()

    def row(self, f):
        case = f["rows"], f["read"], f["written"]
        if f["side"] == "ours":
            self.bounds[case] = {
                "side": "bound", "step_ms": f["step_bytes"] / f["copy_GBs"] / 1e6,
                "prefill_ms": f["prefill_flops"] / f["product_TFLOPs"] / 1e9,
                **dict(zip(("rows", "read", "written"), case)),
            }
            self.machine = (f"{f['machine']}: copy {f['copy_GBs']:.0f} GB/s, GEMM "
                            f"{f['product_TFLOPs']:.0f} TFLOP/s")
        self.rows.append(f)
        self.line(**f)

    def failed(self, side, why):
        print(f"{side} failed: {why}"[:300], flush=True)
        self.line(side=side, failed=why[:1000])

    def table(self):
        print(f"\n{self.common['model']}" + (f", {self.machine}" if self.bounds else ""))
        print(f"{'BxPxG':14} {'':8} {'prefill ms':>11} {'step ms':>9} {'tokens/s':>9} "
              f"{'total s':>8}")
        order = ["bound", "ours", "eager", "compile"]
        rows = self.rows + list(self.bounds.values())
        rows.sort(key=lambda f: (f["rows"], f["read"], order.index(f["side"])))
        for f in rows:
            B, P, G = f["rows"], f["read"], f["written"]
            total = (f["prefill_ms"] + f["step_ms"] * (G - 1)) / 1e3
            print(f"{f'{B}x{P}x{G}':14} {f['side']:8} {f['prefill_ms']:11.2f} "
                  f"{f['step_ms']:9.3f} {1e3 * B / f['step_ms']:9.0f} "
                  f"{f.get('total_s', total):8.3f}")


def read_config(args):
    if args.tiny:
        return TINY
    path = os.path.join(args.model, "config.json")
    try:
        with open(path, encoding="utf-8") as f:
            config = json.load(f)
    except (OSError, ValueError) as error:
        sys.exit(f"peers_recurrentgemma.py: {path}: {error}")
    return {name: config[name] for name in TINY if name in config}


def arguments():
    parser = argparse.ArgumentParser(
        description="prefill and decode: this program compared with transformers")
    parser.add_argument("--program", help="build/cuda/recurrentgemma (default: no ours)")
    parser.add_argument("--model", help="a folder; its config.json gives the shape")
    parser.add_argument("--tiny", action="store_true", help="a tiny shape, as a test")
    parser.add_argument("--cases", metavar="BxPxG,...", help=f"default {CASES}")
    parser.add_argument("--sides", default="eager,compile", help="default eager,compile")
    parser.add_argument("--steps", type=int, default=64, help="per peer (default 64)")
    parser.add_argument("--warm", type=int, default=4, help="untimed steps (default 4)")
    parser.add_argument("--limit", type=float, default=120, help="seconds per side (120)")
    parser.add_argument("--json", metavar="FILE", help="figures, one JSON line each")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if bool(args.model) == args.tiny or args.program and args.tiny:
        parser.error("give --model FOLDER, with --program for ours, or give --tiny")
    args.cases_text = args.cases or (TINY_CASES if args.tiny else CASES)
    try:
        args.cases = [tuple(map(int, c.split("x"))) for c in args.cases_text.split(",")]
        if any(len(c) != 3 or min(c) < 1 for c in args.cases):
            raise ValueError
    except ValueError:
        parser.error(f"--cases: '{args.cases_text}' is not BxPxG,BxPxG")
    args.sides = [side for side in args.sides.split(",") if side]
    if set(args.sides) - {"eager", "compile"}:
        parser.error("--sides: give eager, compile or both")
    return args


def main():
    args = arguments()
    config = read_config(args)
    if args.worker:
        return work(args, config)
    worker = [sys.executable, os.path.abspath(__file__)] + sys.argv[1:] + ["--worker"]
    report = Report(args)
    ok = True
    for side in (["ours"] if args.program else []) + args.sides:
        rows, why = ours(args) if side == "ours" else run(worker + [side], args.limit)
        for row in rows:
            report.row(row)
        if why:
            report.failed(side, why)
        ok = ok and (side != "ours" or not why)
    report.table()
    return 0 if ok and report.rows else 1


if __name__ == "__main__":
    sys.exit(main())
