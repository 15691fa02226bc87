/* test_softmax.c - the contract of lab 04 beyond the graded cases: statuses, empty
 * inputs, workspace, every width and alignment, one function against another.
 */
// links: solutions/lab04_softmax.o
#include "device.h"

#include <stdlib.h>

#include "softmax.h"

/* --- statuses ----------------------------------------------------------------------- */

static int *some_ints; /* zeros */

static void take_ints(void)
{
    take();
    some_ints = (int *)some + SOME / 8;
}

TestSuite(softmax_status, .init = take_ints, .fini = give);

static wb_status forward(int R, int N)
{
    return softmax_forward_f32(some, some + 4096, R, N, 1.0f, NULL, 0, NULL);
}

static wb_status causal(int R, int T, int S)
{
    return softmax_causal_forward_f32(some, some + 4096, R, T, S, 1.0f, NULL);
}

static wb_status entropy(int R, int V, int ld, float softcap, int ignore)
{
    return cross_entropy_f32(
        some, some + 1024, some + 4096, some_ints, NULL, R, V, ld, softcap, ignore, NULL);
}

Test(softmax_status, shapes)
{
    cr_expect(forward(2, 8) == WB_OK);
    cr_expect(forward(-1, 8) == WB_BAD_SHAPE);
    cr_expect(forward(2, 0) == WB_BAD_SHAPE);
    cr_expect(causal(6, 3, 3) == WB_OK);
    cr_expect(causal(6, 3, 9) == WB_OK);
    cr_expect(causal(-3, 3, 3) == WB_BAD_SHAPE);
    cr_expect(causal(6, 0, 3) == WB_BAD_SHAPE);
    cr_expect(causal(6, 3, 2) == WB_BAD_SHAPE, "S below T");
    cr_expect(causal(7, 3, 3) == WB_BAD_SHAPE, "R is no multiple of T");
    cr_expect(
        softmax_backward_f32(some, some, some + 64, 2, 0, 1.0f, NULL) == WB_BAD_SHAPE);
    cr_expect(
        softmax_backward_f32(some, some, some + 64, -2, 8, 1.0f, NULL) == WB_BAD_SHAPE);
}

Test(softmax_status, cross_entropy_limits)
{
    cr_expect(entropy(2, 8, 8, 0.0f, -1) == WB_OK);
    cr_expect(entropy(2, 8, 9, 5.0f, 8) == WB_OK, "ignore may be V");
    cr_expect(entropy(-2, 8, 8, 0.0f, -1) == WB_BAD_SHAPE);
    cr_expect(entropy(2, 0, 8, 0.0f, -1) == WB_BAD_SHAPE);
    cr_expect(entropy(2, 8, 7, 0.0f, -1) == WB_BAD_SHAPE, "ld below V");
    cr_expect(entropy(2, 8, 8, -1.0f, -1) == WB_BAD_SHAPE);
    cr_expect(entropy(2, 8, 8, NAN, -1) == WB_BAD_SHAPE);
    cr_expect(entropy(2, 8, 8, 0.0f, 0) == WB_BAD_SHAPE, "ignore is a class");
    cr_expect(entropy(2, 8, 8, 0.0f, 7) == WB_BAD_SHAPE, "ignore is a class");
}

Test(softmax_status, no_rows_do_nothing)
{
    cr_expect(softmax_forward_f32(NULL, NULL, 0, 8, 1.0f, NULL, 0, NULL) == WB_OK);
    cr_expect(softmax_forward_f32(NULL, NULL, 0, 256000, 1.0f, NULL, 0, NULL) == WB_OK);
    cr_expect(softmax_causal_forward_f32(NULL, NULL, 0, 4, 8, 1.0f, NULL) == WB_OK);
    cr_expect(softmax_backward_f32(NULL, NULL, NULL, 0, 8, 1.0f, NULL) == WB_OK);
    cr_expect(
        cross_entropy_f32(NULL, NULL, NULL, NULL, NULL, 0, 8, 8, 0.0f, -1, NULL) ==
        WB_OK);
    cr_expect(softmax_forward_workspace_f32(0, 256000) == 0);
}

