/* attention_backward.cu - lab 05: attention backward in float.
 * attention.h is the specification, contract.cuh what stands around this. */
#include "contract.cuh"

// BEGIN SOLUTION 05.5 (about 200 lines)
//> /* TODO(05.5): p again from the scores and lse, then ds = p (dout . v - delta), then the
//>  * three sums. A first version may keep p and ds (B,H,T,S) in the workspace: about 70
//>  * lines. Without them: one kernel whose threads own queries gives dq, one whose threads
//>  * own keys gives dk and dv, and both make p and ds again. No atomics: who owns a key adds
//>  * up all queries and all heads of the group by itself, in a fixed order. */
//> template <typename E> static size_t backward_workspace(sizes z)
//> {
//>     (void)z;
//>     return 0;
//> }
//>
//> template <typename E> static wb_status backward(backward_call<E> c, cudaStream_t s)
//> {
//>     (void)c, (void)s;
//>     return WB_TODO;
//> }
/* Two kernels, because each sum wants an owner of its own:
 *
 *     dq_kernel     owns queries, goes over tiles of keys     leaves delta in the workspace
 *     dkdv_kernel   owns keys, goes over tiles of queries     of each head of the group
 *
 * Both are built alike. An owner is LANES neighbouring threads with DIMS channels each in
 * registers. Of a tile there are two views: `by_channel`, the tile's rows side by side, to
 * make all scores of the tile at once, and `by_row`, to add weighted rows to a sum. */
enum { PAD = 4 /* floats: the slices of the lanes begin in different banks */ };

template <int LANES> struct sized {
    static const int rows = LANES == 8 ? 8 : 16;     // of a tile
    static const int owners = LANES == 8 ? 32 : 64;  // of a block
    static const int threads = owners * LANES;
};

template <int DIMS, int LANES> struct by_channel {
    float at[LANES]
            [DIMS * sized<LANES>::rows + PAD];  // channel i of row r: [i * rows + r]
};
template <int DIMS, int LANES> struct by_row {
    float at[sized<LANES>::rows][LANES][DIMS + PAD];
};

/* Rows 0 <= r < n of x, ld apart, in both views or in one; zeros elsewhere. */
template <int DIMS, int LANES>
static __device__ void load(
    by_channel<DIMS, LANES> *a, by_row<DIMS, LANES> *b, const float *x, int ld, int n,
    int D)
{
    const int rows = sized<LANES>::rows, packs = DIMS * LANES / 4;
    for (int m = threadIdx.x; m < rows * packs; m += sized<LANES>::threads) {
        int r = m / packs, d = m % packs * 4, lane = d / DIMS, i = d % DIMS;
        float4 f = {};
        if (r < n && d < D) f = *(const float4 *)(x + (size_t)r * ld + d);
        float *column = &a->at[lane][i * rows + r];
        column[0] = f.x, column[rows] = f.y, column[2 * rows] = f.z,
        column[3 * rows] = f.w;
        if (b) *(float4 *)&b->at[r][lane][i] = f;
    }
}

/* This thread's channels of a row, or zeros. */
template <int DIMS>
static __device__ void
own(float (&to)[DIMS], const float *x, int d0, int D, bool is_there)
{
    for (int i = 0; i < DIMS; i++)
        to[i] = is_there && d0 + i < D ? x[d0 + i] : 0.0f;
}
template <int DIMS>
static __device__ void put(float *to, const float (&x)[DIMS], float factor, int d0, int D)
{
    for (int i = 0; i < DIMS; i++)
        if (d0 + i < D) to[d0 + i] = factor * x[i];
}

/* The sum over the lanes of an owner, in all of them. */
template <int LANES> static __device__ float sum_lanes(float x)
{
    unsigned mask = ((1u << LANES) - 1) << threadIdx.x % 32 / LANES * LANES;
    for (int o = LANES / 2; o > 0; o /= 2)
        x += __shfl_xor_sync(mask, x, o);
    return x;
}

/* s[r] = x . row r. Summed in an array of its own: it overlaps nothing, so that a compiler
 * for CPUs may take all r at once. */
template <int DIMS, int LANES, int ROWS>
static __device__ void
dots(float (&s)[ROWS], const float (&x)[DIMS], const by_channel<DIMS, LANES> &y)
{
    const int lane = threadIdx.x % LANES;
    float sum[ROWS] = {};
#pragma unroll
    for (int i = 0; i < DIMS; i++)
#pragma unroll
        for (int r = 0; r < ROWS; r++)
            sum[r] += x[i] * y.at[lane][i * ROWS + r];
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        s[r] = LANES > 1 ? sum_lanes<LANES>(sum[r]) : sum[r];
}

