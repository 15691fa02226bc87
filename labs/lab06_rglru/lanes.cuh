/* lanes.cuh - given: V neighbouring elements that a lane moves as one access of 4 or 8 bytes.
 *
 * They stay in the 32-bit words they came in until they are used: a compiler that sees
 * 16-bit elements gives each a register of its own.
 */
#ifndef LANES_CUH
#define LANES_CUH
#include "wb.h"

template <int WORDS> struct alignas(WORDS * 4) words {
    unsigned at[WORDS];
};
template <> struct words<0> {  // a single 16-bit element
    unsigned short at;
};

template <typename E, int V> struct lanes {
    words<V * sizeof(E) / 4> bits;
};

/* Elements from a step to the one `steps` later, where rows are ld apart. NEAR: an int holds
 * them, so that the address takes one instruction, not two. */
template <bool NEAR> static __device__ __forceinline__ size_t rows_on(int steps, int ld)
{
    return NEAR ? (size_t)(ptrdiff_t)(steps * ld) : (size_t)steps * ld;
}
constexpr int NEAR_LD = 1 << 26;

template <typename E, int V>
static __device__ __forceinline__ lanes<E, V> load(const E *p)
{
    return *(const lanes<E, V> *)p;
}

/* both elements of a word */
static __device__ __forceinline__ float2 pair_of(unsigned w, const wb_bf16 *)
{
    return make_float2(__uint_as_float(w << 16), __uint_as_float(w & 0xffff0000u));
}
static __device__ __forceinline__ float2 pair_of(unsigned w, const wb_f16 *)
{
    return __half22float2(*(const __half2 *)&w);
}

template <int V>
static __device__ __forceinline__ void widen(float f[V], const lanes<float, V> &x)
{
#pragma unroll
    for (int v = 0; v < V; v++)
        f[v] = __uint_as_float(x.bits.at[v]);
}

template <int V, typename E>
static __device__ __forceinline__ void widen(float f[V], const lanes<E, V> &x)
{
#pragma unroll
    for (int i = 0; i < V / 2; i++) {
        float2 two = pair_of(x.bits.at[i], (const E *)NULL);
        f[2 * i] = two.x, f[2 * i + 1] = two.y;
    }
}
template <>
__device__ __forceinline__ void widen<1>(float f[1], const lanes<wb_bf16, 1> &x)
{
    f[0] = pair_of(x.bits.at, (const wb_bf16 *)NULL).x;
}
template <>
__device__ __forceinline__ void widen<1>(float f[1], const lanes<wb_f16, 1> &x)
{
    f[0] = pair_of(x.bits.at, (const wb_f16 *)NULL).x;
}

template <typename E, int V> struct alignas(V * sizeof(E)) pack {
    E at[V];
};

/* stores V floats, rounded to E */
template <int V, typename E>
static __device__ __forceinline__ void store(E *p, const float f[V])
{
    pack<E, V> x;
#pragma unroll
    for (int v = 0; v < V; v++)
        x.at[v] = (E)f[v];
    *(pack<E, V> *)p = x;
}
#endif
