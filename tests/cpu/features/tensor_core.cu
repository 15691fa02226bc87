/* WMMA: a product of half matrices */
#include <cstdio>
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;
__global__ void product(const half *a, const half *b, float *c)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 1.0f);
    wmma::load_matrix_sync(fa, a, 16);
    wmma::load_matrix_sync(fb, b, 16);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}
int main()
{
    half ha[256], hb[256], *a, *b;
    float hc[256], *c;
    for (int i = 0; i < 256; i++)
        ha[i] = __float2half((float)(i % 7)), hb[i] = __float2half((float)(i % 5));
    cudaMalloc(&a, sizeof ha), cudaMalloc(&b, sizeof hb), cudaMalloc(&c, sizeof hc);
    cudaMemcpy(a, ha, sizeof ha, cudaMemcpyHostToDevice);
    cudaMemcpy(b, hb, sizeof hb, cudaMemcpyHostToDevice);
    product<<<1, 32>>>(a, b, c);
    cudaMemcpy(hc, c, sizeof hc, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++) {
            float s = 1;
            for (int k = 0; k < 16; k++)
                s += (i * 16 + k) % 7 * ((j * 16 + k) % 5);
            if (hc[i * 16 + j] != s) {
                printf("wrong\n");
                return 1;
            }
        }
    printf("right\n");
    return 0;
}
