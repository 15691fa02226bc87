/* gates.cu - lab 06, part 06.3: from the gates' pre-activations to the a and z of the scan.
 * The contract is rglru.h. */
#include "fast_math.cuh"
#include "rglru_contract.cuh"
#include "rglru_shared.cuh"

// BEGIN SOLUTION 06.3 (about 25 lines in a first version)
//> enum { BLOCK = 128 };  // threads
//>
//> /* One thread per number. What it reads and writes lies at the same i in every tensor. */
//> template <typename E>
//> static __global__ void gates_each(
//>     float *a, float *z, const E *c, const E *px, const E *pa, const E *a_param,
//>     const int *pos, int B, int T, int C)
//> {
//>     size_t i = (size_t)blockIdx.x * BLOCK + threadIdx.x;  // [0, B*T*C)
//>     if (i >= (size_t)B * T * C) return;
//>     size_t token = i / C, channel = i % C;
//>     // TODO(06.3): is it the first token of a document? pos may be NULL. About 1 line.
//>     // TODO(06.3): gx, ga, log_a; softplus must not overflow. About 4 lines.
//>     // TODO(06.3): a and m, with expm1f; then a[i] and z[i]. About 4 lines.
//>     (void)token, (void)channel;
//> }
//>
//> /* One thread per channel, all tokens one after another: then da_param is the sum of one
//>  * thread. That is enough to pass; the guide shows the way to a fast kernel. */
//> template <typename E>
//> static __global__ void gates_slopes(
//>     E *dc, E *dpx, E *dpa, float *da_param, const float *da, const float *dz, const E *c,
//>     const E *px, const E *pa, const E *a_param, const int *pos, int B, int T, int C)
//> {
//>     int channel = blockIdx.x * BLOCK + threadIdx.x;  // [0, C)
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
/* A dozen operations on each number and six tensors to move: memory traffic again, if the
 * special functions are few. A thread keeps VEC neighbouring channels, so that what depends
 * on the channel alone (softplus of a_param) is made once, and walks through some tokens. */

constexpr int BLOCK = 128;

/* log2(a) of an open gate. In powers of two: they cost an instruction less. */
static __device__ float rate_of(float a_param)
{
    return -8.0f * LOG2_E * softplus(a_param);
}

/* What both passes make of one number. */
struct gate {
    float gx, ga, a, q, m;  // q = 1 - a^2, m its root
};

static __device__ gate gate_of(float px, float pa, float rate)
{
    float ga = logistic(pa), a = fast_exp2(rate * ga), q = one_minus_square(rate * ga, a);
    return {logistic(px), ga, a, q, q * fast_rsqrt(fmaxf(q, 1e-37f))};
}

/* Tokens and channels of one thread: channels column*VEC.., tokens first to last-1. */
struct share {
    size_t column, first, last;
};

static __device__ share share_of(size_t tokens, int columns, int walk)
{
    size_t i = (size_t)blockIdx.x * BLOCK + threadIdx.x;
    size_t first = i / columns * walk, last = first + walk;
    return {i % columns, first, last < tokens ? last : tokens};
}

/* Whether token is the first of its document. */
static __device__ bool is_first(const int *pos, size_t token, int T)
{
    return (pos ? pos[token] : (int)(token % T)) == 0;
}

template <typename E, int VEC>
static __global__ void __launch_bounds__(BLOCK) gates_forward(
    float *a, float *z, const E *c, const E *px, const E *pa, const E *a_param,
    const int *pos, int B, int T, int C, int walk)
{
    typedef vec<E, VEC> in;
    share own = share_of((size_t)B * T, C / VEC, walk);
    float rate[VEC];
    for (int j = 0; j < VEC; j++)
        rate[j] = rate_of((float)a_param[own.column * VEC + j]);
#pragma unroll 2
    for (size_t token = own.first; token < own.last; token++) {
        size_t i = token * C + own.column * VEC;
        in cs = *(const in *)(c + i), xs = *(const in *)(px + i),
           as = *(const in *)(pa + i);
        bool first = is_first(pos, token, T);
        vec<float, VEC> va, vz;
        for (int j = 0; j < VEC; j++) {
            gate g = gate_of((float)xs.at[j], (float)as.at[j], rate[j]);
            va.at[j] = first ? 0.0f : g.a;
            vz.at[j] = (first ? 1.0f : g.m) * g.gx * (float)cs.at[j];
        }
        *(vec<float, VEC> *)(a + i) = va;
        *(vec<float, VEC> *)(z + i) = vz;
    }
}

/* The three gradients of a number, and what it adds to the sum of da_param. */
template <typename E>
static __device__ float slopes_of(
    E *dc, E *dpx, E *dpa, float da, float dz, float c, gate g, float rate, bool first)
{
    float in = dz * g.gx, m = first ? 1.0f : g.m;
    float dq = in * c * fast_rsqrt(fmaxf(4.0f * g.q, 1e-6f));  // the slope is bounded
    float dlog_a = first ? 0.0f : g.a * (da - 2.0f * g.a * dq);
    *dc = (E)(in * m);
    *dpx = (E)(in * m * c * (1.0f - g.gx));
    *dpa = (E)(rate * (1.0f / LOG2_E) * g.ga * (1.0f - g.ga) * dlog_a);
    return -8.0f * g.ga * dlog_a;
}

