/* 02_tiled.cu - online softmax: tiles in shared memory, no score in device memory.
 *
 * A block has SIDE queries of one head and goes over their keys in tiles of SIDE. Thread
 * (r,c) makes the score of query r and key c of the tile, and keeps channels c, c + SIDE,
 * ... of what will be row r of out. The first SIDE keys give a maximum and sums relative
 * to it; a larger maximum later on only changes the unit, so the sums are rescaled.
 *
 * Nothing of size T S is left: memory is read S/SIDE times less often than by rung 01,
 * and the workspace is empty. Now the arithmetic is the limit, and ordinary multiply-adds
 * are what it is made of. Tensor cores do more than ten times as many.
 */
#include "contract.cuh"
#include <float.h>

enum { SIDE = 16, BLOCK = SIDE * SIDE, MOST = 256 /* channels */, PAD = 1 /* bank */ };

/* Rows from, from + 1, ... < n of x (ld apart), widened to float; zeros behind. */
template <typename E>
static __device__ void
load(float (*to)[MOST + PAD], const E *x, int ld, int from, int n, int D)
{
    for (int i = threadIdx.x; i < SIDE * D; i += BLOCK) {
        int r = i / D, d = i % D;
        to[r][d] = from + r < n ? (float)x[(size_t)(from + r) * ld + d] : 0.0f;
    }
}

/* The first key that query t of sequence b sees; the last is its own, S-T+t. */
static __device__ int first_key(sizes z, const int *pos, size_t b, int t)
{
    int i = z.S - z.T + t, back = pos ? pos[b * z.T + t] : i;
    return max(i - min(back, z.window), 0);
}

template <typename E> static __global__ void tiled_kernel(forward_call<E> c)
{
    __shared__ float q[SIDE][MOST + PAD], kv[SIDE][MOST + PAD], p[SIDE][SIDE];
    sizes z = c.z;
    int tiles = (z.T + SIDE - 1) / SIDE, t0 = blockIdx.x % tiles * SIDE;
    int h = blockIdx.x / tiles % z.H, row = threadIdx.x / SIDE, col = threadIdx.x % SIDE;
    size_t b = blockIdx.x / tiles / z.H;
    int t = t0 + row;
    bool mine = t < z.T;  // no return: all threads load and wait
    size_t at_kv = b * z.S * z.ldkv + (size_t)(h / (z.H / z.K)) * z.D;
    int first = mine ? first_key(z, c.pos, b, t) : 0, last = mine ? z.S - z.T + t : -1;
    int from = first_key(z, c.pos, b, t0), end = z.S - z.T + min(t0 + SIDE, z.T);

    load(q, c.q + b * z.T * z.ldq + (size_t)h * z.D, z.ldq, t0, z.T, z.D);
    float m = -FLT_MAX, l = 0.0f, sum[MOST / SIDE] = {};
    for (int j = from; j < end; j += SIDE) {
        __syncthreads();  // v of the tile before has been used
        load(kv, c.k + at_kv, z.ldkv, j, z.S, z.D);
        __syncthreads();  // k is there
        float s = 0.0f;
        for (int d = 0; d < z.D; d++)
            s += q[row][d] * kv[col][d];
        s = j + col >= first && j + col <= last ? s * z.scale : -INFINITY;
        p[row][col] = s;
        __syncthreads();  // the scores are there, k has been used
        float grown = m;
        for (int i = 0; i < SIDE; i++)
            grown = fmaxf(grown, p[row][i]);
        load(kv, c.v + at_kv, z.ldkv, j, z.S, z.D);
        __syncthreads();  // the scores have been read, v is there
        p[row][col] = expf(s - grown);
        float rescale = expf(m - grown);
        m = grown, l *= rescale;
        for (int i = 0; i < MOST / SIDE; i++)
            sum[i] *= rescale;
        __syncthreads();  // the exponentials are there
        for (int i = 0; i < SIDE; i++) {
            l += p[row][i];
#pragma unroll
            for (int n = 0; n < MOST / SIDE; n++)
                if (col + n * SIDE < z.D) sum[n] += p[row][i] * kv[i][col + n * SIDE];
        }
    }
    if (!mine) return;
    E *out = c.out + ((b * z.T + t) * z.H + h) * z.D;
#pragma unroll
    for (int n = 0; n < MOST / SIDE; n++)
        if (col + n * SIDE < z.D) out[col + n * SIDE] = E(sum[n] / l);
    if (col == 0 && c.lse) c.lse[(b * z.H + h) * z.T + t] = m + logf(l);
}

template <typename E> static size_t forward_workspace(sizes)
{
    return 0;
}

template <typename E> static wb_status forward(forward_call<E> c, cudaStream_t s)
{
    size_t tiles = (c.z.T + SIDE - 1) / SIDE;
    tiled_kernel<<<(unsigned)(tiles * c.z.H * c.z.B), BLOCK, 0, s>>>(c);
    return wb_launched();
}

DEFINE_FORWARD(float, f32)
DEFINE_FORWARD(wb_f16, f16)
DEFINE_FORWARD(wb_bf16, bf16)
