// says: error: stack overflow (use less local memory or set WB_STACK_KB=256) in kernel k
__device__ __noinline__ int deep(int n)
{
    volatile int a[500];
    a[n % 500] = n;
    return n ? deep(n - 1) + a[n % 500] : 0;
}
__global__ void k(int *x) { x[threadIdx.x] = deep(10000); }
int main()
{
    int *x;
    cudaMalloc(&x, 4096);
    k<<<3, 64>>>(x);
}
