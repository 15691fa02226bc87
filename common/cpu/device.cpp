/* device.cpp - the properties of the only device. Its limits are those of a GPU, so that
 * a kernel within them also runs there. */
#include "check/host_hooks.h"
#include "driver.h"
#include "dry.h"
#include "scheduler.h"

#include <stdio.h>
#include <unistd.h>

namespace wbcpu
{

/* --- the emulated architecture ------------------------------------------------------ */

constexpr int KB = 1024;
/* From the CUDA programming guide, "Technical Specifications per Compute Capability". */
static const architecture architectures[] = {
    {75, 64 * KB, 64 * KB, 0, 1024, 16},    {80, 163 * KB, 164 * KB, KB, 2048, 32},
    {86, 99 * KB, 100 * KB, KB, 1536, 16},  {89, 99 * KB, 100 * KB, KB, 1536, 24},
    {90, 227 * KB, 228 * KB, KB, 2048, 32}, {100, 227 * KB, 228 * KB, KB, 2048, 32},
    {120, 99 * KB, 100 * KB, KB, 1536, 24},
};
/* Without WBCPU_ARCH: sm_80, with all the shared memory that the back end has. */
static const architecture unset = {
    80, WBCPU_DYNAMIC_SHARED_MAX, WBCPU_DYNAMIC_SHARED_MAX + KB, KB, 2048, 32};

const architecture &emulated()
{
    static const architecture *chosen = [] {
        unsigned long long wanted = number_from("WBCPU_ARCH", 0);
        const char *text = getenv("WBCPU_ARCH");
        if (!text || !*text) return &unset;
        for (const architecture &a : architectures)
            if ((unsigned long long)a.capability == wanted) return &a;
        refuse("WBCPU_ARCH=%s: use 75, 80, 86, 89, 90, 100 or 120", text);
    }();
    return *chosen;
}
static_assert(227 * KB <= WBCPU_DYNAMIC_SHARED_MAX, "the largest shared_optin must fit");

static bool waits_are_avoided;
extern "C" void wbcpu_avoid_waits()
{
    waits_are_avoided = &emulated() == &unset;
}
extern "C" int wbcpu_avoids_waits()
{
    return waits_are_avoided;
}

/* --- properties --------------------------------------------------------------------- */

extern "C" cudaError_t cudaGetDeviceCount(int *count)
{
    driver_initialized = true;
    *count = 1;
    return cudaSuccess;
}
extern "C" cudaError_t cudaSetDevice(int device)
{
    use_device();
    return device == 0 ? cudaSuccess : fail(cudaErrorInvalidDevice);
}
extern "C" cudaError_t cudaGetDevice(int *device)
{
    *device = 0;
    return cudaSuccess;
}
/* There is one device, and it is not its own peer. */
extern "C" cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    *can = 0;
    return device == 0 && peer == 0 ? cudaSuccess : fail(cudaErrorInvalidDevice);
}
extern "C" cudaError_t cudaDeviceEnablePeerAccess(int, unsigned)
{
    return fail(cudaErrorInvalidDevice);
}
extern "C" cudaError_t cudaDeviceDisablePeerAccess(int)
{
    return fail(cudaErrorInvalidDevice);
}
static unsigned device_flags;
extern "C" cudaError_t cudaSetDeviceFlags(unsigned flags)
{
    device_flags = flags;
    return cudaSuccess;
}
extern "C" cudaError_t cudaGetDeviceFlags(unsigned *flags)
{
    *flags = device_flags;
    return cudaSuccess;
}
extern "C" cudaError_t cudaDeviceReset()
{
    check::device_synchronized();
    check::all_memory_freed();
    return cudaSuccess;
}
extern "C" cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}
extern "C" cudaError_t cudaDriverGetVersion(int *version)
{
    return cudaRuntimeGetVersion(version);
}
extern "C" cudaError_t cudaProfilerStart()
{
    return cudaSuccess;
}
extern "C" cudaError_t cudaProfilerStop()
{
    return cudaSuccess;
}

