/* wmma_layout.h - which elements of a matrix a lane holds, for mma.h. */
#ifndef WBCPU_WMMA_LAYOUT_H
#define WBCPU_WMMA_LAYOUT_H

#include "../cuda_bf16.h"
#include "../cuda_fp16.h"
#include "../cuda_runtime.h"

namespace nvcuda
{
namespace wmma
{

namespace precision
{
struct tf32 {
};
}  // namespace precision
/* Rounds to 10 bits of mantissa, halves away from zero. */
inline float __float_to_tf32(float x)
{
    unsigned bits = __float_as_uint(x);
    return (bits & 0x7f800000u) == 0x7f800000u
               ? x
               : __uint_as_float((bits + 0x1000u) & ~0x1fffu);
}

namespace wbcpu_layout
{
template <class T> struct element {
    typedef T type;
};
template <> struct element<precision::tf32> {
    typedef float type;
};
template <class T, class... Types> constexpr bool one_of()
{
    return (std::is_same<T, Types>::value || ...);
}
template <bool SUM, int M, int N, int K, class T> constexpr bool is_supported()
{
    if (M == 16 && N == 16 && K == 8)
        return SUM ? one_of<T, float>() : one_of<T, precision::tf32>();
    if (M == 8 && N == 8 && K == 4) return one_of<T, double>();
    bool shape = K == 16 && M * N == 256 && (M == 8 || M == 16 || M == 32);
    return shape && (SUM ? one_of<T, __half, float, int>()
                         : one_of<T, __half, __nv_bfloat16, signed char, unsigned char>());
}

/* Element i of a lane, of a matrix of R rows and C columns */
template <int R, int C> inline int row(int lane, int i)
{
    return R == 4 ? lane % 4 : lane / 4 + (R == 8 ? 0 : i / 2 % ((R + 7) / 8) * 8);
}
template <int R, int C> inline int column(int lane, int i)
{
    if (R == 4 || C == 4) return C == 4 ? lane % 4 : lane / 4;
    return lane % 4 * 2 + i % 2 + i / 2 / ((R + 7) / 8) * 8;
}
template <int R, int C> inline size_t place(int lane, int i, unsigned ld, bool by_rows)
{
    int r = row<R, C>(lane, i), c = column<R, C>(lane, i);
    return by_rows ? (size_t)r * ld + c : (size_t)c * ld + r;
}

inline void nothing(uint64_t *, unsigned) {}
WBCPU_INLINE void synchronize()
{
    wbcpu_run_together(~0u, nullptr, nothing);
}

/* The elements of the running lane */
template <int R, int C, class T>
WBCPU_UNCHECKED void load(T *x, const T *p, unsigned ld, bool by_rows)
{
    int lane = wbcpu_lane();
    for (int i = 0; i < R * C / 32; i++)
        x[i] = p[place<R, C>(lane, i, ld, by_rows)];
}
template <int R, int C, class T>
WBCPU_UNCHECKED void store(T *p, const T *x, unsigned ld, bool by_rows)
{
    int lane = wbcpu_lane();
    for (int i = 0; i < R * C / 32; i++)
        p[place<R, C>(lane, i, ld, by_rows)] = x[i];
}
}  // namespace wbcpu_layout
}  // namespace wmma
}  // namespace nvcuda
#endif
