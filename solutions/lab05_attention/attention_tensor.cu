/* attention_tensor.cu - lab 05: attention forward in f16 and bf16.
 * attention.h is the specification, contract.cuh what stands around this. */
#include "contract.cuh"
#include "tiles.cuh"

// BEGIN SOLUTION 05.6 (about 280 lines)
//> /* TODO(05.6): a kernel for tensor cores, and its launcher. The tiled kernel of part 05.2,
//>  * with the two products done by warps. A first version needs nothing of tensor_cores.cuh:
//>  * with nvcuda::wmma (mma.h), scores go to shared memory as floats, each row's softmax
//>  * is done there, and P comes back rounded to E. About 120 lines. Then the README's way:
//>  * keep scores, P and O in registers, and copy the next tile while this one is used. */
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
/* On tensor cores; tensor_cores.cuh has the instructions and the layouts.
 *
 * A block has ROWS query rows of one sequence and one key head, and goes over their keys in
 * tiles of KEYS. Rows are (t, member of the group): the heads that share a K and V share
 * its tiles too, and a few queries of ten heads still fill a block. Each warp has 16 or 32
 * of the rows, all to itself, so that the softmax never leaves the warp:
 *
 *      shared memory        registers of a warp
 *      Q (ROWS,D) -------->  A \
 *      K (KEYS,D) -------->  B -- S (16,KEYS) float -- softmax -- P, rounded, packed: A \
 *      V (KEYS,D) ------------------------------------------------------------------> B -- O
 *
 * While a tile is computed with, the next one is copied into the other of two buffers.
 * Where there are too few rows to keep a card busy, several blocks share the keys of the
 * same rows; their outputs meet in the workspace, and a second kernel adds them up.
 */
enum {
    BUSY = 128, /* blocks that keep a card busy */
    PART = 256, /* keys of a part, at least */
};
static const float LN_2 = 0.693147181f;

/* D is what head dimensions up to D are padded to, with zeros in shared memory. */
template <int D_, int WARPS_, int M_, int KEYS_, int BLOCKS_ = 1> struct plan {
    static const int D = D_, WARPS = WARPS_, KEYS = KEYS_;
    static const int M = M_; /* times 16 rows a warp: each part of K and V that it loads
                                from shared memory is used M times */
    static const int ROWS = WARPS * M * 16, THREADS = WARPS * WARP;
    static const int BLOCKS = BLOCKS_;  // that share a multiprocessor
    static const int BYTES = (ROWS + 4 * KEYS) * D * 2 + ROWS * 16;
};

/* A query row: its token, its head, and the stretch of keys that it sees. */
struct row_info {
    int t, head, first, last;
};

/* Begins the copy of rows [first, first + ROWS) of n rows of `width` elements, ld apart,
 * into a tile. What lies outside, below or to the right, becomes zero: 0 * Inf is NaN. */
template <int ROWS, int D, int THREADS, typename E>
static __device__ void
load_tile(E *tile, const E *from, int ld, int first, int n, int width)
{
    const int CHUNKS = D / EIGHT;
    int chunk = threadIdx.x % CHUNKS, row = threadIdx.x / CHUNKS;
    from += (size_t)(first + row) * ld + chunk * EIGHT;
#pragma unroll
    for (int r = 0; r < ROWS; r += THREADS / CHUNKS) {
        bool valid = first + row + r < n && chunk * EIGHT < width;
        copy_async(tile + place<D>(row + r, chunk), from + (size_t)r * ld, valid);
    }
}

/* Element i of C lies in row lane/4 + 8*(i/2), column 2*(lane%4) + i%2. */
template <typename P>
static __device__ void
hide(float (&s)[P::M][P::KEYS / 8][4], const row_info *rows, int first_key, int lane)
{
    first_key += lane % 4 * 2;
#pragma unroll
    for (int m = 0; m < P::M; m++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            row_info row = rows[m * 16 + half * 8 + lane / 4];
#pragma unroll
            for (int n = 0; n < P::KEYS / 8; n++)
#pragma unroll
                for (int i = 0; i < 2; i++) {
                    int key = first_key + n * 8 + i;
                    if (key < row.first || key > row.last)
                        s[m][n][2 * half + i] = -INFINITY;
                }
        }
}

