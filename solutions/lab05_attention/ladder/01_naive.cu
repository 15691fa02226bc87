/* 01_naive.cu - the scores in memory, a thread per output element.
 *
 * Forward takes three kernels: scores, softmax, the weighted sum of v. Backward takes
 * three too: p and ds, then dq, then dk and dv. The cost is the (B,H,T,S) floats in
 * between: at T = S = 4096 and 64 heads 4 GB, written, read, written and read again,
 * while q, k, v and out together have 128 MB. Every thread of a GEMM reads its own
 * operands: the caches help, but the arithmetic units wait.
 */
// fails: online_max,lean,back_lean,tiles,one_pass,tensor_rows,tensor_tiles
// fails: tensor_heads,tensor_scores,tensor_values,back_tiles,back_q_tiles,back_f16
#include "contract.cuh"

constexpr int THREADS = 128;  // of a block

static unsigned blocks_for(size_t threads)
{
    return (unsigned)((threads + THREADS - 1) / THREADS);
}

static __device__ size_t thread_id(void)
{
    return blockIdx.x * (size_t)THREADS + threadIdx.x;
}

/* The first key that query t of sequence b sees; the last is its own, S-T+t. */
static __device__ int first_key(sizes z, const int *pos, size_t b, int t)
{
    int i = z.S - z.T + t, back = pos ? pos[b * z.T + t] : i;
    return max(i - min(back, z.window), 0);
}

/* Where rows start. Query head h reads key head h / (H/K). */
static __device__ size_t at_q(sizes z, size_t b, int t, int h)
{
    return (b * z.T + t) * z.ldq + (size_t)h * z.D;
}
static __device__ size_t at_out(sizes z, size_t b, int t, int h)
{
    return ((b * z.T + t) * z.H + h) * z.D;
}
static __device__ size_t at_kv(sizes z, size_t b, int j, int g)
{
    return (b * z.S + j) * z.ldkv + (size_t)g * z.D;
}

template <typename E> static __device__ float dot(const E *x, const E *y, int D)
{
    float sum = 0.0f;
    for (int d = 0; d < D; d++)
        sum += (float)x[d] * (float)y[d];
    return sum;
}

/* --- forward ------------------------------------------------------------------------ */

template <typename E> static __global__ void scores_kernel(float *s, forward_call<E> c)
{
    sizes z = c.z;
    size_t n = thread_id(), row = n / z.S, b = row / z.T / z.H;
    int j = n % z.S, t = row % z.T, h = row / z.T % z.H;  // s is (B,H,T,S)
    if (b >= z.B || j > z.S - z.T + t) return;
    s[n] =
        z.scale * dot(c.q + at_q(z, b, t, h), c.k + at_kv(z, b, j, h / (z.H / z.K)), z.D);
}

/* s becomes p, a thread per row */
template <typename E> static __global__ void softmax_kernel(float *s, forward_call<E> c)
{
    sizes z = c.z;
    size_t row = thread_id(), b = row / z.T / z.H;
    if (b >= z.B) return;
    int t = row % z.T, from = first_key(z, c.pos, b, t), last = z.S - z.T + t;
    float *p = s + row * z.S, m = p[last], sum = 0.0f;
    for (int j = from; j < last; j++)
        m = fmaxf(m, p[j]);
    for (int j = from; j <= last; j++)
        sum += p[j] = expf(p[j] - m);  // subtract the maximum: expf(89) is inf
    for (int j = from; j <= last; j++)
        p[j] /= sum;
    if (c.lse) c.lse[row] = m + logf(sum);
}

template <typename E>
static __global__ void weighted_sum_kernel(const float *p, forward_call<E> c)
{
    sizes z = c.z;
    size_t n = thread_id(), b = n / z.D / z.H / z.T;  // out is (B,T,H,D)
    if (b >= z.B) return;
    int d = n % z.D, h = n / z.D % z.H, t = n / z.D / z.H % z.T;
    p += ((b * z.H + h) * z.T + t) * z.S;
    const E *v = c.v + at_kv(z, b, 0, h / (z.H / z.K)) + d;
    float sum = 0.0f;
    for (int j = first_key(z, c.pos, b, t); j <= z.S - z.T + t; j++)
        sum += p[j] * (float)v[(size_t)j * z.ldkv];
    c.out[n] = E(sum);
}

template <typename E> static size_t forward_workspace(sizes z)
{
    return (size_t)z.B * z.H * z.T * z.S * sizeof(float);
}

