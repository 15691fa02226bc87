/* lanes.h - neighbouring elements as floats in one vector register of the CPU: 16 with
 * AVX-512, 8 with AVX, 4 otherwise. Larger vectors than the CPU has would be kept in memory.
 * For code of the CPU back end alone; kernels that also run on a GPU leave this to the
 * compiler.
 *
 *     wbcpu::lanes sum = {};                        // LANES zeros
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
#if defined(__AVX512F__)
enum { LANES = 16 };
#elif defined(__AVX__)
enum { LANES = 8 };
#else
enum { LANES = 4 };
#endif
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
    for (int i = 0; i < LANES; i += 8) {
        __m256 eight =
            _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(p + i)));
        memcpy((float *)&x + i, &eight, sizeof eight);
    }
#else
    for (int i = 0; i < LANES; i++)
        x[i] = (float)p[i];
#endif
    return x;
}

/* 2 LANES neighbouring elements, in the order that costs least, which depends only on the
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
    float a[LANES];
    memcpy(a, &x, sizeof a);
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            a[i] += a[i + half];
    return a[0];
}
}  // namespace wbcpu

#endif