Test(softmax_status, null_tensors)
{
    for (int missing = 0; missing < 3; missing++) {
        float *a[3] = {some, some + 64, some + 128};
        int *t = missing == 2 ? NULL : some_ints;
        a[missing] = NULL;
        if (missing < 2) {
            cr_expect(
                softmax_forward_f32(a[0], a[1], 2, 8, 1.0f, NULL, 0, NULL) ==
                WB_BAD_SHAPE);
            cr_expect(
                softmax_causal_forward_f32(a[0], a[1], 2, 2, 8, 1.0f, NULL) ==
                WB_BAD_SHAPE);
        }
        cr_expect(
            softmax_backward_f32(a[0], a[1], a[2], 2, 8, 1.0f, NULL) == WB_BAD_SHAPE);
        cr_expect(
            cross_entropy_f32(a[0], NULL, a[1], t, NULL, 2, 8, 8, 0.0f, -1, NULL) ==
            WB_BAD_SHAPE);
    }
}

Test(softmax_status, too_little_workspace)
{
    size_t bytes = softmax_forward_workspace_f32(2, 256000);
    cr_assert(bytes > 0 && bytes < 1 << 14);
    cr_expect(
        softmax_forward_f32(some, some, 2, 256000, 1.0f, some + 4096, bytes - 1, NULL) ==
        WB_NO_SPACE);
    cr_expect(
        softmax_forward_f32(some, some, 2, 256000, 1.0f, NULL, 0, NULL) == WB_NO_SPACE);
}

Test(softmax_status, workspace_never_decreases)
{
    static const int sizes[] = {1,     2,     3,     7,      31,     32,    255,   256,
                                257,   1000,  4096,  8192,   8193,   16384, 32767, 32768,
                                32769, 40960, 65536, 100000, 256000, 300001};
    int n = sizeof sizes / sizeof *sizes;
    for (int r = 0; r < n; r++)
        for (int c = 0; c < n; c++) {
            size_t here = softmax_forward_workspace_f32(sizes[r], sizes[c]);
            if (r)
                cr_expect(here >= softmax_forward_workspace_f32(sizes[r - 1], sizes[c]));
            if (c)
                cr_expect(here >= softmax_forward_workspace_f32(sizes[r], sizes[c - 1]));
        }
}

Test(softmax_status, an_error_of_the_device_is_reported)
{
    cr_assert(cudaSetDevice(99) != cudaSuccess);
    cr_expect(forward(2, 8) == WB_BAD_CUDA);
    cudaGetLastError(); /* clears the error */
    cr_expect(forward(2, 8) == WB_OK);
}

/* --- every width and alignment ------------------------------------------------------ */

/* softmax of x (R,N), its gradient for dout, the losses and gradients for target r % N */
struct truth {
    double *p, *dx, *loss, *dlogits;
};

static struct truth truth_of(const float *x, const float *dout, int R, int N)
{
    size_t n = (size_t)R * N;
    struct truth t = {calloc(n, 8), calloc(n, 8), calloc(R, 8), calloc(n, 8)};
    for (int r = 0; r < R; r++) {
        const float *xr = x + (size_t)r * N, *dr = dout + (size_t)r * N;
        double *p = t.p + (size_t)r * N, m = xr[0], sum = 0, dot = 0;
        for (int j = 1; j < N; j++)
            m = fmax(m, xr[j]);
        for (int j = 0; j < N; j++)
            sum += p[j] = exp(xr[j] - m);
        for (int j = 0; j < N; j++)
            p[j] /= sum, dot += p[j] * dr[j];
        for (int j = 0; j < N; j++) {
            t.dx[(size_t)r * N + j] = p[j] * (dr[j] - dot);
            t.dlogits[(size_t)r * N + j] = p[j] - (j == r % N);
        }
        t.loss[r] = log(sum) + m - xr[r % N];
    }
    return t;
}

static void drop(struct truth t)
{
    free(t.p), free(t.dx), free(t.loss), free(t.dlogits);
}

