// says: run_host_pointer.cu:18): pointer argument 2 is host memory, which kernels cannot access: use cudaMalloc and cudaMemcpy
#include <stdlib.h>
__global__ void set(int *x, int *y, void (*f)(), const char *text)
{
    *x = *y;
}
__device__ int variable;
int main()
{
    int *device, *managed, *pinned, *symbol, *registered = (int *)malloc(4), on_stack = 1;
    cudaMalloc(&device, 4);
    cudaMallocManaged(&managed, 4);
    cudaMallocHost(&pinned, 4);
    cudaGetSymbolAddress((void **)&symbol, variable);
    cudaHostRegister(registered, 4, 0);
    for (int *p : {device, managed, pinned, symbol, registered})
        set<<<1, 1>>>(p, device, nullptr, "constant");
    set<<<1, 1>>>(device, &on_stack, nullptr, "constant");
}
