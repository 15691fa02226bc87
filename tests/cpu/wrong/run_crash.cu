// says: error: illegal memory access in kernel crash
// says: run_crash.cu:9), block (0,0,0), thread (33,1,0)
__global__ void crash(int *x)
{
    if (threadIdx.x == 33 && threadIdx.y == 1) x[0] = 1;
}
int main()
{
    crash<<<1, dim3(64, 2)>>>(nullptr);
    crash<<<3, dim3(64, 2)>>>(nullptr);
}
