/* mma.h - the library's part of mma and ldmatrix, for cuda/mma.cuh and inline PTX. */
#ifndef WBCPU_MMA_SYNC_H
#define WBCPU_MMA_SYNC_H

#include "../cuda_runtime.h"

/* What a lane passes to its warp: pointers to its registers, and for ldmatrix its row */
struct wbcpu_mma_lane {
    void *c;
    const unsigned *a, *b;
};
struct wbcpu_matrix_lane {
    unsigned *r;     /* one for each matrix */
    const void *row; /* 16 bytes in shared memory */
    int matrices;    /* 1, 2 or 4 */
    bool transposed;
};
/* Of mma.sync.aligned.SHAPE.row.col.D.A.B.C */
struct wbcpu_mma_kind {
    const char *name;        /* "SHAPE.D.A.B.C." */
    int a, b, c;             /* registers of a lane */
    wbcpu_together multiply; /* of wbcpu_mma_lanes */
};

extern "C" {
/* wbcpu_together: value[l] is lane l's wbcpu_mma_lane, or its wbcpu_matrix_lane. */
void wbcpu_mma_f16(uint64_t value[32], unsigned lanes);
void wbcpu_mma_bf16(uint64_t value[32], unsigned lanes);
void wbcpu_load_matrices(uint64_t value[32], unsigned lanes);
const wbcpu_mma_kind *wbcpu_find_mma(const char *name); /* or NULL */
}

#endif
