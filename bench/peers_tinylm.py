"""peers_tinylm.py - a training step of TinyLM and of the same model in PyTorch, on the CPU
of one machine in one run.

    make bench-tinylm-step PRESET=laptop TORCH_PYTHON=python-with-torch

Sides: `ours`; `eager`, PyTorch with AdamW as it is by default; `fused`, the same with
AdamW(fused=True). The PyTorch model has the layers of `--arch llama` in their fastest
eager form: query, key and value in one GEMM, gate and up in one, rms_norm and
scaled_dot_product_attention. Its text, batch, optimizer, schedule and clipping are those of
the preset. Only f32 `--arch llama` without accumulation or dropout has a peer; otherwise
only `ours` is measured.

Each side is a process that waits while another one runs. The sides alternate in short
blocks of steps, and the median of all steps counts. With one thread the CPU time is
reported too; with more it would count threads that spin while they wait.
"""

import argparse
import datetime
import json
import math
import os
import statistics
import sys
import time

from answering import Program

WARM = 6  # untimed steps: they allocate, record the CUDA graph, tune
SIDES = ("ours", "eager", "fused")


# --- the peer, in its own process -------------------------------------------------------


def make_model(torch, s):
    nn, F = torch.nn, torch.nn.functional
    H, K, D = s["heads"], s["kv_heads"], s["channels"] // s["heads"]
    T, C = s["context"], s["channels"]
    angle = torch.outer(torch.arange(T).float(),
                        s["rope_base"] ** (-torch.arange(0, D, 2).float() / D))
    cos, sin = angle.cos()[:, None], angle.sin()[:, None]  # (T,1,D/2): of every head

    def rotate(x):
        a, b = x.chunk(2, -1)
        return torch.cat((a * cos - b * sin, b * cos + a * sin), -1).type_as(x)

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = (nn.RMSNorm(C, eps=s["eps"]) for _ in range(2))
            self.qkv = nn.Linear(C, (H + 2 * K) * D, bias=False)
            self.out = nn.Linear(H * D, C, bias=False)
            self.gate_up = nn.Linear(C, 2 * s["hidden"], bias=False)
            self.down = nn.Linear(s["hidden"], C, bias=False)

        def forward(self, x):
            B = x.shape[0]
            qkv = self.qkv(self.norm1(x)).view(B, T, H + 2 * K, D)
            qk, v = rotate(qkv[:, :, :H + K]), qkv[:, :, H + K:]
            q, k, v = (y.transpose(1, 2) for y in (qk[:, :, :H], qk[:, :, H:], v))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=H != K)
            x = x + self.out(y.transpose(1, 2).reshape(B, T, H * D))
            gate, up = self.gate_up(self.norm2(x)).chunk(2, -1)
            return x + self.down(F.silu(gate) * up)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(s["vocab"], C)
            self.layers = nn.ModuleList(Layer() for _ in range(s["layers"]))
            self.norm = nn.RMSNorm(C, eps=s["eps"])
            self.head = nn.Linear(C, s["vocab"], bias=False)
            if s["tied"]:
                self.head.weight = self.embedding.weight

        def forward(self, token, target):
            x = self.embedding(token)
            for layer in self.layers:
                x = layer(x)
            logits = self.head(self.norm(x))
            return F.cross_entropy(logits.view(-1, s["vocab"]), target.reshape(-1))

    model = Model()
    for weight in model.parameters():
        if weight.dim() > 1:
            nn.init.normal_(weight, std=0.02)
    return model


def peer(s, fused, threads):
    try:
        import torch
    except ImportError:
        sys.exit(f"{sys.executable} has no torch: run make with TORCH_PYTHON=PATH")
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    model = make_model(torch, s)
    parameters = sum(p.numel() for p in model.parameters())
    if parameters != s["parameters"]:
        sys.exit(f"the peer has {parameters} parameters, TinyLM {s['parameters']}")
    matrices = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() == 1]
    optimizer = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": s["decay"]},
         {"params": others, "weight_decay": 0.0}],
        betas=(s["beta1"], s["beta2"]), eps=s["adam_eps"], fused=fused or None)
    text = torch.tensor([(i * 2654435761 % 2**32 >> 16) % s["vocab"] for i in range(1 << 16)])
    offsets = torch.arange(s["context"] + 1)
    done = 0

    def step():
        nonlocal done
        for group in optimizer.param_groups:
            group["lr"] = s["lr"] * min(1.0, (done + 1) / max(s["warmup"], 1))
        starts = torch.randint(len(text) - s["context"] - 1, (s["batch"], 1))
        tokens = text[starts + offsets]
        optimizer.zero_grad(set_to_none=True)
        loss = model(tokens[:, :-1], tokens[:, 1:])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), s["clip"])
        optimizer.step()
        done += 1
        return loss

    print(json.dumps({"torch": torch.__version__, "parameters": parameters}), flush=True)
    for line in sys.stdin:
        cpu, wall = time.process_time(), []
        for _ in range(int(line)):
            start = time.perf_counter()
            loss = step()
            wall.append(1e3 * (time.perf_counter() - start))
        print(json.dumps({"wall_ms": wall, "cpu_ms": 1e3 * (time.process_time() - cpu),
                          "loss": loss.item()}), flush=True)


