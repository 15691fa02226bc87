/* test_attention.c - what the contract of lab 05 promises beyond the graded cases: every
 * head dim, odd lengths, windows, bits that repeat. test_attention_status.c: statuses.
 */
// links: solutions/lab05_attention.o
#include "attention_problem.h"

#include <stdio.h>

/* --- against double ----------------------------------------------------------------- */

struct truth {
    double *out, *lse, *dq, *dk, *dv;
};

static double dot(const float *x, const float *y, int D)
{
    double sum = 0;
    for (int d = 0; d < D; d++)
        sum += (double)x[d] * y[d];
    return sum;
}

/* Row (b,t,h) of everything. w: scratch for S weights */
static void
true_row(struct truth *y, const struct problem *p, int b, int t, int h, double *w)
{
    int D = p->D, g = h / (p->H / p->K), i = p->S - p->T + t;
    int first = p->window < i ? i - p->window : 0;
    size_t at = (((size_t)b * p->T + t) * p->H + h) * D, step = (size_t)p->K * D;
    size_t kv = ((size_t)b * p->S * p->K + g) * D;
    double sum = 0, delta = 0;
    for (int j = first; j <= i; j++)
        sum += w[j] = exp(p->scale * dot(p->q + at, p->k + kv + j * step, D));
    y->lse[((size_t)b * p->H + h) * p->T + t] = log(sum);
    for (int j = first; j <= i; j++)
        for (int d = 0; d < D; d++)
            y->out[at + d] += w[j] / sum * p->v[kv + j * step + d];
    for (int d = 0; d < D; d++)
        delta += y->out[at + d] * p->dout[at + d];
    for (int j = first; j <= i; j++) {
        double a = w[j] / sum;
        double ds = p->scale * a * (dot(p->dout + at, p->v + kv + j * step, D) - delta);
        for (int d = 0; d < D; d++) {
            size_t jd = kv + j * step + d;
            y->dq[at + d] += ds * p->k[jd];
            y->dk[jd] += ds * p->q[at + d];
            y->dv[jd] += a * p->dout[at + d];
        }
    }
}

static struct truth truth_of(const struct problem *p)
{
    struct truth y = {
        calloc(q_size(p), 8), calloc(rows_of_q(p), 8), calloc(q_size(p), 8),
        calloc(kv_size(p), 8), calloc(kv_size(p), 8)};
    double *w = malloc(8 * (size_t)p->S);
    for (int b = 0; b < p->B; b++)
        for (int h = 0; h < p->H; h++)
            for (int t = 0; t < p->T; t++)
                true_row(&y, p, b, t, h, w);
    free(w);
    return y;
}

static void download(const struct problem *p, float *x, const char *from, size_t n)
{
    if (p->width == 4) {
        back(x, from, 4 * n);
        return;
    }
    uint16_t *half = malloc(2 * n);
    back(half, from, 2 * n);
    for (size_t i = 0; i < n; i++)
        x[i] = from_bf16(half[i]);
    free(half);
}

static void compare(
    const struct problem *p, const char *from, const double *want, size_t n,
    const char *what)
{
    float *got = malloc(4 * n);
    download(p, got, from, n);
    close_to(got, want, n, p->width == 4 ? 1e-5 : 3e-2, what);
    free(got);
}

/* Forward and backward against double. A failure prints the sizes. */
static void check_scaled(
    size_t width, int B, int T, int S, int H, int K, int D, int window, float scale)
{
    char what[128];
    struct problem p = make(width, B, T, S, H, K, D, window);
    p.scale = scale;
    struct truth y = truth_of(&p);
    cr_assert(forward(&p) == WB_OK && backward(&p) == WB_OK);
    snprintf(
        what, sizeof what, "(%zu bytes, B %d T %d S %d H %d K %d D %d window %d)", width,
        B, T, S, H, K, D, window);
    compare(&p, p.out_, y.out, q_size(&p), what);
    compare(&p, p.dq_, y.dq, q_size(&p), what);
    compare(&p, p.dk_, y.dk, kv_size(&p), what);
    compare(&p, p.dv_, y.dv, kv_size(&p), what);
    float *lse = malloc(4 * rows_of_q(&p));
    back(lse, p.lse_, 4 * rows_of_q(&p));
    close_to(lse, y.lse, rows_of_q(&p), 1e-5, "lse");
    free(lse), free(y.out), free(y.lse), free(y.dq), free(y.dk), free(y.dv);
    drop(&p);
}

static void check(size_t width, int B, int T, int S, int H, int K, int D, int window)
{
    check_scaled(width, B, T, S, H, K, D, window, 1 / sqrtf((float)D));
}

