/* wmma.cu - 16x16x16 WMMA in every layout, compared with sums in double. The elements are
 * small integers, so that the results are exact in every type. */
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
#include <stdlib.h>
#include <string.h>

#include "../tap.h"

using namespace nvcuda;

constexpr int N = 16, LD = 24, DEPTH = 48;  // DEPTH: three steps of k

/* C (16,16) = A (16,DEPTH) B (DEPTH,16) + C in every warp, each with its own C. */
template <class T, class Sum, class LayoutA, class LayoutB>
__global__ void gemm(Sum *c, const T *a, const T *b, int lda, int ldb, int by_rows)
{
    wmma::layout_t layout = by_rows ? wmma::mem_row_major : wmma::mem_col_major;
    Sum *mine = c + threadIdx.x / 32 * N * LD;
    wmma::fragment<wmma::matrix_a, N, N, N, T, LayoutA> fa;
    wmma::fragment<wmma::matrix_b, N, N, N, T, LayoutB> fb;
    wmma::fragment<wmma::accumulator, N, N, N, Sum> fc;
    wmma::load_matrix_sync(fc, mine, LD, layout);
    for (int k = 0; k < DEPTH; k += N) {
        bool a_rows = lda == DEPTH, b_rows = ldb == LD;
        wmma::load_matrix_sync(fa, a_rows ? a + k : a + k * lda, lda);
        wmma::load_matrix_sync(fb, b_rows ? b + k * ldb : b + k, ldb);
        wmma::mma_sync(fc, fa, fb, fc);
    }
    wmma::store_matrix_sync(mine, fc, LD, layout);
}

/* Element-wise operations, which do not depend on the layout of a fragment. */
__global__ void elements(float *c, const __half *a)
{
    wmma::fragment<wmma::matrix_a, N, N, N, __half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, N, N, N, __half, wmma::row_major> identity;
    wmma::fragment<wmma::accumulator, N, N, N, float> fc, other;
    wmma::load_matrix_sync(fa, a, LD);
    __shared__ __half one[N * N];
    for (int i = (int)threadIdx.x; i < N * N; i += 32)
        one[i] = __float2half(i / N == i % N ? 1.0f : 0.0f);
    __syncwarp();
    wmma::load_matrix_sync(identity, one, N);
    for (int i = 0; i < fa.num_elements; i++)
        fa.x[i] = __hmul(fa.x[i], __float2half(2.0f));
    wmma::fill_fragment(fc, 1.0f);
    wmma::fill_fragment(other, 0.5f);
    wmma::mma_sync(fc, fa, identity, fc);
    for (int i = 0; i < fc.num_elements; i++)
        fc.x[i] = fc.x[i] * 0.25f + other.x[i];  // 0.25 (2 a + 1) + 0.5
    wmma::store_matrix_sync(c, fc, LD, wmma::mem_row_major);
}

static void *shared_bytes(size_t n)
{
    void *p = NULL;
    if (cudaMallocManaged(&p, n) != cudaSuccess) exit(2);
    memset(p, 0, n);
    return p;
}

static int small(int i)
{
    return (i * 37 + i / 7) % 9 - 4;
}

template <class T, class Sum, class LayoutA, class LayoutB>
static void test_layout(const char *type, const char *sum, int a_rows, int b_rows)
{
    constexpr int WARPS = 3;
    T *a = (T *)shared_bytes(sizeof(T) * DEPTH * LD),
      *b = (T *)shared_bytes(sizeof(T) * DEPTH * LD);
    Sum *c = (Sum *)shared_bytes(sizeof(Sum) * WARPS * N * LD);
    int lda = a_rows ? DEPTH : LD, ldb = b_rows ? LD : DEPTH;
    for (int k = 0; k < DEPTH; k++)
        for (int i = 0; i < N; i++) {
            a[a_rows ? i * lda + k : k * lda + i] = T((float)small(i * 100 + k));
            b[b_rows ? k * ldb + i : i * ldb + k] = T((float)small(k * 131 + i));
        }
    for (int by_rows = 0; by_rows < 2; by_rows++) {
        for (int i = 0; i < WARPS * N * LD; i++)
            c[i] = Sum((float)small(i));
        gemm<T, Sum, LayoutA, LayoutB><<<1, WARPS * 32>>>(c, a, b, lda, ldb, by_rows);
        cudaDeviceSynchronize();
        int wrong = 0;
        for (int at = 0; at < WARPS * N * LD; at++) {
            int place = at % (N * LD), i = by_rows ? place / LD : place % LD;
            int j = by_rows ? place % LD : place / LD;
            double want = small(at);  // nothing outside 16 x 16 may change
            for (int k = 0; k < DEPTH && i < N && j < N; k++)
                want += small(i * 100 + k) * small(k * 131 + j);
            wrong += (float)c[at] != want;
        }
        tap(wrong == 0, "wmma %s to %s: a by %s, b by %s, c by %s (%d wrong)", type, sum,
            a_rows ? "rows" : "columns", b_rows ? "rows" : "columns",
            by_rows ? "rows" : "columns", wrong);
    }
    cudaFree(a), cudaFree(b), cudaFree(c);
}

template <class T, class Sum> static void test_type(const char *type, const char *sum)
{
    test_layout<T, Sum, wmma::row_major, wmma::row_major>(type, sum, 1, 1);
    test_layout<T, Sum, wmma::row_major, wmma::col_major>(type, sum, 1, 0);
    test_layout<T, Sum, wmma::col_major, wmma::row_major>(type, sum, 0, 1);
    test_layout<T, Sum, wmma::col_major, wmma::col_major>(type, sum, 0, 0);
}

static void test_elements(void)
{
    __half *a = (__half *)shared_bytes(sizeof *a * N * LD);
    float *c = (float *)shared_bytes(sizeof *c * N * LD);
    for (int i = 0; i < N * LD; i++)
        a[i] = __half((float)small(i));
    elements<<<1, 32>>>(c, a);
    cudaDeviceSynchronize();
    int wrong = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            wrong += c[i * LD + j] != 0.25f * (2 * small(i * LD + j) + 1) + 0.5f;
    tap(wrong == 0, "wmma: element-wise operations on fragments (%d wrong)", wrong);
    cudaFree(a), cudaFree(c);
}

int main(void)
{
    test_type<__half, float>("half", "float");
    test_type<__half, __half>("half", "half");
    test_type<__nv_bfloat16, float>("bfloat16", "float");
    test_elements();
    return tap_done();
}
