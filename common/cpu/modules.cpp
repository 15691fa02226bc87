/* modules.cpp - kernels that a program loads from files or from memory
 * (wbcpu/modules.h). */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "include/cuda.h"
#include "include/cuda_runtime.h"
#include "scheduler.h"

namespace wbcpu
{
static CUresult refuse_image(const char *what, const char *why)
{
    note(
        "%s: not a module made by wbcc -ptx, -cubin or -fatbin (%s); code for a GPU cannot run on "
        "the CPU",
        what, why);
    return CUDA_ERROR_INVALID_IMAGE;
}
static CUresult open_module(CUmodule *module, const char *path, const char *what)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) return refuse_image(what, dlerror());
    *module = (CUmodule)library;
    return CUDA_SUCCESS;
}

/* The section headers are the last part of a shared library that the linker wrote. */
static size_t size_of_library(const void *image)
{
    ElfW(Ehdr) header;
    __builtin_memcpy(&header, image, SELFMAG);
    if (__builtin_memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return 0;
    __builtin_memcpy(&header, image, sizeof header);
    return header.e_shoff + (size_t)header.e_shnum * header.e_shentsize;
}

extern "C" CUresult cuModuleLoad(CUmodule *module, const char *file)
{
    WBCPU_NEEDS(1);
    char *path = realpath(file, nullptr);
    if (!path) return CUDA_ERROR_FILE_NOT_FOUND;
    CUresult error = open_module(module, path, file);
    free(path);
    return error;
}
extern "C" CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    WBCPU_NEEDS(1);
    size_t bytes = size_of_library(image), written = 0;
    if (!bytes) return refuse_image("cuModuleLoadData", "not an ELF file");
    int file = memfd_create("module", MFD_CLOEXEC);
    while (file >= 0 && written < bytes) {
        ssize_t n = write(file, (const char *)image + written, bytes - written);
        if (n <= 0) break;
        written += (size_t)n;
    }
    std::string path = "/proc/self/fd/" + std::to_string(file);
    CUresult error = written == bytes
                         ? open_module(module, path.c_str(), "cuModuleLoadData")
                         : CUDA_ERROR_OUT_OF_MEMORY;
    if (file >= 0) close(file);
    return error;
}
extern "C" CUresult
cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned, CUjit_option *, void **)
{
    return cuModuleLoadData(module, image);
}
extern "C" CUresult cuModuleLoadFatBinary(CUmodule *module, const void *image)
{
    return cuModuleLoadData(module, image);
}
extern "C" CUresult cuModuleUnload(CUmodule module)
{
    if (!module) return CUDA_ERROR_INVALID_HANDLE;
    cudaError_t error = cudaDeviceSynchronize(); /* its kernels have finished */
    dlclose(module);
    return (CUresult)error;
}

extern "C" CUresult
cuModuleGetFunction(CUfunction *kernel, CUmodule module, const char *name)
{
    if (!module) return CUDA_ERROR_INVALID_HANDLE;
    bool is_pointer = *name == '*'; /* nvrtcGetLoweredName: a variable has the address */
    void *address = dlsym(module, name + is_pointer);
    if (!address) return CUDA_ERROR_NOT_FOUND;
    *kernel = is_pointer ? *(CUfunction *)address : (CUfunction)address;
    return CUDA_SUCCESS;
}
extern "C" CUresult
cuModuleGetGlobal(CUdeviceptr *p, size_t *bytes, CUmodule module, const char *name)
{
    if (!module) return CUDA_ERROR_INVALID_HANDLE;
    void *address = dlsym(module, name);
    Dl_info library;
    const ElfW(Sym) * symbol;
    if (!address || !dladdr1(address, &library, (void **)&symbol, RTLD_DL_SYMENT) ||
        !symbol)
        return CUDA_ERROR_NOT_FOUND;
    if (p) *p = (CUdeviceptr)(uintptr_t)address;
    if (bytes) *bytes = symbol->st_size;
    return CUDA_SUCCESS;
}

/* Pointers into the buffer of the launch; false: the buffer is too small. */
static bool
find_arguments(std::vector<void *> *arguments, const void *kernel, void **extra)
{
    char *buffer = nullptr;
    size_t bytes = 0, at = 0;
    for (; *extra != CU_LAUNCH_PARAM_END; extra += 2)
        if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
            buffer = (char *)extra[1];
        else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
            bytes = *(size_t *)extra[1];
    const wbcpu_parameter *parameter = wbcpu_parameters_of(kernel);
    for (; parameter && parameter->bytes; parameter++) {
        at =
            (at + parameter->alignment - 1) / parameter->alignment * parameter->alignment;
        arguments->push_back(buffer + at);
        at += parameter->bytes;
    }
    return at <= bytes;
}
extern "C" CUresult cuLaunchKernel(
    CUfunction kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z,
    unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
    CUstream stream, void **arguments, void **extra)
{
    WBCPU_NEEDS(1);
    std::vector<void *> found;
    if (!kernel) return CUDA_ERROR_INVALID_HANDLE;
    if (extra && !find_arguments(&found, kernel, extra)) return CUDA_ERROR_INVALID_VALUE;
    return (CUresult)cudaLaunchKernel(
        (const void *)kernel, dim3(grid_x, grid_y, grid_z),
        dim3(block_x, block_y, block_z), extra ? found.data() : arguments, shared_bytes,
        stream, "cuLaunchKernel", 0);
}
extern "C" CUresult cuLaunchCooperativeKernel(
    CUfunction kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z,
    unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
    CUstream stream, void **arguments)
{
    if (!kernel) return CUDA_ERROR_INVALID_HANDLE;
    return (CUresult)cudaLaunchCooperativeKernel(
        (const void *)kernel, dim3(grid_x, grid_y, grid_z),
        dim3(block_x, block_y, block_z), arguments, shared_bytes, stream,
        "cuLaunchCooperativeKernel", 0);
}
}  // namespace wbcpu
