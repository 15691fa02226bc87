/* sample.cu - the source that tests/check/report/samples.py reports on. */
#include <cuda_runtime.h>

constexpr int R = 32768, C = 1024;

/* One thread per row: neighbouring lanes read C floats apart. */
__global__ void norm_rows(float *out, const float *x)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float squares = 0.0f;
    for (int c = 0; c < C; c++)
        squares += x[row * C + c] * x[row * C + c];
    float r = rsqrtf(squares / C);
    for (int c = 0; c < C; c++)
        out[row * C + c] = x[row * C + c] * r;
}

/* Without padding, a column of the tile lies in one bank. */
__global__ void transpose(float *out, const float *in)
{
    __shared__ float tile[32][32];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8)
        tile[threadIdx.y + k][threadIdx.x] = in[(y + k) * C + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8)
        out[(y + k) * R + x] = tile[threadIdx.x][threadIdx.y + k];
}

/* The next element, misaligned by one; the last thread reads past the end. */
__global__ void shift(float *out, const float *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i + 1];
}

/* The barrier between the rounds is missing. */
template <typename E> __global__ void total(E *sum, const E *in)
{
    __shared__ E part[256];
    int t = threadIdx.x;
    part[t] = in[blockIdx.x * 256 + t];
    __syncthreads();
    for (int step = 128; step > 0; step /= 2)
        if (t < step) part[t] += part[t + step];
    sum[0] = part[0];
}

int main()
{
    float *a, *b;
    size_t n = (size_t)R * C;
    cudaMalloc(&a, n * sizeof(float));
    cudaMalloc(&b, n * sizeof(float));
    cudaMemset(a, 0, n * sizeof(float));
    norm_rows<<<R / 128, 128>>>(b, a);
    transpose<<<dim3(C / 32, R / 32), dim3(32, 8)>>>(a, b);
    shift<<<n / 256, 256>>>(b, a, (int)n);
    total<<<n / 256, 256>>>(b, a);
    cudaDeviceSynchronize();
    cudaFree(a);
    return 0;
}
