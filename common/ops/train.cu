/* train.cu - around the forward and backward pass: schedule, loss scale, AdamW.
 *
 * Everything that changes from step to step is read from wb_train in device memory, so
 * the captured graph of a step can be replayed.
 */
#include "elements.cuh"
#include "ops.h"

/* --- the state of a step: one thread ------------------------------------------------ */

static __device__ float learning_rate(wb_schedule c, uint32_t step)
{
    if (step < (uint32_t)c.warmup)
        return (float)((double)c.max_lr * (step + 1) / c.warmup);
    double progress = 1;  // from max_lr (0) to min_lr (1)
    if (step < (uint32_t)c.steps && c.steps > c.warmup)
        progress = (double)(step - (uint32_t)c.warmup) / (c.steps - c.warmup);
    double drop = (double)c.max_lr - c.min_lr;
    if (c.kind == WB_SCHEDULE_LINEAR) return (float)(c.max_lr - drop * progress);
    if (c.kind == WB_SCHEDULE_COSINE)
        return (
            float)(c.min_lr + 0.5 * drop * (1 + cos(3.14159265358979323846 * progress)));
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
    if (!st || !known || schedule.warmup < 0 || tokens < 1) return WB_BAD_SHAPE;
    begin_kernel<<<1, 1, 0, s>>>(st, schedule, tokens, first);
    return wb_launched();
}

static __global__ void end_kernel(wb_train *st, int growth_interval)
{
    st->step += 1;
    if (!isfinite(st->grad_norm)) {
        st->loss_scale *= 0.5f;
        st->good = 0;
        return;
    }
    st->updates += 1;
    st->good += 1;
    if (growth_interval > 0 && st->good >= (uint32_t)growth_interval) {
        st->loss_scale *= 2.0f;
        st->good = 0;
    }
}

wb_status train_end(wb_train *st, int growth_interval, cudaStream_t s)
{
    if (!st || growth_interval < 0) return WB_BAD_SHAPE;
    end_kernel<<<1, 1, 0, s>>>(st, growth_interval);
    return wb_launched();
}

/* --- AdamW -------------------------------------------------------------------------- */

enum { ADAM_VECS = 2 };  // per thread, of 4 elements, each from four or five tensors

struct adamw {
    float b1, b2, eps, decay, clip;
};

/* b^n in double: 1 - b^n loses most of its digits while n is small */
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
    size_t first = first_element<V, ADAM_VECS>();
#pragma unroll
    for (int p = 0; p < ADAM_VECS; p++) {
        size_t i = first + (size_t)p * BLOCK_SIZE * V;
        if (i >= N) break;
        size_t left = N - i;
        float w[V], mi[V], vi[V], g[V], zero[V] = {};
        if (!skip) {
            load_float<V>(g, grad + i, left);
            load_float<V>(mi, m + i, left);
            load_float<V>(vi, v + i, left);
            if (master)
                load_float<V>(w, master + i, left);
            else
                load_float<V>(w, param + i, left);
#pragma unroll
            for (int j = 0; j < V; j++) {
                float gj = g[j] * factor;
                mi[j] = a.b1 * mi[j] + (1 - a.b1) * gj;
                vi[j] = a.b2 * vi[j] + (1 - a.b2) * gj * gj;
                float step = mi[j] * of_m / (sqrtf(vi[j] * of_v) + a.eps);
                w[j] -= lr * (step + a.decay * w[j]);
            }
            store_float<V>(m + i, mi, left);
            store_float<V>(v + i, vi, left);
            store_float<V>(param + i, w, left);
            if (master) store_float<V>(master + i, w, left);
        }
        store_float<V>(grad + i, zero, left);
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
    if (!param || !m || !v || !grad || !st)
        return WB_BAD_SHAPE;
    if (!master && sizeof(E) != sizeof(float)) return WB_BAD_SHAPE;
    const int V = 4;
    if (has_vecs<V>(param, master, m, v, grad))
        adamw_kernel<E, V><<<blocks_for(N, ADAM_VECS * V), BLOCK_SIZE, 0, s>>>(
            param, master, m, v, grad, st, N, a);
    else
        adamw_kernel<E, 1><<<blocks_for(N, ADAM_VECS), BLOCK_SIZE, 0, s>>>(
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
