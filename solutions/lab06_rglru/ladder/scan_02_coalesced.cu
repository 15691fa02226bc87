/* scan_02_coalesced.cu - the same walk through time, but neighbouring threads take
 * neighbouring channels: a warp's 32 accesses are one stretch of memory. And a thread asks
 * for AHEAD steps before it uses the first, so that they are under way together.
 *
 * With B C threads the machine is busy only where rows are many: B = 1 leaves most of it idle.
 */
#include "rglru.h"

constexpr int BLOCK = 64;  // few, so that few channels still fill many multiprocessors
constexpr int AHEAD = 16;  // steps whose inputs a thread holds

template <typename E>
static __global__ void scan_rows(
    E *h, float *h_last, const E *a, const E *z, const float *h0, int B, int T, int C)
{
    size_t row = (size_t)blockIdx.x * BLOCK + threadIdx.x;  // b C + c in [0, B*C)
    if (row >= (size_t)B * C) return;
    size_t at = row / C * T * C + row % C;
    float state = h0 ? h0[row] : 0.0f;
    for (int t = 0; t < T; t += AHEAD) {
        int count = min(AHEAD, T - t);
        float as[AHEAD], zs[AHEAD];
#pragma unroll
        for (int s = 0; s < AHEAD; s++)
            if (s < count) {
                as[s] = (float)a[at + (size_t)s * C];
                zs[s] = (float)z[at + (size_t)s * C];
            }
#pragma unroll
        for (int s = 0; s < AHEAD; s++)
            if (s < count) {
                state = as[s] * state + zs[s];
                h[at + (size_t)s * C] = (E)state;
            }
        at += (size_t)AHEAD * C;
    }
    if (h_last) h_last[row] = state;
}

template <typename E>
static __global__ void scan_rows_backward(
    E *da, E *dz, float *dh0, const E *dh, const float *dh_last, const E *a, const E *h,
    const float *h0, int B, int T, int C)
{
    size_t row = (size_t)blockIdx.x * BLOCK + threadIdx.x;  // [0, B*C)
    if (row >= (size_t)B * C) return;
    size_t at = (row / C * T + T - 1) * C + row % C;
    float back = dh_last ? dh_last[row] : 0.0f;  // a[t+1] dz[t+1]
    for (int t = T - 1; t >= 0; t -= AHEAD) {
        int count = min(AHEAD, t + 1);
        float as[AHEAD], dhs[AHEAD], before[AHEAD];
#pragma unroll
        for (int s = 0; s < AHEAD; s++)
            if (s < count) {
                size_t i = at - (size_t)s * C;
                as[s] = (float)a[i], dhs[s] = (float)dh[i];
                before[s] = t > s ? (float)h[i - C] : h0 ? h0[row] : 0.0f;
            }
#pragma unroll
        for (int s = 0; s < AHEAD; s++)
            if (s < count) {
                float d = dhs[s] + back;
                dz[at - (size_t)s * C] = (E)d;
                da[at - (size_t)s * C] = (E)(d * before[s]);
                back = as[s] * d;
            }
        at -= (size_t)AHEAD * C;
    }
    if (dh0) dh0[row] = back;
}

static unsigned blocks_for(int B, int C)
{
    return (unsigned)(((size_t)B * C + BLOCK - 1) / BLOCK);
}

template <typename E>
static void scan_forward(
    E *h, float *h_last, const E *a, const E *z, const float *h0, int B, int T, int C,
    void *, cudaStream_t stream)
{
    scan_rows<<<blocks_for(B, C), BLOCK, 0, stream>>>(h, h_last, a, z, h0, B, T, C);
}

template <typename E>
static void scan_backward(
    E *da, E *dz, float *dh0, const E *dh, const float *dh_last, const E *a, const E *h,
    const float *h0, int B, int T, int C, void *, cudaStream_t stream)
{
    scan_rows_backward<<<blocks_for(B, C), BLOCK, 0, stream>>>(
        da, dz, dh0, dh, dh_last, a, h, h0, B, T, C);
}

static size_t scan_workspace(int, int, int)
{
    return 0;
}

#include "scan_contract.h"
