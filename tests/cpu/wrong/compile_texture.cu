// says: compile_texture.cu:5:
// says: tex2D: not supported by the CPU back end; read global memory instead
__global__ void k(float *x, cudaTextureObject_t t)
{
    x[threadIdx.x] = tex2D<float>(t, 0.5f, 0.5f);
}
int main() { k<<<1, 32>>>(nullptr, 0); }
