/* rglru_step_tensor.cuh - part 06.7: the solution's step for several rows on tensor
 * cores, and what it shares with the plain step of rglru_step.cu. You can pass without
 * it.
 */
#ifndef RGLRU_STEP_TENSOR_CUH
#define RGLRU_STEP_TENSOR_CUH

// BEGIN SOLUTION 06.7 (nothing in a first version)
//> /* TODO(06.7): nothing, if the templates of rglru_step.cu serve f16 and bf16. */
#include "cuda/mma.cuh"
#include "cuda/pdl.cuh"
#include "rglru_contract.cuh"

/* --- what both kernels share -------------------------------------------------------- */

constexpr int MAX_WARPS = 8;    // per block: each takes some of the inputs
constexpr int TILE = 16;        // outputs of a block
constexpr int SMALL_BATCH = 2;  // rows: up to here the plain step is faster

/* What else an output needs: one row of the batch and one channel */
struct step_output {
    int row, pos;
    size_t at;  // (B,C): the row and channel
    float bx, ba, param, state, y, x;
};

/* Output n of the tile's ROWS * TILE; row < 0: it does not exist */
template <int ROWS, typename E>
static __device__ step_output
load_output(const step_call<E> &call, int n, int b0, int g, int j0)
{
    step_output o = {-1};
    int C = call.G * call.M, j = j0 + n % TILE, channel = g * call.M + j;
    size_t b = b0 + n / TILE;
    if (n >= ROWS * TILE || b >= (size_t)call.B || j >= call.M) return o;
    o.row = n / TILE, o.pos = call.pos[b], o.at = b * C + channel;
    o.bx = (float)call.bx[channel], o.ba = (float)call.ba[channel];
    o.param = (float)call.a_param[channel], o.state = call.state[o.at];
    o.y = (float)call.y[b * call.ld + channel];
    o.x = (float)call.x[b * call.ld + channel];
    return o;
}

/* The last stage of both kernels; in rglru_step.cu */
template <typename E>
static __device__ void store_output(
    const step_call<E> &call, step_output o, float c, float px, float pa, size_t b);

/* --- on tensor cores ---------------------------------------------------------------- */

/* A block computes TILE outputs of both gates of one g, for up to 16 MT rows of the
 * batch. It loads the gates' weights before the previous kernel has ended. The contract
 * requires c in float: it becomes the sum of three 16-bit numbers, each the rounding of
 * what the ones before it leave over. */
constexpr int PIECES = 3;
template <int MT> struct tensor_shape {
    static constexpr int ROWS = 16 * MT, QUARTERS = MAX_WARPS / 2;  // of the inputs
};
constexpr int LD_WEIGHTS = 2 * TILE + 8;  // neighbouring rows meet different banks

static __host__ __device__ int padded_inputs(int M)
{
    return (M + 15) / 16 * 16;
}
static __host__ __device__ int ld_inputs(int M)
{
    return padded_inputs(M) + 8;
}

/* Shared memory: weights (inputs, LD_WEIGHTS); c (PIECES, ROWS, ld_inputs); taps and bias
 * (width + 1, inputs); c of the outputs (ROWS, TILE); sums (QUARTERS, ROWS, 2 TILE) */
template <typename E, int MT> struct step_smem {
    E *weights, *c;
    float *taps, *own, *sums;
    __device__ step_smem(void *at, int M, int width)
    {
        constexpr int ROWS = tensor_shape<MT>::ROWS;
        weights = (E *)at;
        c = weights + padded_inputs(M) * LD_WEIGHTS;
        taps = (float *)(c + PIECES * ROWS * ld_inputs(M));
        own = taps + (width + 1) * padded_inputs(M);
        sums = own + ROWS * TILE;
    }
    static int bytes(int M, int width)
    {
        constexpr int ROWS = tensor_shape<MT>::ROWS;
        size_t elements = padded_inputs(M) * LD_WEIGHTS + PIECES * ROWS * ld_inputs(M);
        size_t floats = (width + 1) * padded_inputs(M) + ROWS * TILE +
                        tensor_shape<MT>::QUARTERS * ROWS * 2 * TILE;
        return (int)(elements * sizeof(E) + floats * sizeof(float));
    }
};

/* Where the tap of input i is, s steps back, or for s = width the bias: four inputs side
 * by side, then those of the next eight, so that the lanes of a warp read neighbours. */
