// says: translate_nested_wait.cu:6:5: error: kernel parent calls cudaDeviceSynchronize, which CUDA 12 removed from device code: launch what follows as a kernel on cudaStreamTailLaunch
__global__ void child(int *x) { *x = 1; }
__global__ void parent(int *x)
{
    child<<<1, 1>>>(x);
    cudaDeviceSynchronize();
    *x += 1;
}
int main()
{
    int *x;
    cudaMalloc(&x, 4);
    parent<<<1, 1>>>(x);
}