/* What a lane keeps of its 2 M rows: its elements of O, the exponent that everything is
 * relative to (a maximum, as a power of two), and its share of the sum of exponentials. */
template <typename P> struct sums {
    float o[P::M][P::D / 8][4];
    float max[P::M][2], sum[P::M][2];
};

template <typename P> static __device__ void clear(sums<P> &own)
{
#pragma unroll
    for (int m = 0; m < P::M; m++) {
#pragma unroll
        for (int n = 0; n < P::D / 8; n++)
            for (int i = 0; i < 4; i++)
                own.o[m][n][i] = 0.0f;
        for (int half = 0; half < 2; half++)  // not -inf: (-inf) - (-inf) is NaN
            own.max[m][half] = -1e30f, own.sum[m][half] = 0.0f;
    }
}

/* s becomes p = exp(scale (s - max)), as a power of two with c = scale log2(e): one FMA and
 * one instruction each. Rescaling O for every new maximum is not necessary: any number
 * near the maximum does as well. So O is touched only where a maximum has grown by more
 * than a factor of 2^8, in a few tiles; p <= 2^8 is no danger to f16 (65504). */
template <typename P>
static __device__ void soften(sums<P> &own, float (&s)[P::M][P::KEYS / 8][4], float c)
{
    const float NEAR = 8.0f;
    float top[P::M][2];
    bool grows = false;
#pragma unroll
    for (int m = 0; m < P::M; m++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            float t = fmaxf(s[m][0][2 * half], s[m][0][2 * half + 1]);
#pragma unroll
            for (int n = 1; n < P::KEYS / 8; n++)
                t = fmaxf(t, fmaxf(s[m][n][2 * half], s[m][n][2 * half + 1]));
            t = fmaxf(t, __shfl_xor_sync(~0u, t, 1));  // four lanes share a row
            t = fmaxf(t, __shfl_xor_sync(~0u, t, 2));
            top[m][half] = t *= c;
            grows |= t - own.max[m][half] > NEAR;
        }
    if (__any_sync(~0u, grows)) {
#pragma unroll
        for (int m = 0; m < P::M; m++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
                float max = fmaxf(own.max[m][half], top[m][half]);
                float shrink = exp2_approximate(own.max[m][half] - max);
                own.max[m][half] = max, own.sum[m][half] *= shrink;
#pragma unroll
                for (int n = 0; n < P::D / 8; n++)
                    for (int i = 2 * half; i < 2 * half + 2; i++)
                        own.o[m][n][i] *= shrink;
            }
    }
#pragma unroll
    for (int m = 0; m < P::M; m++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            float max = own.max[m][half], sum = 0.0f;
#pragma unroll
            for (int n = 0; n < P::KEYS / 8; n++)
#pragma unroll
                for (int i = 2 * half; i < 2 * half + 2; i++)
                    sum += s[m][n][i] = exp2_approximate(fmaf(s[m][n][i], c, -max));
            own.sum[m][half] += sum;
        }
}

static __device__ row_info find_row(const int *pos, const sizes &z, int b, int g, int row)
{
    int group = z.H / z.K;
    row = min(row, z.T * group - 1);  // rows behind the last are copies of it
    int t = row / group, i = z.S - z.T + t;
    int reach = min(pos ? pos[(size_t)b * z.T + t] : i, z.window);
    return {t, g * group + row % group, i - reach, i};
}

/* What the lanes of a warp see: [first, last] by some row, [all_from, all_to] by each. */
struct view {
    int first, last, all_from, all_to;
};
static __device__ view view_of(const row_info *rows, int count)
{
    int lane = threadIdx.x % WARP;
    view v = {INT_MAX, 0, 0, INT_MAX};
    for (int i = lane; i < count; i += WARP) {
        v.first = min(v.first, rows[i].first), v.last = max(v.last, rows[i].last);
        v.all_from = max(v.all_from, rows[i].first);
        v.all_to = min(v.all_to, rows[i].last);
    }
    return {
        __reduce_min_sync(~0u, v.first), __reduce_max_sync(~0u, v.last),
        __reduce_max_sync(~0u, v.all_from), __reduce_min_sync(~0u, v.all_to)};
}