/* sum += w[r] row r, over all rows */
template <int DIMS, int LANES, int ROWS>
static __device__ void
add_rows(float (&sum)[DIMS], const float (&w)[ROWS], const by_row<DIMS, LANES> &y)
{
    const int lane = threadIdx.x % LANES;
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int i = 0; i < DIMS; i++)
            sum[i] += w[r] * y.at[r][lane][i];
}

/* exp(scale s - lse), as a power of two: that is what the hardware has */
static __device__ float weight(float s, float scale, float lse)
{
    const float log2_e = 1.442695041f;
    return exp2f(fmaf(s, scale * log2_e, -lse * log2_e));
}

/* The first key that query t of sequence b sees; the last is its own, S-T+t. */
static __device__ int first_key(sizes z, const int *pos, size_t b, int t)
{
    int i = z.S - z.T + t, back = pos ? pos[b * z.T + t] : i;
    return max(i - min(back, z.window), 0);
}

template <int DIMS, int LANES>
static __global__ void __launch_bounds__(sized<LANES>::threads)
    dq_kernel(float *deltas, backward_call<float> c)
{
    const int rows = sized<LANES>::rows, owners = sized<LANES>::owners;
    __shared__ by_channel<DIMS, LANES> k, v;
    __shared__ by_row<DIMS, LANES> k_row;
    sizes z = c.z;
    int tiles = (z.T + owners - 1) / owners, h = blockIdx.x / tiles % z.H;
    int t0 = (tiles - 1 - blockIdx.x % tiles) * owners;  // the longest rows come first
    size_t b = blockIdx.x / tiles / z.H;
    int t = t0 + threadIdx.x / LANES, lane = threadIdx.x % LANES, d0 = lane * DIMS;
    bool mine = t < z.T;  // no return: all threads load
    size_t row = (b * z.T + t) * z.H + h, stat = (b * z.H + h) * z.T + t;
    size_t at_q = (b * z.T + t) * z.ldq + (size_t)h * z.D;
    size_t kv = b * z.S * z.ldkv + (size_t)(h / (z.H / z.K)) * z.D;

    float q[DIMS], dout[DIMS], dq[DIMS] = {}, delta = 0.0f;
    own(dq, c.out + row * z.D, d0, z.D, mine);
    own(dout, c.dout + row * z.D, d0, z.D, mine);
    own(q, c.q + at_q, d0, z.D, mine);
    for (int i = 0; i < DIMS; i++)
        delta += dout[i] * dq[i], dq[i] = 0.0f;
    if (LANES > 1) delta = sum_lanes<LANES>(delta);
    float lse = mine ? c.lse[stat] : 0.0f;
    if (mine && lane == 0) deltas[stat] = delta;

    int first = mine ? first_key(z, c.pos, b, t) : 0, last = mine ? z.S - z.T + t : -1;
    int from = first_key(z, c.pos, b, t0), to = z.S - z.T + min(t0 + owners, z.T);
    for (int j = from; j < to; j += rows) {
        __syncthreads();  // the tile before has been used
        load(&k, &k_row, c.k + kv + (size_t)j * z.ldkv, z.ldkv, z.S - j, z.D);
        load(
            &v, (by_row<DIMS, LANES> *)nullptr, c.v + kv + (size_t)j * z.ldkv, z.ldkv,
            z.S - j, z.D);
        __syncthreads();  // this one is there
        if (j > last || j + rows <= first) continue;
        float s[rows], dp[rows];
        dots(s, q, k);
        dots(dp, dout, v);
#pragma unroll
        for (int r = 0; r < rows; r++) {
            bool sees = j + r >= first && j + r <= last;
            s[r] = sees ? weight(s[r], z.scale, lse) * (dp[r] - delta) : 0.0f;
        }
        add_rows(dq, s, k_row);
    }
    if (mine) put(c.dq + at_q, dq, z.scale, d0, z.D);
}

/* What a tile of queries brings along besides q and dout. */
template <int LANES> struct stats {
    float lse[sized<LANES>::rows], delta[sized<LANES>::rows];
    int first[sized<LANES>::rows];  // key; no query: behind every key
};

