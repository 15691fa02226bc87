// says: translate_one_argument.cu:7: error: kernel launch: '<<<' needs a grid and a block
// says: translate_one_argument.cu:8: error: kernel launch: '<<<' needs a grid and a block
__global__ void k(float *x) { x[threadIdx.x] = 1; }
const int BLOCKS = 4;
int main()
{
    k<<<dim3(1, 2)>>>(nullptr);
    k<<<BLOCKS>>>(nullptr);
}
