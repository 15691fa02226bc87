// says: run_ptx.cu:7: inline PTX: tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32
// says: is not supported by the CPU back end: guard it with #ifndef __CUDACPU__
__global__ void k(int *x)
{
    unsigned lane = 0;
    if (threadIdx.x == 1)
        asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 32;" ::"r"(lane));
    x[threadIdx.x] = lane;
}
int main()
{
    int *x;
    cudaMalloc(&x, 8);
    k<<<1, 2>>>(x);
}
