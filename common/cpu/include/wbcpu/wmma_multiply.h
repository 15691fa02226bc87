/* wmma_multiply.h - mma_sync of mma.h: the last lane multiplies the fragments of all 32. */
#ifndef WBCPU_WMMA_MULTIPLY_H
#define WBCPU_WMMA_MULTIPLY_H

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "tile_products.h"
#include "wmma_layout.h"

namespace nvcuda
{
namespace wmma
{
namespace wbcpu_wmma
{

struct lane_fragments {
    const void *a, *b, *c;
    void *d;
    bool saturate;
};

/* copy(element of the matrix, element of the lane, how many adjacent ones) for all elements */
template <int R, int C, class T, class Pointer, class Copy>
inline void each_element(
    T (*m)[C], lane_fragments *const *lanes, Pointer lane_fragments::*which, Copy copy)
{
    constexpr int together = R % 8 || C % 8 ? 1 : 2;
    for (int lane = 0; lane < 32; lane++) {
        auto own = (const T *)(lanes[lane]->*which);
        for (int i = 0; i < R * C / 32; i += together)
            copy(
                &m[wbcpu_layout::row<R, C>(lane, i)][wbcpu_layout::column<R, C>(lane, i)],
                own + i, together * sizeof(T));
    }
}
template <int R, int C, class T>
inline void
collect(T (*m)[C], lane_fragments *const *lanes, const void *lane_fragments::*which)
{
    each_element<R>(m, lanes, which, [](T *element, const T *own, size_t bytes) {
        __builtin_memcpy((void *)element, (const void *)own, bytes);
    });
}
template <int R, int C, class T>
inline void distribute(T (*m)[C], lane_fragments *const *lanes)
{
    auto copy = [](T *element, const T *own, size_t bytes) {
        __builtin_memcpy((void *)const_cast<T *>(own), (const void *)element, bytes);
    };
    each_element<R>(m, lanes, &lane_fragments::d, copy);
}

/* A sum of integers may overflow. */
inline int sum_of(int c, int products, bool saturate)
{
    long long sum = (long long)c + products;
    if (saturate) sum = sum > INT_MAX ? INT_MAX : sum < INT_MIN ? INT_MIN : sum;
    return (int)sum;
}

template <int M, int N, int K, class Factor, class C, class D>
WBCPU_UNCHECKED void multiply(uint64_t value[32], unsigned present)
{
    if (present != 0xffffffffu) {
        fprintf(
            stderr,
            "error: mma_sync in block (%u,%u,%u): all 32 lanes must take part, "
            "but the mask is %08x\n",
            blockIdx.x, blockIdx.y, blockIdx.z, present);
        abort();
    }
    lane_fragments *lanes[32];
    memcpy(lanes, value, sizeof lanes);
    typedef wbcpu::product_type<Factor> Wide;
    alignas(64) Factor raw_a[M][K], raw_b[K][N];
    alignas(64) C raw_c[M][N];
    alignas(64) D raw_d[M][N];
    alignas(64) Wide a[M][K], b[K][N], sums[M][N];
    collect<M>(raw_a, lanes, &lane_fragments::a);
    collect<K>(raw_b, lanes, &lane_fragments::b);
    collect<M>(raw_c, lanes, &lane_fragments::c);
    for (int m = 0; m < M; m++)
        wbcpu::widen<K>(a[m], raw_a[m]);
    for (int k = 0; k < K; k++)
        wbcpu::widen<N>(b[k], raw_b[k]);
    wbcpu_tensor_multiplies(M * N * K);
    if constexpr (std::is_same<Wide, int>::value)
        memset(sums, 0, sizeof sums);
    else
        for (int m = 0; m < M; m++)
            wbcpu::widen<N>(sums[m], raw_c[m]);
    wbcpu::multiply_tiles<M, N, K>(sums, a, b);
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++)
            if constexpr (std::is_same<Wide, int>::value)
                raw_d[m][n] = sum_of(raw_c[m][n], sums[m][n], lanes[0]->saturate);
            else
                raw_d[m][n] = D(sums[m][n]);
    distribute<M>(raw_d, lanes);
}

}  // namespace wbcpu_wmma
}  // namespace wmma
}  // namespace nvcuda
#endif
