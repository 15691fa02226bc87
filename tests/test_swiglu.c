/* test_swiglu.c - the contract of lab 01 beyond the graded cases: statuses, empty
 * tensors, every width, alignment and stride, finite results, equal bits.
 */
// links: solutions/lab01_swiglu.o
#include "device.h"

#include <float.h>
#include <stdlib.h>

#include "swiglu.h"

/* --- statuses ----------------------------------------------------------------------- */

Test(swiglu_status, shapes)
{
    float *x = device(NULL, 1 << 12, 0);
    cr_expect(swiglu_forward_f32(x, x + 64, x + 128, 2, 8, 8, NULL) == WB_OK);
    cr_expect(swiglu_forward_f32(x, x + 64, x + 128, 2, 8, 7, NULL) == WB_BAD_SHAPE);
    cr_expect(swiglu_forward_f32(x, x + 64, x + 128, -1, 8, 8, NULL) == WB_BAD_SHAPE);
    cr_expect(swiglu_forward_f32(x, x + 64, x + 128, 2, -8, 8, NULL) == WB_BAD_SHAPE);
    cr_expect(
        geglu_backward_f32(x, x + 64, x + 128, x + 192, x + 256, 2, 8, 7, NULL) ==
        WB_BAD_SHAPE);
    cr_expect(cudaDeviceSynchronize() == cudaSuccess);
    release(x, 0);
}

Test(swiglu_status, empty_tensors_need_no_pointer)
{
    cr_expect(swiglu_forward_f32(NULL, NULL, NULL, 0, 8, 8, NULL) == WB_OK);
    cr_expect(geglu_forward_bf16(NULL, NULL, NULL, 8, 0, 0, NULL) == WB_OK);
    cr_expect(swiglu_backward_f16(NULL, NULL, NULL, NULL, NULL, 0, 8, 8, NULL) == WB_OK);
    cr_expect(geglu_backward_f32(NULL, NULL, NULL, NULL, NULL, 3, 0, 5, NULL) == WB_OK);
}

Test(swiglu_status, null_tensors)
{
    float *x = device(NULL, 1 << 12, 0);
    for (int missing = 0; missing < 5; missing++) {
        float *a[5] = {x, x + 64, x + 128, x + 192, x + 256};
        a[missing] = NULL;
        if (missing < 3)
            cr_expect(
                swiglu_forward_f32(a[0], a[1], a[2], 2, 8, 8, NULL) == WB_BAD_SHAPE);
        cr_expect(
            swiglu_backward_f32(a[0], a[1], a[2], a[3], a[4], 2, 8, 8, NULL) ==
            WB_BAD_SHAPE);
    }
    release(x, 0);
}

/* --- the four functions against doubles --------------------------------------------- */

struct truth {
    double act, slope;
};

static struct truth of(double z, int gelu)
{
    double k = sqrt(2 / 3.14159265358979323846);
    if (!gelu) {
        double s = 1 / (1 + exp(-z));
        return (struct truth){z * s, s * (1 + z * (1 - s))};
    }
    double h = tanh(k * (z + 0.044715 * z * z * z));
    return (struct truth){
        z / 2 * (1 + h),
        (1 + h) / 2 + z / 2 * (1 - h * h) * k * (1 + 3 * 0.044715 * z * z)};
}

/* R rows of F columns of gate and up in one matrix, ld apart, `skew` elements off
 * alignment: forward, backward out of place and in place. Padding between rows must
 * not change. */
static void one_layout(int R, int F, int ld, int skew, int gelu)
{
    size_t n = (size_t)R * ld, small = (size_t)R * F;
    float *h = malloc(n * 4), *hd = malloc(small * 4), *got = malloc(n * 4);
    float *inside = malloc(n * 4), *out = malloc(small * 4);
    for (size_t i = 0; i < n; i++)
        h[i] = 6 * noise();
    for (size_t i = 0; i < small; i++)
        hd[i] = noise();
    float *gu = device(h, n * 4, skew * 4), *dgu = device(h, n * 4, skew * 4);
    float *y = device(NULL, small * 4, skew * 4), *dy = device(hd, small * 4, skew * 4);
    wb_status (*forward)(
        float *, const float *, const float *, int, int, int, cudaStream_t) =
        gelu ? geglu_forward_f32 : swiglu_forward_f32;
    wb_status (*backward)(
        float *, float *, const float *, const float *, const float *, int, int, int,
        cudaStream_t) = gelu ? geglu_backward_f32 : swiglu_backward_f32;
    cr_assert(forward(y, gu, gu + F, R, F, ld, NULL) == WB_OK);
    cr_assert(backward(dgu, dgu + F, dy, gu, gu + F, R, F, ld, NULL) == WB_OK);
    cr_assert(backward(gu, gu + F, dy, gu, gu + F, R, F, ld, NULL) == WB_OK);
    cr_assert(cudaDeviceSynchronize() == cudaSuccess);
    back(out, y, small * 4), back(got, dgu, n * 4), back(inside, gu, n * 4);
    cr_expect(!memcmp(got, inside, n * 4), "in place differs, F %d ld %d", F, ld);
    for (int r = 0; r < R; r++)
        for (int f = 0; f < ld; f++) {
            size_t i = (size_t)r * ld + f;
            if (f >= F) {
                if (f >= 2 * F) cr_assert(got[i] == h[i], "column %d of ld %d", f, ld);
                continue;
            }
            double z = h[i], u = h[i + F], d = hd[(size_t)r * F + f];
            struct truth t = of(z, gelu);
            double tol = 20 * ldexp(1, -24) * (1 + fabs(z));
            cr_assert(fabs(out[(size_t)r * F + f] - t.act * u) <= tol * fabs(u));
            cr_assert(fabs(got[i] - d * u * t.slope) <= tol * (1 + fabs(d * u)));
            cr_assert(fabs(got[i + F] - d * t.act) <= tol * fabs(d));
        }
    release(gu, skew * 4), release(dgu, skew * 4);
    release(y, skew * 4), release(dy, skew * 4);
    free(h), free(hd), free(got), free(inside), free(out);
}