/* All functions on (R,N) floats, `skew` bytes off alignment */
static void float_case(int R, int N, size_t skew)
{
    size_t n = (size_t)R * N, space = softmax_forward_workspace_f32(R, N);
    float *x = malloc(4 * n), *dout = malloc(4 * n), *got = malloc(4 * n);
    int *target = malloc(4 * R);
    for (size_t i = 0; i < n; i++)
        x[i] = 4 * noise(), dout[i] = noise();
    for (int r = 0; r < R; r++)
        target[r] = r % N;
    struct truth t = truth_of(x, dout, R, N);
    float *x_ = device(x, 4 * n, skew), *p_ = device(NULL, 4 * n, skew);
    float *dout_ = device(dout, 4 * n, skew), *loss_ = device(NULL, 4 * R, skew);
    int *target_ = device(target, 4 * R, skew);
    float *workspace = device(NULL, space, 0);

    cr_assert(softmax_forward_f32(p_, x_, R, N, 1.0f, workspace, space, NULL) == WB_OK);
    back(got, p_, 4 * n);
    close_to(got, t.p, n, 2e-6, "p");
    cr_assert(softmax_backward_f32(dout_, dout_, p_, R, N, 1.0f, NULL) == WB_OK);
    back(got, dout_, 4 * n);
    close_to(got, t.dx, n, 4e-6, "dx");
    cr_assert(
        cross_entropy_f32(loss_, x_, x_, target_, NULL, R, N, N, 0.0f, -1, NULL) ==
        WB_OK);
    back(got, x_, 4 * n);
    close_to(got, t.dlogits, n, 2e-6, "dlogits");
    back(got, loss_, 4 * R);
    close_to(got, t.loss, R, 2e-6, "loss");

    release(x_, skew), release(p_, skew), release(dout_, skew), release(loss_, skew);
    release(target_, skew), release(workspace, 0);
    drop(t), free(x), free(dout), free(got), free(target);
}

Test(softmax_alignment, floats)
{
    static const int widths[] = {1,   2,   3,   4,   5,   31,   64,  65,
                                 127, 128, 132, 512, 516, 1000, 2052};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        for (size_t skew = 0; skew < 16; skew += 4)
            float_case(5, widths[i], skew);
    float_case(300, 36, 0);
    float_case(2, 8196, 0);
    float_case(2, 20000, 4);
    float_case(2, 33000, 0);
    float_case(2, 33001, 0);
    float_case(1, 300001, 0); /* longer than any row that the header names */
    float_case(1, 60001, 4);
    float_case(257, 33000, 0); /* too many rows for blocks to share them */
}

/* bf16, with tensors at different distances from a 16-byte boundary */
static void bf16_case(int R, int N, size_t skew_out, size_t skew_x)
{
    size_t n = (size_t)R * N;
    float *x = malloc(4 * n), *got = malloc(4 * n);
    uint16_t *bits = malloc(2 * n);
    for (size_t i = 0; i < n; i++)
        bits[i] = to_bf16(4 * noise()), x[i] = from_bf16(bits[i]);
    struct truth t = truth_of(x, x, R, N);
    void *out_ = device(NULL, 2 * n, skew_out), *x_ = device(bits, 2 * n, skew_x);
    cr_assert(softmax_forward_bf16(out_, x_, R, N, 1.0f, NULL, 0, NULL) == WB_OK);
    back(bits, out_, 2 * n);
    for (size_t i = 0; i < n; i++)
        got[i] = from_bf16(bits[i]);
    close_to(got, t.p, n, 1 / 256.0, "p");
    release(out_, skew_out), release(x_, skew_x);
    drop(t), free(x), free(got), free(bits);
}

Test(softmax_alignment, bf16)
{
    static const int widths[] = {1, 7, 8, 9, 15, 16, 248, 250, 256, 257, 264, 1024, 1033};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        for (size_t skew = 0; skew < 16; skew += 6) {
            bf16_case(4, widths[i], skew, skew);
            bf16_case(4, widths[i], skew, 0);
            bf16_case(4, widths[i], 0, skew);
        }
}

