/* test_rmsnorm.c - the contract of lab 03 beyond the graded cases: statuses, empty
 * inputs, workspace, every alignment, fused against separate calls.
 */
// links: solutions/lab03_rmsnorm.o
#include "device.h"

#include <stdlib.h>

#include "rmsnorm.h"

static const float EPS = 1e-5f;

/* --- statuses ----------------------------------------------------------------------- */

TestSuite(rmsnorm_status, .init = take, .fini = give);

static wb_status forward(int R, int C, float eps)
{
    return rmsnorm_forward_f32(some, NULL, some, some + 4096, R, C, eps, 0.0f, NULL);
}

Test(rmsnorm_status, shapes)
{
    cr_expect(forward(2, 8, EPS) == WB_OK);
    cr_expect(forward(-1, 8, EPS) == WB_BAD_SHAPE);
    cr_expect(forward(2, 0, EPS) == WB_BAD_SHAPE);
    cr_expect(forward(2, -8, EPS) == WB_BAD_SHAPE);
    cr_expect(forward(0, 0, EPS) == WB_BAD_SHAPE, "C >= 1 even without rows");
}

Test(rmsnorm_status, eps_is_positive)
{
    cr_expect(forward(2, 8, 0.0f) == WB_BAD_SHAPE);
    cr_expect(forward(2, 8, -EPS) == WB_BAD_SHAPE);
    cr_expect(forward(2, 8, NAN) == WB_BAD_SHAPE);
}

Test(rmsnorm_status, no_rows_do_nothing)
{
    cr_expect(
        rmsnorm_forward_f32(NULL, NULL, NULL, NULL, 0, 8, EPS, 0.0f, NULL) == WB_OK);
    cr_expect(
        rmsnorm_residual_forward_f32(
            NULL, NULL, NULL, NULL, NULL, NULL, 0, 8, EPS, 0.0f, NULL) == WB_OK);
    cr_expect(
        rmsnorm_backward_f32(
            NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 8, 0.0f, NULL, 0, NULL) ==
        WB_OK);
    cr_expect(rmsnorm_backward_workspace_f32(0, 8) == 0);
}

Test(rmsnorm_status, null_tensors)
{
    float *p = some;
    size_t bytes = rmsnorm_backward_workspace_f32(2, 8);
    for (int missing = 0; missing < 6; missing++) {
        float *a[6] = {p, p + 64, p + 128, p + 192, p + 256, p + 320};
        a[missing] = NULL;
        if (missing < 3)
            cr_expect(
                rmsnorm_forward_f32(a[0], NULL, a[1], a[2], 2, 8, EPS, 0.0f, NULL) ==
                WB_BAD_SHAPE);
        if (missing < 5)
            cr_expect(
                rmsnorm_residual_forward_f32(
                    a[0], a[1], NULL, a[2], a[3], a[4], 2, 8, EPS, 0.0f, NULL) ==
                WB_BAD_SHAPE);
        cr_expect(
            rmsnorm_backward_f32(
                a[0], a[1], a[2], a[3], a[4], a[5], NULL, 2, 8, 0.0f, p + 384, bytes,
                NULL) == WB_BAD_SHAPE);
    }
}

Test(rmsnorm_status, too_little_workspace)
{
    float before[8], after[8];
    size_t bytes = rmsnorm_backward_workspace_f32(9, 8);
    cr_assert(bytes > 0);
    back(before, some + 512, sizeof before);
    cr_expect(
        rmsnorm_backward_f32(
            some, some + 512, some + 1024, some + 2048, some + 3072, some + 3584, NULL, 9,
            8, 0.0f, some + 4096, bytes - 1, NULL) == WB_NO_SPACE);
    back(after, some + 512, sizeof after);
    cr_expect_arr_eq(before, after, sizeof before, "dw changed although nothing ran");
}

Test(rmsnorm_status, an_error_of_the_device_is_reported)
{
    cr_assert(cudaSetDevice(99) != cudaSuccess);
    cr_expect(forward(2, 8, EPS) == WB_BAD_CUDA);
    cudaGetLastError(); /* clears the error */
    cr_expect(forward(2, 8, EPS) == WB_OK);
}

