/* conv1d.cu - lab 06, part 06.2: each channel's own short filter along time. The contract is
 * rglru.h. */
#include "rglru_contract.cuh"
#include "rglru_shared.cuh"

// BEGIN SOLUTION 06.2 (about 40 lines in a first version)
//> enum { BLOCK = 128 };  // threads
//>
//> /* Forward, a thread per number. The bound on s is what keeps documents apart. */
//> template <typename E>
//> static __global__ void conv1d_each(
//>     E *out, const E *conv_state, const E *x, const E *w, const E *bias, const int *pos,
//>     int B, int T, int C, int width, int ld)
//> {
//>     size_t i = (size_t)blockIdx.x * BLOCK + threadIdx.x;  // [0, B*T*C)
//>     if (i >= (size_t)B * T * C) return;
//>     size_t c = i % C, row = i / C, b = row / T;
//>     int t = (int)(row % T), p = pos ? pos[row] : t;
//>     // TODO(06.2): bias, then the taps s = 0 .. min(p, width - 1): x of the token s before
//>     // this one, or, if that lies before the row (s > t), slot (p - s) % width of the ring;
//>     // conv_state may be NULL. About 8 lines.
//>     (void)b, (void)c, (void)p;
//> }
//>
//> /* The ring, a thread per channel of a row. A kernel of its own, launched afterwards: all
//>  * have read before it writes. */
//> template <typename E>
//> static __global__ void keep_last(
//>     E *conv_state, const E *x, const int *pos, const int *len, int B, int T, int C,
//>     int width, int ld)
//> {
//>     size_t i = (size_t)blockIdx.x * BLOCK + threadIdx.x;  // [0, B*C)
//>     if (i >= (size_t)B * C) return;
//>     // TODO(06.2): the inputs of the last real token and those before it, as many as fit
//>     // and as lie in this row and document. len 0: nothing. About 6 lines.
//> }
//>
//> /* dx, a thread per number: which outputs has x[b,t] reached? */
//> template <typename E>
//> static __global__ void conv1d_dx(
//>     E *dx, const E *dout, const E *w, const int *pos, int B, int T, int C, int width,
//>     int ld)
//> {
//>     size_t i = (size_t)blockIdx.x * BLOCK + threadIdx.x;  // [0, B*T*C)
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
//>     size_t i = (size_t)blockIdx.x * BLOCK + threadIdx.x;  // [0, C*width)
//>     if (i >= (size_t)C * width) return;
//>     // TODO(06.2): sum of dout[t] x[t-s] over all tokens with t >= s and pos[t] >= s;
//>     // the thread with s = 0 sums dbias as well. Added to what is there. About 9 lines.
//> }
/* A thread keeps VEC neighbouring channels and walks through the tokens of a chunk of one
 * row. The taps and the last inputs stay in registers, so that each input is fetched once,
 * but for the width - 1 tokens before the chunk. Filters of 4 taps, the usual ones, have
 * their own code (WIDTH = 4); the rest share one (WIDTH = 0) with room for 8. */

constexpr int BLOCK = 128;
constexpr int WIDEST = 8;  // taps, at most

/* The taps of a thread's channels, taps[s] for the input s tokens before. Those of WIDTH 4
 * are four vectors; of other widths, a number at a time. */
template <typename E, int VEC, int WIDTH, int MOST>
static __device__ void
load_taps(float (&taps)[MOST][VEC], const E *w, size_t channel, int width)
{
    if constexpr (WIDTH != 0) {
        vec<E, VEC> all[MOST];
        for (int s = 0; s < MOST; s++)
            all[s] = ((const vec<E, VEC> *)(w + channel * MOST))[s];
        for (int s = 0; s < MOST; s++)
            for (int j = 0; j < VEC; j++) {
                int at = j * MOST + MOST - 1 - s;
                taps[s][j] = (float)all[at / VEC].at[at % VEC];
            }
    } else {
        for (int s = 0; s < MOST; s++)
            for (int j = 0; j < VEC; j++)
                taps[s][j] =
                    s < width ? (float)w[(channel + j) * width + width - 1 - s] : 0.0f;
    }
}

/* The chunk of a thread: tokens first to last-1 of row b, channels channel to channel+VEC-1. */
struct chunk {
    size_t b, channel;
    int first, last;
};

