/* 01_naive.cu - one thread per element, with the header's formulas.
 *
 * Lesson: one thread per element, computing in float, is already correct for every shape
 * and type. Neighbouring threads access neighbouring elements, so even this is not slow.
 * The costs are the division that turns an index into row and column, and accesses of
 * only 2 or 4 bytes.
 */
// fails: vectors,back_vectors,geglu_vectors,geglu_back_vec
#include "swiglu.h"

typedef enum activation { SILU, GELU_TANH } activation;

constexpr int THREADS = 256;
constexpr float K = 0.7978845608028654f;  // sqrt(2/pi)
constexpr float CUBE = 0.044715f;

static __device__ float sigmoid(float z)
{
    return 1.0f / (1.0f + expf(-z));  // exp(-z) may be inf: 1 / inf is 0
}

template <activation A> static __device__ float act(float z)
{
    if (A == SILU) return z * sigmoid(z);
    return 0.5f * z * (1.0f + tanhf(K * (z + CUBE * z * z * z)));
}

template <activation A> static __device__ float act_slope(float z)
{
    if (A == SILU) {
        float s = sigmoid(z);
        return s * (1.0f + z * (1.0f - s));
    }
    z = fminf(fmaxf(z, -16.0f), 16.0f);  // beyond, 1 - h*h is 0: avoid 0 * inf
    float h = tanhf(K * (z + CUBE * z * z * z));
    return 0.5f * (1.0f + h) +
           0.5f * z * (1.0f - h * h) * K * (1.0f + 3.0f * CUBE * z * z);
}

template <activation A, typename E>
static __global__ void
forward_kernel(E *out, const E *gate, const E *up, size_t n, int F, int ld)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;  // [0, R*F)
    if (i >= n) return;
    size_t at = i / F * ld + i % F;
    out[i] = E(act<A>((float)gate[at]) * (float)up[at]);
}

/* dgate may be gate and dup may be up: read everything before writing. */
template <activation A, typename E>
static __global__ void backward_kernel(
    E *dgate, E *dup, const E *dout, const E *gate, const E *up, size_t n, int F, int ld)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;  // [0, R*F)
    if (i >= n) return;
    size_t at = i / F * ld + i % F;
    float z = (float)gate[at], u = (float)up[at], dy = (float)dout[i];
    dgate[at] = E(0.5f * dy * act_slope<A>(z) * u * 2.0f);  // act_slope may be 1.13
    dup[at] = E(dy * act<A>(z));
}

template <activation A, typename E>
static void
forward(E *out, const E *gate, const E *up, int R, int F, int ld, cudaStream_t stream)
{
    size_t n = (size_t)R * F;
    forward_kernel<A><<<(unsigned)((n + THREADS - 1) / THREADS), THREADS, 0, stream>>>(
        out, gate, up, n, F, ld);
}

template <activation A, typename E>
static void backward(
    E *dgate, E *dup, const E *dout, const E *gate, const E *up, int R, int F, int ld,
    cudaStream_t stream)
{
    size_t n = (size_t)R * F;
    backward_kernel<A><<<(unsigned)((n + THREADS - 1) / THREADS), THREADS, 0, stream>>>(
        dgate, dup, dout, gate, up, n, F, ld);
}

#include "contract.h"
