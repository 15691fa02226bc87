"""labs.py - the labs' kernels from Python, on the solutions: every function of every
header, some against their formulas; then kernels that crash, hang and print. Prints TAP."""

import inspect
import io
import os
import subprocess
import tempfile
import warnings
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path

import numpy as np
from testing import close, normal, raises, run_tests, test, together

import warpbook


def solution(name):
    return warpbook.lab(name, "solution")


@test
def every_function_runs_on_arrays_of_its_shapes():
    sizes = dict(
        B=2,
        T=5,
        S=5,
        H=4,
        K=2,
        D=16,
        N=8,
        P=12,
        R=10,
        C=16,
        F=24,
        G=4,
        M=4,
        V=40,
        width=4,
        base=10000.0,
        window=4,
        a=2.0,
        blocks=3,
        threads=32,
    )
    for folder in sorted(Path("labs").glob("lab*_*")):
        lab = solution(folder.name.split("_", 1)[1])
        for name, f in lab.functions.items():
            given = {}
            for b in f.buffers.values():
                if b.role == "out":
                    continue
                shape = [eval(d.replace("/", "//"), {}, sizes) for d in b.dims]
                given[b.name] = (
                    np.abs(normal(*shape)) * 0.5
                    if b.element in ("E", "f32")
                    else np.zeros(shape, int)
                )
            for scalar in f.scalars():
                if scalar in sizes:
                    given[scalar] = sizes[scalar]
            want = [b.name for b in f.buffers.values() if b.role == "out" and b.optional]
            try:
                results = getattr(lab, name)(**given, want=want)
            except Exception as e:
                raise AssertionError(f"{name}: {e}") from e
            for result in results if isinstance(results, tuple) else [results]:
                assert np.all(np.isfinite(result)), f"{name}: a result is not finite"


@test
def rmsnorm_in_three_types():
    lab, x, w = solution("rmsnorm"), normal(6, 33), normal(33)
    rstd = 1 / np.sqrt((x.astype(float) ** 2).mean(1, keepdims=True) + 1e-5)
    close(lab.forward(x, w, 1e-5), x * rstd * w)
    close(
        lab.forward(x.astype(float).tolist(), w, eps=1e-5, offset=1), x * rstd * (1 + w)
    )
    half = lab.forward(x.astype(np.float16), w.astype(np.float16))
    assert half.dtype == np.float16
    close(half.astype(float), x * rstd * w, 3e-3)
    close(lab.forward(x, w, dtype="bf16"), x * rstd * w, 2e-2)
    both = lab.forward(x, w, want="rstd")
    close(both.rstd, rstd[:, 0])
    close(both.out, x * rstd * w)
    close(lab.forward(x.reshape(2, 3, 33), w), (x * rstd * w).reshape(2, 3, 33))


@test
def sums_start_where_they_are_told_to():
    lab, x, w, dout = solution("rmsnorm"), normal(6, 33), normal(33), normal(6, 33)
    rstd = lab.forward(x, w, want=["rstd"]).rstd
    dw = np.full(33, 100.0)
    first, second = lab.backward(dout, x, w, rstd), lab.backward(dout, x, w, rstd, dw=dw)
    close(first.dw, (dout * x * rstd[:, None]).sum(0))
    close(second.dw, first.dw + 100)
    close(first.dx, second.dx)
    assert np.all(dw == 100), "an argument has changed"


@test
def activations_softmax_and_rotations():
    gate, up, x = normal(4, 9), normal(4, 9), normal(3, 7)
    close(solution("swiglu").forward(gate, up), gate / (1 + np.exp(-gate)) * up)
    e = np.exp(2 * x - (2 * x).max(1, keepdims=True))
    close(solution("softmax").forward(x, 2), e / e.sum(1, keepdims=True))
    loss = solution("softmax").cross_entropy(x, [0, 3, 6])
    p = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    close(loss, -np.log(p[[0, 1, 2], [0, 3, 6]]))
    rope = solution("rope")
    table = rope.table(10, 8)
    close(table[..., 0], np.cos(np.arange(10)[:, None] * 10000.0 ** (-np.arange(4) / 4)))
    q = normal(2, 5, 3, 8)
    close(rope.backward(rope.forward(q, table), table), q)
    close(rope.forward(q, table, pos=np.zeros((2, 5))), q)