Test(rmsnorm_status, workspace_never_decreases)
{
    static const int sizes[] = {1,    2,    3,    7,     31,    32,   33,
                                127,  128,  1000, 1001,  2560,  4096, 4097,
                                8191, 8192, 8193, 10000, 16384, 65536};
    int n = sizeof sizes / sizeof *sizes;
    for (int r = 0; r < n; r++)
        for (int c = 0; c < n; c++) {
            size_t here = rmsnorm_backward_workspace_f32(sizes[r], sizes[c]);
            cr_expect(here > 0);
            cr_expect(here == rmsnorm_backward_workspace_bf16(sizes[r], sizes[c]));
            if (r)
                cr_expect(here >= rmsnorm_backward_workspace_f32(sizes[r - 1], sizes[c]));
            if (c)
                cr_expect(here >= rmsnorm_backward_workspace_f32(sizes[r], sizes[c - 1]));
        }
}

/* --- every width and alignment ------------------------------------------------------ */

/* rstd and the gradients in double: x, dout (R,C), w (C) */
struct truth {
    double *out, *dx, *dw;
};

static struct truth
truth_of(const float *x, const float *dout, const float *w, int R, int C)
{
    size_t n = (size_t)R * C;
    struct truth t = {calloc(n, 8), calloc(n, 8), calloc(C, 8)};
    for (int r = 0; r < R; r++) {
        const float *xr = x + (size_t)r * C, *dr = dout + (size_t)r * C;
        double squares = 0, ux = 0;
        for (int c = 0; c < C; c++)
            squares += (double)xr[c] * xr[c], ux += (double)dr[c] * w[c] * xr[c];
        double rstd = 1 / sqrt(squares / C + EPS);
        for (int c = 0; c < C; c++) {
            t.out[(size_t)r * C + c] = xr[c] * rstd * w[c];
            t.dx[(size_t)r * C + c] =
                rstd * dr[c] * w[c] - rstd * rstd * rstd * xr[c] * ux / C;
            t.dw[c] += dr[c] * xr[c] * rstd;
        }
    }
    return t;
}

/* Forward and backward of (R,C) floats, `skew` bytes off alignment */
static void float_case(int R, int C, size_t skew)
{
    size_t n = (size_t)R * C, space = rmsnorm_backward_workspace_f32(R, C);
    float *x = malloc(4 * n), *dout = malloc(4 * n), *w = malloc(4 * C),
          *got = malloc(4 * n);
    float *dw = calloc(C, 4), *rstd = malloc(4 * R);
    for (size_t i = 0; i < n; i++)
        x[i] = noise() + 0.1f, dout[i] = noise();
    for (int c = 0; c < C; c++)
        w[c] = noise();
    struct truth t = truth_of(x, dout, w, R, C);
    float *dx_ = device(NULL, 4 * n, skew), *x_ = device(x, 4 * n, skew);
    float *dout_ = device(dout, 4 * n, skew), *w_ = device(w, 4 * C, skew);
    float *rstd_ = device(NULL, 4 * R, skew), *dw_ = device(dw, 4 * C, skew);
    float *workspace = device(NULL, space, 0);

    cr_assert(rmsnorm_forward_f32(dx_, rstd_, x_, w_, R, C, EPS, 0.0f, NULL) == WB_OK);
    back(got, dx_, 4 * n);
    close_to(got, t.out, n, 1e-5, "out");
    cr_assert(
        rmsnorm_backward_f32(
            dx_, dw_, dout_, x_, w_, rstd_, NULL, R, C, 0.0f, workspace, space, NULL) ==
        WB_OK);
    back(got, dx_, 4 * n);
    close_to(got, t.dx, n, 1e-5 * sqrt(C) + 1e-5, "dx");
    back(dw, dw_, 4 * C);
    close_to(dw, t.dw, C, 1e-5, "dw");

    float *all[] = {dx_, x_, dout_, w_, rstd_, dw_};
    for (int i = 0; i < 6; i++)
        release(all[i], skew);
    release(workspace, 0);
    free(t.out), free(t.dx), free(t.dw);
    free(x), free(dout), free(w), free(got), free(dw), free(rstd);
}

