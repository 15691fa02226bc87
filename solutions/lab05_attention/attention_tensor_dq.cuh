// BEGIN SOLUTION 05.7 (about 130 lines)
/* attention_tensor_dq.cuh - lab 05, part 05.7: dq on tensor cores. A block owns query
 * rows and loops over tiles of keys. It also leaves delta in the workspace.
 */
#ifndef ATTENTION_TENSOR_DQ_CUH
#define ATTENTION_TENSOR_DQ_CUH
#include "attention_tensor_tiles.cuh"

/* delta = dout . out of the warp's rows, 8 lanes a row. It runs while the first tiles are
 * being copied, so that the two latencies overlap. */
template <typename P, typename E>
static __device__ __forceinline__ void compute_deltas(
    row_info *rows, float *deltas, const backward_call<E> &c, int b, int g, int first_row,
    int own_rows)
{
    const sizes &z = c.z;
    int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
#pragma unroll
    for (int i = 0; i < P::M * 16; i += 4) {
        int r = warp * P::M * 16 + i + lane / 8, n = first_row + min(r, own_rows - 1);
        int t = token_of(z, n), h = head_of(z, g, n);
        size_t at = (((size_t)b * z.T + t) * z.H + h) * z.D;
        float sum = 0.0f;
#pragma unroll
        for (int d = lane % 8 * CHUNK; d < P::D; d += 8 * CHUNK) {
            if (d >= z.D) continue;
            vec<E, CHUNK> x = load_vec<CHUNK>(c.out + at + d);
            vec<E, CHUNK> y = load_vec<CHUNK>(c.dout + at + d);
            for (int e = 0; e < CHUNK; e++)
                sum += (float)x[e] * (float)y[e];
        }
        for (int o = 4; o > 0; o >>= 1)
            sum += __shfl_xor_sync(~0u, sum, o);
        if (lane % 8 != 0 || r >= own_rows) continue;
        rows[r].delta = sum;
        deltas[((size_t)b * z.H + h) * z.T + t] = sum;
    }
}

/* s and dp of 16 M rows and N keys from `key` on become dS = p (dp - delta), in dp. */
template <int M, int N>
static __device__ __forceinline__ void ds_of_rows(
    float (&s)[M][N / 8][4], float (&dp)[M][N / 8][4], const row_info *rows, int key,
    bool needs_mask, float c)
{
    int lane = threadIdx.x % WARP;
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            row_info row = rows[m * 16 + half * 8 + lane / 4];
#pragma unroll
            for (int n = 0; n < N / 8; n++)
#pragma unroll
                for (int i = 2 * half; i < 2 * half + 2; i++) {
                    float p = fast_exp2(fmaf(s[m][n][i], c, -row.lse));
                    dp[m][n][i] = p * (dp[m][n][i] - row.delta);
                }
            if (!needs_mask) continue;
#pragma unroll
            for (int n = 0; n < N / 8; n++)
#pragma unroll
                for (int i = 2 * half; i < 2 * half + 2; i++) {
                    int j = key + n * 8 + lane % 4 * 2 + i % 2;
                    if (j < row.first || j > row.last) dp[m][n][i] = 0.0f;
                }
        }
}

/* One stage of keys for one warp: dq += dS K */
template <typename P, typename E>
static __device__ __forceinline__ void attend_keys(
    float (&dq)[P::M][P::D / 8][4], const E *q, const E *dout, const E *stage,
    lane_offset at, const row_info *rows, int key, float c)
{
    const int M = P::M, N = P::STEP, D = P::D;
    const row_info *last_row = rows + M * 16 - 1;
    const E *k_tile = stage, *v_tile = stage + P::BN * D;
#pragma unroll 1
    for (int j = key; j < key + P::BN; j += N) {
        if (j > last_row->last || j + N <= rows->first) continue;
        bool needs_mask = j + N - 1 > rows->last || j < last_row->first;
        float s[M][N / 8][4], dp[M][N / 8][4];
        gemm_abt<M, N, D>(s, q, k_tile + (j - key) * D, at);
        gemm_abt<M, N, D>(dp, dout, v_tile + (j - key) * D, at);
        ds_of_rows<M, N>(s, dp, rows, j, needs_mask, c);
        gemm_rs<M, N, D>(dq, dp, k_tile + (j - key) * D, at);
    }
}

template <typename P, typename E>
static __global__ void __launch_bounds__(P::THREADS)
    dq_kernel(float *deltas, backward_call<E> c)
{
    extern __shared__ uint4 smem[];
    row_info *rows = (row_info *)smem;                                    // (BM)
    E *q_tile = (E *)(rows + P::BM), *dout_tile = q_tile + P::BM * P::D;  // (BM,D)
    E *stages = dout_tile + P::BM * P::D;  // (STAGES): K (BN,D) and V (BN,D)
    const sizes z = c.z;

    // the last rows see the most keys: they run first, so that no long block runs alone
    int sequences = z.B * z.K, order = gridDim.x / sequences - 1 - blockIdx.x / sequences;
    int b = blockIdx.x % sequences / z.K, g = blockIdx.x % z.K;
    int first_row = order * P::BM, own_rows = min(P::BM, z.T * (z.H / z.K) - first_row);
    auto load_stage = [&](int stage, int key) {
        E *to = stages + stage * P::STAGE;
        load_keys<P::BN, P>(to, c.k, z, b, g, key);
        load_keys<P::BN, P>(to + P::BN * P::D, c.v, z, b, g, key);
        cp_async_commit();
    };
    load_rows<P::BM, P>(q_tile, c.q, z.ldq, z, b, g, first_row);
    load_rows<P::BM, P>(dout_tile, c.dout, z.H * z.D, z, b, g, first_row);
    /* first_key never falls: the first row reaches back farthest. */
    int key = first_key(z, c.pos, b, token_of(z, first_row)) / P::BN * P::BN;
    int end = z.S - z.T + token_of(z, first_row + own_rows - 1) + 1;
    load_stage(0, key);
    for (int r = threadIdx.x; r < P::BM; r += P::THREADS)
        rows[r] = row_info_of(c, NULL, b, g, first_row + r);
    __syncthreads();  // rows are complete, except delta, which the next line writes
    compute_deltas<P>(rows, deltas, c, b, g, first_row, own_rows);

    int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, own = warp * P::M * 16;
    E *q = q_tile + own * P::D, *dout = dout_tile + own * P::D;
    lane_offset at = lane_offset_of<P::D>(lane);
    float factor = z.scale * LOG2_E, dq[P::M][P::D / 8][4] = {};
    for (int stage = 0; key < end; key += P::BN, stage ^= 1) {
        cp_async_wait<0>();
        __syncthreads();  // this stage is visible to the block, the other has been read
        if (key + P::BN < end) load_stage(stage ^ 1, key + P::BN);
        if (own >= own_rows) continue;
        attend_keys<P>(
            dq, q, dout, stages + stage * P::STAGE, at, rows + own, key, factor);
    }
    store_gmem<P::M, P::D, P::D>(q, dq, z.scale, 0, z.D, [&](int r) {
        int n = first_row + own + r;
        size_t at = ((size_t)b * z.T + token_of(z, n)) * z.ldq;
        return own + r < own_rows ? c.dq + at + (size_t)head_of(z, g, n) * z.D : NULL;
    });
}
#endif
// END SOLUTION
