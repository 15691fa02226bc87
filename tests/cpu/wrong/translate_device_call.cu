// says: translate_device_call.cu:15:50: error: __host__ __device__ function both calls square, a __device__ function: write __host__ __device__ before it
// says: translate_device_call.cu:18:12: error: host function main declares a __shared__ variable: only kernels have shared memory
// says: translate_device_call.cu:19:12: error: host function main calls square, a __device__ function: write __host__ __device__ before it
// says: translate_device_call.cu:20:5: error: host function main calls __syncthreads, a device function: only device code can call it
// says: translate_device_call.cu:21:30: error: host function main calls square, a __device__ function: write __host__ __device__ before it
static __device__ float square(float x)
{
    return x * x;
}
static __global__ void k(float *x)
{
    *x = square(*x);
}

__host__ __device__ float both(float x) { return square(x); }
int main()
{
    static __shared__ float s[32];
    s[0] = square(3);
    __syncthreads();
    auto f = [] { return 1 + square(2); };
    k<<<1, 1>>>(nullptr);
    return f() + both(s[0]);
}
