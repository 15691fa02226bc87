/* wbcpu.h - functions of the CPU back end for test harnesses. */
#ifndef WBCPU_H
#define WBCPU_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* seed 0: blocks and threads run in their natural order. Other seeds: in a random order
 * that depends only on the seed. The environment variable WB_SHUFFLE sets the first. */
void wbcpu_set_shuffle(uint64_t seed);

/* on: a load or store of cudaMalloc memory by host code raises SIGSEGV, as with a GPU.
 * Kernels and cudaMem* calls can still access it. on = 2: copies to the host fail. */
void wbcpu_guard(int on);

/* 1 if p points into cudaMalloc memory. Async-signal-safe. */
int wbcpu_in_device_memory(const void *p);

/* The number of kernels launched so far, including graph replays. */
unsigned long long wbcpu_launch_count(void);

/* Asynchronous copies from device memory so far */
unsigned long long wbcpu_copy_count(void);

/* Describes the CUDA thread that runs on this CPU thread, for a signal handler: "kernel
 * axpy (axpy.cu:12), block (3,0,0), thread (7,0,0)". Returns 0 and "" in host code. */
int wbcpu_where(char *text, size_t size);

/* Calls function(context, i) for i in [0, n) on the workers and returns when all calls
 * have returned. Inside a kernel the calls run one after another. */
void wbcpu_parallel(int n, void (*function)(void *context, int i), void *context);

#ifdef __cplusplus
}
#endif
#endif
