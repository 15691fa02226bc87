// says: compile_count.cu:6:
__global__ void k(float *x, int n) { if ((int)threadIdx.x < n) x[threadIdx.x] = 1; }
int main()
{
    float *x = nullptr;
    k<<<1, 32>>>(x);
}
