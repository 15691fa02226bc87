/* decode_tensor.cuh - room for a kernel for 16-bit caches on tensor cores. The solution's stands
 * here; a pass needs none.
 */
#ifndef DECODE_TENSOR_CUH
#define DECODE_TENSOR_CUH
#include "decode.cuh"

// BEGIN SOLUTION 07.7 (about 170 lines)
//> /* TODO(07.7): nothing, if the templates of attention_decode.cu serve f16 and bf16. */
#include <cuda_pipeline.h>
#ifdef __CUDACPU__
#include <mma.h>
#endif

constexpr int ROWS = 16;   // of a tensor core's matrix: query heads, if need be fewer
constexpr int TILE = 64;   // slots that are copied at a time, 16 a warp
constexpr int STAGES = 2;  // tiles in shared memory: one in use, one on its way
constexpr int PAD = 8;     // elements behind a row: rows begin in different banks

/* Elements from row to row: D up to a multiple of 16, and the padding. */
static __host__ __device__ int pitch_of(int D)
{
    return (D + ROWS - 1) / ROWS * ROWS + PAD;
}

/* Floats from head to head in the scores of a part. */
static __host__ __device__ int score_pitch(int slots)
{
    return slots + 4;
}

/* Query heads of a tile, at most. */
static __host__ __device__ int tile_rows(int H, int K)
{
    return H / K < ROWS ? H / K : ROWS;
}

/* Shared memory of a block, in bytes: queries, scores, tiles. */
static size_t tensor_bytes(int D, int rows, int slots)
{
    size_t elements = (size_t)(2 * rows + STAGES * TILE) * pitch_of(D);
    return elements * 2 + ROWS * score_pitch(slots) * sizeof(float);
}

/* Slots of a part, at most. Of wide heads a multiprocessor has room for two blocks' tiles: the
 * rest is for scores, so that fewer blocks begin and end. Of narrow ones it has room for more
 * blocks. */
static int tensor_slots(int D, int rows)
{
    return D > 128 && rows <= 13 ? 2 * MOST : MOST;
}

/* TILE rows of the ring to shared memory, 16 bytes a copy; behind the last row zeros, which
 * no p = 0 makes NaN. */
template <typename E>
static __device__ void copy_tile(E *tile, const E *from, size_t row, int count, int D)
{
    int pitch = pitch_of(D), vecs = D / 8, lane = threadIdx.x % WARP;
    int together = WARP / vecs, r = lane / vecs, c = lane % vecs * 8;  // rows of a warp
    if (r < together)
        for (int i = threadIdx.x / WARP * together + r; i < TILE;
             i += BLOCK / WARP * together) {
            bool there = i < count;
            __pipeline_memcpy_async(
                tile + i * pitch + c, from + (there ? i : 0) * row + c, 16,
                there ? 0 : 16);
        }
    __pipeline_commit();
}

/* --- 16x16 matrices, spread over the lanes of a warp ------------------------------------
 *
 * On a card the instructions themselves: nvcuda::wmma reads bf16 from shared memory in
 * pieces of 4 bytes, ldmatrix whole matrices. A register has two neighbours of a row (PTX
 * manual, mma.m16n8k16). On the CPU back end wmma does the same.
 */
#ifndef __CUDACPU__
template <typename E> struct left {  // (rows, k)
    unsigned r[4];
};
template <typename E> struct right {  // (k, columns): two of 8 columns
    unsigned r[2][2];
};
struct result {  // (rows, columns), likewise
    float x[2][4];
};

/* The address of this lane's row: four matrices of 8x8, lanes 0-7 name the rows of the first,
 * 8-15 of the one below it, 16-31 of those to the right. Of fewer rows the last one again. */
template <typename E>
static __device__ unsigned row_address(const E *m, int pitch, int rows = ROWS)
{
    int lane = threadIdx.x % WARP, row = min(lane % 16, rows - 1);
    return (unsigned)__cvta_generic_to_shared(m + row * pitch + lane / 16 * 8);
}

template <typename E>
static __device__ void load(left<E> &a, const E *m, int pitch, int rows = ROWS)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(a.r[0]), "=r"(a.r[1]), "=r"(a.r[2]), "=r"(a.r[3])
                 : "r"(row_address(m, pitch, rows))
                 : "memory");
}

/* m (columns, k) */
template <typename E>
static __device__ void load_columns(right<E> &b, const E *m, int pitch)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(b.r[0][0]), "=r"(b.r[1][0]), "=r"(b.r[0][1]), "=r"(b.r[1][1])
                 : "r"(row_address(m, pitch))
                 : "memory");
}

/* m (k, columns) */
template <typename E> static __device__ void load_rows(right<E> &b, const E *m, int pitch)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(b.r[0][0]), "=r"(b.r[0][1]), "=r"(b.r[1][0]), "=r"(b.r[1][1])
                 : "r"(row_address(m, pitch))
                 : "memory");
}

