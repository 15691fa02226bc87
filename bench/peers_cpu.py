"""peers_cpu.py - inference without a GPU: both programs and Hugging Face transformers, on
one machine in one run.

    make BACKEND=cpu bench-peers-cpu TORCH_PYTHON=/path/with/transformers
    make BACKEND=cpu bench-peers-cpu TORCH_PYTHON=... PEERS="--models 2b --rounds 3"

A model is a folder with random weights, made in build/random-cpu/ if it is missing. Both
sides load that folder, in f32 and in bf16. A run prefills one sequence and decodes
greedily; both sides get the same prompt. With one thread the table shows CPU time (of the
whole process), with two, wall-clock time. The sides alternate, run by run, and each figure
is the median. `equal` counts the tokens that agree until the first difference: in f32 all
of them; in bf16 two logits can differ by less than the rounding error.

GB/s is the bytes of the weights, which a step reads once, over the step's wall-clock
time. `read` is that as a fraction of the bandwidth of reading 512 MB, measured in the
same run. A model that fits into the last-level cache can exceed 1.
"""

import argparse
import datetime
import importlib.util
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import time

from answering import Program

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.join(HERE, "build", "random-cpu")
# prompt, steps, dtypes, and how the folder is made
MODELS = {
    "rg24m": (512, 64, "f32,bf16", "--layers 8 --channels 512 --heads 8 --hidden 1280 "
              "--vocab 4096"),
    "llama10m": (128, 96, "f32,bf16", None),
    "2b": (128, 8, "bf16", "--preset 2b"),
    "tiny": (12, 4, "f32,bf16", "--preset tiny"),  # a test
}  # fmt: skip
LLAMA = {  # the shape of tinylm/presets/baby
    "num_hidden_layers": 6, "num_attention_heads": 6, "num_key_value_heads": 6,
    "hidden_size": 384, "intermediate_size": 1024, "vocab_size": 65,
    "max_position_embeddings": 256, "rms_norm_eps": 1e-5, "tie_word_embeddings": True,
    "initializer_range": 0.1,
}  # fmt: skip
MEASURES = {1: "cpu", 2: "wall"}  # threads: which time


# --- a worker: transformers in a process of its own -------------------------------------


def open_model(folder, dtype, threads):
    import torch
    from transformers import AutoModelForCausalLM

    path = os.path.join(HERE, "tools", "transformers_model.py")
    spec = importlib.util.spec_from_file_location("transformers_model", path)
    tools = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tools)  # sets one thread
    torch.set_num_threads(threads)
    dtype = {"f32": torch.float32, "bf16": torch.bfloat16}[dtype]
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype).eval()
    tools.fix_rotary(model)
    return torch, model


class Sequence:
    def __init__(self, torch, model):
        self.torch, self.model = torch, model
        self.griffin = model.config.model_type == "recurrent_gemma"

    def prefill(self, ids):
        from transformers import DynamicCache

        config = self.model.config
        if self.griffin:
            self.model._setup_cache(config, 1, ids.device, self.model.dtype)
        self.cache, self.at = DynamicCache(config=config), 0
        self.next = self.forward(ids)

    def forward(self, ids):
        pos = self.torch.arange(self.at, self.at + ids.shape[1])[None]
        out = self.model(input_ids=ids, position_ids=pos, past_key_values=self.cache,
                         use_cache=True, logits_to_keep=1)  # fmt: skip
        self.at += ids.shape[1]
        return out.logits[:, -1:].argmax(-1)


def peer(folder, dtype, prompt, steps, threads):
    torch, model = open_model(folder, dtype, threads)
    V = model.config.vocab_size
    ids = torch.tensor([[(7919 * i + 13) % V for i in range(prompt)]])
    s = Sequence(torch, model)
    print("ready", flush=True)
    for _ in sys.stdin:
        moments = [(time.perf_counter(), time.process_time())]
        with torch.inference_mode():
            s.prefill(ids)
            tokens = [s.next]
            moments.append((time.perf_counter(), time.process_time()))
            for _ in range(steps):
                s.next = s.forward(s.next)
                tokens.append(s.next)
            moments.append((time.perf_counter(), time.process_time()))
        (w0, c0), (w1, c1), (w2, c2) = moments
        print(json.dumps({
            "prefill_wall": 1e3 * (w1 - w0), "prefill_cpu": 1e3 * (c1 - c0),
            "steps_wall": 1e3 * (w2 - w1), "steps_cpu": 1e3 * (c2 - c1),
            "tokens": [int(t) for t in tokens],
        }), flush=True)  # fmt: skip


