// groups.cu - correct: cooperative groups and tensor cores.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_fp16.h>
#include <mma.h>

#include "../cases.h"

#include "cuda/mma.cuh"

namespace cg = cooperative_groups;
using namespace nvcuda;

__global__ void block_group(int *y)
{
    __shared__ int s[64];
    cg::thread_block block = cg::this_thread_block();
    int t = block.thread_rank();
    s[t] = t;
    block.sync();
    y[t] = s[63 - t];
}
CASE(block_group)
{
    int *y = zeros<int>(64);
    block_group<<<1, 64>>>(y);
    return differs(y, 64, [](int i) { return 63 - i; });
}

__global__ void tiles_of_8(int *y, const int *x)
{
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    int v = x[threadIdx.x];
    for (int offset = 4; offset > 0; offset /= 2)
        v += tile.shfl_down(v, offset);
    y[threadIdx.x] = tile.shfl(v, 0);
}
CASE(tiles_of_8)
{
    int *y = zeros<int>(64);
    tiles_of_8<<<1, 64>>>(y, counting<int>(64));
    return differs(y, 64, [](int i) { return 64 * (i / 8) + 28; });
}

__global__ void tile_exchange(int *y)
{
    __shared__ int s[64];
    auto tile = cg::tiled_partition<4>(cg::this_thread_block());
    int t = threadIdx.x;
    for (int round = 0; round < 2; round++) {
        s[t] = t + round;
        tile.sync();
        y[t] = s[t ^ 3];
        tile.sync();
    }
}
CASE(tile_exchange)
{
    int *y = zeros<int>(64);
    tile_exchange<<<1, 64>>>(y);
    return differs(y, 64, [](int i) { return (i ^ 3) + 1; });
}

// Whole tiles take a branch of their own.
__global__ void some_tiles(int *y, const int *x)
{
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    int v = x[threadIdx.x];
    if (tile.meta_group_rank() % 2)
        v = cg::reduce(tile, v, cg::plus<int>());
    else
        v = tile.any(v == 5) ? -1 : -2;
    y[threadIdx.x] = v;
}
CASE(some_tiles)
{
    int *y = zeros<int>(64);
    some_tiles<<<1, 64>>>(y, counting<int>(64));
    return differs(y, 64, [](int i) {
        return i / 16 == 0 ? -1 : i / 16 == 2 ? -2 : 120 + 256 * (i / 16);
    });
}

__global__ void warp_then_block(int *out, const int *x)
{
    __shared__ int s[4];
    cg::thread_block block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    int v = cg::reduce(warp, x[block.thread_rank()], cg::greater<int>());
    if (warp.thread_rank() == 0) s[warp.meta_group_rank()] = v;
    block.sync();
    if (block.thread_rank() == 0) *out = max(max(s[0], s[1]), max(s[2], s[3]));
}
CASE(reduce_in_two_steps)
{
    int *out = zeros<int>(1);
    int *x = filled<int>(128, [](int i) { return i * 77 % 128; });
    warp_then_block<<<1, 128>>>(out, x);
    return differs(out, 1, [](int) { return 127; });
}

// --- tensor cores ----------------------------------------------------------------------

typedef wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fragment_a;
typedef wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fragment_b;
typedef wmma::fragment<wmma::accumulator, 16, 16, 16, float> fragment_c;

// The warp stores its result to shared memory and reads it by other lanes.
__global__ void store_then_read(float *y, const half *a, const half *b)
{
    __shared__ __align__(32) float c[16][16];
    fragment_a fa;
    fragment_b fb;
    fragment_c fc;
    wmma::fill_fragment(fc, 1.0f);
    wmma::load_matrix_sync(fa, a, 16);
    wmma::load_matrix_sync(fb, b, 16);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(&c[0][0], fc, 16, wmma::mem_row_major);
    __syncwarp();
    for (int i = threadIdx.x; i < 256; i += 32)
        y[i] = c[i % 16][i / 16];
}
static half *identity(void)
{
    return filled<half>(256, [](int i) { return i / 16 == i % 16 ? 1.0f : 0.0f; });
}
CASE(wmma_store_then_read)
{
    float *y = zeros<float>(256);
    half *b = filled<half>(256, [](int i) { return (float)i; });
    store_then_read<<<1, 32>>>(y, identity(), b);
    return differs(y, 256, [](int i) { return i % 16 * 16 + i / 16 + 1; });
}

// Four warps, tiles in shared memory, two barriers per step
__global__ void wmma_tiles(float *c, const half *a, const half *b, int n)
{
    __shared__ __align__(32) half as[32][16], bs[16][32];
    int t = threadIdx.x, warp = t / 32, r = warp / 2 * 16, col = warp % 2 * 16;
    fragment_c fc;
    wmma::fill_fragment(fc, 0.0f);
    for (int k = 0; k < n; k += 16) {
        for (int i = t; i < 512; i += 128) {
            as[i / 16][i % 16] = a[i / 16 * n + k + i % 16];
            bs[i / 32][i % 32] = b[(k + i / 32) * 32 + i % 32];
        }
        __syncthreads();
        fragment_a fa;
        fragment_b fb;
        wmma::load_matrix_sync(fa, &as[r][0], 16);
        wmma::load_matrix_sync(fb, &bs[0][col], 32);
        wmma::mma_sync(fc, fa, fb, fc);
        __syncthreads();
    }
    wmma::store_matrix_sync(c + r * 32 + col, fc, 32, wmma::mem_row_major);
}
CASE(wmma_tiles)
{
    float *c = zeros<float>(32 * 32);
    half *a = filled<half>(32 * 48, [](int i) { return i / 48 == i % 48 ? 1.0f : 0.0f; });
    half *b = filled<half>(48 * 32, [](int i) { return (float)i; });
    wmma_tiles<<<1, 128>>>(c, a, b, 48);
    return differs(c, 32 * 32, [](int i) { return i; });
}

// ldmatrix reads rows that other lanes copied: after the wait and __syncwarp.
__global__ void mma_from_copies(float *c, const wb_f16 *a, const wb_f16 *b)
{
    __shared__ __align__(16) wb_f16 as[16][16], bs[16][16];
    int lane = threadIdx.x, row = lane % 16, half_row = lane / 16 * 8;
    cp_async(&as[row][half_row], a + row * 16 + half_row, true);
    cp_async(&bs[row][half_row], b + row * 16 + half_row, true);
    cp_async_commit();
    cp_async_wait<0>();
    __syncwarp();
    unsigned ra[4], rb[4];
    ldmatrix(ra, &as[row][half_row]);
    ldmatrix_trans(rb, &bs[row][half_row]);
    for (int n = 0; n < 2; n++) {
        float sum[4] = {0, 0, 0, 0};
        mma<wb_f16>(sum, ra, rb[2 * n], rb[2 * n + 1]);
        for (int i = 0; i < 4; i++)
            c[(lane / 4 + i / 2 * 8) * 16 + n * 8 + lane % 4 * 2 + i % 2] = sum[i];
    }
}
CASE(mma_from_copies)
{
    float *c = zeros<float>(256);
    half *b = filled<half>(256, [](int i) { return (float)i; });
    mma_from_copies<<<1, 32>>>(c, (wb_f16 *)identity(), (wb_f16 *)b);
    return differs(c, 256, [](int i) { return i; });
}
