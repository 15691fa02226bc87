/* gates.cu - lab 06, part 06.3: from the gates' pre-activations to the a and z of the
 * scan. The contract is rglru.h. */
#include "cuda/vec.cuh"
#include "gate_math.cuh"
#include "partial_sums.cuh"
#include "rglru_contract.cuh"

enum { THREADS = 128 };  // per block

/* One thread per element: index i in every tensor. */
template <typename E>
static __global__ void gates_each(
    float *a, float *z, const E *c, const E *px, const E *pa, const E *a_param,
    const int *pos, int B, int T, int C)
{
    size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;  // [0, B*T*C)
    if (i >= (size_t)B * T * C) return;
    size_t token = i / C, channel = i % C;
    // TODO(06.3): is it the first token of a document? pos may be NULL. About 1 line.
    // TODO(06.3): gx, ga, log_a; softplus must not overflow. About 4 lines.
    // TODO(06.3): a and m, with expm1f; then a[i] and z[i]. About 4 lines.
    (void)token, (void)channel;
}

/* One thread per channel, one token after another, so da_param is the sum of a single
 * thread. That is enough to pass; the guide shows the way to a fast kernel. */
template <typename E>
static __global__ void gates_slopes(
    E *dc, E *dpx, E *dpa, float *da_param, const float *da, const float *dz, const E *c,
    const E *px, const E *pa, const E *a_param, const int *pos, int B, int T, int C)
{
    int channel = blockIdx.x * THREADS + threadIdx.x;  // [0, C)
    if (channel >= C) return;
    float sum = 0.0f;  // of -8 ga dlog_a
    for (size_t token = 0; token < (size_t)B * T; token++) {
        // TODO(06.3): gx, ga, log_a, a, q, m again. About 6 lines.
        // TODO(06.3): dq with the bounded root, dlog_a, 0 at a document's start. 2 lines.
        // TODO(06.3): dc, dpx, dpa, and the sum. About 4 lines.
    }
    // TODO(06.3): da_param[channel] += s(a_param) sum. 1 line.
    (void)sum;
}

template <typename E>
static wb_status gates(
    float *a, float *z, const E *c, const E *px, const E *pa, const E *a_param,
    const int *pos, int B, int T, int C, cudaStream_t stream)
{
    // TODO(06.3): launch gates_each, then return wb_launched().
    return WB_TODO;
}

/* Bytes of workspace of the backward pass */
template <typename E> static size_t gates_back_workspace(int B, int T, int C)
{
    // TODO(06.3): 0 is correct while one thread sums each channel.
    return 0;
}

template <typename E>
static wb_status gates_back(
    E *dc, E *dpx, E *dpa, float *da_param, const float *da, const float *dz, const E *c,
    const E *px, const E *pa, const E *a_param, const int *pos, int B, int T, int C,
    float *partial, cudaStream_t stream)
{
    // TODO(06.3): launch gates_slopes, then return wb_launched().
    (void)partial;
    return WB_TODO;
}

DEFINE_GATES(float, f32)
DEFINE_GATES(wb_f16, f16)
DEFINE_GATES(wb_bf16, bf16)
