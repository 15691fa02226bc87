/* gates.cu - lab 06, part 06.3: from the gates' pre-activations to the a and z of the
 * scan. The contract is rglru.h. */
#include "cuda/vec.cuh"
#include "gate_math.cuh"
#include "partial_sums.cuh"
#include "rglru_contract.cuh"

// BEGIN SOLUTION 06.3 (about 25 lines in a first version)
//> enum { THREADS = 128 };  // per block
//>
//> /* One thread per element: index i in every tensor. */
//> template <typename E>
//> static __global__ void gates_each(
//>     float *a, float *z, const E *c, const E *px, const E *pa, const E *a_param,
//>     const int *pos, int B, int T, int C)
//> {
//>     size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;  // [0, B*T*C)
//>     if (i >= (size_t)B * T * C) return;
//>     size_t token = i / C, channel = i % C;
//>     // TODO(06.3): is it the first token of a document? pos may be NULL. About 1 line.
//>     // TODO(06.3): gx, ga, log_a; softplus must not overflow. About 4 lines.
//>     // TODO(06.3): a and m, with expm1f; then a[i] and z[i]. About 4 lines.
//>     (void)token, (void)channel;
//> }
//>
//> /* One thread per channel, one token after another, so da_param is the sum of a single
//>  * thread. That is enough to pass; the guide shows the way to a fast kernel. */
//> template <typename E>
//> static __global__ void gates_slopes(
//>     E *dc, E *dpx, E *dpa, float *da_param, const float *da, const float *dz, const E *c,
//>     const E *px, const E *pa, const E *a_param, const int *pos, int B, int T, int C)
//> {
//>     int channel = blockIdx.x * THREADS + threadIdx.x;  // [0, C)
//>     if (channel >= C) return;
//>     float sum = 0.0f;  // of -8 ga dlog_a
//>     for (size_t token = 0; token < (size_t)B * T; token++) {
//>         // TODO(06.3): gx, ga, log_a, a, q, m again. About 6 lines.
//>         // TODO(06.3): dq with the bounded root, dlog_a, 0 at a document's start. 2 lines.
//>         // TODO(06.3): dc, dpx, dpa, and the sum. About 4 lines.
//>     }
//>     // TODO(06.3): da_param[channel] += s(a_param) sum. 1 line.
//>     (void)sum;
//> }
/* There are a dozen operations per element and five or eight tensors to move, so memory
 * traffic is the limit if the special functions are few. A thread owns VEC neighbouring
 * channels, so it computes softplus of a_param once, and walks through some tokens. */

constexpr int THREADS = 128;

/* log2(a) at ga = 1. To base 2, because exp takes one instruction more than exp2. */
static __device__ float gate_rate(float a_param)
{
    return -8.0f * LOG2_E * softplus(a_param);
}

/* What both passes compute for an element; q = 1 - a^2, m = sqrt(q) */
struct gate {
    float gx, ga, a, q, m;
};

static __device__ gate gate_of(float px, float pa, float rate)
{
    float ga = sigmoid(pa), a = fast_exp2(rate * ga), q = one_minus_square(rate * ga, a);
    return {sigmoid(px), ga, a, q, q * fast_rsqrt(fmaxf(q, 1e-37f))};
}

/* What a thread works on: tokens first to last-1, VEC channels from column*VEC on */
struct share {
    size_t column, first, last;
};

static __device__ share own_share(size_t tokens, int columns, int walk)
{
    size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    size_t first = i / columns * walk, last = first + walk;
    return {i % columns, first, last < tokens ? last : tokens};
}

static __device__ bool starts_document(const int *pos, size_t token, int T)
{
    return (pos ? pos[token] : (int)(token % T)) == 0;
}

template <typename E, int VEC>
static __global__ void __launch_bounds__(THREADS) gates_forward(
    float *a, float *z, const E *c, const E *px, const E *pa, const E *a_param,
    const int *pos, int B, int T, int C, int walk)
{
    share own = own_share((size_t)B * T, C / VEC, walk);
    float rate[VEC];
    for (int j = 0; j < VEC; j++)
        rate[j] = gate_rate((float)a_param[own.column * VEC + j]);
#pragma unroll 2
    for (size_t token = own.first; token < own.last; token++) {
        size_t i = token * C + own.column * VEC;
        vec<E, VEC> cs = load_vec<VEC>(c + i), pxs = load_vec<VEC>(px + i);
        vec<E, VEC> pas = load_vec<VEC>(pa + i);
        bool first = starts_document(pos, token, T);
        vec<float, VEC> as, zs;
        for (int j = 0; j < VEC; j++) {
            gate g = gate_of((float)pxs[j], (float)pas[j], rate[j]);
            as[j] = first ? 0.0f : g.a;
            zs[j] = (first ? 1.0f : g.m) * g.gx * (float)cs[j];
        }
        store_vec(a + i, as);
        store_vec(z + i, zs);
    }
}

/* The three gradients of an element; returns its term of the sum for da_param. */
template <typename E>
static __device__ float gate_slopes(
    E *dc, E *dpx, E *dpa, float da, float dz, float c, gate g, float rate, bool first)
{
    float in = dz * g.gx, m = first ? 1.0f : g.m;
    float dq = in * c * fast_rsqrt(fmaxf(4.0f * g.q, 1e-6f));  // the slope is bounded
    float dlog_a = first ? 0.0f : g.a * (da - 2.0f * g.a * dq);
    *dc = (E)(in * m);
    *dpx = (E)(in * m * c * (1.0f - g.gx));
    *dpa = (E)(rate * LN_2 * g.ga * (1.0f - g.ga) * dlog_a);
    return -8.0f * g.ga * dlog_a;
}

