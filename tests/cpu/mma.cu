/* mma.cu - mma.cuh, pack2 and fast_exp2 against sums in double: a GEMM with operands of
 * every layout, asynchronous copies, rounding in pairs. Elements are small integers, so
 * the results are exact in every type. bf16 is skipped where no mma exists for it. */
#include "cuda/lanes.cuh"
#include "cuda/math.cuh"
#include "cuda/mma.cuh"

#include <stdlib.h>
#include <string.h>

#include "../tap.h"

enum { M = 16, N = 16, DEPTH = 48, LD = 56 };  // LD: rows of shared memory, in elements

/* C (16,16) = A (16,DEPTH) B (DEPTH,16) by one warp. BY_COLUMNS: b is B^T (16,DEPTH).
 * The tiles come into shared memory by cp_async, rows from `rows` on as zeros. */
template <typename E, bool BY_COLUMNS>
__global__ void gemm(float *c, const E *a, const E *b, int rows)
{
    __shared__ __align__(16) E tile_a[M * LD];
    __shared__ __align__(16) E tile_b[DEPTH * LD];
    int lane = threadIdx.x, width = BY_COLUMNS ? DEPTH : N;
    for (int i = lane; i < M * DEPTH / 8; i += 32) {
        int row = i / (DEPTH / 8), col = i % (DEPTH / 8) * 8;
        cp_async(&tile_a[row * LD + col], &a[row * DEPTH + col], row < rows);
    }
    cp_async_commit();
    for (int i = lane; i < N * DEPTH / 8; i += 32) {
        int row = i / (width / 8), col = i % (width / 8) * 8;
        cp_async(&tile_b[row * LD + col], &b[row * width + col], true);
    }
    cp_async_commit();
    cp_async_wait<1>();
    __syncthreads();  // all of a is visible
    cp_async_wait<0>();
    __syncthreads();  // all of b is visible

    float sum[2][4] = {};  // columns 0-7 and 8-15
    for (int k = 0; k < DEPTH; k += 16) {
        unsigned fa[4], fb[4];
        int row = lane % 8 + lane / 8 % 2 * 8, col = lane / 16 * 8;
        ldmatrix(fa, &tile_a[row * LD + k + col]);
        if (BY_COLUMNS) {  // rows of b are columns of B
            ldmatrix(fb, &tile_b[(lane % 8 + col) * LD + k + lane / 8 % 2 * 8]);
        } else {
            ldmatrix_trans(fb, &tile_b[(k + row) * LD + col]);
        }
        mma<E>(sum[0], fa, fb[0], fb[1]);
        mma<E>(sum[1], fa, fb[2], fb[3]);
    }
    for (int n = 0; n < 2; n++)
        for (int i = 0; i < 4; i++)
            c[(lane / 4 + i / 2 * 8) * N + n * 8 + lane % 4 * 2 + i % 2] = sum[n][i];
}

template <typename E> __global__ void round_pairs(unsigned *out, float *power, float low)
{
    out[0] = pack2<E>(low, -2.0f);
    *power = fast_exp2(-3.0f);
}

static void *managed(size_t n)
{
    void *p = NULL;
    if (cudaMallocManaged(&p, n) != cudaSuccess) exit(2);
    memset(p, 0, n);
    return p;
}

template <typename E, bool BY_COLUMNS> static bool gemm_is_right(int rows)
{
    E *a = (E *)managed(M * DEPTH * sizeof *a);
    E *b = (E *)managed(N * DEPTH * sizeof *b);
    float *c = (float *)managed(M * N * sizeof *c);
    for (int i = 0; i < M * DEPTH; i++)
        a[i] = E((float)(i * 7 % 13 - 6)), b[i] = E((float)(i * 5 % 11 - 5));
    gemm<E, BY_COLUMNS><<<1, 32>>>(c, a, b, rows);
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
    unsigned *out = (unsigned *)managed(sizeof *out);
    float *power = (float *)managed(sizeof *power);
    round_pairs<E><<<1, 1>>>(out, power, 1.0f + 0x1p-12f);  // rounds to 1
    bool right = cudaDeviceSynchronize() == cudaSuccess;
    right = right && *out == expected && *power == 0.125f;
    cudaFree(out), cudaFree(power);
    return right;
}

// sum_lanes of all groups but one, next to the rounds that it stands for
enum { SUMS = 5 };
template <int LANES> static __global__ void sum_groups(float *sums, float *rounds)
{
    int lane = threadIdx.x;
    if (lane / LANES == 2) return;
    unsigned mask = ((1u << LANES) - 1) << lane / LANES * LANES;
    float x[SUMS], y[SUMS];
    for (int i = 0; i < SUMS; i++)
        x[i] = y[i] = 1.0f / (1.0f + (float)(lane * SUMS + i));
    sum_lanes<LANES>(x);
    for (int i = 0; i < SUMS; i++) {
        for (int o = LANES / 2; o > 0; o /= 2)
            y[i] += __shfl_xor_sync(mask, y[i], o);
        sums[lane * SUMS + i] = x[i], rounds[lane * SUMS + i] = y[i];
    }
}
template <int LANES> static bool sums_are_right(void)
{
    float *sums = (float *)managed(32 * SUMS * sizeof *sums);
    float *rounds = (float *)managed(32 * SUMS * sizeof *rounds);
    sum_groups<LANES><<<1, 32>>>(sums, rounds);
    bool right = cudaDeviceSynchronize() == cudaSuccess && *sums > 1.0f &&
                 memcmp(sums, rounds, 32 * SUMS * sizeof *sums) == 0;
    cudaFree(sums), cudaFree(rounds);
    return right;
}

int main(void)
{
    tap(sums_are_right<2>() && sums_are_right<4>() && sums_are_right<8>(),
        "sum_lanes: the bits of the rounds, in the groups that call it");
    tap(gemm_is_right<wb_f16, false>(M), "mma: f16, B by rows");
    tap(gemm_is_right<wb_f16, true>(M), "mma: f16, B by columns");
    if (has_mma<wb_bf16>()) {
        tap(gemm_is_right<wb_bf16, false>(M), "mma: bf16, B by rows");
        tap(gemm_is_right<wb_bf16, true>(M), "mma: bf16, B by columns");
    }
    tap(gemm_is_right<wb_f16, false>(5), "cp_async: rows 5 to 15 as zeros");
    tap(pairs_are_right<wb_f16>(0xc0003c00), "pack2 and fast_exp2, f16");
    tap(pairs_are_right<wb_bf16>(0xc0003f80), "pack2 and fast_exp2, bf16");
    return tap_done();
}
