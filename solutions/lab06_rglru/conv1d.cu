/* conv1d.cu - lab 06, part 06.2: a short filter along time for each channel. The contract
 * is rglru.h; the backward pass is in conv1d_backward.cu. */
#include "rglru_contract.cuh"

// BEGIN SOLUTION 06.2 (about 20 lines in a first version)
//> enum { THREADS = 128 };  // per block
//>
//> /* A thread per output. The bound on s keeps documents apart. */
//> template <typename E>
//> static __global__ void conv1d_each(
//>     E *out, const E *conv_state, const E *x, const E *w, const E *bias, const int *pos,
//>     int B, int T, int C, int width, int ld)
//> {
//>     size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;  // [0, B*T*C)
//>     if (i >= (size_t)B * T * C) return;
//>     size_t c = i % C, row = i / C, b = row / T;
//>     int t = (int)(row % T), p = pos ? pos[row] : t;
//>     // TODO(06.2): bias, then the taps s = 0 .. min(p, width - 1): x of s tokens ago;
//>     // if that is before the row (s > t), slot (p - s) % width of the ring. conv_state
//>     // may be NULL. About 8 lines.
//>     (void)b, (void)c, (void)p;
//> }
//>
//> /* The ring, a thread per channel of a row. It is a kernel of its own, launched second: by
//>  * then all threads of the first have read the ring. */
//> template <typename E>
//> static __global__ void keep_last(
//>     E *conv_state, const E *x, const int *pos, const int *len, int B, int T, int C,
//>     int width, int ld)
//> {
//>     size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;  // [0, B*C)
//>     if (i >= (size_t)B * C) return;
//>     // TODO(06.2): the inputs of the last real token and of those before it, as many as
//>     // fit and belong to this row and document. len 0: nothing. About 6 lines.
//> }
#include "conv1d_walk.cuh"

constexpr int THREADS = 128;
constexpr int BATCH = 4;  // tokens whose loads are in flight together

/* Neighbouring threads have neighbouring channels. last = 0: no such chunk. */
template <int VEC> static __device__ chunk own_chunk(int B, int T, int C, int walk)
{
    size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x, columns = C / VEC;
    size_t chunks = (T + walk - 1) / walk, b = i / columns / chunks;
    int first = (int)(i / columns % chunks) * walk;
    int last = first + walk < T ? first + walk : T;
    return {b, i % columns * VEC, first, b < (size_t)B ? last : 0};
}

/* Blocks for chunks of `walk` tokens and `columns` vectors per token */
static unsigned block_count(int B, int T, int columns, int walk)
{
    size_t threads = (size_t)B * ((T + walk - 1) / walk) * columns;
    return (unsigned)((threads + THREADS - 1) / THREADS);
}

/* The input `back` tokens before the row's first, which is at position p: from the ring.
 * Slots of no earlier token of the document are not read: they may hold anything. */
template <typename E, int VEC>
static __device__ vec<E, VEC>
load_ring(const E *conv_state, chunk own, int back, int p, int C, int width)
{
    vec<E, VEC> v = {};
    if (!conv_state || back > p || back >= width) return v;
    size_t slot = own.b * width + (p - back) % width;
    return load_vec<VEC>(conv_state + slot * C + own.channel);
}

/* Stores the last inputs of the row's last document, which ends at token `end`. */
template <typename E, int VEC>
static __device__ void store_ring(
    E *conv_state, const E *x, chunk own, const int *pos, int T, int C, int width, int ld,
    int end)
{
    if (end == 0) return;
    int p = pos ? pos[own.b * T + end - 1] : end - 1;
    for (int s = 0; s < width && s <= p && s < end; s++) {
        size_t slot = own.b * width + (p - s) % width, row = own.b * T + end - 1 - s;
        vec<E, VEC> v = load_vec<VEC>(x + row * ld + own.channel);
        store_vec(conv_state + slot * C + own.channel, v);
    }
}

/* The thread of a row's first chunk reads the ring and is the one that overwrites it at
 * its end; no other thread uses it. */
