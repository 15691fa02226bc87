/* attention_problem.h - for Criterion tests of lab 05: one call, with its tensors. */
#ifndef ATTENTION_PROBLEM_H
#define ATTENTION_PROBLEM_H
#include "device.h"

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

WB_INLINE size_t rows_of_q(const struct problem *p)
{
    return (size_t)p->B * p->T * p->H;
}

WB_INLINE size_t q_size(const struct problem *p)
{
    return rows_of_q(p) * p->D;
}

WB_INLINE size_t kv_size(const struct problem *p)
{
    return (size_t)p->B * p->S * p->K * p->D;
}

WB_INLINE float *numbers(size_t n)
{
    float *x = malloc(n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = from_bf16(to_bf16(noise()));
    return x;
}

WB_INLINE char *upload(const struct problem *p, const float *x, size_t n)
{
    uint16_t *half = calloc(n + 1, sizeof *half);
    for (size_t i = 0; i < n; i++)
        half[i] = to_bf16(x[i]);
    char *to = device(p->width == 4 ? (const void *)x : half, n * p->width, 0);
    free(half);
    return to;
}

WB_INLINE struct problem
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

WB_INLINE void drop(struct problem *p)
{
    void *on_device[] = {p->q_,  p->k_,  p->v_,  p->dout_, p->out_,
                         p->dq_, p->dk_, p->dv_, p->lse_,  p->work_};
    for (size_t i = 0; i < sizeof on_device / sizeof *on_device; i++)
        release(on_device[i], 0);
    if (p->pos_) release(p->pos_, 0);
    free(p->q), free(p->k), free(p->v), free(p->dout);
}

WB_INLINE wb_status forward(const struct problem *p)
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

WB_INLINE wb_status backward(const struct problem *p)
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

#endif