/* A thread's sums for da_param stay in registers; row i / columns of `partial` gets them. */
template <typename E, int VEC>
static __global__ void __launch_bounds__(BLOCK) gates_backward(
    E *dc, E *dpx, E *dpa, float *partial, const float *da, const float *dz, const E *c,
    const E *px, const E *pa, const E *a_param, const int *pos, int B, int T, int C,
    int walk)
{
    typedef vec<E, VEC> in;
    share own = share_of((size_t)B * T, C / VEC, walk);
    if (own.first >= own.last) return;
    float rate[VEC], sum[VEC] = {};
    for (int j = 0; j < VEC; j++)
        rate[j] = rate_of((float)a_param[own.column * VEC + j]);
#pragma unroll 2
    for (size_t token = own.first; token < own.last; token++) {
        size_t i = token * C + own.column * VEC;
        in cs = *(const in *)(c + i), xs = *(const in *)(px + i),
           as = *(const in *)(pa + i);
        vec<float, VEC> das = *(const vec<float, VEC> *)(da + i);
        vec<float, VEC> dzs = *(const vec<float, VEC> *)(dz + i);
        bool first = is_first(pos, token, T);
        in dcs, dxs, dps;
        for (int j = 0; j < VEC; j++) {
            gate g = gate_of((float)xs.at[j], (float)as.at[j], rate[j]);
            sum[j] += slopes_of<E>(
                &dcs.at[j], &dxs.at[j], &dps.at[j], das.at[j], dzs.at[j], (float)cs.at[j],
                g, rate[j], first);
        }
        *(in *)(dc + i) = dcs, *(in *)(dpx + i) = dxs, *(in *)(dpa + i) = dps;
    }
    float *mine = partial + own.first / walk * C + own.column * VEC;
    for (int j = 0; j < VEC; j++)
        mine[j] = logistic((float)a_param[own.column * VEC + j]) * sum[j];
}

constexpr size_t LEAST = 16;      // tokens of a thread, at least, in the backward pass
constexpr size_t MOST = 2 << 20;  // partial sums in all: what keeps a card busy
constexpr size_t FEW = 64;        // parts, also where a row has more channels than that

static unsigned blocks_for(size_t tokens, int columns, int walk)
{
    return (unsigned)(((tokens + walk - 1) / walk * columns + BLOCK - 1) / BLOCK);
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
    constexpr int N = 4, WALK = 8;  // N: what is 16 bytes of a and z
    size_t tokens = (size_t)B * T;
    if (C % N == 0 && aligned(16, a, z) && aligned(N * sizeof(E), c, px, pa))
        gates_forward<E, N><<<blocks_for(tokens, C / N, WALK), BLOCK, 0, stream>>>(
            a, z, c, px, pa, a_param, pos, B, T, C, WALK);
    else
        gates_forward<E, 1><<<blocks_for(tokens, C, WALK), BLOCK, 0, stream>>>(
            a, z, c, px, pa, a_param, pos, B, T, C, WALK);
    return wb_launched();
    // END SOLUTION
}

/* Bytes of scratch of the backward pass. */
template <typename E> static size_t gates_space(int B, int T, int C)
{
    // BEGIN SOLUTION 06.3 (1 line)
    //> // TODO(06.3): 0 is right as long as one thread sums a channel alone.
    //> return 0;
    if (B < 1 || T < 1 || C < 1) return 0;
    return parts_space((size_t)B * T, C, LEAST, MOST, FEW);
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
    constexpr int N = 4;
    size_t tokens = (size_t)B * T;
    int P = parts_for(tokens, C, LEAST, MOST, FEW);
    int walk = (int)((tokens + P - 1) / P);
    if (C % N == 0 && aligned(16, da, dz) &&
        aligned(N * sizeof(E), dc, dpx, dpa, c, px, pa))
        gates_backward<E, N><<<blocks_for(tokens, C / N, walk), BLOCK, 0, stream>>>(
            dc, dpx, dpa, partial, da, dz, c, px, pa, a_param, pos, B, T, C, walk);
    else
        gates_backward<E, 1><<<blocks_for(tokens, C, walk), BLOCK, 0, stream>>>(
            dc, dpx, dpa, partial, da, dz, c, px, pa, a_param, pos, B, T, C, walk);
    P = (int)((tokens + walk - 1) / walk);
    launch_add({{da_param}, {(size_t)C}}, partial, P, stream);
    return wb_launched();
    // END SOLUTION
}

DEFINE_GATES(float, f32)
DEFINE_GATES(wb_f16, f16)
DEFINE_GATES(wb_bf16, bf16)
