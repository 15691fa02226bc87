/* rglru_step_tensor.cuh - room for a step of several rows on tensor cores. The solution's stands
 * here; a pass needs none.
 */
#ifndef RGLRU_STEP_TENSOR_CUH
#define RGLRU_STEP_TENSOR_CUH

// BEGIN SOLUTION 06.7 (about 190 lines)
//> /* TODO(06.7): nothing, if the templates of rglru_step.cu serve f16 and bf16. */
#include "early.cuh"
#include "rglru_shared.cuh"
#define pack pack_two        // lanes.cuh has another
#include "tensor_cores.cuh"  // of lab 05
#undef pack

/* --- what both ways of a step share ----------------------------------------------------- */

constexpr int WARPS = 8;          // of a block, at most: each takes some of the inputs
constexpr int TILE = 16;          // outputs of a block
constexpr int FEW = 2, MANY = 8;  // rows of the batch in a block

/* The tensors and sizes of a call */
template <typename E> struct step_call {
    E *out, *conv_state;
    float *state;
    const E *x, *y, *w, *bias, *wx, *bx, *wa, *ba, *a_param;
    const int *pos;
    int B, G, M, width, ld;
};

/* What else the outputs of one row and channel need */
struct own {
    int row, pos;
    size_t at;  // (B,C): the row and channel
    float bx, ba, param, state, y, x;
};

/* Output n of the tile's ROWS * TILE; row < 0: there is none */
template <int ROWS, typename E>
static __device__ own own_of(const step_call<E> &call, int n, int b0, int g, int j0)
{
    own o = {-1};
    int C = call.G * call.M, j = j0 + n % TILE, channel = g * call.M + j;
    size_t b = b0 + n / TILE;
    if (n >= ROWS * TILE || b >= (size_t)call.B || j >= call.M) return o;
    o.row = n / TILE, o.pos = call.pos[b], o.at = b * C + channel;
    o.bx = (float)call.bx[channel], o.ba = (float)call.ba[channel];
    o.param = (float)call.a_param[channel], o.state = call.state[o.at];
    o.y = (float)call.y[b * call.ld + channel],
    o.x = (float)call.x[b * call.ld + channel];
    return o;
}

template <typename E>
static __device__ void
finish(const step_call<E> &call, own o, float c, float px, float pa, size_t b);  // rglru_step.cu

/* --- on tensor cores -------------------------------------------------------------------- */

/* TILE outputs of both gates of one block of channels, for up to 16 MT rows of the batch.
 * The gates' weights are under way before the kernel in front has ended. c is needed in
 * float: it is the sum of three 16-bit numbers, each the rounding of what those before it
 * leave. */
constexpr int PIECES = 3;
template <int MT> struct tensor_shape {
    static constexpr int ROWS = 16 * MT, QUARTERS = WARPS / 2;  // which share the inputs
};
constexpr int GATES_PITCH = 2 * TILE + 8;  // elements: rows begin in different banks

static __host__ __device__ int tensor_inputs(int M)
{
    return (M + 15) / 16 * 16;
}
static __host__ __device__ int input_pitch(int M)
{
    return tensor_inputs(M) + 8;
}

/* Shared memory: weights (inputs, GATES_PITCH); c (PIECES, ROWS, input_pitch);
 * taps and bias (width + 1, inputs); c of the outputs (ROWS, TILE); sums (QUARTERS, ROWS,
 * 2 TILE). */
template <typename E, int MT> struct step_memory {
    E *weights, *c;
    float *taps, *own, *sums;
    __device__ step_memory(void *at, int M, int width)
    {
        constexpr int ROWS = tensor_shape<MT>::ROWS;
        weights = (E *)at;
        c = weights + tensor_inputs(M) * GATES_PITCH;
        taps = (float *)(c + PIECES * ROWS * input_pitch(M));
        own = taps + (width + 1) * tensor_inputs(M);
        sums = own + ROWS * TILE;
    }
    static size_t bytes(int M, int width)
    {
        constexpr int ROWS = tensor_shape<MT>::ROWS;
        size_t elements = tensor_inputs(M) * GATES_PITCH + PIECES * ROWS * input_pitch(M);
        size_t floats = (width + 1) * tensor_inputs(M) + ROWS * TILE +
                        tensor_shape<MT>::QUARTERS * ROWS * 2 * TILE;
        return elements * sizeof(E) + floats * sizeof(float);
    }
};