/* Neighbouring threads have neighbouring channels. last = 0: beyond the last row. */
template <int VEC> static __device__ chunk chunk_of(int B, int T, int C, int walk)
{
    size_t i = (size_t)blockIdx.x * BLOCK + threadIdx.x, columns = C / VEC;
    size_t chunks = (T + walk - 1) / walk, b = i / columns / chunks;
    int first = (int)(i / columns % chunks) * walk;
    int last = first + walk < T ? first + walk : T;
    return {b, i % columns * VEC, first, b < (size_t)B ? last : 0};
}

/* The input `back` tokens before the row's first, which lies at position p: from the ring.
 * What belongs to no earlier token of the document is not read: it may be anything. */
template <typename E, int VEC>
static __device__ vec<E, VEC>
from_ring(const E *conv_state, chunk own, int back, int p, int C, int width)
{
    vec<E, VEC> v = {};
    if (!conv_state || back > p || back >= width) return v;
    size_t slot = own.b * width + (p - back) % width;
    return *(const vec<E, VEC> *)(conv_state + slot * C + own.channel);
}

/* The last inputs of the row's last document into their slots. */
template <typename E, int VEC>
static __device__ void to_ring(
    E *conv_state, const E *x, chunk own, const int *pos, int T, int C, int width, int ld,
    int end)
{
    if (end == 0) return;
    int p = pos ? pos[own.b * T + end - 1] : end - 1;
    for (int s = 0; s < width && s <= p && s < end; s++) {
        size_t slot = own.b * width + (p - s) % width, row = own.b * T + end - 1 - s;
        *(vec<E, VEC> *)(conv_state + slot * C + own.channel) =
            *(const vec<E, VEC> *)(x + row * ld + own.channel);
    }
}

template <typename E, int VEC>
static __device__ void widen(float (&to)[VEC], const vec<E, VEC> &from)
{
    for (int j = 0; j < VEC; j++)
        to[j] = (float)from.at[j];
}

constexpr int BATCH = 4;  // tokens whose loads are under way together

/* The thread that has the first chunk of a row reads the ring, and it is the same that
 * replaces it, last: no other thread looks at it. */
template <typename E, int VEC, int WIDTH>
static __global__ void __launch_bounds__(BLOCK) conv1d_forward(
    E *out, E *conv_state, const E *inputs, const E *w, const E *bias, const int *pos,
    const int *len, int B, int T, int C, int width, int ld, int walk)
{
    constexpr int MOST = WIDTH ? WIDTH : WIDEST, PAST = MOST - 1;
    typedef vec<E, VEC> v;
    chunk own = chunk_of<VEC>(B, T, C, walk);
    if (own.last == 0) return;
    width = WIDTH ? WIDTH : width;
    const E *xb = inputs + own.b * T * ld + own.channel;
    const int *pb = pos ? pos + own.b * T : NULL;
    float taps[MOST][VEC],
        in[PAST + BATCH][VEC];  // in[PAST + u]: the input of token t + u
    load_taps<E, VEC, WIDTH>(taps, w, own.channel, width);
    v f = *(const v *)(bias + own.channel);
#pragma unroll
    for (int k = 0; k < PAST; k++) {
        int t = own.first - PAST + k;
        widen(
            in[k],
            t >= 0 ? *(const v *)(xb + (size_t)t * ld)
                   : from_ring<E, VEC>(conv_state, own, -t, pb ? pb[0] : 0, C, width));
    }
    for (int t = own.first; t < own.last; t += BATCH) {
        v x[BATCH];
        int p[BATCH];
#pragma unroll
        for (int u = 0; u < BATCH; u++) {
            int here = t + u < own.last ? t + u : own.last - 1;
            x[u] = *(const v *)(xb + (size_t)here * ld);
            p[u] = pb ? pb[here] : here;
        }
#pragma unroll
        for (int u = 0; u < BATCH; u++) {
            float sum[VEC];
            widen(in[PAST + u], x[u]);
            widen(sum, f);
#pragma unroll
            for (int s = 0; s < MOST; s++)
                if (s <= p[u] && s < width)
                    for (int j = 0; j < VEC; j++)
                        sum[j] += taps[s][j] * in[PAST + u - s][j];
            for (int j = 0; j < VEC; j++)
                x[u].at[j] = (E)sum[j];
            if (t + u < own.last)
                *(v *)(out + (own.b * T + t + u) * C + own.channel) = x[u];
        }
#pragma unroll
        for (int k = 0; k < PAST; k++)
            for (int j = 0; j < VEC; j++)
                in[k][j] = in[k + BATCH][j];
    }
    if (conv_state && own.first == 0)
        to_ring<E, VEC>(
            conv_state, inputs, own, pos, T, C, width, ld, len ? len[own.b] : T);
}