/* The sums for da_param stay in registers; row i / columns of `partial` receives them. */
template <typename E, int VEC>
static __global__ void __launch_bounds__(THREADS) gates_backward(
    E *dc, E *dpx, E *dpa, float *partial, const float *da, const float *dz, const E *c,
    const E *px, const E *pa, const E *a_param, const int *pos, int B, int T, int C,
    int walk)
{
    pdl_trigger();
    share own = own_share((size_t)B * T, C / VEC, walk);
    if (own.first >= own.last) return;
    float rate[VEC], sum[VEC] = {};
    for (int j = 0; j < VEC; j++)
        rate[j] = gate_rate((float)a_param[own.column * VEC + j]);
#pragma unroll 2
    for (size_t token = own.first; token < own.last; token++) {
        size_t i = token * C + own.column * VEC;
        vec<E, VEC> cs = load_vec<VEC>(c + i), pxs = load_vec<VEC>(px + i);
        vec<E, VEC> pas = load_vec<VEC>(pa + i), dcs, dpxs, dpas;
        vec<float, VEC> das = load_vec<VEC>(da + i), dzs = load_vec<VEC>(dz + i);
        bool first = starts_document(pos, token, T);
        for (int j = 0; j < VEC; j++) {
            gate g = gate_of((float)pxs[j], (float)pas[j], rate[j]);
            sum[j] += gate_slopes<E>(
                &dcs[j], &dpxs[j], &dpas[j], das[j], dzs[j], (float)cs[j], g, rate[j],
                first);
        }
        store_vec(dc + i, dcs), store_vec(dpx + i, dpxs), store_vec(dpa + i, dpas);
    }
    float *sums = partial + own.first / walk * C + own.column * VEC;
    for (int j = 0; j < VEC; j++)
        sums[j] = sigmoid((float)a_param[own.column * VEC + j]) * sum[j];
}

constexpr int CHANNELS = 4;                // per thread: 16 bytes of a and z
constexpr int WALK = 8;                    // tokens per thread, forward
constexpr size_t MIN_WALK = 16;            // and at least backward
constexpr size_t MAX_PART_SUMS = 2 << 20;  // enough threads for the GPU
constexpr size_t MIN_PARTS = 64;           // for wide rows too

static unsigned block_count(size_t tokens, int columns, int walk)
{
    return (unsigned)(((tokens + walk - 1) / walk * columns + THREADS - 1) / THREADS);
}
// END SOLUTION

template <typename E>
static wb_status gates(
    float *a, float *z, const E *c, const E *px, const E *pa, const E *a_param,
    const int *pos, int B, int T, int C, cudaStream_t stream)
{
    // BEGIN SOLUTION 06.3 (2 lines)
    //> // TODO(06.3): launch gates_each, then return wb_launched().
    //> return WB_TODO;
    constexpr int N = CHANNELS;
    bool vectors =
        C % N == 0 && is_aligned(16, a, z) && is_aligned(N * sizeof(E), c, px, pa);
    auto kernel = vectors ? gates_forward<E, N> : gates_forward<E, 1>;
    unsigned blocks = block_count((size_t)B * T, vectors ? C / N : C, WALK);
    kernel<<<blocks, THREADS, 0, stream>>>(
        a, z, c, px, pa, a_param, pos, B, T, C, WALK);
    return wb_launched();
    // END SOLUTION
}

/* Bytes of workspace of the backward pass */
template <typename E> static size_t gates_back_workspace(int B, int T, int C)
{
    // BEGIN SOLUTION 06.3 (1 line)
    //> // TODO(06.3): 0 is correct while one thread sums each channel.
    //> return 0;
    if (B < 1 || T < 1 || C < 1) return 0;
    return parts_workspace((size_t)B * T, C, MIN_WALK, MAX_PART_SUMS, MIN_PARTS);
    // END SOLUTION
}

template <typename E>
static wb_status gates_back(
    E *dc, E *dpx, E *dpa, float *da_param, const float *da, const float *dz, const E *c,
    const E *px, const E *pa, const E *a_param, const int *pos, int B, int T, int C,
    float *partial, cudaStream_t stream)
{
    // BEGIN SOLUTION 06.3 (3 lines)
    //> // TODO(06.3): launch gates_slopes, then return wb_launched().
    //> (void)partial;
    //> return WB_TODO;
    constexpr int N = CHANNELS;
    size_t tokens = (size_t)B * T;
    int P = part_count(tokens, C, MIN_WALK, MAX_PART_SUMS, MIN_PARTS);
    int walk = (int)((tokens + P - 1) / P);
    bool vectors = C % N == 0 && is_aligned(16, da, dz) &&
                   is_aligned(N * sizeof(E), dc, dpx, dpa, c, px, pa);
    auto kernel = vectors ? gates_backward<E, N> : gates_backward<E, 1>;
    unsigned blocks = block_count(tokens, vectors ? C / N : C, walk);
    kernel<<<blocks, THREADS, 0, stream>>>(
        dc, dpx, dpa, partial, da, dz, c, px, pa, a_param, pos, B, T, C, walk);
    P = (int)((tokens + walk - 1) / walk);
    add_partial_sums({{da_param}, {(size_t)C}}, partial, P, stream);
    return wb_launched();
    // END SOLUTION
}

DEFINE_GATES(float, f32)
DEFINE_GATES(wb_f16, f16)
DEFINE_GATES(wb_bf16, bf16)