template <typename E> struct instruction;
#define INSTRUCTION(E, name)                                                             \
    template <> struct instruction<E> {                                                  \
        static __device__ void                                                           \
        multiply(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2])          \
        {                                                                                \
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." name "." name ".f32 "  \
                         "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"         \
                         : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                \
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]),        \
                           "r"(b[1]));                                                   \
        }                                                                                \
    };
INSTRUCTION(wb_f16, "f16")
INSTRUCTION(wb_bf16, "bf16")
#undef INSTRUCTION

/* c += a b */
template <typename E>
static __device__ void multiply(result &c, const left<E> &a, const right<E> &b)
{
    instruction<E>::multiply(c.x[0], a.r, b.r[0]);
    instruction<E>::multiply(c.x[1], a.r, b.r[1]);
}

static __device__ void clear(result &c)
{
    c = {};
}

static __device__ void add(result &c, const result &more)
{
#pragma unroll
    for (int i = 0; i < 8; i++)
        c.x[i / 4][i % 4] += more.x[i / 4][i % 4];
}

static __device__ void store(float *m, const result &c, int pitch)
{
    int row = threadIdx.x % WARP / 4, column = threadIdx.x % 4 * 2;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        float *to = m + row * pitch + half * 8 + column;
        *(float2 *)to = {c.x[half][0], c.x[half][1]};
        *(float2 *)(to + 8 * pitch) = {c.x[half][2], c.x[half][3]};
    }
}
#else
namespace wmma = nvcuda::wmma;
template <typename E>
using left = wmma::fragment<wmma::matrix_a, 16, 16, 16, E, wmma::row_major>;
template <typename E> struct right {
    wmma::fragment<wmma::matrix_b, 16, 16, 16, E, wmma::col_major> columns;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, E, wmma::row_major> rows;
    bool by_rows;
};
using result = wmma::fragment<wmma::accumulator, 16, 16, 16, float>;

template <typename E>
static __device__ void load(left<E> &a, const E *m, int pitch, int = ROWS)
{
    wmma::load_matrix_sync(a, m, pitch);
}
template <typename E>
static __device__ void load_columns(right<E> &b, const E *m, int pitch)
{
    wmma::load_matrix_sync(b.columns, m, pitch), b.by_rows = false;
}
template <typename E> static __device__ void load_rows(right<E> &b, const E *m, int pitch)
{
    wmma::load_matrix_sync(b.rows, m, pitch), b.by_rows = true;
}
template <typename E>
static __device__ void multiply(result &c, const left<E> &a, const right<E> &b)
{
    if (b.by_rows)
        wmma::mma_sync(c, a, b.rows, c);
    else
        wmma::mma_sync(c, a, b.columns, c);
}
static __device__ void clear(result &c)
{
    wmma::fill_fragment(c, 0.0f);
}
static __device__ void add(result &c, const result &more)
{
    for (int i = 0; i < c.num_elements; i++)
        c.x[i] += more.x[i];
}
static __device__ void store(float *m, const result &c, int pitch)
{
    wmma::store_matrix_sync(m, c, pitch, wmma::mem_row_major);
}
#endif

/* Scores of a warp's 16 slots: q, of `rows` heads, is the sum of two E, for it has more digits
 * than one. What is stored for further rows is anything. */
template <typename E>
static __device__ void scores_of(
    float *score, int wide, const E *high, const E *low, int rows, const E *tile,
    int pitch)
{
    int warp = threadIdx.x / WARP;
    result sum, rest;  // two chains: an addition waits for the one before it
    clear(sum), clear(rest);
#pragma unroll 4
    for (int d = 0; d < pitch - PAD; d += 16) {
        left<E> a, b;
        right<E> k;
        load_columns(k, tile + warp * 16 * pitch + d, pitch);
        load(a, high + d, pitch, rows);
        load(b, low + d, pitch, rows);
        multiply(sum, a, k);
        multiply(rest, b, k);
    }
    add(sum, rest);
    store(score + warp * 16, sum, wide);
}

/* y += p v of a tile, for the 16-channel columns of this warp: warp, warp + 4, ... */
template <typename E>
static __device__ void
add_values(result (&y)[4], const E *p, int p_pitch, const E *tile, int pitch)
{
    int warp = threadIdx.x / WARP;
    for (int j = 0; j < TILE; j += 16) {
        left<E> a;
        load(a, p + j, p_pitch);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int d = (warp + 4 * i) * 16;
            if (d >= pitch - PAD) continue;
            right<E> v;
            load_rows(v, tile + j * pitch + d, pitch);
            multiply(y[i], a, v);
        }
    }
}

/* A stream of tiles: those of the keys, then those of the values. While one is worked on,
 * the next is on its way, also across the softmax in between. */
