/* 01_three_kernels.cu - as the formula reads: scores, then softmax and values, then k and
 * v go to their slot.
 *
 * A kernel ends when all of its blocks have read, so nothing is overwritten too early.
 * But each query head reads the cache of its group again, H/K times in all. The thread of
 * a score walks along its own row, so neighbouring threads read addresses a whole token
 * apart. exp is computed again for every channel. And one block handles all values of a
 * head: one sequence with a long cache keeps only a few multiprocessors busy.
 */
// fails: decode_rows,decode_once,decode_lean,decode_tensor
#include <math.h>

#include "kvcache.h"

constexpr int THREADS = 128;  // of a block

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

/* The score of slot j of the ring; j = S: of the token itself. A thread each. */
template <typename E>
static __global__ void score_kernel(
    float *score, const E *kcache, const E *q, const E *k, const float *cis,
    const int *pos, int S, int H, int K, int D, int N, int ldq, int ldkv, float scale)
{
    int parts = S / THREADS + 1, row = blockIdx.x / parts;  // row: [0, B*H)
    int j = blockIdx.x % parts * THREADS + threadIdx.x, h = row % H, b = row / H;
    int p = pos[b], g = h / (H / K);
    if (j > S) return;
    if (j < S && j >= p) return;  // holds no position
    const E *qh = q + (size_t)b * ldq + (size_t)h * D;
    const E *kh = k + (size_t)b * ldkv + (size_t)g * D;
    const E *slot = kcache + (((size_t)b * S + j) * K + g) * D;
    float sum = 0.0f;
    for (int d = 0; d < D; d++)
        sum += rotated(qh, cis, p, d, N) *
               (j < S ? (float)slot[d] : (float)(E)rotated(kh, cis, p, d, N));
    score[(size_t)row * (S + 1) + j] = scale * sum;
}

/* A block per head: softmax of its scores, then a thread per channel of the output */
template <typename E>
static __global__ void value_kernel(
    E *out, const float *score, const E *vcache, const E *v, const int *pos, int S, int H,
    int K, int D, int ldkv)
{
    int h = blockIdx.x % H, b = blockIdx.x / H, g = h / (H / K), n = min(pos[b], S);
    const float *s = score + (size_t)blockIdx.x * (S + 1);
    float max = s[S], sum = 0.0f;
    for (int j = 0; j < n; j++)
        max = fmaxf(max, s[j]);
    for (int j = 0; j < n; j++)
        sum += expf(s[j] - max);
    float self = expf(s[S] - max);
    sum += self;
    for (int d = threadIdx.x; d < D; d += THREADS) {
        float y = self * (float)v[(size_t)b * ldkv + (size_t)g * D + d];
        for (int j = 0; j < n; j++)
            y += expf(s[j] - max) * (float)vcache[(((size_t)b * S + j) * K + g) * D + d];
        out[(size_t)blockIdx.x * D + d] = (E)(y / sum);
    }
}

/* Last, k and v go to their slot: the kernels above have read it. */
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

static size_t decode_workspace(int B, int S, int H, int, int)
{
    return (size_t)B * H * ((size_t)S + 1) * sizeof(float);
}

template <typename E>
static void decode(
    E *out, E *kcache, E *vcache, const E *q, const E *k, const E *v, const float *cis,
    const int *pos, int B, int S, int H, int K, int D, int N, int ldq, int ldkv,
    float scale, void *workspace, cudaStream_t stream)
{
    float *score = (float *)workspace;
    unsigned blocks = (unsigned)B * H * (S / THREADS + 1);  // gridDim.y is at most 65,535
    score_kernel<<<blocks, THREADS, 0, stream>>>(
        score, kcache, q, k, cis, pos, S, H, K, D, N, ldq, ldkv, scale);
    value_kernel<<<B * H, THREADS, 0, stream>>>(
        out, score, vcache, v, pos, S, H, K, D, ldkv);
    store_kernel<<<B, THREADS, 0, stream>>>(
        kcache, vcache, k, v, cis, pos, S, K, D, N, ldkv);
}

#include "contract.h"
