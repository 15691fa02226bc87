/* virtual_memory.h - the driver API's reserved addresses and the allocations mapped there.
 * C11 and C++. An allocation can be mapped at several places, which show the same contents.
 * Nothing can be exported to another process. */
#ifndef WBCPU_VIRTUAL_MEMORY_H
#define WBCPU_VIRTUAL_MEMORY_H

typedef unsigned long long CUmemGenericAllocationHandle;
typedef enum {
    CU_MEM_ALLOCATION_TYPE_INVALID = 0,
    CU_MEM_ALLOCATION_TYPE_PINNED = 1
} CUmemAllocationType;
typedef enum {
    CU_MEM_HANDLE_TYPE_NONE = 0,
    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR = 1,
    CU_MEM_HANDLE_TYPE_WIN32 = 2,
    CU_MEM_HANDLE_TYPE_WIN32_KMT = 4
} CUmemAllocationHandleType;
typedef enum {
    CU_MEM_LOCATION_TYPE_INVALID = 0,
    CU_MEM_LOCATION_TYPE_DEVICE = 1,
    CU_MEM_LOCATION_TYPE_HOST = 2
} CUmemLocationType;
typedef enum {
    CU_MEM_ACCESS_FLAGS_PROT_NONE = 0,
    CU_MEM_ACCESS_FLAGS_PROT_READ = 1,
    CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3
} CUmemAccess_flags;
typedef enum {
    CU_MEM_ALLOC_GRANULARITY_MINIMUM = 0,
    CU_MEM_ALLOC_GRANULARITY_RECOMMENDED = 1
} CUmemAllocationGranularity_flags;
enum { CU_MEM_ALLOCATION_COMP_NONE = 0, CU_MEM_ALLOCATION_COMP_GENERIC = 1 };
typedef struct {
    CUmemLocationType type;
    int id;
} CUmemLocation;
typedef struct {
    CUmemAllocationType type;
    CUmemAllocationHandleType requestedHandleTypes;
    CUmemLocation location;
    void *win32HandleMetaData;
    struct {
        unsigned char compressionType, gpuDirectRDMACapable;
        unsigned short usage;
        unsigned char reserved[4];
    } allocFlags;
} CUmemAllocationProp;
typedef struct {
    CUmemLocation location;
    CUmemAccess_flags flags;
} CUmemAccessDesc;

#ifdef __cplusplus
extern "C" {
#endif

/* Sizes must be multiples of the granularity. */
CUresult cuMemGetAllocationGranularity(
    size_t *bytes, const CUmemAllocationProp *about,
    CUmemAllocationGranularity_flags option);

/* wanted: a hint, which is ignored */
CUresult cuMemAddressReserve(
    CUdeviceptr *p, size_t bytes, size_t alignment, CUdeviceptr wanted,
    unsigned long long flags);
CUresult cuMemAddressFree(CUdeviceptr p, size_t bytes);

/* CUDA_ERROR_NOT_SUPPORTED: memory of the host, or for export to another process */
CUresult cuMemCreate(
    CUmemGenericAllocationHandle *handle, size_t bytes, const CUmemAllocationProp *about,
    unsigned long long flags);
CUresult
cuMemRelease(CUmemGenericAllocationHandle handle); /* freed when it is unmapped */
CUresult cuMemGetAllocationPropertiesFromHandle(
    CUmemAllocationProp *about, CUmemGenericAllocationHandle handle);

/* The whole of an allocation */
CUresult cuMemMap(
    CUdeviceptr p, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
    unsigned long long flags);
CUresult cuMemUnmap(CUdeviceptr p, size_t bytes);
/* Here all mapped memory can be read and written. */
CUresult
cuMemSetAccess(CUdeviceptr p, size_t bytes, const CUmemAccessDesc *access, size_t count);

#ifdef __cplusplus
}
#endif
#endif