Test(swiglu, every_width)
{
    for (int F = 1; F <= 70; F++)
        one_layout(3, F, 2 * F, 0, F % 2);
}

Test(swiglu, every_alignment)
{
    for (int skew = 0; skew < 5; skew++)
        for (int F = 62; F <= 66; F++)
            one_layout(2, F, 2 * F + skew, skew, 0);
}

Test(swiglu, around_the_size_of_a_block)
{
    static const int widths[] = {2047, 2048, 2049, 4095, 4096, 4097, 8191, 12289};
    for (int i = 0; i < 8; i++) {
        one_layout(1, widths[i], 2 * widths[i], 0, i % 2);
        one_layout(2, widths[i], 2 * widths[i] + 4, 0, i % 2);
    }
}

/* --- range -------------------------------------------------------------------------- */

/* For these values of gate, up and dout the exact gradients are finite. */
Test(swiglu, finite_for_every_finite_input)
{
    static const float gates[] = {-FLT_MAX, -1e30f, -1e13f,  -104.0f, -88.8f,
                                  -17.0f,   -0.0f,  FLT_MIN, 16.5f,   89.0f,
                                  1e13f,    1e30f,  FLT_MAX};
    enum { N = sizeof gates / sizeof *gates };
    float ups[N], douts[N], got[3][N];
    for (int i = 0; i < N; i++)
        ups[i] = i % 2 ? 0.75f : -0.5f, douts[i] = fabsf(gates[i]) > 2 ? 1.0f : FLT_MAX;
    float *z = device(gates, sizeof gates, 0), *u = device(ups, sizeof ups, 0);
    float *dy = device(douts, sizeof douts, 0), *y = device(NULL, sizeof got, 0);
    for (int gelu = 0; gelu < 2; gelu++) {
        cr_assert(
            (gelu ? geglu_forward_f32 : swiglu_forward_f32)(y, z, u, 1, N, N, NULL) ==
            WB_OK);
        cr_assert(
            (gelu ? geglu_backward_f32 : swiglu_backward_f32)(
                y + N, y + 2 * N, dy, z, u, 1, N, N, NULL) == WB_OK);
        back(got, y, sizeof got);
        for (int k = 0; k < 3; k++)
            for (int i = 0; i < N; i++)
                cr_expect(
                    isfinite(got[k][i]), "result %d for gate %g, gelu %d", k,
                    (double)gates[i], gelu);
        cr_expect(got[0][0] == 0 && got[0][N - 1] == FLT_MAX * ups[N - 1]);
    }
    release(z, 0), release(u, 0), release(dy, 0), release(y, 0);
}

Test(swiglu, a_gradient_near_the_largest_float)
{
    /* silu'(2.4) = 1.0998: dout silu' overflows, dout silu' up does not */
    float gate = 2.4f, up = 0.5f, dout = FLT_MAX, got[2];
    float *x = device(NULL, 64, 0);
    cr_assert(cudaMemcpy(x, &gate, 4, cudaMemcpyHostToDevice) == cudaSuccess);
    cr_assert(cudaMemcpy(x + 1, &up, 4, cudaMemcpyHostToDevice) == cudaSuccess);
    cr_assert(cudaMemcpy(x + 2, &dout, 4, cudaMemcpyHostToDevice) == cudaSuccess);
    cr_assert(swiglu_backward_f32(x + 3, x + 4, x + 2, x, x + 1, 1, 1, 1, NULL) == WB_OK);
    back(got, x + 3, 8);
    cr_expect(fabs(got[0] / (of(2.4f, 0).slope * 0.5 * FLT_MAX) - 1) < 1e-6);
    release(x, 0);
}

/* --- 16-bit types ------------------------------------------------------------------- */

Test(swiglu, bf16_is_float_rounded_once)
{
    enum { N = 1003 };
    float z[N], u[N], y[N];
    uint16_t half[2][N], got[N];
    for (int i = 0; i < N; i++) {
        half[0][i] = to_bf16(8 * noise()), half[1][i] = to_bf16(noise());
        z[i] = from_bf16(half[0][i]), u[i] = from_bf16(half[1][i]);
    }
    float *dz = device(z, sizeof z, 0), *du = device(u, sizeof u, 0);
    float *dy = device(NULL, sizeof y, 0);
    wb_bf16 *hz = device(half[0], sizeof half[0], 0), *hy = device(NULL, sizeof got, 0);
    wb_bf16 *hu = device(half[1], sizeof half[1], 0);
    cr_assert(swiglu_forward_f32(dy, dz, du, 1, N, N, NULL) == WB_OK);
    cr_assert(swiglu_forward_bf16(hy, hz, hu, 17, 59, 59, NULL) == WB_OK);
    back(y, dy, sizeof y), back(got, hy, sizeof got);
    for (int i = 0; i < N; i++) /* __expf may break a tie: one step of bf16 */
        cr_expect(abs((int)got[i] - (int)to_bf16(y[i])) <= 1, "%d", i);
    release(dz, 0), release(du, 0), release(dy, 0);
    release(hz, 0), release(hu, 0), release(hy, 0);
}
