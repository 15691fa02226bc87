// BEGIN SOLUTION 05.7 (about 170 lines)
/* attention_tensor_dkdv.cuh - lab 05, part 05.7: dk and dv on tensor cores. A block owns
 * keys and loops over tiles of query rows, those of all heads of the group.
 */
#ifndef ATTENTION_TENSOR_DKDV_CUH
#define ATTENTION_TENSOR_DKDV_CUH
#include "attention_tensor_tiles.cuh"

/* s of 16 M keys from `key` on and N rows becomes p; dp becomes dS = p (dp - delta). */
template <int M, int N>
static __device__ __forceinline__ void p_ds_of_keys(
    float (&s)[M][N / 8][4], float (&dp)[M][N / 8][4], const row_info *rows, int key,
    bool needs_mask, float c)
{
    int lane = threadIdx.x % WARP;
#pragma unroll
    for (int n = 0; n < N / 8; n++)
#pragma unroll
        for (int odd = 0; odd < 2; odd++) {
            row_info row = rows[n * 8 + lane % 4 * 2 + odd];
#pragma unroll
            for (int m = 0; m < M; m++)
#pragma unroll
                for (int i = odd; i < 4; i += 2) {
                    s[m][n][i] = fast_exp2(fmaf(s[m][n][i], c, -row.lse));
                    dp[m][n][i] = s[m][n][i] * (dp[m][n][i] - row.delta);
                }
            if (!needs_mask) continue;
#pragma unroll
            for (int m = 0; m < M; m++)
#pragma unroll
                for (int i = odd; i < 4; i += 2) {
                    int j = key + m * 16 + i / 2 * 8 + lane / 4;
                    if (j < row.first || j > row.last) s[m][n][i] = dp[m][n][i] = 0.0f;
                }
        }
}

/* The first token after t0 that sees no key up to `key`. first_key never falls, so a
 * binary search finds it. */
static __device__ __forceinline__ int
end_token(const sizes &z, const int *pos, int b, int t0, int key)
{
    long long reach = (long long)key - (z.S - z.T) + z.window + 1;
    int from = t0, to = (int)min(reach, (long long)z.T);
    while (pos && from < to) {
        int t = from + (to - from) / 2;
        if (first_key(z, pos, b, t) <= key)
            from = t + 1;
        else
            to = t;
    }
    return to;
}

/* The keys of a warp */
template <typename P, typename E> struct own_keys {
    const E *k, *v;                  // (16 M, D), in shared memory
    E *p, *ds;                       // (16 M, BN), in shared memory; SPLIT > 1
    int first, last, share, column;  // keys; which of the SPLIT warps; its first column
    lane_offset at, at_p;
    float factor;  // scale log2(e)

    /* P and dS of N rows of a tile */
    template <int N>
    __device__ __forceinline__ void p_ds(
        float (&s)[P::M][N / 8][4], float (&dp)[P::M][N / 8][4], const E *q,
        const E *dout, const row_info *rows) const
    {
        bool needs_mask = last > rows->last || first < rows[N - 1].first;
        gemm_abt<P::M, N, P::D>(s, k, q, at);
        gemm_abt<P::M, N, P::D>(dp, v, dout, at);
        p_ds_of_keys<P::M, N>(s, dp, rows, first, needs_mask, factor);
    }

    /* Whether some of n rows see some of the keys */
    __device__ __forceinline__ bool visible(const row_info *rows, int n) const
    {
        return first <= rows[n - 1].last && last >= rows->first;
    }
};

/* A tile of rows, the first `valid` of them before the end: dv += P' dO, dk += dS' Q */
template <typename P, typename E>
static __device__ __forceinline__ void attend_rows(
    typename P::sums &dk, typename P::sums &dv, const own_keys<P, E> &own, const E *q,
    const row_info *rows, int valid)
{
    const int M = P::M, D = P::D, N = P::STEP;
    const E *dout = q + P::BN * D;
#pragma unroll 1
    for (int r = 0; r < P::BN; r += N) {
        if (!own.visible(rows + r, N) || r >= valid) continue;
        float s[M][N / 8][4], dp[M][N / 8][4];
        own.template p_ds<N>(s, dp, q + r * D, dout + r * D, rows + r);
        gemm_rs<M, N, D>(dv, s, dout + r * D, own.at);
        gemm_rs<M, N, D>(dk, dp, q + r * D, own.at);
    }
}

