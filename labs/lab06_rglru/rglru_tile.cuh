/* rglru_tile.cuh - given: what the fused kernels of both directions need for a tile of
 * channels (lanes) and some steps of time (warps) in addition to the scan itself.
 */
#ifndef RGLRU_TILE_CUH
#define RGLRU_TILE_CUH
#include "gate_math.cuh"
#include "lookback.cuh"

/* plus[v] = softplus(a_param) of this lane's V channels. Warp v computes it for the whole
 * block; all threads of the block call it. */
template <typename E, int V>
static __device__ __forceinline__ void
softplus_of_tile(float plus[V], const E *a_param, int channel, int C)
{
    __shared__ float shared[V][WARP];
    int v = threadIdx.y, lane = threadIdx.x;
    if (v < V)
        shared[v][lane] = channel + v < C ? softplus((float)a_param[channel + v]) : 0.0f;
    __syncthreads();  // softplus of the channels is visible
#pragma unroll
    for (int i = 0; i < V; i++)
        plus[i] = shared[i][lane];
}

/* Bit s: step t0 + s starts a document. token: of step t0, counted over all rows. */
template <int STEPS>
static __device__ __forceinline__ unsigned
document_starts(const int *pos, size_t token, int t0, int steps)
{
    unsigned starts = t0 == 0;
    if (pos) {
        starts = 0;
#pragma unroll
        for (int s = 0; s < STEPS; s++)
            if (s < steps && pos[token + s] == 0) starts |= 1u << s;
    }
    return starts;
}
#endif
