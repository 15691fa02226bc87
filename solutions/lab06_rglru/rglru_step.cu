/* rglru_step.cu - lab 06, part 06.6: the recurrent block for one token. The contract is
 * rglru.h.
 */
#include "cuda/vec.cuh"
#include "gate_math.cuh"
#include "rglru_contract.cuh"

// BEGIN SOLUTION 06.6 (about 45 lines in a first version)
//> enum { MAX_M = 512 };
//>
//> /* A block of M threads for each row b and block g of channels: thread j owns channel
//>  * g*M + j. */
//> template <typename E> static __global__ void step_rows(step_call<E> call)
//> {
//>     __shared__ float c[MAX_M];
//>     int g = blockIdx.x % call.G, j = threadIdx.x;  // [0, G), [0, M)
//>     size_t b = blockIdx.x / call.G;
//>     // TODO(06.6): c[j]: the convolution, from x and the slots of positions pos - 1,
//>     // pos - 2, ... of the ring; not before position 0. About 6 lines.
//>     // TODO(06.6): store x in the slot of pos. Who else reads that slot? 1 line.
//>     // TODO(06.6): wait until c is complete. 1 line.
//>     // TODO(06.6): px and pa: two sums over the block's inputs. About 5 lines.
//>     // TODO(06.6): a and z as in 06.3, the new state, and out = state gelu(y). 8 lines.
//> }
#include "rglru_step_tensor.cuh"

/* A step reads the matrices of both gates once, and little else. So each block reads a
 * part of them, for TILE outputs of one g and ROWS rows of the batch, and there are
 * enough blocks to fill the GPU. Every block computes the convolution of all M inputs of
 * its g: that is cheap. */

constexpr int ROWS_PER_BLOCK = 8;              // of the batch, if B > SMALL_BATCH
constexpr int LANES_PER_INPUT = TILE / 2;      // a lane has two neighbouring outputs
constexpr int SHARE = WARP / LANES_PER_INPUT;  // lanes of the same two share the inputs
constexpr int PREFETCH = 8;  // inputs of a lane whose weights are in flight together
constexpr int TAPS = 4;      // taps whose inputs are in flight together
constexpr int MAX_M = 512;

/* The weights of input i for outputs j and j + 1; 0 outside the matrix */
template <typename E, bool EVEN>
static __device__ __forceinline__ raw<E, 2> load_pair(const E *w, int i, int j, int M)
{
    const E *from = w + (size_t)i * M + j;
    if (EVEN && i < M && j < M) return load_raw<E, 2>(from);
    vec<E, 2> x = {{(E)0.0f, (E)0.0f}};
    if (!EVEN && i < M && j < M) x[0] = from[0];
    if (!EVEN && i < M && j + 1 < M) x[1] = from[1];
    return *(const raw<E, 2> *)&x;
}

/* c[row][i], the output of the convolution for all inputs of block g of channels. The
 * loads of all rows and of TAPS taps are in flight together. */
template <int ROWS, typename E>
static __device__ void
convolve(float c[ROWS][MAX_M], const step_call<E> &call, int b0, int g)
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

/* part[warp][row]: the sums over this warp's inputs, px of the TILE outputs, then pa.
 * `begin` is called after the first weights are loaded; then they serve all rows. */
