/* hopper.h - what the tests of cuda/hopper.cuh share. They run on a Hopper GPU and on the
 * CPU back end, and compare with results that the host computes from the definition of
 * each instruction. Elements are small integers, so sums are exact. */
#ifndef TESTS_HOPPER_H
#define TESTS_HOPPER_H
#include "cuda/hopper.cuh"

#include <stdlib.h>
#include <string.h>
#include <string>
#include <vector>

#include "../tap.h"

static inline bool can_run(void)
{
    if (runs_wgmma<wb_bf16>()) return true;
    tap_skip("Hopper", "no GPU with compute capability 9.0, or no code for it");
    return false;
}

template <typename T> static T *managed(size_t count)
{
    void *p = NULL;
    if (cudaMallocManaged(&p, count * sizeof(T)) != cudaSuccess) exit(2);
    memset(p, 0, count * sizeof(T));
    return (T *)p;
}
static inline bool finished(void)
{
    cudaError_t e = cudaDeviceSynchronize();
    if (e != cudaSuccess) printf("# %s\n", cudaGetErrorString(e));
    return e == cudaSuccess;
}

/* Where byte `at` of a tile lies that is swizzled over S bytes: bits 4 to 6 (S = 64: 4 and
 * 5, 32: 4) are xored with the bits from 7 on. */
static inline size_t swizzled(size_t at, int S)
{
    return S ? at ^ (at >> 7 & (size_t)(S / 16 - 1)) << 4 : at;
}

#endif
