// says: run_nested.cu:3: kernel child is launched from a kernel: not supported by the CPU back end
__global__ void child(int *x) { *x = 1; }
__global__ void parent(int *x) { child<<<1, 1>>>(x); }
int main()
{
    int *x;
    cudaMalloc(&x, 4);
    parent<<<1, 1>>>(x);
}