Test(rmsnorm_alignment, floats)
{
    static const int widths[] = {1,   2,   3,   4,   5,   31,   64,
                                 127, 128, 132, 512, 516, 1000, 2052};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        for (size_t skew = 0; skew < 16; skew += 4)
            float_case(5, widths[i], skew);
    float_case(300, 36, 0);
    float_case(2, 8196, 0);
    float_case(2, 20000, 4);
}

/* bf16, with tensors at different distances from a 16-byte boundary */
static void bf16_case(int R, int C, size_t skew_out, size_t skew_x, size_t skew_w)
{
    size_t n = (size_t)R * C;
    float *x = malloc(4 * n), *w = malloc(4 * C), *got = malloc(4 * n);
    uint16_t *bits = malloc(2 * n), *w_bits = malloc(2 * C);
    for (size_t i = 0; i < n; i++)
        bits[i] = to_bf16(noise()), x[i] = from_bf16(bits[i]);
    for (int c = 0; c < C; c++)
        w_bits[c] = to_bf16(noise()), w[c] = from_bf16(w_bits[c]);
    struct truth t = truth_of(x, x, w, R, C);
    void *out_ = device(NULL, 2 * n, skew_out), *x_ = device(bits, 2 * n, skew_x);
    void *w_ = device(w_bits, 2 * C, skew_w);
    cr_assert(rmsnorm_forward_bf16(out_, NULL, x_, w_, R, C, EPS, 0.0f, NULL) == WB_OK);
    back(bits, out_, 2 * n);
    for (size_t i = 0; i < n; i++)
        got[i] = from_bf16(bits[i]);
    close_to(got, t.out, n, 1 / 256.0, "out");
    release(out_, skew_out), release(x_, skew_x), release(w_, skew_w);
    free(t.out), free(t.dx), free(t.dw), free(x), free(w), free(got), free(bits),
        free(w_bits);
}

Test(rmsnorm_alignment, bf16)
{
    static const int widths[] = {1,   7,   8,   9,   15,   16,   248,
                                 250, 256, 257, 264, 1024, 1032, 1033};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        for (size_t skew = 0; skew < 16; skew += 6) {
            bf16_case(4, widths[i], skew, skew, 0);
            bf16_case(4, widths[i], skew, 0, skew);
            bf16_case(4, widths[i], 0, skew, 2);
        }
}

/* --- one function against another --------------------------------------------------- */

Test(rmsnorm_fused, residual_is_an_addition_and_a_norm)
{
    enum { R = 6, C = 1000, N = R * C };
    static float x[N], res[N], sum[N], w[C], fused[N], separate[N];
    for (int i = 0; i < N; i++)
        x[i] = noise(), res[i] = noise(), sum[i] = x[i] + res[i];
    for (int c = 0; c < C; c++)
        w[c] = noise();
    float *out_ = device(NULL, sizeof x, 0), *sum_ = device(sum, sizeof x, 0);
    float *x_ = device(x, sizeof x, 0), *res_ = device(res, sizeof x, 0);
    float *w_ = device(w, sizeof w, 0);
    cr_assert(rmsnorm_forward_f32(out_, NULL, sum_, w_, R, C, EPS, 1.0f, NULL) == WB_OK);
    back(separate, out_, sizeof x);
    cr_assert(
        rmsnorm_residual_forward_f32(
            x_, res_, NULL, x_, res_, w_, R, C, EPS, 1.0f, NULL) == WB_OK);
    back(fused, x_, sizeof x);
    cr_expect_arr_eq(fused, separate, sizeof x, "out differs from the separate calls");
    back(fused, res_, sizeof x);
    cr_expect_arr_eq(fused, sum, sizeof x, "sum is not x + res");
    release(out_, 0), release(sum_, 0), release(x_, 0), release(res_, 0), release(w_, 0);
}
