/* test_rglru.c - what the contract of lab 06 promises beyond the graded cases, parts 06.1
 * to 06.3: statuses, empty inputs, workspace, every alignment, the ring.
 */
// links: solutions/lab06_rglru.o
#include "device.h"

#include <stdlib.h>

#include "rglru.h"

/* --- statuses ----------------------------------------------------------------------- */

TestSuite(rglru_status, .init = take, .fini = give);

static wb_status matrices(int R, int G, int M)
{
    return block_linear_forward_f32(
        some, some + 1024, some + 2048, some + 4096, some + 6144, some + 8192,
        some + 10240, R, G, M, NULL);
}

Test(rglru_status, block_linear_shapes)
{
    cr_expect(matrices(2, 2, 8) == WB_OK);
    cr_expect(matrices(-1, 2, 8) == WB_BAD_SHAPE);
    cr_expect(matrices(2, -1, 8) == WB_BAD_SHAPE);
    cr_expect(matrices(2, 2, 0) == WB_BAD_SHAPE);
    cr_expect(matrices(2, 2, 513) == WB_BAD_SHAPE);
    cr_expect(matrices(0, 2, 0) == WB_BAD_SHAPE, "M >= 1 even without rows");
    cr_expect(matrices(0, 2, 8) == WB_OK);
    cr_expect(matrices(2, 0, 8) == WB_OK);
    cr_expect(block_linear_backward_workspace_f32(0, 2, 8) == 0);
}

static wb_status conv(int B, int T, int C, int width, int ld)
{
    return conv1d_forward_f32(
        some, NULL, some + 4096, some + 8192, some + 8448, NULL, NULL, B, T, C, width, ld,
        NULL);
}

Test(rglru_status, conv1d_shapes)
{
    cr_expect(conv(2, 3, 8, 4, 8) == WB_OK);
    cr_expect(conv(-1, 3, 8, 4, 8) == WB_BAD_SHAPE);
    cr_expect(conv(2, -3, 8, 4, 8) == WB_BAD_SHAPE);
    cr_expect(conv(2, 3, -8, 4, 8) == WB_BAD_SHAPE);
    cr_expect(conv(2, 3, 8, 1, 8) == WB_BAD_SHAPE);
    cr_expect(conv(2, 3, 8, 9, 8) == WB_BAD_SHAPE);
    cr_expect(conv(2, 3, 8, 4, 7) == WB_BAD_SHAPE, "rows that overlap");
    cr_expect(conv(0, 3, 8, 1, 8) == WB_BAD_SHAPE, "width >= 2 even without rows");
    cr_expect(conv(0, 3, 8, 4, 8) == WB_OK);
    cr_expect(conv(2, 0, 8, 4, 8) == WB_OK);
    cr_expect(conv(2, 3, 0, 4, 0) == WB_OK);
    cr_expect(conv1d_backward_workspace_f32(2, 0, 8, 4) == 0);
}

static wb_status gates(int B, int T, int C)
{
    return rglru_gates_forward_f32(
        some, some + 2048, some + 4096, some + 6144, some + 8192, some + 10240, NULL, B,
        T, C, NULL);
}

Test(rglru_status, gates_shapes)
{
    cr_expect(gates(2, 3, 8) == WB_OK);
    cr_expect(gates(-2, 3, 8) == WB_BAD_SHAPE);
    cr_expect(gates(2, -3, 8) == WB_BAD_SHAPE);
    cr_expect(gates(2, 3, -8) == WB_BAD_SHAPE);
    cr_expect(gates(0, 3, 8) == WB_OK && gates(2, 0, 8) == WB_OK);
    cr_expect(gates(2, 3, 0) == WB_OK);
    cr_expect(rglru_gates_backward_workspace_f32(2, 3, 0) == 0);
}

/* n tensors of 16 elements; a[missing] is NULL, and none if missing is n. */
static void tensors(float **a, int n, int missing)
{
    for (int i = 0; i < n; i++)
        a[i] = i == missing ? NULL : some + 256 * i;
}

