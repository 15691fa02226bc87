/* mma.h - nvcuda::wmma: one warp multiplies two 16x16 matrices, D = A B + C.
 *
 * As on a GPU, every lane holds its own elements of each fragment, so code that works on
 * frag.x[i] behaves the same. Element i = 0..7 of a lane is at row(lane, i), column(lane,
 * i), the layout of the mma instruction's accumulator. Programs must not rely on the
 * layout (the CUDA guide leaves it unspecified). a and b store each element twice, 16 per
 * lane. Sums are accumulated in float in the order of k.
 */
#ifndef WBCPU_MMA_H
#define WBCPU_MMA_H

#include <stdio.h>

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "cuda_runtime.h"
#include "wbcpu/checked.h"

namespace nvcuda
{
namespace wmma
{

struct row_major {
};
struct col_major {
};
struct matrix_a {
};
struct matrix_b {
};
struct accumulator {
};
enum layout_t { mem_row_major, mem_col_major };

template <class Use, int M, int N, int K, class T, class Layout = void> struct fragment {
    static_assert(
        M == 16 && N == 16 && K == 16,
        "wmma: the CPU back end supports only fragments of 16x16x16");
    static constexpr bool is_sum = std::is_same<Use, accumulator>::value;
    static_assert(
        std::is_same<T, __half>::value || (is_sum && std::is_same<T, float>::value) ||
            (!is_sum && std::is_same<T, __nv_bfloat16>::value),
        "wmma: the CPU back end supports only half and __nv_bfloat16 factors "
        "and float and half accumulators");
    static constexpr int num_elements = is_sum ? 8 : 16;
    static constexpr int num_storage_elements = num_elements;
    T x[num_elements];
};

namespace wbcpu_layout
{
inline int row(int lane, int i)
{
    return lane / 4 + (i & 2 ? 8 : 0);
}
inline int column(int lane, int i)
{
    return lane % 4 * 2 + (i & 1) + (i & 4 ? 8 : 0);
}
inline size_t place(int lane, int i, unsigned ld, bool by_rows)
{
    int r = row(lane, i), c = column(lane, i);
    return by_rows ? (size_t)r * ld + c : (size_t)c * ld + r;
}

inline void nothing(uint64_t *, unsigned) {}
WBCPU_INLINE void synchronize()
{
    wbcpu_run_together(~0u, nullptr, nothing);
}

/* The eight elements of the running lane */
template <class T> WBCPU_UNCHECKED void load(T *x, const T *p, unsigned ld, bool by_rows)
{
    int lane = wbcpu_lane();
    for (int i = 0; i < 8; i++)
        x[i] = p[place(lane, i, ld, by_rows)];
}
template <class T> WBCPU_UNCHECKED void store(T *p, const T *x, unsigned ld, bool by_rows)
{
    int lane = wbcpu_lane();
    for (int i = 0; i < 8; i++)
        p[place(lane, i, ld, by_rows)] = x[i];
}
}  // namespace wbcpu_layout

template <class Use, int M, int N, int K, class T, class Layout, class Value>
WBCPU_INLINE void fill_fragment(fragment<Use, M, N, K, T, Layout> &f, const Value &value)
{
    for (int i = 0; i < f.num_elements; i++)
        f.x[i] = T(value);
}

/* Loads and stores first synchronize the warp, as on the device. */
template <class Use, int M, int N, int K, class T, class Layout>
WBCPU_INLINE void
load_matrix_sync(fragment<Use, M, N, K, T, Layout> &f, const T *p, unsigned ld)
{
    const bool by_rows = std::is_same<Layout, row_major>::value;
    static_assert(
        by_rows || std::is_same<Layout, col_major>::value,
        "load_matrix_sync: an accumulator needs its layout as the last argument");
    wbcpu_layout::synchronize();
    wbcpu_check_tile(p, ld, sizeof(T), true, by_rows, false);
    wbcpu_layout::load(f.x, p, ld, by_rows);
    for (int i = 0; i < 8; i++)
        f.x[i + 8] = f.x[i];
}

template <int M, int N, int K, class T>
WBCPU_INLINE void load_matrix_sync(
    fragment<accumulator, M, N, K, T> &f, const T *p, unsigned ld, layout_t layout)
{
    wbcpu_layout::synchronize();
    wbcpu_check_tile(p, ld, sizeof(T), false, layout == mem_row_major, false);
    wbcpu_layout::load(f.x, p, ld, layout == mem_row_major);
}

template <int M, int N, int K, class T>
WBCPU_INLINE void store_matrix_sync(
    T *p, const fragment<accumulator, M, N, K, T> &f, unsigned ld, layout_t layout)
{
    wbcpu_layout::synchronize();
    wbcpu_check_tile(p, ld, sizeof(T), false, layout == mem_row_major, true);
    wbcpu_layout::store(p, f.x, ld, layout == mem_row_major);
}

/* --- mma_sync: the last lane multiplies the fragments of all 32 --------------------- */

namespace wbcpu_mma
{

inline void to_floats(float *out, const __half *in)
{
    for (int i = 0; i < 256; i++)
        out[i] = wbcpu::half_to_float_soft(in[i].__x);  // this loop vectorizes
}
inline void to_floats(float *out, const __nv_bfloat16 *in)
{
    for (int i = 0; i < 256; i++)
        out[i] = in[i];
}
inline void to_floats(float *out, const float *in)
{
    memcpy(out, in, 256 * sizeof *out);
}

struct lane_fragments {
    const void *a, *b, *c;
    void *d;
};

template <class T> inline void collect(T matrix[16][16], int lane, const void *fragment)
{
    const T *x = (const T *)fragment;
    for (int i = 0; i < 8; i++)
        matrix[wbcpu_layout::row(lane, i)][wbcpu_layout::column(lane, i)] = x[i];
}

template <class Factor, class Sum>
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
    Factor raw_a[16][16], raw_b[16][16];
    Sum raw_c[16][16];
    for (int lane = 0; lane < 32; lane++) {
        collect(raw_a, lane, lanes[lane]->a);
        collect(raw_b, lane, lanes[lane]->b);
        collect(raw_c, lane, lanes[lane]->c);
    }
    alignas(64) float a[16][16], b[16][16], c[16][16];
    to_floats(&a[0][0], &raw_a[0][0]);
    to_floats(&b[0][0], &raw_b[0][0]);
    to_floats(&c[0][0], &raw_c[0][0]);
    wbcpu_tensor_multiplies(16 * 16 * 16);
    for (int row = 0; row < 16; row++)
        for (int k = 0; k < 16; k++)
            for (int column = 0; column < 16; column++)
                c[row][column] += a[row][k] * b[k][column];
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < 8; i++)
            ((Sum *)lanes[lane]->d)[i] =
                Sum(c[wbcpu_layout::row(lane, i)][wbcpu_layout::column(lane, i)]);
}

}  // namespace wbcpu_mma

template <class Sum, class Factor, class LayoutA, class LayoutB, int M, int N, int K>
WBCPU_INLINE void mma_sync(
    fragment<accumulator, M, N, K, Sum> &d,
    const fragment<matrix_a, M, N, K, Factor, LayoutA> &a,
    const fragment<matrix_b, M, N, K, Factor, LayoutB> &b,
    const fragment<accumulator, M, N, K, Sum> &c)
{
    wbcpu_mma::lane_fragments mine = {a.x, b.x, c.x, d.x};
    wbcpu_run_together(~0u, &mine, wbcpu_mma::multiply<Factor, Sum>);
}

}  // namespace wmma
}  // namespace nvcuda
#endif