static __device__ int tap_index(int s, int i, int inputs)
{
    return s * inputs + i / 4 % 2 * (inputs / 2) + i / 8 * 4 + i % 4;
}

/* sum[0..8) += taps of inputs i .. i + 7 (i a multiple of 8) times x */
static __device__ void add_taps(
    float (&sum)[8], const float *taps, int s, int i, int inputs, const float (&x)[8])
{
#pragma unroll
    for (int h = 0; h < 2; h++) {
        float4 w = *(const float4 *)(taps + tap_index(s, i + h * 4, inputs));
        sum[h * 4] += w.x * x[h * 4], sum[h * 4 + 1] += w.y * x[h * 4 + 1];
        sum[h * 4 + 2] += w.z * x[h * 4 + 2], sum[h * 4 + 3] += w.w * x[h * 4 + 3];
    }
}

/* What no kernel of a step writes: the weights of both gates, taps, bias */
template <typename E, int MT>
static __device__ void
load_weights(const step_smem<E, MT> &smem, const step_call<E> &call, int g, int j0)
{
    int M = call.M, inputs = padded_inputs(M);
    for (int n = threadIdx.x; n < inputs * 4; n += blockDim.x) {
        int i = n / 4, gate = n / 2 % 2, j = n % 2 * 8;
        bool exists = i < M && j0 + j < M;
        const E *from = gate ? call.wa : call.wx;
        cp_async(
            smem.weights + i * LD_WEIGHTS + gate * TILE + j,
            from + (exists ? ((size_t)g * M + i) * M + j0 + j : 0), exists);
    }
    cp_async_commit();
    for (int i = threadIdx.x; i < M; i += blockDim.x) {
        size_t channel = (size_t)g * M + i;
        for (int s = 0; s < call.width; s++)  // of the input s steps ago
            smem.taps[tap_index(s, i, inputs)] =
                (float)call.w[channel * call.width + call.width - 1 - s];
        smem.taps[tap_index(call.width, i, inputs)] = (float)call.bias[channel];
    }
}

/* c of all inputs and rows, eight channels at a time, in pieces; and c of the outputs */
template <typename E, int MT>
static __device__ void convolve_tile(
    const step_smem<E, MT> &smem, const step_call<E> &call, int b0, int g, int j0)
{
    constexpr int ROWS = tensor_shape<MT>::ROWS, N = 8;
    int M = call.M, inputs = padded_inputs(M), eights = inputs / N, ld = ld_inputs(M);
    size_t C = (size_t)call.G * M;
#pragma unroll 2
    for (int n = threadIdx.x; n < ROWS * eights; n += blockDim.x) {
        int r = n / eights, i = n % eights * N;
        size_t b = (size_t)b0 + r, channel = (size_t)g * M + i;
        bool exists = b < (size_t)call.B && i < M;
        int pos = exists ? call.pos[b] : -1, slot = pos % call.width;
        const E *ring = call.conv_state + b * call.width * C + channel;
        float sum[N] = {}, one[N];
#pragma unroll
        for (int k = 0; k < N; k++)
            one[k] = 1.0f;
        if (exists) add_taps(sum, smem.taps, call.width, i, inputs, one);
#pragma unroll 4
        for (int s = 0; s < call.width; s++) {
            if (s > pos) continue;
            int at = slot - s < 0 ? slot - s + call.width : slot - s;
            const E *from = s ? ring + at * C : call.x + b * call.ld + channel;
            float x[N];
            to_float(x, load_vec<N>(from));
            add_taps(sum, smem.taps, s, i, inputs, x);
        }
#pragma unroll
        for (int k = 0; k < N; k++)
            if (i + k >= j0 && i + k < j0 + TILE)
                smem.own[r * TILE + i + k - j0] = sum[k];
#pragma unroll
        for (int p = 0; p < PIECES; p++) {
            vec<E, N> rounded;
#pragma unroll
            for (int k = 0; k < N; k++)
                rounded[k] = (E)sum[k], sum[k] -= (float)rounded[k];
            store_vec(smem.c + (p * ROWS + r) * ld + i, rounded);
        }
    }
}

