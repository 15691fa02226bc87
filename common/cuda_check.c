/* cuda_check.c - see cuda_check.h. */
#include "cuda_check.h"

#include <stdio.h>
#include <stdlib.h>

void cuda_check(cudaError_t e, const char *call, const char *file, int line)
{
    if (e == cudaSuccess) return;
    fprintf(stderr, "%s:%d: %s: %s\n", file, line, cudaGetErrorString(e), call);
    exit(1);
}
