/* test_attention.c - what the contract of lab 05 promises beyond the graded cases:
 * statuses, empty inputs, workspace, every head dim, odd lengths, windows, bits that
 * repeat.
 */
// links: solutions/lab05_attention.o
#include "device.h"

#include <stdio.h>
#include <stdlib.h>

#include "attention.h"

/* One call: sizes, and tensors of `width` bytes an element on the device. */
struct problem {
    int B, T, S, H, K, D, window;
    float scale;
    size_t width;
    float *q, *k, *v, *dout;    /* host, exact in bf16 too */
    char *q_, *k_, *v_, *dout_; /* device */
    char *out_, *dq_, *dk_, *dv_;
    float *lse_;
    int *pos_;
    void *work_;
    size_t work;
};

static size_t rows_of_q(const struct problem *p)
{
    return (size_t)p->B * p->T * p->H;
}
static size_t q_size(const struct problem *p)
{
    return rows_of_q(p) * p->D;
}
static size_t kv_size(const struct problem *p)
{
    return (size_t)p->B * p->S * p->K * p->D;
}

static float *numbers(size_t n)
{
    float *x = malloc(n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = from_bf16(to_bf16(noise()));
    return x;
}

static char *upload(const struct problem *p, const float *x, size_t n)
{
    uint16_t *half = malloc(2 * n + 1);
    for (size_t i = 0; i < n; i++)
        half[i] = to_bf16(x[i]);
    char *to = device(p->width == 4 ? (const void *)x : half, n * p->width, 0);
    free(half);
    return to;
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

static struct problem
make(size_t width, int B, int T, int S, int H, int K, int D, int window)
{
    struct problem p = {B, T, S, H, K, D, window, 1 / sqrtf((float)D), .width = width};
    size_t nq = q_size(&p), nkv = kv_size(&p);
    p.q = numbers(nq), p.k = numbers(nkv), p.v = numbers(nkv), p.dout = numbers(nq);
    p.q_ = upload(&p, p.q, nq), p.dout_ = upload(&p, p.dout, nq);
    p.k_ = upload(&p, p.k, nkv), p.v_ = upload(&p, p.v, nkv);
    p.out_ = device(NULL, nq * width, 0), p.dq_ = device(NULL, nq * width, 0);
    p.dk_ = device(NULL, nkv * width, 0), p.dv_ = device(NULL, nkv * width, 0);
    p.lse_ = device(NULL, 4 * rows_of_q(&p), 0);
    size_t forward = width == 4 ? attention_forward_workspace_f32(B, T, S, H, K, D)
                                : attention_forward_workspace_bf16(B, T, S, H, K, D);
    p.work = width == 4 ? attention_backward_workspace_f32(B, T, S, H, K, D)
                        : attention_backward_workspace_bf16(B, T, S, H, K, D);
    p.work = forward > p.work ? forward : p.work;
    p.work_ = device(NULL, p.work, 0);
    return p;
}

static void drop(struct problem *p)
{
    void *on_device[] = {p->q_,  p->k_,  p->v_,  p->dout_, p->out_,
                         p->dq_, p->dk_, p->dv_, p->lse_,  p->work_};
    for (size_t i = 0; i < sizeof on_device / sizeof *on_device; i++)
        release(on_device[i], 0);
    if (p->pos_) release(p->pos_, 0);
    free(p->q), free(p->k), free(p->v), free(p->dout);
}

static wb_status forward(const struct problem *p)
{
    int ldq = p->H * p->D, ldkv = p->K * p->D;
    if (p->width == 4)
        return attention_forward_f32(
            (float *)p->out_, p->lse_, (float *)p->q_, (float *)p->k_, (float *)p->v_,
            p->pos_, p->B, p->T, p->S, p->H, p->K, p->D, ldq, ldkv, p->window, p->scale,
            p->work_, p->work, NULL);
    return attention_forward_bf16(
        (wb_bf16 *)p->out_, p->lse_, (wb_bf16 *)p->q_, (wb_bf16 *)p->k_, (wb_bf16 *)p->v_,
        p->pos_, p->B, p->T, p->S, p->H, p->K, p->D, ldq, ldkv, p->window, p->scale,
        p->work_, p->work, NULL);
}

static wb_status backward(const struct problem *p)
{
    int ldq = p->H * p->D, ldkv = p->K * p->D;
    if (p->width == 4)
        return attention_backward_f32(
            (float *)p->dq_, (float *)p->dk_, (float *)p->dv_, (float *)p->dout_,
            (float *)p->q_, (float *)p->k_, (float *)p->v_, (float *)p->out_, p->lse_,
            p->pos_, p->B, p->T, p->S, p->H, p->K, p->D, ldq, ldkv, p->window, p->scale,
            p->work_, p->work, NULL);
    return attention_backward_bf16(
        (wb_bf16 *)p->dq_, (wb_bf16 *)p->dk_, (wb_bf16 *)p->dv_, (wb_bf16 *)p->dout_,
        (wb_bf16 *)p->q_, (wb_bf16 *)p->k_, (wb_bf16 *)p->v_, (wb_bf16 *)p->out_, p->lse_,
        p->pos_, p->B, p->T, p->S, p->H, p->K, p->D, ldq, ldkv, p->window, p->scale,
        p->work_, p->work, NULL);
}

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

/* --- statuses ----------------------------------------------------------------------- */

/* Forward and backward of a problem with a changed member must agree. */
static wb_status both(const struct problem *p)
{
    wb_status one = forward(p), other = backward(p);
    cr_expect(one == other, "%s and %s", wb_status_name(one), wb_status_name(other));
    return one;
}

#define TAMPERED(width, member, value)                                                   \
    ({                                                                                   \
        struct problem p_ = make(width, 1, 4, 6, 2, 2, 32, WB_ALL);                      \
        struct problem kept_ = p_;                                                       \
        p_.member = value;                                                               \
        wb_status s_ = both(&p_);                                                        \
        drop(&kept_);                                                                    \
        s_;                                                                              \
    })

Test(attention_status, head_dims_beyond_the_limits)
{
    static const int dims[] = {0, 8, 15, 20, 31, 33, 255, 257, 264, 512};
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++) {
        cr_expect(TAMPERED(4, D, dims[i]) == WB_UNSUPPORTED, "D = %d", dims[i]);
        cr_expect(TAMPERED(2, D, dims[i]) == WB_UNSUPPORTED, "bf16, D = %d", dims[i]);
    }
}

Test(attention_status, bad_shapes)
{
    for (size_t width = 4; width >= 2; width -= 2) {
        cr_expect(TAMPERED(width, B, -1) == WB_BAD_SHAPE);
        cr_expect(TAMPERED(width, T, -1) == WB_BAD_SHAPE);
        cr_expect(TAMPERED(width, S, 3) == WB_BAD_SHAPE, "S < T");
        cr_expect(TAMPERED(width, K, 0) == WB_BAD_SHAPE);
        cr_expect(TAMPERED(width, K, 3) == WB_BAD_SHAPE, "K does not divide H");
        cr_expect(TAMPERED(width, K, 4) == WB_BAD_SHAPE, "K > H");
        cr_expect(TAMPERED(width, window, -1) == WB_BAD_SHAPE);
        cr_expect(TAMPERED(width, q_, NULL) == WB_BAD_SHAPE);
        cr_expect(TAMPERED(width, k_, NULL) == WB_BAD_SHAPE);
        cr_expect(TAMPERED(width, v_, NULL) == WB_BAD_SHAPE);
        cr_expect(TAMPERED(width, out_, NULL) == WB_BAD_SHAPE);
    }
    struct problem p = make(4, 1, 4, 6, 2, 2, 32, WB_ALL), kept = p;
    cr_assert(forward(&p) == WB_OK);
    p.lse_ = NULL;
    cr_expect(forward(&p) == WB_OK, "lse is optional forward");
    cr_expect(backward(&p) == WB_BAD_SHAPE, "and needed backward");
    p = kept, p.dk_ = NULL;
    cr_expect(backward(&p) == WB_BAD_SHAPE);
    drop(&kept);
}

/* Refused before anything is launched: these sizes need more memory than any device has. */
Test(attention_status, grids_beyond_int_max)
{
    struct problem p = make(4, 1, 4, 4, 4, 1, 16, WB_ALL);
    p.work = SIZE_MAX;
    p.B = 1 << 30; /* times H: 2^32 blocks */
    cr_expect(forward(&p) == WB_BAD_SHAPE);
    cr_expect(backward(&p) == WB_BAD_SHAPE);
    p.width = 2, p.B = 1, p.T = p.S = 1 << 29; /* times H / K: 2^31 rows of a sequence */
    cr_expect(forward(&p) == WB_BAD_SHAPE);
    cr_expect(backward(&p) == WB_BAD_SHAPE);
    p.T = p.S = 4, drop(&p);
}

Test(attention_status, strides)
{
    struct problem p = make(4, 1, 4, 6, 2, 2, 32, WB_ALL);
    float *x[] = {(float *)p.out_, (float *)p.q_, (float *)p.k_, (float *)p.v_};
    static const struct {
        int ldq, ldkv;
        wb_status want;
    } tries[] = {
        {63, 64, WB_BAD_SHAPE}, {64, 60, WB_BAD_SHAPE}, {65, 64, WB_BAD_ALIGN},
        {64, 66, WB_BAD_ALIGN}, {64, 64, WB_OK},
    };
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++)
        cr_expect(
            attention_forward_f32(
                x[0], NULL, x[1], x[2], x[3], NULL, 1, 4, 6, 2, 2, 32, tries[i].ldq,
                tries[i].ldkv, WB_ALL, 1.0f, p.work_, p.work, NULL) == tries[i].want,
            "ldq %d, ldkv %d", tries[i].ldq, tries[i].ldkv);
    wb_bf16 *y[] = {(wb_bf16 *)p.out_, (wb_bf16 *)p.q_, (wb_bf16 *)p.k_, (wb_bf16 *)p.v_};
    cr_expect(
        attention_forward_bf16(
            y[0], NULL, y[1], y[2], y[3], NULL, 1, 2, 3, 2, 2, 32, 68, 64, WB_ALL, 1.0f,
            p.work_, p.work, NULL) == WB_BAD_ALIGN,
        "68 bf16 are not a multiple of 16 bytes");
    drop(&p);
}