/* A warp has one gate, and 16 of every QUARTERS * 16 inputs. */
template <typename E, int MT>
static __device__ void multiply_tile(const step_smem<E, MT> &smem, int M)
{
    constexpr int ROWS = tensor_shape<MT>::ROWS, QUARTERS = tensor_shape<MT>::QUARTERS;
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, ld = ld_inputs(M);
    int gate = warp % 2, quarter = warp / 2;
    float sum[MT][2][4] = {};
    for (int k = quarter * 16; k < M; k += QUARTERS * 16) {
        unsigned b[4], a[4];
        ldmatrix_trans(
            b, smem.weights + (k + lane % 16) * LD_WEIGHTS + gate * TILE + lane / 16 * 8);
#pragma unroll
        for (int m = 0; m < MT * PIECES; m++) {
            int row = m % MT * 16 + m / MT * ROWS + lane % 16;
            ldmatrix(a, smem.c + row * ld + k + lane / 16 * 8);
            mma<E>(sum[m % MT][0], a, b[0], b[1]);
            mma<E>(sum[m % MT][1], a, b[2], b[3]);
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
                smem.sums[(quarter * ROWS + row) * 2 * TILE + column] = sum[m][n][i];
            }
}

template <typename E, int MT>
static __global__ void __launch_bounds__(MAX_WARPS * WARP, 2)
    step_tensor(step_call<E> call, int tiles)
{
    constexpr int ROWS = tensor_shape<MT>::ROWS, QUARTERS = tensor_shape<MT>::QUARTERS;
    constexpr int THREADS = MAX_WARPS * WARP, OUTPUTS = ROWS * TILE / THREADS;
    extern __shared__ uint4 memory[];
    step_smem<E, MT> smem(memory, call.M, call.width);
    int tile = blockIdx.x % tiles, g = blockIdx.x / tiles % call.G;
    int b0 = blockIdx.x / tiles / call.G * ROWS, j0 = tile * TILE;
    pdl_trigger();
    load_weights<E, MT>(smem, call, g, j0);
    pdl_wait();
    step_output own[OUTPUTS];
#pragma unroll
    for (int e = 0; e < OUTPUTS; e++)
        own[e] = load_output<ROWS>(call, threadIdx.x + e * THREADS, b0, g, j0);
    __syncthreads();  // the taps are loaded
    convolve_tile<E, MT>(smem, call, b0, g, j0);
    cp_async_wait<0>();
    __syncthreads();  // c and the weights are in shared memory
    multiply_tile<E, MT>(smem, call.M);
    __syncthreads();  // all sums are in shared memory
#pragma unroll
    for (int e = 0; e < OUTPUTS; e++) {
        step_output o = own[e];
        if (o.row < 0) continue;
        int j = (threadIdx.x + e * THREADS) % TILE;
        float px = o.bx, pa = o.ba;
        for (int q = 0; q < QUARTERS; q++) {
            px += smem.sums[(q * ROWS + o.row) * 2 * TILE + j];
            pa += smem.sums[(q * ROWS + o.row) * 2 * TILE + TILE + j];
        }
        store_output(call, o, smem.own[o.row * TILE + j], px, pa, (size_t)b0 + o.row);
    }
}

template <int MT, typename E>
static void launch_tensor(const step_call<E> &call, cudaStream_t stream)
{
    int tiles = (call.M + TILE - 1) / TILE, rows = tensor_shape<MT>::ROWS;
    size_t blocks = ((size_t)call.B + rows - 1) / rows * call.G * tiles;
    launch_pdl(
        step_tensor<E, MT>, (unsigned)blocks, MAX_WARPS * WARP,
        step_smem<E, MT>::bytes(call.M, call.width), stream, call, tiles);
}

/* MT of the kernel for this call; 0: the plain step. Only bf16: f16 does not have
 * the range of c. */
static int tensor_rows(const step_call<wb_bf16> &call)
{
    if (call.B <= SMALL_BATCH || call.M % 8 || call.ld % 8 || !has_mma<wb_bf16>() ||
        !is_aligned(16, call.wx, call.wa, call.x, call.conv_state))
        return 0;
    int limit = max_smem_per_block();
    if (call.B > 16 && step_smem<wb_bf16, 2>::bytes(call.M, call.width) <= limit)
        return 2;
    return step_smem<wb_bf16, 1>::bytes(call.M, call.width) <= limit ? 1 : 0;
}
template <typename E> static int tensor_rows(const step_call<E> &)
{
    return 0;
}
// END SOLUTION
#endif
