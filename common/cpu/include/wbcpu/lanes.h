/* lanes.h - 16 neighbouring elements as floats in vector registers of the CPU: one of
 * AVX-512, two of AVX, four of SSE or NEON. For code of the CPU back end alone; kernels that
 * also run on a GPU leave this to the compiler.
 *
 *     wbcpu::lanes sum = {};                        // 16 zeros
 *     sum += wbcpu::load_lanes(x) * wbcpu::load_lanes(w);
 *     sum[3]                                        // one of them
 */
#ifndef WBCPU_LANES_H
#define WBCPU_LANES_H
#include "../cuda_bf16.h"
#include "../cuda_fp16.h"

#include <string.h>
#ifdef __F16C__
#include <immintrin.h>
#endif

namespace wbcpu
{
enum { LANES = 16 };
typedef float lanes __attribute__((vector_size(4 * LANES)));

/* No alignment is needed. */
static inline lanes load_lanes(const float *p)
{
    lanes x;
    memcpy(&x, p, sizeof x);
    return x;
}
/* A bfloat16 is the upper half of a float. */
static inline lanes load_lanes(const __nv_bfloat16 *p)
{
    typedef uint16_t halves __attribute__((vector_size(2 * LANES)));
    typedef uint32_t words __attribute__((vector_size(4 * LANES)));
    halves h;
    memcpy(&h, p, sizeof h);
    return (lanes)(__builtin_convertvector(h, words) << 16);
}
static inline lanes load_lanes(const __half *p)
{
    lanes x;
#ifdef __F16C__
    for (int half = 0; half < 2; half++) {
        __m256 eight = _mm256_cvtph_ps(
            _mm_loadu_si128((const __m128i *)(const void *)(p + 8 * half)));
        memcpy((float *)&x + 8 * half, &eight, sizeof eight);
    }
#else
    for (int i = 0; i < LANES; i++)
        x[i] = (float)p[i];
#endif
    return x;
}

/* 32 neighbouring elements, in the order that costs least, which depends only on the
 * type: bfloat16s of even and of odd indices, because the odd ones are the upper halves of
 * 32-bit words. For sums over all elements. */
struct lane_pair {
    lanes v[2];
};
template <typename E> static inline lane_pair load_pair(const E *p)
{
    return {{load_lanes(p), load_lanes(p + LANES)}};
}
static inline lane_pair load_pair(const __nv_bfloat16 *p)
{
    typedef uint32_t words __attribute__((vector_size(4 * LANES)));
    words two;
    memcpy(&two, p, sizeof two);
    return {{(lanes)(two << 16), (lanes)(two & 0xffff0000u)}};
}
/* The first n elements, then zeros. */
template <typename E> static inline lane_pair load_pair(const E *p, int n)
{
    E x[2 * LANES];
    memset((void *)x, 0, sizeof x);
    memcpy((void *)x, (const void *)p, (size_t)n * sizeof(E));
    return load_pair(x);
}

/* In a fixed order: halves are added until one lane is left. */
static inline float sum_of(const lanes &x)
{
    typedef float eight __attribute__((vector_size(4 * LANES / 2)));
    typedef float four __attribute__((vector_size(4 * LANES / 4)));
    eight a[2];
    memcpy(a, &x, sizeof a);
    a[0] += a[1];
    four b[2];
    memcpy(b, a, sizeof b);
    b[0] += b[1];
    return (b[0][0] + b[0][2]) + (b[0][1] + b[0][3]);
}
}  // namespace wbcpu

#endif
