/* pdl.cuh - programmatic dependent launch: a kernel starts before the previous one ends.
 *
 * A decode step is a chain of short kernels; most of its time passes before their first
 * bytes arrive. With programmatic dependent launch (compute capability 9.0; also inside a
 * CUDA graph) the blocks of the next kernel are resident when the previous one ends, and
 * have already loaded everything that no other kernel of the step writes. A kernel that
 * launch_pdl starts therefore calls
 *     pdl_trigger()  first: the next kernel may start
 *     pdl_wait()     in every thread that accesses another kernel's data, before it does;
 *                    and in at least one thread of the grid: otherwise the kernel after
 *                    this one could overtake the one before it.
 * On older GPUs and on the CPU back end this is an ordinary launch; check mode reports an
 * access before pdl_wait() to what an earlier kernel writes. When a lab is graded, earlier
 * kernels write every argument except weights and the table of rope.h.
 */
#ifndef CUDA_PDL_CUH
#define CUDA_PDL_CUH
#include "cuda/device.cuh"

static __device__ __forceinline__ void pdl_wait(void)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#elif defined(__CUDACPU__)
    wbcpu_pdl_wait();
#endif
}

static __device__ __forceinline__ void pdl_trigger(void)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/* In clusters of `blocks` blocks (cuda/cluster.cuh; 1: none). overlaps: as launch_pdl */
#ifdef __CUDACPU__
template <typename... P, typename... A>
static void launch_with(
    bool overlaps, void (*kernel)(P...), int blocks, dim3 grid, dim3 block, int smem,
    cudaStream_t stream, A... args)
{
    allow_smem(kernel, smem);
    wbcpu_next_launch_is((const void *)kernel, blocks, overlaps);
    kernel<<<grid, block, smem, stream>>>(P(args)...);
}
#else
template <typename... P, typename... A>
static void launch_with(
    bool overlaps, void (*kernel)(P...), int blocks, dim3 grid, dim3 block, int smem,
    cudaStream_t stream, A... args)
{
    // cudaLaunchKernelEx would clear an earlier error, which the caller asks for later
    if (cudaPeekAtLastError() != cudaSuccess) return;
    overlaps = overlaps && code_arch() >= 90;  // else pdl_wait is empty
    allow_smem(kernel, smem);
    if (blocks > 8)
        cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
    // kernels can share a multiprocessor only if they split its memory in the same way
    if (overlaps)
        cudaFuncSetAttribute(
            kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
            cudaSharedmemCarveoutMaxShared);
    cudaLaunchAttribute cluster, overlap, attributes[2];
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = (unsigned)blocks;
    cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {grid, block, (size_t)smem, stream, attributes, 0};
    if (blocks > 1) attributes[config.numAttrs++] = cluster;
    if (CUDART_VERSION >= 12030 && overlaps)  // 12.3: under capture too
        attributes[config.numAttrs++] = overlap;
    cudaLaunchKernelEx(&config, kernel, P(args)...);
}
#endif

template <typename... P, typename... A>
static void launch_pdl_cluster(
    void (*kernel)(P...), int blocks, dim3 grid, dim3 block, int smem,
    cudaStream_t stream, A... args)
{
    launch_with(true, kernel, blocks, grid, block, smem, stream, args...);
}

template <typename... P, typename... A>
static void launch_pdl(
    void (*kernel)(P...), dim3 grid, dim3 block, int smem, cudaStream_t stream, A... args)
{
    launch_pdl_cluster(kernel, 1, grid, block, smem, stream, args...);
}

#endif
