// says: run_swapped.cu:7: launch of k failed: block (4096,1,1) has 4096 threads
// says: (are grid and block swapped?)
#include <cuda_runtime.h>
__global__ void k(float *x) { x[0] = 1; }
int main()
{
    k<<<256, 4096>>>((float *)nullptr);
    return cudaGetLastError() != cudaSuccess;
}