template <typename E>
static __global__ void __launch_bounds__(BLOCK, 2)
    tensor_kernel(token<E> a, split s, float *sums, softmax *softmaxes)
{
    extern __shared__ __align__(128) unsigned char memory[];
    let_next_kernel_start();
    wait_for_kernel_before();
    place at = place_of(a, s, ROWS);
    int part = blockIdx.x % s.parts, tid = threadIdx.x, warp = tid / WARP, D = a.D;
    int pitch = pitch_of(D), tiles = (at.count + TILE - 1) / TILE;
    int rows = tile_rows(a.H, a.K), wide = score_pitch(s.slots), wide_p = 2 * wide;
    E *high = (E *)memory;                         // (rows, pitch)
    E *low = high + rows * pitch;                  // (rows, pitch)
    float *score = (float *)(low + rows * pitch);  // (ROWS, wide)
    E *p = (E *)score;                     // (ROWS, wide_p): a row where its scores were
    E *ring = (E *)(score + ROWS * wide);  // (STAGES, TILE, pitch)
    size_t row = (size_t)a.K * D, from = ((size_t)at.b * a.S + at.first) * row + at.g * D;

    if (D % 16)  // the last 16 channels are not all there: the others are 0
        for (int i = tid; i < STAGES * TILE; i += BLOCK)
            *(float4 *)(ring + i * pitch + D) = {};
    auto fetch = [&](int t) {
        if (t >= 2 * tiles) {
            __pipeline_commit();  // an empty one, so that the count of groups stays
            return;
        }
        int first = t % tiles * TILE;
        const E *source = t < tiles ? a.kcache : a.vcache;
        copy_tile(
            ring + t % STAGES * TILE * pitch, source + from + first * row, row,
            at.count - first, D);
    };
    queries<ROWS, E> q;
    q.load(a, at);
    for (int t = 0; t < STAGES; t++)
        fetch(t);
    for (int i = tid; i < 2 * rows * pitch / 8; i += BLOCK)
        ((float4 *)high)[i] = {};  // high and low: rows without a head, channels behind D
    __syncthreads();               // before the others are stored
    q.turn(a, at, [&](int h, int d, float x) {
        E near = (E)x;
        high[h * pitch + d] = near;
        low[h * pitch + d] = (E)(x - (float)near);
    });

    for (int t = 0; t < tiles; t++) {
        __pipeline_wait_prior(STAGES - 1);
        __syncthreads();  // tile t is there, and q
        const E *tile = ring + t % STAGES * TILE * pitch;
        scores_of(score + t * TILE, wide, high, low, rows, tile, pitch);
        __syncthreads();  // nobody reads tile t any more
        fetch(t + STAGES);
    }
    for (int h = warp; h < at.heads; h += BLOCK / WARP) {  // of other rows anything: p is
        constexpr int EACH = 2 * MOST / WARP;              // multiplied row by row
        float x[EACH], most = -INFINITY, sum = 0.0f;
#pragma unroll
        for (int u = 0; u < EACH; u++) {
            int j = tid % WARP + u * WARP;
            x[u] = j < at.count ? score[h * wide + j] * a.scale : -INFINITY;
            most = fmaxf(most, x[u]);
        }
        most = warp_max(most);
        __syncwarp();  // all lanes have read: p may take the place
#pragma unroll
        for (int u = 0; u < EACH; u++) {
            int j = tid % WARP + u * WARP;
            if (j >= tiles * TILE) break;
            float w = j < at.count ? expf(x[u] - most) : 0.0f;
            p[h * wide_p + j] = (E)w;
            sum += w;
        }
        sum = warp_sum(sum);
        if (tid % WARP == 0)
            softmaxes[record(at.b, at.head + h, a.H, part, s.parts, 1)] = {most, sum};
    }
    result y[4];
#pragma unroll
    for (int i = 0; i < 4; i++)
        clear(y[i]);
    for (int t = tiles; t < 2 * tiles; t++) {
        __pipeline_wait_prior(STAGES - 1);
        __syncthreads();  // tile t is there, and p
        const E *tile = ring + t % STAGES * TILE * pitch;
        add_values(y, p + (t - tiles) * TILE, wide_p, tile, pitch);
        __syncthreads();  // nobody reads tile t any more
        fetch(t + STAGES);
    }
    float *total = (float *)ring;  // (ROWS, pitch), where the tiles were
#pragma unroll
    for (int i = 0; i < 4; i++)
        if ((warp + 4 * i) * 16 < pitch - PAD)
            store(total + (warp + 4 * i) * 16, y[i], pitch);
    __syncthreads();  // the sums of all warps are there
    for (int h = warp; h < at.heads; h += BLOCK / WARP) {
        float *to = sums + record(at.b, at.head + h, a.H, part, s.parts, D);
        for (int d = tid % WARP; d < D; d += WARP)
            to[d] = total[h * pitch + d];
    }
}
// END SOLUTION
#endif
