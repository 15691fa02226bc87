/* hopper.cuh - the instructions that only Hopper has (compute capability 9.0, sm_90a).
 *
 *     cuda/mbarrier.cuh   barriers that count arrivals and bytes; named barriers
 *     cuda/tma.cuh        one thread copies a tile between device and shared memory
 *     cuda/wgmma.cuh      four warps multiply tiles that lie in shared memory
 *     cuda/cluster.cuh    blocks that read each other's shared memory
 *     has_wgmma<E>()      on the host: whether the code that runs has all these
 *     runs_wgmma<E>()     the same, or the CPU back end
 *     setmaxnreg          moves registers from one warpgroup to another
 *     elect_one           true in one thread of a warp
 *     add_float4          adds to 16 bytes of device memory, in the L2 cache
 *     store_release       sets a flag for other blocks, after what was written before it
 *     load_acquire        reads it; what was written before the flag is then visible
 *
 * A kernel that is compiled for another architecture compiles and traps. A launcher
 * therefore asks has_wgmma<E>() and takes a kernel with mma (mma.cuh) otherwise.
 *
 * A warp-specialized kernel is a pipeline through a ring of STAGES tiles:
 *
 *     producer warp                              consumer warpgroup (128 threads)
 *     for i = 0, 1, 2 ...                        for i = 0, 1, 2 ...
 *       s = i % STAGES, p = i / STAGES & 1         s = i % STAGES, p = i / STAGES & 1
 *       mbarrier_wait(&empty[s], p ^ 1)            mbarrier_wait(&full[s], p)
 *       mbarrier_expect(&full[s], bytes)           wgmma ... on tile[s]; wgmma_wait<0>
 *       tma_load(tile[s], &map, &full[s], ...)     mbarrier_arrive(&empty[s])
 */
#ifndef CUDA_HOPPER_CUH
#define CUDA_HOPPER_CUH
#include "cuda/cluster.cuh"
#include "cuda/tma.cuh"
#include "cuda/wgmma.cuh"

#ifndef __CUDACPU__

/* Its launch bounds tell the host whether sm_90a's code runs: that of compute_90, compiled
 * by the driver, reports the same architecture. */
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
static __global__ void __launch_bounds__(128) wgmma_probe(void) {}
#else
static __global__ void __launch_bounds__(32) wgmma_probe(void) {}
#endif
static inline bool code_is_sm90a(void)
{
    static int threads;
    if (!threads) {
        cudaFuncAttributes about;
        if (cudaFuncGetAttributes(&about, wgmma_probe) != cudaSuccess) return false;
        threads = about.maxThreadsPerBlock;
    }
    return threads == 128;
}

/* The threads of a warpgroup may use at most N registers each from here on: N is a
 * multiple of 8 from 24 to 240. All warps of the warpgroup execute it. The sum over the
 * block must not exceed what it was launched with: setmaxnreg_inc waits until enough
 * are free. It counts only in a kernel with __launch_bounds__(threads, 1). */
template <int N> static __device__ __forceinline__ void setmaxnreg_inc(void)
{
    PTX_SM90A("setmaxnreg.inc.sync.aligned.u32 %0;" : : "n"(N));
}
template <int N> static __device__ __forceinline__ void setmaxnreg_dec(void)
{
    PTX_SM90A("setmaxnreg.dec.sync.aligned.u32 %0;" : : "n"(N));
}

/* *to += x in the L2 cache: nothing is read into registers. Sums of floats depend on
 * their order, so threads that add to the same place must take turns. */
static __device__ __forceinline__ void add_float4(float4 *to, float4 x)
{
    PTX_SM90A("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};"
              :
              : "l"(to), "f"(x.x), "f"(x.y), "f"(x.z), "f"(x.w)
              : "memory");
}

/* A flag that passes data from block to block. What the other threads of the block wrote
 * before a barrier is released, too. Much cheaper than __threadfence(), which also orders
 * what this thread reads later with respect to all other flags. */
static __device__ __forceinline__ void store_release(int *flag, int value)
{
    PTX_SM90A("st.release.gpu.global.s32 [%0], %1;" : : "l"(flag), "r"(value) : "memory");
}
static __device__ __forceinline__ int load_acquire(const int *flag)
{
    int value = 0;
    PTX_SM90A("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
    return value;
}

/* All lanes call it; the compiler then knows that one thread continues. */
static __device__ __forceinline__ bool elect_one(void)
{
    unsigned elected = 0;
    PTX_SM90A("{\n"
              ".reg .pred p;\n"
              "elect.sync _|p, 0xffffffff;\n"
              "selp.u32 %0, 1, 0, p;\n"
              "}"
              : "=r"(elected));
    return elected != 0;
}
constexpr bool RUNS_ON_CPU = false;
#else
constexpr bool RUNS_ON_CPU = true;
static inline bool code_is_sm90a(void)
{
    return code_arch() == 90;
}
template <int N> WBCPU_INLINE void setmaxnreg_inc(void) {}
template <int N> WBCPU_INLINE void setmaxnreg_dec(void) {}
WBCPU_INLINE void add_float4(float4 *to, float4 x)
{
    float4 y = *to;
    *to = make_float4(y.x + x.x, y.y + x.y, y.z + x.z, y.w + x.w);
}
WBCPU_INLINE void store_release(int *flag, int value)
{
    __threadfence();
    *(volatile int *)flag = value;
}
WBCPU_INLINE int load_acquire(const int *flag)
{
    int value = *(const volatile int *)flag;
    __threadfence();
    return value;
}
WBCPU_INLINE bool elect_one(void)
{
    __syncwarp();
    return wbcpu_lane() == 0;
}
#endif

/* Host. false: take a kernel with mma or without tensor cores. On the CPU back end it is
 * true with WBCPU_ARCH=90, because the kernels for other GPUs run faster there. */
template <typename E> static inline bool has_wgmma(void)
{
    return sizeof(E) == 2 && code_is_sm90a();
}
/* For a rung, which has no other kernel: also true on the CPU back end. */
template <typename E> static inline bool runs_wgmma(void)
{
    return sizeof(E) == 2 && (code_is_sm90a() || RUNS_ON_CPU);
}

#endif
