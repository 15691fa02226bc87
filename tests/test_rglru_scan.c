/* test_rglru_scan.c - what the contract of lab 06 promises beyond the graded cases, for
 * the scan, the fused pass and the step: statuses, workspace, every size, rows in pieces.
 */
// links: solutions/lab06_rglru.o
#include "device.h"

#include <stdlib.h>

#include "rglru.h"

/* --- statuses ----------------------------------------------------------------------- */

TestSuite(rglru_scan_status, .init = take, .fini = give);

static wb_status scan(int B, int T, int C)
{
    return linear_scan_forward_f32(
        some, NULL, some + 1024, some + 2048, NULL, B, T, C, some + 8192, SOME / 2, NULL);
}

static wb_status fused(int B, int T, int C, int ldy)
{
    float *p = some;
    return rglru_forward_f32(
        p, NULL, NULL, p + 1024, p + 2048, p + 3072, p + 4096, p + 5120, NULL, NULL, B, T,
        C, ldy, p + 8192, SOME / 2, NULL);
}

static wb_status step(int B, int G, int M, int width, int ld)
{
    float *p = some;
    cr_assert(cudaMemset(p + 6144, 0, 256) == cudaSuccess); /* pos */
    return rglru_step_f32(
        p, p + 1024, p + 2048, p + 2560, p + 3072, p + 3584, p + 4096, p + 4352, p + 4864,
        p + 5120, p + 5632, p + 5888, (int *)(p + 6144), B, G, M, width, ld, NULL);
}

Test(rglru_scan_status, shapes)
{
    cr_expect(scan(2, 3, 8) == WB_OK);
    cr_expect(scan(-1, 3, 8) == WB_BAD_SHAPE && scan(2, -1, 8) == WB_BAD_SHAPE);
    cr_expect(scan(2, 3, -8) == WB_BAD_SHAPE);
    cr_expect(scan(0, 3, 8) == WB_OK && scan(2, 0, 8) == WB_OK && scan(2, 3, 0) == WB_OK);
    cr_expect(fused(2, 3, 8, 8) == WB_OK);
    cr_expect(fused(2, 3, 8, 7) == WB_BAD_SHAPE, "rows of y that overlap");
    cr_expect(fused(-2, 3, 8, 8) == WB_BAD_SHAPE && fused(2, 3, -8, 8) == WB_BAD_SHAPE);
    cr_expect(fused(0, 3, 8, 8) == WB_OK && fused(2, 0, 8, 8) == WB_OK);
}

Test(rglru_scan_status, step_shapes)
{
    cr_expect(step(2, 2, 8, 4, 16) == WB_OK);
    cr_expect(step(-1, 2, 8, 4, 16) == WB_BAD_SHAPE);
    cr_expect(step(2, -2, 8, 4, 16) == WB_BAD_SHAPE);
    cr_expect(step(2, 2, 0, 4, 16) == WB_BAD_SHAPE);
    cr_expect(step(1, 1, 513, 4, 513) == WB_BAD_SHAPE);
    cr_expect(step(2, 2, 8, 1, 16) == WB_BAD_SHAPE);
    cr_expect(step(2, 2, 8, 9, 16) == WB_BAD_SHAPE);
    cr_expect(step(2, 2, 8, 4, 15) == WB_BAD_SHAPE);
    cr_expect(step(0, 2, 8, 4, 16) == WB_OK && step(2, 0, 8, 4, 0) == WB_OK);
}

/* n tensors of 16 elements; a[missing] is NULL, and none if missing >= n. */
static void tensors(float **a, int n, int missing)
{
    for (int i = 0; i < n; i++)
        a[i] = i == missing ? NULL : some + 256 * i;
}

static wb_status fused_back(float **a, float *space, size_t bytes)
{
    return rglru_backward_f32(
        a[0], a[1], a[2], NULL, a[3], a[4], a[5], a[6], a[7], NULL, a[8], a[9], NULL, 2,
        2, 4, 4, space, bytes, NULL);
}

Test(rglru_scan_status, null_tensors)
{
    float *a[10], *space = some + 8192;
    for (int missing = 0; missing <= 10; missing++) {
        wb_status want = missing < 10 ? WB_BAD_SHAPE : WB_OK;
        tensors(a, 10, missing);
        cr_expect(fused_back(a, space, SOME / 2) == want);
        if (missing < 5)
            cr_expect(
                linear_scan_backward_f32(
                    a[0], a[1], NULL, a[2], NULL, a[3], a[4], NULL, 2, 2, 4, space,
                    SOME / 2, NULL) == want);
        if (missing < 5)
            cr_expect(
                rglru_forward_f32(
                    a[0], NULL, NULL, a[1], a[2], a[3], NULL, a[4], NULL, NULL, 2, 2, 4,
                    4, space, SOME / 2, NULL) == want);
        if (missing < 3)
            cr_expect(
                linear_scan_forward_f32(
                    a[0], NULL, a[1], a[2], NULL, 2, 2, 4, space, SOME / 2, NULL) ==
                want);
    }
}

