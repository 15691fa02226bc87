// says: AddressSanitizer: heap-buffer-overflow
// says: asan_overflow.cu:8
// Built with -fsanitize=address: writes one element past the end, after a barrier.
__global__ void k(float *x, int n)
{
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) x[i] = 1.0f;
}
int main()
{
    float *x;
    cudaMalloc(&x, 1024 * sizeof *x);
    k<<<5, 256>>>(x, 1024);
    cudaFree(x);
}