/* Q's rows lie where their token and head are. */
template <typename P, typename E>
static __device__ void
load_queries(E *tile, const E *q, const row_info *rows, int valid_rows, sizes z)
{
    const int CHUNKS = P::D / EIGHT;
    int chunk = threadIdx.x % CHUNKS;
    for (int row = threadIdx.x / CHUNKS; row < P::ROWS; row += P::THREADS / CHUNKS) {
        const E *from = q + (size_t)rows[row].t * z.ldq + (size_t)rows[row].head * z.D;
        bool valid = row < valid_rows && chunk * EIGHT < z.D;
        copy_async(tile + place<P::D>(row, chunk), from + chunk * EIGHT, valid);
    }
}

/* A maximum of s is one of scale s only if scale > 0. Else its sign goes to Q, which is
 * exact; and 0 too, since a hidden key must not become 0 * -inf. */
template <typename P, typename E>
static __device__ void turn_queries(E *tile, float scale)
{
    unsigned *word = (unsigned *)tile;
    for (int i = threadIdx.x; i < P::ROWS * P::D / 2; i += P::THREADS)
        word[i] = scale < 0.0f ? word[i] ^ 0x80008000u : 0;
    __syncthreads();  // Q is as the warps will read it
}

/* One tile for one warp, whose rows see what `mine` says. */
template <typename P, typename E>
static __device__ void add_tile(
    sums<P> &own, const E *q, const E *k_tile, const E *v_tile, lane_places at,
    const row_info *rows, const view &mine, int key, float c)
{
    float s[P::M][P::KEYS / 8][4];
    rows_by_rows<P::M, P::KEYS, P::D>(s, q, k_tile, at);
    if (key < mine.all_from || key + P::KEYS - 1 > mine.all_to)
        hide<P>(s, rows, key, threadIdx.x % WARP);
    soften(own, s, c);
    add_rows<P::M, P::KEYS, P::D>(own.o, s, v_tile, at);
}

/* Divides O by the sum of its row, and returns the logarithm (to base 2) of the sum. */
template <typename P> static __device__ float divide(sums<P> &own, int m, int half)
{
    float sum = own.sum[m][half];
    sum += __shfl_xor_sync(~0u, sum, 1);  // four lanes share a row
    sum += __shfl_xor_sync(~0u, sum, 2);
    float share = sum > 0.0f ? __fdividef(1.0f, sum) : 0.0f;  // 0: no key in this part
#pragma unroll
    for (int n = 0; n < P::D / 8; n++)
        own.o[m][n][2 * half] *= share, own.o[m][n][2 * half + 1] *= share;
    return own.max[m][half] + (sum > 0.0f ? log2f(sum) : 0.0f);
}

/* Writes O, by way of the warp's own rows of the Q tile, and the logarithm of the sum. */
template <typename P, typename E>
static __device__ void finish(
    E *out, float *lse, E *tile, sums<P> &own, const row_info *rows, int valid_rows,
    int b, const sizes &z)
{
    int lane = threadIdx.x % WARP;
#pragma unroll
    for (int m = 0; m < P::M; m++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            int row = m * 16 + half * 8 + lane / 4;
            float log_sum = divide(own, m, half);
            if (lse && lane % 4 == 0 && row < valid_rows)
                lse[((size_t)b * z.H + rows[row].head) * z.T + rows[row].t] =
                    log_sum * LN_2;
        }
    put<P::M, P::D, P::D>(tile, own.o, 1.0f, 0, z.D, [&](int r) {
        size_t at = ((size_t)b * z.T + rows[r].t) * z.H + rows[r].head;
        return r < valid_rows ? out + at * z.D : NULL;
    });
}

/* What a part of the keys contributes: rows of O as floats, divided by their own sums, and
 * the logarithms (to base 2) of those. One part after the other in the workspace. */
struct parts {
    float *o;        // (number, B,T,H, D)
    float *log_sum;  // (number, B,T,H)
    int number;
};

