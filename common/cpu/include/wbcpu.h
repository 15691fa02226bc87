/* wbcpu.h - what a test harness may ask of the CPU back end beyond the CUDA runtime API. */
#ifndef WBCPU_H
#define WBCPU_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 0: blocks and threads run in their natural order. Anything else: in an order drawn from
 * the seed, the same one every time. The environment variable WB_SHUFFLE sets the first. */
void wbcpu_set_shuffle(uint64_t seed);

/* on: memory from cudaMalloc may not be touched by host code: a load or store there is a
 * SIGSEGV, as it is on a machine with a card. Kernels and cudaMem* calls still may. */
void wbcpu_guard(int on);

/* Does p lie in memory from cudaMalloc? May be called in a signal handler. */
int wbcpu_in_device_memory(const void *p);

/* Kernels launched so far, replays of graphs included. */
unsigned long long wbcpu_launch_count(void);

/* What runs on this CPU thread, for a signal handler: "kernel axpy (axpy.cu:12), block
 * (3,0,0), thread (7,0,0)". Returns 0 and writes "" when no kernel runs here. */
int wbcpu_where(char *text, size_t size);

/* Calls function(context, i) for i in [0, n), spread over the workers; returns when all
 * are done. Inside a kernel they run one after another. */
void wbcpu_parallel(int n, void (*function)(void *context, int i), void *context);

#ifdef __cplusplus
}
#endif
#endif
