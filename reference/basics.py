"""basics.py - lab 00 in float64. The contract is labs/lab00_basics/basics.h.

    python reference/basics.py      checks the functions on small examples

basics_mistakes.py has the known mistakes.
"""

import numpy as np

import wb
from basics_mistakes import *
from wb import bound

GROUP = 256  # BASICS_GROUP


# --- the functions ----------------------------------------------------------------------


def hello(out, blocks, threads):
    out[...] = 10000 * np.arange(blocks)[:, None] + np.arange(threads)


def add(out, a, b, N):
    out[...] = a + b


def outer(out, a, b, R, C):
    out[...] = a[:, None] * b


def saxpy(y, x, N, a, blocks, threads):
    y[...] = a * x + y


def scale(host_out, host_x, N, a, threads):
    host_out[...] = a * host_x


def scale_rows(out, x, w, R, C):
    out[...] = w[:, None] * x


def reverse(out, x, N):
    for start in range(0, N, GROUP):
        out[start : start + GROUP] = x[start : start + GROUP][::-1]


def transpose(out, x, R, C):
    out[...] = x.T


def sum_rows(out, x, R, C):
    out[...] = wb.total(x)[:, 0]


sum_rows_warp = sum_rows


def smooth(out, x, N):
    padded = np.pad(x, 1)
    out[...] = (padded[:-2] + x + padded[2:]) / 3


# --- cases ------------------------------------------------------------------------------


def hello_data(call, blocks, threads):
    call.out("out", (blocks, threads), owner="row")


def add_data(call, N):
    call.out("out", (N,), owner="element")
    call.input("a", call.normal((N,)))
    call.input("b", call.normal((N,)))


def outer_data(call, R, C):
    call.out("out", (R, C), owner="element")
    call.input("a", call.normal((R,)))
    call.input("b", call.normal((C,)))


def saxpy_data(call, N, a=0.75, blocks=2, threads=64):
    call.buffer("y", call.normal((N,)))
    call.view("y", "inout", "y", (N,), owner="element")
    call.input("x", call.normal((N,)))


def scale_data(call, N, a=0.75, threads=256):
    call.out("host_out", (N,), owner="element")
    call.input("host_x", call.normal((N,)))


def scale_rows_data(call, R, C):
    call.out("out", (R, C), owner="row")
    call.input("x", call.normal((R, C)))
    call.input("w", call.normal((R,)))


def reverse_data(call, N):
    call.out("out", (N,), owner="element")
    call.input("x", call.normal((N,)))


def transpose_data(call, R, C):
    call.out("out", (C, R), owner="element")
    call.input("x", call.normal((R, C)))


def sum_rows_data(call, R, C):
    call.out("out", (R,), owner="element")
    call.input("x", call.normal((R, C)))


sum_rows_warp_data = sum_rows_data
smooth_data = reverse_data


# --- error model: see "Tolerance" in the header -----------------------------------------


def exact(out):
    return {"out": bound(exact=True)}


hello_bounds = reverse_bounds = transpose_bounds = exact


def add_bounds(out, a, b):
    return {"out": bound(np.abs(a) + np.abs(b), "|a| + |b|", c=2)}


def outer_bounds(out, a, b):
    return {"out": bound(out, c=2)}


def saxpy_bounds(y, x, a, y_before):
    return {"y": bound(np.abs(a * x) + np.abs(y_before), "|a x| + |y|", c=2)}


def scale_bounds(host_out):
    return {"host_out": bound(host_out, c=2)}


def scale_rows_bounds(out):
    return {"out": bound(out, c=2)}


def sum_rows_bounds(out, x, C):
    return {"out": bound(np.abs(x).sum(-1), "sum |x|", c=2, n=C)}


sum_rows_warp_bounds = sum_rows_bounds


def smooth_bounds(out, x):
    padded = np.pad(np.abs(x), 1)
    M = (padded[:-2] + np.abs(x) + padded[2:]) / 3
    return {"out": bound(M, "(|x[i-1]| + |x[i]| + |x[i+1]|) / 3", c=2)}


# --- checks of this file ----------------------------------------------------------------

if __name__ == "__main__":
    checks = wb.Checks()
    x = np.arange(6.0).reshape(2, 3)

    def check(what, function, shape, *arguments, want):
        out = np.zeros(shape)
        function(out, *arguments)
        checks.close(what, out, want)

    check("hello", hello, (2, 2), 2, 2, want=[[0, 1], [10000, 10001]])
    check("outer", outer, (2, 2), np.array([2.0, 3.0]), np.array([1.0, 5.0]), 2, 2,
          want=[[2, 10], [3, 15]])  # fmt: skip
    check("scale_rows", scale_rows, (2, 3), x, np.array([2.0, 3.0]), 2, 3,
          want=[[0, 2, 4], [9, 12, 15]])  # fmt: skip
    long = np.arange(300.0)
    backwards = [*range(255, -1, -1), *range(299, 255, -1)]
    check("reverse", reverse, 300, long, 300, want=backwards)
    check("transpose", transpose, (3, 2), x, 2, 3, want=[[0, 3], [1, 4], [2, 5]])
    check("sum_rows", sum_rows, 2, x, 2, 3, want=[3, 12])
    check("smooth", smooth, 4, np.array([3.0, 6.0, 0.0, 9.0]), 4, want=[3, 3, 5, 3])
    checks.done()
