/* cuBLAS: a matrix multiply */
#include <cstdio>
#include <cublas_v2.h>
int main()
{
    float a[4] = {1, 2, 3, 4}, c[4], *x, *y, one = 1, zero = 0;
    cublasHandle_t h;
    cublasCreate(&h);
    cudaMalloc((void **)&x, sizeof a), cudaMalloc((void **)&y, sizeof c);
    cudaMemcpy(x, a, sizeof a, cudaMemcpyHostToDevice);
    cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, x, 2, x, 2, &zero, y, 2);
    cudaMemcpy(c, y, sizeof c, cudaMemcpyDeviceToHost);
    int right = c[0] == 7 && c[1] == 10 && c[2] == 15 && c[3] == 22;
    printf(right ? "right\n" : "wrong\n");
    return !right;
}
