/* conv1d_backward.cu - lab 06, part 06.2, backward: the gradients of the filter along
 * time. The contract is rglru.h. */
#include "partial_sums.cuh"
#include "rglru_contract.cuh"

// BEGIN SOLUTION 06.2 (about 20 lines in a first version)
//> enum { THREADS = 128 };  // per block
//>
//> /* dx, a thread per element: which outputs does x[b,t] reach? */
//> template <typename E>
//> static __global__ void conv1d_dx(
//>     E *dx, const E *dout, const E *w, const int *pos, int B, int T, int C, int width,
//>     int ld)
//> {
//>     size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;  // [0, B*T*C)
//>     if (i >= (size_t)B * T * C) return;
//>     // TODO(06.2): sum of w[width-1-s] dout[t+s] over the tokens t+s of this row with
//>     // pos[t+s] >= s. About 6 lines.
//> }
//>
//> /* dw and dbias, a thread per channel and tap. */
//> template <typename E>
//> static __global__ void conv1d_dw(
//>     float *dw, float *dbias, const E *dout, const E *x, const int *pos, int B, int T,
//>     int C, int width, int ld)
//> {
//>     size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;  // [0, C*width)
//>     if (i >= (size_t)C * width) return;
//>     // TODO(06.2): sum of dout[t] x[t-s] over all tokens with t >= s and pos[t] >= s;
//>     // the thread with s = 0 sums dbias as well. Both are added to, not written. 9 lines.
//> }
#include "conv1d_walk.cuh"

/* A block takes WARPS consecutive chunks of tokens, one per warp, and 32 VEC channels. The
 * warps' sums for dw and dbias are added in shared memory, so few partial sums are left. */
constexpr int WARPS = 8;
constexpr int BLOCKS_PER_SM = 2;
constexpr int LANE_BYTES = 8;    // per access
constexpr size_t MIN_WALK = 16;  // tokens of a chunk

static __host__ __device__ size_t divide_up(size_t n, size_t by)
{
    return (n + by - 1) / by;
}

/* What a thread works on; last = 0: nothing */
template <int VEC>
static __device__ __forceinline__ chunk own_part(int B, int T, int C, int walk)
{
    size_t tiles = divide_up(C, WARP * VEC), chunks = divide_up(T, walk);
    size_t n = blockIdx.x / tiles * WARPS + threadIdx.y, b = n / chunks;
    size_t channel = (blockIdx.x % tiles * WARP + threadIdx.x) * VEC;
    int first = (int)(n % chunks) * walk, last = first + walk < T ? first + walk : T;
    return {b, channel, first, b < (size_t)B && channel < (size_t)C ? last : 0};
}

/* Taps for which a thread has registers */
template <int WIDTH> constexpr int ROOM = WIDTH ? WIDTH : MAX_WIDTH;

/* TAPS tokens of both inputs, as loaded */
template <typename E, int VEC, int TAPS> struct tokens {
    raw<E, VEC> x[TAPS], d[TAPS];
};

/* Tokens t, t + 1, ...; 0 from the end on. xt, dt: token t */
template <typename E, int VEC, int TAPS>
static __device__ __forceinline__ void load_tokens(
    tokens<E, VEC, TAPS> &to, const E *xt, const E *dt, int t, int x_end, int d_end,
    int ld, int C)
{
#pragma unroll
    for (int u = 0; u < TAPS; u++, xt += ld, dt += C) {
        to.x[u] = to.d[u] = {};
        if (t + u < x_end) to.x[u] = load_raw<E, VEC>(xt);
        if (t + u < d_end) to.d[u] = load_raw<E, VEC>(dt);
    }
}

/* Adds the sums of the block's warps, in their order, and stores them: sums[s] for tap s,
 * the last for dbias. A row of `partial` is C*width sums for dw, then C for dbias. */
