/* attention_tensor_backward.cu - lab 05: attention backward in f16 and bf16.
 * attention.h is the specification, contract.cuh what stands around this. */
#include "contract.cuh"
#include "tiles.cuh"

// BEGIN SOLUTION 05.7 (about 330 lines)
//> /* TODO(05.7): the two kernels of part 05.5 with their products on tensor cores: what is
//>  * p q in one is a row of 16 in the other. P and dS stay float until they are an operand.
//>  * A first version may be the one of part 05.5, as a template on the element type. */
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
/* Two kernels, because each sum wants an owner of its own, and both make P and dS again:
 *
 *     dq_kernel     a block owns rows      S  = Q K^T   dP  = dO V^T   dQ += dS K
 *                   and goes over keys     leaves delta in the workspace
 *     dkdv_kernel   a block owns keys      S' = K Q^T   dP' = V dO^T   dV += P' dO
 *                   and goes over rows                                 dK += dS' Q
 *
 * A row is a token and a head of the group: row t H/K + m is token t of head g H/K + m. So
 * the heads of a group are summed in the registers of their keys' owner, in this order.
 * Each warp owns M times 16 rows (keys), all to itself: what comes out of the first two
 * products is, rounded and packed, the first operand of the others, without leaving the
 * registers (see tensor_cores.cuh). The tiles of the other side come in turns into two
 * buffers: while one is computed with, the next is copied. */
/* D: head dims up to D are padded to it. TILE: rows (keys) of a tile, of which CHUNK are
 * computed with at a time. SPLIT: warps that share keys, where the sums of 32 keys are too
 * many registers for one; each makes P and dS of its part of the rows and, through shared
 * memory, the sums of its part of the columns of all. */
template <int D_, int WARPS_, int M_, int TILE_, int CHUNK_, int SPLIT_ = 1> struct plan {
    static const int D = D_, WARPS = WARPS_, M = M_, TILE = TILE_, CHUNK = CHUNK_;
    static const int SPLIT = SPLIT_, COLUMNS = D / SPLIT;
    static const int OWN = WARPS / SPLIT * M * 16, THREADS = WARPS * WARP;
    static const int SHARED = SPLIT == 1 ? 0 : 2 * OWN * TILE;  // P and dS
    static const int BYTES =
        ((2 * OWN + 4 * TILE) * D + SHARED) * 2 + (OWN + 2 * TILE) * 16;
};

/* What a row brings along. A row that is not there has lse = inf: its p is 0. */
struct alignas(16) row_info {
    int first, last;   // keys that it sees
    float lse, delta;  // lse in units of ln 2
};

/* Token and head of row n; the first key that token t sees, the last is its own. */
static __device__ int token_of(const sizes &z, int n)
{
    return n / (z.H / z.K);
}
static __device__ int head_of(const sizes &z, int g, int n)
{
    return g * (z.H / z.K) + n % (z.H / z.K);
}
static __device__ int first_key(const sizes &z, const int *pos, int b, int t)
{
    int i = z.S - z.T + t, back = pos ? pos[(size_t)b * z.T + t] : i;
    return max(i - min(back, z.window), 0);
}

/* Begins the copy of keys from, from + 1, ... of sequence b, head g; zeros behind S and D. */
template <int KEYS, typename P, typename E>
static __device__ void
copy_keys(E *tile, const E *x, const sizes &z, int b, int g, int from)
{
    const int CHUNKS = P::D / EIGHT, AT_ONCE = P::THREADS / CHUNKS;
    int chunk = threadIdx.x % CHUNKS;
    x += (size_t)b * z.S * z.ldkv + (size_t)g * z.D + chunk * EIGHT;
#pragma unroll
    for (int r = threadIdx.x / CHUNKS; r < KEYS; r += AT_ONCE) {
        bool valid = from + r < z.S && chunk * EIGHT < z.D;
        const E *row = valid ? x + (size_t)(from + r) * z.ldkv : x - chunk * EIGHT;
        copy_async(tile + place<P::D>(r, chunk), row, valid);
    }
}

