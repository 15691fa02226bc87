"""peers_ddp.py - training steps of TinyLM's model in PyTorch with DDP, one process per GPU
(without a GPU: on the CPU, by gloo).

    torchrun --standalone --nproc-per-node 4 bench/peers_ddp.py JSON [--steps 10]

JSON is the line that bench/tinylm/scaling prints: the model, the batch of all ranks. The
model is that of peers_tinylm.py, compiled, in bf16 by autocast with float32 weights;
AdamW is fused. torch.compile takes the DDP module, so that it splits the graph at DDP's
buckets and the reduction overlaps the backward pass (--inside: it takes the module in
DDP, whose backward pass is one graph). Rank 0 prints the same line with its own time.
"""

import argparse
import json
import os
import statistics
import time

import torch
import torch.distributed as dist
from peers_tinylm import make_model
from torch.nn.parallel import DistributedDataParallel

WARM, ROUNDS = 8, 7  # as in bench/tinylm/scaling.c


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", type=json.loads)
    parser.add_argument("--steps", type=int, default=10, help="of a round")
    parser.add_argument("--inside", action="store_true", help="compile the module in DDP")
    args = parser.parse_args()
    s = args.model
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    gpu = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if gpu else torch.device("cpu")
    synchronize = torch.cuda.synchronize if gpu else lambda: None
    if gpu:
        torch.cuda.set_device(device)
    torch.set_float32_matmul_precision("high")
    dist.init_process_group("nccl" if gpu else "gloo")
    torch.manual_seed(1)
    with device:
        model = make_model(torch, s)
    parameters = sum(p.numel() for p in model.parameters())
    assert parameters == s["parameters"], f"{parameters} parameters, not {s['parameters']}"
    optimizer = torch.optim.AdamW(model.parameters(), lr=6e-4, betas=(0.9, 0.95), fused=True)

    def with_ddp(module):
        if size == 1:
            return module
        return DistributedDataParallel(
            module, device_ids=[device] if gpu else None, gradient_as_bucket_view=True)

    step_model = with_ddp(torch.compile(model)) if args.inside else torch.compile(with_ddp(model))
    rows = s["batch"] // size
    text = torch.randint(s["vocab"], (1 << 16,), device=device)
    offsets = torch.arange(s["context"] + 1, device=device)

    def step():
        starts = torch.randint(len(text) - s["context"] - 1, (rows, 1), device=device)
        tokens = text[starts + offsets]
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device.type, torch.bfloat16):
            loss = step_model(tokens[:, :-1], tokens[:, 1:])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
        optimizer.step()
        return loss

    def round_ms(steps):
        dist.barrier()
        synchronize()
        start = time.perf_counter()
        for _ in range(steps):
            loss = step()
        synchronize()
        dist.barrier()
        return 1e3 * (time.perf_counter() - start) / steps, loss

    round_ms(WARM)
    rounds = [round_ms(args.steps) for _ in range(ROUNDS)]
    ms = statistics.median(t for t, _ in rounds)
    if rank == 0:
        print(json.dumps({
            **s, "side": "ddp inside" if args.inside else "ddp", "ranks": size,
            "engine": f"PyTorch {torch.__version__}", "ms": ms, "loss": rounds[-1][1].item(),
            "tokens_per_s": 1e3 * s["batch"] * s["context"] / ms,
            "arena_mb": torch.cuda.max_memory_allocated() / 1e6 if gpu else 0}), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
