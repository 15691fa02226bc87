/* program.cu - a program for make check; its first argument says what it does. */
#include <cooperative_groups.h>
#include <cuda_runtime.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__global__ void copy(float *out, const float *values)
{
    out[threadIdx.x] = values[threadIdx.x];
}

__global__ void next(float *out, const float *values)
{
    out[threadIdx.x] = values[threadIdx.x + 1];
}

__global__ void together()
{
    cooperative_groups::this_grid().sync();
}

struct pair {
    float x, y;
};
__global__ void every_second(float *out)
{
    __shared__ pair pairs[32];
    pairs[threadIdx.x].y = 1;
    float y = pairs[31 - threadIdx.x].y;
    if (threadIdx.x % 2) out[threadIdx.x] = y;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "clean";
    if (!strcmp(what, "kill")) raise(SIGKILL);
    if (!strcmp(what, "nothing")) return 0;
    if (!strcmp(what, "forge")) {
        fputs("[1]", fopen(getenv("WB_CHECK_JSON"), "w"));
        fflush(NULL);
        raise(SIGKILL);
    }
    if (!strcmp(what, "signal")) raise(40);
    char line[64];
    if (!strcmp(what, "input") && scanf("%63s", line) == 1) printf("input <%s>\n", line);
    for (int i = 2; i < argc; i++)
        printf("arg <%s>\n", argv[i]);
    float *a, *b;
    cudaMalloc(&a, 32 * sizeof(float));
    cudaMalloc(&b, 32 * sizeof(float));
    cudaMemset(a, 0, 32 * sizeof(float));
    if (!strcmp(what, "past"))
        next<<<1, 32>>>(b, a);
    else if (!strcmp(what, "gaps"))
        every_second<<<1, 32>>>(b);
    else
        copy<<<1, 32>>>(b, a);
    if (!strcmp(what, "together")) /* blocks */
        cudaLaunchCooperativeKernel((void *)together, atoi(argv[2]), 32, nullptr);
    cudaDeviceSynchronize();
    cudaFree(a);
    cudaFree(b);
    return strcmp(what, "fail") ? 0 : 3;
}
