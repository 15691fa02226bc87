/* attention_gemm.cu - attention by GEMMs and lab 04's softmax: rung zero of lab 05.
 *
 * For each sequence b and query head h, with its key head g = h/(H/K):
 *
 *     P (T,S) = softmax_causal(scale Q (T,D) K^T (D,S)),     out (T,D) = P V (S,D)
 *
 * All B*H GEMMs are independent, but the heads of a group share one K and V. So the
 * address of K is not a multiple of b*H+h. The GEMMs go to cuBLAS in strided batches, for
 * which it is: all b of one head, or all key heads of one b and one member of the groups,
 * whichever takes fewer batches. K and V are never expanded.
 */
#include "blas.cuh"
#include "elements.cuh"
#include "softmax.h"

struct shape {
    int B, T, S, H, K, D, ldq, ldkv;
};

/* The batches of one product. Batch i starts at sequence b, head h, and covers `count`
 * sequences or key heads. */
struct batches {
    bool over_b;
    int number, count, members;  // members: heads of a group, H/K
};
static batches cut(shape z)
{
    int members = z.H / z.K;
    if (z.H <= z.B * members) return {true, z.H, z.B, members};
    return {false, z.B * members, z.K, members};
}
struct start {
    int b, h, g;  // sequence, query head, key head
};
static start begin(batches c, int i)
{
    if (c.over_b) return {0, i, i / c.members};
    return {i / c.members, i % c.members, 0};
}

/* The addresses of the four kinds of matrix: queries (T,D), keys (S,D), outputs (T,D),
 * scores (T,S), each as the first of a batch and the stride to the next. */
template <typename E> static operand<E> query(E *q, shape z, batches c, start at)
{
    E *first = q + (size_t)at.b * z.T * z.ldq + (size_t)at.h * z.D;
    return {first, z.ldq, c.over_b ? (long long)z.T * z.ldq : (long long)c.members * z.D};
}
template <typename E> static operand<E> key(E *k, int ld, shape z, batches c, start at)
{
    E *first = k + (size_t)at.b * z.S * ld + (size_t)at.g * z.D;
    return {first, ld, c.over_b ? (long long)z.S * ld : (long long)z.D};
}
template <typename E> static operand<E> output(E *out, shape z, batches c, start at)
{
    z.ldq = z.H * z.D;
    return query(out, z, c, at);
}
template <typename E> static operand<E> scores(E *p, shape z, batches c, start at)
{
    long long one = (long long)z.T * z.S;
    E *first = p + ((size_t)at.b * z.H + at.h) * one;
    return {first, z.S, (c.over_b ? z.H : c.members) * one};
}

static bool is_bad(shape z)
{
    if (z.B < 0 || z.T < 1 || z.S < z.T || z.H < 1 || z.K < 1 || z.D < 1) return true;
    if (z.H % z.K != 0 || (size_t)z.B * z.H * z.T > INT_MAX) return true;
    return z.ldq < z.H * z.D || z.ldkv < z.K * z.D;
}

/* lab 04's launchers, by element type */
static wb_status softmax(float *p, int R, int T, int S, float scale, cudaStream_t s)
{
    return softmax_causal_forward_f32(p, p, R, T, S, scale, s);
}
static wb_status softmax(wb_f16 *p, int R, int T, int S, float scale, cudaStream_t s)
{
    return softmax_causal_forward_f16(p, p, R, T, S, scale, s);
}
static wb_status softmax(wb_bf16 *p, int R, int T, int S, float scale, cudaStream_t s)
{
    return softmax_causal_forward_bf16(p, p, R, T, S, scale, s);
}
static wb_status
softmax_gradient(float *ds, const float *p, int R, int S, float scale, cudaStream_t s)
{
    return softmax_backward_f32(ds, ds, p, R, S, scale, s);
}
static wb_status
softmax_gradient(wb_f16 *ds, const wb_f16 *p, int R, int S, float scale, cudaStream_t s)
{
    return softmax_backward_f16(ds, ds, p, R, S, scale, s);
}
static wb_status
softmax_gradient(wb_bf16 *ds, const wb_bf16 *p, int R, int S, float scale, cudaStream_t s)
{
    return softmax_backward_bf16(ds, ds, p, R, S, scale, s);
}

