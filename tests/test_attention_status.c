/* test_attention_status.c - what the contract of lab 05 promises beyond the graded cases:
 * statuses, empty inputs, workspace.
 */
// links: solutions/lab05_attention.o
#include "attention_problem.h"

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
