/* 04_registers.cu - the row stays in registers, and a wide row gets more warps.
 *
 * Each thread loads KEPT vectors before it uses the first: that many requests are on their
 * way at once, where the loop of 03_vector.cu waited for each in turn. After the sum they
 * are still there, so the second loop reads nothing. A row too wide for one warp is shared
 * by a block, whose warps add their sums in shared memory. What does not fit (more than
 * KEPT vectors for each of 512 threads) is read twice, as before.
 *
 * What is left: backward reads dout and x twice, for dx and again for dw. The solution
 * forms both in one pass, with dw in registers over all rows of a block.
 */
#include "rmsnorm.h"

constexpr int WARP = 32;
constexpr int KEPT = 4;        // vectors of a row that a thread keeps
constexpr int MOST = 512;      // threads of a row
constexpr int SHARE = 32;      // rows of one partial sum of dw
constexpr int MOST_P = 65535;  // the limit of gridDim.y

/* N elements, read and written by one instruction */
template <typename E, int N> struct alignas(N * sizeof(E)) vec {
    E at[N];
};

/* Sum over the threads of a row, blockDim.x of them. */
static __device__ float row_sum(float v)
{
    __shared__ float part[MOST / WARP];
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

template <typename E, int N>
static __device__ vec<E, N> add(vec<E, N> a, const vec<E, N> &b)
{
    for (int j = 0; j < N; j++)
        a.at[j] = (E)((float)a.at[j] + (float)b.at[j]);
    return a;
}

template <typename E, int N> static __device__ float squares_of(const vec<E, N> &a)
{
    float squares = 0.0f;
    for (int j = 0; j < N; j++)
        squares += (float)a.at[j] * (float)a.at[j];
    return squares;
}

template <typename E, int N>
static __device__ vec<E, N> normal(vec<E, N> a, const vec<E, N> &f, float r, float offset)
{
    for (int j = 0; j < N; j++)
        a.at[j] = (E)((float)a.at[j] * r * (offset + (float)f.at[j]));
    return a;
}

template <typename E, int N>
static __global__ void __launch_bounds__(MOST) forward_rows(
    vec<E, N> *out, vec<E, N> *sum, float *rstd, const vec<E, N> *x, const vec<E, N> *res,
    const vec<E, N> *w, int C, float eps, float offset)
{
    int vecs = C / N, t = threadIdx.x, T = blockDim.x;
    size_t start = (size_t)blockIdx.x * vecs;
    vec<E, N> a[KEPT];
    float squares = 0.0f;
#pragma unroll
    for (int k = 0; k < KEPT; k++)
        if (t + k * T < vecs) a[k] = x[start + t + k * T];
#pragma unroll
    for (int k = 0; k < KEPT; k++) {
        int i = t + k * T;
        if (i >= vecs) break;
        if (res) sum[start + i] = a[k] = add(a[k], res[start + i]);
        squares += squares_of(a[k]);
    }
    for (int i = t + KEPT * T; i < vecs; i += T) {  // what did not fit
        vec<E, N> b = x[start + i];
        if (res) sum[start + i] = b = add(b, res[start + i]);
        squares += squares_of(b);
    }
    float r = 1.0f / sqrtf(row_sum(squares) / C + eps);
    if (rstd && t == 0) rstd[blockIdx.x] = r;
#pragma unroll
    for (int k = 0; k < KEPT; k++)
        if (t + k * T < vecs)
            out[start + t + k * T] = normal(a[k], w[t + k * T], r, offset);
    const vec<E, N> *from = res ? sum : x;
    for (int i = t + KEPT * T; i < vecs; i += T)
        out[start + i] = normal(from[start + i], w[i], r, offset);
}

template <typename E, int N>
static __device__ float
dot_of(const vec<E, N> &d, const vec<E, N> &f, const vec<E, N> &a, float offset)
{
    float ux = 0.0f;
    for (int j = 0; j < N; j++)
        ux += (float)d.at[j] * (offset + (float)f.at[j]) * (float)a.at[j];
    return ux;
}

template <typename E, int N>
static __device__ vec<E, N> gradient(
    vec<E, N> d, const vec<E, N> &a, const vec<E, N> &f, const vec<E, N> *dres, float r,
    float mean, float offset)
{
    vec<E, N> past = {};
    if (dres) past = *dres;
    for (int j = 0; j < N; j++) {
        float u = (float)d.at[j] * (offset + (float)f.at[j]);
        d.at[j] = (E)((float)past.at[j] + r * (u - (float)a.at[j] * r * mean));
    }
    return d;
}

template <typename E, int N>
static __global__ void __launch_bounds__(MOST) dx_rows(
    vec<E, N> *dx, const vec<E, N> *dout, const vec<E, N> *x, const vec<E, N> *w,
    const float *rstd, const vec<E, N> *dres, int C, float offset)
{
    int vecs = C / N, t = threadIdx.x, T = blockDim.x;
    size_t start = (size_t)blockIdx.x * vecs;
    dx += start, dout += start, x += start, dres += dres ? start : 0;
    vec<E, N> a[KEPT], d[KEPT];
    float ux = 0.0f;
#pragma unroll
    for (int k = 0; k < KEPT; k++)
        if (t + k * T < vecs) a[k] = x[t + k * T], d[k] = dout[t + k * T];
#pragma unroll
    for (int k = 0; k < KEPT; k++)
        if (t + k * T < vecs) ux += dot_of(d[k], w[t + k * T], a[k], offset);
    for (int i = t + KEPT * T; i < vecs; i += T)  // what did not fit
        ux += dot_of(dout[i], w[i], x[i], offset);
    float r = rstd[blockIdx.x], mean = r * (row_sum(ux) / C);
#pragma unroll
    for (int k = 0; k < KEPT; k++) {
        int i = t + k * T;
        if (i < vecs)
            dx[i] = gradient(d[k], a[k], w[i], dres ? dres + i : NULL, r, mean, offset);
    }
    for (int i = t + KEPT * T; i < vecs; i += T)
        dx[i] = gradient(dout[i], x[i], w[i], dres ? dres + i : NULL, r, mean, offset);
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

/* Threads of a row: whole warps, each thread with KEPT vectors if that is enough. */
static int threads_for(int vecs)
{
    int threads = (vecs + KEPT * WARP - 1) / (KEPT * WARP) * WARP;
    return threads < MOST ? threads : MOST;
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
    dx_rows<E, N><<<R, threads_for(C / N), 0, stream>>>(
        (V *)dx, (const V *)dout, (const V *)x, (const V *)w, rstd, (const V *)dres, C,
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
