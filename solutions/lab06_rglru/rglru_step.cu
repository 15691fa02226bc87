/* rglru_step.cu - lab 06.6: the recurrent block for one token. The contract is rglru.h. */
#include "fast_math.cuh"
#include "lanes.cuh"
#include "rglru.h"
#include "rglru_shared.cuh"

// BEGIN SOLUTION 06.6 (about 45 lines in a first version)
//> enum { MOST = 512 };  // the largest M
//>
//> /* A block of M threads for each row b and block g of channels: thread j looks after
//>  * channel g*M + j. */
//> template <typename E>
//> static __global__ void step_rows(
//>     E *out, E *conv_state, float *state, const E *x, const E *y, const E *w,
//>     const E *bias, const E *wx, const E *bx, const E *wa, const E *ba, const E *a_param,
//>     const int *pos, int G, int M, int width, int ld)
//> {
//>     __shared__ float c[MOST];
//>     int g = blockIdx.x % G, j = threadIdx.x;  // [0, G), [0, M)
//>     size_t b = blockIdx.x / G;
//>     // TODO(06.6): c[j]: the convolution, from x and the slots of positions pos - 1,
//>     // pos - 2, ... of the ring; not before position 0. About 6 lines.
//>     // TODO(06.6): x into the slot of pos. Who else reads that slot? 1 line.
//>     // TODO(06.6): wait until c is complete. 1 line.
//>     // TODO(06.6): px and pa: two sums over the block's inputs. About 5 lines.
//>     // TODO(06.6): a and z as in 06.3, the new state, and out = state gelu(y). 8 lines.
//> }
#include "rglru_step_tensor.cuh"

/* A step reads the matrices of both gates once and little else, so the card is filled with
 * blocks that read a part each: TILE outputs of one g, for ROWS rows of the batch. Each
 * computes the convolution of all M inputs of its g, which is cheap, for itself. */

constexpr int PAIRS = TILE / 2;      // a lane has two neighbouring outputs,
constexpr int SHARE = WARP / PAIRS;  // and lanes with the same two share the inputs
constexpr int AHEAD = 8;             // inputs of a lane whose weights are under way
constexpr int TAPS = 4;              // whose inputs are under way at once
constexpr int MOST = 512;            // the largest M

/* outputs j and j + 1 of input i; 0 behind the last */
template <typename E, bool EVEN>
static __device__ __forceinline__ lanes<E, 2> weights(const E *w, int i, int j, int M)
{
    const E *from = w + (size_t)i * M + j;
    if (EVEN && i < M && j < M) return load<E, 2>(from);
    pack<E, 2> x = {{(E)0.0f, (E)0.0f}};
    if (!EVEN && i < M && j < M) x.at[0] = from[0];
    if (!EVEN && i < M && j + 1 < M) x.at[1] = from[1];
    return *(const lanes<E, 2> *)&x;
}

/* c[row][i], the output of the convolution for all inputs of block g of channels. The loads
 * of all rows and of TAPS taps do not wait for one another. */
template <int ROWS, typename E>
static __device__ void
convolve(float c[ROWS][MOST], const step_call<E> &call, int b0, int g)
{
    int width = call.width, rows = min(ROWS, call.B - b0);
    size_t C = (size_t)call.G * call.M;
    for (int i = threadIdx.x; i < call.M; i += blockDim.x) {
        size_t channel = (size_t)g * call.M + i;
        int pos[ROWS];
        float sum[ROWS], bias = (float)call.bias[channel];
#pragma unroll
        for (int r = 0; r < ROWS; r++)
            pos[r] = r < rows ? call.pos[b0 + r] : -1, sum[r] = bias;
        for (int s0 = 0; s0 < width; s0 += TAPS) {
            float x[ROWS][TAPS];
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                size_t b = b0 + r;
                const E *ring = call.conv_state + b * width * C + channel;
                int slot = pos[r] % width - s0;  // of position pos - s0
#pragma unroll
                for (int k = 0; k < TAPS; k++) {
                    int s = s0 + k, at = slot - k < 0 ? slot - k + width : slot - k;
                    x[r][k] = 0.0f;
                    if (s >= width || s > pos[r]) continue;
                    x[r][k] = (float)(s ? ring[at * C] : call.x[b * call.ld + channel]);
                }
            }
#pragma unroll
            for (int k = 0; k < TAPS; k++) {
                if (s0 + k >= width) continue;
                float w = (float)call.w[channel * width + width - 1 - s0 - k];
#pragma unroll
                for (int r = 0; r < ROWS; r++)
                    sum[r] += w * x[r][k];
            }
        }
#pragma unroll
        for (int r = 0; r < ROWS; r++)
            if (r < rows) c[r][i] = sum[r];
    }
}

