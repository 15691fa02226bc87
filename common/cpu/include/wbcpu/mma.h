/* mma.h - the library's half of mma and ldmatrix: those of cuda/mma.cuh, and ldmatrix of
 * inline PTX. */
#ifndef WBCPU_MMA_SYNC_H
#define WBCPU_MMA_SYNC_H

#include <stdint.h>

/* What a lane passes to its warp: pointers to its registers, and for ldmatrix its row */
struct wbcpu_mma_lane {
    float *c;              /* 4 */
    const unsigned *a, *b; /* 4, 2 */
};
struct wbcpu_matrix_lane {
    unsigned *r;     /* one for each matrix */
    const void *row; /* 16 bytes in shared memory */
    int matrices;    /* 1, 2 or 4 */
    bool transposed;
};

extern "C" {
/* wbcpu_together: value[l] is lane l's wbcpu_mma_lane, or its wbcpu_matrix_lane. */
void wbcpu_mma_f16(uint64_t value[32], unsigned lanes);
void wbcpu_mma_bf16(uint64_t value[32], unsigned lanes);
void wbcpu_load_matrices(uint64_t value[32], unsigned lanes);
}

#endif