Test(rglru_scan_status, dy_exactly_if_y)
{
    float *p = some;
    for (int y = 0; y < 2; y++)
        for (int dy = 0; dy < 2; dy++)
            cr_expect(
                rglru_backward_f32(
                    p, p + 256, p + 512, dy ? p + 768 : NULL, p + 1024, p + 1280,
                    p + 1536, p + 1792, p + 2048, y ? p + 2304 : NULL, p + 2560, p + 2816,
                    NULL, 2, 2, 4, 4, p + 8192, SOME / 2,
                    NULL) == (y == dy ? WB_OK : WB_BAD_SHAPE));
}

Test(rglru_scan_status, too_little_workspace)
{
    enum { B = 1, T = 500, C = 3 };
    float *p = some, before[64], after[64];
    size_t bytes[] = {
        linear_scan_forward_workspace_f32(B, T, C),
        linear_scan_backward_workspace_f32(B, T, C), rglru_forward_workspace_f32(B, T, C),
        rglru_backward_workspace_f32(B, T, C)};
    for (int i = 0; i < 4; i++)
        cr_assert(bytes[i] > 0 && bytes[i] < SOME / 2);
    back(before, p, sizeof before);
    cr_expect(
        linear_scan_forward_f32(
            p, NULL, p, p, NULL, B, T, C, p + 8192, bytes[0] - 1, NULL) == WB_NO_SPACE);
    cr_expect(
        linear_scan_backward_f32(
            p, p, NULL, p, NULL, p, p, NULL, B, T, C, p + 8192, bytes[1] - 1, NULL) ==
        WB_NO_SPACE);
    cr_expect(
        rglru_forward_f32(
            p, NULL, NULL, p, p, p, NULL, p, NULL, NULL, B, T, C, C, p + 8192,
            bytes[2] - 1, NULL) == WB_NO_SPACE);
    cr_expect(
        rglru_backward_f32(
            p, p, p, NULL, p, p, p, p, p, NULL, p, p, NULL, B, T, C, C, p + 8192,
            bytes[3] - 1, NULL) == WB_NO_SPACE);
    back(after, p, sizeof after);
    cr_expect_arr_eq(before, after, sizeof before, "written although nothing ran");
}

Test(rglru_scan_status, workspace_never_falls)
{
    static const int sizes[] = {1,   2,   31,  32,  33,   63,   64,   65,   127,
                                128, 129, 511, 512, 2560, 4096, 4097, 33000};
    size_t (*all[])(int, int, int) = {
        linear_scan_forward_workspace_f32, linear_scan_backward_workspace_bf16,
        rglru_forward_workspace_bf16, rglru_backward_workspace_f32};
    int n = sizeof sizes / sizeof *sizes;
    for (int f = 0; f < 4; f++)
        for (int i = 0; i + 1 < n; i++)
            for (int k = 0; k + 1 < n; k++) {
                int T = sizes[i], C = sizes[k];
                size_t here = all[f](3, T, C);
                cr_expect(all[f](4, T, C) >= here, "B %d %d", T, C);
                cr_expect(all[f](3, sizes[i + 1], C) >= here, "T %d %d", T, C);
                cr_expect(all[f](3, T, sizes[k + 1]) >= here, "C %d %d", T, C);
            }
    for (int f = 0; f < 4; f++)
        cr_expect(all[f](0, 500, 8) == 0 && all[f](3, 0, 8) == 0);
}

/* --- the scan: every length and width ----------------------------------------------- */

static void fill(float *v, size_t n, float scale, float shift)
{
    for (size_t i = 0; i < n; i++)
        v[i] = noise() * scale + shift;
}

/* h of one channel in double */
static void states(double *h, const float *a, const float *z, double state, int T, int C)
{
    for (int t = 0; t < T; t++)
        h[(size_t)t * C] = state = a[(size_t)t * C] * state + z[(size_t)t * C];
}