/* The same of rows from, from + 1, ... of q or dout, whose tokens lie ld apart. */
template <int ROWS, typename P, typename E>
static __device__ void
copy_rows(E *tile, const E *x, int ld, const sizes &z, int b, int g, int from)
{
    const int CHUNKS = P::D / EIGHT, AT_ONCE = P::THREADS / CHUNKS;
    int chunk = threadIdx.x % CHUNKS, rows = z.T * (z.H / z.K);
    x += (size_t)b * z.T * ld;
#pragma unroll
    for (int r = threadIdx.x / CHUNKS; r < ROWS; r += AT_ONCE) {
        int n = min(from + r, rows - 1);
        const E *row = x + (size_t)token_of(z, n) * ld + (size_t)head_of(z, g, n) * z.D;
        bool valid = from + r < rows && chunk * EIGHT < z.D;
        copy_async(
            tile + place<P::D>(r, chunk), valid ? row + chunk * EIGHT : row, valid);
    }
}

template <typename E>
static __device__ row_info
info_of(const backward_call<E> &c, const float *deltas, int b, int g, int n)
{
    const float log2_e = 1.442695041f;
    const sizes &z = c.z;
    bool is_there = n < z.T * (z.H / z.K);
    n = min(n, z.T * (z.H / z.K) - 1);
    int t = token_of(z, n);
    size_t at = ((size_t)b * z.H + head_of(z, g, n)) * z.T + t;
    row_info y = {first_key(z, c.pos, b, t), z.S - z.T + t, INFINITY, 0.0f};
    if (is_there) y.lse = c.lse[at] * log2_e;
    if (is_there && deltas) y.delta = deltas[at];
    return y;
}

/* --- dq ------------------------------------------------------------------------------ */

/* delta = dout . out of the warp's rows, 8 lanes a row, read while the tiles are on their
 * way: waiting for the one hides waiting for the other. */
template <typename P, typename E>
static __device__ void find_deltas(
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
        for (int d = lane % 8 * EIGHT; d < P::D; d += 8 * EIGHT) {
            if (d >= z.D) continue;
            uint4 x = *(const uint4 *)(c.out + at + d);
            uint4 y = *(const uint4 *)(c.dout + at + d);
            for (int e = 0; e < EIGHT; e++)
                sum += (float)((const E *)&x)[e] * (float)((const E *)&y)[e];
        }
        for (int o = 4; o > 0; o >>= 1)
            sum += __shfl_xor_sync(~0u, sum, o);
        if (lane % 8 != 0 || r >= own_rows) continue;
        rows[r].delta = sum;
        deltas[((size_t)b * z.H + h) * z.T + t] = sum;
    }
}

/* s and dp of 16 M rows and N keys from `key` on become p (dp - delta), in dp */
template <int M, int N>
static __device__ void differentiate(
    float (&s)[M][N / 8][4], float (&dp)[M][N / 8][4], const row_info *rows, int key,
    bool some_hidden, float c)
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
                    float p = exp2_approximate(fmaf(s[m][n][i], c, -row.lse));
                    dp[m][n][i] = p * (dp[m][n][i] - row.delta);
                }
            if (!some_hidden) continue;
#pragma unroll
            for (int n = 0; n < N / 8; n++)
#pragma unroll
                for (int i = 2 * half; i < 2 * half + 2; i++) {
                    int j = key + n * 8 + lane % 4 * 2 + i % 2;
                    if (j < row.first || j > row.last) dp[m][n][i] = 0.0f;
                }
        }
}