template <int VEC, int N>
static __device__ __forceinline__ void
store_sums(float *partial, const float (&sums)[N][VEC], int C, int width)
{
    constexpr int TILE = WARP * VEC;
    __shared__ float shared[WARPS][TILE];
    size_t tiles = divide_up(C, TILE), i = threadIdx.y * WARP + threadIdx.x;
    size_t channel = blockIdx.x % tiles * TILE + i;
    partial += blockIdx.x / tiles * C * (width + 1);
#pragma unroll
    for (int s = 0; s < N; s++) {
        for (int j = 0; j < VEC; j++)
            shared[threadIdx.y][threadIdx.x * VEC + j] = sums[s][j];
        __syncthreads();  // the warps' sums are visible
        if (i < TILE && channel < (size_t)C && (s < width || s == N - 1)) {
            float sum = 0.0f;
            for (int w = 0; w < WARPS; w++)
                sum += shared[w][i];
            size_t tap = channel * width + width - 1 - s;
            partial[s < N - 1 ? tap : (size_t)C * width + channel] = sum;
        }
        __syncthreads();  // and read
    }
}

/* All three gradients in one walk. dout[t] reaches dx[t], dx[t-1], ...: the latest sums
 * of dx are in registers, and the oldest is complete after token t. A chunk continues
 * width - 1 tokens past its end to complete its last dx; dw and dbias count its own
 * tokens only. While a thread works on TAPS tokens, the next ones are in flight. */
template <typename E, int VEC, int WIDTH>
static __device__ __forceinline__ void walk_chunk(
    float (&sums)[ROOM<WIDTH> + 1][VEC], E *dx, const E *dout, const E *inputs,
    const E *w, const int *pos, chunk own, int T, int C, int width, int ld)
{
    constexpr int TAPS = ROOM<WIDTH>;
    const E *xb = inputs + own.b * T * ld + own.channel;
    const E *db = dout + own.b * T * C + own.channel;
    const int *pb = pos ? pos + own.b * T : NULL;
    int end = own.last + width - 1;  // after the last token that reaches the last dx
    int d_end = end < T ? end : T;
    float taps[TAPS][VEC], sum[TAPS][VEC] = {};
    float in[TAPS][VEC] = {};  // in[(t - s) mod TAPS] is x[t-s]; sum is laid out alike
    tokens<E, VEC, TAPS> next;
    load_tokens(
        next, xb + (size_t)own.first * ld, db + (size_t)own.first * C, own.first,
        own.last, d_end, ld, C);
    load_taps<E, VEC, WIDTH>(taps, w, own.channel, width);
#pragma unroll
    for (int k = 1; k < TAPS; k++)
        if (own.first >= k)
            to_float(in[TAPS - k], load_vec<VEC>(xb + (size_t)(own.first - k) * ld));
    for (int t = own.first; t < end; t += TAPS) {
        tokens<E, VEC, TAPS> now = next;
        int p[TAPS], then = t + TAPS;
        load_tokens(
            next, xb + (size_t)then * ld, db + (size_t)then * C, then, own.last, d_end,
            ld, C);
#pragma unroll
        for (int u = 0; u < TAPS; u++)
            p[u] = t + u >= d_end ? -1 : pb ? pb[t + u] : t + u;
#pragma unroll
        for (int u = 0; u < TAPS; u++) {
            int here = t + u;
            float di[VEC];
            to_float<E, VEC>(di, now.d[u]), to_float<E, VEC>(in[u], now.x[u]);
            for (int j = 0; j < VEC; j++) {
                sum[u][j] = 0.0f;
                if (here < own.last) sums[TAPS][j] += di[j];
            }
#pragma unroll
            for (int s = 0; s < TAPS; s++) {
                int past = (u - s + TAPS) % TAPS;
                if (s <= p[u] && s < width)
                    for (int j = 0; j < VEC; j++)
                        sum[past][j] += taps[s][j] * di[j];
                if (s <= p[u] && s < width && s <= here && here < own.last)
                    for (int j = 0; j < VEC; j++)
                        sums[s][j] += di[j] * in[past][j];
            }
            int done = here - (width - 1);  // no later token reaches this dx
            if (done < own.first || done >= own.last) continue;
            E *to = dx + (own.b * T + done) * ld + own.channel;
#pragma unroll
            for (int s = 1; s <= TAPS; s++)  // its sum is width - 1 places before here's
                if (s == TAPS - width + 1)
                    store_raw<E, VEC>(to, 0, to_raw<E, VEC>(sum[(u + s) % TAPS]));
        }
    }
}