template <typename P>
static __device__ void finish_part(
    const parts &to, int part, sums<P> &own, const row_info *rows, int valid_rows, int b,
    const sizes &z)
{
    int lane = threadIdx.x % WARP;
#pragma unroll
    for (int m = 0; m < P::M; m++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            int row = m * 16 + half * 8 + lane / 4;
            float log_sum = divide(own, m, half);
            if (row >= valid_rows) continue;
            size_t at =
                ((size_t)(part * z.B + b) * z.T + rows[row].t) * z.H + rows[row].head;
            if (lane % 4 == 0) to.log_sum[at] = log_sum;
            float2 *to_row = (float2 *)(to.o + at * z.D) + lane % 4;
#pragma unroll
            for (int n = 0; n < P::D / 8; n++)
                if (n * 8 < z.D)
                    to_row[n * 4] = {own.o[m][n][2 * half], own.o[m][n][2 * half + 1]};
        }
}

/* Adds the parts up, always in the same order. A block per (b,t,h), a thread per channel. */
template <typename E>
static __global__ void add_parts_kernel(E *out, float *lse, parts from, sizes z)
{
    size_t row = blockIdx.x, rows = gridDim.x;
    float max = -INFINITY, sum = 0.0f, o = 0.0f;
    for (int i = 0; i < from.number; i++)
        max = fmaxf(max, from.log_sum[i * rows + row]);
    for (int i = 0; i < from.number; i++) {
        float weight = exp2_approximate(from.log_sum[i * rows + row] - max);
        sum += weight, o += weight * from.o[(i * rows + row) * z.D + threadIdx.x];
    }
    out[row * z.D + threadIdx.x] = E(o / sum);
    size_t b = row / z.H / z.T, t = row / z.H % z.T, h = row % z.H;
    if (lse && threadIdx.x == 0) lse[(b * z.H + h) * z.T + t] = (max + log2f(sum)) * LN_2;
}

template <typename P, typename E>
static __global__ void __launch_bounds__(P::THREADS, P::BLOCKS) attention_kernel(
    E *out, float *lse, const E *q, const E *k, const E *v, const int *pos, sizes z,
    parts to)
{
    extern __shared__ uint4 shared_bytes[];
    row_info *rows = (row_info *)shared_bytes;  // (ROWS)
    E *q_tile = (E *)(rows + P::ROWS);          // (ROWS, D)
    E *tiles = q_tile + P::ROWS * P::D;         // two of K (KEYS, D) and V (KEYS, D)
    const int TILE = P::KEYS * P::D;

    // the last rows see most keys: they begin first, so that no long block is left over
    int part = blockIdx.x % to.number, block_number = blockIdx.x / to.number;
    int sequences = z.B * z.K, tile_rows = gridDim.x / to.number / sequences;
    int b = block_number % sequences / z.K, g = block_number % z.K;
    int first_row = (tile_rows - 1 - block_number / sequences) * P::ROWS;
    int valid_rows = z.T * (z.H / z.K) - first_row;
    for (int r = threadIdx.x; r < P::ROWS; r += P::THREADS)
        rows[r] = find_row(pos, z, b, g, first_row + r);
    __syncthreads();  // rows are known
    q += (size_t)b * z.T * z.ldq;
    k += (size_t)b * z.S * z.ldkv + (size_t)g * z.D;
    v += (size_t)b * z.S * z.ldkv + (size_t)g * z.D;

    int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    view block = view_of(rows, P::ROWS);
    const row_info *own_rows = rows + warp * P::M * 16;
    view mine = view_of(own_rows, P::M * 16);
    int own_valid = valid_rows - warp * P::M * 16;
    int first = block.first / P::KEYS, tiles_seen = block.last / P::KEYS + 1 - first;
    int of_part = (tiles_seen + to.number - 1) / to.number;
    int key = (first + part * of_part) * P::KEYS;
    int last = min(block.last, key + of_part * P::KEYS - 1);  // may be < key: no tile

    load_queries<P>(q_tile, q, rows, valid_rows, z);
    load_tile<P::KEYS, P::D, P::THREADS>(tiles, k, z.ldkv, key, z.S, z.D);
    load_tile<P::KEYS, P::D, P::THREADS>(tiles + TILE, v, z.ldkv, key, z.S, z.D);
    copy_commit();
    if (z.scale <= 0.0f) {
        copy_wait<0>();
        __syncthreads();  // Q is there
        turn_queries<P>(q_tile, z.scale);
    }
    const float log2_e = 1.442695041f;
    float c = z.scale == 0.0f ? 1.0f : fabsf(z.scale) * log2_e;
    E *own_q = q_tile + warp * P::M * 16 * P::D;
    lane_places at = places_of<P::D>(lane);

    sums<P> own;
    clear(own);
    for (int stage = 0; key <= last; key += P::KEYS, stage ^= 1) {
        copy_wait<0>();
        __syncthreads();  // this tile is there, and nobody reads the other any more
        const E *k_tile = tiles + stage * 2 * TILE, *v_tile = k_tile + TILE;
        int next = key + P::KEYS;
        if (next <= last) {
            E *other = tiles + (stage ^ 1) * 2 * TILE;
            load_tile<P::KEYS, P::D, P::THREADS>(other, k, z.ldkv, next, z.S, z.D);
            load_tile<P::KEYS, P::D, P::THREADS>(other + TILE, v, z.ldkv, next, z.S, z.D);
            copy_commit();
        }
        if (next > mine.first && key <= mine.last && own_valid > 0)
            add_tile<P>(own, own_q, k_tile, v_tile, at, own_rows, mine, key, c);
    }
    if (own_valid <= 0) return;
    if (to.number > 1)
        finish_part<P>(to, part, own, own_rows, own_valid, b, z);
    else
        finish<P>(out, lse, own_q, own, own_rows, own_valid, b, z);
}

