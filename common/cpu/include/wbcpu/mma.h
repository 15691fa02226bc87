/* mma.h - the library's half of mma and ldmatrix of cuda/mma.cuh. */
#ifndef WBCPU_MMA_SYNC_H
#define WBCPU_MMA_SYNC_H

#include <stdint.h>

/* What a lane passes to its warp: pointers to its registers, and its row for ldmatrix */
struct wbcpu_mma {
    float *c;              /* 4 */
    const unsigned *a, *b; /* 4, 2 */
};
struct wbcpu_ldmatrix {
    unsigned *r;     /* 4 */
    const void *row; /* 16 bytes in shared memory */
};

extern "C" {
/* wbcpu_together: value[l] is lane l's wbcpu_mma, or its wbcpu_ldmatrix. */
void wbcpu_mma_f16(uint64_t value[32], unsigned lanes);
void wbcpu_mma_bf16(uint64_t value[32], unsigned lanes);
void wbcpu_ldmatrix_rows(uint64_t value[32], unsigned lanes);
void wbcpu_ldmatrix_columns(uint64_t value[32], unsigned lanes); /* transposed */
}

#endif