def make_llama(folder, dtype):
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(1)
    dtype = {"f32": torch.float32, "bf16": torch.bfloat16}[dtype]
    LlamaForCausalLM(LlamaConfig(**LLAMA)).to(dtype).save_pretrained(folder)


# --- all sides, alternating -------------------------------------------------------------


class Side(Program):
    """answers each line with the times of one run"""

    def __init__(self, command, threads):
        env = {k: v for k, v in os.environ.items() if not k.startswith("OPENBLAS_")}
        env.update(WB_THREADS=str(threads), OMP_NUM_THREADS=str(threads))
        super().__init__(command, env)
        start = time.perf_counter()
        if self.answer() != "ready\n":
            sys.exit(f"{command[0]}: no model")
        self.load_s = time.perf_counter() - start
        self.runs = []

    def run(self):
        time.sleep(0.05)  # until the threads of the other side have stopped spinning
        line = self.ask("go")
        if not line:
            sys.exit("a side ended early")
        self.runs.append(json.loads(line))

    def median(self, what):
        return statistics.median(run[what] for run in self.runs[1:])  # without the first


def folder_of(args, name, dtype):
    """the folder with these weights; a Llama has one for each dtype"""
    flags = MODELS[name][3]
    folder = os.path.join(args.folders, name if flags else f"{name}-{dtype}")
    if os.path.exists(os.path.join(folder, "config.json")):
        return folder
    os.makedirs(args.folders, exist_ok=True)
    if flags:
        command = [args.random, *flags.split(), folder]
    else:
        command = [sys.executable, __file__, "--make-llama", folder, dtype]
    subprocess.run(command, check=True)
    return folder


def step_bytes(folder, dtype):
    """of the weights that a step reads"""
    total = 0
    for name in os.listdir(folder):
        if not name.endswith(".safetensors"):
            continue
        with open(os.path.join(folder, name), "rb") as f:
            header = json.loads(f.read(int.from_bytes(f.read(8), "little")))
        header.pop("__metadata__", None)
        total += sum(math.prod(tensor["shape"]) for tensor in header.values())
    return total * {"f32": 4, "bf16": 2}[dtype]


def read_bandwidth(args, threads):
    """bytes per second of a sum over 512 MB; NaN without torch"""
    if args.alone:
        return math.nan
    import torch

    torch.set_num_threads(threads)
    x = torch.ones(1 << 27)
    times = []
    for _ in range(7):
        start = time.perf_counter()
        x.sum()
        times.append(time.perf_counter() - start)
    return x.numel() * 4 / min(times)


def compare(args, name, dtype, threads):
    prompt, steps, _, _ = MODELS[name]
    prompt, steps = args.prompt or prompt, args.steps or steps
    folder = folder_of(args, name, dtype)
    given = [folder, dtype, str(prompt), str(steps)]
    sides = {"ours": Side([args.program, *given], threads)}
    if not args.alone:
        worker = [sys.executable, os.path.abspath(__file__), "--worker", *given]
        sides["transformers"] = Side([*worker, str(threads)], threads)
    for _ in range(args.rounds + 1):
        for side in sides.values():
            side.run()
    for side in sides.values():
        side.close()
    return report(args, name, dtype, threads, folder, sides, prompt, steps)


def equal_tokens(a, b):
    same = 0
    while same < len(a) and a[same] == b[same]:
        same += 1
    return f"{same}/{len(a)}"