@test
def attention_and_its_cache():
    q, k, v = normal(2, 5, 4, 16), normal(2, 5, 2, 16), normal(2, 5, 2, 16)
    out = solution("attention").forward(q, k, v)
    scores = np.einsum("bthd,bshd->bhts", q, k.repeat(2, 2)) / 4
    scores[..., np.triu_indices(5, 1)[0], np.triu_indices(5, 1)[1]] = -np.inf
    p = np.exp(scores)
    p /= p.sum(-1, keepdims=True)
    close(out, np.einsum("bhts,bshd->bthd", p, v.repeat(2, 2)))
    empty = np.zeros((2, 8, 2, 16))
    rings = solution("kvcache").kv_append(empty, empty, k, v)
    close(rings.kcache[:, :5], k)
    assert np.all(empty == 0) and np.all(rings.vcache[:, 5:] == 0)
    logits = normal(3, 50)
    token = solution("kvcache").sample(logits, [1, 2, 3], [0, 0, 0])
    assert token.tolist() == logits.argmax(1).tolist()


@test
def a_state_comes_back():
    a, z = np.abs(normal(2, 6, 4)) / 2, normal(2, 6, 4)
    rglru = solution("rglru")
    whole = rglru.linear_scan_forward(a, z)
    first = rglru.linear_scan_forward(a[:, :3], z[:, :3], want="h_last")
    rest = rglru.linear_scan_forward(a[:, 3:], z[:, 3:], h0=first.h_last)
    close(np.concatenate([first.h, rest], 1), whole)


@test
def wrong_calls_are_refused_with_their_names():
    lab = solution("rmsnorm")
    raises(
        ValueError, "w (C) has C = 5, but C is 4", lab.forward, normal(3, 4), normal(5)
    )
    raises(
        ValueError, "x has the shape (4,), not (R,C)", lab.forward, normal(4), normal(4)
    )
    raises(TypeError, "nope", lab.forward, normal(3, 4), normal(4), nope=1)
    raises(AttributeError, "it has forward, residual_forward, backward", lambda: lab.nope)
    raises(warpbook.Error, "there are basics swiglu rope", warpbook.lab, "lab99")
    raises(warpbook.Error, "use 'yours' or 'solution'", warpbook.lab, "rmsnorm", "mine")
    raises(
        warpbook.Error,
        "use 'f32', 'f16' or 'bf16'",
        lab.forward,
        normal(3, 4),
        normal(4),
        dtype="f8",
    )
    raises(
        warpbook.Error,
        "has no optional output rst;",
        lab.forward,
        normal(3, 4),
        normal(4),
        want="rst",
    )
    raises(warpbook.KernelError, "WB_BAD_SHAPE", solution("rope").table, 4, 3)
    assert list(inspect.signature(lab.forward).parameters)[:4] == [
        "x",
        "w",
        "eps",
        "offset",
    ]
    assert "rstd (offset + w)" in lab.forward.__doc__