static int multiprocessors(int workers)
{
    if (is_dry()) return 132;  // real sizes, as on a real GPU: an H100
    int of_gpu = check::chosen_sms();
    unsigned long long most =
        number_from("WBCPU_SMS", (unsigned long long)(of_gpu < 0 ? workers : of_gpu));
    if (most < 1 || most > 1024)
        refuse("WBCPU_SMS=%s: use 1 to 1024 multiprocessors", getenv("WBCPU_SMS"));
    return (int)most;
}

extern "C" cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int device)
{
    driver_initialized = true;
    if (device != 0) return fail(cudaErrorInvalidDevice);
    memset(p, 0, sizeof *p);
    const architecture &a = emulated();
    int cores = worker_count();
    snprintf(p->name, sizeof p->name, "CPU, %d worker%s", cores, cores == 1 ? "" : "s");
    size_t free;
    cudaMemGetInfo(&free, &p->totalGlobalMem);
    p->sharedMemPerBlock = 48 * 1024;
    p->sharedMemPerBlockOptin = (size_t)a.shared_optin;
    p->sharedMemPerMultiprocessor = (size_t)a.shared_per_multiprocessor;
    p->reservedSharedMemPerBlock = (size_t)a.shared_reserved;
    p->regsPerBlock = p->regsPerMultiprocessor = 65536;
    p->warpSize = 32;
    p->memPitch = INT_MAX;
    p->maxThreadsPerBlock = max_threads;
    p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
    p->maxThreadsDim[2] = 64;
    p->maxGridSize[0] = INT_MAX;
    p->maxGridSize[1] = p->maxGridSize[2] = 65535;
    p->totalConstMem = 65536;
    p->major = a.capability / 10;
    p->minor = a.capability % 10;
    p->multiProcessorCount = multiprocessors(cores);
    p->maxThreadsPerMultiProcessor = a.threads_per_multiprocessor;
    p->maxBlocksPerMultiProcessor = a.blocks_per_multiprocessor;
    p->l2CacheSize = (int)sysconf(_SC_LEVEL2_CACHE_SIZE);
    p->integrated = p->canMapHostMemory = p->unifiedAddressing = p->managedMemory = 1;
    p->cooperativeLaunch = p->memoryPoolsSupported = p->streamPrioritiesSupported = 1;
    p->concurrentKernels = p->clusterLaunch = p->deviceOverlap = 1;
    p->asyncEngineCount = 2;
    p->textureAlignment = 512;
    p->texturePitchAlignment = 32;
    p->maxTexture1D = p->maxTexture2D[0] = p->maxTexture2D[1] = 65536;
    p->maxTexture3D[0] = p->maxTexture3D[1] = p->maxTexture3D[2] = 16384;
    /* A pointer to pageable memory is refused: pageableMemoryAccess is 0. */
    p->concurrentManagedAccess = p->hostNativeAtomicSupported = 1;
    return cudaSuccess;
}

