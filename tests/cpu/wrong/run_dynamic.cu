// says: run_dynamic.cu:18) writes past the end of its dynamic shared memory: the launch asks for 64 bytes, and byte 64 was written
#include "wbcpu.h"
__global__ void sum(int *x)
{
    extern __shared__ int s[];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    x[threadIdx.x] = s[31 - threadIdx.x];
}
int main()
{
    int *x;
    wbcpu_poison_shared(0x7FFB, 0x7FF7);
    cudaMalloc(&x, 128);
    sum<<<3, 32, 128>>>(x);
    sum<<<3, 32, 256>>>(x);
    sum<<<3, 16, 64>>>(x + 16);
    sum<<<3, 32, 64>>>(x);
}