template <typename E, int VEC, int WIDTH>
static __global__ void __launch_bounds__(THREADS) conv1d_forward(
    E *out, E *conv_state, const E *inputs, const E *w, const E *bias, const int *pos,
    const int *len, int B, int T, int C, int width, int ld, int walk)
{
    constexpr int TAPS = WIDTH ? WIDTH : MAX_WIDTH, PAST = TAPS - 1;
    chunk own = own_chunk<VEC>(B, T, C, walk);
    if (own.last == 0) return;
    width = WIDTH ? WIDTH : width;
    const E *xb = inputs + own.b * T * ld + own.channel;
    const int *pb = pos ? pos + own.b * T : NULL;
    float taps[TAPS][VEC], in[PAST + BATCH][VEC];  // in[PAST + u]: of token t + u
    load_taps<E, VEC, WIDTH>(taps, w, own.channel, width);
    vec<E, VEC> f = load_vec<VEC>(bias + own.channel);
#pragma unroll
    for (int k = 0; k < PAST; k++) {
        int t = own.first - PAST + k;
        to_float(
            in[k],
            t >= 0 ? load_vec<VEC>(xb + (size_t)t * ld)
                   : load_ring<E, VEC>(conv_state, own, -t, pb ? pb[0] : 0, C, width));
    }
    for (int t = own.first; t < own.last; t += BATCH) {
        vec<E, VEC> x[BATCH];
        int p[BATCH];
#pragma unroll
        for (int u = 0; u < BATCH; u++) {
            int here = t + u < own.last ? t + u : own.last - 1;
            x[u] = load_vec<VEC>(xb + (size_t)here * ld);
            p[u] = pb ? pb[here] : here;
        }
#pragma unroll
        for (int u = 0; u < BATCH; u++) {
            float sum[VEC];
            to_float(in[PAST + u], x[u]);
            to_float(sum, f);
#pragma unroll
            for (int s = 0; s < TAPS; s++)
                if (s <= p[u] && s < width)
                    for (int j = 0; j < VEC; j++)
                        sum[j] += taps[s][j] * in[PAST + u - s][j];
            if (t + u < own.last)
                store_float<VEC>(out + (own.b * T + t + u) * C + own.channel, sum);
        }
#pragma unroll
        for (int k = 0; k < PAST; k++)
            for (int j = 0; j < VEC; j++)
                in[k][j] = in[k + BATCH][j];
    }
    if (conv_state && own.first == 0)
        store_ring<E, VEC>(
            conv_state, inputs, own, pos, T, C, width, ld, len ? len[own.b] : T);
}

/* Tokens per chunk: many, because a chunk rereads the tokens before it, but few enough
 * that the threads still fill the GPU */
static int walk_for(int B, int T, int columns)
{
    int walk = 64;
    size_t enough = (size_t)sm_count() * 1536;
    while (walk > 8 && (size_t)B * ((T + walk - 1) / walk) * columns < enough)
        walk /= 2;
    return walk;
}
// END SOLUTION

template <typename E>
static wb_status conv1d(
    E *out, E *conv_state, const E *x, const E *w, const E *bias, const int *pos,
    const int *len, int B, int T, int C, int width, int ld, cudaStream_t stream)
{
    // BEGIN SOLUTION 06.2 (about 5 lines)
    //> // TODO(06.2): launch conv1d_each, then keep_last if conv_state is not NULL; then
    //> // return wb_launched().
    //> return WB_TODO;
    constexpr int N = VEC16<E>;
    bool vectors =
        C % N == 0 && ld % N == 0 && is_aligned(16, out, conv_state, x, w, bias);
    int columns = vectors ? C / N : C, walk = walk_for(B, T, columns);
    auto kernel = !vectors     ? conv1d_forward<E, 1, 0>
                  : width == 4 ? conv1d_forward<E, N, 4>
                               : conv1d_forward<E, N, 0>;
    kernel<<<block_count(B, T, columns, walk), THREADS, 0, stream>>>(
        out, conv_state, x, w, bias, pos, len, B, T, C, width, ld, walk);
    return wb_launched();
    // END SOLUTION
}

DEFINE_CONV1D_FORWARD(float, f32)
DEFINE_CONV1D_FORWARD(wb_f16, f16)
DEFINE_CONV1D_FORWARD(wb_bf16, bf16)