template <int LANES>
static __device__ void load(
    stats<LANES> &to, const float *deltas, const backward_call<float> &c, size_t b, int h,
    int t0)
{
    if (threadIdx.x >= sized<LANES>::rows) return;
    int r = threadIdx.x, t = t0 + r;
    bool is_there = t < c.z.T;
    size_t at = (b * c.z.H + h) * c.z.T + t;
    to.lse[r] = is_there ? c.lse[at] : 0.0f;
    to.delta[r] = is_there ? deltas[at] : 0.0f;
    to.first[r] = is_there ? first_key(c.z, c.pos, b, t) : INT_MAX;
}

template <int DIMS, int LANES>
static __global__ void __launch_bounds__(sized<LANES>::threads)
    dkdv_kernel(const float *deltas, backward_call<float> c)
{
    const int rows = sized<LANES>::rows, owners = sized<LANES>::owners;
    __shared__ by_channel<DIMS, LANES> q, dout;
    __shared__ by_row<DIMS, LANES> q_row, dout_row;
    __shared__ stats<LANES> x;
    sizes z = c.z;
    int tiles = (z.S + owners - 1) / owners, g = blockIdx.x / tiles % z.K;
    int j0 = blockIdx.x % tiles * owners, j1 = min(j0 + owners, z.S) - 1, ago = z.S - z.T;
    size_t b = blockIdx.x / tiles / z.K;
    int j = j0 + threadIdx.x / LANES, d0 = threadIdx.x % LANES * DIMS;
    bool mine = j < z.S;  // no return: all threads load
    size_t kv = (b * z.S + j) * z.ldkv + (size_t)g * z.D;

    float k[DIMS], v[DIMS], dk[DIMS] = {}, dv[DIMS] = {};
    own(k, c.k + kv, d0, z.D, mine);
    own(v, c.v + kv, d0, z.D, mine);
    int from = max(j0 - ago, 0),
        to = (int)min((long long)j1 - ago + z.window + 1, (long long)z.T);
    for (int h = g * (z.H / z.K); h < (g + 1) * (z.H / z.K); h++)
        for (int t = from; t < to; t += rows) {
            /* documents only ever start later: from here on nobody looks back to j1 */
            if (first_key(z, c.pos, b, t) > j1) break;
            size_t at_q = (b * z.T + t) * z.ldq + (size_t)h * z.D;
            __syncthreads();  // the tile before has been used
            load(&q, &q_row, c.q + at_q, z.ldq, z.T - t, z.D);
            load(
                &dout, &dout_row, c.dout + ((b * z.T + t) * z.H + h) * z.D, z.H * z.D,
                z.T - t, z.D);
            load(x, deltas, c, b, h, t);
            __syncthreads();  // this one is there
            if (!mine || j > ago + t + rows - 1) continue;
            float p[rows], dp[rows];
            dots(p, k, q);
            dots(dp, v, dout);
#pragma unroll
            for (int r = 0; r < rows; r++) {
                bool sees = x.first[r] <= j && j <= ago + t + r;
                p[r] = sees ? weight(p[r], z.scale, x.lse[r]) : 0.0f;
                dp[r] = p[r] * (dp[r] - x.delta[r]);
            }
            add_rows(dv, p, dout_row);
            add_rows(dk, dp, q_row);
        }
    if (!mine) return;
    put(c.dk + kv, dk, z.scale, d0, z.D);
    put(c.dv + kv, dv, 1.0f, d0, z.D);
}

template <typename E> static size_t backward_workspace(sizes z)
{
    return (size_t)z.B * z.H * z.T * sizeof(float);  // delta
}

template <int DIMS, int LANES>
static wb_status launch(const backward_call<float> &c, cudaStream_t s)
{
    const int owners = sized<LANES>::owners, threads = sized<LANES>::threads;
    size_t queries = (c.z.T + owners - 1) / owners, keys = (c.z.S + owners - 1) / owners;
    float *deltas = (float *)c.workspace;
    dq_kernel<DIMS, LANES>
        <<<(unsigned)(queries * c.z.H * c.z.B), threads, 0, s>>>(deltas, c);
    dkdv_kernel<DIMS, LANES>
        <<<(unsigned)(keys * c.z.K * c.z.B), threads, 0, s>>>((const float *)deltas, c);
    return wb_launched();
}

template <typename E> static wb_status backward(backward_call<E> c, cudaStream_t s)
{
    if (c.z.D <= 32) return launch<32, 1>(c, s);
    if (c.z.D <= 64) return launch<32, 2>(c, s);
    if (c.z.D <= 128) return launch<32, 4>(c, s);
    return launch<32, 8>(c, s);
}
// END SOLUTION

DEFINE_BACKWARD(float, f32)
