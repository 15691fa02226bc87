// says: error: stack overflow (use less local memory or set WB_STACK_KB=256) in kernel k
__global__ void k(int *x, int n)
{
    volatile int local[24 * 1024]; // 96 KB: reaches beyond the guard page
    for (int i = 0; i < n; i++) local[i] = i;
    __syncthreads();
    x[threadIdx.x] = local[n - 1 - threadIdx.x];
}
int main()
{
    int *x;
    cudaMalloc(&x, 4096);
    k<<<3, 64>>>(x, 100);
}
