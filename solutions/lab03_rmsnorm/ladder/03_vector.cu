/* 03_vector.cu - 16 bytes at a time.
 *
 * A load instruction costs the same for 2 bytes as for 16. With 16 a thread has eight
 * times as many bytes of f16 on their way, and the loop around them runs an eighth as
 * often. All rows must start at multiples of 16 bytes; where they do not (C = 1001, a
 * tensor at an odd address) the same kernels run with vectors of one element.
 *
 * What is left: the second loop reads the row again, if only from the cache, and a warp
 * is few threads for a wide row: see 04_registers.cu.
 */
#include "rmsnorm.h"

constexpr int WARP = 32;
constexpr int ROWS = 4;        // rows, one warp each, that share a block
constexpr int SHARE = 32;      // rows of one partial sum of dw
constexpr int MOST_P = 65535;  // the limit of gridDim.y

/* N elements, read and written by one instruction */
template <typename E, int N> struct alignas(N * sizeof(E)) vec {
    E at[N];
};

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
    int row = blockIdx.x * ROWS + threadIdx.y, lane = threadIdx.x, vecs = C / N;
    if (row >= R) return;  // a whole warp
    size_t start = (size_t)row * vecs;
    float squares = 0.0f;
    for (int i = lane; i < vecs; i += WARP) {
        vec<E, N> a = x[start + i];
        if (res) {
            vec<E, N> b = res[start + i];
            for (int j = 0; j < N; j++)
                a.at[j] = (E)((float)a.at[j] + (float)b.at[j]);
            sum[start + i] = a;
        }
        for (int j = 0; j < N; j++)
            squares += (float)a.at[j] * (float)a.at[j];
    }
    float r = 1.0f / sqrtf(warp_sum(squares) / C + eps);
    if (rstd && lane == 0) rstd[row] = r;
    const vec<E, N> *from = res ? sum : x;
    for (int i = lane; i < vecs; i += WARP) {
        vec<E, N> a = from[start + i], f = w[i];
        for (int j = 0; j < N; j++)
            a.at[j] = (E)((float)a.at[j] * r * (offset + (float)f.at[j]));
        out[start + i] = a;
    }
}

template <typename E, int N>
static __global__ void dx_rows(
    vec<E, N> *dx, const vec<E, N> *dout, const vec<E, N> *x, const vec<E, N> *w,
    const float *rstd, const vec<E, N> *dres, int R, int C, float offset)
{
    int row = blockIdx.x * ROWS + threadIdx.y, lane = threadIdx.x, vecs = C / N;
    if (row >= R) return;
    size_t start = (size_t)row * vecs;
    float ux = 0.0f;
    for (int i = lane; i < vecs; i += WARP) {
        vec<E, N> d = dout[start + i], a = x[start + i], f = w[i];
        for (int j = 0; j < N; j++)
            ux += (float)d.at[j] * (offset + (float)f.at[j]) * (float)a.at[j];
    }
    float r = rstd[row], mean = r * (warp_sum(ux) / C);
    for (int i = lane; i < vecs; i += WARP) {
        vec<E, N> d = dout[start + i], a = x[start + i], f = w[i], past = {};
        if (dres) past = dres[start + i];
        for (int j = 0; j < N; j++) {
            float u = (float)d.at[j] * (offset + (float)f.at[j]);
            float g = r * (u - (float)a.at[j] * r * mean);
            d.at[j] = (E)((float)past.at[j] + g);
        }
        dx[start + i] = d;
    }
}

/* A thread has N neighbouring columns. */
template <typename E, int N>
static __global__ void dw_partial(
    float *partial, const vec<E, N> *dout, const vec<E, N> *x, const float *rstd, int R,
    int C)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, vecs = C / N;  // [0, vecs)
    if (i >= vecs) return;
    float sum[N] = {};
    for (int row = blockIdx.y; row < R; row += gridDim.y) {
        vec<E, N> d = dout[(size_t)row * vecs + i], a = x[(size_t)row * vecs + i];
        for (int j = 0; j < N; j++)
            sum[j] += (float)d.at[j] * ((float)a.at[j] * rstd[row]);
    }
    for (int j = 0; j < N; j++)
        partial[(size_t)blockIdx.y * C + i * N + j] = sum[j];
}

static __global__ void add_partials(float *dw, const float *partial, int P, int C)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;  // [0, C)
    if (c >= C) return;
    float sum = 0.0f;
    for (int p = 0; p < P; p++)
        sum += partial[(size_t)p * C + c];
    dw[c] += sum;
}

/* Do all rows of these tensors start at multiples of 16 bytes? */
template <typename E>
static bool in_vectors(
    int C, const void *a, const void *b, const void *c, const void *d, const void *e)
{
    uintptr_t bits =
        (uintptr_t)a | (uintptr_t)b | (uintptr_t)c | (uintptr_t)d | (uintptr_t)e;
    return bits % 16 == 0 && C % (16 / sizeof(E)) == 0;
}

template <typename E, int N>
static void launch_forward(
    E *out, E *sum, float *rstd, const E *x, const E *res, const E *w, int R, int C,
    float eps, float offset, cudaStream_t stream)
{
    typedef vec<E, N> V;
    forward_rows<E, N><<<(R + ROWS - 1) / ROWS, dim3(WARP, ROWS), 0, stream>>>(
        (V *)out, (V *)sum, rstd, (const V *)x, (const V *)res, (const V *)w, R, C, eps,
        offset);
}

template <typename E>
static void forward(
    E *out, E *sum, float *rstd, const E *x, const E *res, const E *w, int R, int C,
    float eps, float offset, cudaStream_t stream)
{
    auto launch = in_vectors<E>(C, out, sum, x, res, w)
                      ? launch_forward<E, 16 / sizeof(E)>
                      : launch_forward<E, 1>;
    launch(out, sum, rstd, x, res, w, R, C, eps, offset, stream);
}

static int shares(int R)
{
    int P = (R + SHARE - 1) / SHARE;
    return P < MOST_P ? P : MOST_P;
}

static size_t backward_workspace(int R, int C)
{
    return R < 1 || C < 1 ? 0 : (size_t)shares(R) * C * sizeof(float);
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
    dx_rows<E, N><<<(R + ROWS - 1) / ROWS, dim3(WARP, ROWS), 0, stream>>>(
        (V *)dx, (const V *)dout, (const V *)x, (const V *)w, rstd, (const V *)dres, R, C,
        offset);
}

template <typename E>
static void backward(
    E *dx, float *dw, const E *dout, const E *x, const E *w, const float *rstd,
    const E *dres, int R, int C, float offset, float *partial, cudaStream_t stream)
{
    auto launch = in_vectors<E>(C, dx, dout, x, w, dres)
                      ? launch_backward<E, 16 / sizeof(E)>
                      : launch_backward<E, 1>;
    launch(dx, dw, dout, x, w, rstd, dres, R, C, offset, partial, stream);
}

#include "contract.h"
