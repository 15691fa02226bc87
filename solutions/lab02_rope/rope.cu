/* rope.cu - lab 02: rotary position embedding. The contract is rope.h.
 *
 * 02.1  the table of cosines and sines    02.4  positions
 * 02.2  the rotation                      02.5  backward
 * 02.3  N < D, packed rows, in place      02.6  vectors, fewer reads of the table
 */
#include "rope.h"

#include "cuda/vec.cuh"

/* --- the table ---------------------------------------------------------------------- */

// BEGIN SOLUTION 02.1 (about 10 lines)
//> /* One thread for each pair i of each position p. */
//> __global__ void table_kernel(float *cis, int P, int half, float base)
//> {
//>     long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;  // [0, P*half)
//>     if (at >= (long long)P * half) return;
//>     // TODO(02.1): p and i of pair `at`. About 2 lines.
//>     // TODO(02.1): a = p base^(-2i/N), N = 2 half, and its cosine and sine: all in
//>     // double, rounded to float when they are stored. About 3 lines.
//> }
/* One thread per pair. In float the angle itself would be off by 2^-24 p, a full circle
 * after 10^8 positions. The table is computed once, so double costs nothing. */
static __global__ void table_kernel(float *cis, long long pairs, int half, float base)
{
    long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;  // [0, P*N/2)
    if (at >= pairs) return;
    long long p = at / half, i = at % half;
    double a = (double)p * pow((double)base, -(double)i / half);  // 2i/N = i/(N/2)
    cis[2 * at] = (float)cos(a);
    cis[2 * at + 1] = (float)sin(a);
}
// END SOLUTION

wb_status rope_table_f32(float *cis, int P, int N, float base, cudaStream_t stream)
{
    if (P < 0 || N < 0 || N % 2 || !(base > 0.0f)) return WB_BAD_SHAPE;
    if (P == 0 || N == 0) return WB_OK;
    if (!cis) return WB_BAD_SHAPE;
    // BEGIN SOLUTION 02.1 (about 6 lines)
    //> // TODO(02.1): table_kernel<<<blocks, threads, 0, stream>>>(...) with enough blocks
    //> // for P N/2 threads, then return wb_launched(). About 4 lines.
    //> (void)stream;
    //> return WB_TODO;
    long long pairs = (long long)P * (N / 2);
    long long blocks = (pairs + 255) / 256;
    if (blocks > INT_MAX) return WB_BAD_SHAPE;  // a table of 4 TB
    table_kernel<<<(unsigned)blocks, 256, 0, stream>>>(cis, pairs, N / 2, base);
    return wb_launched();
    // END SOLUTION
}

/* --- the rotation: kernels ---------------------------------------------------------- */

// BEGIN SOLUTION 02.2 (about 15 lines in a first version)
//> /* One thread for each pair i of each head h of each token (b,t): B T H N/2 of them.
//>  * sign: 1 forward, -1 for the rotation back. out may be x. */
//> template <typename E>
//> static __global__ void rotate_kernel(
//>     E *out, const E *x, const float *cis, const int *pos, float sign, int B, int T, int H,
//>     int D, int N, int ld)
//> {
//>     size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;  // [0, B*T*H*N/2)
//>     if (at >= (size_t)B * T * H * (N / 2)) return;
//>     // TODO(02.2): i, h and token = b*T + t of pair `at`. About 3 lines.
//>     // TODO(02.2): the offset of the head: token*ld + h*D, a size_t. About 1 line.
//>     // TODO(02.2): (c,s) = cis[p,i]; read x_i and x_j, j = i + N/2, both before either is
//>     // written; out_i = x_i c - x_j s, out_j = x_j c + x_i s. (float)x converts any E
//>     // to float, E(y) rounds: round once, at the end. About 6 lines.
//>     // TODO(02.3): if N < D and out is not x, copy the channels N..D-1. About 3 lines.
//>     // TODO(02.4): p is pos[token], or t if pos is NULL. About 1 line.
//>     // TODO(02.5): use sign. About 1 line.
//> }
/* Forward and backward are one kernel: the gradient of a rotation is the rotation back.
 * All heads of a token are rotated by the same angles, so a thread takes the same pairs
 * of several heads: it reads cosines and sines once, and all its loads are in flight
 * together. */