Test(attention_status, tensors_off_16_bytes)
{
    for (size_t width = 4; width >= 2; width -= 2) {
        struct problem p = make(width, 1, 4, 6, 2, 2, 32, WB_ALL), kept = p;
        p.q_ += 4;
        cr_expect(both(&p) == WB_BAD_ALIGN);
        p = kept, p.v_ += 8;
        cr_expect(both(&p) == WB_BAD_ALIGN);
        p = kept, p.out_ += 2;
        cr_expect(both(&p) == WB_BAD_ALIGN);
        p = kept, p.dk_ += 4;
        cr_expect(backward(&p) == WB_BAD_ALIGN);
        drop(&kept);
    }
}

Test(attention_status, nothing_to_do)
{
    for (size_t width = 4; width >= 2; width -= 2) {
        cr_expect(TAMPERED(width, B, 0) == WB_OK);
        cr_expect(TAMPERED(width, T, 0) == WB_OK);
        cr_expect(TAMPERED(width, H, 0) == WB_OK);
    }
    cr_expect(
        attention_forward_f32(
            NULL, NULL, NULL, NULL, NULL, NULL, 0, 4, 4, 2, 2, 32, 64, 64, WB_ALL, 1.0f,
            NULL, 0, NULL) == WB_OK,
        "with B = 0 pointers may be NULL");
}