/* Where the taps of input i lie, s steps back, or for s = width the bias: four inputs side by
 * side, then those of the next eight, so that the lanes of a warp read neighbours. */
static __device__ int tap_at(int s, int i, int inputs)
{
    return s * inputs + i / 4 % 2 * (inputs / 2) + i / 8 * 4 + i % 4;
}

/* sum[0..8) += taps of inputs i .. i + 7 (i a multiple of 8) times x */
static __device__ void add_taps(
    float (&sum)[8], const float *taps, int s, int i, int inputs, const float (&x)[8])
{
#pragma unroll
    for (int h = 0; h < 2; h++) {
        float4 w = *(const float4 *)(taps + tap_at(s, i + h * 4, inputs));
        sum[h * 4] += w.x * x[h * 4], sum[h * 4 + 1] += w.y * x[h * 4 + 1];
        sum[h * 4 + 2] += w.z * x[h * 4 + 2], sum[h * 4 + 3] += w.w * x[h * 4 + 3];
    }
}

/* What no kernel of a step changes: the weights of both gates, taps, bias */
template <typename E, int MT>
static __device__ void
fetch_weights(const step_memory<E, MT> &mem, const step_call<E> &call, int g, int j0)
{
    int M = call.M, inputs = tensor_inputs(M);
    for (int n = threadIdx.x; n < inputs * 4; n += blockDim.x) {
        int i = n / 4, gate = n / 2 % 2, j = n % 2 * 8;
        bool there = i < M && j0 + j < M;
        const E *from = gate ? call.wa : call.wx;
        copy_async(
            mem.weights + i * GATES_PITCH + gate * TILE + j,
            from + (there ? ((size_t)g * M + i) * M + j0 + j : 0), there);
    }
    copy_commit();
    for (int i = threadIdx.x; i < M; i += blockDim.x) {
        size_t channel = (size_t)g * M + i;
        for (int s = 0; s < call.width; s++)  // of the input s steps ago
            mem.taps[tap_at(s, i, inputs)] =
                (float)call.w[channel * call.width + call.width - 1 - s];
        mem.taps[tap_at(call.width, i, inputs)] = (float)call.bias[channel];
    }
}

/* c of all inputs and rows, eight channels at a time, in pieces, and that of the outputs */
template <typename E, int MT>
static __device__ void convolve_rows(
    const step_memory<E, MT> &mem, const step_call<E> &call, int b0, int g, int j0)
{
    constexpr int ROWS = tensor_shape<MT>::ROWS, N = 8;
    int M = call.M, inputs = tensor_inputs(M), eights = inputs / N,
        pitch = input_pitch(M);
    size_t C = (size_t)call.G * M;
#pragma unroll 2
    for (int n = threadIdx.x; n < ROWS * eights; n += blockDim.x) {
        int r = n / eights, i = n % eights * N;
        size_t b = (size_t)b0 + r, channel = (size_t)g * M + i;
        bool there = b < (size_t)call.B && i < M;
        int pos = there ? call.pos[b] : -1, slot = pos % call.width;
        const E *ring = call.conv_state + b * call.width * C + channel;
        float sum[N] = {}, one[N];
#pragma unroll
        for (int k = 0; k < N; k++)
            one[k] = 1.0f;
        if (there) add_taps(sum, mem.taps, call.width, i, inputs, one);
#pragma unroll 4
        for (int s = 0; s < call.width; s++) {
            if (s > pos) continue;
            int at = slot - s < 0 ? slot - s + call.width : slot - s;
            const E *from = s ? ring + at * C : call.x + b * call.ld + channel;
            vec<E, N> raw = *(const vec<E, N> *)from;
            float x[N];
#pragma unroll
            for (int k = 0; k < N; k++)
                x[k] = (float)raw.at[k];
            add_taps(sum, mem.taps, s, i, inputs, x);
        }
#pragma unroll
        for (int k = 0; k < N; k++)
            if (i + k >= j0 && i + k < j0 + TILE) mem.own[r * TILE + i + k - j0] = sum[k];
#pragma unroll
        for (int p = 0; p < PIECES; p++) {
            vec<E, N> rounded;
#pragma unroll
            for (int k = 0; k < N; k++)
                rounded.at[k] = (E)sum[k], sum[k] -= (float)rounded.at[k];
            *(vec<E, N> *)(mem.c + (p * ROWS + r) * pitch + i) = rounded;
        }
    }
}

