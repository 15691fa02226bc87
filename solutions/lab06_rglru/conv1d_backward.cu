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

/* to[u] = token t + u for N tokens; 0 from token `end` on */
template <typename E, int VEC, int N>
static __device__ __forceinline__ void
load_tokens(vec<E, VEC> (&to)[N], const E *from, int t, int end, int ld)
{
#pragma unroll
    for (int u = 0; u < N; u++) {
        to[u] = {};
        if (t + u < end) to[u] = load_vec<VEC>(from + (size_t)(t + u) * ld);
    }
}

/* All three gradients in one walk. dout[t] reaches dx[t], dx[t-1], ...: the latest sums
 * of dx are in registers, and the oldest is complete after token t. A chunk continues
 * width - 1 tokens past its end to complete its last dx; dw and dbias count its own
 * tokens only. A row of `partial` is C*width sums for dw, then C for dbias. */
template <typename E, int VEC, int WIDTH>
static __global__ void __launch_bounds__(THREADS, WIDTH ? 4 : 1) conv1d_backward(
    E *dx, float *partial, const E *dout, const E *inputs, const E *w, const int *pos,
    int B, int T, int C, int width, int ld, int walk)
{
    constexpr int TAPS = WIDTH ? WIDTH : MAX_WIDTH;
    chunk own = own_chunk<VEC>(B, T, C, walk);
    if (own.last == 0) return;
    width = WIDTH ? WIDTH : width;
    const E *xb = inputs + own.b * T * ld + own.channel;
    const E *db = dout + own.b * T * C + own.channel;
    const int *pb = pos ? pos + own.b * T : NULL;
    float taps[TAPS][VEC], sum[TAPS][VEC] = {}, dw[TAPS][VEC] = {}, dbias[VEC] = {};
    float in[TAPS][VEC] = {};  // in[(t - s) mod TAPS] is x[t-s]; sum is laid out alike
    load_taps<E, VEC, WIDTH>(taps, w, own.channel, width);
#pragma unroll
    for (int k = 1; k < TAPS; k++)
        if (own.first >= k)
            to_float(in[TAPS - k], load_vec<VEC>(xb + (size_t)(own.first - k) * ld));
    int end = own.last + width - 1;  // after the last token that reaches the last dx
    for (int t = own.first; t < end; t += TAPS) {
        vec<E, VEC> x[TAPS], d[TAPS];
        int p[TAPS];
        load_tokens(x, xb, t, own.last, ld);
        load_tokens(d, db, t, end < T ? end : T, C);
#pragma unroll
        for (int u = 0; u < TAPS; u++)
            p[u] = t + u >= T || t + u >= end ? -1 : pb ? pb[t + u] : t + u;
#pragma unroll
        for (int u = 0; u < TAPS; u++) {
            int here = t + u;
            float di[VEC];
            to_float(di, d[u]), to_float(in[u], x[u]);
            for (int j = 0; j < VEC; j++) {
                sum[u][j] = 0.0f;
                if (here < own.last) dbias[j] += di[j];
            }
#pragma unroll
            for (int s = 0; s < TAPS; s++) {
                int past = (u - s + TAPS) % TAPS;
                if (s <= p[u] && s < width)
                    for (int j = 0; j < VEC; j++)
                        sum[past][j] += taps[s][j] * di[j];
                if (s <= p[u] && s < width && s <= here && here < own.last)
                    for (int j = 0; j < VEC; j++)
                        dw[s][j] += di[j] * in[past][j];
            }
            int done = here - (width - 1);  // no later token reaches this dx
            if (done < own.first || done >= own.last) continue;
#pragma unroll
            for (int s = 1; s <= TAPS; s++)  // its sum is width - 1 places before here's
                if (s == TAPS - width + 1)
                    for (int j = 0; j < VEC; j++)
                        x[u][j] = (E)sum[(u + s) % TAPS][j];
            store_vec(dx + (own.b * T + done) * ld + own.channel, x[u]);
        }
    }
    size_t chunks = (T + walk - 1) / walk, row = own.b * chunks + own.first / walk;
    float *sums = partial + row * C * (width + 1);
    for (int j = 0; j < VEC; j++) {
        for (int s = 0; s < TAPS; s++)
            if (s < width) sums[(own.channel + j) * width + width - 1 - s] = dw[s][j];
        sums[(size_t)C * width + own.channel + j] = dbias[j];
    }
}

constexpr int CHANNELS = 4;             // per thread
constexpr size_t THREADS_PER_SM = 512;  // resident: those of one wave
constexpr size_t MIN_WALK = 16;         // tokens of a chunk

/* The chunks fill one wave of threads: all end together and leave few partial sums. */
static size_t max_part_sums(int width)
{
    return sm_count() * THREADS_PER_SM * CHANNELS * (width + 1);
}
// END SOLUTION

/* Bytes of workspace */
template <typename E> static size_t conv1d_back_workspace(int B, int T, int C, int width)
{
    // BEGIN SOLUTION 06.2 (1 line)
    //> // TODO(06.2): 0 is correct while one thread sums each tap.
    //> return 0;
    if (B < 1 || T < 1 || C < 1 || width < 1) return 0;
    size_t sums = (size_t)B * C * (width + 1);
    return parts_workspace(T, sums, MIN_WALK, max_part_sums(width), 1);
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
    size_t sums = (size_t)B * C * (width + 1);
    int P = part_count(T, sums, MIN_WALK, max_part_sums(width), 1);
    int walk = (T + P - 1) / P;
    bool vectors = C % N == 0 && ld % N == 0 && is_aligned(N * sizeof(E), dx, dout, x, w);
    auto kernel = !vectors     ? conv1d_backward<E, 1, 0>
                  : width == 4 ? conv1d_backward<E, N, 4>
                               : conv1d_backward<E, N, 0>;
    kernel<<<block_count(B, T, vectors ? C / N : C, walk), THREADS, 0, stream>>>(
        dx, partial, dout, x, w, pos, B, T, C, width, ld, walk);
    P = B * ((T + walk - 1) / walk);
    add_partial_sums({{dw, dbias}, {(size_t)C * width, (size_t)C}}, partial, P, stream);
    return wb_launched();
    // END SOLUTION
}

DEFINE_CONV1D_BACKWARD(float, f32)
DEFINE_CONV1D_BACKWARD(wb_f16, f16)
DEFINE_CONV1D_BACKWARD(wb_bf16, bf16)
