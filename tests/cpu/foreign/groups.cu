/* Cooperative groups: any lanes, partitions, tiles of 1 to 512 threads, scans; pipelines
 * and atomics of namespace cuda; groups as parameters; warp functions without a mask. */
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cstdio>
#include <cuda/atomic>
#include <cuda/pipeline>
namespace cg = cooperative_groups;

__device__ int sum(cg::thread_group g, int *x, int v) /* of a power of two of threads */
{
    int rank = g.thread_rank();
    for (int half = g.size() / 2; half > 0; half /= 2) {
        x[rank] = v;
        g.sync();
        if (rank < half) v += x[rank + half];
        g.sync();
    }
    return v;
}

__global__ void groups(int *out)
{
    __shared__ int x[64];
    cg::thread_block block = cg::this_thread_block();
    int i = block.thread_rank();
    int all = sum(block, x, i);
    if (i == 0) out[0] = all; /* 63 * 64 / 2 */
    cg::thread_group eight = cg::tiled_partition(block, 8);
    int few = sum(eight, x + i / 8 * 8, i);
    if (i == 8) out[1] = few; /* 8 + ... + 15 */

    if (i < 32 && i % 3 == 0) {
        cg::coalesced_group g = cg::coalesced_threads();
        int total = cg::reduce(g, i, cg::plus<int>());
        int first = g.shfl(i, 1);
        if (g.thread_rank() == 2) out[2] = total, out[3] = first, out[4] = g.size();
    }
    auto tile = cg::tiled_partition<16>(block);
    int inclusive = cg::inclusive_scan(tile, 1 + i), exclusive = cg::exclusive_scan(tile, 2);
    if (i == 18) out[5] = inclusive, out[6] = exclusive; /* 17 + 18 + 19; 4 */
    auto same = cg::labeled_partition(tile, i % 4);
    int equal = cg::reduce(same, i, cg::plus<int>());
    if (i == 1) out[7] = equal; /* 1 + 5 + 9 + 13 */
    if (i < 32) {
#ifdef __CUDACPU__  // removed in CUDA 9
        int v = __shfl_down(i, 4);
        unsigned even = __ballot(i % 2 == 0);
#else
        int v = __shfl_down_sync(~0u, i, 4);
        unsigned even = __ballot_sync(~0u, i % 2 == 0);
#endif
        if (i == 3) out[8] = v, out[9] = even == 0x55555555u;
    }
}

/* Tiles of 64 and 128 of a block of 256 */
__global__ void large_tiles(int *out)
{
    __shared__ cg::block_tile_memory<256> memory;
    auto block = cg::this_thread_block(memory);
    auto half = cg::tiled_partition<128>(block);
    int i = (int)block.thread_rank(), wrong = 0;
    int sum = cg::reduce(half, i, cg::plus<int>()), most = cg::reduce(half, i, cg::greater<int>());
    wrong += sum != (i < 128 ? 8128 : 24512) || most != i / 128 * 128 + 127;
    auto quarter = cg::tiled_partition<64>(block);
    wrong += quarter.meta_group_size() != 4 || (int)quarter.meta_group_rank() != i / 64;
    wrong += quarter.shfl(i, 9) != i / 64 * 64 + 9 || quarter.any(i == 70) != (i / 64 == 1);
    wrong += quarter.all(i != 70) == (i / 64 == 1);
    auto warp = cg::tiled_partition<32>(block);
    wrong += warp.shfl(i, 3) != i / 32 * 32 + 3;
    atomicAdd(out, wrong);
}

/* Two stages, of a whole block: x is copied in pieces of 64. */
__global__ void staged(const int *x, int n, int *total)
{
    __shared__ int stage[2][64];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    int sum = 0, pieces = n / 64;
    for (int next = 0, now = 0; now < pieces; now++) {
        for (; next < pieces && next < now + 2; next++) {
            pipe.producer_acquire();
            cuda::memcpy_async(
                block, stage[next % 2], x + next * 64, sizeof stage[0], pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        sum += stage[now % 2][63 - threadIdx.x];
        pipe.consumer_release();
    }
    cuda::atomic_ref<int, cuda::thread_scope_device>(*total).fetch_add(
        sum, cuda::memory_order_relaxed);
}

int main()
{
    const int want[10] = {2016, 92, 165, 3, 11, 54, 4, 28, 7, 1};
    int *out, *x, failures = 0;
    cudaMallocManaged(&out, sizeof want);
    cudaMallocManaged(&x, 513 * sizeof(int));
    groups<<<1, 64>>>(out);
    cudaDeviceSynchronize();
    for (int i = 0; i < 10; i++)
        if (out[i] != want[i]) printf("%d: %d, not %d\n", i, out[i], want[i]), failures++;
    x[0] = 0;
    large_tiles<<<1, 256>>>(x);
    cudaDeviceSynchronize();
    if (x[0]) printf("large tiles: %d wrong\n", x[0]), failures++;
    for (int i = 0; i < 512; i++)
        x[i] = i;
    x[512] = 0;
    staged<<<1, 64>>>(x, 512, x + 512);
    cudaDeviceSynchronize();
    return failures || x[512] != 511 * 512 / 2;
}