static void scan_case(int B, int T, int C, size_t skew)
{
    size_t n = (size_t)B * T * C, row = (size_t)B * C;
    size_t bytes = linear_scan_forward_workspace_f32(B, T, C);
    float *a = malloc(4 * n), *z = malloc(4 * n), *got = malloc(4 * n);
    float *h0 = malloc(4 * row), *last = malloc(4 * row);
    double *want = malloc(8 * n);
    fill(a, n, 0.5f, 0.5f), fill(z, n, 1, 0), fill(h0, row, 1, 0);
    for (int b = 0; b < B; b++)
        for (int c = 0; c < C; c++) {
            size_t at = (size_t)b * T * C + c;
            states(want + at, a + at, z + at, h0[(size_t)b * C + c], T, C);
        }
    float *a_ = device(a, 4 * n, skew), *z_ = device(z, 4 * n, skew);
    float *h0_ = device(h0, 4 * row, 0), *space = device(NULL, bytes, 0);
    cr_assert(
        linear_scan_forward_f32(z_, h0_, a_, z_, h0_, B, T, C, space, bytes, NULL) ==
        WB_OK);
    back(got, z_, 4 * n);
    close_to(got, want, n, 1e-5, "h");
    back(last, h0_, 4 * row);
    for (int b = 0; b < B; b++)
        cr_expect_arr_eq(
            last + (size_t)b * C, got + ((size_t)b * T + T - 1) * C, 4 * C, "h_last");
    release(a_, skew), release(z_, skew), release(h0_, 0), release(space, 0);
    free(a), free(z), free(got), free(h0), free(last), free(want);
}

Test(rglru_scan, any_size)
{
    static const int lengths[] = {1, 2, 31, 32, 33, 63, 64, 65, 129, 511};
    static const int widths[] = {1, 2, 31, 32, 33, 63, 64, 65, 130};
    for (int i = 0; i < 10; i++)
        for (int k = 0; k < 9; k++)
            scan_case(1 + (i + k) % 3, lengths[i], widths[k], (i + k) % 4 * 4);
    scan_case(1, 3000, 5, 0);
}

/* --- a row in pieces ---------------------------------------------------------------- */

enum { B = 2, T = 150, G = 3, M = 12, C = G * M, WIDTH = 4, N = B * T * C };

/* The inputs of a recurrent block and its outputs, on the device */
static struct block {
    float *x, *y, *c, *px, *pa, *out, *h, *w, *bias, *wx, *bx, *wa, *ba, *a_param;
    float *ring, *state, *space;
    int *pos;
    size_t bytes;
} block;

static float *random_on_device(size_t n, float scale, float shift)
{
    float *v = malloc(4 * n);
    fill(v, n, scale, shift);
    float *p = device(v, 4 * n, 0);
    free(v);
    return p;
}

/* Row 0 is one document, row 1 three. */
static void setup(void)
{
    struct block *k = &block;
    int pos[B * T];
    for (int t = 0; t < T; t++)
        pos[t] = t, pos[T + t] = t < 40 ? t : t < 41 ? 0 : t - 41;
    k->pos = device(pos, sizeof pos, 0);
    k->x = random_on_device(N, 1, 0), k->y = random_on_device(N, 2, 0);
    k->w = random_on_device(C * WIDTH, 0.5f, 0), k->bias = random_on_device(C, 1, 0);
    k->wx = random_on_device(G * M * M, 0.3f, 0), k->bx = random_on_device(C, 1, 0);
    k->wa = random_on_device(G * M * M, 0.3f, 0), k->ba = random_on_device(C, 1, 0);
    k->a_param = random_on_device(C, 2, -3);
    float **made[] = {&k->c, &k->px, &k->pa, &k->out, &k->h};
    for (int i = 0; i < 5; i++)
        *made[i] = device(NULL, 4 * N, 0);
    k->ring = device(NULL, 4 * B * WIDTH * C, 0); /* NaN, like the state: */
    k->state = device(NULL, 4 * B * C, 0);        /* not to be read before pos 1 */
    k->bytes = rglru_backward_workspace_f32(B, T, C);
    k->space = device(NULL, k->bytes, 0);
    cr_assert(
        conv1d_forward_f32(
            k->c, NULL, k->x, k->w, k->bias, k->pos, NULL, B, T, C, WIDTH, C, NULL) ==
        WB_OK);
    cr_assert(
        block_linear_forward_f32(
            k->px, k->pa, k->c, k->wx, k->bx, k->wa, k->ba, B * T, G, M, NULL) == WB_OK);
    cr_assert(
        rglru_forward_f32(
            k->out, k->h, NULL, k->c, k->px, k->pa, k->y, k->a_param, k->pos, NULL, B, T,
            C, C, k->space, k->bytes, NULL) == WB_OK);
}

static void teardown(void)
{
    struct block *k = &block;
    float *all[] = {k->x,  k->y,       k->c,    k->px,    k->pa,   k->out,
                    k->h,  k->w,       k->bias, k->wx,    k->bx,   k->wa,
                    k->ba, k->a_param, k->ring, k->state, k->space};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        release(all[i], 0);
    release(k->pos, 0);
}

TestSuite(rglru_pieces, .init = setup, .fini = teardown);

