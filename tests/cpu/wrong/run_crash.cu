// says: error: illegal memory access in kernel crash
// says: run_crash.cu:14), block (0,0,0), thread (33,1,0)
__global__ void crash(int *x, size_t i)
{
    if (threadIdx.x == 33 && threadIdx.y == 1) x[i] = 1;
}
int main(int argc, char **)
{
    int *x = nullptr, *none;
    size_t far = argc > 1 ? 1 << 20 : 0;
    if (far && cudaMalloc(&x, 4096) != cudaSuccess) return 1;
    if (far && cudaMalloc(&none, (size_t)1 << 50) == cudaSuccess) return 1;
    if (far) crash<<<1, dim3(64, 2)>>>(x, 1023);
    crash<<<1, dim3(64, 2)>>>(x, far);
    crash<<<3, dim3(64, 2)>>>(x, far);
}
