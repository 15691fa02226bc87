// says: translate_dynamic.cu:4: error: extern __shared__ must declare an array without a size
__global__ void k(float *x)
{
    extern __shared__ float s;
    x[threadIdx.x] = s;
}
int main() { k<<<1, 32>>>(nullptr); }
