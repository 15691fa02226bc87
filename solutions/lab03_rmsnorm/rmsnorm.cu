/* rmsnorm.cu - lab 03: RMSNorm forward, alone and with the residual addition before it.
 * The contract is rmsnorm.h.
 *
 * 03.1  forward
 * 03.2  the residual sum and its norm
 * 03.5  every row read once
 *
 * The time goes into memory traffic, not arithmetic. What counts is how often a row is
 * read, and how many bytes are in flight.
 */
#include "rmsnorm.h"

#include "cuda/device.cuh"
#include "cuda/fold.cuh"
#include "cuda/vec.cuh"
#include "row_sum.cuh"

/* --- kernels ------------------------------------------------------------------------ */

// BEGIN SOLUTION 03.1 (about 10 lines in a first version)
//> /* A block of 32 threads, one warp, per row: thread t owns the columns t, t + 32, t + 64,
//>  * ... That is enough to pass; the guide shows the way to a fast kernel. */
//> template <typename E>
//> static __global__ void forward_rows(
//>     E *out, float *rstd, const E *x, const E *w, int C, float eps, float offset)
//> {
//>     int row = blockIdx.x;               // [0, R)
//>     const E *xr = x + (size_t)row * C;  // (C): this row
//>     E *yr = out + (size_t)row * C;
//>     float squares = 0.0f;  // always float, whatever E is
//>     // TODO(03.1): add the squares of this thread's columns. About 3 lines.
//>     // TODO(03.1): the row's sum: warp_sum of row_sum.cuh. About 1 line.
//>     // TODO(03.1): rstd; thread 0 stores it unless the pointer is NULL. About 2 lines.
//>     // TODO(03.1): the outputs of this thread's columns. About 2 lines.
//> }
constexpr int VECS_PER_THREAD = 4;    // of a row, in registers
constexpr int THREADS_PER_SM = 1024;  // resident, each with 64 registers

/* Threads of a block whose rows have `threads` each */
static constexpr int block_of(int threads)
{
    return threads <= WARP ? WARPS_PER_BLOCK * WARP : threads;
}

/* The row stays in registers, VECS vectors per thread. Vector i belongs to thread
 * i % THREADS, so a warp accesses 512 contiguous bytes. All loads are issued before the
 * first use: VECS of them are in flight per thread. THREADS is a compile-time constant,
 * which unrolls the loop in row_sum. 1/C is an argument, because the compiler would turn
 * the division into a function call, which costs this kernel 14 registers. */
template <typename E, int VECS, int THREADS, bool RESIDUAL>
static __global__ void
__launch_bounds__(block_of(THREADS), THREADS_PER_SM / block_of(THREADS)) forward_rows(
    E *out, E *sum, float *rstd, const E *x, const E *res, const E *w, int R, int C,
    float inv_C, float eps, float offset)
{
    __shared__ float part[(THREADS + WARP - 1) / WARP];
    constexpr int N = VEC16<E>;
    int row = blockIdx.x * blockDim.y + threadIdx.y;  // [0, R)
    if (row >= R) return;  // only rows within a warp, which need no barrier
    int vecs = C / N, first = threadIdx.x;
    size_t start = (size_t)row * vecs;
    raw<E, N> a[VECS], f[VECS];  // this thread's part of the row; its weights
    float v[N], u[N];

#pragma unroll
    for (int k = 0; k < VECS; k++) {
        int i = first + k * THREADS;
        if (i < vecs) a[k] = load_raw<E, N>(x, start + i);
    }
    if (RESIDUAL) {  // 03.2
#pragma unroll
        for (int k = 0; k < VECS; k++) {  // f is free until the weights are loaded
            int i = first + k * THREADS;
            if (i < vecs) f[k] = load_raw<E, N>(res, start + i);
        }
#pragma unroll
        for (int k = 0; k < VECS; k++) {
            int i = first + k * THREADS;
            if (i >= vecs) continue;
            to_float<E, N>(v, a[k]), to_float<E, N>(u, f[k]);
            for (int j = 0; j < N; j++)
                v[j] += u[j];
            a[k] = to_raw<E, N>(v);  // rounded to E: what backward will see
            store_raw<E, N>(sum, start + i, a[k]);
        }
    }

#pragma unroll
    for (int k = 0; k < VECS; k++) {  // arrive while the sum is computed
        int i = first + k * THREADS;
        if (i < vecs) f[k] = load_raw<E, N>(w, i);
    }
    float squares = 0.0f;
#pragma unroll
    for (int k = 0; k < VECS; k++) {
        if (first + k * THREADS >= vecs) continue;
        to_float<E, N>(v, a[k]);
        squares = add_squares(squares, v);
    }
    float r = rsqrtf(row_sum<THREADS>(squares, part) * inv_C + eps);
    if (rstd && threadIdx.x == 0) rstd[row] = r;

#pragma unroll
    for (int k = 0; k < VECS; k++) {
        int i = first + k * THREADS;
        if (i >= vecs) continue;
        to_float<E, N>(v, a[k]), to_float<E, N>(u, f[k]);
        for (int j = 0; j < N; j++)
            v[j] *= r * (offset + u[j]);
        store_raw<E, N>(out, start + i, to_raw<E, N>(v));
    }
}