Test(rglru_status, null_tensors)
{
    float *a[10], *space = some + 4096;
    size_t bytes = 4 * 4096;
    cr_assert(block_linear_backward_workspace_f32(2, 2, 4) <= bytes);
    cr_assert(conv1d_backward_workspace_f32(2, 2, 4, 2) <= bytes);
    cr_assert(rglru_gates_backward_workspace_f32(2, 2, 4) <= bytes);
    for (int missing = 0; missing <= 10; missing++) {
        wb_status want = missing < 10 ? WB_BAD_SHAPE : WB_OK;
        tensors(a, 10, missing);
        cr_expect(
            block_linear_backward_f32(
                a[0], a[1], a[2], a[3], a[4], NULL, a[5], a[6], a[7], a[8], a[9], 2, 2, 4,
                space, bytes, NULL) == want);
        cr_expect(
            rglru_gates_backward_f32(
                a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], NULL, 2, 2, 4,
                space, bytes, NULL) == want);
        if (missing < 7)
            cr_expect(
                block_linear_forward_f32(
                    a[0], a[1], a[2], a[3], a[4], a[5], a[6], 2, 2, 4, NULL) == want);
        if (missing < 6) {
            cr_expect(
                rglru_gates_forward_f32(
                    a[0], a[1], a[2], a[3], a[4], a[5], NULL, 2, 2, 4, NULL) == want);
            cr_expect(
                conv1d_backward_f32(
                    a[0], a[1], a[2], a[3], a[4], a[5], NULL, 2, 2, 4, 2, 4, space, bytes,
                    NULL) == want);
        }
        if (missing < 4)
            cr_expect(
                conv1d_forward_f32(
                    a[0], NULL, a[1], a[2], a[3], NULL, NULL, 2, 2, 4, 2, 4, NULL) ==
                want);
    }
}

Test(rglru_status, too_little_workspace)
{
    float before[64], after[64], *p = some, *space = some + 4096;
    back(before, some, sizeof before);
    cr_expect(
        block_linear_backward_f32(
            p, p, p, p, p, NULL, p, p, p, p, p, 3, 1, 4, space,
            block_linear_backward_workspace_f32(3, 1, 4) - 1, NULL) == WB_NO_SPACE);
    cr_expect(
        conv1d_backward_f32(
            p, p, p, p, p, p, NULL, 1, 3, 4, 4, 4, space,
            conv1d_backward_workspace_f32(1, 3, 4, 4) - 1, NULL) == WB_NO_SPACE);
    cr_expect(
        rglru_gates_backward_f32(
            p, p, p, p, p, p, p, p, p, p, NULL, 1, 3, 4, space,
            rglru_gates_backward_workspace_f32(1, 3, 4) - 1, NULL) == WB_NO_SPACE);
    back(after, some, sizeof after);
    cr_expect_arr_eq(before, after, sizeof before, "written although nothing ran");
}

static void never_falls(size_t here, size_t next, int rows, int n)
{
    cr_expect(here > 0);
    cr_expect(
        next >= here, "at %d rows, %d channels: %zu, then %zu", rows, n, here, next);
}

Test(rglru_status, workspace_never_falls)
{
    static const int sizes[] = {1,   2,   15,  16,  17,   255,  256,  257,
                                511, 512, 900, 999, 2560, 4096, 4097, 33000};
    int n = sizeof sizes / sizeof *sizes;
    for (int i = 0; i + 1 < n; i++)
        for (int k = 0; k + 1 < n; k++) {
            int r = sizes[i], c = sizes[k], next_r = sizes[i + 1], next_c = sizes[k + 1];
            size_t g = rglru_gates_backward_workspace_bf16(3, r, c);
            never_falls(g, rglru_gates_backward_workspace_bf16(4, r, c), r, c);
            never_falls(g, rglru_gates_backward_workspace_bf16(3, next_r, c), r, c);
            never_falls(g, rglru_gates_backward_workspace_bf16(3, r, next_c), r, c);
            size_t v = conv1d_backward_workspace_f32(3, r, c, 4);
            never_falls(v, conv1d_backward_workspace_f32(4, r, c, 4), r, c);
            never_falls(v, conv1d_backward_workspace_f32(3, next_r, c, 4), r, c);
            never_falls(v, conv1d_backward_workspace_f32(3, r, next_c, 4), r, c);
            never_falls(v, conv1d_backward_workspace_f32(3, r, c, 5), r, c);
            if (next_c > 512) continue;
            size_t b = block_linear_backward_workspace_f16(r, 3, c);
            never_falls(b, block_linear_backward_workspace_f16(r, 4, c), r, c);
            never_falls(b, block_linear_backward_workspace_f16(next_r, 3, c), r, c);
            never_falls(b, block_linear_backward_workspace_f16(r, 3, next_c), r, c);
        }
}

/* --- matrices: every block size and alignment --------------------------------------- */

static double *
products(const float *c, const float *w, const float *b, int R, int G, int M)
{
    double *y = calloc((size_t)R * G * M, sizeof *y);
    for (int r = 0; r < R; r++)
        for (int g = 0; g < G; g++)
            for (int j = 0; j < M; j++) {
                double sum = b[g * M + j];
                for (int i = 0; i < M; i++)
                    sum += (double)c[(r * G + g) * M + i] * w[(g * M + i) * M + j];
                y[(r * G + g) * M + j] = sum;
            }
    return y;
}

static void fill(float *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        v[i] = from_bf16(to_bf16(noise())); /* exact in each element type */
}

