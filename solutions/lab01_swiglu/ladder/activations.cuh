/* activations.cuh - both activations and their derivatives from one exponential, for the
 * rungs from 02_rows.cu on. Both are z s(g(z)) with the logistic sigmoid s, since
 * 1 + tanh(u) = 2 s(2u). */
typedef enum activation { SILU, GELU_TANH } activation;

/* Cannot overflow: the exponent is never positive. */
static __device__ __forceinline__ float sigmoid(float z)
{
    float e = expf(-fabsf(z));
    return __fdividef(z < 0.0f ? e : 1.0f, 1.0f + e);
}

/* g(z). Beyond +-16 GELU's s(g(z)) is 0 or 1, and z^3 must not become inf. */
template <activation A> static __device__ __forceinline__ float inner(float z)
{
    if (A == SILU) return z;
    z = fminf(fmaxf(z, -16.0f), 16.0f);
    return 1.5957691216057308f * z * (1.0f + 0.044715f * z * z);
}

/* z g'(z) */
template <activation A> static __device__ __forceinline__ float inner_slope(float z)
{
    if (A == SILU) return z;
    z = fminf(fmaxf(z, -16.0f), 16.0f);
    return 1.5957691216057308f * z * (1.0f + 3.0f * 0.044715f * z * z);
}

template <activation A, typename E>
static __device__ __forceinline__ E gated(E gate, E up)
{
    float z = (float)gate;
    return E(z * sigmoid(inner<A>(z)) * (float)up);
}

/* Replaces (gate, up) by (dgate, dup). */
template <activation A, typename E>
static __device__ __forceinline__ void gradients(E &gate, E &up, E dout)
{
    float z = (float)gate, dy = (float)dout, s = sigmoid(inner<A>(z));
    float slope = s * (1.0f + inner_slope<A>(z) * (1.0f - s));
    gate = E(0.5f * dy * slope * (float)up * 2.0f);  // slope may be 1.13, dy large
    up = E(z * s * dy);  // z dy alone may overflow
}
