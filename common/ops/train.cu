/* train.cu - what happens around a step: schedule, loss scale, AdamW.
 *
 * Everything that changes from step to step is read from wb_train in device memory, so a
 * captured graph of the step can be replayed.
 */
#include "elements.cuh"
#include "ops.h"

/* --- the step's state: one thread --------------------------------------------------- */

static __device__ float learning_rate(wb_schedule c, uint32_t step)
{
    if (step < (uint32_t)c.warmup)
        return (float)((double)c.max_lr * (step + 1) / c.warmup);
    double way = 1;  // from max_lr (0) to min_lr (1)
    if (step < (uint32_t)c.steps && c.steps > c.warmup)
        way = (double)(step - (uint32_t)c.warmup) / (c.steps - c.warmup);
    double drop = (double)c.max_lr - c.min_lr;
    if (c.kind == WB_SCHEDULE_LINEAR) return (float)(c.max_lr - drop * way);
    if (c.kind == WB_SCHEDULE_COSINE)
        return (float)(c.min_lr + 0.5 * drop * (1 + cos(3.14159265358979323846 * way)));
    return c.max_lr;
}

static __global__ void
begin_kernel(wb_train *st, wb_schedule schedule, int tokens, int first)
{
    st->tick += 1;
    if (!first) return;
    st->lr = learning_rate(schedule, st->step);
    st->grad_scale = st->loss_scale / (float)tokens;
    st->loss = 0.0f;
}

wb_status
train_begin(wb_train *st, wb_schedule schedule, int tokens, int first, cudaStream_t s)
{
    bool known = (unsigned)schedule.kind < WB_SCHEDULES;
    if (st == NULL || !known || schedule.warmup < 0 || tokens < 1) return WB_BAD_SHAPE;
    begin_kernel<<<1, 1, 0, s>>>(st, schedule, tokens, first);
    return wb_launched();
}

static __global__ void end_kernel(wb_train *st, int growth)
{
    st->step += 1;
    if (!isfinite(st->grad_norm)) {
        st->loss_scale *= 0.5f;
        st->good = 0;
        return;
    }
    st->updates += 1;
    st->good += 1;
    if (growth > 0 && st->good >= (uint32_t)growth) {
        st->loss_scale *= 2.0f;
        st->good = 0;
    }
}

wb_status train_end(wb_train *st, int growth, cudaStream_t s)
{
    if (st == NULL || growth < 0) return WB_BAD_SHAPE;
    end_kernel<<<1, 1, 0, s>>>(st, growth);
    return wb_launched();
}

/* --- AdamW -------------------------------------------------------------------------- */

enum { ADAM_PACKS = 2 };  // of 4 elements, each from four or five tensors

struct adamw {
    float b1, b2, eps, decay, clip;
};

/* b^n in double: 1 - b^n cancels most digits while n is small */
static __device__ double power(double b, uint32_t n)
{
    double result = 1;
    for (; n; n >>= 1, b *= b)
        if (n & 1) result *= b;
    return result;
}

template <typename E, int V>
static __global__ void adamw_kernel(
    E *param, float *master, float *m, float *v, float *grad, const wb_train *st,
    size_t N, adamw a)
{
    float norm = st->grad_norm, lr = st->lr;
    bool skip = !isfinite(norm);
    float factor = (a.clip > 0 && norm > a.clip ? a.clip / norm : 1.0f) / st->loss_scale;
    float of_m = (float)(1 / (1 - power(a.b1, st->updates + 1)));  // bias corrections
    float of_v = (float)(1 / (1 - power(a.b2, st->updates + 1)));
    size_t first = first_element<V, ADAM_PACKS>();
#pragma unroll
    for (int p = 0; p < ADAM_PACKS; p++) {
        size_t i = first + (size_t)p * BLOCK * V;
        if (i >= N) break;
        size_t left = N - i;
        float w[V], mi[V], vi[V], g[V], zero[V] = {};
        if (!skip) {
            load<V>(g, grad + i, left);
            load<V>(mi, m + i, left);
            load<V>(vi, v + i, left);
            if (master)
                load<V>(w, master + i, left);
            else
                load<V>(w, param + i, left);
#pragma unroll
            for (int j = 0; j < V; j++) {
                float gj = g[j] * factor;
                mi[j] = a.b1 * mi[j] + (1 - a.b1) * gj;
                vi[j] = a.b2 * vi[j] + (1 - a.b2) * gj * gj;
                float step = mi[j] * of_m / (sqrtf(vi[j] * of_v) + a.eps);
                w[j] -= lr * (step + a.decay * w[j]);
            }
            store<V>(m + i, mi, left);
            store<V>(v + i, vi, left);
            store<V>(param + i, w, left);
            if (master) store<V>(master + i, w, left);
        }
        store<V>(grad + i, zero, left);
    }
}

template <typename E>
static wb_status adamw_step(
    E *param, float *master, float *m, float *v, float *grad, const wb_train *st,
    size_t N, adamw a, cudaStream_t s)
{
    bool decays = a.b1 >= 0 && a.b1 < 1 && a.b2 >= 0 && a.b2 < 1;
    if (!decays || !(a.eps >= 0) || !(a.clip >= 0)) return WB_BAD_SHAPE;
    if (N == 0) return WB_OK;
    if (param == NULL || m == NULL || v == NULL || grad == NULL || st == NULL)
        return WB_BAD_SHAPE;
    if (master == NULL && sizeof(E) != sizeof(float)) return WB_BAD_SHAPE;
    const int V = 4;
    if (on_packs<V>(param) && on_packs<V>(master) && on_packs<V>(m) && on_packs<V>(v) &&
        on_packs<V>(grad))
        adamw_kernel<E, V><<<blocks_for(N, ADAM_PACKS * V), BLOCK, 0, s>>>(
            param, master, m, v, grad, st, N, a);
    else
        adamw_kernel<E, 1><<<blocks_for(N, ADAM_PACKS), BLOCK, 0, s>>>(
            param, master, m, v, grad, st, N, a);
    return wb_launched();
}

#define DEFINE(E, e)                                                                     \
    wb_status adamw_step_##e(                                                            \
        E *param, float *master, float *m, float *v, float *grad, const wb_train *st,    \
        size_t N, float b1, float b2, float eps, float decay, float clip,                \
        cudaStream_t stream)                                                             \
    {                                                                                    \
        adamw a = {b1, b2, eps, decay, clip};                                            \
        return adamw_step(param, master, m, v, grad, st, N, a, stream);                  \
    }
DEFINE(float, f32)
DEFINE(wb_f16, f16)
DEFINE(wb_bf16, bf16)