/* part[warp][row]: the sums over this warp's inputs, px of the TILE outputs, then pa. The
 * weights are read before anything is waited for, then `begin` is called, and then they
 * serve all rows. */
template <int ROWS, bool EVEN, typename E, typename F>
static __device__ void products(
    float part[WARPS][ROWS][2 * TILE], float c[ROWS][MOST], const step_call<E> &call,
    int b0, int g, int j0, F begin)
{
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    int j = j0 + lane % PAIRS * 2, share = warp * SHARE + lane / PAIRS;
    size_t matrix = (size_t)g * call.M * call.M;
    for (int i0 = 0; i0 < call.M; i0 += warps * SHARE * AHEAD) {
        lanes<E, 2> wx[AHEAD], wa[AHEAD];
#pragma unroll
        for (int n = 0; n < AHEAD; n++) {
            int i = i0 + n * warps * SHARE + share;
            wx[n] = weights<E, EVEN>(call.wx + matrix, i, j, call.M);
            wa[n] = weights<E, EVEN>(call.wa + matrix, i, j, call.M);
        }
        if (i0 == 0) {
            begin();
            convolve<ROWS>(c, call, b0, g);
            __syncthreads();  // all inputs are in c
        }
        for (int r = 0; r < ROWS && b0 + r < call.B; r++) {
            float sum[4] = {};
#pragma unroll
            for (int n = 0; n < AHEAD; n++) {
                int i = i0 + n * warps * SHARE + share;
                float x = i < call.M ? c[r][i] : 0.0f;
                float x2[2], a2[2];
                widen<2>(x2, wx[n]), widen<2>(a2, wa[n]);
                sum[0] += x * x2[0], sum[1] += x * x2[1];
                sum[2] += x * a2[0], sum[3] += x * a2[1];
            }
#pragma unroll
            for (int k = 0; k < 4; k++) {  // over the lanes that share these outputs
                for (int o = WARP / 2; o >= PAIRS; o >>= 1)
                    sum[k] += __shfl_xor_sync(0xffffffffu, sum[k], o);
                float *to = &part[warp][r][k / 2 * TILE + lane % PAIRS * 2 + k % 2];
                if (lane < PAIRS) *to = i0 ? *to + sum[k] : sum[k];
            }
        }
    }
}

/* State and output, and the input into the ring; c = conv1d's output */
template <typename E>
static __device__ void
finish(const step_call<E> &call, own o, float c, float px, float pa, size_t b)
{
    int C = call.G * call.M;
    float log2_a = -8.0f * LOG2_E * softplus(o.param) * logistic(pa);
    float a = fast_exp2(log2_a), m = fast_sqrt(one_minus_square(log2_a, a));
    float h = (o.pos ? m : 1.0f) * logistic(px) * c;
    if (o.pos) h += a * o.state;  // at pos 0 there may be no state
    call.state[o.at] = h;
    call.out[o.at] = (E)(h * gelu(o.y));
    // the slot of position pos - width, which nobody reads any more
    size_t slot = b * call.width + o.pos % call.width;
    call.conv_state[slot * C + (o.at - b * C)] = (E)o.x;
}

