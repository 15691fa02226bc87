/* A texture with linear filter */
#include <cstdio>
__global__ void sample(cudaTextureObject_t t, float *out)
{
    out[threadIdx.x] = tex2D<float>(t, threadIdx.x + 1.0f, 0.5f);
}
int main()
{
    float h[16], r[4], *out;
    for (int i = 0; i < 16; i++)
        h[i] = i;
    cudaChannelFormatDesc d = cudaCreateChannelDesc<float>();
    cudaArray_t a;
    cudaMallocArray(&a, &d, 8, 2);
    cudaMemcpy2DToArray(a, 0, 0, h, 32, 32, 2, cudaMemcpyHostToDevice);
    cudaResourceDesc rd = {};
    rd.resType = cudaResourceTypeArray;
    rd.res.array.array = a;
    cudaTextureDesc td = {};
    td.filterMode = cudaFilterModeLinear;
    td.addressMode[0] = td.addressMode[1] = cudaAddressModeClamp;
    cudaTextureObject_t t;
    cudaCreateTextureObject(&t, &rd, &td, NULL);
    cudaMalloc(&out, sizeof r);
    sample<<<1, 4>>>(t, out);
    cudaMemcpy(r, out, sizeof r, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 4; i++)
        if (r[i] != i + 0.5f) {
            printf("wrong\n");
            return 1;
        }
    printf("right\n");
    return 0;
}