static void float_blocks(int R, int G, int M, size_t skew)
{
    size_t n = (size_t)R * G * M, m = (size_t)G * M * M, C = (size_t)G * M;
    float *c = malloc(4 * n), *w = malloc(4 * m), *b = malloc(4 * C),
          *got = malloc(4 * n);
    fill(c, n), fill(w, m), fill(b, C);
    float *px_ = device(NULL, 4 * n, skew), *pa_ = device(NULL, 4 * n, skew);
    float *c_ = device(c, 4 * n, skew), *w_ = device(w, 4 * m, skew);
    float *b_ = device(b, 4 * C, skew);
    cr_assert(
        block_linear_forward_f32(px_, pa_, c_, w_, b_, w_, b_, R, G, M, NULL) == WB_OK);
    double *want = products(c, w, b, R, G, M);
    back(got, px_, 4 * n);
    close_to(got, want, n, 1e-5, "px");
    back(got, pa_, 4 * n);
    close_to(got, want, n, 1e-5, "pa");
    float *all[] = {px_, pa_, c_, w_, b_};
    for (int i = 0; i < 5; i++)
        release(all[i], skew);
    free(want), free(c), free(w), free(b), free(got);
}

Test(rglru_blocks, floats)
{
    static const int sizes[] = {1, 2, 3, 15, 16, 17, 31, 33, 64, 65};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        float_blocks(5, 2, sizes[i], i % 4 * 4);
    float_blocks(130, 3, 23, 0);
    float_blocks(2, 1, 512, 0);
}

static uint16_t *halves(const float *v, size_t n)
{
    uint16_t *bits = malloc(2 * n);
    for (size_t i = 0; i < n; i++)
        bits[i] = to_bf16(v[i]);
    return bits;
}

static void bf16_blocks(int R, int G, int M, size_t skew_c, size_t skew_out)
{
    size_t n = (size_t)R * G * M, m = (size_t)G * M * M, C = (size_t)G * M;
    float *c = malloc(4 * n), *w = malloc(4 * m), *b = malloc(4 * C),
          *got = malloc(4 * n);
    fill(c, n), fill(w, m), fill(b, C);
    uint16_t *c16 = halves(c, n), *w16 = halves(w, m), *b16 = halves(b, C);
    void *c_ = device(c16, 2 * n, skew_c), *w_ = device(w16, 2 * m, 0);
    void *b_ = device(b16, 2 * C, 2), *px_ = device(NULL, 2 * n, skew_out);
    void *pa_ = device(NULL, 2 * n, skew_out);
    cr_assert(
        block_linear_forward_bf16(px_, pa_, c_, w_, b_, w_, b_, R, G, M, NULL) == WB_OK);
    double *want = products(c, w, b, R, G, M);
    void *out[] = {px_, pa_};
    for (int k = 0; k < 2; k++) {
        back(c16, out[k], 2 * n);
        for (size_t i = 0; i < n; i++)
            got[i] = from_bf16(c16[i]);
        close_to(got, want, n, 1 / 256.0, k ? "pa" : "px");
    }
    release(c_, skew_c), release(w_, 0), release(b_, 2);
    release(px_, skew_out), release(pa_, skew_out);
    free(want), free(c), free(w), free(b), free(got), free(c16), free(w16), free(b16);
}

Test(rglru_blocks, bf16)
{
    bf16_blocks(5, 2, 1, 2, 0);
    bf16_blocks(9, 3, 23, 0, 0);
    bf16_blocks(131, 1, 40, 0, 0);
    bf16_blocks(3, 2, 72, 2, 0);
    bf16_blocks(3, 2, 72, 0, 6);
    bf16_blocks(2, 1, 176, 0, 0);
}

Test(rglru_blocks, dc_in_place)
{
    enum { R = 70, G = 2, M = 40, N = R * G * M };
    static float v[N], w[G * M * M], apart[N], placed[N];
    size_t bytes = block_linear_backward_workspace_f32(R, G, M);
    fill(v, N), fill(w, G * M * M);
    float *v_ = device(v, sizeof v, 0), *w_ = device(w, sizeof w, 0);
    float *dc_ = device(NULL, sizeof v, 0), *in_ = device(v, sizeof v, 0);
    float *dw_ = device(w, sizeof w, 0), *db_ = device(w, 4 * G * M, 0);
    float *space = device(NULL, bytes, 0);
    for (int place = 0; place < 2; place++) {
        float *dc = place ? in_ : dc_;
        cr_assert(
            block_linear_backward_f32(
                dc, dw_, db_, dw_, db_, in_, v_, v_, v_, w_, w_, R, G, M, space, bytes,
                NULL) == WB_OK);
        back(place ? placed : apart, dc, sizeof v);
    }
    cr_expect_arr_eq(apart, placed, sizeof apart, "dc in place of dc_in differs");
    float *all[] = {v_, w_, dc_, in_, dw_, db_, space};
    for (int i = 0; i < 7; i++)
        release(all[i], 0);
}