constexpr int HEADS_PER_THREAD = 4;  // 8 loads of 16 bytes in flight
constexpr int MAX_THREADS = 256;     // per block

/* A head is divided into vectors: `rotated` vectors of V pairs each; then, out of place,
 * vectors of the V channels after N that are copied. A thread takes one vector of the
 * heads lane, lane + lanes, ...:
 *
 *     V = 4, N = 16:   channel  0..3   4..7   8..11  12..15  16..19  20..23
 *                      vector     0      1      0       1       2       3             */
typedef struct shape {
    long long tokens;  // B*T
    int T, H, D, ld;
    int half;  // N/2
    int rotated, vecs, lanes;
    float sign;  // of the angle
} shape;

/* out_i = x_i c - x_j s and out_j = x_j c + x_i s for V pairs of each head of the lane */
template <int V, typename E>
static __device__ __forceinline__ void
rotate_heads(E *out, const E *x, const float *cis, shape s, int lane)
{
    // if the rows of x are aligned to 16 bytes, so are those of the table
    constexpr int W = V == 1 ? 1 : 4;
    vec<float, W> angle[2 * V / W];  // V times (cos, sin)
    vec<E, V> xi[HEADS_PER_THREAD], xj[HEADS_PER_THREAD];
    float c[V], si[V];
#pragma unroll
    for (int k = 0; k < 2 * V / W; k++)
        angle[k] = load_vec<W>(cis, k);
#pragma unroll
    for (int v = 0; v < V; v++) {
        c[v] = angle[2 * v / W][2 * v % W];
        si[v] = angle[(2 * v + 1) / W][(2 * v + 1) % W] * s.sign;
    }
#pragma unroll
    for (int k = 0; k < HEADS_PER_THREAD; k++) {
        int h = lane + k * s.lanes;
        if (h >= s.H) continue;
        xi[k] = load_vec<V>(x + h * s.D);
        xj[k] = load_vec<V>(x + h * s.D + s.half);
    }
#pragma unroll
    for (int k = 0; k < HEADS_PER_THREAD; k++) {
        int h = lane + k * s.lanes;
        if (h >= s.H) continue;
#pragma unroll
        for (int v = 0; v < V; v++) {
            float a = (float)xi[k][v], b = (float)xj[k][v];
            xi[k][v] = E(a * c[v] - b * si[v]);
            xj[k][v] = E(b * c[v] + a * si[v]);
        }
        store_vec(out + h * s.D, xi[k]);
        store_vec(out + h * s.D + s.half, xj[k]);
    }
}

/* Copies the channels after N when out is not x. */
template <int V, typename E>
static __device__ __forceinline__ void copy_heads(E *out, const E *x, shape s, int lane)
{
    for (int k = 0; k < HEADS_PER_THREAD; k++) {
        int h = lane + k * s.lanes;
        if (h < s.H) store_vec(out + h * s.D, load_vec<V>(x + h * s.D));
    }
}

/* out may be x: a thread reads the pairs it rotates before it writes them, and no other
 * thread accesses them. */
template <int V, typename E>
static __global__ void
rotate_kernel(E *out, const E *x, const float *cis, const int *pos, shape s)
{
    long long token = (long long)blockIdx.x * blockDim.y + threadIdx.y;  // [0, B*T)
    if (token >= s.tokens) return;
    int p = pos ? pos[token] : (int)(token % s.T);
    out += token * s.ld, x += token * s.ld, cis += (size_t)p * s.half * 2;
    for (int i = threadIdx.x; i < s.vecs * s.lanes; i += blockDim.x) {
        int at = i % s.vecs, lane = i / s.vecs;
        if (at < s.rotated)
            rotate_heads<V>(out + at * V, x + at * V, cis + at * V * 2, s, lane);
        else  // vectors 0..rotated-1 have taken 2 V channels each
            copy_heads<V>(out + (at + s.rotated) * V, x + (at + s.rotated) * V, s, lane);
    }
}
// END SOLUTION

