/* hello.cu - a whole CUDA program: host code that launches a kernel, and waits for it.
 *
 *     make check FILE=docs/hello.cu          without a GPU
 *     nvcc docs/hello.cu && ./a.out          with one
 */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

/* Runs on the device, once for each thread. */
__global__ void hello(void)
{
    printf("hello from thread %d of block %d\n", threadIdx.x, blockIdx.x);
}

static void check(cudaError_t error)
{
    if (!error) return;
    fprintf(stderr, "hello: %s\n", cudaGetErrorString(error));
    exit(1);
}

/* Runs on the host. */
int main(void)
{
    hello<<<2, 3>>>();               // 2 blocks of 3 threads; returns immediately
    check(cudaGetLastError());       // could the kernel be launched?
    check(cudaDeviceSynchronize());  // wait until it has ended; did it fail?
    return 0;
}