/* N tokens from t on, 0 from `end` on. */
template <typename E, int VEC, int N>
static __device__ __forceinline__ void
load_tokens(vec<E, VEC> (&to)[N], const E *from, int t, int end, int ld)
{
#pragma unroll
    for (int u = 0; u < N; u++) {
        to[u] = {};
        if (t + u < end) to[u] = *(const vec<E, VEC> *)(from + (size_t)(t + u) * ld);
    }
}

/* All three gradients in one walk. dout[t] reaches dx[t], dx[t-1], ...: the last sums of dx
 * are in registers, and the oldest is complete once t has passed. A chunk goes on `width`
 * tokens beyond its end for the sake of its last dx; dw and dbias count only its own
 * tokens. A row of `partial` is C*width sums for dw, then C for dbias. */
template <typename E, int VEC, int WIDTH>
static __global__ void __launch_bounds__(BLOCK, WIDTH ? 4 : 1) conv1d_backward(
    E *dx, float *partial, const E *dout, const E *inputs, const E *w, const int *pos,
    int B, int T, int C, int width, int ld, int walk)
{
    constexpr int MOST = WIDTH ? WIDTH : WIDEST;
    typedef vec<E, VEC> v;
    chunk own = chunk_of<VEC>(B, T, C, walk);
    if (own.last == 0) return;
    width = WIDTH ? WIDTH : width;
    const E *xb = inputs + own.b * T * ld + own.channel;
    const E *db = dout + own.b * T * C + own.channel;
    const int *pb = pos ? pos + own.b * T : NULL;
    float taps[MOST][VEC], sum[MOST][VEC] = {}, dw[MOST][VEC] = {}, dbias[VEC] = {};
    float in[MOST][VEC] = {};  // in[(t - s) mod MOST] is x[t-s], as sum is of dx
    load_taps<E, VEC, WIDTH>(taps, w, own.channel, width);
#pragma unroll
    for (int k = 1; k < MOST; k++)
        if (own.first >= k)
            widen(in[MOST - k], *(const v *)(xb + (size_t)(own.first - k) * ld));
    int end = own.last + width - 1;  // tokens that the last dx waits for
    for (int t = own.first; t < end; t += MOST) {
        v x[MOST], d[MOST];
        int p[MOST];
        load_tokens(x, xb, t, own.last, ld);
        load_tokens(d, db, t, end < T ? end : T, C);
#pragma unroll
        for (int u = 0; u < MOST; u++)
            p[u] = t + u >= T || t + u >= end ? -1 : pb ? pb[t + u] : t + u;
#pragma unroll
        for (int u = 0; u < MOST; u++) {
            int here = t + u;
            float di[VEC];
            widen(di, d[u]), widen(in[u], x[u]);
            for (int j = 0; j < VEC; j++) {
                sum[u][j] = 0.0f;
                if (here < own.last) dbias[j] += di[j];
            }
#pragma unroll
            for (int s = 0; s < MOST; s++) {
                int past = (u - s + MOST) % MOST;
                if (s <= p[u] && s < width)
                    for (int j = 0; j < VEC; j++)
                        sum[past][j] += taps[s][j] * di[j];
                if (s <= p[u] && s < width && s <= here && here < own.last)
                    for (int j = 0; j < VEC; j++)
                        dw[s][j] += di[j] * in[past][j];
            }
            int done = here - (width - 1);  // nothing more reaches this dx
            if (done < own.first || done >= own.last) continue;
#pragma unroll
            for (int s = 1; s <= MOST; s++)  // its sum is width - 1 behind that of here
                if (s == MOST - width + 1)
                    for (int j = 0; j < VEC; j++)
                        x[u].at[j] = (E)sum[(u + s) % MOST][j];
            *(v *)(dx + (own.b * T + done) * ld + own.channel) = x[u];
        }
    }
    size_t chunks = (T + walk - 1) / walk, row = own.b * chunks + own.first / walk;
    float *mine = partial + row * C * (width + 1);
    for (int j = 0; j < VEC; j++) {
        for (int s = 0; s < MOST; s++)
            if (s < width) mine[(own.channel + j) * width + width - 1 - s] = dw[s][j];
        mine[(size_t)C * width + own.channel + j] = dbias[j];
    }
}

