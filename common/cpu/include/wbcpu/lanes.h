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

/* The first n elements, then zeros. */
template <typename E> static inline lanes load_lanes(const E *p, int n)
{
    lanes x = {};
    for (int i = 0; i < n; i++)
        x[i] = (float)p[i];
    return x;
}

/* From the first to the last */
static inline float sum_of(const lanes &x)
{
    float sum = 0.0f;
    for (int i = 0; i < LANES; i++)
        sum += x[i];
    return sum;
}
}  // namespace wbcpu

#endif