Test(attention, every_head_dim)
{
    for (int D = 16; D <= 256; D += 8)
        check(4, 1, 5, 7, 2, 1, D, WB_ALL);
}

Test(attention, every_head_dim_in_bf16)
{
    for (int D = 16; D <= 256; D += 24)
        check(2, 1, 5, 7, 2, 1, D, WB_ALL);
    check(2, 1, 5, 7, 2, 1, 256, WB_ALL);
}

Test(attention, odd_lengths)
{
    static const int lengths[] = {1, 2, 15, 31, 33, 63, 64, 65, 129};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        check(4, 1, lengths[i], lengths[i], 2, 2, 16, WB_ALL);
        check(4, 2, lengths[i], lengths[i] + 35, 2, 1, 16, WB_ALL);
    }
    check(2, 1, 63, 64, 2, 1, 32, WB_ALL);
    check(2, 1, 65, 130, 1, 1, 32, WB_ALL);
}

Test(attention, windows)
{
    static const int windows[] = {0, 1, 15, 16, 31, 63, 64, 99, 1000, WB_ALL - 1};
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++)
        check(4, 1, 90, 131, 2, 1, 16, windows[i]);
    check(2, 1, 90, 131, 1, 1, 16, 0);
    check(2, 1, 90, 131, 1, 1, 16, 40);
}

Test(attention, groups_of_every_size)
{
    for (int K = 1; K <= 12; K++)
        if (12 % K == 0) check(4, 1, 19, 23, 12, K, 24, 9);
    check(2, 1, 19, 23, 6, 3, 24, 9);
}

Test(attention, scales_that_are_not_positive)
{
    for (size_t width = 4; width >= 2; width -= 2) {
        check_scaled(width, 1, 40, 75, 2, 1, 24, 50, -0.3f);
        check_scaled(width, 1, 40, 75, 2, 1, 24, 50, 0.0f);
    }
}

/* With few rows a kernel may share their keys between blocks. */
Test(attention, few_rows_of_many_keys)
{
    check(2, 1, 3, 1100, 4, 1, 64, WB_ALL);
    check(2, 1, 5, 1700, 5, 1, 136, 1300);
    check(2, 2, 1, 1030, 2, 2, 24, 40);
    struct problem p = make(2, 1, 3, 1100, 4, 1, 64, WB_ALL);
    p.work = attention_forward_workspace_bf16(1, 3, 1100, 4, 1, 64);
    cr_assert(forward(&p) == WB_OK);
    if (p.work > 0) {
        p.work--;
        cr_expect(forward(&p) == WB_NO_SPACE);
    }
    drop(&p);
}

/* --- bits --------------------------------------------------------------------------- */

/* all five outputs, concatenated */
static char *outputs(const struct problem *p)
{
    size_t nq = q_size(p) * p->width, nkv = kv_size(p) * p->width, at = 0;
    size_t sizes[] = {nq, nq, nkv, nkv, 4 * rows_of_q(p)};
    const void *from[] = {p->out_, p->dq_, p->dk_, p->dv_, p->lse_};
    char *y = malloc(2 * nq + 2 * nkv + 4 * rows_of_q(p));
    cr_assert(forward(p) == WB_OK && backward(p) == WB_OK);
    for (int i = 0; i < 5; at += sizes[i++])
        back(y + at, from[i], sizes[i]);
    return y;
}

static bool same(const struct problem *p, const char *a, const char *b)
{
    return !memcmp(a, b, 2 * p->width * (q_size(p) + kv_size(p)) + 4 * rows_of_q(p));
}

Test(attention, bits_repeat_and_wide_windows_are_none)
{
    for (size_t width = 4; width >= 2; width -= 2) {
        struct problem p = make(width, 1, 70, 90, 4, 2, 32, WB_ALL);
        char *first = outputs(&p), *again = outputs(&p);
        cr_expect(same(&p, first, again), "%zu bytes: two calls differ", width);
        free(again);
        p.window = 89;
        again = outputs(&p);
        cr_expect(
            same(&p, first, again), "%zu bytes: a window of all keys changes the bits",
            width);
        free(again);
        int pos[70];
        for (int t = 0; t < 70; t++)
            pos[t] = 20 + t;
        p.pos_ = device(pos, sizeof pos, 0);
        p.window = WB_ALL;
        again = outputs(&p);
        cr_expect(
            same(&p, first, again), "%zu bytes: pos of one document changes the bits",
            width);
        free(first), free(again);
        drop(&p);
    }
}
