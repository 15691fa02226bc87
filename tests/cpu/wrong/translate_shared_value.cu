// says: translate_shared_value.cu:4: error: a __shared__ variable cannot have an initial value
__global__ void k(float *x)
{
    __shared__ float sum = 0;
    x[threadIdx.x] = sum;
}
int main() { k<<<1, 32>>>(nullptr); }