static double *widened(const float *from, size_t n)
{
    float *v = malloc(4 * n);
    double *d = malloc(8 * n);
    back(v, from, 4 * n);
    for (size_t i = 0; i < n; i++)
        d[i] = v[i];
    free(v);
    return d;
}

Test(rglru_pieces, calls_through_the_state_give_the_whole_row)
{
    struct block *k = &block;
    static const int cuts[] = {0, 1, 2, 39, 40, 75, 149, T};
    float *part = device(NULL, 4 * N, 0), got[T * C];
    for (int b = 0; b < B; b++)
        for (int i = 0; i < 7; i++) {
            size_t at = ((size_t)b * T + cuts[i]) * C;
            cr_assert(
                rglru_forward_f32(
                    part + at, NULL, k->state + b * C, k->c + at, k->px + at, k->pa + at,
                    k->y + at, k->a_param, k->pos + b * T + cuts[i], NULL, 1,
                    cuts[i + 1] - cuts[i], C, C, k->space, k->bytes, NULL) == WB_OK);
        }
    double *want = widened(k->out, N), *last = widened(k->h, N);
    for (int b = 0; b < B; b++) {
        back(got, part + b * T * C, sizeof got);
        close_to(got, want + b * T * C, T * C, 1e-5, "out");
        back(got, k->state + b * C, 4 * C);
        close_to(got, last + (b * T + T - 1) * C, C, 1e-5, "state");
    }
    release(part, 0), free(want), free(last);
}

Test(rglru_pieces, token_by_token_gives_the_whole_row)
{
    struct block *k = &block;
    double *want = widened(k->out, N);
    float *out = device(NULL, 4 * B * C, 0), got[B * C];
    int pos[B * T], now[B], *pos_ = device(NULL, sizeof now, 0);
    back(pos, k->pos, sizeof pos);
    for (int t = 0; t < T; t++) {
        for (int b = 0; b < B; b++)
            now[b] = pos[b * T + t];
        cr_assert(
            cudaMemcpy(pos_, now, sizeof now, cudaMemcpyHostToDevice) == cudaSuccess);
        /* a token of every row: rows are T C elements apart */
        cr_assert(
            rglru_step_f32(
                out, k->ring, k->state, k->x + (size_t)t * C, k->y + (size_t)t * C, k->w,
                k->bias, k->wx, k->bx, k->wa, k->ba, k->a_param, pos_, B, G, M, WIDTH,
                T * C, NULL) == WB_OK);
        back(got, out, sizeof got);
        for (int b = 0; b < B; b++)
            close_to(got + b * C, want + (b * T + t) * C, C, 2e-5, "out");
    }
    release(out, 0), release(pos_, 0), free(want);
}

Test(rglru_pieces, padding_enters_no_state)
{
    struct block *k = &block;
    static const int len[B] = {0, 100};
    int *len_ = device(len, sizeof len, 0);
    float before[B * C], after[B * C];
    double *h = widened(k->h, N);
    float *state = random_on_device(B * C, 1, 0);
    back(before, state, sizeof before);
    cr_assert(
        rglru_forward_f32(
            k->out, NULL, state, k->c, k->px, k->pa, k->y, k->a_param, k->pos, len_, B, T,
            C, C, k->space, k->bytes, NULL) == WB_OK);
    back(after, state, sizeof after);
    cr_expect_arr_eq(before, after, 4 * C, "a row without tokens has a new state");
    close_to(after + C, h + (T + 99) * C, C, 1e-6, "state");
    release(len_, 0), release(state, 0), free(h);
}

Test(rglru_pieces, equal_bits_from_any_workspace)
{
    struct block *k = &block;
    static float first[N], second[N], sums[2][C];
    float *d[4], *da = device(NULL, 4 * C, 0);
    for (int i = 0; i < 4; i++)
        d[i] = device(NULL, 4 * N, 0);
    for (int run = 0; run < 2; run++) {
        cr_assert(cudaMemset(k->space, run ? 0x00 : 0xff, k->bytes) == cudaSuccess);
        cr_assert(cudaMemset(da, 0, 4 * C) == cudaSuccess);
        cr_assert(
            rglru_backward_f32(
                d[0], d[1], d[2], d[3], da, k->out, k->c, k->px, k->pa, k->y, k->h,
                k->a_param, k->pos, B, T, C, C, k->space, k->bytes, NULL) == WB_OK);
        back(run ? second : first, d[2], sizeof first);
        back(sums[run], da, sizeof sums[0]);
    }
    cr_expect_arr_eq(first, second, sizeof first);
    cr_expect_arr_eq(sums[0], sums[1], sizeof sums[0]);
    for (int i = 0; i < 4; i++)
        release(d[i], 0);
    release(da, 0);
}
