/* attention.cu - lab 05, parts 05.1 to 05.4 and 05.8: attention forward in float.
 * attention.h is the specification; contract.cuh has the launchers that call `forward`.
 */
#include "contract.cuh"

#include <float.h>

/* 05.1: three kernels. The scores (B,H,T,S) are in the workspace.
 * 05.2: one kernel that stores no scores.
 * 05.3: query head h reads key head h / (H/K); rows are ldq and ldkv apart.
 * 05.4: the first key that a query sees: window and pos. Skip the tiles of keys that no
 * query of the block sees. */
constexpr int THREADS = 128;  // of a block

static unsigned blocks_for(size_t threads)
{
    return (unsigned)((threads + THREADS - 1) / THREADS);
}

static __device__ size_t thread_id(void)
{
    return blockIdx.x * (size_t)THREADS + threadIdx.x;
}

/* --- 05.1: `-k scores` grades steps 1 and 2 ----------------------------------------- */

/* Step 1. A thread for each score. */
template <typename E> static __global__ void scores_kernel(float *s, forward_call<E> c)
{
    sizes z = c.z;
    size_t n = thread_id(), row = n / z.S, b = row / z.T / z.H;
    int j = n % z.S, t = row % z.T, h = row / z.T % z.H;
    if (b >= z.B) return;
    // TODO(05.1, step 1): s[n] is scale times the dot product of query (b,t,h) and key
    // (b,j,h). For a key that query t does not see, j > S-T+t, return. About 6 lines.
}

/* Step 2. A thread for each row of scores, which become probabilities. */
template <typename E> static __global__ void softmax_kernel(float *s, forward_call<E> c)
{
    sizes z = c.z;
    size_t row = thread_id();
    if (row >= (size_t)z.B * z.H * z.T) return;
    int last = z.S - z.T + row % z.T;  // the last key that this query sees
    float *p = s + row * z.S;
    // TODO(05.1, step 2): the maximum m of p[0..last], then the sum of exp(p[j] - m),
    // which replaces p[j], then the division; lse[row] = m + log(sum) unless lse is
    // NULL. About 6 lines.
}

/* Step 3. A thread for each element of out. */
template <typename E>
static __global__ void weighted_sum_kernel(const float *p, forward_call<E> c)
{
    sizes z = c.z;
    size_t n = thread_id(), b = n / z.D / z.H / z.T;  // out is (B,T,H,D)
    if (b >= z.B) return;
    int d = n % z.D, h = n / z.D % z.H, t = n / z.D / z.H % z.T;
    // TODO(05.1, step 3): out[n] is the sum of p[j] v[j][d] over the keys that query t
    // sees. Its row of p is (b,h,t). About 6 lines.
}

/* --- 05.2: `-k online_max`, `online_lse`, `lean` and `tiles` grade steps 1 to 4 ----- */

constexpr bool ONLINE = false;  // TODO(05.2, step 1): true
constexpr int BM = 64;          // queries of a block, a thread each
constexpr int BN = 16;          // keys of a tile
constexpr int MAX_D = 256;

/* A block takes BM queries of a head and loops over the keys, a tile at a time. m, l and
 * o are those of the guide, "Online". A thread without a query (t >= T) sees no key, but
 * does not return before the loop: from step 4 on, all threads load each tile. */
template <typename E> static __global__ void online_kernel(forward_call<E> c)
{
    sizes z = c.z;
    int blocks = (z.T + BM - 1) / BM;  // of a head
    int t0 = blockIdx.x % blocks * BM, t = t0 + threadIdx.x;
    int h = blockIdx.x / blocks % z.H;
    size_t b = blockIdx.x / blocks / z.H;
    int last = t < z.T ? z.S - z.T + t : -1;  // the last key that query t sees
    int end = z.S - z.T + min(t0 + BM, z.T);  // the block needs the keys before `end`
    float m = -FLT_MAX, l = 0.0f, o[MAX_D] = {};
    for (int j0 = 0; j0 < end; j0 += BN) {  // a tile: the keys j0, j0 + 1, ...
        float new_m = m;  // m'
        // TODO(05.2, step 4): all threads of the block copy the tile's keys and values
        // to shared memory as floats, with zeros from key S on; steps 1 to 3 read them
        // there. A barrier before the copy, and one after it. About 12 lines.
        // TODO(05.2, step 1): s[BN], the scores; -INFINITY for the keys after `last`,
        // which are not read. new_m is the maximum of m and s. About 10 lines.
        // TODO(05.2, step 2): r = exp(m - new_m). Each s[j] becomes p = exp(s[j] - new_m),
        // and l becomes r l plus the sum of p. About 5 lines.
        m = new_m;
        // TODO(05.2, step 3): o[d] becomes r o[d] plus the sum of p v[j][d] over the
        // keys up to `last`. About 5 lines.
    }
    if (t >= z.T) return;
    // TODO(05.2, step 1): lse[b,h,t] = m, unless lse is NULL. 1 line.
    // TODO(05.2, step 2): add log l to it.
    // TODO(05.2, step 3): out[b,t,h,d] = o[d] / l. 2 lines.
}

/* --- launchers ---------------------------------------------------------------------- */

template <typename E> static size_t forward_workspace(sizes z)
{
    return ONLINE ? 0 : (size_t)z.B * z.H * z.T * z.S * sizeof(float);
}

template <typename E> static wb_status forward(forward_call<E> c, cudaStream_t s)
{
    sizes z = c.z;
    size_t rows = (size_t)z.B * z.H * z.T;
    if (ONLINE) {
        unsigned blocks = (z.T + BM - 1) / BM * z.H * z.B;
        online_kernel<<<blocks, BM, 0, s>>>(c);
        return wb_launched();
    }
    float *p = (float *)c.workspace;
    return WB_TODO;  // TODO(05.1, step 2): delete this line
    scores_kernel<<<blocks_for(rows * z.S), THREADS, 0, s>>>(p, c);
    softmax_kernel<<<blocks_for(rows), THREADS, 0, s>>>(p, c);
    weighted_sum_kernel<<<blocks_for(rows * z.D), THREADS, 0, s>>>((const float *)p, c);
    return wb_launched();
}

DEFINE_FORWARD(float, f32)
