/* hopper_wrong.cu CASE - kernels that misuse cuda/hopper.cuh: the CPU back end says how. */
#include "hopper.h"

extern __shared__ __align__(1024) char smem[];

enum mistake {
    PHASE,         // waits for a phase that has just begun
    FEW_BYTES,     // expects more bytes than the copy has
    ARRIVALS,      // more arrivals than the barrier counts
    PLACE,         // a tile at a multiple of 64 bytes
    OUTSIDE,       // a tile that is larger than the shared memory
    DIMENSIONS,    // 3 coordinates for a tensor with 2
    NO_WAIT,       // ends before the copy has come
    NO_STORE,      // ends before the store has read
    NO_FENCE,      // wgmma without wgmma_fence
    NO_COMMIT,     // wgmma without wgmma_commit
    STEP,          // a descriptor that leaves shared memory
    NAMED,         // a named barrier with two sizes
    NAMED_FEW,     // a named barrier that too few threads reach
    UNALIGNED,     // a coordinate that is not a multiple of 16 bytes
    NEGATIVE,      // a store at a negative coordinate
    CLUSTER_LEFT,  // one block of the cluster does not reach the barrier
    ALONE          // st_async without a cluster
};

__global__ void wrong(mistake what, const __grid_constant__ tensor_map map)
{
    __shared__ uint64_t loaded;
    int t = threadIdx.x;
    if (t == 0) {
        mbarrier_init(&loaded, 1);
        mbarrier_fence_init();
    }
    __syncthreads();
    if (t == 0 && what <= NO_WAIT) {
        mbarrier_expect(&loaded, what == FEW_BYTES ? 8192 : 4096);
        if (what == ARRIVALS) mbarrier_arrive(&loaded), mbarrier_arrive(&loaded);
        char *tile = smem + (what == PLACE ? 64 : what == OUTSIDE ? 1024 : 0);
        if (what == DIMENSIONS)
            tma_load(tile, &map, &loaded, 0, 0, 0);
        else
            tma_load(tile, &map, &loaded, 0, 0);
    }
    if (what <= FEW_BYTES) mbarrier_wait(&loaded, 0);
    if (what == PHASE) mbarrier_wait(&loaded, 1);
    if (what == NO_STORE && t == 0) tma_store(&map, smem, 0, 0), tma_commit();
    if (what >= NO_FENCE && what <= STEP) {
        float d[8];
        uint64_t tile = wgmma_tile<128>(smem);
        if (what != NO_FENCE) wgmma_fence(d);
        wgmma<wb_bf16>(d, tile, wgmma_step(tile, what == STEP ? 4096 : 0), false);
        if (what != NO_COMMIT) wgmma_commit();
        wgmma_wait<0>(d);
    }
    if (what == UNALIGNED && t == 0) tma_load(smem, &map, &loaded, 4, 0);
    if (what == NEGATIVE && t == 0) tma_store(&map, smem, 0, -1);
    if (what == NAMED) named_barrier_sync(1, t < 64 ? 128 : 64);
    if (what == NAMED_FEW && t < 64) named_barrier_sync(3, 96);
    if (what == CLUSTER_LEFT && cluster_rank() == 0) {
        mbarrier_wait(&loaded, 0);
        cluster_sync();
    }
    __shared__ float2 box;
    if (what == ALONE && t == 0) st_async(&box, make_float2(1, 2), &loaded, 0);
}

int main(int argc, char **argv)
{
    mistake what = (mistake)(argc > 1 ? atoi(argv[1]) : 0);
    wb_bf16 *x = managed<wb_bf16>(64 * 64);
    tensor_map map;
    if (!make_tensor_map(&map, x, {2, {64, 64}, {1, 64}, {64, 32}, 128})) return 3;
    launch_cluster(
        wrong, what == CLUSTER_LEFT ? 2 : 1, dim3(2), dim3(128),
        what == PLACE ? 8192 : 4096, 0, what, map);
    return finished() ? 0 : 1;
}
