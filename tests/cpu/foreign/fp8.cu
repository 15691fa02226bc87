/* Every fp8 value, and conversions that round, overflow and saturate. */
#include <cstdio>
#include <cstring>
#include <cuda_fp8.h>

static unsigned hash(unsigned h, unsigned x)  // FNV-1a
{
    for (int i = 0; i < 4; i++)
        h = (h ^ (x >> 8 * i & 255)) * 16777619u;
    return h;
}

/* All results, in order. The hashes are those of the toolkit's header. */
static unsigned encodings(__nv_fp8_interpretation_t type, __nv_saturation_t saturate)
{
    unsigned h = 2166136261u;
    for (unsigned bits = 0; bits < 65536; bits++) {  // every half, every 65536th float
        __half_raw raw;
        raw.x = (unsigned short)bits;
        h = hash(h, __nv_cvt_halfraw_to_fp8(raw, saturate, type));
        unsigned wide = bits << 16 | (bits * 40503u >> 16 & 0xffff);
        float f;
        memcpy(&f, &wide, sizeof f);
        h = hash(h, __nv_cvt_float_to_fp8(f, saturate, type));
    }
    return h;
}
static unsigned decodings(__nv_fp8_interpretation_t type)
{
    unsigned h = 2166136261u;
    for (unsigned code = 0; code < 256; code++)
        h = hash(h, __nv_cvt_fp8_to_halfraw((__nv_fp8_storage_t)code, type).x);
    return h;
}

__global__ void halve(int n, const __nv_fp8_e4m3 *x, __nv_fp8x2_e5m2 *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = __nv_fp8x2_e5m2(make_float2(float(x[2 * i]) / 2, float(x[2 * i + 1]) / 2));
}

int main()
{
    const unsigned want[6] = {0x3fcf9945, 0x8fd05f45, 0xf035a145,
                              0xbe76b545, 0x8bbb5e19, 0x874a0a99};
    const unsigned got[6] = {
        encodings(__NV_E4M3, __NV_NOSAT),
        encodings(__NV_E4M3, __NV_SATFINITE),
        encodings(__NV_E5M2, __NV_NOSAT),
        encodings(__NV_E5M2, __NV_SATFINITE),
        decodings(__NV_E4M3),
        decodings(__NV_E5M2)};
    if (memcmp(want, got, sizeof got)) {
        for (unsigned h : got)
            printf("%#x, ", h);
        printf("\n");
        return 1;
    }
    if (sizeof(__nv_fp8x4_e4m3) != 4) return 2;

    __nv_fp8_e4m3 h[2] = {__nv_fp8_e4m3(3.0f), __nv_fp8_e4m3(-500.0f)}, *x;
    __nv_fp8x2_e5m2 *y, result;
    cudaMalloc(&x, sizeof h);
    cudaMalloc(&y, sizeof *y);
    cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
    halve<<<1, 32>>>(1, x, y);
    cudaMemcpy(&result, y, sizeof result, cudaMemcpyDeviceToHost);
    const float2 f(result);
    return f.x != 1.5f || f.y != -224.0f;
}
