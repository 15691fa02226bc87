/* 04_registers.cu - the row stays in registers, and a wide row gets more warps.
 *
 * Each thread loads VECS_PER_THREAD vectors before it uses the first, so many requests
 * are in flight together; the loop of 03_vector.cu waited for each in turn. After the sum
 * they are still in registers, so the second loop reads nothing. A row too wide for one
 * warp is shared by a block, whose warps add their sums in shared memory. What does not
 * fit (more than VECS_PER_THREAD vectors for each of 512 threads) is read twice, as
 * before.
 *
 * What is left: backward reads dout and x twice, for dx and again for dw. The solution
 * computes both in one pass, with dw in registers over all rows of a block.
 */
// fails: back_once
#include "rmsnorm.h"

#include "cuda/vec.cuh"
#include "dw_vectors.cuh"
#include "partials.cuh"

constexpr int VECS_PER_THREAD = 4;  // of a row, in registers
constexpr int MAX_THREADS = 512;    // per row

/* The sum over the blockDim.x threads of a row */
static __device__ float row_sum(float v)
{
    __shared__ float part[MAX_THREADS / WARP];
    for (int m = 16; m > 0; m >>= 1)
        v += __shfl_xor_sync(0xffffffffu, v, m);
    if (blockDim.x == WARP) return v;
    if (threadIdx.x % WARP == 0) part[threadIdx.x / WARP] = v;
    __syncthreads();  // every warp's sum is in part
    v = 0.0f;
    for (int i = 0; i < (int)blockDim.x / WARP; i++)
        v += part[i];
    return v;
}

template <typename E, int N> static __device__ vec<E, N> add(vec<E, N> a, vec<E, N> b)
{
    for (int j = 0; j < N; j++)
        a[j] = (E)((float)a[j] + (float)b[j]);
    return a;
}

template <typename E, int N> static __device__ float squares_of(const vec<E, N> &a)
{
    float squares = 0.0f;
    for (int j = 0; j < N; j++)
        squares += (float)a[j] * (float)a[j];
    return squares;
}

template <typename E, int N>
static __device__ vec<E, N> normalise(vec<E, N> a, vec<E, N> f, float r, float offset)
{
    for (int j = 0; j < N; j++)
        a[j] = (E)((float)a[j] * r * (offset + (float)f[j]));
    return a;
}

template <typename E, int N>
static __global__ void __launch_bounds__(MAX_THREADS) forward_rows(
    vec<E, N> *out, vec<E, N> *sum, float *rstd, const vec<E, N> *x, const vec<E, N> *res,
    const vec<E, N> *w, int C, float eps, float offset)
{
    int vecs = C / N, t = threadIdx.x, T = blockDim.x;
    size_t start = (size_t)blockIdx.x * vecs;
    vec<E, N> a[VECS_PER_THREAD];
    float squares = 0.0f;
#pragma unroll
    for (int k = 0; k < VECS_PER_THREAD; k++)
        if (t + k * T < vecs) a[k] = x[start + t + k * T];
#pragma unroll
    for (int k = 0; k < VECS_PER_THREAD; k++) {
        int i = t + k * T;
        if (i >= vecs) break;
        if (res) sum[start + i] = a[k] = add(a[k], res[start + i]);
        squares += squares_of(a[k]);
    }
    for (int i = t + VECS_PER_THREAD * T; i < vecs; i += T) {  // what does not fit
        vec<E, N> b = x[start + i];
        if (res) sum[start + i] = b = add(b, res[start + i]);
        squares += squares_of(b);
    }
    float r = 1.0f / sqrtf(row_sum(squares) / C + eps);
    if (rstd && t == 0) rstd[blockIdx.x] = r;
#pragma unroll
    for (int k = 0; k < VECS_PER_THREAD; k++)
        if (t + k * T < vecs)
            out[start + t + k * T] = normalise(a[k], w[t + k * T], r, offset);
    const vec<E, N> *from = res ? sum : x;
    for (int i = t + VECS_PER_THREAD * T; i < vecs; i += T)
        out[start + i] = normalise(from[start + i], w[i], r, offset);
}

template <typename E, int N>
static __device__ float dot_of(vec<E, N> d, vec<E, N> f, vec<E, N> a, float offset)
{
    float ux = 0.0f;
    for (int j = 0; j < N; j++)
        ux += (float)d[j] * (offset + (float)f[j]) * (float)a[j];
    return ux;
}