extern "C" cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attr, int device)
{
    driver_initialized = true;
    cudaDeviceProp p;
    if (cudaError_t e = cudaGetDeviceProperties(&p, device)) return e;
    const struct {
        cudaDeviceAttr attr;
        size_t value;
    } known[] = {
        {cudaDevAttrMaxThreadsPerBlock, (size_t)p.maxThreadsPerBlock},
        {cudaDevAttrMaxBlockDimX, (size_t)p.maxThreadsDim[0]},
        {cudaDevAttrMaxBlockDimY, (size_t)p.maxThreadsDim[1]},
        {cudaDevAttrMaxBlockDimZ, (size_t)p.maxThreadsDim[2]},
        {cudaDevAttrMaxGridDimX, (size_t)p.maxGridSize[0]},
        {cudaDevAttrMaxGridDimY, (size_t)p.maxGridSize[1]},
        {cudaDevAttrMaxGridDimZ, (size_t)p.maxGridSize[2]},
        {cudaDevAttrMaxSharedMemoryPerBlock, p.sharedMemPerBlock},
        {cudaDevAttrTotalConstantMemory, p.totalConstMem},
        {cudaDevAttrWarpSize, (size_t)p.warpSize},
        {cudaDevAttrMaxRegistersPerBlock, (size_t)p.regsPerBlock},
        {cudaDevAttrMultiProcessorCount, (size_t)p.multiProcessorCount},
        {cudaDevAttrIntegrated, (size_t)p.integrated},
        {cudaDevAttrComputeMode, cudaComputeModeDefault},
        {cudaDevAttrL2CacheSize, (size_t)p.l2CacheSize},
        {cudaDevAttrMaxThreadsPerMultiProcessor, (size_t)p.maxThreadsPerMultiProcessor},
        {cudaDevAttrComputeCapabilityMajor, (size_t)p.major},
        {cudaDevAttrComputeCapabilityMinor, (size_t)p.minor},
        {cudaDevAttrMaxSharedMemoryPerMultiprocessor, p.sharedMemPerMultiprocessor},
        {cudaDevAttrMaxRegistersPerMultiprocessor, (size_t)p.regsPerMultiprocessor},
        {cudaDevAttrManagedMemory, (size_t)p.managedMemory},
        {cudaDevAttrMaxSharedMemoryPerBlockOptin, p.sharedMemPerBlockOptin},
        {cudaDevAttrMaxBlocksPerMultiprocessor, (size_t)p.maxBlocksPerMultiProcessor},
        {cudaDevAttrReservedSharedMemoryPerBlock, p.reservedSharedMemPerBlock},
        {cudaDevAttrTextureAlignment, p.textureAlignment},
        {cudaDevAttrGpuOverlap, 1},
        {cudaDevAttrCanMapHostMemory, 1},
        {cudaDevAttrConcurrentKernels, 1},
        {cudaDevAttrAsyncEngineCount, (size_t)p.asyncEngineCount},
        {cudaDevAttrUnifiedAddressing, 1},
        {cudaDevAttrMaxTexture1DWidth, (size_t)p.maxTexture1D},
        {cudaDevAttrMaxTexture2DWidth, (size_t)p.maxTexture2D[0]},
        {cudaDevAttrMaxTexture2DHeight, (size_t)p.maxTexture2D[1]},
        {cudaDevAttrConcurrentManagedAccess, 1},
        {cudaDevAttrHostNativeAtomicSupported, 1},
        {cudaDevAttrCooperativeLaunch, 1},
        {cudaDevAttrMemoryPoolsSupported, 1},
        {cudaDevAttrStreamPrioritiesSupported, 1},
        {cudaDevAttrClusterLaunch, 1},
    };
    *value = 0; /* clock rates: none */
    for (const auto &k : known)
        if (k.attr == attr) *value = (int)k.value;
    return cudaSuccess;
}

/* --- what a GPU may prefer; nothing here ---------------------------------------------- */
extern "C" cudaError_t cudaFuncSetCacheConfig(const void *, cudaFuncCache)
{
    return cudaSuccess;
}
extern "C" cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache)
{
    return cudaSuccess;
}
extern "C" cudaError_t cudaFuncSetSharedMemConfig(const void *, cudaSharedMemConfig)
{
    return cudaSuccess;
}
extern "C" cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig)
{
    return cudaSuccess;
}
extern "C" cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig *config)
{
    *config = cudaSharedMemBankSizeFourByte;  // also where another width was asked for
    return cudaSuccess;
}
/* --- functions ------------------------------------------------------------------------- */
extern "C" cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *a, const void *)
{
    use_device();
    memset(a, 0, sizeof *a); /* sharedSizeBytes: static shared memory is not counted */
    a->maxThreadsPerBlock = max_threads;
    a->numRegs = 32; /* a plausible value: programs divide by it */
    a->maxDynamicSharedSizeBytes = (int)dynamic_shared_limit();
    a->ptxVersion = a->binaryVersion = emulated().capability;
    return cudaSuccess;
}
/* One: a worker runs one block at a time. */
extern "C" cudaError_t
cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *, int, size_t)
{
    *blocks = 1;
    return cudaSuccess;
}
}  // namespace wbcpu