/* --- forward ------------------------------------------------------------------------ */

template <typename E>
static wb_status attention_forward(
    E *out, E *p, const E *q, const E *k, const E *v, shape z, float scale, wb_blas *blas,
    cudaStream_t s)
{
    if (is_bad(z)) return WB_BAD_SHAPE;
    if (z.B == 0) return WB_OK;
    if (!out || !p || !q || !k || !v || !blas) return WB_BAD_SHAPE;
    batches c = cut(z);
    wb_status status = WB_OK;
    for (int i = 0; i < c.number && status == WB_OK; i++) {  // P = Q K^T
        start at = begin(c, i);
        status = gemm<E, E>(
            blas, scores(p, z, c, at), query(q, z, c, at), AS_STORED,
            key(k, z.ldkv, z, c, at), TRANSPOSED, z.T, z.S, z.D, c.count, 1.0f, 0.0f, s);
    }
    if (status == WB_OK) status = softmax(p, z.B * z.H * z.T, z.T, z.S, scale, s);
    for (int i = 0; i < c.number && status == WB_OK; i++) {  // out = P V
        start at = begin(c, i);
        status = gemm<E, E>(
            blas, output(out, z, c, at), scores((const E *)p, z, c, at), AS_STORED,
            key(v, z.ldkv, z, c, at), AS_STORED, z.T, z.D, z.S, c.count, 1.0f, 0.0f, s);
    }
    return status;
}

/* --- backward ----------------------------------------------------------------------- */

/* The workspace: dS (B,H,T,S); for 16-bit types also float sums of dK and dV (B,S,K,D),
 * since the heads of a group add to them and results are rounded only once. */
template <typename E> static size_t scores_bytes(shape z)
{
    size_t bytes = (size_t)z.B * z.H * z.T * z.S * sizeof(E);
    return (bytes + 255) / 256 * 256;
}
template <typename E> static size_t backward_workspace(shape z)
{
    size_t keys = (size_t)z.B * z.S * z.K * z.D;
    return scores_bytes<E>(z) + (sizeof(E) == 4 ? 0 : 2 * keys * sizeof(float));
}

/* dk, dv (rows ld apart) = sums (rows width apart) */
template <typename E>
static __global__ void
round_rows_kernel(E *dk, E *dv, const float *sums, size_t rows, int width, int ld)
{
    size_t i = (size_t)blockIdx.x * BLOCK_SIZE + threadIdx.x, N = rows * (size_t)width;
    if (i >= N) return;
    size_t to = i / (size_t)width * (size_t)ld + i % (size_t)width;
    dk[to] = E(sums[i]);
    dv[to] = E(sums[N + i]);
}

/* dk += dS^T Q and dv += P^T dout, one head after another. The heads of a group write to
 * the same address: the first sets it, the others add. */
template <typename E, typename Sum>
static wb_status key_gradients(
    Sum *dk, Sum *dv, int ld, const E *dout, const E *q, const E *p, const E *ds, shape z,
    wb_blas *blas, cudaStream_t s)
{
    batches c = cut(z);
    wb_status status = WB_OK;
    for (int i = 0; i < c.number && status == WB_OK; i++) {
        start at = begin(c, i);
        float beta = at.h % c.members == 0 ? 0.0f : 1.0f;
        status = gemm<E, Sum>(
            blas, key(dk, ld, z, c, at), scores(ds, z, c, at), TRANSPOSED,
            query(q, z, c, at), AS_STORED, z.S, z.D, z.T, c.count, 1.0f, beta, s);
        if (status != WB_OK) return status;
        status = gemm<E, Sum>(
            blas, key(dv, ld, z, c, at), scores(p, z, c, at), TRANSPOSED,
            output(dout, z, c, at), AS_STORED, z.S, z.D, z.T, c.count, 1.0f, beta, s);
    }
    return status;
}

