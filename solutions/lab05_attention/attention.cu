/* attention.cu - lab 05: attention forward in float.
 * attention.h is the specification, contract.cuh what stands around this. */
#include "contract.cuh"
#include <float.h>

// BEGIN SOLUTION 05.1 (about 90 lines)
//> /* TODO(05.1): the launcher and three kernels: scores (B,H,T,S) into the workspace, their
//>  * softmax, the mean of v. A thread per number will do. About 60 lines.
//>  *
//>  * TODO(05.2): one kernel that keeps no score: see "Online" in the guide. About 60 lines.
//>  * TODO(05.3): query head h takes key head h / (H/K); rows are ldq and ldkv apart.
//>  * TODO(05.4): the first key that a query sees: window, pos, and S > T. Skip the tiles of
//>  * keys that no query of the block sees. */
//> template <typename E> static size_t forward_workspace(sizes z)
//> {
//>     (void)z;
//>     return 0;
//> }
//>
//> template <typename E> static wb_status forward(forward_call<E> c, cudaStream_t s)
//> {
//>     (void)c, (void)s;
//>     return WB_TODO;
//> }
/* A block takes QUERIES queries of one head and goes over the keys that they see, a tile of
 * KEYS at a time. A query belongs to LANES neighbouring threads, each of which keeps DIMS
 * channels of q and of the sum of p v in registers; LANES DIMS is D, rounded up.
 *
 * A tile is in shared memory, k with the keys of a channel side by side, v with the channels
 * of a key side by side: each thread then has one number of its own (q[i], p[j]) to multiply
 * with a run of neighbours, which all threads of the same lane read at once. */
enum {
    QUERIES = 64,
    PAD = 4 /* floats: the slices of the lanes begin in different banks */
};

template <int DIMS, int LANES> struct tile {
    static const int keys = LANES == 8 ? 16 : 32;
    float k[LANES][DIMS * keys + PAD];  // channel i of key j: k[lane][i * keys + j]
    float v[keys][LANES][DIMS + PAD];
};

/* Keys from, from + 1, ...; zeros behind the last key and behind channel D. */
template <int DIMS, int LANES>
static __device__ void
load(tile<DIMS, LANES> &to, forward_call<float> c, size_t kv, int from)
{
    const int keys = tile<DIMS, LANES>::keys, packs = DIMS * LANES / 4;
    for (int n = threadIdx.x; n < keys * packs; n += QUERIES * LANES) {
        int j = n / packs, d = n % packs * 4, lane = d / DIMS, i = d % DIMS;
        float4 k = {}, v = {};
        if (from + j < c.z.S && d < c.z.D) {
            size_t at = kv + (size_t)(from + j) * c.z.ldkv + d;
            k = *(const float4 *)(c.k + at), v = *(const float4 *)(c.v + at);
        }
        float *column = &to.k[lane][i * keys + j];
        column[0] = k.x, column[keys] = k.y, column[2 * keys] = k.z,
        column[3 * keys] = k.w;
        *(float4 *)&to.v[j][lane][i] = v;
    }
}

/* The sum over the lanes of a query, in all of them. */
template <int LANES> static __device__ float sum_lanes(float x)
{
    unsigned mask = ((1u << LANES) - 1) << threadIdx.x % 32 / LANES * LANES;
    for (int o = LANES / 2; o > 0; o /= 2)
        x += __shfl_xor_sync(mask, x, o);
    return x;
}

/* What a query has seen so far. m: the largest score, in units of ln 2, since exp2f is what
 * the hardware has. l: the sum of exp(score - m); sum: that of exp(score - m) v. Both are in
 * units of exp(m): when m grows they are rescaled, which is all there is to it. */
template <int DIMS> struct seen {
    float m, l, sum[DIMS];
};

