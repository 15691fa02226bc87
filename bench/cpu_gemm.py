"""GEMMs of the CPU back end compared with NumPy's: float32, alternating, on one machine.

    python bench/cpu_gemm.py build/cpu/bench/cpu_gemm [--rounds 5]

The shapes are those of a training step of TinyLM (768 = 12 sequences of 64 tokens, 128
channels) and two square ones; then, without NumPy, those of bf16 linear layers. The two sides alternate in short rounds; the best time of
all rounds counts.
"""

import argparse
import os
import time

import numpy as np
from answering import Program

# what, m, n, k, A transposed, B transposed, batch; column-major, as cuBLAS is called
SHAPES = [
    ("qkv forward", 384, 768, 128, 1, 0, 1),
    ("out forward", 128, 768, 128, 1, 0, 1),
    ("gate|up forward", 688, 768, 128, 1, 0, 1),
    ("down forward", 128, 768, 344, 1, 0, 1),
    ("logits forward", 128, 768, 128, 1, 0, 1),
    ("qkv dx", 128, 768, 384, 0, 0, 1),
    ("gate|up dx", 128, 768, 688, 0, 0, 1),
    ("down dx", 344, 768, 128, 0, 0, 1),
    ("qkv dw", 128, 384, 768, 0, 1, 1),
    ("gate|up dw", 128, 688, 768, 0, 1, 1),
    ("down dw", 344, 128, 768, 0, 1, 1),
    ("attention scores", 64, 64, 32, 1, 0, 48),
    ("attention values", 32, 64, 64, 0, 0, 48),
    ("square 512", 512, 512, 512, 0, 0, 1),
    ("square 1024", 1024, 1024, 1024, 0, 0, 1),
]
BF16_SHAPES = [(384, 384, 2560), (384, 64, 2560), (384, 64, 7680), (384, 16, 2560),
               (384, 1, 2560)]


def numpy_product(m, n, k, ta, tb, batch):
    """In the same memory: a column-major matrix is a transposed row-major one."""
    rng = np.random.default_rng(1)
    a = rng.random((batch, m, k) if ta else (batch, k, m), dtype=np.float32)
    b = rng.random((batch, k, n) if tb else (batch, n, k), dtype=np.float32)
    at = a.transpose(0, 2, 1) if ta else a
    bt = b.transpose(0, 2, 1) if tb else b
    c = np.empty((batch, n, m), np.float32)
    if batch == 1:
        at, bt, c = at[0], bt[0], c[0]
    return lambda: np.matmul(bt, at, out=c)


def best_time(call, repeats):
    best = 1e30
    for _ in range(repeats):
        start = time.perf_counter_ns()
        call()
        best = min(best, time.perf_counter_ns() - start)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    ours = Program([args.program])
    cores = len(os.sched_getaffinity(0))
    print(f"NumPy {np.__version__}, {cores} cores, GFLOP/s, best of {args.rounds} rounds each")
    print(f"{'GEMM':18} {'m':>5} {'n':>5} {'k':>5} op {'batch':>5} "
          f"{'NumPy':>7} {'here':>7} {'ratio':>6}")
    for what, m, n, k, ta, tb, batch in SHAPES:
        flops = 2 * m * n * k * batch
        repeats = max(3, min(50, int(2e9 / flops)))
        call = numpy_product(m, n, k, ta, tb, batch)
        times = [1e30, 1e30]
        for _ in range(args.rounds):
            times[0] = min(times[0], best_time(call, repeats))
            time.sleep(0.05)  # NumPy's threads stop spinning
            seconds = float(ours.ask(f"{m} {n} {k} {ta} {tb} {batch} {repeats} 32"))
            times[1] = min(times[1], seconds)
        op = "NT"[ta] + "NT"[tb]
        print(f"{what:18} {m:5} {n:5} {k:5} {op} {batch:5} {flops / times[0]:7.1f} "
              f"{flops / times[1]:7.1f} {times[0] / times[1]:6.2f}")
    for m, n, k in BF16_SHAPES:
        flops = 2 * m * n * k
        best = min(float(ours.ask(f"{m} {n} {k} 1 0 1 40 16")) for _ in range(args.rounds))
        print(f"{'bf16 linear layer':18} {m:5} {n:5} {k:5} TN {1:5} {'':7} "
              f"{flops / best:7.1f} {best / 1000:9.1f} µs")
    ours.close()


if __name__ == "__main__":
    main()
