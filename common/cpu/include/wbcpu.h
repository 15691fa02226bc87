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

/* From the next launch on, shared memory is full of this 16-bit pattern when a block begins:
 * dynamic memory as launched, and arrays compiled with WBCPU_RED_ZONES. Around them lies
 * the other pattern. A kernel that changes it is an error. Call it before the first
 * launch. */
void wbcpu_poison_shared(uint16_t filling, uint16_t red_zone);

/* Errors in a kernel that end the program call this function first, with one line of text:
 * a deadlock, a misaligned access, a write outside of shared memory, a host pointer.
 * address: what was accessed, or NULL. */
void wbcpu_on_error(void (*function)(const char *text, const void *address));

/* Calls function(context, i) for i in [0, n) on the workers and returns when all calls
 * have returned. Inside a kernel the calls run one after another. */
void wbcpu_parallel(int n, void (*function)(void *context, int i), void *context);

/* --- dry runs ------------------------------------------------------------------------ */

/* WBCPU_DRY_SAMPLE: cudaMalloc gives zeros that take no memory until they are written, at
 * addresses far apart, and a kernel runs only about ten blocks: the first, the last and
 * some in between. So a launcher can be called with sizes of many gigabytes in a moment.
 * WBCPU_DRY_ALL: a kernel runs all of its blocks, until enough() is true. In both modes a
 * block that takes too much time or memory is given up.
 * Results are meaningless; what can be seen is the status, launch errors and crashes. */
enum { WBCPU_DRY_OFF, WBCPU_DRY_SAMPLE, WBCPU_DRY_ALL };
void wbcpu_dry(int mode, int (*enough)(void));

/* 1 if each kernel since wbcpu_dry has run all of its blocks to the end, 0 if not, -1 if a
 * block was given up. */
int wbcpu_dry_complete(void);

/* 1 if the blocks that ran since WBCPU_DRY_SAMPLE show that the kernels leave a part of an
 * output of so many bytes unwritten: all blocks of their kind together cannot write it, or
 * late blocks write nothing at all. */
int wbcpu_dry_short(size_t bytes);

/* For the program's handler of SIGSEGV, which a dry run needs: 1 if this was the first
 * write to a page of a dry run's memory. The handler returns, and the write is repeated. */
int wbcpu_dry_fault(const void *address);

/* --- check mode only (the library of build/check) ----------------------------------- */

/* Gives the inner part of a cudaMalloc'ed block, [base + red_zone, + bytes), a name and an
 * element size for reports; kernels must not touch the rest. */
void wbcpu_check_name(
    void *base, size_t red_zone, size_t bytes, const char *name, unsigned element);

/* What was found and counted since the last call, as JSON (docs/check.md); the caller
 * frees it. Whatever was reported counts as new again. */
char *wbcpu_check_report(void);

/* Stops guarding freed memory: its cost grows with all memory ever allocated, since
 * addresses are not used again. Does nothing while any memory is allocated. */
void wbcpu_check_leave_freed(void);

/* Forgets that these bytes have been written: reading them first is an error. */
void wbcpu_check_unwritten(const void *p, size_t bytes);

/* Programmatic dependent launch: the next kernel follows one that writes these bytes. */
void wbcpu_check_written_earlier(const void *p, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