template <typename E, int N>
static __device__ vec<E, N> gradient(
    vec<E, N> d, vec<E, N> a, vec<E, N> f, const vec<E, N> *dres, float r, float mean,
    float offset)
{
    vec<E, N> through = {};
    if (dres) through = *dres;
    for (int j = 0; j < N; j++) {
        float u = (float)d[j] * (offset + (float)f[j]);
        d[j] = (E)((float)through[j] + r * (u - (float)a[j] * r * mean));
    }
    return d;
}

template <typename E, int N>
static __global__ void __launch_bounds__(MAX_THREADS) dx_rows(
    vec<E, N> *dx, const vec<E, N> *dout, const vec<E, N> *x, const vec<E, N> *w,
    const float *rstd, const vec<E, N> *dres, int C, float offset)
{
    int vecs = C / N, t = threadIdx.x, T = blockDim.x;
    size_t start = (size_t)blockIdx.x * vecs;
    dx += start, dout += start, x += start, dres += dres ? start : 0;
    vec<E, N> a[VECS_PER_THREAD], d[VECS_PER_THREAD];
    float ux = 0.0f;
#pragma unroll
    for (int k = 0; k < VECS_PER_THREAD; k++)
        if (t + k * T < vecs) a[k] = x[t + k * T], d[k] = dout[t + k * T];
#pragma unroll
    for (int k = 0; k < VECS_PER_THREAD; k++)
        if (t + k * T < vecs) ux += dot_of(d[k], w[t + k * T], a[k], offset);
    for (int i = t + VECS_PER_THREAD * T; i < vecs; i += T)  // what does not fit
        ux += dot_of(dout[i], w[i], x[i], offset);
    float r = rstd[blockIdx.x], mean = r * (row_sum(ux) / C);
#pragma unroll
    for (int k = 0; k < VECS_PER_THREAD; k++) {
        int i = t + k * T;
        if (i < vecs)
            dx[i] = gradient(d[k], a[k], w[i], dres ? dres + i : NULL, r, mean, offset);
    }
    for (int i = t + VECS_PER_THREAD * T; i < vecs; i += T)
        dx[i] = gradient(dout[i], x[i], w[i], dres ? dres + i : NULL, r, mean, offset);
}

/* Threads of a row: whole warps, VECS_PER_THREAD vectors each if that is enough. */
static int threads_for(int vecs)
{
    int threads = (vecs + VECS_PER_THREAD * WARP - 1) / (VECS_PER_THREAD * WARP) * WARP;
    return threads < MAX_THREADS ? threads : MAX_THREADS;
}

template <typename E, int N>
static void launch_forward(
    E *out, E *sum, float *rstd, const E *x, const E *res, const E *w, int R, int C,
    float eps, float offset, cudaStream_t stream)
{
    typedef vec<E, N> V;
    forward_rows<E, N><<<R, threads_for(C / N), 0, stream>>>(
        (V *)out, (V *)sum, rstd, (const V *)x, (const V *)res, (const V *)w, C, eps,
        offset);
}

template <typename E>
static void forward(
    E *out, E *sum, float *rstd, const E *x, const E *res, const E *w, int R, int C,
    float eps, float offset, cudaStream_t stream)
{
    auto launch = use_vectors<E>(C, out, sum, x, res, w) ? launch_forward<E, VEC16<E>>
                                                         : launch_forward<E, 1>;
    launch(out, sum, rstd, x, res, w, R, C, eps, offset, stream);
}

template <typename E, int N>
static void launch_backward(
    E *dx, float *dw, const E *dout, const E *x, const E *w, const float *rstd,
    const E *dres, int R, int C, float offset, float *partial, cudaStream_t stream)
{
    typedef vec<E, N> V;
    int P = shares(R);
    dw_partial<E, N><<<dim3((C / N + 127) / 128, P), 128, 0, stream>>>(
        partial, (const V *)dout, (const V *)x, rstd, R, C);
    add_partials<<<(C + 127) / 128, 128, 0, stream>>>(dw, partial, P, C);
    dx_rows<E, N><<<R, threads_for(C / N), 0, stream>>>(
        (V *)dx, (const V *)dout, (const V *)x, (const V *)w, rstd, (const V *)dres, C,
        offset);
}

template <typename E>
static void backward(
    E *dx, float *dw, const E *dout, const E *x, const E *w, const float *rstd,
    const E *dres, int R, int C, float offset, float *partial, cudaStream_t stream)
{
    auto launch = use_vectors<E>(C, dx, dout, x, w, dres) ? launch_backward<E, VEC16<E>>
                                                          : launch_backward<E, 1>;
    launch(dx, dw, dout, x, w, rstd, dres, R, C, offset, partial, stream);
}

#include "contract.h"
