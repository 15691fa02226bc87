/* kernels.h - the frame of the kernel benchmarks. bench/OP.c defines bench_op(), which
 * calls bench_row() for each function, shape and element type. The program is linked once
 * with the solution and once with each rung of its ladder (mk/bench.mk). Every run also
 * measures the ceiling: the bandwidth of a device-to-device copy.
 *
 * A row is the median of at least 30 calls, timed by events. Before each call, a read of
 * a buffer five times the size of the L2 cache ensures that inputs come from memory and
 * that no earlier output waits to be written back. Bytes are the least that the call can
 * move: every input once, every output once; a kernel that moves more reaches fewer GB/s.
 */
#ifndef KERNELS_H
#define KERNELS_H
#include "wb.h"
#ifdef __cplusplus
extern "C" {
#endif

enum bench_type { BENCH_F32, BENCH_F16, BENCH_BF16 };
extern const char *const bench_type_name[3];
extern const size_t bench_type_size[3];

/* f_f32(...), f_f16(...) or f_bf16(...). In C, a void * converts to any pointer. */
#define BENCH_CALL(type, f, ...)                                                         \
    ((type) == BENCH_F32   ? f##_f32(__VA_ARGS__)                                        \
     : (type) == BENCH_F16 ? f##_f16(__VA_ARGS__)                                        \
                           : f##_bf16(__VA_ARGS__))

extern int bench_on_gpu; /* 0: the CPU back end, on which large shapes take too long */
extern int bench_once;   /* --once: also the shapes that reach the kernels for long rows */

/* Device memory with random values in [-1, 1), freed by bench_free_all(). */
void *bench_tensor(enum bench_type type, size_t elements);
void *bench_bytes(size_t bytes); /* uninitialized */
void bench_free_all(void);

/* Times call(context), prints a line and writes a JSON line. */
void bench_row(
    const char *function, enum bench_type type, const char *shape, double bytes,
    wb_status (*call)(const void *context), const void *context);

/* The same where arithmetic is the limit, in TFLOP/s: flops counts only what the result
 * needs, two per multiply-add, none for masked elements. */
void bench_flops(
    const char *function, enum bench_type type, const char *shape, double flops,
    wb_status (*call)(const void *context), const void *context);

/* Defined by bench/OP.c */
void bench_op(void);

#ifdef __cplusplus
}
#endif
#endif
