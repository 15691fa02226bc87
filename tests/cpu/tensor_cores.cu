/* tensor_cores - the instructions given to lab 05 against sums in double: a product of
 * every layout, copies in the background, rounding in pairs. Elements are small integers,
 * so that the results are exact in every type. */
#include "tensor_cores.cuh"

#include <stdlib.h>
#include <string.h>

#include "../tap.h"

enum { M = 16, N = 16, DEPTH = 48, LD = 56 };  // LD: rows of shared memory, in elements

/* C (16,16) = A (16,DEPTH) B (DEPTH,16) by one warp. BY_COLUMNS: b is B^T (16,DEPTH).
 * The tiles come into shared memory by copy_async, the rows behind `rows` as zeros. */
template <typename E, bool BY_COLUMNS>
__global__ void product(float *c, const E *a, const E *b, int rows)
{
    __shared__ __align__(16) E tile_a[M * LD];
    __shared__ __align__(16) E tile_b[DEPTH * LD];
    int lane = threadIdx.x, width = BY_COLUMNS ? DEPTH : N;
    for (int i = lane; i < M * DEPTH / 8; i += 32) {
        int row = i / (DEPTH / 8), col = i % (DEPTH / 8) * 8;
        copy_async(&tile_a[row * LD + col], &a[row * DEPTH + col], row < rows);
    }
    copy_commit();
    for (int i = lane; i < N * DEPTH / 8; i += 32) {
        int row = i / (width / 8), col = i % (width / 8) * 8;
        copy_async(&tile_b[row * LD + col], &b[row * width + col], true);
    }
    copy_commit();
    copy_wait<1>();
    __syncthreads();  // all of a is there
    copy_wait<0>();
    __syncthreads();  // all of b is there

    float sum[2][4] = {};  // columns 0-7 and 8-15
    for (int k = 0; k < DEPTH; k += 16) {
        unsigned fa[4], fb[4];
        int row = lane % 8 + lane / 8 % 2 * 8, col = lane / 16 * 8;
        load_matrices(fa, &tile_a[row * LD + k + col]);
        if (BY_COLUMNS) {  // rows of b are columns of B: two pieces of k each, then 8 on
            load_matrices(fb, &tile_b[(lane % 8 + col) * LD + k + lane / 8 % 2 * 8]);
        } else {
            load_matrices_transposed(fb, &tile_b[(k + row) * LD + col]);
        }
        multiply_add<E>(sum[0], fa, fb[0], fb[1]);
        multiply_add<E>(sum[1], fa, fb[2], fb[3]);
    }
    for (int n = 0; n < 2; n++)
        for (int i = 0; i < 4; i++)
            c[(lane / 4 + i / 2 * 8) * N + n * 8 + lane % 4 * 2 + i % 2] = sum[n][i];
}

template <typename E> __global__ void round_pairs(unsigned *out, float *power, float low)
{
    out[0] = pack<E>(low, -2.0f);
    *power = exp2_approximate(-3.0f);
}

static void *shared_bytes(size_t n)
{
    void *p = NULL;
    if (cudaMallocManaged(&p, n) != cudaSuccess) exit(2);
    memset(p, 0, n);
    return p;
}

template <typename E, bool BY_COLUMNS> static bool product_is_right(int rows)
{
    E *a = (E *)shared_bytes(M * DEPTH * sizeof *a);
    E *b = (E *)shared_bytes(N * DEPTH * sizeof *b);
    float *c = (float *)shared_bytes(M * N * sizeof *c);
    for (int i = 0; i < M * DEPTH; i++)
        a[i] = E((float)(i * 7 % 13 - 6)), b[i] = E((float)(i * 5 % 11 - 5));
    product<E, BY_COLUMNS><<<1, 32>>>(c, a, b, rows);
    bool right = cudaDeviceSynchronize() == cudaSuccess;
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++) {
            double sum = 0;
            for (int k = 0; k < DEPTH && m < rows; k++)
                sum += (double)(float)a[m * DEPTH + k] *
                       (double)(float)b[BY_COLUMNS ? n * DEPTH + k : k * N + n];
            right = right && c[m * N + n] == (float)sum;
        }
    cudaFree(a), cudaFree(b), cudaFree(c);
    return right;
}

template <typename E> static bool pairs_are_right(unsigned expected)
{
    unsigned *out = (unsigned *)shared_bytes(sizeof *out);
    float *power = (float *)shared_bytes(sizeof *power);
    round_pairs<E><<<1, 1>>>(out, power, 1.0f + 0x1p-12f);  // rounds to 1
    bool right = cudaDeviceSynchronize() == cudaSuccess;
    right = right && *out == expected && *power == 0.125f;
    cudaFree(out), cudaFree(power);
    return right;
}

int main(void)
{
    tap(product_is_right<wb_f16, false>(M), "tensor cores: f16, B by rows");
    tap(product_is_right<wb_f16, true>(M), "tensor cores: f16, B by columns");
    tap(product_is_right<wb_bf16, false>(M), "tensor cores: bf16, B by rows");
    tap(product_is_right<wb_bf16, true>(M), "tensor cores: bf16, B by columns");
    tap(product_is_right<wb_f16, false>(5), "copy_async: rows 5 to 15 as zeros");
    tap(pairs_are_right<wb_f16>(0xc0003c00), "pack and exp2_approximate, f16");
    tap(pairs_are_right<wb_bf16>(0xc0003f80), "pack and exp2_approximate, bf16");
    return tap_done();
}
