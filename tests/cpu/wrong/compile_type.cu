// says: compile_type.cu:7:
// says: double
__global__ void k(float *x, int n) { if ((int)threadIdx.x < n) x[threadIdx.x] = 1; }
int main()
{
    double *d = nullptr;
    k<<<1, 32>>>(d, 4);
}
