/* mma.cpp - mma and ldmatrix of cuda/mma.cuh. The last lane that arrives does the work of
 * its warp. Here and not in the header, because check mode does not optimize programs. */
#include "include/wbcpu/mma.h"
#include "check/hooks.h"
#include "include/cuda_bf16.h"
#include "include/cuda_fp16.h"
#include "include/wbcpu/tile_products.h"

#include <string.h>
#include <utility>

template <float (*WIDEN)(uint16_t)> static void mma_of_warp(uint64_t value[32])
{
    float a[16][16], rows_b[16][8], c[16][8];
    for (int lane = 0; lane < 32; lane++) {
        const wbcpu_mma_lane *w = (const wbcpu_mma_lane *)value[lane];
        int row = lane / 4, col = lane % 4 * 2;
        for (int high = 0; high < 2; high++) {
            for (int i = 0; i < 4; i++)
                a[row + i % 2 * 8][col + i / 2 * 8 + high] =
                    WIDEN((uint16_t)(w->a[i] >> 16 * high));
            for (int i = 0; i < 2; i++) {
                rows_b[col + i * 8 + high][row] = WIDEN((uint16_t)(w->b[i] >> 16 * high));
                c[row + i * 8][col + high] = w->c[2 * i + high];
            }
        }
    }
    wbcpu::check::tensor_multiplies(16 * 16 * 8);
    wbcpu::multiply_tiles<16, 8, 16>(c, a, rows_b);
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < 2; i++)
            memcpy(
                &((const wbcpu_mma_lane *)value[lane])->c[2 * i],
                &c[lane / 4 + i * 8][lane % 4 * 2], 8);
}
extern "C" void wbcpu_mma_f16(uint64_t value[32], unsigned)
{
    mma_of_warp<wbcpu::half_to_float_soft>(value);
}
extern "C" void wbcpu_mma_bf16(uint64_t value[32], unsigned)
{
    mma_of_warp<wbcpu::bfloat16_to_float>(value);
}

extern "C" void wbcpu_load_matrices(uint64_t value[32], unsigned)
{
    for (int lane = 0; lane < 32; lane++) {
        auto own = (const wbcpu_matrix_lane *)value[lane];
        for (int m = 0; m < own->matrices; m++) {
            uint16_t two[2];
            for (int i = 0; i < 2; i++) {
                int row = lane / 4, col = lane % 4 * 2 + i;
                if (own->transposed) std::swap(row, col);
                auto named = (const wbcpu_matrix_lane *)value[8 * m + row];
                two[i] = ((const uint16_t *)named->row)[col];
            }
            memcpy(&own->r[m], two, 4);
        }
    }
}
