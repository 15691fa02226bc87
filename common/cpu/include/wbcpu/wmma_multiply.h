/* wmma_multiply.h - mma_sync of mma.h: the last lane multiplies the fragments of all 32. */
#ifndef WBCPU_WMMA_MULTIPLY_H
#define WBCPU_WMMA_MULTIPLY_H

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "wmma_layout.h"

namespace nvcuda
{
namespace wmma
{
namespace wbcpu_wmma
{

/* What products are computed in */
inline float wide(__half x)
{
    return wbcpu::half_to_float_soft(x.__x);  // a loop of these vectorizes
}
inline float wide(__nv_bfloat16 x)
{
    return x;
}
inline float wide(float x)
{
    return x;
}
inline double wide(double x)
{
    return x;
}
inline int wide(signed char x)
{
    return x;
}
inline int wide(unsigned char x)
{
    return x;
}
inline long long wide(int x) /* a sum: it may overflow */
{
    return x;
}

struct lane_fragments {
    const void *a, *b, *c;
    void *d;
    bool saturate;
};

template <int R, int C, class T, class Wide>
inline void collect(
    Wide (*out)[C], lane_fragments *const *lanes, const void *lane_fragments::*which)
{
    T raw[R][C];
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < R * C / 32; i++)
            raw[wbcpu_layout::row<R, C>(lane, i)][wbcpu_layout::column<R, C>(lane, i)] =
                ((const T *)(lanes[lane]->*which))[i];
    for (int r = 0; r < R; r++)
        for (int c = 0; c < C; c++)
            out[r][c] = wide(raw[r][c]);
}

template <class D, class Sum> inline D finish(Sum sum, bool)
{
    return D(sum);
}
template <> inline int finish<int>(long long sum, bool saturate)
{
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
    alignas(64) decltype(wide(Factor())) a[M][K], b[K][N];
    alignas(64) decltype(wide(C())) c[M][N];
    collect<M, K, Factor>(a, lanes, &lane_fragments::a);
    collect<K, N, Factor>(b, lanes, &lane_fragments::b);
    collect<M, N, C>(c, lanes, &lane_fragments::c);
    wbcpu_tensor_multiplies(M * N * K);
    for (int row = 0; row < M; row++)
        for (int k = 0; k < K; k++)
            for (int column = 0; column < N; column++)
                c[row][column] += a[row][k] * b[k][column];
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < M * N / 32; i++)
            ((D *)lanes[lane]->d)[i] = finish<D>(
                c[wbcpu_layout::row<M, N>(lane, i)][wbcpu_layout::column<M, N>(lane, i)],
                lanes[lane]->saturate);
}

}  // namespace wbcpu_wmma
}  // namespace wmma
}  // namespace nvcuda
#endif