template <typename E> static wb_status forward(forward_call<E> c, cudaStream_t s)
{
    sizes z = c.z;
    size_t rows = (size_t)z.B * z.H * z.T;
    float *p = (float *)c.workspace;
    scores_kernel<<<blocks_for(rows * z.S), THREADS, 0, s>>>(p, c);
    softmax_kernel<<<blocks_for(rows), THREADS, 0, s>>>(p, c);
    weighted_sum_kernel<<<blocks_for(rows * z.D), THREADS, 0, s>>>((const float *)p, c);
    return wb_launched();
}

/* --- backward ----------------------------------------------------------------------- */

/* p and ds, which includes the scale; 0 where a key is not seen */
template <typename E>
static __global__ void p_ds_kernel(float *p, float *ds, backward_call<E> c)
{
    sizes z = c.z;
    size_t n = thread_id(), row = n / z.S, b = row / z.T / z.H;
    if (b >= z.B) return;
    int j = n % z.S, t = row % z.T, h = row / z.T % z.H;
    p[n] = ds[n] = 0.0f;
    if (j < first_key(z, c.pos, b, t) || j > z.S - z.T + t) return;
    size_t kv = at_kv(z, b, j, h / (z.H / z.K));
    const E *dout = c.dout + at_out(z, b, t, h), *out = c.out + at_out(z, b, t, h);
    float score = z.scale * dot(c.q + at_q(z, b, t, h), c.k + kv, z.D);
    float delta = dot(dout, out, z.D), dp = dot(dout, c.v + kv, z.D);
    p[n] = expf(score - c.lse[row]);
    ds[n] = z.scale * p[n] * (dp - delta);
}

template <typename E>
static __global__ void dq_kernel(const float *ds, backward_call<E> c)
{
    sizes z = c.z;
    size_t n = thread_id(), b = n / z.D / z.H / z.T;
    if (b >= z.B) return;
    int d = n % z.D, h = n / z.D % z.H, t = n / z.D / z.H % z.T;
    ds += ((b * z.H + h) * z.T + t) * z.S;
    const E *k = c.k + at_kv(z, b, 0, h / (z.H / z.K)) + d;
    float sum = 0.0f;
    for (int j = first_key(z, c.pos, b, t); j <= z.S - z.T + t; j++)
        sum += ds[j] * (float)k[(size_t)j * z.ldkv];
    c.dq[at_q(z, b, t, h) + d] = E(sum);
}

/* A thread per element of dk and dv. It sums over the heads of the group, then over the
 * queries from the first that may see key j, always in this order: the bits repeat. */
template <typename E>
static __global__ void dkdv_kernel(const float *p, const float *ds, backward_call<E> c)
{
    sizes z = c.z;
    size_t n = thread_id(), b = n / z.D / z.K / z.S;
    if (b >= z.B) return;
    int d = n % z.D, g = n / z.D % z.K, j = n / z.D / z.K % z.S;
    float dk = 0.0f, dv = 0.0f;
    for (int h = g * (z.H / z.K); h < (g + 1) * (z.H / z.K); h++)
        for (int t = max(j - (z.S - z.T), 0); t < z.T; t++) {
            size_t at = ((b * z.H + h) * z.T + t) * z.S + j;
            dk += ds[at] * (float)c.q[at_q(z, b, t, h) + d];
            dv += p[at] * (float)c.dout[at_out(z, b, t, h) + d];
        }
    c.dk[at_kv(z, b, j, g) + d] = E(dk);
    c.dv[at_kv(z, b, j, g) + d] = E(dv);
}

template <typename E> static size_t backward_workspace(sizes z)
{
    return 2 * (size_t)z.B * z.H * z.T * z.S * sizeof(float);
}

template <typename E> static wb_status backward(backward_call<E> c, cudaStream_t s)
{
    sizes z = c.z;
    size_t scores = (size_t)z.B * z.H * z.T * z.S;
    float *p = (float *)c.workspace, *ds = p + scores;
    p_ds_kernel<<<blocks_for(scores), THREADS, 0, s>>>(p, ds, c);
    dq_kernel<<<blocks_for((size_t)z.B * z.T * z.H * z.D), THREADS, 0, s>>>(
        (const float *)ds, c);
    dkdv_kernel<<<blocks_for((size_t)z.B * z.S * z.K * z.D), THREADS, 0, s>>>(
        (const float *)p, (const float *)ds, c);
    return wb_launched();
}

DEFINE_FORWARD(float, f32)
DEFINE_FORWARD(wb_f16, f16)
DEFINE_FORWARD(wb_bf16, bf16)
DEFINE_BACKWARD(float, f32)
DEFINE_BACKWARD(wb_f16, f16)
DEFINE_BACKWARD(wb_bf16, bf16)
