/* mbarrier.cuh - barriers in shared memory that count arrivals and bytes.
 *
 *     mbarrier_init          one thread: the barrier's phase 0 begins
 *     mbarrier_fence_init    then the copy engine and other blocks see it, too
 *     mbarrier_expect        arrives, and the phase also waits for this many bytes
 *     mbarrier_arrive        arrives; ordinary writes before it are released
 *     mbarrier_wait          waits for a phase's end; what came before it is visible
 *     fence_async            ordinary writes to shared memory become visible to TMA and
 *                            wgmma, which read it through the "async proxy"
 *     named_barrier_sync     __syncthreads of some warps, named_barrier_arrive: no wait
 *
 * A barrier is a uint64_t in shared memory. A phase ends when the number of arrivals that
 * mbarrier_init named has come and all expected bytes have been copied. The next phase
 * then begins, with the same number of arrivals:
 *
 *     phase           0                     1                    2
 *     parity          0                     1                    0
 *               |-------------------|--------------------|-----------------
 *     bytes      expect .. copied    expect ..... copied  expect
 *     wait(0)    ...... waits ..... returns until 1 ends, then waits again
 *     wait(1)    returns             ...... waits ...... returns
 *
 * mbarrier_wait(b, p) waits while the current phase has parity p. So a ring of STAGES
 * buffers needs one bit, which flips whenever the ring begins again: number i of the
 * buffers uses stage i % STAGES and parity i / STAGES & 1. The consumer waits on full with
 * this parity. The producer waits on empty with the other one, parity ^ 1: at a fresh
 * barrier this returns immediately, because the buffer is empty to begin with.
 */
#ifndef CUDA_MBARRIER_CUH
#define CUDA_MBARRIER_CUH
#include "cuda/mma.cuh"

#ifndef __CUDACPU__

/* Code of sm_90a. A kernel compiled for another architecture traps here; a launcher
 * asks has_wgmma before it chooses such a kernel. */
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define PTX_SM90A(...) asm volatile(__VA_ARGS__)
#else
#define PTX_SM90A(...) __trap()
#endif

static __device__ __forceinline__ void mbarrier_init(uint64_t *b, int arrivals)
{
    PTX_SM90A("mbarrier.init.shared::cta.b64 [%0], %1;"
              :
              : "r"(smem_address(b)), "r"(arrivals)
              : "memory");
}
static __device__ __forceinline__ void mbarrier_fence_init(void)
{
    PTX_SM90A("fence.mbarrier_init.release.cluster;" ::: "memory");
}

static __device__ __forceinline__ void mbarrier_expect(uint64_t *b, int bytes)
{
    PTX_SM90A("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
              :
              : "r"(smem_address(b)), "r"(bytes)
              : "memory");
}
static __device__ __forceinline__ void mbarrier_arrive(uint64_t *b)
{
    PTX_SM90A("mbarrier.arrive.shared::cta.b64 _, [%0];"
              :
              : "r"(smem_address(b))
              : "memory");
}
/* At the barrier in the same place of the shared memory of this block of the cluster */
static __device__ __forceinline__ void mbarrier_arrive_remote(uint64_t *b, int rank)
{
    PTX_SM90A("{\n"
              ".reg .b32 there;\n"
              "mapa.shared::cluster.u32 there, %0, %1;\n"
              "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there];\n"
              "}"
              :
              : "r"(smem_address(b)), "r"(rank)
              : "memory");
}
static __device__ __forceinline__ void mbarrier_wait(uint64_t *b, int parity)
{
    unsigned ended = 0;
    do
        PTX_SM90A("{\n"
                  ".reg .pred p;\n"
                  "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                  "selp.u32 %0, 1, 0, p;\n"
                  "}"
                  : "=r"(ended)
                  : "r"(smem_address(b)), "r"(parity)
                  : "memory");
    while (!ended);
}

static __device__ __forceinline__ void fence_async(void)
{
    PTX_SM90A("fence.proxy.async.shared::cta;" ::: "memory");
}

/* id 1 to 15 (0 is __syncthreads); threads: those that sync and those that arrive, a
 * multiple of 32. All threads of a warp call it together. */
static __device__ __forceinline__ void named_barrier_sync(int id, int threads)
{
    asm volatile("barrier.sync.aligned %0, %1;" : : "r"(id), "r"(threads) : "memory");
}
static __device__ __forceinline__ void named_barrier_arrive(int id, int threads)
{
    asm volatile("barrier.arrive.aligned %0, %1;" : : "r"(id), "r"(threads) : "memory");
}
#else
#include <cuda_awbarrier_primitives.h>

WBCPU_INLINE void mbarrier_init(uint64_t *b, int arrivals)
{
    wbcpu_mbarrier_init(b, (uint32_t)arrivals);
}
WBCPU_INLINE void mbarrier_fence_init(void) {}
WBCPU_INLINE void mbarrier_expect(uint64_t *b, int bytes)
{
    wbcpu_mbarrier_arrive(b, 1, false, bytes);
}
WBCPU_INLINE void mbarrier_arrive(uint64_t *b)
{
    wbcpu_mbarrier_arrive(b, 1, false);
}
WBCPU_INLINE void mbarrier_arrive_remote(uint64_t *b, int rank)
{
    mbarrier_arrive((uint64_t *)wbcpu_cluster_map(b, rank));
    wbcpu_cluster_touched();
}
WBCPU_INLINE void mbarrier_wait(uint64_t *b, int parity)
{
    wbcpu_mbarrier_wait(b, parity != 0);
}
WBCPU_INLINE void fence_async(void)
{
    wbcpu_fence_async();
}
WBCPU_INLINE void named_barrier_sync(int id, int threads)
{
    wbcpu_named_barrier(id, threads, true);
}
WBCPU_INLINE void named_barrier_arrive(int id, int threads)
{
    wbcpu_named_barrier(id, threads, false);
}
#endif
#endif