/* --- the rotation: launchers -------------------------------------------------------- */

// BEGIN SOLUTION 02.2 (about 18 lines)
template <int V, typename E>
static wb_status
launch(E *out, const E *x, const float *cis, const int *pos, shape s, cudaStream_t stream)
{
    s.rotated = s.half / V;
    s.vecs = s.rotated + (out == x ? 0 : (s.D - 2 * s.half) / V);
    s.lanes = (s.H - 1) / HEADS_PER_THREAD + 1;
    int work = s.vecs * s.lanes;  // items per token, one per thread
    if (work == 0) return WB_OK;  // nothing to rotate, and in place nothing to copy
    unsigned x_threads = work < MAX_THREADS ? work : MAX_THREADS;
    unsigned y_threads = MAX_THREADS / x_threads;  // tokens per block
    long long blocks = (s.tokens + y_threads - 1) / y_threads;
    if (blocks > INT_MAX) return WB_BAD_SHAPE;
    rotate_kernel<V><<<(unsigned)blocks, dim3(x_threads, y_threads), 0, stream>>>(
        out, x, cis, pos, s);
    return wb_launched();
}
// END SOLUTION

template <typename E>
static wb_status rotate(
    E *out, const E *x, const float *cis, const int *pos, float sign, int B, int T, int H,
    int D, int N, int ld, cudaStream_t stream)
{
    if (B < 0 || T < 0 || H < 0 || D < 0 || N < 0 || N > D || N % 2) return WB_BAD_SHAPE;
    if (ld < (long long)H * D) return WB_BAD_SHAPE;
    if (B == 0 || T == 0 || H == 0 || D == 0) return WB_OK;
    if (!out || !x || (!cis && N > 0)) return WB_BAD_SHAPE;
    // BEGIN SOLUTION 02.2 (about 8 lines)
    //> // TODO(02.2): rotate_kernel<<<blocks, threads, 0, stream>>>(...) with enough blocks
    //> // for B T H N/2 threads, then return wb_launched(). About 4 lines.
    //> // TODO(02.5): delete the next line when the kernel uses sign.
    //> if (sign < 0.0f) return WB_TODO;
    //> (void)pos, (void)stream;
    //> return WB_TODO;
    constexpr int V = VEC16<E>;
    shape s = {(long long)B * T, T, H, D, ld, N / 2, 0, 0, 0, sign};
    bool aligned = is_aligned(16, out, x, cis);
    bool vectors = aligned && ld % V == 0 && D % V == 0 && s.half % V == 0;
    return vectors ? launch<V>(out, x, cis, pos, s, stream)
                   : launch<1>(out, x, cis, pos, s, stream);
    // END SOLUTION
}

/* The functions of rope.h */
#define DEFINE(E, e)                                                                     \
    wb_status rope_forward_##e(                                                          \
        E *out, const E *x, const float *cis, const int *pos, int B, int T, int H,       \
        int D, int N, int ld, cudaStream_t stream)                                       \
    {                                                                                    \
        return rotate(out, x, cis, pos, 1.0f, B, T, H, D, N, ld, stream);                \
    }                                                                                    \
    wb_status rope_backward_##e(                                                         \
        E *dx, const E *dout, const float *cis, const int *pos, int B, int T, int H,     \
        int D, int N, int ld, cudaStream_t stream)                                       \
    {                                                                                    \
        return rotate(dx, dout, cis, pos, -1.0f, B, T, H, D, N, ld, stream);             \
    }
DEFINE(float, f32)
DEFINE(wb_f16, f16)
DEFINE(wb_bf16, bf16)
#undef DEFINE