template <typename P, typename E>
static __global__ void __launch_bounds__(P::THREADS)
    dq_kernel(float *deltas, backward_call<E> c)
{
    extern __shared__ uint4 shared_bytes[];
    const int TILE = P::TILE * P::D, N = P::CHUNK;
    row_info *rows = (row_info *)shared_bytes;                              // (OWN)
    E *q_tile = (E *)(rows + P::OWN), *dout_tile = q_tile + P::OWN * P::D;  // (OWN,D)
    E *tiles = dout_tile + P::OWN * P::D;  // two of K (TILE,D) and V (TILE,D)
    const sizes z = c.z;

    // the last rows see most keys: they begin first, so that no long block is left over
    int sequences = z.B * z.K, order = gridDim.x / sequences - 1 - blockIdx.x / sequences;
    int b = blockIdx.x % sequences / z.K, g = blockIdx.x % z.K;
    int first_row = order * P::OWN, own_rows = min(P::OWN, z.T * (z.H / z.K) - first_row);
    copy_rows<P::OWN, P>(q_tile, c.q, z.ldq, z, b, g, first_row);
    copy_rows<P::OWN, P>(dout_tile, c.dout, z.H * z.D, z, b, g, first_row);
    /* Documents only ever start later: the first row reaches back farthest. */
    int key = first_key(z, c.pos, b, token_of(z, first_row)) / P::TILE * P::TILE;
    int end = z.S - z.T + token_of(z, first_row + own_rows - 1) + 1;
    copy_keys<P::TILE, P>(tiles, c.k, z, b, g, key);
    copy_keys<P::TILE, P>(tiles + TILE, c.v, z, b, g, key);
    copy_commit();
    for (int r = threadIdx.x; r < P::OWN; r += P::THREADS)
        rows[r] = info_of(c, NULL, b, g, first_row + r);
    __syncthreads();  // delta, of which info_of knows nothing, will not be overwritten
    find_deltas<P>(rows, deltas, c, b, g, first_row, own_rows);

    int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, own = warp * P::M * 16;
    const row_info *mine = rows + own, *my_last = mine + P::M * 16 - 1;
    const E *q = q_tile + own * P::D, *dout = dout_tile + own * P::D;
    lane_places at = places_of<P::D>(lane);
    float factor = z.scale * 1.442695041f, dq[P::M][P::D / 8][4] = {};
    for (int stage = 0; key < end; key += P::TILE, stage ^= 1) {
        copy_wait<0>();
        __syncthreads();  // this tile is there, and nobody reads the other any more
        const E *k_tile = tiles + stage * 2 * TILE, *v_tile = k_tile + TILE;
        if (key + P::TILE < end) {
            E *other = tiles + (stage ^ 1) * 2 * TILE;
            copy_keys<P::TILE, P>(other, c.k, z, b, g, key + P::TILE);
            copy_keys<P::TILE, P>(other + TILE, c.v, z, b, g, key + P::TILE);
            copy_commit();
        }
        if (own >= own_rows) continue;
#pragma unroll 1
        for (int j = key; j < key + P::TILE; j += N) {
            if (j > my_last->last || j + N <= mine->first) continue;
            bool some_hidden = j + N - 1 > mine->last || j < my_last->first;
            float s[P::M][N / 8][4], dp[P::M][N / 8][4];
            rows_by_rows<P::M, N, P::D>(s, q, k_tile + (j - key) * P::D, at);
            rows_by_rows<P::M, N, P::D>(dp, dout, v_tile + (j - key) * P::D, at);
            differentiate<P::M, N>(s, dp, mine, j, some_hidden, factor);
            add_rows<P::M, N, P::D>(dq, dp, k_tile + (j - key) * P::D, at);
        }
    }
    put<P::M, P::D, P::D>(q_tile + own * P::D, dq, z.scale, 0, z.D, [&](int r) {
        int n = first_row + own + r;
        size_t at = ((size_t)b * z.T + token_of(z, n)) * z.ldq;
        return own + r < own_rows ? c.dq + at + (size_t)head_of(z, g, n) * z.D : NULL;
    });
}

/* --- dk and dv ----------------------------------------------------------------------- */

/* s of 16 M keys from `key` on and N rows becomes p; dp becomes p (dp - delta) */
template <int M, int N>
static __device__ void weigh_keys(
    float (&s)[M][N / 8][4], float (&dp)[M][N / 8][4], const row_info *rows, int key,
    bool some_hidden, float c)
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
                    s[m][n][i] = exp2_approximate(fmaf(s[m][n][i], c, -row.lse));
                    dp[m][n][i] = s[m][n][i] * (dp[m][n][i] - row.delta);
                }
            if (!some_hidden) continue;
#pragma unroll
            for (int m = 0; m < M; m++)
#pragma unroll
                for (int i = odd; i < 4; i += 2) {
                    int j = key + m * 16 + i / 2 * 8 + lane / 4;
                    if (j < row.first || j > row.last) s[m][n][i] = dp[m][n][i] = 0.0f;
                }
        }
}

/* The first token after t0 that sees no key up to `key`: documents only ever start later,
 * so that halving finds it. */
static __device__ int token_behind(const sizes &z, const int *pos, int b, int t0, int key)
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

