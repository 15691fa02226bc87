// says: translate_chevrons.cu:6: error: kernel launch: '<<<' without its '>>>'
__global__ void k(float *x) { x[threadIdx.x] = 1; }
int main()
{
    float *x = nullptr;
    k<<<1, 32>>(x);
}