template <typename E, int ROWS, bool EVEN>
static __global__ void __launch_bounds__(WARPS *WARP, 2)
    step_tiles(step_call<E> call, int tiles)
{
    __shared__ float c[ROWS][MOST], part[WARPS][ROWS][2 * TILE];
    int tile = blockIdx.x % tiles, g = blockIdx.x / tiles % call.G;
    int b0 = blockIdx.x / tiles / call.G * ROWS, j0 = tile * TILE;
    own o;
    let_next_kernel_start();
    products<ROWS, EVEN>(part, c, call, b0, g, j0, [&]() {
        wait_for_kernel_before();
        // on its way while the sums are formed
        o = own_of<ROWS>(call, threadIdx.x, b0, g, j0);
    });
    __syncthreads();  // every warp's sums are in part
    for (int n = threadIdx.x; n < ROWS * TILE; n += blockDim.x) {
        if (n >= (int)blockDim.x) o = own_of<ROWS>(call, n, b0, g, j0);
        if (o.row < 0) continue;
        float px = o.bx, pa = o.ba;
        for (int w = 0; w < (int)blockDim.x / WARP; w++) {
            px += part[w][o.row][n % TILE];
            pa += part[w][o.row][TILE + n % TILE];
        }
        finish(call, o, c[o.row][j0 + n % TILE], px, pa, (size_t)b0 + o.row);
    }
}

template <typename E, int ROWS> static void launch(step_call<E> call, cudaStream_t stream)
{
    int tiles = (call.M + TILE - 1) / TILE, warps = (call.M + WARP - 1) / WARP;
    size_t blocks = ((size_t)call.B + ROWS - 1) / ROWS * call.G * tiles;
    int threads = (warps < WARPS ? warps : WARPS) * WARP;
    bool even = call.M % 2 == 0 && aligned(2 * sizeof(E), call.wx, call.wa);
    auto kernel = even ? step_tiles<E, ROWS, true> : step_tiles<E, ROWS, false>;
    launch_early(kernel, (unsigned)blocks, threads, 0, stream, call, tiles);
}

template <typename E>
static void launch_for(const step_call<E> &call, cudaStream_t stream)
{
    if (!on_tensor_cores(call))
        call.B <= FEW ? launch<E, FEW>(call, stream) : launch<E, MANY>(call, stream);
    else if constexpr (sizeof(E) == 2)
        call.B <= 16 ? launch_tensor<1>(call, stream) : launch_tensor<2>(call, stream);
}
// END SOLUTION

template <typename E>
static wb_status step(
    E *out, E *conv_state, float *state, const E *x, const E *y, const E *w,
    const E *bias, const E *wx, const E *bx, const E *wa, const E *ba, const E *a_param,
    const int *pos, int B, int G, int M, int width, int ld, cudaStream_t stream)
{
    if (B < 0 || G < 0 || M < 1 || M > 512 || width < 2 || width > 8 ||
        ld < (long long)G * M)
        return WB_BAD_SHAPE;
    if (B == 0 || G == 0) return WB_OK;
    if (!out || !conv_state || !state || !x || !y || !w || !bias || !wx || !bx || !wa ||
        !ba || !a_param || !pos)
        return WB_BAD_SHAPE;
    // BEGIN SOLUTION 06.6 (4 lines)
    //> // TODO(06.6): launch step_rows on the stream, B*G blocks of M threads, then return
    //> // wb_launched().
    //> (void)stream;
    //> return WB_TODO;
    step_call<E> call = {out, conv_state, state,   x,   y, w, bias, wx,    bx,
                         wa,  ba,         a_param, pos, B, G, M,    width, ld};
    launch_for(call, stream);
    return wb_launched();
    // END SOLUTION
}

#define DEFINE(E, e)                                                                     \
    wb_status rglru_step_##e(                                                            \
        E *out, E *conv_state, float *state, const E *x, const E *y, const E *w,         \
        const E *bias, const E *wx, const E *bx, const E *wa, const E *ba,               \
        const E *a_param, const int *pos, int B, int G, int M, int width, int ld,        \
        cudaStream_t stream)                                                             \
    {                                                                                    \
        return step<E>(                                                                  \
            out, conv_state, state, x, y, w, bias, wx, bx, wa, ba, a_param, pos, B, G,   \
            M, width, ld, stream);                                                       \
    }
DEFINE(float, f32)
DEFINE(wb_f16, f16)
DEFINE(wb_bf16, bf16)
