/* device.cuh - what a launcher asks about the GPU before it chooses a kernel.
 *
 *     sm_count()           multiprocessors of the current device
 *     code_arch()          the architecture its kernels were compiled for: 75, 80, 90 ...
 *     max_smem_per_block() bytes of shared memory that one block may have
 *     allow_smem(k, n)     lets kernel k ask for n bytes of dynamic shared memory
 *     waits_are_cheap()    whether threads gain from sharing a row; false in a program on
 *                          the CPU back end that has called wb_avoid_waits (ops.h)
 *
 * Host functions. None of them synchronizes, so launchers may call them under stream
 * capture. On the CPU back end they describe the GPU that WBCPU_ARCH names.
 */
#ifndef CUDA_DEVICE_CUH
#define CUDA_DEVICE_CUH
#include "wb.h"

static inline int device_attribute(cudaDeviceAttr which)
{
    int device = 0, value = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&value, which, device);
    return value;
}

static inline int sm_count(void)
{
    int count = device_attribute(cudaDevAttrMultiProcessorCount);
    return count > 0 ? count : 1;
}

static __global__ void arch_probe(void) {}

/* The virtual architecture that the running machine code was compiled from. It can be
 * older than the GPU: code built for compute_75 runs on newer GPUs too, but only with the
 * instructions of Turing. */
static inline int code_arch(void)
{
    static int arch;  // the same on every device of a machine with one kind of GPU
    if (!arch) {
        cudaFuncAttributes about;
        if (cudaFuncGetAttributes(&about, arch_probe) != cudaSuccess) return 0;
        arch = about.ptxVersion;
    }
    return arch;
}

/* No more than that architecture offers, so that a build for an older architecture
 * behaves the same on every GPU. */
static inline int max_smem_per_block(void)
{
    int arch = code_arch();
    int limit = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
    int of_arch = arch < 80                                  ? 64 << 10
                  : arch == 80 || arch == 87                 ? 163 << 10
                  : arch < 90 || (arch >= 120 && arch < 130) ? 99 << 10
                                                             : 227 << 10;
    return limit < of_arch ? limit : of_arch;
}

/* A kernel gets more than 48 KB, its static shared memory included, only after this
 * call. */
template <typename... P> static inline void allow_smem(void (*kernel)(P...), size_t bytes)
{
    if (bytes > 40 << 10)
        cudaFuncSetAttribute(
            (const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
            (int)bytes);
}

static inline bool waits_are_cheap(void)
{
#ifdef __CUDACPU__
    return !wbcpu_avoids_waits();
#else
    return true;
#endif
}

#endif
