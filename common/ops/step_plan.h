/* step_plan.h - how a decode step of one row reads a matrix on a GPU: which kernel, and
 * how many blocks. The launchers (step_choose.cuh) follow this plan. Benchmarks and tests
 * ask for it without a GPU, because a decode step of a small model takes as long as its
 * kernels' latency, and that depends on the blocks that share a matrix.
 */
#ifndef STEP_PLAN_H
#define STEP_PLAN_H
#include <stdbool.h>
#include <stddef.h>

/* step_row.cuh */
enum {
    ROW_WARPS = 4,         /* of a block; each computes one output */
    ROW_VECS = 6,          /* vectors of a row of w that a lane holds, at most */
    ROW_BLOCKS_PER_SM = 4, /* at most: all blocks are resident */
};
/* step_gemv.cuh */
enum {
    GEMV_THREADS = 256,
    GEMV_WARPS = GEMV_THREADS / 32,
    STAGES = 10,                     /* iterations in flight, a vector per lane */
    RING = GEMV_WARPS * STAGES * 32, /* vectors */
    MAX_I = 16384,                   /* x lies in shared memory as floats */
    MAX_SUMS = 2048,                 /* rows of w per block */
    BLOCKS_PER_SM = 4,               /* at most */
};

typedef struct step_plan {
    bool row;   /* row_kernel; otherwise gemv_kernel */
    int blocks; /* 0: neither can */
    int smem;   /* bytes per block, dynamic */
} step_plan;

/* Shared memory of gemv_kernel: the ring, u as floats, sums of rows */
static inline int gemv_smem(int I, int rows)
{
    return RING * 16 + (I + rows) * (int)sizeof(float);
}

/* element: its bytes; gates: 2 with an activation, and then w has 2 O rows; sms: number of
 * multiprocessors; max_smem: bytes that a block may have. */
static inline step_plan
plan_step(int element, int I, int O, int gates, int sms, int max_smem)
{
    int vecs = I / (16 / element);  // of a row
    int blocks = (O - 1) / ROW_WARPS + 1;
    if (vecs <= ROW_VECS * 32 && blocks <= ROW_BLOCKS_PER_SM * sms)
        return (step_plan){true, blocks, 0};
    step_plan none = {false, 0, 0};
    if (I > MAX_I) return none;
    int fit = max_smem / (gemv_smem(I, 64) + 2048);
    int per_sm = fit < 1 ? 1 : fit < BLOCKS_PER_SM ? fit : BLOCKS_PER_SM;
    int wave = per_sm * sms, steps = (vecs + 31) / 32;
    int n = GEMV_WARPS * STAGES / (gates * steps);  // outputs of a block: all in flight
    if (n < (O - 1) / wave + 1) n = (O - 1) / wave + 1;
    if (n > MAX_SUMS / gates) n = MAX_SUMS / gates;
    blocks = (O - 1) / n + 1;
    int smem = gemv_smem(I, gates * ((O - 1) / blocks + 1));
    if (smem > max_smem) return none;
    return (step_plan){false, blocks, smem};
}

/* Bytes of w that the busiest multiprocessor reads. */
static inline double
plan_busiest(step_plan p, int element, int I, int O, int gates, int sms)
{
    if (p.blocks == 0) return 0;
    int outputs = p.row ? ROW_WARPS : (O - 1) / p.blocks + 1;
    if (outputs > O) outputs = O;
    return (double)((p.blocks - 1) / sms + 1) * outputs * gates * I * element;
}

#endif