template <int ROWS, bool EVEN, typename E, typename F>
static __device__ void multiply_inputs(
    float part[MAX_WARPS][ROWS][2 * TILE], float c[ROWS][MAX_M], const step_call<E> &call,
    int b0, int g, int j0, F begin)
{
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    int j = j0 + lane % LANES_PER_INPUT * 2;
    int share = warp * SHARE + lane / LANES_PER_INPUT;
    size_t matrix = (size_t)g * call.M * call.M;
    for (int i0 = 0; i0 < call.M; i0 += warps * SHARE * PREFETCH) {
        raw<E, 2> wx[PREFETCH], wa[PREFETCH];
#pragma unroll
        for (int n = 0; n < PREFETCH; n++) {
            int i = i0 + n * warps * SHARE + share;
            wx[n] = load_pair<E, EVEN>(call.wx + matrix, i, j, call.M);
            wa[n] = load_pair<E, EVEN>(call.wa + matrix, i, j, call.M);
        }
        if (i0 == 0) {
            begin();
            convolve<ROWS>(c, call, b0, g);
            __syncthreads();  // c is complete
        }
        for (int r = 0; r < ROWS && b0 + r < call.B; r++) {
            float sum[4] = {};
#pragma unroll
            for (int n = 0; n < PREFETCH; n++) {
                int i = i0 + n * warps * SHARE + share;
                float x = i < call.M ? c[r][i] : 0.0f;
                float x2[2], a2[2];
                to_float<E, 2>(x2, wx[n]), to_float<E, 2>(a2, wa[n]);
                sum[0] += x * x2[0], sum[1] += x * x2[1];
                sum[2] += x * a2[0], sum[3] += x * a2[1];
            }
#pragma unroll
            for (int k = 0; k < 4; k++) {  // over the lanes that share these outputs
                for (int o = WARP / 2; o >= LANES_PER_INPUT; o >>= 1)
                    sum[k] += __shfl_xor_sync(0xffffffffu, sum[k], o);
                int output = lane % LANES_PER_INPUT * 2 + k % 2;
                float *to = &part[warp][r][k / 2 * TILE + output];
                if (lane < LANES_PER_INPUT) *to = i0 ? *to + sum[k] : sum[k];
            }
        }
    }
}

/* Stores state and output, and the input in the ring; c: the output of the convolution */
template <typename E>
static __device__ void store_output(
    const step_call<E> &call, step_output o, float c, float px, float pa, size_t b)
{
    int C = call.G * call.M;
    float log2_a = -8.0f * LOG2_E * softplus(o.param) * sigmoid(pa);
    float a = fast_exp2(log2_a), m = fast_sqrt(one_minus_square(log2_a, a));
    float h = (o.pos ? m : 1.0f) * sigmoid(px) * c;
    if (o.pos) h += a * o.state;  // at pos 0 the state may be anything
    call.state[o.at] = h;
    call.out[o.at] = (E)(h * gelu(o.y));
    // the slot of position pos - width, which no block reads
    size_t slot = b * call.width + o.pos % call.width;
    call.conv_state[slot * C + (o.at - b * C)] = (E)o.x;
}

template <typename E, int ROWS, bool EVEN>
static __global__ void __launch_bounds__(MAX_WARPS * WARP, 2)
    step_tiles(step_call<E> call, int tiles)
{
    __shared__ float c[ROWS][MAX_M], part[MAX_WARPS][ROWS][2 * TILE];
    int tile = blockIdx.x % tiles, g = blockIdx.x / tiles % call.G;
    int b0 = blockIdx.x / tiles / call.G * ROWS, j0 = tile * TILE;
    step_output o;
    pdl_trigger();
    multiply_inputs<ROWS, EVEN>(part, c, call, b0, g, j0, [&]() {
        pdl_wait();
        // these loads overlap with the sums
        o = load_output<ROWS>(call, threadIdx.x, b0, g, j0);
    });
    __syncthreads();  // every warp's sums are in part
    for (int n = threadIdx.x; n < ROWS * TILE; n += blockDim.x) {
        if (n >= (int)blockDim.x) o = load_output<ROWS>(call, n, b0, g, j0);
        if (o.row < 0) continue;
        float px = o.bx, pa = o.ba;
        for (int w = 0; w < (int)blockDim.x / WARP; w++) {
            px += part[w][o.row][n % TILE];
            pa += part[w][o.row][TILE + n % TILE];
        }
        store_output(call, o, c[o.row][j0 + n % TILE], px, pa, (size_t)b0 + o.row);
    }
}