/* Any width: a block of BLOCK threads per row reads it twice, the second time mostly from the cache. If
 * the tensors start at multiples of 16 bytes, a row consists of `head` elements up to the
 * next such multiple, `body` elements in vectors, and a tail. If not, head = C: all of it
 * is scalar. */
template <typename E, int BLOCK>
static __global__ void __launch_bounds__(BLOCK) forward_any_width(
    E *out, E *sum, float *rstd, const E *x, const E *res, const E *w, int C, float inv_C,
    float eps, float offset, bool aligned)
{
    __shared__ float part[WARP];
    constexpr int N = VEC16<E>;
    size_t start = (size_t)blockIdx.x * C;
    int to_next = (int)((N - start % N) % N);
    int head = aligned && to_next < C ? to_next : C, body = (C - head) / N * N;
    const E *row = (res ? sum : x) + start;  // what is normalised; sum is written below
    float squares = 0.0f;

    for (int v = threadIdx.x; v < body / N; v += blockDim.x) {
        size_t i = (start + head) / N + v;
        vec<E, N> a = load_vec<N>(x, i);
        if (res) {
            vec<E, N> b = load_vec<N>(res, i);
            for (int j = 0; j < N; j++)
                a[j] = (E)((float)a[j] + (float)b[j]);
            store_vec(sum, i, a);
        }
        float f[N];
        to_float(f, a);
        squares = add_squares(squares, f);
    }
    for (int s = threadIdx.x; s < C - body; s += blockDim.x) {
        int c = s < head ? s : s + body;  // head, then tail
        E a = x[start + c];
        if (res) sum[start + c] = a = (E)((float)a + (float)res[start + c]);
        squares += (float)a * (float)a;
    }
    float r = rsqrtf(row_sum<BLOCK>(squares, part) * inv_C + eps);
    if (rstd && threadIdx.x == 0) rstd[blockIdx.x] = r;

    for (int v = threadIdx.x; v < body / N; v += blockDim.x) {
        int c = head + v * N;
        vec<E, N> a = load_vec<N>(row + c);
        for (int j = 0; j < N; j++)
            a[j] = (E)((float)a[j] * r * (offset + (float)w[c + j]));
        store_vec(out + start + c, a);
    }
    for (int s = threadIdx.x; s < C - body; s += blockDim.x) {
        int c = s < head ? s : s + body;
        out[start + c] = (E)((float)row[c] * r * (offset + (float)w[c]));
    }
}
// END SOLUTION

/* --- launchers ---------------------------------------------------------------------- */

// BEGIN SOLUTION 03.1 (about 40 lines)
/* A narrow row gets LANES_PER_ROW lanes or a warp, a wide row a block. */
template <typename E, int VECS, int THREADS>
static void launch_rows(
    E *out, E *sum, float *rstd, const E *x, const E *res, const E *w, int R, int C,
    float eps, float offset, cudaStream_t stream)
{
    int rows = THREADS <= WARP ? WARPS_PER_BLOCK * WARP / THREADS : 1;
    auto kernel = res ? forward_rows<E, VECS, THREADS, true>
                      : forward_rows<E, VECS, THREADS, false>;
    kernel<<<(R + rows - 1) / rows, dim3(THREADS, rows), 0, stream>>>(
        out, sum, rstd, x, res, w, R, C, 1.0f / C, eps, offset);
}

