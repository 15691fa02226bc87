/* 02_one_block_per_head.cu - one kernel, a block per query head, with an online softmax.
 *
 * A warp takes one key at a time, each lane the channels lane, lane + 32, ...:
 * neighbouring threads read neighbouring addresses, the score is a sum over the warp, and
 * only the result is stored. The sums are relative to the largest score so far, as in
 * FlashAttention; at the end those of the four warps are added. The token itself is one
 * more key. Still each query head of a group reads the cache again, and a block per head
 * is few blocks for a single sequence.
 */
// fails: decode_once,decode_tensor
#include <math.h>

#include "kvcache.h"

constexpr int WARP = 32;
constexpr int THREADS = 128;  // of a block
constexpr int MAX_D = 256;
constexpr int CHANNELS_PER_LANE = MAX_D / WARP;

/* Channel d of a head x rotated to position p: pair i is (x[i], x[i + N/2]). */
template <typename E>
static __device__ float rotated(const E *x, const float *cis, int p, int d, int N)
{
    if (!cis || d >= N) return (float)x[d];
    int i = d % (N / 2);
    const float *angle = cis + ((size_t)p * (N / 2) + i) * 2;
    float a = (float)x[i], b = (float)x[i + N / 2];
    return d < N / 2 ? a * angle[0] - b * angle[1] : b * angle[0] + a * angle[1];
}

static __device__ float warp_sum(float v)
{
    for (int m = WARP / 2; m > 0; m >>= 1)
        v += __shfl_xor_sync(0xffffffffu, v, m);
    return v;
}

template <typename E>
static __global__ void __launch_bounds__(THREADS) head_kernel(
    E *out, const E *kcache, const E *vcache, const E *q, const E *k, const E *v,
    const float *cis, const int *pos, int S, int H, int K, int D, int N, int ldq,
    int ldkv, float scale)
{
    __shared__ float max_of[THREADS / WARP], sum_of[THREADS / WARP],
        y_of[THREADS / WARP][MAX_D];
    int h = blockIdx.x % H, b = blockIdx.x / H, g = h / (H / K);
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, p = pos[b], n = min(p, S);
    const E *kg = k + (size_t)b * ldkv + (size_t)g * D;
    const E *vg = v + (size_t)b * ldkv + (size_t)g * D;
    float x[CHANNELS_PER_LANE], y[CHANNELS_PER_LANE] = {}, max = -INFINITY, sum = 0.0f;
    for (int i = 0; i < CHANNELS_PER_LANE; i++) {
        int d = lane + i * WARP;
        x[i] = d < D ? scale * rotated(q + (size_t)b * ldq + (size_t)h * D, cis, p, d, N)
                     : 0;
    }
    for (int j = warp; j <= n; j += THREADS / WARP) {  // j = n: the token itself
        size_t slot = (((size_t)b * S + j) * K + g) * D;
        float s = 0.0f;
        for (int i = 0; i < CHANNELS_PER_LANE; i++) {
            int d = lane + i * WARP;
            if (d >= D) continue;
            E key = j < n ? kcache[slot + d] : (E)rotated(kg, cis, p, d, N);
            s += x[i] * (float)key;
        }
        s = warp_sum(s);
        float new_max = fmaxf(max, s), rescale = expf(max - new_max);
        float w = expf(s - new_max);
        max = new_max, sum = sum * rescale + w;
        for (int i = 0; i < CHANNELS_PER_LANE; i++) {
            int d = lane + i * WARP;
            if (d < D)
                y[i] = y[i] * rescale + w * (float)(j < n ? vcache[slot + d] : vg[d]);
        }
    }
    if (lane == 0) max_of[warp] = max, sum_of[warp] = sum;
    for (int i = 0; i < CHANNELS_PER_LANE; i++)
        y_of[warp][lane + i * WARP] = y[i];
    __syncthreads();  // the sums of all warps are visible to the block
    for (int w = 0; w < THREADS / WARP; w++)
        max = fmaxf(max, max_of[w]);
    for (int d = threadIdx.x; d < D; d += THREADS) {
        float total = 0.0f, all = 0.0f;
        for (int w = 0; w < THREADS / WARP; w++) {
            float weight = sum_of[w] > 0.0f ? expf(max_of[w] - max) : 0.0f;
            total += weight * sum_of[w], all += weight * y_of[w][d];
        }
        out[(size_t)blockIdx.x * D + d] = (E)(all / total);
    }
}

/* Last, k and v go to their slot: all heads have read it. */
template <typename E>
static __global__ void store_kernel(
    E *kcache, E *vcache, const E *k, const E *v, const float *cis, const int *pos, int S,
    int K, int D, int N, int ldkv)
{
    int b = blockIdx.x, p = pos[b];
    for (int i = threadIdx.x; i < K * D; i += THREADS) {
        size_t to = ((size_t)b * S + p % S) * K * D + i;
        const E *kh = k + (size_t)b * ldkv + i / D * D;
        kcache[to] = (E)rotated(kh, cis, p, i % D, N);
        vcache[to] = v[(size_t)b * ldkv + i];
    }
}

static size_t decode_workspace(int, int, int, int, int)
{
    return 0;
}

template <typename E>
static void decode(
    E *out, E *kcache, E *vcache, const E *q, const E *k, const E *v, const float *cis,
    const int *pos, int B, int S, int H, int K, int D, int N, int ldq, int ldkv,
    float scale, void *workspace, cudaStream_t stream)
{
    (void)workspace;
    head_kernel<<<B * H, THREADS, 0, stream>>>(
        out, kcache, vcache, q, k, v, cis, pos, S, H, K, D, N, ldq, ldkv, scale);
    store_kernel<<<B, THREADS, 0, stream>>>(
        kcache, vcache, k, v, cis, pos, S, K, D, N, ldkv);
}

#include "contract.h"
