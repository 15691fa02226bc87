// says: cudaLaunchKernel: not supported by the CPU back end; write kernel<<<...>>>(...)
__global__ void k(int *x) { *x = 1; }
int main()
{
    int *x = nullptr;
    void *args[] = {&x};
    cudaLaunchKernel((const void *)k, dim3(1), dim3(1), args, (size_t)0, (cudaStream_t)0);
}
