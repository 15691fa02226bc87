/* 03_vector.cu - 16-byte accesses.
 *
 * A load instruction costs the same for 2 bytes as for 16. With 16 a thread has eight
 * times as many bytes of f16 in flight, and the loop around the loads runs an eighth as
 * often. All rows must start at multiples of 16 bytes. Where they do not (C = 1001, a
 * tensor at an odd address), the same kernels run with vectors of one element.
 *
 * What is left: the second loop reads the row again, if only from the cache, and a warp
 * is too few threads for a wide row. See 04_registers.cu.
 */
// fails: block,once,residual_once,back_twice,back_once
#include "rmsnorm.h"

#include "cuda/vec.cuh"
#include "dw_vectors.cuh"
#include "partials.cuh"

constexpr int ROWS_PER_BLOCK = 4;  // one warp each

static __device__ float warp_sum(float v)  // the same in every lane
{
    for (int m = 16; m > 0; m >>= 1)
        v += __shfl_xor_sync(0xffffffffu, v, m);
    return v;
}

template <typename E, int N>
static __global__ void forward_rows(
    vec<E, N> *out, vec<E, N> *sum, float *rstd, const vec<E, N> *x, const vec<E, N> *res,
    const vec<E, N> *w, int R, int C, float eps, float offset)
{
    int row = blockIdx.x * ROWS_PER_BLOCK + threadIdx.y, lane = threadIdx.x, vecs = C / N;
    if (row >= R) return;  // a whole warp
    size_t start = (size_t)row * vecs;
    float squares = 0.0f;
    for (int i = lane; i < vecs; i += WARP) {
        vec<E, N> a = x[start + i];
        if (res) {
            vec<E, N> b = res[start + i];
            for (int j = 0; j < N; j++)
                a[j] = (E)((float)a[j] + (float)b[j]);
            sum[start + i] = a;
        }
        for (int j = 0; j < N; j++)
            squares += (float)a[j] * (float)a[j];
    }
    float r = 1.0f / sqrtf(warp_sum(squares) / C + eps);
    if (rstd && lane == 0) rstd[row] = r;
    const vec<E, N> *from = res ? sum : x;
    for (int i = lane; i < vecs; i += WARP) {
        vec<E, N> a = from[start + i], f = w[i];
        for (int j = 0; j < N; j++)
            a[j] = (E)((float)a[j] * r * (offset + (float)f[j]));
        out[start + i] = a;
    }
}

template <typename E, int N>
static __global__ void dx_rows(
    vec<E, N> *dx, const vec<E, N> *dout, const vec<E, N> *x, const vec<E, N> *w,
    const float *rstd, const vec<E, N> *dres, int R, int C, float offset)
{
    int row = blockIdx.x * ROWS_PER_BLOCK + threadIdx.y, lane = threadIdx.x, vecs = C / N;
    if (row >= R) return;
    size_t start = (size_t)row * vecs;
    float ux = 0.0f;
    for (int i = lane; i < vecs; i += WARP) {
        vec<E, N> d = dout[start + i], a = x[start + i], f = w[i];
        for (int j = 0; j < N; j++)
            ux += (float)d[j] * (offset + (float)f[j]) * (float)a[j];
    }
    float r = rstd[row], mean = r * (warp_sum(ux) / C);
    for (int i = lane; i < vecs; i += WARP) {
        vec<E, N> d = dout[start + i], a = x[start + i], f = w[i], through = {};
        if (dres) through = dres[start + i];
        for (int j = 0; j < N; j++) {
            float u = (float)d[j] * (offset + (float)f[j]);
            float g = r * (u - (float)a[j] * r * mean);
            d[j] = (E)((float)through[j] + g);
        }
        dx[start + i] = d;
    }
}

template <typename E, int N>
static void launch_forward(
    E *out, E *sum, float *rstd, const E *x, const E *res, const E *w, int R, int C,
    float eps, float offset, cudaStream_t stream)
{
    typedef vec<E, N> V;
    int blocks = (R + ROWS_PER_BLOCK - 1) / ROWS_PER_BLOCK;
    forward_rows<E, N><<<blocks, dim3(WARP, ROWS_PER_BLOCK), 0, stream>>>(
        (V *)out, (V *)sum, rstd, (const V *)x, (const V *)res, (const V *)w, R, C, eps,
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
    int blocks = (R + ROWS_PER_BLOCK - 1) / ROWS_PER_BLOCK;
    dx_rows<E, N><<<blocks, dim3(WARP, ROWS_PER_BLOCK), 0, stream>>>(
        (V *)dx, (const V *)dout, (const V *)x, (const V *)w, rstd, (const V *)dres, R, C,
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