template <int DIMS, int LANES>
static __device__ void look_at(
    seen<DIMS> &y, const tile<DIMS, LANES> &x, const float (&q)[DIMS], int first,
    int last)
{
    const int keys = tile<DIMS, LANES>::keys, lane = threadIdx.x % LANES;
    float s[keys] = {};
#pragma unroll
    for (int i = 0; i < DIMS; i++)
#pragma unroll
        for (int j = 0; j < keys; j++)
            s[j] += q[i] * x.k[lane][i * keys + j];
    float m = y.m;
#pragma unroll
    for (int j = 0; j < keys; j++) {
        if (LANES > 1) s[j] = sum_lanes<LANES>(s[j]);
        if (j >= first && j <= last) m = fmaxf(m, s[j]);
    }
    float rescale = exp2f(y.m - m);
    y.m = m, y.l *= rescale;
#pragma unroll
    for (int i = 0; i < DIMS; i++)
        y.sum[i] *= rescale;
#pragma unroll
    for (int j = 0; j < keys; j++) {
        s[j] = j >= first && j <= last ? exp2f(s[j] - m) : 0.0f;
        y.l += s[j];
    }
#pragma unroll
    for (int j = 0; j < keys; j++)
#pragma unroll
        for (int i = 0; i < DIMS; i++)
            y.sum[i] += s[j] * x.v[j][lane][i];
}

/* The first key that query t of sequence b sees; the last is its own, S-T+t. */
static __device__ int first_key(sizes z, const int *pos, size_t b, int t)
{
    int i = z.S - z.T + t, back = pos ? pos[b * z.T + t] : i;
    return max(i - min(back, z.window), 0);
}

template <int DIMS, int LANES>
static __global__ void __launch_bounds__(QUERIES *LANES)
    forward_kernel(forward_call<float> c)
{
    const float log2_e = 1.442695041f, ln_2 = 0.693147181f;
    const int keys = tile<DIMS, LANES>::keys;
    __shared__ tile<DIMS, LANES> x;
    sizes z = c.z;
    int tiles = (z.T + QUERIES - 1) / QUERIES, h = blockIdx.x / tiles % z.H;
    int t0 = (tiles - 1 - blockIdx.x % tiles) * QUERIES;  // the longest rows come first
    size_t b = blockIdx.x / tiles / z.H;
    int t = t0 + threadIdx.x / LANES, lane = threadIdx.x % LANES, d0 = lane * DIMS;
    bool mine = t < z.T;  // no return: all threads load
    size_t kv = b * z.S * z.ldkv + (size_t)(h / (z.H / z.K)) * z.D;

    float q[DIMS];
    size_t at_q = (b * z.T + t) * z.ldq + (size_t)h * z.D + d0;
    for (int i = 0; i < DIMS; i++)
        q[i] = mine && d0 + i < z.D ? c.q[at_q + i] * (z.scale * log2_e) : 0.0f;
    seen<DIMS> y = {-FLT_MAX};  // not -inf: (-inf) - (-inf) is NaN

    /* A document that follows starts later: the first query of the block reaches back
     * farthest, the last one's own key is the end. What is outside is never loaded. */
    int first = mine ? first_key(z, c.pos, b, t) : 0, last = mine ? z.S - z.T + t : -1;
    int from = first_key(z, c.pos, b, t0), to = z.S - z.T + min(t0 + QUERIES, z.T);
    for (int j = from; j < to; j += keys) {
        __syncthreads();  // the tile before has been used
        load(x, c, kv, j);
        __syncthreads();  // this one is there
        if (j <= last && j + keys > first) look_at(y, x, q, first - j, last - j);
    }
    if (!mine) return;
    size_t row = (b * z.T + t) * z.H + h;
    for (int i = 0; i < DIMS; i++)
        if (d0 + i < z.D) c.out[row * z.D + d0 + i] = y.sum[i] / y.l;
    if (lane == 0 && c.lse) c.lse[(b * z.H + h) * z.T + t] = (y.m + log2f(y.l)) * ln_2;
}

template <int DIMS, int LANES> static void launch(forward_call<float> c, cudaStream_t s)
{
    size_t tiles = (c.z.T + QUERIES - 1) / QUERIES;
    unsigned blocks = (unsigned)(tiles * c.z.H * c.z.B);
    forward_kernel<DIMS, LANES><<<blocks, QUERIES * LANES, 0, s>>>(c);
}

template <typename E> static size_t forward_workspace(sizes)
{
    return 0;
}

template <typename E> static wb_status forward(forward_call<E> c, cudaStream_t s)
{
    if (c.z.D <= 32)
        launch<32, 1>(c, s);
    else if (c.z.D <= 64)
        launch<32, 2>(c, s);
    else if (c.z.D <= 128)
        launch<32, 4>(c, s);
    else
        launch<32, 8>(c, s);
    return wb_launched();
}
// END SOLUTION

DEFINE_FORWARD(float, f32)
