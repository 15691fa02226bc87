/* backward_rows.cuh - lab 03, part 03.5: dx and the partial sums of dw in one pass. */
#ifndef BACKWARD_ROWS_CUH
#define BACKWARD_ROWS_CUH
#include "cuda/fold.cuh"
#include "cuda/mma.cuh"  // cp_async
#include "cuda/pdl.cuh"
#include "row_sum.cuh"

// BEGIN SOLUTION 03.5 (about 180 lines)
//> /* TODO(03.5): dx and dw each read dout and x. Let one kernel compute both: a block keeps
//>  * its part of dw in registers over all of its rows. The guide, "Structure", lists the
//>  * steps; these are 4 and 5. About 14 lines each. */
/* dx = dres + rstd (u - x rstd k) with u = dout (offset + w), k = rstd mean_c(u x): the
 * header's formula in a form where no factor overflows or underflows, whatever x is. */
static __device__ __forceinline__ float
dx_of(float dres, float u, float x, float r, float k)
{
    return dres + r * (u - x * r * k);
}

constexpr int COLUMNS_PER_THREAD = 16;  // of dw, in registers
constexpr int GROUPED_THREADS = 512;    // of a block with several groups
constexpr int WIDE_THREADS = 1024;      // of a block: each may have 64 registers
constexpr int MAX_STAGES = 4;

template <typename E> struct row_inputs {  // dres may be NULL
    const E *x, *dout, *dres;
    int R, vecs;  // vecs: of a row
};

/* Rows on their way to shared memory. Each thread copies the vectors that it will read, so
 * that it waits only for its own copies, without a barrier. A stage has the x, dout and
 * dres of one row per group: vector k of tensor i lies at mine[(i VECS + k) stride]. */
struct row_stages {
    uint4 *mine;            // this thread's first vector in stage 0
    int stride, per_stage;  // between two vectors of a thread, two stages
};

/* Starts to copy a row. Each call commits one group of copies, after the last row an empty
 * one. */
template <typename E, int VECS>
static __device__ __forceinline__ void
fetch_row(const row_stages &s, int stage, const row_inputs<E> &in, int row, int step)
{
    constexpr int N = VEC16<E>;
    uint4 *to = s.mine + stage * s.per_stage;
    size_t at = ((size_t)row * in.vecs + threadIdx.x) * N;
    if (row < in.R)
#pragma unroll
        for (int k = 0; k < VECS; k++) {
            if ((int)threadIdx.x + k * step >= in.vecs) continue;
            size_t c = at + (size_t)k * step * N;
            cp_async(to + k * s.stride, in.x + c, true);
            cp_async(to + (VECS + k) * s.stride, in.dout + c, true);
            if (in.dres) cp_async(to + (2 * VECS + k) * s.stride, in.dres + c, true);
        }
    cp_async_commit();
}

/* Waits until the oldest of `stages` rows has arrived. */
static __device__ __forceinline__ void wait_for_row(int stages)
{
    if (stages == 2)
        cp_async_wait<1>();
    else if (stages == 3)
        cp_async_wait<2>();
    else
        cp_async_wait<MAX_STAGES - 1>();
}

template <typename E, int N>
static __device__ __forceinline__ void read_slot(float (&f)[N], const uint4 *slot)
{
    to_float<E, N>(f, load_raw<E, N>((const E *)slot));
}

/* Stores the block's row of partial sums. Several groups add theirs in a fixed order. */
template <int VECS, int N>
static __device__ void
store_partial(float *partial, float *smem, const float (&dw)[VECS][N], int C, int step)
{
    bool alone = blockDim.y == 1;
    float *to = alone ? partial : smem + threadIdx.y * C;
    __syncthreads();  // all rows in shared memory have been read
#pragma unroll
    for (int k = 0; k < VECS; k++)
        for (int j = 0; j < N; j += 4) {
            int c = (threadIdx.x + k * step) * N + j;
            vec<float, 4> four = {dw[k][j], dw[k][j + 1], dw[k][j + 2], dw[k][j + 3]};
            if (c < C) store_vec(to + c, four);
        }
    if (alone) return;
    __syncthreads();  // every group's sums are in shared memory
    int thread = threadIdx.y * blockDim.x + threadIdx.x;
    for (int c = thread; c < C; c += blockDim.x * blockDim.y) {
        float sum = smem[c];
        for (int g = 1; g < (int)blockDim.y; g++)
            sum += smem[g * C + c];
        partial[c] = sum;
    }
}

/* A group (LANES_PER_ROW lanes, a warp, or for wide rows a block: THREADS = 0) takes the
 * rows g, g + groups, ... The columns of a thread stay the same, so its part of dw stays in
 * registers; at the end each block writes one row of `partial`. `stages` rows of a group
 * are on their way or in use, so that memory never waits for the sum. */
