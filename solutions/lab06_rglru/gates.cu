/* gates.cu - lab 06, part 06.3. The contract is rglru.h. */
#include "rglru.h"

constexpr int THREADS = 128;

static unsigned blocks_for(size_t n)
{
    return (unsigned)((n + THREADS - 1) / THREADS);
}

static __device__ size_t thread_index(void)
{
    return (size_t)blockIdx.x * THREADS + threadIdx.x;
}

static __device__ float logistic(float v)
{
    return 1.0f / (1.0f + expf(-v));
}

static __device__ float softplus(float v)
{
    return fmaxf(v, 0.0f) + log1pf(expf(-fabsf(v)));  // never overflows
}

template <typename E>
static __global__ void gates_each(
    float *a, float *z, const E *c, const E *px, const E *pa, const E *a_param,
    const int *pos, int B, int T, int C)
{
    size_t i = thread_index();
    if (i >= (size_t)B * T * C) return;
    size_t row = i / C;
    bool first = (pos ? pos[row] : (int)(row % T)) == 0;
    float log_a = -8.0f * logistic((float)pa[i]) * softplus((float)a_param[i % C]);
    float m = first ? 1.0f : sqrtf(-expm1f(2.0f * log_a));
    a[i] = first ? 0.0f : expf(log_a);
    z[i] = m * logistic((float)px[i]) * (float)c[i];
}

template <typename E>
static void gates(
    float *a, float *z, const E *c, const E *px, const E *pa, const E *a_param,
    const int *pos, int B, int T, int C, cudaStream_t stream)
{
    gates_each<<<blocks_for((size_t)B * T * C), THREADS, 0, stream>>>(
        a, z, c, px, pa, a_param, pos, B, T, C);
}

/* A thread per channel, so that it can sum da_param without help. */
template <typename E>
static __global__ void gates_slopes(
    E *dc, E *dpx, E *dpa, float *da_param, const float *da, const float *dz, const E *c,
    const E *px, const E *pa, const E *a_param, const int *pos, int B, int T, int C)
{
    size_t channel = thread_index();
    if (channel >= (size_t)C) return;
    float soft = softplus((float)a_param[channel]), sum = 0.0f;
    for (size_t row = 0; row < (size_t)B * T; row++) {
        size_t i = row * C + channel;
        bool first = (pos ? pos[row] : (int)(row % T)) == 0;
        float gx = logistic((float)px[i]), ga = logistic((float)pa[i]);
        float log_a = -8.0f * ga * soft, a = expf(log_a), q = -expm1f(2.0f * log_a);
        float m = first ? 1.0f : sqrtf(q), in = dz[i] * gx;
        float dq = in * (float)c[i] / sqrtf(fmaxf(4.0f * q, 1e-6f));
        float dlog_a = first ? 0.0f : da[i] * a - 2.0f * a * a * dq;
        dc[i] = (E)(in * m);
        dpx[i] = (E)(in * m * (float)c[i] * (1.0f - gx));
        dpa[i] = (E)(-8.0f * soft * ga * (1.0f - ga) * dlog_a);
        sum += -8.0f * ga * dlog_a;
    }
    da_param[channel] += logistic((float)a_param[channel]) * sum;
}

static size_t gates_space(int, int, int)
{
    return 0;
}

template <typename E>
static void gates_back(
    E *dc, E *dpx, E *dpa, float *da_param, const float *da, const float *dz, const E *c,
    const E *px, const E *pa, const E *a_param, const int *pos, int B, int T, int C,
    float *, cudaStream_t stream)
{
    gates_slopes<<<blocks_for(C), THREADS, 0, stream>>>(
        dc, dpx, dpa, da_param, da, dz, c, px, pa, a_param, pos, B, T, C);
}

#define DEFINE(E, e)                                                                     \
    wb_status rglru_gates_forward_##e(                                                   \
        float *a, float *z, const E *c, const E *px, const E *pa, const E *a_param,      \
        const int *pos, int B, int T, int C, cudaStream_t stream)                        \
    {                                                                                    \
        if (B < 0 || T < 0 || C < 0) return WB_BAD_SHAPE;                                \
        if (B == 0 || T == 0 || C == 0) return WB_OK;                                    \
        if (!a || !z || !c || !px || !pa || !a_param) return WB_BAD_SHAPE;               \
        gates<E>(a, z, c, px, pa, a_param, pos, B, T, C, stream);                        \
        return wb_launched();                                                            \
    }                                                                                    \
    wb_status rglru_gates_backward_##e(                                                  \
        E *dc, E *dpx, E *dpa, float *da_param, const float *da, const float *dz,        \
        const E *c, const E *px, const E *pa, const E *a_param, const int *pos, int B,   \
        int T, int C, void *workspace, size_t workspace_bytes, cudaStream_t stream)      \
    {                                                                                    \
        if (B < 0 || T < 0 || C < 0) return WB_BAD_SHAPE;                                \
        if (B == 0 || T == 0 || C == 0) return WB_OK;                                    \
        if (!dc || !dpx || !dpa || !da_param || !da || !dz || !c || !px || !pa ||        \
            !a_param)                                                                    \
            return WB_BAD_SHAPE;                                                         \
        if (workspace_bytes < gates_space(B, T, C)) return WB_NO_SPACE;                  \
        gates_back<E>(                                                                   \
            dc, dpx, dpa, da_param, da, dz, c, px, pa, a_param, pos, B, T, C,            \
            (float *)workspace, stream);                                                 \
        return wb_launched();                                                            \
    }                                                                                    \
    size_t rglru_gates_backward_workspace_##e(int B, int T, int C)                       \
    {                                                                                    \
        return gates_space(B, T, C);                                                     \
    }
DEFINE(float, f32)
DEFINE(wb_f16, f16)
DEFINE(wb_bf16, bf16)
