// says: compile_shared_size.cu:6:
// says: more than 48 KB of static __shared__ memory in one kernel
template <int N> __global__ void k(float *x)
{
    __shared__ float a[N];
    __shared__ float b[N], c;
    a[threadIdx.x] = b[threadIdx.x] = c = x[threadIdx.x];
}
int main()
{
    k<6000><<<1, 32>>>(nullptr);
    k<6144><<<1, 32>>>(nullptr);
}