template <typename E>
static wb_status attention_backward(
    E *dq, E *dk, E *dv, const E *dout, const E *q, const E *k, const E *v, const E *p,
    shape z, float scale, void *workspace, size_t workspace_bytes, wb_blas *blas,
    cudaStream_t s)
{
    if (is_bad(z)) return WB_BAD_SHAPE;
    if (z.B == 0) return WB_OK;
    if (!dq || !dk || !dv || !dout || !q || !k || !v || !p || !blas) return WB_BAD_SHAPE;
    if (!workspace || workspace_bytes < backward_workspace<E>(z)) return WB_NO_SPACE;
    E *ds = (E *)workspace;
    float *sums = (float *)((char *)workspace + scores_bytes<E>(z));
    batches c = cut(z);
    wb_status status = WB_OK;
    for (int i = 0; i < c.number && status == WB_OK; i++) {  // dP = dout V^T
        start at = begin(c, i);
        status = gemm<E, E>(
            blas, scores(ds, z, c, at), output(dout, z, c, at), AS_STORED,
            key(v, z.ldkv, z, c, at), TRANSPOSED, z.T, z.S, z.D, c.count, 1.0f, 0.0f, s);
    }
    if (status == WB_OK)  // dS, in place; 0 where P is 0, that is, masked
        status = softmax_gradient(ds, p, z.B * z.H * z.T, z.S, scale, s);
    for (int i = 0; i < c.number && status == WB_OK; i++) {  // dQ = dS K
        start at = begin(c, i);
        status = gemm<E, E>(
            blas, query(dq, z, c, at), scores((const E *)ds, z, c, at), AS_STORED,
            key(k, z.ldkv, z, c, at), AS_STORED, z.T, z.D, z.S, c.count, 1.0f, 0.0f, s);
    }
    if (status != WB_OK) return status;
    if (sizeof(E) == 4 || c.members == 1)  // each result is rounded once
        return key_gradients<E, E>(dk, dv, z.ldkv, dout, q, p, ds, z, blas, s);
    size_t rows = (size_t)z.B * z.S;
    int width = z.K * z.D;
    float *dk_sum = sums, *dv_sum = sums + rows * (size_t)width;
    status = key_gradients<E, float>(dk_sum, dv_sum, width, dout, q, p, ds, z, blas, s);
    if (status != WB_OK) return status;
    round_rows_kernel<<<blocks_for(rows * (size_t)width, 1), BLOCK_SIZE, 0, s>>>(
        dk, dv, sums, rows, width, z.ldkv);
    return wb_launched();
}

#define DEFINE(E, e)                                                                     \
    wb_status attention_gemm_forward_##e(                                                \
        E *out, E *p, const E *q, const E *k, const E *v, int B, int T, int S, int H,    \
        int K, int D, int ldq, int ldkv, float scale, wb_blas *h_blas,                   \
        cudaStream_t stream)                                                             \
    {                                                                                    \
        shape z = {B, T, S, H, K, D, ldq, ldkv};                                         \
        return attention_forward(out, p, q, k, v, z, scale, h_blas, stream);             \
    }                                                                                    \
    wb_status attention_gemm_backward_##e(                                               \
        E *dq, E *dk, E *dv, const E *dout, const E *q, const E *k, const E *v,          \
        const E *p, int B, int T, int S, int H, int K, int D, int ldq, int ldkv,         \
        float scale, void *workspace, size_t workspace_bytes, wb_blas *h_blas,           \
        cudaStream_t stream)                                                             \
    {                                                                                    \
        shape z = {B, T, S, H, K, D, ldq, ldkv};                                         \
        return attention_backward(                                                       \
            dq, dk, dv, dout, q, k, v, p, z, scale, workspace, workspace_bytes, h_blas,  \
            stream);                                                                     \
    }                                                                                    \
    size_t attention_gemm_backward_workspace_##e(                                        \
        int B, int T, int S, int H, int K, int D)                                        \
    {                                                                                    \
        return backward_workspace<E>({B, T, S, H, K, D, 0, 0});                          \
    }
DEFINE(float, f32)
DEFINE(wb_f16, f16)
DEFINE(wb_bf16, bf16)