/* --- the ring ----------------------------------------------------------------------- */

/* A row of T tokens in calls of `step` tokens, through a ring that is NaN at first, gives
 * the bits of one call without a ring. */
static void ring_case(int T, int C, int width, int step, size_t skew)
{
    size_t n = (size_t)T * C;
    float *x = malloc(4 * n), *w = malloc(4 * C * width), *whole = malloc(4 * n);
    float *parts = malloc(4 * n);
    int *pos = malloc(sizeof *pos * T);
    fill(x, n), fill(w, (size_t)C * width);
    for (int t = 0; t < T; t++)
        pos[t] = t < T / 3 ? t : t - T / 3; /* two documents */
    float *x_ = device(x, 4 * n, skew), *w_ = device(w, 4 * C * width, skew);
    float *out_ = device(NULL, 4 * n, skew);
    float *ring_ = device(NULL, 4 * (size_t)C * width, skew); /* all bits set: NaN */
    int *pos_ = device(pos, sizeof *pos * T, 0);
    cr_assert(
        conv1d_forward_f32(out_, NULL, x_, w_, w_, pos_, NULL, 1, T, C, width, C, NULL) ==
        WB_OK);
    back(whole, out_, 4 * n);
    for (int t = 0; t < T; t += step) {
        int here = t + step < T ? step : T - t;
        float *xt = x_ + (size_t)t * C, *out = out_ + (size_t)t * C;
        cr_assert(
            conv1d_forward_f32(
                out, ring_, xt, w_, w_, pos_ + t, NULL, 1, here, C, width, C, NULL) ==
            WB_OK);
    }
    back(parts, out_, 4 * n);
    cr_expect_arr_eq(whole, parts, 4 * n, "T %d width %d step %d", T, width, step);
    release(x_, skew), release(w_, skew), release(out_, skew), release(ring_, skew);
    release(pos_, 0);
    free(x), free(w), free(whole), free(parts), free(pos);
}

Test(rglru_ring, any_division_of_a_row_gives_the_same_bits)
{
    for (int width = 2; width <= 8; width++)
        for (int step = 1; step <= 9; step += 2)
            ring_case(31, 12, width, step, width % 2 * 4);
    ring_case(200, 5, 4, 70, 0);
}

Test(rglru_ring, padding_and_rows_without_tokens_leave_it_alone)
{
    enum { B = 2, T = 6, C = 8, WIDTH = 4 };
    static float x[B * T * C], ring[B * WIDTH * C], after[B * WIDTH * C];
    static const int len[B] = {0, 1};
    static const int pos[B * T] = {0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0};
    fill(x, B * T * C), fill(ring, B * WIDTH * C);
    float *x_ = device(x, sizeof x, 0), *ring_ = device(ring, sizeof ring, 0);
    float *out_ = device(NULL, sizeof x, 0);
    int *len_ = device(len, sizeof len, 0), *pos_ = device(pos, sizeof pos, 0);
    cr_assert(
        conv1d_forward_f32(
            out_, ring_, x_, x_, x_, pos_, len_, B, T, C, WIDTH, C, NULL) == WB_OK);
    back(after, ring_, sizeof ring);
    memcpy(
        ring + (WIDTH + 5 % WIDTH) * C, x + T * C, C * sizeof *x); /* token 0 of row 1 */
    cr_expect_arr_eq(ring, after, sizeof ring);
    release(x_, 0), release(ring_, 0), release(out_, 0), release(len_, 0),
        release(pos_, 0);
}

/* --- gates -------------------------------------------------------------------------- */

Test(rglru_gates, no_positions_are_those_of_one_document)
{
    enum { B = 2, T = 7, C = 12, N = B * T * C };
    static float v[N], given[2][N], counted[2][N];
    static int pos[B * T];
    for (int i = 0; i < B * T; i++)
        pos[i] = i % T;
    fill(v, N);
    float *v_ = device(v, sizeof v, 0), *a_ = device(NULL, sizeof v, 0);
    float *z_ = device(NULL, sizeof v, 0);
    int *pos_ = device(pos, sizeof pos, 0);
    for (int i = 0; i < 2; i++) {
        cr_assert(
            rglru_gates_forward_f32(
                a_, z_, v_, v_, v_, v_, i ? pos_ : NULL, B, T, C, NULL) == WB_OK);
        back(i ? given[0] : counted[0], a_, sizeof v);
        back(i ? given[1] : counted[1], z_, sizeof v);
    }
    cr_expect_arr_eq(given, counted, sizeof given);
    cr_expect(given[0][0] == 0.0f && given[0][T * C] == 0.0f, "a row starts a document");
    release(v_, 0), release(a_, 0), release(z_, 0), release(pos_, 0);
}