template <typename P, typename E>
static __global__ void __launch_bounds__(P::THREADS)
    dkdv_kernel(const float *deltas, backward_call<E> c)
{
    extern __shared__ uint4 shared_bytes[];
    const int TILE = P::TILE * P::D, M = P::M, D = P::D, COLUMNS = P::COLUMNS;
    row_info *infos = (row_info *)shared_bytes;  // two of (TILE)
    E *k_tile = (E *)(infos + 2 * P::TILE), *v_tile = k_tile + P::OWN * D;  // (OWN,D)
    E *tiles = v_tile + P::OWN * D;  // two of Q (TILE,D) and dO (TILE,D)
    E *p_tile = tiles + 4 * TILE, *ds_tile = p_tile + P::OWN * P::TILE;  // (OWN,TILE)
    const sizes z = c.z;

    // the first keys are seen by most queries: they begin first
    int sequences = z.B * z.K;
    int b = blockIdx.x % sequences / z.K, g = blockIdx.x % z.K;
    int first = blockIdx.x / sequences * P::OWN, last = min(first + P::OWN, z.S) - 1;
    int t = max(first - (z.S - z.T), 0), group = z.H / z.K;
    int n = t * group, end = token_behind(z, c.pos, b, t, last) * group;
    auto copy = [&](int stage, int from) {
        E *to = tiles + stage * 2 * TILE;
        copy_rows<P::TILE, P>(to, c.q, z.ldq, z, b, g, from);
        copy_rows<P::TILE, P>(to + TILE, c.dout, z.H * z.D, z, b, g, from);
        copy_commit();
    };
    /* of one row of a tile: read early, stored when the tile before has been used */
    static_assert(P::THREADS >= P::TILE, "a thread for each row");
    bool has_row = threadIdx.x < P::TILE;
    row_info info = {};
    if (has_row) infos[threadIdx.x] = info_of(c, deltas, b, g, n + threadIdx.x);
    copy_keys<P::OWN, P>(k_tile, c.k, z, b, g, first);
    copy_keys<P::OWN, P>(v_tile, c.v, z, b, g, first);
    copy(0, n);

    int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    int own = warp / P::SPLIT * M * 16, share = warp % P::SPLIT, column = share * COLUMNS;
    int key = first + own, key_last = key + M * 16 - 1;
    lane_places at = places_of<D>(lane);
    float factor = z.scale * 1.442695041f;
    float dk[M][COLUMNS / 8][4] = {}, dv[M][COLUMNS / 8][4] = {};
    for (int stage = 0; n < end; n += P::TILE, stage ^= 1) {
        copy_wait<0>();
        __syncthreads();  // this tile is there, and nobody reads the other any more
        if (n + P::TILE < end) {
            copy(stage ^ 1, n + P::TILE);
            if (has_row) info = info_of(c, deltas, b, g, n + P::TILE + threadIdx.x);
        }
        auto weigh = [&](auto &s, auto &dp,
                         int r) {  // of keys and rows r, r + 1, ... of the tile
            const int N = sizeof s[0] / sizeof s[0][0] * 8;
            const row_info *rows = infos + stage * P::TILE + r, *row_last = rows + N - 1;
            const E *q = tiles + stage * 2 * TILE + r * D, *dout = q + TILE;
            bool some_hidden = key_last > rows->last || key < row_last->first;
            rows_by_rows<M, N, D>(s, k_tile + own * D, q, at);
            rows_by_rows<M, N, D>(dp, v_tile + own * D, dout, at);
            weigh_keys<M, N>(s, dp, rows, key, some_hidden, factor);
        };
        auto is_seen = [&](int r, int rows) {
            const row_info *info = infos + stage * P::TILE + r;
            return key <= info[rows - 1].last && key_last >= info->first && n + r < end;
        };
        const E *q = tiles + stage * 2 * TILE, *dout = q + TILE;
        if constexpr (P::SPLIT == 1) {
            const int N = P::CHUNK;
#pragma unroll 1
            for (int r = 0; r < P::TILE; r += N) {
                if (!is_seen(r, N)) continue;
                float s[M][N / 8][4], dp[M][N / 8][4];
                weigh(s, dp, r);
                add_rows<M, N, D>(dv, s, dout + r * D, at);
                add_rows<M, N, D>(dk, dp, q + r * D, at);
            }
        } else {
            const int N = P::TILE / P::SPLIT;
            bool seen = is_seen(0, P::TILE);  // the same for all who share the keys
            E *p = p_tile + own * P::TILE, *ds = ds_tile + own * P::TILE;
            if (seen) {
                float s[M][N / 8][4], dp[M][N / 8][4];
                weigh(s, dp, share * N);
                keep<M, N, P::TILE>(p, s, 1.0f, share * N);
                keep<M, N, P::TILE>(ds, dp, 1.0f, share * N);
            }
            __syncthreads();  // P and dS of the others are there
            lane_places at_w = places_of<P::TILE>(lane);
            if (seen) {
                add_rows_of<M, P::TILE, D, COLUMNS>(dv, p, at_w, dout, column, at);
                add_rows_of<M, P::TILE, D, COLUMNS>(dk, ds, at_w, q, column, at);
            }
        }
        if (has_row) infos[(stage ^ 1) * P::TILE + threadIdx.x] = info;
    }
    copy_wait<0>();
    __syncthreads();  // a block without rows has only now read its keys
    size_t own_at = (size_t)b * z.S * z.ldkv + (size_t)g * z.D;
    auto to = [&](E *x, int r) {
        return key + r <= last ? x + own_at + (size_t)(key + r) * z.ldkv : NULL;
    };
    put<M, COLUMNS, D>(
        k_tile + own * D, dk, z.scale, column, z.D, [&](int r) { return to(c.dk, r); });
    put<M, COLUMNS, D>(
        v_tile + own * D, dv, 1.0f, column, z.D, [&](int r) { return to(c.dv, r); });
}

