/* mma.h - nvcuda::wmma: one warp multiplies two matrices, D = A B + C.
 *
 * Shapes (M, N, K) and types of A and B, of C and D:
 *     16x16x16, 32x8x16, 8x32x16    __half, sums __half or float; __nv_bfloat16, sums float;
 *                                   signed and unsigned char, sums int
 *     16x16x8                       precision::tf32, sums float
 *     8x8x4                         double, sums double
 *
 * As on a GPU, every lane holds its own elements of each fragment, so code that works on
 * frag.x[i] behaves the same. The layout is that of the mma instruction's accumulator, in
 * tiles of 8x8. Programs must not rely on it (the CUDA guide leaves it unspecified). Sums
 * are accumulated in float, int or double in the order of k.
 */
#ifndef WBCPU_MMA_H
#define WBCPU_MMA_H

#include "wbcpu/wmma_multiply.h"

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
    static constexpr bool is_sum = std::is_same<Use, accumulator>::value;
    static_assert(
        wbcpu_layout::is_supported<is_sum, M, N, K, T>(),
        "wmma: the CPU back end does not support this shape with this type; mma.h has a list");
    typedef typename wbcpu_layout::element<T>::type element_type;
    static constexpr int rows = std::is_same<Use, matrix_b>::value ? K : M;
    static constexpr int columns = std::is_same<Use, matrix_a>::value ? K : N;
    static constexpr int own = rows * columns / 32; /* elements of a lane */
    /* As on a GPU, a lane has 16 __half factors; if its own are fewer, they repeat. */
    static constexpr int num_elements =
        !is_sum && std::is_same<T, __half>::value ? 16 : own;
    static constexpr int num_storage_elements = num_elements;
    element_type x[num_elements];
};

template <class Use, int M, int N, int K, class T, class Layout, class Value>
WBCPU_INLINE void fill_fragment(fragment<Use, M, N, K, T, Layout> &f, const Value &value)
{
    for (auto &x : f.x)
        x = typename fragment<Use, M, N, K, T, Layout>::element_type(value);
}

/* Loads and stores first synchronize the warp, as on the device. */
template <class Use, int M, int N, int K, class T, class Layout, class Element>
WBCPU_INLINE void load_matrix_sync(
    fragment<Use, M, N, K, T, Layout> &f, const Element *p, unsigned ld)
{
    typedef fragment<Use, M, N, K, T, Layout> F;
    const bool by_rows = std::is_same<Layout, row_major>::value;
    static_assert(
        by_rows || std::is_same<Layout, col_major>::value,
        "load_matrix_sync: an accumulator needs its layout as the last argument");
    wbcpu_layout::synchronize();
    wbcpu_check_tile(p, ld, sizeof *p, F::rows, F::columns, true, by_rows, false);
    wbcpu_layout::load<F::rows, F::columns>(f.x, p, ld, by_rows);
    for (int i = F::own; i < F::num_elements; i++)
        f.x[i] = f.x[i - F::own];
}

template <int M, int N, int K, class T>
WBCPU_INLINE void load_matrix_sync(
    fragment<accumulator, M, N, K, T> &f, const T *p, unsigned ld, layout_t layout)
{
    wbcpu_layout::synchronize();
    wbcpu_check_tile(p, ld, sizeof(T), M, N, false, layout == mem_row_major, false);
    wbcpu_layout::load<M, N>(f.x, p, ld, layout == mem_row_major);
}

template <int M, int N, int K, class T>
WBCPU_INLINE void store_matrix_sync(
    T *p, const fragment<accumulator, M, N, K, T> &f, unsigned ld, layout_t layout)
{
    wbcpu_layout::synchronize();
    wbcpu_check_tile(p, ld, sizeof(T), M, N, false, layout == mem_row_major, true);
    wbcpu_layout::store<M, N>(p, f.x, ld, layout == mem_row_major);
}

template <int M, int N, int K, class D, class Factor, class LayoutA, class LayoutB, class C>
WBCPU_INLINE void mma_sync(
    fragment<accumulator, M, N, K, D> &d,
    const fragment<matrix_a, M, N, K, Factor, LayoutA> &a,
    const fragment<matrix_b, M, N, K, Factor, LayoutB> &b,
    const fragment<accumulator, M, N, K, C> &c, bool saturate = false)
{
    wbcpu_wmma::lane_fragments mine = {a.x, b.x, c.x, d.x, saturate};
    typedef typename wbcpu_layout::element<Factor>::type Element;
    wbcpu_run_together(~0u, &mine, wbcpu_wmma::multiply<M, N, K, Element, C, D>);
}

}  // namespace wmma
}  // namespace nvcuda
#endif
