/* 02_one_block_per_head.cu - one kernel per query head, with an online softmax.
 *
 * A warp takes a key at a time, each lane the channels lane, lane + 32, ...: neighbours
 * read neighbours, the score is a sum over the warp, and nothing but the result is
 * stored. The sums follow the largest score so far, as in flash attention; at the end the
 * warps' four are added up. The token itself is one more key. Still each query head of a
 * group reads the cache for itself, and a block per head is few blocks for a single row.
 */
#include <math.h>

#include "kvcache.h"

constexpr int WARP = 32;
constexpr int BLOCK = 128;
constexpr int EACH = 256 / WARP;  // channels of a lane

/* Channel d of a head x turned to position p: pair i is (x[i], x[i + N/2]). */
template <typename E>
static __device__ float turned(const E *x, const float *cis, int p, int d, int N)
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
static __global__ void __launch_bounds__(BLOCK) head_kernel(
    E *out, const E *kcache, const E *vcache, const E *q, const E *k, const E *v,
    const float *cis, const int *pos, int S, int H, int K, int D, int N, int ldq,
    int ldkv, float scale)
{
    __shared__ float most_of[BLOCK / WARP], sum_of[BLOCK / WARP], y_of[BLOCK / WARP][256];
    int h = blockIdx.x % H, b = blockIdx.x / H, g = h / (H / K);
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, p = pos[b], n = min(p, S);
    const E *kg = k + (size_t)b * ldkv + (size_t)g * D;
    const E *vg = v + (size_t)b * ldkv + (size_t)g * D;
    float x[EACH], y[EACH] = {}, most = -INFINITY, sum = 0.0f;
    for (int i = 0; i < EACH; i++) {
        int d = lane + i * WARP;
        x[i] =
            d < D ? scale * turned(q + (size_t)b * ldq + (size_t)h * D, cis, p, d, N) : 0;
    }
    for (int j = warp; j <= n; j += BLOCK / WARP) {  // j = n: the token itself
        size_t slot = (((size_t)b * S + j) * K + g) * D;
        float s = 0.0f;
        for (int i = 0; i < EACH; i++) {
            int d = lane + i * WARP;
            if (d >= D) continue;
            E key = j < n ? kcache[slot + d] : (E)turned(kg, cis, p, d, N);
            s += x[i] * (float)key;
        }
        s = warp_sum(s);
        float higher = fmaxf(most, s), keep = expf(most - higher), w = expf(s - higher);
        most = higher, sum = sum * keep + w;
        for (int i = 0; i < EACH; i++) {
            int d = lane + i * WARP;
            if (d < D) y[i] = y[i] * keep + w * (float)(j < n ? vcache[slot + d] : vg[d]);
        }
    }
    if (lane == 0) most_of[warp] = most, sum_of[warp] = sum;
    for (int i = 0; i < EACH; i++)
        y_of[warp][lane + i * WARP] = y[i];
    __syncthreads();  // every warp's sums are there
    for (int w = 0; w < BLOCK / WARP; w++)
        most = fmaxf(most, most_of[w]);
    for (int d = threadIdx.x; d < D; d += BLOCK) {
        float total = 0.0f, all = 0.0f;
        for (int w = 0; w < BLOCK / WARP; w++) {
            float weight = sum_of[w] > 0.0f ? expf(most_of[w] - most) : 0.0f;
            total += weight * sum_of[w], all += weight * y_of[w][d];
        }
        out[(size_t)blockIdx.x * D + d] = (E)(all / total);
    }
}

/* Then k and v go to their slot, which all heads have read. */
template <typename E>
static __global__ void store_kernel(
    E *kcache, E *vcache, const E *k, const E *v, const float *cis, const int *pos, int S,
    int K, int D, int N, int ldkv)
{
    int b = blockIdx.x, p = pos[b];
    for (int i = threadIdx.x; i < K * D; i += BLOCK) {
        size_t to = ((size_t)b * S + p % S) * K * D + i;
        const E *kh = k + (size_t)b * ldkv + i / D * D;
        kcache[to] = (E)turned(kh, cis, p, i % D, N);
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
    head_kernel<<<B * H, BLOCK, 0, stream>>>(
        out, kcache, vcache, q, k, v, cis, pos, S, H, K, D, N, ldq, ldkv, scale);
    store_kernel<<<B, BLOCK, 0, stream>>>(
        kcache, vcache, k, v, cis, pos, S, K, D, N, ldkv);
}

#include "contract.h"