static unsigned blocks_for(int B, int T, int columns, int walk)
{
    size_t threads = (size_t)B * ((T + walk - 1) / walk) * columns;
    return (unsigned)((threads + BLOCK - 1) / BLOCK);
}

/* Tokens of a chunk: many, so that few are read twice, but enough threads for the card. */
static int walk_for(int B, int T, int columns)
{
    int walk = 64;
    size_t busy = (size_t)multiprocessors() * 1536;
    while (walk > 8 && (size_t)B * ((T + walk - 1) / walk) * columns < busy)
        walk /= 2;
    return walk;
}

constexpr int CHANNELS = 4;       // of a thread in the backward pass
constexpr size_t RESIDENT = 512;  // threads of it on a multiprocessor: those of one wave

/* Chunks of a row in the backward pass: one wave of threads, so that all end together and
 * leave few partial sums; but at least 16 tokens each. */
constexpr size_t LEAST = 16;

static size_t most_sums(int width)
{
    return multiprocessors() * RESIDENT * CHANNELS * (width + 1);
}
// END SOLUTION

template <typename E>
static wb_status conv1d(
    E *out, E *conv_state, const E *x, const E *w, const E *bias, const int *pos,
    const int *len, int B, int T, int C, int width, int ld, cudaStream_t stream)
{
    // BEGIN SOLUTION 06.2 (about 5 lines)
    //> // TODO(06.2): launch conv1d_each, and keep_last if there is a conv_state; then
    //> // return wb_launched().
    //> return WB_TODO;
    constexpr int N = vec<E>::N;
    bool vectors = C % N == 0 && ld % N == 0 && aligned(16, out, conv_state, x, w, bias);
    int columns = vectors ? C / N : C, walk = walk_for(B, T, columns);
    auto kernel = !vectors     ? conv1d_forward<E, 1, 0>
                  : width == 4 ? conv1d_forward<E, N, 4>
                               : conv1d_forward<E, N, 0>;
    kernel<<<blocks_for(B, T, columns, walk), BLOCK, 0, stream>>>(
        out, conv_state, x, w, bias, pos, len, B, T, C, width, ld, walk);
    return wb_launched();
    // END SOLUTION
}

/* Bytes of scratch of the backward pass. */
template <typename E> static size_t conv1d_space(int B, int T, int C, int width)
{
    // BEGIN SOLUTION 06.2 (1 line)
    //> // TODO(06.2): 0 is right as long as one thread sums a tap alone.
    //> return 0;
    if (B < 1 || T < 1 || C < 1 || width < 1) return 0;
    return parts_space(T, (size_t)B * C * (width + 1), LEAST, most_sums(width), 1);
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
    constexpr int N = CHANNELS;
    size_t sums = (size_t)C * (width + 1);
    int P = parts_for(T, B * sums, LEAST, most_sums(width), 1), walk = (T + P - 1) / P;
    bool vectors = C % N == 0 && ld % N == 0 && aligned(N * sizeof(E), dx, dout, x, w);
    auto kernel = !vectors     ? conv1d_backward<E, 1, 0>
                  : width == 4 ? conv1d_backward<E, N, 4>
                               : conv1d_backward<E, N, 0>;
    kernel<<<blocks_for(B, T, vectors ? C / N : C, walk), BLOCK, 0, stream>>>(
        dx, partial, dout, x, w, pos, B, T, C, width, ld, walk);
    P = B * ((T + walk - 1) / walk);
    launch_add({{dw, dbias}, {(size_t)C * width, (size_t)C}}, partial, P, stream);
    return wb_launched();
    // END SOLUTION
}

DEFINE_CONV1D(float, f32)
DEFINE_CONV1D(wb_f16, f16)
DEFINE_CONV1D(wb_bf16, bf16)
