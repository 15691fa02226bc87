/* qualifiers.h - CUDA's keywords as macros. The translator rewrites what a macro cannot
 * express: <<<>>>, extern __shared__, __noinline__, asm. */
#ifndef WBCPU_QUALIFIERS_H
#define WBCPU_QUALIFIERS_H

#ifndef __CUDACC__
#define __CUDACC__ 1
#endif
#ifndef __NVCC__
#define __NVCC__ 1
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define __CUDACC_VER_BUILD__ 0
#endif
#define __CUDACPU__ 1 /* code for one back end only: #ifdef __CUDACPU__ */
/* What the translator writes for __CUDA_ARCH__ outside of host code */
#define WBCPU_CUDA_ARCH 800

/* In a program, a thread-local variable has a constant offset from the thread pointer. A
 * shared library can be loaded later (dlopen), when the memory for such offsets is taken:
 * its variables lie in a block of their own, whose address is a call. A module
 * (wbcpu/modules.h) uses the variables of the program that loads it. */
#ifdef WBCPU_MODULE
#define WBCPU_THREAD_LOCAL __thread __attribute__((tls_model("initial-exec")))
#elif defined __PIC__ && !defined __PIE__
#define WBCPU_THREAD_LOCAL                                                               \
    __thread __attribute__((tls_model("local-dynamic"), visibility("hidden")))
#else
#define WBCPU_THREAD_LOCAL __thread __attribute__((tls_model("local-exec")))
#endif
#define WBCPU_INLINE static inline __attribute__((always_inline, unused))

/* BYTES_PER_LANE of cuda/vec.cuh, OWNED_ROWS of cuda/lanes.cuh; WBCPU_UNCHECKED: check mode
 * does not look at the accesses of such a function. */
#ifdef WBCPU_CHECKED
#define WBCPU_BYTES_PER_LANE 4
#define WBCPU_OWNED_ROWS 1
#define WBCPU_NOINLINE unused /* see __global__ */
#define WBCPU_UNCHECKED                                                                  \
    __attribute__((no_sanitize("thread"), no_sanitize_coverage, noinline, unused))
#else
#define WBCPU_BYTES_PER_LANE 16
#define WBCPU_OWNED_ROWS 8
#define WBCPU_NOINLINE noinline
#define WBCPU_UNCHECKED
#endif

#define __device__
#define __host__
#define __managed__
#define __grid_constant__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#define __inline_hint__
#define __nv_pure__

#ifndef WBCPU_EDITOR
#ifdef WBCPU_CHECKED
/* The compiler reports no access of a call itself: `y[i] = f(x[i])` with structs. So no
 * call remains, also not of a function that asks for it. */
#define __global__ __attribute__((flatten))
#else
#define __global__
#endif
/* All threads of a block run on one CPU thread and therefore share its thread-local
 * variables. The next block on this CPU thread finds the values of the previous one. */
#define __shared__ static __thread __attribute__((aligned(16)))
#endif
/* cuModuleGetGlobal finds it, or with -rdc=true another file that declares it extern. */
#if defined(WBCPU_MODULE) || defined(__CUDACC_RDC__)
#define __constant__
#else
#define __constant__ static
#endif

#endif
