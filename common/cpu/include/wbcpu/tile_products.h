/* tile_products.h - the arithmetic of mma: small matrices in vector registers. */
#ifndef WBCPU_TILE_PRODUCTS_H
#define WBCPU_TILE_PRODUCTS_H

#include "../cuda_bf16.h"
#include "../cuda_fp16.h"

namespace wbcpu
{
/* C += A B, each sum in the order of k. N is a multiple of 8, or of 4 for double. */
template <int M, int N, int K, class T>
inline void multiply_tiles(T (*c)[N], const T (*a)[K], const T (*b)[N])
{
    typedef T vector __attribute__((vector_size(32)));
    constexpr int WIDTH = 32 / (int)sizeof(T), VECTORS = N / WIDTH;
    constexpr int ROWS = VECTORS == 1 ? 8 : VECTORS == 2 ? 4 : 2; /* sums in registers */
    static_assert(N % WIDTH == 0 && M % ROWS == 0, "");
    for (int m = 0; m < M; m += ROWS) {
        vector sums[ROWS][VECTORS];
        __builtin_memcpy(sums, c[m], sizeof sums);
        for (int k = 0; k < K; k++) {
            vector row[VECTORS];
            __builtin_memcpy(row, b[k], sizeof row);
#pragma GCC unroll 8
            for (int r = 0; r < ROWS; r++)
#pragma GCC unroll 4
                for (int v = 0; v < VECTORS; v++)
                    sums[r][v] += a[m + r][k] * row[v];
        }
        __builtin_memcpy(c[m], sums, sizeof sums);
    }
}

/* The half at p[i] as out[i], for i < N */
template <int N> inline void widen_halves(float *out, const uint16_t *p)
{
    int i = 0;
#if defined(__F16C__) && defined(__AVX__)
    typedef short eight_shorts __attribute__((vector_size(16)));
    for (; i + 8 <= N; i += 8) {
        eight_shorts eight;
        __builtin_memcpy(&eight, p + i, sizeof eight);
        auto wide = __builtin_ia32_vcvtph2ps256(eight);
        __builtin_memcpy(out + i, &wide, sizeof wide);
    }
#endif
    for (; i < N; i++)
        out[i] = half_to_float_soft(p[i]);
}

/* The type in which elements of T are multiplied */
template <class T>
using product_type = std::conditional_t<
    std::is_same_v<T, double>, double, std::conditional_t<sizeof(T) == 1, int, float>>;

/* Converts elements to that type, and back. */
template <int N, class Wide, class T> inline void widen(Wide *out, const T *p)
{
    if constexpr (std::is_same_v<T, __half>)
        widen_halves<N>(out, (const uint16_t *)p);
    else
        for (int i = 0; i < N; i++)
            out[i] = p[i];
}
template <int N, class T, class Wide> inline void narrow(T *out, const Wide *p)
{
    for (int i = 0; i < N; i++)
        if constexpr (std::is_same_v<T, __half>)
            out[i].__x = float_to_half_soft(p[i]);
        else
            out[i] = T(p[i]);
}
}  // namespace wbcpu
#endif
