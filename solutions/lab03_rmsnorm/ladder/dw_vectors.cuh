/* dw_vectors.cuh - for the rungs from 03_vector.cu on: the partial sums of dw by vectors,
 * and whether vectors are possible. */
#ifndef DW_VECTORS_CUH
#define DW_VECTORS_CUH
#include "cuda/vec.cuh"

/* A thread owns N neighbouring columns. */
template <typename E, int N>
static __global__ void dw_partial(
    float *partial, const vec<E, N> *dout, const vec<E, N> *x, const float *rstd, int R,
    int C)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, vecs = C / N;  // [0, vecs)
    if (i >= vecs) return;
    float sum[N] = {};
    for (int row = blockIdx.y; row < R; row += gridDim.y) {
        vec<E, N> d = dout[(size_t)row * vecs + i], a = x[(size_t)row * vecs + i];
        for (int j = 0; j < N; j++)
            sum[j] += (float)d[j] * ((float)a[j] * rstd[row]);
    }
    for (int j = 0; j < N; j++)
        partial[(size_t)blockIdx.y * C + i * N + j] = sum[j];
}

/* Do all rows of these tensors start at multiples of 16 bytes? */
template <typename E, typename... P> static bool use_vectors(int C, const P *...p)
{
    return is_aligned(16, p...) && C % VEC16<E> == 0;
}

#endif
