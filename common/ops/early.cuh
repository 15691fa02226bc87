/* early.cuh - a kernel that starts before the one in front of it has ended.
 *
 * A decode step is a chain of short kernels; most of its time goes by before their first
 * bytes arrive. With programmatic dependent launch (compute capability 9.0, also inside of
 * a CUDA graph) a kernel's blocks are there already, with all that no other kernel of the
 * step writes, when the one in front of it ends. So every kernel that launch_early starts
 *     - calls let_next_kernel_start() first: the one behind it may do the same
 *     - calls wait_for_kernel_before() in every thread that reads or writes what another
 *       kernel touches, before it does, and in at least one thread of the grid: then the
 *       one behind it cannot get ahead of two.
 * Elsewhere, and on the CPU back end, it is a launch like any other.
 */
#ifndef EARLY_CUH
#define EARLY_CUH
#include "wb.h"

static __device__ __forceinline__ void wait_for_kernel_before(void)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

static __device__ __forceinline__ void let_next_kernel_start(void)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

template <typename... P> static void allow_shared(void (*kernel)(P...), int bytes)
{
    if (bytes > 48 << 10)
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
}

#ifdef __CUDACPU__
template <typename... P, typename... A>
static void launch_early(
    void (*kernel)(P...), dim3 grid, dim3 threads, int bytes, cudaStream_t s, A... a)
{
    allow_shared(kernel, bytes);
    kernel<<<grid, threads, bytes, s>>>(a...);
}
#else
template <typename... P, typename... A>
static void launch_early(
    void (*kernel)(P...), dim3 grid, dim3 threads, int bytes, cudaStream_t s, A... a)
{
    // an error of before is asked for behind the last kernel: it must still be there
    if (cudaPeekAtLastError() != cudaSuccess) return;
    int device = 0, major = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    allow_shared(kernel, bytes);
    // kernels that divide a multiprocessor's memory differently cannot share it
    if (major >= 9)
        cudaFuncSetAttribute(
            kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
            cudaSharedmemCarveoutMaxShared);
    cudaLaunchAttribute early;
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t how = {grid, threads, (size_t)bytes, s, &early, 0};
    how.numAttrs = CUDART_VERSION >= 12030 && major >= 9;  // 12.3: under capture too
    cudaLaunchKernelEx(&how, kernel, P(a)...);
}
#endif

#endif