/* --- one call against another ------------------------------------------------------- */

Test(softmax_calls, causal_rows_are_softmax_of_what_they_see)
{
    enum { T = 6, S = 530 };
    static float x[T * S], got[T * S], want[S];
    for (int i = 0; i < T * S; i++)
        x[i] = 3 * noise();
    float *x_ = device(x, sizeof x, 0), *out_ = device(NULL, sizeof x, 0);
    float *row_ = device(NULL, sizeof want, 0);
    cr_assert(softmax_causal_forward_f32(out_, x_, T, T, S, 0.5f, NULL) == WB_OK);
    back(got, out_, sizeof x);
    for (int t = 0; t < T; t++) {
        int n = S - T + t + 1;
        cr_assert(
            softmax_forward_f32(row_, x_ + t * S, 1, n, 0.5f, NULL, 0, NULL) == WB_OK);
        back(want, row_, 4 * n);
        for (int j = 0; j < S; j++)
            cr_expect(
                j < n ? fabsf(got[t * S + j] - want[j]) <= 1e-6f * want[j]
                      : got[t * S + j] == 0,
                "row %d column %d: %g", t, j, (double)got[t * S + j]);
    }
    release(x_, 0), release(out_, 0), release(row_, 0);
}

/* R rows, V of ld columns; dlogits NULL, in place and elsewhere; gscale NULL and 2 */
static void entropy_case(int R, int V, int ld, float softcap)
{
    size_t n = (size_t)R * ld;
    float *x = malloc(4 * n), *got = malloc(4 * n), *want = malloc(4 * n);
    float two = 2, *loss = malloc(4 * R), *again = malloc(4 * R);
    int *target = malloc(4 * R);
    for (size_t i = 0; i < n; i++)
        x[i] = 4 * noise();
    for (int r = 0; r < R; r++)
        target[r] = r % 3 == 1 ? -7 : (r * 31 + V - 1) % V;
    float *x_ = device(x, 4 * n, 0), *d_ = device(NULL, 4 * n, 0);
    float *loss_ = device(NULL, 4 * R, 0), *two_ = device(&two, 4, 0);
    int *target_ = device(target, 4 * R, 0);

    cr_assert(
        cross_entropy_f32(loss_, d_, x_, target_, NULL, R, V, ld, softcap, -7, NULL) ==
        WB_OK);
    back(loss, loss_, 4 * R), back(want, d_, 4 * n);
    cr_assert(
        cross_entropy_f32(loss_, NULL, x_, target_, two_, R, V, ld, softcap, -7, NULL) ==
        WB_OK);
    back(again, loss_, 4 * R), back(got, x_, 4 * n);
    cr_expect_arr_eq(loss, again, 4 * R, "the loss alone differs");
    cr_expect_arr_eq(got, x, 4 * n, "logits changed");
    cr_assert(
        cross_entropy_f32(loss_, x_, x_, target_, two_, R, V, ld, softcap, -7, NULL) ==
        WB_OK);
    back(got, x_, 4 * n);
    for (size_t i = 0; i < n; i++)
        cr_assert(
            got[i] == 2 * want[i], "[%zu]: %g, not %g", i, (double)got[i],
            2.0 * (double)want[i]);
    for (int r = 0; r < R; r++)
        for (int j = 0; j < ld; j++)
            if (j >= V || target[r] < 0) cr_assert(want[(size_t)r * ld + j] == 0);

    release(x_, 0), release(d_, 0), release(loss_, 0), release(two_, 0);
    release(target_, 0);
    free(x), free(got), free(want), free(loss), free(again), free(target);
}

Test(softmax_calls, cross_entropy_in_place_and_alone)
{
    entropy_case(7, 65, 128, 0.0f);
    entropy_case(7, 65, 65, 5.0f);
    entropy_case(4, 1001, 1003, 5.0f);
    entropy_case(4, 5003, 5008, 0.0f);
    entropy_case(3, 70001, 70016, 0.0f); /* more than shared memory holds */
}