/* The same, shared by SPLIT warps. All warps of the block call it. */
template <typename P, typename E>
static __device__ __forceinline__ void attend_rows_split(
    typename P::sums &dk, typename P::sums &dv, const own_keys<P, E> &own, const E *q,
    const row_info *rows, int valid)
{
    const int M = P::M, D = P::D, N = P::BN / P::SPLIT, COLUMNS = P::COLUMNS;
    const E *dout = q + P::BN * D;
    int r = own.share * N;
    bool visible = own.visible(rows, P::BN) && valid > 0;  // equal for those who share
    if (visible) {
        float s[M][N / 8][4], dp[M][N / 8][4];
        own.template p_ds<N>(s, dp, q + r * D, dout + r * D, rows + r);
        store_smem<M, N, P::BN>(own.p, s, 1.0f, r);
        store_smem<M, N, P::BN>(own.ds, dp, 1.0f, r);
    }
    __syncthreads();  // P and dS of the other warps are visible
    if (visible) {
        gemm_ss<M, P::BN, D, COLUMNS>(dv, own.p, own.at_p, dout, own.column, own.at);
        gemm_ss<M, P::BN, D, COLUMNS>(dk, own.ds, own.at_p, q, own.column, own.at);
    }
}

template <typename P, typename E>
static __global__ void __launch_bounds__(P::THREADS)
    dkdv_kernel(const float *deltas, backward_call<E> c)
{
    extern __shared__ uint4 smem[];
    const int BM = P::BM, BN = P::BN, M = P::M, D = P::D;
    row_info *infos = (row_info *)smem;                                 // (STAGES, BN)
    E *k_tile = (E *)(infos + STAGES * BN), *v_tile = k_tile + BM * D;  // (BM,D)
    E *stages = v_tile + BM * D;  // (STAGES): Q (BN,D) and dO (BN,D)
    E *p_tile = stages + STAGES * P::STAGE, *ds_tile = p_tile + BM * BN;  // (BM,BN)
    const sizes z = c.z;

    // the first keys are seen by the most queries: they run first
    int sequences = z.B * z.K, b = blockIdx.x % sequences / z.K, g = blockIdx.x % z.K;
    int first = blockIdx.x / sequences * BM, last = min(first + BM, z.S) - 1;
    int t = max(first - (z.S - z.T), 0), group = z.H / z.K;
    int n = t * group, end = end_token(z, c.pos, b, t, last) * group;
    auto load_stage = [&](int stage, int from) {
        E *to = stages + stage * P::STAGE;
        load_rows<BN, P>(to, c.q, z.ldq, z, b, g, from);
        load_rows<BN, P>(to + BN * D, c.dout, z.H * z.D, z, b, g, from);
        cp_async_commit();
    };
    static_assert(P::THREADS >= BN, "a thread for each row");
    bool has_row = threadIdx.x < BN;
    row_info info = {};  // of the next tile: loaded early, stored after this one
    if (has_row) infos[threadIdx.x] = row_info_of(c, deltas, b, g, n + threadIdx.x);
    load_keys<BM, P>(k_tile, c.k, z, b, g, first);
    load_keys<BM, P>(v_tile, c.v, z, b, g, first);
    load_stage(0, n);

    int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    int row = warp / P::SPLIT * M * 16;
    own_keys<P, E> own;
    own.k = k_tile + row * D, own.v = v_tile + row * D;
    own.p = p_tile + row * BN, own.ds = ds_tile + row * BN;
    own.first = first + row, own.last = own.first + M * 16 - 1;
    own.share = warp % P::SPLIT, own.column = own.share * P::COLUMNS;
    own.at = lane_offset_of<D>(lane), own.at_p = lane_offset_of<BN>(lane);
    own.factor = z.scale * LOG2_E;
    typename P::sums dk = {}, dv = {};
    for (int stage = 0; n < end; n += BN, stage ^= 1) {
        cp_async_wait<0>();
        __syncthreads();  // this stage is visible to the block, the other has been read
        if (n + BN < end) {
            load_stage(stage ^ 1, n + BN);
            if (has_row) info = row_info_of(c, deltas, b, g, n + BN + threadIdx.x);
        }
        const E *q = stages + stage * P::STAGE;
        if constexpr (P::SPLIT == 1)
            attend_rows<P>(dk, dv, own, q, infos + stage * BN, end - n);
        else
            attend_rows_split<P>(dk, dv, own, q, infos + stage * BN, end - n);
        if (has_row) infos[(stage ^ 1) * BN + threadIdx.x] = info;
    }
    cp_async_wait<0>();
    __syncthreads();  // if no row sees the keys, they have arrived only now
    auto at_key = [&](E *x, int r) {
        size_t at = (size_t)b * z.S * z.ldkv + (size_t)g * z.D;
        return own.first + r <= last ? x + at + (size_t)(own.first + r) * z.ldkv : NULL;
    };
    store_gmem<M, P::COLUMNS, D>(
        k_tile + row * D, dk, z.scale, own.column, z.D,
        [&](int r) { return at_key(c.dk, r); });
    store_gmem<M, P::COLUMNS, D>(
        v_tile + row * D, dv, 1.0f, own.column, z.D,
        [&](int r) { return at_key(c.dv, r); });
}
#endif
// END SOLUTION
