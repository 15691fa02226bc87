/* editor.h - only for clangd, which parses a .cu with clang's CUDA parser instead of the
 * translator (tools/compile_commands.py includes this file first). clangd has to know
 * which functions are kernels; all others can be called from host and device, as here. */
#ifndef WBCPU_EDITOR_H
#define WBCPU_EDITOR_H
#define WBCPU_EDITOR 1
#define __global__ __attribute__((global))
#define __shared__ __attribute__((aligned(16)))
#define __syncthreads wbcpu_syncthreads /* clang has a builtin of this name, for GPUs */
/* A launch calls one of these, depending on the toolkit that clang finds. */
extern "C" unsigned __cudaPushCallConfiguration(...);
extern "C" unsigned cudaConfigureCall(...);
#pragma clang force_cuda_host_device begin
#endif
