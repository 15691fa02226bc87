// says: translate_texture.cu:8:23: error: kernel k uses the texture or surface reference image: CUDA 12 removed these; pass a cudaTextureObject_t or cudaSurfaceObject_t
// says: translate_texture.cu:9:22: error: kernel k uses the texture or surface reference plane: CUDA 12 removed these; pass a cudaTextureObject_t or cudaSurfaceObject_t
texture<float> image;
static surface<void, cudaSurfaceType2D> plane;

__global__ void k(float *x)
{
    x[0] = tex1Dfetch(image, threadIdx.x);
    surf2Dwrite(1.f, plane, 0, 0);
}
int main() { k<<<1, 1>>>(0); }
