// says: compile_syntax.cu:10:
// A launch and shared memory before the mistake do not change its line number.
__global__ void first(float *x)
{
    extern __shared__ float s[];
    __shared__ float t[32];
    t[threadIdx.x] = s[threadIdx.x] = x[threadIdx.x];
    for (int o = 16; o > 0;
         o /= 2) x[0] += __shfl_xor_sync(~0u, x[0], o);
    x[threadIdx.x] = undeclared;
}
int main() { first<<<1, 32,
                     128>>>(nullptr); }
