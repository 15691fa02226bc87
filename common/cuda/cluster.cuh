/* cluster.cuh - blocks that run at the same time and read each other's shared memory.
 *
 *     launch_cluster      host: consecutive blocks in x form clusters of this size
 *     cluster_rank        this block's number in its cluster
 *     cluster_sync        __syncthreads for all blocks of the cluster
 *     cluster_map         where a variable in shared memory lies in another block
 *     st_async            stores there and tells an mbarrier there that 8 bytes have come
 *
 *     blockIdx.x     0   1   2   3 | 4   5   6   7 | ...       cluster size 4
 *     cluster_rank   0   1   2   3 | 0   1   2   3 |
 *
 *     float *theirs = cluster_map(mine, 2);      mine, but in the block of rank 2;
 *     sum += *theirs;                            an ordinary pointer to load and store
 *
 * A block must not touch another one's shared memory before that block runs, nor after it
 * has ended. So a cluster_sync comes before the first and after the last such access.
 *
 * cluster_sync waits until all earlier stores have left the block, those to device memory
 * too. Where blocks exchange a little again and again, an mbarrier in each of them costs
 * less: it expects the bytes, and each st_async both stores and counts its 8 bytes. A
 * kernel that was launched without clusters (of one block) must not call st_async.
 */
#ifndef CUDA_CLUSTER_CUH
#define CUDA_CLUSTER_CUH
#include "cuda/mbarrier.cuh"
#include "cuda/pdl.cuh"

#ifndef __CUDACPU__

static __device__ __forceinline__ int cluster_rank(void)
{
    unsigned rank = 0;
    PTX_SM90A("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return (int)rank;
}

static __device__ __forceinline__ void cluster_arrive(void)
{
    PTX_SM90A("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
static __device__ __forceinline__ void cluster_wait(void)
{
    PTX_SM90A("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
template <typename T> static __device__ __forceinline__ T *cluster_map(T *p, int rank)
{
    T *there = p;
    PTX_SM90A("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(p), "r"(rank));
    return there;
}
/* *p = x in the block of this rank, where b counts the bytes. p and b are variables of this
 * block; p is a multiple of 8. */
static __device__ __forceinline__ void
st_async(float2 *p, float2 x, uint64_t *b, int rank)
{
    PTX_SM90A("{\n"
              ".reg .b32 to, barrier;\n"
              "mapa.shared::cluster.u32 to, %0, %2;\n"
              "mapa.shared::cluster.u32 barrier, %1, %2;\n"
              "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.f32"
              " [to], {%3, %4}, [barrier];\n"
              "}"
              :
              : "r"(smem_address(p)), "r"(smem_address(b)), "r"(rank), "f"(x.x), "f"(x.y)
              : "memory");
}
#else
WBCPU_INLINE int cluster_rank(void)
{
    return wbcpu_cluster_rank();
}
WBCPU_INLINE void cluster_arrive(void)
{
    wbcpu_cluster_arrive();
}
WBCPU_INLINE void cluster_wait(void)
{
    wbcpu_cluster_wait();
}
template <typename T> WBCPU_INLINE T *cluster_map(T *p, int rank)
{
    return (T *)wbcpu_cluster_map(p, rank);
}
WBCPU_INLINE void st_async(float2 *p, float2 x, uint64_t *b, int rank)
{
    *cluster_map(p, rank) = x;
    wbcpu_mbarrier_arrive(cluster_map(b, rank), 0, false, -8);
    wbcpu_cluster_sent();
}
#endif

static __device__ __forceinline__ void cluster_sync(void)
{
    cluster_arrive();
    cluster_wait();
}

/* grid.x is a multiple of `blocks`, which is at most 8, or 16 where the GPU has so many
 * multiprocessors in a group and the driver finds them. */
template <typename... P, typename... A>
static void launch_cluster(
    void (*kernel)(P...), int blocks, dim3 grid, dim3 block, int smem,
    cudaStream_t stream, A... args)
{
    launch_with(false, kernel, blocks, grid, block, smem, stream, args...);
}

#endif