/* All outputs of one g and one row of the batch, N neighbouring ones per thread. The
 * convolution is computed once, and a thread needs no other one's sums. */
template <typename E>
static __global__ void __launch_bounds__(MAX_M) step_whole(step_call<E> call)
{
    constexpr int N = VEC16<E>;
    __shared__ float c[1][MAX_M];
    int g = blockIdx.x % call.G, b = blockIdx.x / call.G;
    int j = threadIdx.x * N, M = call.M;
    const E *wx = call.wx + (size_t)g * M * M + j, *wa = call.wa + (size_t)g * M * M + j;
    pdl_trigger();
    pdl_wait();
    convolve<1>(c, call, b, g);
    __syncthreads();  // c is complete
    float px[N] = {}, pa[N] = {};
    for (int i = 0; i < M; i++) {
        float x2[N], a2[N];
        to_float(x2, load_vec<N>(wx + (size_t)i * M));
        to_float(a2, load_vec<N>(wa + (size_t)i * M));
#pragma unroll
        for (int n = 0; n < N; n++)
            px[n] += c[0][i] * x2[n], pa[n] += c[0][i] * a2[n];
    }
#pragma unroll
    for (int n = 0; n < N; n++) {
        int tile = (j + n) / TILE * TILE;
        step_output o = load_output<1>(call, (j + n) % TILE, b, g, tile);
        store_output(call, o, c[0][j + n], px[n] + o.bx, pa[n] + o.ba, (size_t)b);
    }
}

/* Tiles fill a GPU. A device that would run 16 of them on each multiprocessor, one after
 * another, is filled by whole blocks of channels, which have less to do in all. */
constexpr int MANY_TILES = 16;
template <typename E> static bool fits_whole(const step_call<E> &call)
{
    int tiles = (call.M + TILE - 1) / TILE;
    return call.B <= SMALL_BATCH && call.G * tiles >= MANY_TILES * sm_count() &&
           call.M % VEC16<E> == 0 && is_aligned(16, call.wx, call.wa);
}

template <typename E, int ROWS> static void launch(step_call<E> call, cudaStream_t stream)
{
    int tiles = (call.M + TILE - 1) / TILE, warps = (call.M + WARP - 1) / WARP;
    size_t blocks = ((size_t)call.B + ROWS - 1) / ROWS * call.G * tiles;
    int threads = (warps < MAX_WARPS ? warps : MAX_WARPS) * WARP;
    bool even = call.M % 2 == 0 && is_aligned(2 * sizeof(E), call.wx, call.wa);
    auto kernel = even ? step_tiles<E, ROWS, true> : step_tiles<E, ROWS, false>;
    launch_pdl(kernel, (unsigned)blocks, threads, 0, stream, call, tiles);
}

// END SOLUTION

template <typename E> static wb_status rglru_step(step_call<E> call, cudaStream_t stream)
{
    // BEGIN SOLUTION 06.6 (13 lines)
    //> // TODO(06.6): launch step_rows on the stream, B*G blocks of M threads, then return
    //> // wb_launched().
    //> (void)call, (void)stream;
    //> return WB_TODO;
    int tensor = tensor_rows(call);
    if (fits_whole(call))
        launch_pdl(
            step_whole<E>, (unsigned)(call.B * call.G), call.M / VEC16<E>, 0, stream,
            call);
    else if (!tensor)
        call.B <= SMALL_BATCH ? launch<E, SMALL_BATCH>(call, stream)
                              : launch<E, ROWS_PER_BLOCK>(call, stream);
    else if constexpr (sizeof(E) == 2)
        tensor == 1 ? launch_tensor<1>(call, stream) : launch_tensor<2>(call, stream);
    return wb_launched();
    // END SOLUTION
}

DEFINE_RGLRU_STEP(float, f32)
DEFINE_RGLRU_STEP(wb_f16, f16)
DEFINE_RGLRU_STEP(wb_bf16, bf16)
