/* modules.h - the driver API's modules: files of kernels that a program loads. C11 and C++.
 * Here a module is a shared library that `wbcc -ptx`, -cubin or -fatbin makes. */
#ifndef WBCPU_MODULES_H
#define WBCPU_MODULES_H

#define CU_LAUNCH_PARAM_END ((void *)0)
#define CU_LAUNCH_PARAM_BUFFER_POINTER ((void *)1)
#define CU_LAUNCH_PARAM_BUFFER_SIZE ((void *)2)

typedef enum { /* the compiler's options, which have no effect */
               CU_JIT_MAX_REGISTERS = 0,
               CU_JIT_THREADS_PER_BLOCK = 1,
               CU_JIT_WALL_TIME = 2,
               CU_JIT_INFO_LOG_BUFFER = 3,
               CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES = 4,
               CU_JIT_ERROR_LOG_BUFFER = 5,
               CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
               CU_JIT_OPTIMIZATION_LEVEL = 7,
               CU_JIT_TARGET_FROM_CUCONTEXT = 8,
               CU_JIT_TARGET = 9,
               CU_JIT_FALLBACK_STRATEGY = 10,
               CU_JIT_GENERATE_DEBUG_INFO = 11,
               CU_JIT_LOG_VERBOSE = 12,
               CU_JIT_GENERATE_LINE_INFO = 13,
               CU_JIT_CACHE_MODE = 14
} CUjit_option;

#ifdef __cplusplus
extern "C" {
#endif

/* CUDA_ERROR_FILE_NOT_FOUND; CUDA_ERROR_INVALID_IMAGE: no module of wbcc, for example PTX */
CUresult cuModuleLoad(CUmodule *module, const char *file);
CUresult cuModuleLoadData(CUmodule *module, const void *image);
CUresult cuModuleLoadDataEx(
    CUmodule *module, const void *image, unsigned count, CUjit_option *options,
    void **values);
CUresult cuModuleLoadFatBinary(CUmodule *module, const void *image);
CUresult cuModuleUnload(CUmodule module);

/* A kernel by its name: that of an extern "C" kernel, or the mangled one. CUDA_ERROR_NOT_FOUND
 */
CUresult cuModuleGetFunction(CUfunction *kernel, CUmodule module, const char *name);
CUresult
cuModuleGetGlobal(CUdeviceptr *p, size_t *bytes, CUmodule module, const char *name);

/* The arguments: pointers to them, or in `extra` a buffer that has them one after another,
 * each aligned as its type. */
CUresult cuLaunchKernel(
    CUfunction kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z,
    unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
    CUstream stream, void **arguments, void **extra);
CUresult cuLaunchCooperativeKernel(
    CUfunction kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z,
    unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
    CUstream stream, void **arguments);
#ifdef __cplusplus
}

#include "unsupported.h"
#define WBCPU_LINKER(name)                                                               \
    WBCPU_UNSUPPORTED(name, "the back end has no linker for GPU code: use cuModuleLoad")
WBCPU_LINKER(cuLibraryLoadData)
WBCPU_LINKER(cuLinkCreate)
#undef WBCPU_LINKER
#endif

#endif
