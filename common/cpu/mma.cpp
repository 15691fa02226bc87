/* mma.cpp - mma and ldmatrix of cuda/mma.cuh and of inline PTX. The last lane that arrives
 * does the work of its warp. It is not in a header, because check mode compiles programs
 * without optimization. */
#include "include/wbcpu/mma.h"
#include "check/hooks.h"
#include "include/wbcpu/tile_products.h"

#include <string.h>

namespace wbcpu
{
/* C (16,8) += A (16,K) B (K,8), in the layouts of the PTX manual. A register holds `per`
 * adjacent elements of a row of A or of a column of B. */
template <int K, class A, class B, class Sum>
static void mma_of_warp(uint64_t value[32], unsigned)
{
    constexpr int per = 4 / sizeof(A), words = K / per, bits = 8 * sizeof(B);
    typedef product_type<A> Wide;
    const wbcpu_mma_lane *lanes[32];
    alignas(64) A raw_a[16][K];
    alignas(64) uint32_t words_b[words][8];
    alignas(64) Sum raw_c[16][8];
    alignas(64) Wide a[16][K], b[K][8], c[16][8];
    memcpy(lanes, value, sizeof lanes);
    for (int lane = 0; lane < 32; lane++) {
        const int row = lane / 4, col = lane % 4;
        for (int i = 0; i < words / 2; i++)
            memcpy(
                &raw_a[row + i % 2 * 8][(col + i / 2 * 4) * per], &lanes[lane]->a[i], 4);
        for (int i = 0; i < words / 4; i++)
            words_b[col + i * 4][row] = lanes[lane]->b[i];
        for (int i = 0; i < 2; i++)
            memcpy(
                &raw_c[row + i * 8][col * 2], (Sum *)lanes[lane]->c + 2 * i,
                2 * sizeof(Sum));
    }
    for (int m = 0; m < 16; m++) {
        widen<K>(a[m], raw_a[m]);
        widen<8>(c[m], raw_c[m]);
    }
    for (int k = 0; k < K; k++) {
        typedef std::conditional_t<
            bits == 8, uint8_t, std::conditional_t<bits == 16, uint16_t, uint32_t>>
            Bits;
        Bits row[8];
        B elements[8];
        for (int n = 0; n < 8; n++)
            row[n] = (Bits)(words_b[k / per][n] >> (k % per * bits % 32));
        memcpy((void *)elements, row, sizeof row);
        widen<8>(b[k], elements);
    }
    check::tensor_multiplies(16 * 8 * K);
    multiply_tiles<16, 8, K>(c, a, b);
    for (int m = 0; m < 16; m++)
        narrow<8>(raw_c[m], c[m]);
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < 2; i++)
            memcpy(
                (Sum *)lanes[lane]->c + 2 * i, &raw_c[lane / 4 + i * 8][lane % 4 * 2],
                2 * sizeof(Sum));
}
template <int K, class A, class B, class Sum> static wbcpu_mma_kind kind(const char *name)
{
    constexpr int registers = K * sizeof(A) / 16; /* of b */
    return {name, 2 * registers, registers, (int)sizeof(Sum), mma_of_warp<K, A, B, Sum>};
}
}  // namespace wbcpu

extern "C" const wbcpu_mma_kind *wbcpu_find_mma(const char *name)
{
    typedef __half f16;
    typedef __nv_bfloat16 bf16;
    using wbcpu::kind;
    static const wbcpu_mma_kind all[] = {
        kind<8, f16, f16, f16>("m16n8k8.f16.f16.f16.f16."),
        kind<16, f16, f16, f16>("m16n8k16.f16.f16.f16.f16."),
        kind<8, f16, f16, float>("m16n8k8.f32.f16.f16.f32."),
        kind<16, f16, f16, float>("m16n8k16.f32.f16.f16.f32."),
        kind<8, bf16, bf16, float>("m16n8k8.f32.bf16.bf16.f32."),
        kind<16, bf16, bf16, float>("m16n8k16.f32.bf16.bf16.f32."),
        kind<4, float, float, float>("m16n8k4.f32.tf32.tf32.f32."),
        kind<8, float, float, float>("m16n8k8.f32.tf32.tf32.f32."),
        kind<16, int8_t, int8_t, int>("m16n8k16.s32.s8.s8.s32."),
        kind<32, int8_t, int8_t, int>("m16n8k32.s32.s8.s8.s32."),
        kind<16, int8_t, uint8_t, int>("m16n8k16.s32.s8.u8.s32."),
        kind<32, int8_t, uint8_t, int>("m16n8k32.s32.s8.u8.s32."),
        kind<16, uint8_t, int8_t, int>("m16n8k16.s32.u8.s8.s32."),
        kind<32, uint8_t, int8_t, int>("m16n8k32.s32.u8.s8.s32."),
        kind<16, uint8_t, uint8_t, int>("m16n8k16.s32.u8.u8.s32."),
        kind<32, uint8_t, uint8_t, int>("m16n8k32.s32.u8.u8.s32."),
    };
    for (const wbcpu_mma_kind &k : all)
        if (strcmp(k.name, name) == 0) return &k;
    return nullptr;
}
extern "C" void wbcpu_mma_f16(uint64_t value[32], unsigned lanes)
{
    wbcpu::mma_of_warp<16, __half, __half, float>(value, lanes);
}
extern "C" void wbcpu_mma_bf16(uint64_t value[32], unsigned lanes)
{
    wbcpu::mma_of_warp<16, __nv_bfloat16, __nv_bfloat16, float>(value, lanes);
}

/* The registers of lane l for a matrix: rows[l / 4][l % 4], adjacent pairs of a row */
extern "C" void wbcpu_load_matrices(uint64_t value[32], unsigned)
{
    const wbcpu_matrix_lane *lanes[32];
    memcpy(lanes, value, sizeof lanes);
    const bool transposed = lanes[0]->transposed;
    for (int m = 0; m < lanes[0]->matrices; m++) {
        uint16_t elements[8][8];
        uint32_t pairs[4][8];
        for (int row = 0; row < 8; row++)
            memcpy(elements[row], lanes[8 * m + row]->row, sizeof elements[row]);
        for (int p = 0; transposed && p < 4; p++)
            for (int i = 0; i < 8; i++)
                pairs[p][i] = elements[2 * p][i] | (uint32_t)elements[2 * p + 1][i] << 16;
        for (int lane = 0; lane < 32; lane++)
            memcpy(
                &lanes[lane]->r[m],
                transposed ? (void *)&pairs[lane % 4][lane / 4]
                           : (void *)&elements[lane / 4][lane % 4 * 2],
                4);
    }
}