def report(args, name, dtype, threads, folder, sides, prompt, steps):
    time_of = MEASURES[threads]
    read = step_bytes(folder, dtype)
    theirs = sides.get("transformers")
    for side, s in sides.items():
        prefill = s.median(f"prefill_{time_of}")
        step = s.median(f"steps_{time_of}") / steps
        GBs = read / s.median("steps_wall") * steps * 1e-6
        row = {
            **args.common, "model": name, "dtype": dtype, "threads": threads,
            "time": time_of, "side": side, "prompt": prompt, "steps": steps,
            "rounds": args.rounds,
            "prefill_ms": round(prefill, 3), "step_ms": round(step, 4),
            "prefill_wall_ms": round(s.median("prefill_wall"), 3),
            "step_wall_ms": round(s.median("steps_wall") / steps, 4),
            "load_s": round(s.load_s, 2), "step_bytes": read,
            "read_GBs": None if args.alone else round(args.bandwidth[threads] * 1e-9, 1),
        }  # fmt: skip
        equal = ""
        if theirs and side == "ours":
            equal = equal_tokens(s.runs[-1]["tokens"], theirs.runs[-1]["tokens"])
        print(f"{name:9} {dtype:5} {threads:2} {time_of:4} {side:13} {prompt:5} "
              f"{prefill:9.2f} {step:9.3f} {GBs:6.1f} "
              f"{GBs * 1e9 / args.bandwidth[threads]:5.2f}  {equal}",
              flush=True)  # fmt: skip
        if args.json:
            args.json.write(json.dumps(row) + "\n")
            args.json.flush()


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        names = [line.split(":")[1].strip() for line in f if "model name" in line]
    return names[0] if names else platform.machine()


def arguments():
    parser = argparse.ArgumentParser(
        description="inference on the CPU: both programs compared with transformers")
    parser.add_argument("--program", help="build/cpu/bench/inference/inference")
    parser.add_argument("--random", help="build/cpu/recurrentgemma-random")
    known = ", ".join(MODELS)
    parser.add_argument("--models", default="rg24m,llama10m", help=f"of {known}")
    parser.add_argument("--folders", default=ROOT, help="where the models are or will be")
    parser.add_argument("--dtypes", default="f32,bf16")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--prompt", type=int, help="tokens (default: the model's)")
    parser.add_argument("--steps", type=int, help="per run (default: the model's)")
    parser.add_argument("--rounds", type=int, default=7, help="timed runs (default 7)")
    parser.add_argument("--alone", action="store_true", help="without transformers")
    parser.add_argument("--json", metavar="FILE", help="figures, one JSON line each")
    parser.add_argument("--worker", nargs=5, help=argparse.SUPPRESS)
    parser.add_argument("--make-llama", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker or args.make_llama:
        return args
    if not args.program or not args.random:
        parser.error("give --program and --random: make bench-peers-cpu does")
    args.models, args.dtypes = args.models.split(","), args.dtypes.split(",")
    args.threads = [int(n) for n in args.threads.split(",")]
    if set(args.models) - set(MODELS) or set(args.dtypes) - {"f32", "bf16"}:
        parser.error(f"--models: {', '.join(MODELS)}; --dtypes: f32, bf16")
    if set(args.threads) - set(MEASURES):
        parser.error("--threads: 1, 2 or 1,2")
    return args


def main():
    args = arguments()
    if args.make_llama:
        return make_llama(*args.make_llama)
    if args.worker:
        folder, dtype, prompt, steps, threads = args.worker
        return peer(folder, dtype, int(prompt), int(steps), int(threads))
    versions = {}
    try:
        if not args.alone:
            import torch
            import transformers

            versions["transformers"] = transformers.__version__
            versions["torch"] = torch.__version__
    except ImportError:
        sys.exit(f"{sys.executable} has no transformers: run make with TORCH_PYTHON=PATH")
    args.json = open(args.json, "w", encoding="utf-8") if args.json else None
    now = datetime.datetime.now(datetime.timezone.utc)
    args.common = {"date": now.isoformat("T", "seconds"), "machine": machine(),
                   **versions}  # fmt: skip
    args.bandwidth = {n: read_bandwidth(args, n) for n in args.threads}
    speeds = args.bandwidth.items()
    reading = ", ".join(f"{b * 1e-9:.1f} GB/s with {n}" for n, b in speeds)
    named = "".join(f", {name} {version}" for name, version in versions.items())
    print(f"{machine()}{named}; reading memory: {reading}")
    print(f"{'model':9} {'':5} {'threads':7} {'':13} {'prompt':5} {'prefill':>9} "
          f"{'step':>9} {'GB/s':>6} {'read':>5}  equal")  # fmt: skip
    for name in args.models:
        for dtype in args.dtypes:
            if dtype not in MODELS[name][2].split(","):
                continue
            for threads in args.threads:
                compare(args, name, dtype, threads)


if __name__ == "__main__":
    main()
