// says: compile_config.cu:6:
__global__ void k(float *x) { x[threadIdx.x] = 1; }
int main()
{
    float *x = nullptr;
    k<<<dim3(1), "x">>>(x);
}
