"""basics_mistakes.py - what kernels with known mistakes compute in lab 00, so that the
report can name them.
"""

import numpy as np

import wb


def hello_mistakes(out, blocks, threads):
    b, t = np.arange(blocks)[:, None], np.arange(threads)
    yield "index", "this is the index of the element: write 10000 * block + thread", {
        "out": b * threads + t
    }
    yield "swapped", "block and thread are swapped: 10000 * block + thread", {
        "out": 10000 * t + b
    }
    i = b * threads + t
    yield "grid", "blocks and threads are swapped in the launch: <<<blocks, threads>>>", {
        "out": 10000 * (i // blocks) + i % blocks
    }


def add_mistakes(out, a, b, N):
    yield "product", "this is a * b", {"out": a * b}
    yield "difference", "this is a - b", {"out": a - b}
    yield "twice", "a is added to itself", {"out": a + a}


def outer_mistakes(out, a, b, R, C, memory):
    yield "sum", "this is a[r] + b[c]: multiply them", {"out": a[:, None] + b}
    r, c = np.arange(R)[:, None], np.arange(C)
    yield "swapped", "the factors are swapped: a has the row, b the column", {
        "out": memory("a", c) * memory("b", r)
    }


def saxpy_mistakes(y, x, a, y_before, blocks, threads):
    n = blocks * threads
    first = np.arange(len(x)) < n
    if len(x) > n:
        yield "no_loop", (
            "each thread computes one element, but there are more elements than threads"
        ), {"y": np.where(first, y, y_before)}
    yield "no_a", "the factor a is missing", {"y": x + y_before}
    yield "no_y", "y is overwritten: add to it", {"y": a * x}
    yield "a_y", "a multiplies y: it should multiply x", {"y": x + a * y_before}


def scale_mistakes(host_out, host_x, a):
    yield "copied", "x is copied back, not out", {"host_out": host_x}


def scale_rows_mistakes(out, x, w, R, C):
    yield "not_scaled", "the factor w[r] is missing", {"out": x}
    yield "first_w", "every row is multiplied by w[0]", {"out": w[0] * x}
    if C <= R:
        yield "w_of_column", "w is indexed by the column: it has a factor per row", {
            "out": w[:C] * x
        }


def reverse_mistakes(out, x, N):
    yield "copied", "the elements are copied, not reversed", {"out": x}
    yield "whole", "the whole array is reversed: reverse each group", {"out": x[::-1]}
    tail = N % 256
    if tail:
        beyond = np.where(np.arange(N) < N - tail, out, np.nan)
        yield "some_long_tail", (
            "the last group has N % 256 elements: reverse only these (n - 1 - t)"
        ), {"out": beyond}


def transpose_mistakes(out, x, R, C):
    yield "copied", "the elements are in the order of x: this is not transposed", {
        "out": x.reshape(C, R)
    }
    tiles = np.full((C, R), np.nan)
    for c in range(0, C, 32):
        for r in range(0, R, 32):
            block = x[r : r + 32, c : c + 32]
            if block.shape == (32, 32):
                tiles[c : c + 32, r : r + 32] = block
    yield "inside", "the tiles are in their places, but each is not transposed", {
        "out": tiles
    }


def sum_rows_mistakes(out, x, R, C):
    s = np.stack([x[:, t::256].sum(-1) if t < C else np.zeros(R) for t in range(256)], -1)
    yield "first", "out has the partial sum of thread 0: the tree is missing", {
        "out": s[:, 0]
    }
    yield "last_step", "the tree ends one step too early: s[0] += s[1] is missing", {
        "out": s[:, ::2].sum(-1)
    }
    yield "first_step", (
        "the tree begins one step too late: the upper half of the threads is missing"
    ), {"out": s[:, :128].sum(-1)}
    yield "other_thread", (
        "s[1] is written: only thread 0 has the whole sum, in s[0]"
    ), {"out": s[:, 1::2].sum(-1)}
    yield "mean", "this is the mean of the row: out is the sum", {"out": out / max(C, 1)}


def sum_rows_warp_mistakes(out, x, R, C):
    s = np.stack([x[:, t::32].sum(-1) if t < C else np.zeros(R) for t in range(32)], -1)
    yield "first", "out has the sum of lane 0 alone: the shuffles are missing", {
        "out": s[:, 0]
    }
    yield "half", (
        "only lanes 0 to 15 are added: the first step is d = 16, and it needs all 32 lanes"
    ), {"out": s[:, :16].sum(-1)}
    yield "last_step", "the last step, d = 1, is missing", {"out": s[:, ::2].sum(-1)}
    lane = wb.lane_sum(np.pad(x, [(0, 0), (0, max(0, 32 - C))]), down=True)[:, :32]
    yield "last_lane", (
        "this is the sum of lane 31: with __shfl_down_sync only lane 0 has the whole sum"
    ), {"out": lane[:, 31]}


def smooth_mistakes(out, x, N):
    padded = np.pad(x, 1)
    yield "not_divided", "the division by 3 is missing", {"out": out * 3}
    yield "one_sided", "x[i+1] is missing", {"out": (padded[:-2] + x) / 3}