/* Blocks without parts. */
template <typename P> static size_t blocks_for(const sizes &z)
{
    size_t rows = (size_t)z.T * (z.H / z.K);
    return (rows + P::ROWS - 1) / P::ROWS * z.B * z.K;
}

template <typename P, typename E>
static wb_status launch(const forward_call<E> &c, parts to, cudaStream_t stream)
{
    size_t blocks = blocks_for<P>(c.z) * to.number;
    if (blocks > INT_MAX) return WB_BAD_SHAPE;
    auto kernel = attention_kernel<P, E>;
    cudaFuncSetAttribute(
        (const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, P::BYTES);
    kernel<<<(unsigned)blocks, P::THREADS, P::BYTES, stream>>>(
        c.out, c.lse, c.q, c.k, c.v, c.pos, c.z, to);
    return wb_launched();
}

typedef plan<32, 4, 2, 64> plan_32;
typedef plan<64, 4, 2, 128> plan_64;
typedef plan<128, 4, 2, 64> plan_128;
typedef plan<256, 8, 1, 64> plan_256;        // 194 KB of shared memory
typedef plan<256, 4, 1, 32> plan_256_small;  // 97 KB, where a block may not have more

static bool has_shared(int bytes)
{
    int device = 0, most = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    return bytes <= most;
}

static int parts_for(const sizes &z)
{
    if (is_nothing(z) || z.K < 1 || z.H % z.K != 0 || z.S < 2 * PART) return 1;
    size_t room = BUSY / blocks_for<plan_64>(z);
    return (int)(room < 1 ? 1 : room < (size_t)z.S / PART ? room : z.S / PART);
}

template <typename E> static size_t forward_workspace(sizes z)
{
    int number = parts_for(z);
    return number == 1 ? 0 : (size_t)number * z.B * z.T * z.H * (z.D + 1) * sizeof(float);
}

template <typename E> static wb_status forward(forward_call<E> c, cudaStream_t stream)
{
    const sizes &z = c.z;
    int number = parts_for(z);
    size_t rows = (size_t)z.B * z.T * z.H;
    float *o = (float *)c.workspace;
    parts to = {o, number > 1 ? o + number * rows * z.D : NULL, number};
    wb_status status = z.D <= 32    ? launch<plan_32>(c, to, stream)
                       : z.D <= 64  ? launch<plan_64>(c, to, stream)
                       : z.D <= 128 ? launch<plan_128>(c, to, stream)
                       : has_shared(plan_256::BYTES)
                           ? launch<plan_256>(c, to, stream)
                           : launch<plan_256_small>(c, to, stream);
    if (status != WB_OK || number == 1) return status;
    add_parts_kernel<<<(unsigned)rows, z.D, 0, stream>>>(c.out, c.lse, to, z);
    return wb_launched();
}
// END SOLUTION

DEFINE_FORWARD(wb_f16, f16)
DEFINE_FORWARD(wb_bf16, bf16)
