/* test_rope.c - the contract of lab 02 beyond the graded cases: statuses, empty tensors,
 * every width, alignment and number of heads, forward and back again.
 */
// links: solutions/lab02_rope.o
#include "device.h"

#include <stdlib.h>

#include "rope.h"

/* --- statuses ----------------------------------------------------------------------- */

TestSuite(rope_status, .init = take, .fini = give);

static wb_status forward(int B, int T, int H, int D, int N, int ld)
{
    return rope_forward_f32(
        some, some + 1024, some + 2048, NULL, B, T, H, D, N, ld, NULL);
}

Test(rope_status, shapes)
{
    cr_expect(forward(1, 4, 2, 8, 8, 16) == WB_OK);
    cr_expect(forward(1, 4, 2, 8, 6, 17) == WB_OK);
    cr_expect(forward(1, 4, 2, 8, 8, 15) == WB_BAD_SHAPE, "ld below H*D");
    cr_expect(forward(1, 4, 2, 8, 10, 16) == WB_BAD_SHAPE, "N above D");
    cr_expect(forward(1, 4, 2, 8, 5, 16) == WB_BAD_SHAPE, "N odd");
    cr_expect(forward(1, 4, 2, 8, -2, 16) == WB_BAD_SHAPE);
    cr_expect(forward(-1, 4, 2, 8, 8, 16) == WB_BAD_SHAPE);
    cr_expect(
        forward(1, 4, 1 << 20, 1 << 20, 8, INT_MAX) == WB_BAD_SHAPE, "H*D overflows");
}

Test(rope_status, table)
{
    cr_expect(rope_table_f32(some, 4, 8, 10000.0f, NULL) == WB_OK);
    cr_expect(rope_table_f32(some, -1, 8, 10000.0f, NULL) == WB_BAD_SHAPE);
    cr_expect(rope_table_f32(some, 4, 7, 10000.0f, NULL) == WB_BAD_SHAPE);
    cr_expect(rope_table_f32(some, 4, 8, 0.0f, NULL) == WB_BAD_SHAPE);
    cr_expect(rope_table_f32(some, 4, 8, NAN, NULL) == WB_BAD_SHAPE);
    cr_expect(rope_table_f32(NULL, 4, 8, 10000.0f, NULL) == WB_BAD_SHAPE);
    cr_expect(rope_table_f32(NULL, 0, 8, 10000.0f, NULL) == WB_OK);
    cr_expect(rope_table_f32(NULL, 4, 0, 10000.0f, NULL) == WB_OK);
}

Test(rope_status, null_and_empty)
{
    float *x = some;
    cr_expect(rope_forward_f32(NULL, x, x, NULL, 1, 1, 1, 2, 2, 2, NULL) == WB_BAD_SHAPE);
    cr_expect(rope_forward_f32(x, NULL, x, NULL, 1, 1, 1, 2, 2, 2, NULL) == WB_BAD_SHAPE);
    cr_expect(rope_forward_f32(x, x, NULL, NULL, 1, 1, 1, 2, 2, 2, NULL) == WB_BAD_SHAPE);
    cr_expect(
        rope_forward_f32(x, x, NULL, NULL, 1, 1, 1, 2, 0, 2, NULL) == WB_OK,
        "N = 0 reads no table");
    cr_expect(rope_forward_f32(NULL, NULL, NULL, NULL, 0, 4, 2, 8, 8, 16, NULL) == WB_OK);
    cr_expect(
        rope_backward_f16(NULL, NULL, NULL, NULL, 1, 0, 2, 8, 8, 16, NULL) == WB_OK);
    cr_expect(
        rope_backward_bf16(NULL, NULL, NULL, NULL, 1, 4, 0, 8, 8, 0, NULL) == WB_OK);
}

/* --- the table ---------------------------------------------------------------------- */

Test(rope, table_is_correct_at_large_positions)
{
    enum { P = 200001, N = 4 };
    float *cis = device(NULL, (size_t)P * N * 4, 0), *got = malloc((size_t)P * N * 4);
    cr_assert(rope_table_f32(cis, P, N, 10000.0f, NULL) == WB_OK);
    back(got, cis, (size_t)P * N * 4);
    for (int p = 0; p < P; p += 997)
        for (int i = 0; i < N / 2; i++) {
            double a = p * pow(10000.0, -2.0 * i / N);
            cr_expect(fabs(got[(p * 2 + i) * 2] - cos(a)) <= ldexp(1, -23));
            cr_expect(fabs(got[(p * 2 + i) * 2 + 1] - sin(a)) <= ldexp(1, -23));
        }
    release(cis, 0);
    free(got);
}

/* --- forward and backward against doubles ------------------------------------------- */

enum { POSITIONS = 50 };