/* A warp has one gate, and every QUARTERS-th 16 inputs. */
template <typename E, int MT>
static __device__ void multiply_rows(const step_memory<E, MT> &mem, int M)
{
    constexpr int ROWS = tensor_shape<MT>::ROWS, QUARTERS = tensor_shape<MT>::QUARTERS;
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, pitch = input_pitch(M);
    int gate = warp % 2, quarter = warp / 2;
    float sum[MT][2][4] = {};
    for (int k = quarter * 16; k < M; k += QUARTERS * 16) {
        unsigned b[4], a[4];
        load_matrices_transposed(
            b, mem.weights + (k + lane % 16) * GATES_PITCH + gate * TILE + lane / 16 * 8);
#pragma unroll
        for (int m = 0; m < MT * PIECES; m++) {
            int row = m % MT * 16 + m / MT * ROWS + lane % 16;
            load_matrices(a, mem.c + row * pitch + k + lane / 16 * 8);
            multiply_add<E>(sum[m % MT][0], a, b[0], b[1]);
            multiply_add<E>(sum[m % MT][1], a, b[2], b[3]);
        }
    }
#pragma unroll
    for (int m = 0; m < MT; m++)
#pragma unroll
        for (int n = 0; n < 2; n++)
#pragma unroll
            for (int i = 0; i < 4; i++) {
                int row = m * 16 + i / 2 * 8 + lane / 4;
                int column = gate * TILE + n * 8 + lane % 4 * 2 + i % 2;
                mem.sums[(quarter * ROWS + row) * 2 * TILE + column] = sum[m][n][i];
            }
}

template <typename E, int MT>
static __global__ void __launch_bounds__(WARPS *WARP, 2)
    step_tensor(step_call<E> call, int tiles)
{
    constexpr int ROWS = tensor_shape<MT>::ROWS, QUARTERS = tensor_shape<MT>::QUARTERS;
    constexpr int EACH = ROWS * TILE / (WARPS * WARP);  // outputs of a thread
    extern __shared__ uint4 shared[];
    step_memory<E, MT> mem(shared, call.M, call.width);
    int tile = blockIdx.x % tiles, g = blockIdx.x / tiles % call.G;
    int b0 = blockIdx.x / tiles / call.G * ROWS, j0 = tile * TILE;
    let_next_kernel_start();
    fetch_weights<E, MT>(mem, call, g, j0);
    wait_for_kernel_before();
    own mine[EACH];
#pragma unroll
    for (int e = 0; e < EACH; e++)
        mine[e] = own_of<ROWS>(call, threadIdx.x + e * WARPS * WARP, b0, g, j0);
    __syncthreads();  // the taps are there
    convolve_rows<E, MT>(mem, call, b0, g, j0);
    copy_wait<0>();
    __syncthreads();  // c and the weights are there
    multiply_rows<E, MT>(mem, call.M);
    __syncthreads();  // all sums are there
#pragma unroll
    for (int e = 0; e < EACH; e++) {
        own o = mine[e];
        if (o.row < 0) continue;
        int j = (threadIdx.x + e * WARPS * WARP) % TILE;
        float px = o.bx, pa = o.ba;
        for (int q = 0; q < QUARTERS; q++) {
            px += mem.sums[(q * ROWS + o.row) * 2 * TILE + j];
            pa += mem.sums[(q * ROWS + o.row) * 2 * TILE + TILE + j];
        }
        finish(call, o, mem.own[o.row * TILE + j], px, pa, (size_t)b0 + o.row);
    }
}

template <int MT, typename E>
static void launch_tensor(const step_call<E> &call, cudaStream_t stream)
{
    int tiles = (call.M + TILE - 1) / TILE, rows = tensor_shape<MT>::ROWS;
    size_t blocks = ((size_t)call.B + rows - 1) / rows * call.G * tiles;
    launch_early(
        step_tensor<E, MT>, (unsigned)blocks, WARPS * WARP,
        (int)step_memory<E, MT>::bytes(call.M, call.width), stream, call, tiles);
}

/* bf16 only: f16 cannot hold every c. */
static bool on_tensor_cores(const step_call<wb_bf16> &call)
{
    return call.B > FEW && call.M % 8 == 0 && call.ld % 8 == 0 &&
           aligned(16, call.wx, call.wa, call.x, call.conv_state);
}
template <typename E> static bool on_tensor_cores(const step_call<E> &)
{
    return false;
}
// END SOLUTION
#endif