# --- all sides, alternating -------------------------------------------------------------


class Side(Program):
    def __init__(self, name, command, threads):
        env = {**os.environ, "WB_THREADS": str(threads)}
        self.name, self.wall, self.cpu, self.steps = name, [], 0.0, 0
        super().__init__(command, env)
        self.about = self.parsed(self.answer())

    def parsed(self, line):
        if not line:
            sys.exit(f"peers_tinylm.py: {self.name} ended early (see the line above)")
        return json.loads(line)

    def run(self, steps, counts=True):
        self.last = self.parsed(self.ask(steps))
        if counts:
            self.wall += self.last["wall_ms"]
            self.cpu += self.last["cpu_ms"]
            self.steps += steps


def has_peer(s):
    same = s["arch"] == "llama" and s["dtype"] == "f32" and s["accum"] == 1
    return same and s["dropout"] == 0


def measure(args, options, threads):
    sides = [Side("ours", [args.program] + options, threads)]
    s = sides[0].about
    worker = [args.torch, os.path.abspath(__file__), "--worker", json.dumps(s)]
    for name in SIDES[1:] if has_peer(s) and args.torch else ():
        sides.append(Side(name, worker + ["--side", name, "--threads", str(threads)],
                          threads))
    for side in sides:
        side.run(WARM, counts=False)
    for _ in range(args.blocks):
        for side in sides:
            time.sleep(0.02)  # the threads of the previous side stop spinning
            side.run(args.steps)
    for side in sides:
        side.close()
    return s, sides


def report(args, s, sides, threads, common):
    rows = []
    for side in sides:
        row = {"side": side.name, "threads": threads, "steps": side.steps,
               "wall_ms": statistics.median(side.wall), "min_ms": min(side.wall),
               "max_ms": max(side.wall), "loss": side.last["loss"]}
        if threads == 1:
            row["cpu_ms"] = side.cpu / side.steps
        if not math.isfinite(row["loss"]):
            sys.exit(f"peers_tinylm.py: the loss of {side.name} is {row['loss']}")
        rows.append(row)
    for row in rows:
        cpu = f"{row['cpu_ms']:8.2f}" if "cpu_ms" in row else f"{'':8}"
        print(f"{threads:7} {row['side']:6} {row['wall_ms']:8.2f} {row['min_ms']:8.2f} "
              f"{row['max_ms']:8.2f} {cpu} {rows[0]['wall_ms'] / row['wall_ms']:11.2f}")
        if args.json:
            with open(args.json, "a", encoding="utf-8") as f:
                f.write(json.dumps({**common, **s, **row}) + "\n")


def arguments():
    parser = argparse.ArgumentParser(
        description="a training step: TinyLM compared with PyTorch on the CPU",
        epilog="Other options are those of `tinylm train`.")
    parser.add_argument("--program", default="build/cpu/bench/tinylm/step")
    parser.add_argument("--torch", metavar="PYTHON", default="",
                        help="a Python that has torch (default: no peer)")
    parser.add_argument("--threads", default="2,1", help="default 2,1")
    parser.add_argument("--blocks", type=int, default=12, help="of each side (12)")
    parser.add_argument("--steps", type=int, default=10, help="per block (10)")
    parser.add_argument("--json", metavar="FILE", help="figures, appended as JSON lines")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--side", help=argparse.SUPPRESS)
    return parser.parse_known_args()


def main():
    args, options = arguments()
    if args.worker:
        return peer(json.loads(args.worker), args.side == "fused", int(args.threads))
    now = datetime.datetime.now(datetime.timezone.utc)
    common = {"date": now.isoformat("T", "seconds"), "command": " ".join(sys.argv)}
    for i, threads in enumerate(int(n) for n in args.threads.split(",")):
        s, sides = measure(args, options, threads)
        if i == 0:
            peers = "".join(f", PyTorch {x.about['torch']}" for x in sides[1:2])
            print(f"{s['machine']}: {s['preset']}, {s['dtype']}, {s['parameters']} parameters, "
                  f"{s['batch']} x {s['context']} tokens{peers}")
            print(f"{'threads':>7} {'':6} {'median':>8} {'min':>8} {'max':>8} {'CPU':>8} "
                  f"{'ours / side':>11}   ms per step")
        report(args, s, sides, threads, common)
    return 0


if __name__ == "__main__":
    sys.exit(main())
