/* kernels.h - what a benchmark of kernels uses. bench/OP.c defines bench_op(), which calls
 * bench_row() for each function, shape and element type. The program is linked once with
 * the solution and once with each rung of its ladder (mk/bench.mk), and measures in every
 * run what the machine can do at best: the copy ceiling.
 *
 * A row is the median of at least 30 calls between events. Before each call another buffer
 * five times the size of the L2 cache is read, so that inputs come from memory and nothing
 * is left to be written back. Bytes are the fewest that the call can move: every input
 * once, every output once; a kernel that moves more shows fewer GB/s.
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

/* f_f32(...), f_f16(...) or f_bf16(...). In C a void * becomes any pointer. */
#define BENCH_CALL(type, f, ...)                                                         \
    ((type) == BENCH_F32   ? f##_f32(__VA_ARGS__)                                        \
     : (type) == BENCH_F16 ? f##_f16(__VA_ARGS__)                                        \
                           : f##_bf16(__VA_ARGS__))

extern int bench_on_card; /* 0: the CPU back end, where large shapes take too long */

/* Device memory with random values in [-1, 1), freed by bench_free_all(). */
void *bench_tensor(enum bench_type type, size_t elements);
void *bench_bytes(size_t bytes); /* not filled */
void bench_free_all(void);

/* Times call(context), prints a line and writes a JSON line. */
void bench_row(
    const char *function, enum bench_type type, const char *shape, double bytes,
    wb_status (*call)(const void *context), const void *context);

/* The same where arithmetic is the limit: flops counts only what the result needs (two a
 * multiply and add, a masked product none), in TFLOP/s instead of bytes. */
void bench_flops(
    const char *function, enum bench_type type, const char *shape, double flops,
    wb_status (*call)(const void *context), const void *context);

/* The op's part. */
void bench_op(void);

#ifdef __cplusplus
}
#endif
#endif
