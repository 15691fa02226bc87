/* Grid-stride loop, copies to and from the device */
#include <cstdio>
__global__ void saxpy(int n, float a, const float *x, float *y)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += gridDim.x * blockDim.x)
        y[i] = a * x[i] + y[i];
}
int main()
{
    const int n = 10000;
    static float h[n], r[n];
    for (int i = 0; i < n; i++)
        h[i] = i % 100;
    float *x, *y;
    if (cudaMalloc(&x, sizeof h) != cudaSuccess) return 2;
    cudaMalloc(&y, sizeof h);
    cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
    cudaMemset(y, 0, sizeof h);
    saxpy<<<7, 128>>>(n, 2.0f, x, y);
    cudaMemcpy(r, y, sizeof h, cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; i++)
        if (r[i] != 2 * h[i]) {
            printf("wrong\n");
            return 1;
        }
    printf("right\n");
    return 0;
}
