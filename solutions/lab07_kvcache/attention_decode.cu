/* attention_decode.cu - lab 07, parts 3 and 4: one token attends to its ring and itself.
 * The contract is kvcache.h.
 */
#include <math.h>

#include "kvcache.h"

constexpr int BLOCK = 128;

// BEGIN SOLUTION 07.3 (about 60 lines)
//> /* TODO(07.3): three kernels make a first version: the scores of slots and token, into the
//>  * workspace; softmax and the sum of values; k and v to their slot. About 45 lines.
//>  * TODO(07.4): query head h reads key head h / (H/K). */
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

/* Score of slot j of the ring, or j = S: of the token itself. A thread each. */
template <typename E>
static __global__ void score_kernel(
    float *score, const E *kcache, const E *q, const E *k, const float *cis,
    const int *pos, int S, int H, int K, int D, int N, int ldq, int ldkv, float scale)
{
    int j = blockIdx.x * BLOCK + threadIdx.x, h = blockIdx.y % H, b = blockIdx.y / H;
    int p = pos[b], g = h / (H / K);
    if (j > S) return;
    if (j < S && j >= p) return;  // holds no position
    const E *qh = q + (size_t)b * ldq + (size_t)h * D;
    const E *kh = k + (size_t)b * ldkv + (size_t)g * D;
    const E *slot = kcache + (((size_t)b * S + j) * K + g) * D;
    float sum = 0.0f;
    for (int d = 0; d < D; d++)
        sum += turned(qh, cis, p, d, N) *
               (j < S ? (float)slot[d] : (float)(E)turned(kh, cis, p, d, N));
    score[(size_t)blockIdx.y * (S + 1) + j] = scale * sum;
}

/* A block per head: softmax over its scores, then a thread per channel of the output. */
template <typename E>
static __global__ void value_kernel(
    E *out, const float *score, const E *vcache, const E *v, const int *pos, int S, int H,
    int K, int D, int ldkv)
{
    int h = blockIdx.x % H, b = blockIdx.x / H, g = h / (H / K), n = min(pos[b], S);
    const float *s = score + (size_t)blockIdx.x * (S + 1);
    float most = s[S], sum = 0.0f;
    for (int j = 0; j < n; j++)
        most = fmaxf(most, s[j]);
    for (int j = 0; j < n; j++)
        sum += expf(s[j] - most);
    float self = expf(s[S] - most);
    sum += self;
    for (int d = threadIdx.x; d < D; d += BLOCK) {
        float y = self * (float)v[(size_t)b * ldkv + (size_t)g * D + d];
        for (int j = 0; j < n; j++)
            y += expf(s[j] - most) * (float)vcache[(((size_t)b * S + j) * K + g) * D + d];
        out[(size_t)blockIdx.x * D + d] = (E)(y / sum);
    }
}

/* Last: k and v to their slot, which all of the above have read. */
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

// END SOLUTION

static size_t decode_workspace(int B, int S, int H)
{
    // BEGIN SOLUTION 07.3 (1 line)
    //> (void)B, (void)S, (void)H;
    //> return 0;  // TODO(07.3): what the kernels pass to each other, in bytes
    return B < 0 || S < 0 || H < 0 ? 0 : (size_t)B * H * ((size_t)S + 1) * sizeof(float);
    // END SOLUTION
}

template <typename E>
static wb_status decode(
    E *out, E *kcache, E *vcache, const E *q, const E *k, const E *v, const float *cis,
    const int *pos, int B, int S, int H, int K, int D, int N, int ldq, int ldkv,
    float scale, void *workspace, size_t workspace_bytes, cudaStream_t stream)
{
    if (B < 0 || S < 1 || K < 1 || H < 1 || H % K || D < 1) return WB_BAD_SHAPE;
    if (N < 0 || N > D || N % 2) return WB_BAD_SHAPE;
    if (ldq < (long long)H * D || ldkv < (long long)K * D) return WB_BAD_SHAPE;
    if (D < 16 || D > 256 || D % 8) return WB_UNSUPPORTED;
    if (B == 0) return WB_OK;
    if (!out || !kcache || !vcache || !q || !k || !v || !pos) return WB_BAD_SHAPE;
    uintptr_t all = (uintptr_t)out | (uintptr_t)kcache | (uintptr_t)vcache |
                    (uintptr_t)q | (uintptr_t)k | (uintptr_t)v | ldq * sizeof(E) |
                    ldkv * sizeof(E);
    if (all % 16) return WB_BAD_ALIGN;
    if (workspace_bytes < decode_workspace(B, S, H)) return WB_NO_SPACE;
    // BEGIN SOLUTION 07.3 (about 8 lines)
    //> (void)cis, (void)scale, (void)workspace, (void)stream;
    //> return WB_TODO;  // TODO(07.3): the launches. About 8 lines.
    float *score = (float *)workspace;
    score_kernel<<<dim3(S / BLOCK + 1, B * H), BLOCK, 0, stream>>>(
        score, kcache, q, k, cis, pos, S, H, K, D, N, ldq, ldkv, scale);
    value_kernel<<<B * H, BLOCK, 0, stream>>>(
        out, score, vcache, v, pos, S, H, K, D, ldkv);
    store_kernel<<<B, BLOCK, 0, stream>>>(
        kcache, vcache, k, v, cis, pos, S, K, D, N, ldkv);
    return wb_launched();
    // END SOLUTION
}

#define DEFINE(E, e)                                                                     \
    wb_status attention_decode_##e(                                                      \
        E *out, E *kcache, E *vcache, const E *q, const E *k, const E *v,                \
        const float *cis, const int *pos, int B, int S, int H, int K, int D, int N,      \
        int ldq, int ldkv, float scale, void *workspace, size_t workspace_bytes,         \
        cudaStream_t stream)                                                             \
    {                                                                                    \
        return decode(                                                                   \
            out, kcache, vcache, q, k, v, cis, pos, B, S, H, K, D, N, ldq, ldkv, scale,  \
            workspace, workspace_bytes, stream);                                         \
    }                                                                                    \
    size_t attention_decode_workspace_##e(int B, int S, int H, int K, int D)             \
    {                                                                                    \
        (void)K, (void)D;                                                                \
        return decode_workspace(B, S, H);                                                \
    }
DEFINE(float, f32)
DEFINE(wb_f16, f16)
DEFINE(wb_bf16, bf16)