Test(attention_status, too_little_workspace)
{
    for (size_t width = 4; width >= 2; width -= 2) {
        struct problem p = make(width, 1, 4, 6, 2, 2, 32, WB_ALL), kept = p;
        cr_assert(forward(&p) == WB_OK);
        cr_assert(p.work > 0);
        p.work = kept.work - 1;
        cr_expect(backward(&p) == WB_NO_SPACE);
        p = kept, p.work_ = NULL;
        cr_expect(backward(&p) == WB_NO_SPACE);
        drop(&kept);
    }
}

Test(attention_status, workspace_never_falls_and_has_no_scores)
{
    size_t before = 0;
    for (int T = 1; T <= 4096; T *= 2) {
        size_t f = attention_forward_workspace_f32(2, T, T, 4, 2, 64);
        size_t now = attention_backward_workspace_f32(2, T, T, 4, 2, 64);
        cr_expect(now >= before);
        cr_expect(attention_backward_workspace_bf16(2, T, T, 4, 2, 64) >= before);
        cr_expect(f <= (size_t)2 * 4 * T * 64 * 4 && now <= (size_t)2 * 4 * T * 64 * 4);
        before = now;
    }
}

/* With few queries and many keys, several blocks share the keys of a row. */
Test(attention_status, workspace_of_shared_keys_never_falls)
{
    static const int sizes[] = {1, 2, 3, 7, 16, 63, 64, 65, 128, 129, 300, 511, 512};
    int n = sizeof sizes / sizeof *sizes;
    for (int S = 512; S <= 32768; S *= 2) {
        size_t row = 0, rows = 0;
        for (int i = 0; i < n; i++) {
            size_t B = attention_forward_workspace_f16(sizes[i], 1, S, 4, 2, 64);
            size_t T = attention_forward_workspace_bf16(1, sizes[i], S, 4, 2, 64);
            cr_expect(B >= row && T >= rows);
            cr_expect(attention_forward_workspace_f16(sizes[i], 1, 2 * S, 4, 2, 64) >= B);
            row = B, rows = T;
        }
    }
}
