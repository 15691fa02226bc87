/* editor.h - for clangd alone, which reads a .cu with clang's own CUDA parser and without the
 * translator (tools/compile_commands.py includes this first). It wants to know which
 * functions are kernels; everything else may be called from everywhere, as it is here. */
#ifndef WBCPU_EDITOR_H
#define WBCPU_EDITOR_H
#define WBCPU_EDITOR 1
#define __global__ __attribute__((global))
#define __shared__ __attribute__((aligned(16)))
#define __syncthreads wbcpu_syncthreads /* clang has one of its own, for GPUs */
/* What a launch calls: the name depends on the toolkit that clang finds, or does not. */
extern "C" unsigned __cudaPushCallConfiguration(...);
extern "C" unsigned cudaConfigureCall(...);
#pragma clang force_cuda_host_device begin
#endif
