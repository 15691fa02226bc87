/* Textures and surfaces: filters, address modes, layers, copies of two and three dimensions. */
#include <cmath>
#include <cstdio>

enum { W = 6, H = 4, D = 3 };
static int failures;
static void expect(const char *what, double got, double want)
{
    if (std::fabs(got - want) < 1e-5) return;
    printf("%s: %g, not %g\n", what, got, want);
    failures++;
}

__global__ void sample2(cudaTextureObject_t t, float x, float y, float *out)
{
    *out = tex2D<float>(t, x, y);
}
__global__ void gather(cudaTextureObject_t t, float x, float y, float *out)
{
    float4 v = tex2Dgather<float4>(t, x, y);
    *out = v.x + 100 * v.y + 10000 * v.z + 1000000 * v.w;
}
__global__ void sample3(cudaTextureObject_t t, float x, float y, float z, float *out)
{
    *out = tex3D<float>(t, x, y, z);
}
__global__ void fetch(cudaTextureObject_t t, int i, float *out)
{
    uchar4 v = tex1Dfetch<uchar4>(t, i);
    *out = v.x + 1000 * v.w;
}
__global__ void double_surface(cudaSurfaceObject_t s)
{
    int x = threadIdx.x, y = threadIdx.y;
    float v;
    surf2Dread(&v, s, x * (int)sizeof(float), y);
    surf2Dwrite(2 * v, s, x * (int)sizeof(float), y);
}

static cudaTextureObject_t texture_of(
    cudaArray_t array, cudaTextureFilterMode filter, cudaTextureAddressMode mode,
    bool normalized)
{
    cudaResourceDesc resource = {};
    cudaTextureDesc how = {};
    cudaTextureObject_t t;
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    for (int i = 0; i < 3; i++)
        how.addressMode[i] = mode;
    how.filterMode = filter;
    how.normalizedCoords = normalized;
    return cudaCreateTextureObject(&t, &resource, &how, NULL) ? 0 : t;
}

int main()
{
    float h[D][H][W], *out;
    for (int i = 0; i < D * H * W; i++)
        (&h[0][0][0])[i] = i * i % 23;
    cudaMallocManaged(&out, sizeof(float));
    cudaChannelFormatDesc floats = cudaCreateChannelDesc<float>();
    cudaArray_t flat, cube;
    cudaMallocArray(&flat, &floats, W, H, cudaArraySurfaceLoadStore);
    cudaMemcpy2DToArray(
        flat, 0, 0, h, W * sizeof(float), W * sizeof(float), H, cudaMemcpyHostToDevice);

    auto at = [&](cudaTextureObject_t t, float x, float y) {
        sample2<<<1, 1>>>(t, x, y, out);
        cudaDeviceSynchronize();
        return *out;
    };
    auto *v = h[0];
    cudaTextureObject_t t =
        texture_of(flat, cudaFilterModePoint, cudaAddressModeClamp, false);
    expect("point", at(t, 2.7f, 1.2f), v[1][2]);
    expect("clamp", at(t, -3, 99), v[H - 1][0]);
    gather<<<1, 1>>>(t, 3.2f, 2.1f, out);
    cudaDeviceSynchronize();
    expect("gather", *out, v[2][2] + 100 * v[2][3] + 10000 * v[1][3] + 1000000 * v[1][2]);
    t = texture_of(flat, cudaFilterModeLinear, cudaAddressModeClamp, false);
    expect("linear, in the middle", at(t, 3.5f, 2.5f), v[2][3]);
    expect(
        "linear", at(t, 3.75f, 2.0f),
        0.5 * (0.75 * v[1][3] + 0.25 * v[1][4] + 0.75 * v[2][3] + 0.25 * v[2][4]));
    t = texture_of(flat, cudaFilterModePoint, cudaAddressModeBorder, false);
    expect("border", at(t, 6.1f, 0), 0);
    t = texture_of(flat, cudaFilterModePoint, cudaAddressModeWrap, true);
    expect("wrap", at(t, 1 + 2.5f / W, -1 + 1.5f / H), v[1][2]);
    t = texture_of(flat, cudaFilterModePoint, cudaAddressModeMirror, true);
    expect("mirror", at(t, 1 + 0.5f / W, 0), v[0][W - 1]);

    cudaExtent extent = make_cudaExtent(W, H, D);
    cudaMalloc3DArray(&cube, &floats, extent);
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(h, W * sizeof(float), W, H);
    copy.dstArray = cube;
    copy.extent = extent;
    copy.kind = cudaMemcpyHostToDevice;
    if (cudaMemcpy3D(&copy)) return 1;
    t = texture_of(cube, cudaFilterModeLinear, cudaAddressModeClamp, false);
    sample3<<<1, 1>>>(t, 1.5f, 2.5f, 2.0f, out);
    cudaDeviceSynchronize();
    expect("three dimensions", *out, 0.5 * (h[1][2][1] + h[2][2][1]));

    unsigned char bytes[8] = {1, 2, 3, 4, 5, 6, 7, 8}, *device;
    cudaMalloc(&device, sizeof bytes);
    cudaMemcpy(device, bytes, sizeof bytes, cudaMemcpyHostToDevice);
    cudaResourceDesc linear = {};
    linear.resType = cudaResourceTypeLinear;
    linear.res.linear.devPtr = device;
    linear.res.linear.sizeInBytes = sizeof bytes;
    linear.res.linear.desc = cudaCreateChannelDesc<uchar4>();
    cudaTextureDesc plain = {};
    cudaCreateTextureObject(&t, &linear, &plain, NULL);
    fetch<<<1, 1>>>(t, 1, out);
    cudaDeviceSynchronize();
    expect("linear memory", *out, 5 + 8000);

    cudaResourceDesc writable = {};
    cudaSurfaceObject_t s;
    writable.resType = cudaResourceTypeArray;
    writable.res.array.array = flat;
    cudaCreateSurfaceObject(&s, &writable);
    double_surface<<<1, dim3(W, H)>>>(s);
    float back[H][W];
    cudaMemcpy2DFromArray(
        back, sizeof back[0], flat, 0, 0, sizeof back[0], H, cudaMemcpyDeviceToHost);
    expect("surface", back[2][3], 2 * v[2][3]);
    cudaFreeArray(flat);
    cudaFreeArray(cube);
    return failures != 0;
}