/* Out of place, in place, and back. Gaps between the tokens must not change. */
static void one_layout(int T, int H, int D, int N, int ld, int skew)
{
    size_t n = (size_t)T * ld;
    float *h = malloc(n * 4), *got = malloc(n * 4), *inside = malloc(n * 4);
    float table[POSITIONS * 256];
    int p[64];
    cr_assert(T <= 64 && N <= 256);
    for (size_t i = 0; i < n; i++)
        h[i] = noise();
    for (int t = 0; t < T; t++)
        p[t] = t * 7 % POSITIONS;
    float *x = device(h, n * 4, skew * 4), *y = device(h, n * 4, skew * 4);
    float *cis = device(NULL, sizeof table, 0);
    int *pos = device(p, sizeof *p * T, 0);
    cr_assert(rope_table_f32(cis, POSITIONS, N, 10000.0f, NULL) == WB_OK);
    cr_assert(rope_forward_f32(y, x, cis, pos, 1, T, H, D, N, ld, NULL) == WB_OK);
    cr_assert(rope_forward_f32(x, x, cis, pos, 1, T, H, D, N, ld, NULL) == WB_OK);
    cr_assert(cudaDeviceSynchronize() == cudaSuccess);
    back(table, cis, (size_t)POSITIONS * N * 4);
    back(got, y, n * 4), back(inside, x, n * 4);
    cr_expect(!memcmp(got, inside, n * 4), "in place differs: %d %d %d", H, D, N);
    for (size_t i = 0; i < n; i++) {
        int t = (int)(i / ld), at = (int)(i % ld), c = at % D, j = c % (N / 2 + !N);
        if (at >= H * D || c >= N) {
            cr_assert(got[i] == h[i], "channel %d of token %d, D %d N %d", at, t, D, N);
            continue;
        }
        double co = table[(p[t] * (N / 2) + j) * 2],
               si = table[(p[t] * (N / 2) + j) * 2 + 1];
        double a = h[i - c + j], b = h[i - c + j + N / 2];
        double want = c < N / 2 ? a * co - b * si : b * co + a * si;
        cr_assert(fabs(got[i] - want) <= 5 * ldexp(1, -24) * (fabs(a) + fabs(b)));
    }
    cr_assert(rope_backward_f32(x, x, cis, pos, 1, T, H, D, N, ld, NULL) == WB_OK);
    back(inside, x, n * 4);
    for (size_t i = 0; i < n; i++)
        cr_assert(fabs(inside[i] - h[i]) <= 2e-6, "forward and back: %d %d %d", H, D, N);
    release(x, skew * 4), release(y, skew * 4), release(cis, 0), release(pos, 0);
    free(h), free(got), free(inside);
}

Test(rope, every_width)
{
    for (int D = 1; D <= 40; D++)
        for (int N = 0; N <= D; N += 2)
            one_layout(3, 2, D, N, 2 * D + D % 3, 0);
}

Test(rope, every_alignment)
{
    for (int skew = 0; skew < 5; skew++)
        for (int more = 0; more < 5; more++)
            one_layout(4, 3, 32, 16, 96 + more, skew);
}

Test(rope, every_number_of_heads)
{
    for (int H = 1; H <= 20; H++)
        one_layout(3, H, 8, 8, H * 8 + 8, 0);
    one_layout(2, 70, 64, 64, 70 * 64, 0); /* a token larger than a block */
    one_layout(2, 5, 256, 128, 5 * 256, 0);
    one_layout(64, 1, 2, 2, 2, 0);
}

/* --- 16-bit types ------------------------------------------------------------------- */

Test(rope, bf16_is_float_rounded_once)
{
    enum { T = 11, H = 3, D = 32, N = T * H * D };
    float x[N], y[N];
    uint16_t half[N], got[N];
    for (int i = 0; i < N; i++)
        half[i] = to_bf16(noise()), x[i] = from_bf16(half[i]);
    float *dx = device(x, sizeof x, 0), *cis = device(NULL, T * D * 4, 0);
    wb_bf16 *hx = device(half, sizeof half, 0);
    cr_assert(rope_table_f32(cis, T, D, 10000.0f, NULL) == WB_OK);
    cr_assert(rope_forward_f32(dx, dx, cis, NULL, 1, T, H, D, D, H * D, NULL) == WB_OK);
    cr_assert(rope_forward_bf16(hx, hx, cis, NULL, 1, T, H, D, D, H * D, NULL) == WB_OK);
    back(y, dx, sizeof y), back(got, hx, sizeof got);
    for (int i = 0; i < N; i++) /* another order of rounding may break a tie */
        cr_expect(abs((int)got[i] - (int)to_bf16(y[i])) <= 1, "%d", i);
    release(dx, 0), release(cis, 0), release(hx, 0);
}
