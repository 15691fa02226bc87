// says: error: integer division by zero in kernel k
__global__ void k(int *x) { x[0] = 7 / x[1]; }
int main()
{
    int *x;
    cudaMalloc(&x, 4096);
    cudaMemset(x, 0, 4096);
    k<<<3, 64>>>(x);
}