template <typename E, int VEC, int WIDTH>
static __global__ void __launch_bounds__(WARPS *WARP, WIDTH ? BLOCKS_PER_SM : 1)
    conv1d_backward(
        E *dx, float *partial, const E *dout, const E *inputs, const E *w, const int *pos,
        int B, int T, int C, int width, int ld, int walk)
{
    pdl_trigger();
    chunk own = own_part<VEC>(B, T, C, walk);
    float sums[ROOM<WIDTH> + 1][VEC] = {};  // the last: dbias
    width = WIDTH ? WIDTH : width;
    if (own.last > 0)
        walk_chunk<E, VEC, WIDTH>(sums, dx, dout, inputs, w, pos, own, T, C, width, ld);
    store_sums(partial, sums, C, width);
}

/* The parts of a row: as many chunks as fill one wave of blocks, which all end together */
static size_t part_count_of(int B, int T, size_t tiles)
{
    size_t wave = (size_t)sm_count() * BLOCKS_PER_SM / tiles * WARPS / B;
    size_t most = divide_up(T, MIN_WALK);
    return wave < 1 ? 1 : wave < most ? wave : most;
}
// END SOLUTION

/* Bytes of workspace */
template <typename E> static size_t conv1d_back_workspace(int B, int T, int C, int width)
{
    // BEGIN SOLUTION 06.2 (1 line)
    //> // TODO(06.2): 0 is correct while one thread sums each tap.
    //> return 0;
    if (B < 1 || T < 1 || C < 1 || width < 1) return 0;
    return divide_up(B * divide_up(T, MIN_WALK), WARPS) * C * (width + 1) * sizeof(float);
    // END SOLUTION
}

template <typename E>
static wb_status conv1d_back(
    E *dx, float *dw, float *dbias, const E *dout, const E *x, const E *w, const int *pos,
    int B, int T, int C, int width, int ld, float *partial, cudaStream_t stream)
{
    // BEGIN SOLUTION 06.2 (3 lines)
    //> // TODO(06.2): launch conv1d_dx and conv1d_dw, then return wb_launched().
    //> (void)partial;
    //> return WB_TODO;
    constexpr int N = LANE_BYTES / sizeof(E);
    bool vectors = C % N == 0 && ld % N == 0 && is_aligned(LANE_BYTES, dx, dout, x, w);
    auto kernel = !vectors     ? conv1d_backward<E, 1, 0>
                  : width == 4 ? conv1d_backward<E, N, 4>
                               : conv1d_backward<E, N, 0>;
    size_t tiles = divide_up(C, vectors ? WARP * N : WARP);
    int walk = (int)divide_up(T, part_count_of(B, T, tiles));
    size_t rows = divide_up(B * divide_up(T, walk), WARPS);  // of partial sums
    kernel<<<(unsigned)(tiles * rows), dim3(WARP, WARPS), 0, stream>>>(
        dx, partial, dout, x, w, pos, B, T, C, width, ld, walk);
    add_partial_sums(
        {{dw, dbias}, {(size_t)C * width, (size_t)C}}, partial, (int)rows, stream);
    return wb_launched();
    // END SOLUTION
}

DEFINE_CONV1D_BACKWARD(float, f32)
DEFINE_CONV1D_BACKWARD(wb_f16, f16)
DEFINE_CONV1D_BACKWARD(wb_bf16, bf16)