/* x alone if res is NULL, else x + res */
template <typename E>
static wb_status launch_forward(
    E *out, E *sum, float *rstd, const E *x, const E *res, const E *w, int R, int C,
    float eps, float offset, cudaStream_t stream)
{
    constexpr int N = VEC16<E>;
    bool aligned = is_aligned(16, out, sum, x, res);
    int vecs = C / N;
    if (!aligned || !is_aligned(16, w) || C % N || vecs > MAX_THREADS * VECS_PER_THREAD) {
        forward_any_width<E, ANY_WIDTH_THREADS><<<R, ANY_WIDTH_THREADS, 0, stream>>>(
            out, sum, rstd, x, res, w, C, 1.0f / C, eps, offset, aligned);
        return wb_launched();
    }
    if (!waits_are_cheap()) {
        forward_any_width<E, 1><<<R, 1, 0, stream>>>(
            out, sum, rstd, x, res, w, C, 1.0f / C, eps, offset, aligned);
        return wb_launched();
    }
    constexpr int K = VECS_PER_THREAD;
    auto launch = vecs <= LANES_PER_ROW * K ? launch_rows<E, K, LANES_PER_ROW>
                  : vecs <= WARP * 2        ? launch_rows<E, 2, WARP>
                  : vecs <= WARP * K        ? launch_rows<E, K, WARP>
                  : vecs <= 128 * K         ? launch_rows<E, K, 128>
                  : vecs <= 256 * K         ? launch_rows<E, K, 256>
                                            : launch_rows<E, K, MAX_THREADS>;
    launch(out, sum, rstd, x, res, w, R, C, eps, offset, stream);
    return wb_launched();
}
// END SOLUTION

template <typename E>
static wb_status forward(
    E *out, float *rstd, const E *x, const E *w, int R, int C, float eps, float offset,
    cudaStream_t stream)
{
    if (R < 0 || C < 1 || !(eps > 0.0f)) return WB_BAD_SHAPE;
    if (R == 0) return WB_OK;
    if (!out || !x || !w) return WB_BAD_SHAPE;
    // BEGIN SOLUTION 03.1 (2 lines)
    //> // TODO(03.1): launch forward_rows on the stream, then return wb_launched().
    //> return WB_TODO;
    return launch_forward<E>(out, NULL, rstd, x, NULL, w, R, C, eps, offset, stream);
    // END SOLUTION
}

template <typename E>
static wb_status residual_forward(
    E *out, E *sum, float *rstd, const E *x, const E *res, const E *w, int R, int C,
    float eps, float offset, cudaStream_t stream)
{
    if (R < 0 || C < 1 || !(eps > 0.0f)) return WB_BAD_SHAPE;
    if (R == 0) return WB_OK;
    if (!out || !sum || !x || !res || !w) return WB_BAD_SHAPE;
    // BEGIN SOLUTION 03.2 (about 15 lines, most of them a kernel like the one above)
    //> // TODO(03.2): a kernel that first rounds x + res to E and stores it in sum, then
    //> // normalises what it stored. out may be x and sum may be res: read before writing.
    //> return WB_TODO;
    return launch_forward<E>(out, sum, rstd, x, res, w, R, C, eps, offset, stream);
    // END SOLUTION
}

/* The functions of rmsnorm.h */
#define DEFINE(E, e)                                                                     \
    wb_status rmsnorm_forward_##e(                                                       \
        E *out, float *rstd, const E *x, const E *w, int R, int C, float eps,            \
        float offset, cudaStream_t stream)                                               \
    {                                                                                    \
        return forward<E>(out, rstd, x, w, R, C, eps, offset, stream);                   \
    }                                                                                    \
    wb_status rmsnorm_residual_forward_##e(                                              \
        E *out, E *sum, float *rstd, const E *x, const E *res, const E *w, int R, int C, \
        float eps, float offset, cudaStream_t stream)                                    \
    {                                                                                    \
        return residual_forward<E>(                                                      \
            out, sum, rstd, x, res, w, R, C, eps, offset, stream);                       \
    }
DEFINE(float, f32)
DEFINE(wb_f16, f16)
DEFINE(wb_bf16, bf16)
#undef DEFINE
