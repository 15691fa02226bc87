/* scan_02_coalesced.cu - part 06.4: the same walk through time, but neighbouring threads
 * take neighbouring channels, so a warp's 32 accesses are contiguous. And a thread loads
 * PREFETCH steps before it uses the first, so their loads are in flight together.
 *
 * B C threads fill the GPU only if there are many rows: B = 1 leaves most of it idle.
 */
#include "rglru_contract.cuh"

constexpr int THREADS = 64;   // per block: few, to spread few channels over many SMs
constexpr int PREFETCH = 16;  // steps whose inputs a thread holds

template <typename E>
static __global__ void scan_rows(
    E *h, float *h_last, const E *a, const E *z, const float *h0, int B, int T, int C)
{
    size_t row = (size_t)blockIdx.x * THREADS + threadIdx.x;  // b C + c in [0, B*C)
    if (row >= (size_t)B * C) return;
    size_t at = row / C * T * C + row % C;
    float state = h0 ? h0[row] : 0.0f;
    for (int t = 0; t < T; t += PREFETCH) {
        int count = min(PREFETCH, T - t);
        float as[PREFETCH], zs[PREFETCH];
#pragma unroll
        for (int s = 0; s < PREFETCH; s++)
            if (s < count) {
                as[s] = (float)a[at + (size_t)s * C];
                zs[s] = (float)z[at + (size_t)s * C];
            }
#pragma unroll
        for (int s = 0; s < PREFETCH; s++)
            if (s < count) {
                state = as[s] * state + zs[s];
                h[at + (size_t)s * C] = (E)state;
            }
        at += (size_t)PREFETCH * C;
    }
    if (h_last) h_last[row] = state;
}

template <typename E>
static __global__ void scan_rows_backward(
    E *da, E *dz, float *dh0, const E *dh, const float *dh_last, const E *a, const E *h,
    const float *h0, int B, int T, int C)
{
    size_t row = (size_t)blockIdx.x * THREADS + threadIdx.x;  // [0, B*C)
    if (row >= (size_t)B * C) return;
    size_t at = (row / C * T + T - 1) * C + row % C;
    float back = dh_last ? dh_last[row] : 0.0f;  // a[t+1] dz[t+1]
    for (int t = T - 1; t >= 0; t -= PREFETCH) {
        int count = min(PREFETCH, t + 1);
        float as[PREFETCH], dhs[PREFETCH], before[PREFETCH];
#pragma unroll
        for (int s = 0; s < PREFETCH; s++)
            if (s < count) {
                size_t i = at - (size_t)s * C;
                as[s] = (float)a[i], dhs[s] = (float)dh[i];
                before[s] = t > s ? (float)h[i - C] : h0 ? h0[row] : 0.0f;
            }
#pragma unroll
        for (int s = 0; s < PREFETCH; s++)
            if (s < count) {
                float d = dhs[s] + back;
                dz[at - (size_t)s * C] = (E)d;
                da[at - (size_t)s * C] = (E)(d * before[s]);
                back = as[s] * d;
            }
        at -= (size_t)PREFETCH * C;
    }
    if (dh0) dh0[row] = back;
}

static unsigned block_count(int B, int C)
{
    return (unsigned)(((size_t)B * C + THREADS - 1) / THREADS);
}

template <typename E> static size_t linear_scan_workspace(int, int, int)
{
    return 0;
}

template <typename E>
static wb_status linear_scan(scan_call<E> call, void *, cudaStream_t stream)
{
    scan_rows<<<block_count(call.B, call.C), THREADS, 0, stream>>>(
        call.h, call.h_last, call.a, call.z, call.h0, call.B, call.T, call.C);
    return wb_launched();
}

template <typename E> static size_t linear_scan_back_workspace(int, int, int)
{
    return 0;
}

template <typename E>
static wb_status linear_scan_back(scan_back_call<E> call, void *, cudaStream_t stream)
{
    scan_rows_backward<<<block_count(call.B, call.C), THREADS, 0, stream>>>(
        call.da, call.dz, call.dh0, call.dh, call.dh_last, call.a, call.h, call.h0,
        call.B, call.T, call.C);
    return wb_launched();
}

DEFINE_LINEAR_SCAN_FORWARD(float, f32)
DEFINE_LINEAR_SCAN_FORWARD(wb_f16, f16)
DEFINE_LINEAR_SCAN_FORWARD(wb_bf16, bf16)
DEFINE_LINEAR_SCAN_BACKWARD(float, f32)
DEFINE_LINEAR_SCAN_BACKWARD(wb_f16, f16)
DEFINE_LINEAR_SCAN_BACKWARD(wb_bf16, bf16)
