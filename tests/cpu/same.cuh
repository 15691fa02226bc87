// same.cuh - compares a kernel whose threads run as loops with itself on a stack per thread.
#ifndef SAME_CUH
#define SAME_CUH

#include "../tap.h"
#include "wbcpu.h"

#include <stdlib.h>
#include <string.h>

enum { N = 4096 };
#define SQUARE(a) ((a) * (a))

// A function that waits, in a header
static __device__ float from_left(float v)
{
    return __shfl_up_sync(0xffffffffu, v, 1);
}

// The result with a stack per thread, in a seeded order, and that in the natural order
template <class Kernel>
static void same(const char *what, Kernel kernel, dim3 grid, dim3 block)
{
    static float *x, *y;
    if (!x) {
        cudaMallocManaged(&x, N * sizeof *x);
        cudaMallocManaged(&y, N * sizeof *y);
        for (int i = 0; i < N; i++)
            x[i] = (float)(i * 37 % 101) / 50 - 1;
    }
    float *want = (float *)malloc(N * sizeof *want);
    for (int seed = 1; seed >= 0; seed--) {
        memset(y, 0, N * sizeof *y);
        wbcpu_set_shuffle(seed);
        kernel<<<grid, block, 1024 * sizeof(double)>>>(y, x, N);
        cudaDeviceSynchronize();
        if (seed) memcpy(want, y, N * sizeof *y);
    }
    tap(memcmp(want, y, N * sizeof *y) == 0 && cudaGetLastError() == cudaSuccess,
        "%s, %u x %u x %u threads", what, block.x, block.y, block.z);
    free(want);
}

#endif