/* --- launchers ----------------------------------------------------------------------- */

template <typename E> static size_t backward_workspace(sizes z)
{
    return (size_t)z.B * z.H * z.T * sizeof(float);  // delta
}

template <typename P, typename Kernel, typename Deltas, typename E>
static wb_status
run(Kernel kernel, int owned, Deltas deltas, const backward_call<E> &c, cudaStream_t s)
{
    size_t blocks = ((size_t)owned + P::OWN - 1) / P::OWN * c.z.B * c.z.K;
    if (blocks > INT_MAX) return WB_BAD_SHAPE;
    cudaFuncSetAttribute(
        (const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, P::BYTES);
    kernel<<<(unsigned)blocks, P::THREADS, P::BYTES, s>>>(deltas, c);
    return wb_launched();
}

template <typename Q, typename KV, typename E>
static wb_status launch(const backward_call<E> &c, cudaStream_t s)
{
    size_t rows = (size_t)c.z.T * (c.z.H / c.z.K);
    if (rows > INT_MAX / 2) return WB_BAD_SHAPE;
    float *deltas = (float *)c.workspace;
    wb_status status = run<Q>(dq_kernel<Q, E>, (int)rows, deltas, c, s);
    if (status != WB_OK) return status;
    return run<KV>(dkdv_kernel<KV, E>, c.z.S, (const float *)deltas, c, s);
}

/* Measured on an H200. Short rows: what counts is many small blocks, that wait for their
 * first tiles at the same time. Long ones: that each fragment is used for 32 rows. */
template <typename E> static wb_status backward(backward_call<E> c, cudaStream_t s)
{
    const int D = c.z.D, SHORT = 1024;
    if (D <= 32) return launch<plan<32, 4, 2, 64, 32>, plan<32, 4, 2, 64, 32>>(c, s);
    if (D <= 64 && c.z.T <= SHORT)
        return launch<plan<64, 4, 1, 64, 32>, plan<64, 4, 1, 64, 32>>(c, s);
    if (D <= 64) return launch<plan<64, 4, 2, 64, 64>, plan<64, 8, 2, 64, 32>>(c, s);
    if (D <= 128) return launch<plan<128, 4, 2, 32, 32>, plan<128, 8, 1, 64, 64>>(c, s);
    return launch<plan<256, 8, 1, 32, 32>, plan<256, 8, 2, 64, 16, 4>>(c, s);
}
// END SOLUTION

DEFINE_BACKWARD(wb_f16, f16)
DEFINE_BACKWARD(wb_bf16, bf16)
