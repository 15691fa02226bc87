/* cooperative.cu - thread blocks and tiles of cooperative groups. */
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <stdlib.h>

#include "../tap.h"

namespace cg = cooperative_groups;

constexpr int THREADS = 96, FIELDS = 14;

/* Every thread records the results of every operation of its tile. */
template <unsigned Size> __global__ void try_all(int *out)
{
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<Size>(block);
    int v = (int)block.thread_rank(), *mine = out + v * FIELDS;
    mine[0] = (int)tile.thread_rank();
    mine[1] = (int)tile.size();
    mine[2] = (int)tile.meta_group_rank();
    mine[3] = (int)tile.meta_group_size();
    mine[4] = tile.shfl(v, 0);
    mine[5] = tile.shfl_down(v, 1);
    mine[6] = tile.shfl_up(v, 1);
    mine[7] = tile.shfl_xor(v, Size / 2);
    mine[8] = (int)tile.ballot(v % 3 == 0);
    mine[9] = tile.any(v == 40) ? 1 : 0;
    mine[10] = tile.all(v < 40) ? 1 : 0;
    mine[11] = cg::reduce(tile, v, cg::plus<int>());
    mine[12] = cg::reduce(tile, v * 7 % 32, cg::greater<int>());
    mine[13] = (int)(1000 * cg::reduce(tile, 0.5f * (float)v, cg::less<float>()));
    tile.sync();
}

template <unsigned Size> static void test_tile(void)
{
    int *got = NULL, wrong[FIELDS] = {0}, all = 0;
    cudaMallocManaged(&got, THREADS * FIELDS * sizeof *got);
    try_all<Size><<<1, dim3(8, 4, 3)>>>(got);
    cudaDeviceSynchronize();
    for (int v = 0; v < THREADS; v++) {
        int size = (int)Size, rank = v % size, first = v - rank, want[FIELDS] = {0};
        want[0] = rank, want[1] = size, want[2] = v / size, want[3] = THREADS / size;
        want[4] = first, want[5] = rank + 1 < size ? v + 1 : v,
        want[6] = rank ? v - 1 : v;
        want[7] = first + (rank ^ (size / 2)), want[10] = 1, want[12] = 0;
        for (int i = 0; i < size; i++) {
            int u = first + i, x = u * 7 % 32;
            want[8] |= (int)((unsigned)(u % 3 == 0) << i), want[9] |= u == 40;
            want[10] &= (u < 40), want[11] += u;
            want[12] = want[12] < x ? x : want[12];
        }
        want[13] = 500 * first;
        for (int f = 0; f < FIELDS; f++)
            wrong[f] += got[v * FIELDS + f] != want[f];
    }
    for (int f = 0; f < FIELDS; f++) {
        if (wrong[f]) printf("# field %d: %d threads wrong\n", f, wrong[f]);
        all += wrong[f];
    }
    tap(all == 0, "tile of %u: ranks, shuffles, votes, reductions", Size);
    cudaFree(got);
}

struct largest {  // for a user-defined operation
    float value;
    int where;
};
struct take_larger {
    __device__ largest operator()(largest a, largest b) const
    {
        return b.value > a.value || (b.value == a.value && b.where < a.where) ? b : a;
    }
};

/* The two halves of a warp diverge and converge again. */
__global__ void diverge(int *out)
{
    cg::thread_block block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    auto half = cg::tiled_partition<16>(warp);
    int v = (int)warp.thread_rank(), r;
    if (half.meta_group_rank() % 2 == 0)
        r = cg::reduce(half, v, cg::plus<int>());
    else
        r = cg::reduce(
            half, v, [](int a, int b) { return a * 3 % 5 > b * 3 % 5 ? a : b; });
    cg::sync(block);
    largest mine = {(float)(v * 13 % 31), v};
    largest l = cg::reduce(warp, mine, take_larger());
    out[block.thread_rank()] = r * 100 + l.where;
}

static void test_divergence(void)
{
    int *got = NULL, wrong = 0;
    cudaMallocManaged(&got, 64 * sizeof *got);
    diverge<<<1, 64>>>(got);
    cudaDeviceSynchronize();
    int best = 0;
    for (int v = 1; v < 32; v++)
        if (v * 13 % 31 > best * 13 % 31) best = v;
    for (int v = 0; v < 64; v++) {
        int r = got[v] / 100;
        wrong += got[v] % 100 != best;
        wrong += v % 32 < 16 ? r != 120 : r * 3 % 5 != 4;
    }
    tap(wrong == 0, "divergent tiles of tiles; a user-defined reduction of a struct");
    cudaFree(got);
}

/* The difference of a reduction and a butterfly of shuffles. */
__global__ void both_sums(float *out)
{
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    float v = 1.0f / (float)(threadIdx.x * 7 % 32 + 3), w = v;
    for (int o = 16; o > 0; o /= 2)
        w += tile.shfl_xor(w, (unsigned)o);
    out[threadIdx.x] = cg::reduce(tile, v, cg::plus<float>()) - w;
}

static void test_float_sum(void)
{
    float *got = NULL, worst = 0;
    cudaMallocManaged(&got, 32 * sizeof *got);
    both_sums<<<1, 32>>>(got);
    cudaDeviceSynchronize();
    for (int v = 0; v < 32; v++)
        worst = got[v] > worst ? got[v] : -got[v] > worst ? -got[v] : worst;
    tap(worst < 1e-6f, "float sum of a tile agrees with shuffles (differs by %g)",
        (double)worst);
    cudaFree(got);
}

int main(void)
{
    test_tile<1>();
    test_tile<2>();
    test_tile<4>();
    test_tile<8>();
    test_tile<16>();
    test_tile<32>();
    test_divergence();
    test_float_sum();
    return tap_done();
}
