// says: run_deadlock.cu:15: error: deadlock in kernel dead, block (0,0,0): no thread can continue
// says: threads 0 to 31 have exited the kernel
// says: threads 32 to 39 wait at __shfl_sync with mask 0xffffffff
// says: threads 40 to 63 wait at __syncthreads
__global__ void dead(float *x)
{
    if (threadIdx.x < 40)
        x[threadIdx.x] = __shfl_sync(0xffffffffu, 1.0f, 3);
    else
        __syncthreads();
}
int main()
{
    float *x;
    if (cudaMalloc(&x, 4096) == cudaSuccess) dead<<<2, 64>>>(x);
}
