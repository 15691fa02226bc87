/* rglru_slopes.cuh - part 06.5: code of yours for rglru_backward.cu, if you
 * like. The solution has what its kernels share here.
 */
#ifndef RGLRU_SLOPES_CUH
#define RGLRU_SLOPES_CUH

// BEGIN SOLUTION 06.5 (nothing in a first version)
//> /* TODO(06.5): nothing, if rglru_backward.cu has it all. */
#include "cuda/vec.cuh"
#include "rglru_tile.cuh"

constexpr int WARPS_PER_BLOCK = 8;

/* One step of V channels: dc = dz to_c and so on; da_param is the sum of dz to_param. */
template <int V> struct slopes {
    float a[V], dh[V], to_c[V], to_px[V], to_pa[V], to_param[V];
};

/* a, where no document starts */
static __device__ __forceinline__ float decay(float ga, float plus)
{
    return fast_exp2(LOG2_E * plus * (-8.0f * ga));
}

/* The factors of dz for channel v. plus = softplus(a_param); before = h[t-1]; ga =
 * sigmoid(pa); a: 0 at the start of a document, where a and m are constants, 0 and 1 */
template <int V>
static __device__ __forceinline__ void gate_slopes(
    slopes<V> &d, int v, float dh, float c, float px, float ga, float a, float before,
    float plus, bool first)
{
    float gx = sigmoid(px), scale = -8.0f * ga;
    float q = one_minus_square(LOG2_E * plus * scale, a);
    float inverse = fast_rsqrt(fmaxf(q, 1e-37f));    // 1 / m
    float bounded = fminf(0.5f * inverse, 1000.0f);  // the slope of the root
    float to_c = (first ? 1.0f : q * inverse) * gx;
    float to_param = scale * a * (before - 2.0f * a * gx * c * bounded);
    d.a[v] = a;
    d.dh[v] = dh;
    d.to_c[v] = to_c;
    d.to_px[v] = to_c * c * (1.0f - gx);
    d.to_param[v] = to_param;
    d.to_pa[v] = to_param * plus * (1.0f - ga);
}

/* dh = dout gelu(y), in place of dout; stores dy = dout h gelu'(y). */
template <typename E, int V>
static __device__ __forceinline__ void
side_slopes(E *dy, float dh[V], const raw<E, V> &y, const float h[V])
{
    float ys[V], slope[V];
    to_float<E, V>(ys, y);
#pragma unroll
    for (int v = 0; v < V; v++) {
        float s = gelu_sigmoid(ys[v]);
        slope[v] = dh[v] * h[v] * (s + ys[v] * s * (1.0f - s) * gelu_inner_slope(ys[v]));
        dh[v] *= ys[v] * s;
    }
    store_float<V>(dy, slope);
}
// END SOLUTION
#endif
