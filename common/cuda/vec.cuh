/* vec.cuh - N neighbouring elements that move as one access.
 *
 *     vec<E, N> x = load_vec<N>(p);       // one access of N * sizeof(E) <= 16 bytes
 *     x[2] = (E)1.0f;
 *     store_vec(p, x);
 *
 * The address must be a multiple of the access: is_aligned checks pointers on the host.
 */
#ifndef CUDA_VEC_CUH
#define CUDA_VEC_CUH
#include "wb.h"

template <typename E, int N> struct alignas(N * sizeof(E)) vec {
    E element[N];
    __host__ __device__ __forceinline__ E &operator[](int i)
    {
        return element[i];
    }
    __host__ __device__ __forceinline__ const E &operator[](int i) const
    {
        return element[i];
    }
};

/* Elements in 16 bytes, the widest access of a thread */
template <typename E> constexpr int VEC16 = 16 / (int)sizeof(E);

/* Bytes per access where a lane computes much for each element. With 4, a warp accesses
 * 128 contiguous bytes and a thread needs few registers. On the CPU back end a lane takes
 * as many elements as the compiler can compute together, except in check mode, which
 * counts the accesses of a GPU. */
#ifdef __CUDACPU__
constexpr int BYTES_PER_LANE = WBCPU_BYTES_PER_LANE;
#else
constexpr int BYTES_PER_LANE = 4;
#endif

template <int N, typename E>
static __device__ __forceinline__ vec<E, N> load_vec(const E *p)
{
    return *reinterpret_cast<const vec<E, N> *>(p);
}
template <int N, typename E>
static __device__ __forceinline__ void store_vec(E *p, const vec<E, N> &x)
{
    *reinterpret_cast<vec<E, N> *>(p) = x;
}

/* Vector i of p, elements iN to iN + N - 1. In a loop this form needs fewer instructions
 * for its addresses than load_vec<N>(p + i * N). */
template <int N, typename E, typename I>
static __device__ __forceinline__ vec<E, N> load_vec(const E *p, I i)
{
    return reinterpret_cast<const vec<E, N> *>(p)[i];
}
template <int N, typename E, typename I>
static __device__ __forceinline__ void store_vec(E *p, I i, const vec<E, N> &x)
{
    reinterpret_cast<vec<E, N> *>(p)[i] = x;
}

/* Whether every pointer is a multiple of `bytes`. NULL is. */
template <typename... P> static inline bool is_aligned(size_t bytes, const P *...p)
{
    uintptr_t all = 0;
    for (uintptr_t one : {(uintptr_t)p...})
        all |= one;
    return all % bytes == 0;
}

/* --- to float and back -------------------------------------------------------------- */

/* f[i] = x[i] */
template <typename E, int N>
static __device__ __forceinline__ void to_float(float (&f)[N], const vec<E, N> &x)
{
#pragma unroll
    for (int i = 0; i < N; i++)
        f[i] = (float)x[i];
}

/* p[0..N) = f[0..N), each rounded to E, as one access */
template <int N, typename E>
static __device__ __forceinline__ void store_float(E *p, const float *f)
{
    vec<E, N> x;
#pragma unroll
    for (int i = 0; i < N; i++)
        x[i] = (E)f[i];
    store_vec(p, x);
}

/* --- two 16-bit elements in a 32-bit register --------------------------------------- */

/* Rounds both; lo goes to the lower half, the lower address. */
template <typename E>
static __device__ __forceinline__ unsigned pack2(float lo, float hi);
template <> __device__ __forceinline__ unsigned pack2<wb_f16>(float lo, float hi)
{
    __half2 both = __floats2half2_rn(lo, hi);
    return *(unsigned *)&both;
}
template <> __device__ __forceinline__ unsigned pack2<wb_bf16>(float lo, float hi)
{
    __nv_bfloat162 both = __floats2bfloat162_rn(lo, hi);
    return *(unsigned *)&both;
}

template <typename E> static __device__ __forceinline__ float2 unpack2(unsigned word);
template <> __device__ __forceinline__ float2 unpack2<wb_f16>(unsigned word)
{
    return __half22float2(*(const __half2 *)&word);
}
template <> __device__ __forceinline__ float2 unpack2<wb_bf16>(unsigned word)
{
    return make_float2(__uint_as_float(word << 16), __uint_as_float(word & 0xffff0000u));
}

/* --- loaded early, used late -------------------------------------------------------- */

/* N elements still in the 32-bit words that the load returned. Data that waits in
 * registers belongs in raw: of a vec<wb_bf16, N> the compiler gives each element a whole
 * register. */
template <typename E, int N, int WORDS = N * (int)sizeof(E) / 4> struct raw_vec {
    typedef vec<unsigned, WORDS> type;
};
template <typename E, int N> struct raw_vec<E, N, 0> {  // one 16-bit element
    typedef vec<unsigned short, 1> type;
};
template <typename E, int N> using raw = typename raw_vec<E, N>::type;

template <typename E, int N>
static __device__ __forceinline__ raw<E, N> load_raw(const E *p)
{
    return *reinterpret_cast<const raw<E, N> *>(p);
}
template <typename E, int N, typename I>
static __device__ __forceinline__ raw<E, N> load_raw(const E *p, I i)  // vector i of p
{
    return reinterpret_cast<const raw<E, N> *>(p)[i];
}
template <typename E, int N, typename I>
static __device__ __forceinline__ void store_raw(E *p, I i, const raw<E, N> &x)
{
    reinterpret_cast<raw<E, N> *>(p)[i] = x;
}

/* f[0..N) = x */
template <typename E, int N> struct raw_to_float {
    static __device__ __forceinline__ void run(float *f, const raw<E, N> &x)
    {
#pragma unroll
        for (int i = 0; i < N / 2; i++) {
            float2 two = unpack2<E>(x[i]);
            f[2 * i] = two.x, f[2 * i + 1] = two.y;
        }
    }
};
template <typename E> struct raw_to_float<E, 1> {
    static __device__ __forceinline__ void run(float *f, const raw<E, 1> &x)
    {
        f[0] = unpack2<E>(x[0]).x;
    }
};
template <int N> struct raw_to_float<float, N> {
    static __device__ __forceinline__ void run(float *f, const raw<float, N> &x)
    {
#pragma unroll
        for (int i = 0; i < N; i++)
            f[i] = __uint_as_float(x[i]);
    }
};
template <> struct raw_to_float<float, 1> {
    static __device__ __forceinline__ void run(float *f, const raw<float, 1> &x)
    {
        f[0] = __uint_as_float(x[0]);
    }
};
template <typename E, int N>
static __device__ __forceinline__ void to_float(float *f, const raw<E, N> &x)
{
    raw_to_float<E, N>::run(f, x);
}

/* The inverse: f[0..N), each rounded to E */
template <typename E, int N>
static __device__ __forceinline__ raw<E, N> to_raw(const float *f)
{
    raw<E, N> x;
    if constexpr (N * sizeof(E) == 2) {
        E only = E(f[0]);
        x[0] = *(unsigned short *)&only;
    } else {
#pragma unroll
        for (int i = 0; i < N * (int)sizeof(E) / 4; i++) {
            if constexpr (sizeof(E) == 4)
                x[i] = __float_as_uint(f[i]);
            else
                x[i] = pack2<E>(f[2 * i], f[2 * i + 1]);
        }
    }
    return x;
}

#endif