# A library in place of the learner's build of lab 03: eps chooses what it does.
LEARNERS = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int cudaMalloc(void **p, size_t n) { return (*p = malloc(n)) == NULL; }
int cudaFree(void *p) { free(p); return 0; }
int cudaMemcpy(void *to, const void *from, size_t n, int k)
{
    memcpy(to, from, n);
    return k < 0;
}
int cudaMemset(void *p, int c, size_t n) { memset(p, c, n); return 0; }
int cudaDeviceSynchronize(void) { return 0; }
int cudaGetLastError(void) { return 0; }
const char *cudaGetErrorString(int e) { return e ? "an error" : ""; }
const char *wb_status_name(int s) { return s ? "WB_TODO" : "WB_OK"; }
int rmsnorm_forward_f32(float *out, float *rstd, const float *x, const float *w, int R,
                        int C, float eps, float offset, void *stream)
{
    if (eps == 1) *(volatile int *)0 = 1;
    for (volatile int again = eps == 2; again;) ;
    if (eps == 3) { fprintf(stderr, "deadlock in kernel k\n"); exit(1); }
    if (eps == 5) return 1;
    for (int i = 0; i < C && eps != 4; i++) out[i] = x[i] + w[0] * offset * 0;
    printf("printed by the kernel\n");
    return R < 0 || rstd || stream;
}
"""


@test
def the_learners_kernel_runs_in_a_process_of_its_own():
    with tempfile.TemporaryDirectory() as folder:
        source, labs = Path(folder, "lab.c"), Path(folder, "python/labs")
        labs.mkdir(parents=True)
        source.write_text(LEARNERS)
        subprocess.run(
            [
                os.environ.get("CC", "cc"),
                "-shared",
                "-fPIC",
                "-O1",
                str(source),
                "-o",
                str(labs / "lab03_rmsnorm.so"),
            ],
            check=True,
        )
        before, os.environ["WARPBOOK_BUILD"] = os.environ["WARPBOOK_BUILD"], folder
        try:
            learners_kernel(labs / "lab03_rmsnorm.so")
        finally:
            os.environ["WARPBOOK_BUILD"] = before


def learners_kernel(library):
    lab, x, w = warpbook.lab("rmsnorm", seconds=1), normal(2, 3), normal(3)
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()) as printed:
        warnings.simplefilter("error")
        out = lab.forward(x, w)
    assert printed.getvalue() == "printed by the kernel\n"
    close(out[0], x[0])
    assert np.isnan(out[1]).all(), "what is not written is NaN"
    assert lab.ran == {"rmsnorm_forward": "labs/lab03_rmsnorm"}
    raises(warpbook.KernelError, "code -11", lab.forward, x, w, 1)
    raises(warpbook.KernelError, "no answer within 1 s", lab.forward, x, w, 2)
    raises(warpbook.KernelError, "deadlock in kernel k", lab.forward, x, w, 3)
    with redirect_stdout(io.StringIO()):
        assert np.isnan(lab.forward(x, w, 4)).all(), "it runs again"
    os.utime(library, (0, 0))  # the source is newer
    with warnings.catch_warnings(record=True) as warned, redirect_stdout(io.StringIO()):
        warnings.simplefilter("always")
        lab.forward(x, w)
    assert "is newer than what runs: make python" in str(warned[0].message)
    assert warned[0].filename == __file__
    os.utime(library)
    raises(
        warpbook.Error,
        "not written yet in labs/lab03_rmsnorm; "
        "solutions/lab03_rmsnorm is not built: make python",
        lab.forward,
        x,
        w,
        5,
    )


@test
def the_solution_runs_where_nothing_is_written():
    lab = warpbook.lab("rmsnorm")
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        lab.forward(normal(2, 3), normal(3))
    ran = lab.ran["rmsnorm_forward"]
    assert (
        ran == "labs/lab03_rmsnorm"
        or "solutions/lab03_rmsnorm runs instead" in str(warned[-1].message)
        and warned[-1].filename == __file__
    )


@test
def two_threads_call_one_lab():
    lab = solution("rmsnorm")
    given = [(normal(64, 32), normal(32)) for _ in range(2)]
    alone = [lab.forward(x, w) for x, w in given]

    def often(x, w):
        return [lab.forward(x, w) for _ in range(50)]

    for found, want in zip(together(*(partial(often, *g) for g in given)), alone):
        assert all(np.array_equal(out, want) for out in found), "another call's result"


run_tests()