template <typename E, int VECS, int THREADS, int MAX>
static __global__ void __launch_bounds__(MAX) backward_rows(
    E *dx, float *partial, row_inputs<E> in, const E *w, const float *rstd, int C,
    float inv_C, float offset, int stages)
{
    extern __shared__ uint4 smem[];
    __shared__ float part[2][MAX / WARP];
    constexpr int N = VEC16<E>;
    constexpr bool KEEP = MAX < WIDE_THREADS;  // what the second loop needs, in registers
    int group = blockIdx.x * blockDim.y + threadIdx.y, groups = gridDim.x * blockDim.y;
    int first = threadIdx.x, step = THREADS ? THREADS : blockDim.x;
    int threads = blockDim.x * blockDim.y, per_stage = (in.dres ? 3 : 2) * VECS * threads;
    row_stages s = {smem + threadIdx.y * blockDim.x + first, threads, per_stage};
    uint4 *weights = s.mine + stages * s.per_stage;  // unless KEEP
    float dw[VECS][N] = {}, f[VECS][N], a[VECS][N], d[VECS][N];
    constexpr int L = LANES_PER_ROW;  // they wait for each other, not for other groups
    unsigned lanes = ((1u << L) - 1) << threadIdx.y % (WARP / L) * L;

    pdl_trigger();
#pragma unroll
    for (int k = 0; k < VECS; k++) {
        int i = first + k * step;
        if (i >= in.vecs) continue;
        if (KEEP)
            to_float<E, N>(f[k], load_raw<E, N>(w, i));
        else
            cp_async(weights + k * s.stride, w + i * N, true);
    }
    for (int i = 0; i < stages - 1; i++)
        fetch_row<E, VECS>(s, i, in, group + i * groups, step);
    float r = group < in.R ? rstd[group] : 0.0f;
    for (int row = group, stage = 0, odd = 0; row < in.R; row += groups, odd ^= 1) {
        int free_stage = stage ? stage - 1 : stages - 1, next = row + groups;
        fetch_row<E, VECS>(s, free_stage, in, row + (stages - 1) * groups, step);
        float next_r = next < in.R ? rstd[next] : 0.0f, ux = 0.0f;
        wait_for_row(stages);
        const uint4 *from = s.mine + stage * s.per_stage;
#pragma unroll
        for (int k = 0; k < VECS; k++) {
            if (first + k * step >= in.vecs) continue;
            read_slot<E>(a[k], from + k * s.stride);
            read_slot<E>(d[k], from + (VECS + k) * s.stride);
            if (!KEEP) read_slot<E>(f[k], weights + k * s.stride);
            for (int j = 0; j < N; j++)
                ux += d[k][j] * (offset + f[k][j]) * a[k][j];
        }
        float mean = r * (row_sum<THREADS>(ux, part[odd], lanes) * inv_C);
#pragma unroll
        for (int k = 0; k < VECS; k++) {
            if (first + k * step >= in.vecs) continue;
            if (!KEEP) {
                read_slot<E>(a[k], from + k * s.stride);
                read_slot<E>(d[k], from + (VECS + k) * s.stride);
                read_slot<E>(f[k], weights + k * s.stride);
            }
            float through[N] = {};
            if (in.dres) read_slot<E>(through, from + (2 * VECS + k) * s.stride);
            for (int j = 0; j < N; j++) {
                float u = d[k][j] * (offset + f[k][j]);
                dw[k][j] += d[k][j] * (a[k][j] * r);
                d[k][j] = dx_of(through[j], u, a[k][j], r, mean);
            }
            size_t i = (size_t)row * in.vecs + first + k * step;
            store_raw<E, N>(dx, i, to_raw<E, N>(d[k]));
        }
        r = next_r;
        stage = stage + 1 == stages ? 0 : stage + 1;
    }
    store_partial<VECS>(partial + (size_t)blockIdx.x * C, (float *)smem, dw, C, step);
}

/* The same where waits are not cheap: blocks of one thread, which has the rows blockIdx.x,
 * blockIdx.x + gridDim.x, ... and a row of `partial` for its sums. */
template <typename E>
static __global__ void rows_of_a_thread(
    E *dx, float *partial, row_inputs<E> in, const E *w, const float *rstd, int C,
    float inv_C, float offset)
{
    constexpr int N = VEC16<E>;
    float *dw = partial + (size_t)blockIdx.x * C, a[N], d[N], f[N], u[N];
    for (int c = 0; c < C; c++)
        dw[c] = 0.0f;
    for (int row = blockIdx.x; row < in.R; row += gridDim.x) {
        size_t start = (size_t)row * in.vecs;
        float ux = 0.0f, r = rstd[row];
        for (int i = 0; i < in.vecs; i++) {
            to_float(a, load_vec<N>(in.x, start + i));
            to_float(d, load_vec<N>(in.dout, start + i));
            to_float(f, load_vec<N>(w, i));
            for (int j = 0; j < N; j++)
                u[j] = d[j] * (offset + f[j]) * a[j];
            ux = add_all(ux, u);
        }
        float mean = r * (ux * inv_C);
        for (int i = 0; i < in.vecs; i++) {
            float through[N] = {}, sums[N];
            to_float(a, load_vec<N>(in.x, start + i));
            to_float(d, load_vec<N>(in.dout, start + i));
            to_float(f, load_vec<N>(w, i));
            if (in.dres) to_float(through, load_vec<N>(in.dres, start + i));
            for (int j = 0; j < N; j++) {
                sums[j] = dw[i * N + j] + d[j] * (a[j] * r);
                u[j] = dx_of(through[j], d[j] * (offset + f[j]), a[j], r, mean);
            }
            for (int j = 0; j < N; j++)
                dw[i * N + j] = sums[j];
            store_float<N>(dx + (start + i) * N, u);
        }
    }
}
// END SOLUTION
#endif
