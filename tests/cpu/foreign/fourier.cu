/* cuFFT: transforms of many sizes compared with direct sums; real transforms and their inverses.
 * Two dimensions, batches, callbacks. */
#include <cmath>
#include <complex>
#include <cstdio>
#include <cufft.h>
#include <cufftXt.h>

typedef std::complex<double> C;
static int failures;
static void fail_at(int line)
{
    printf("fourier.cu:%d: wrong\n", line);
    failures++;
}
#define EXPECT(condition) ((condition) ? (void)0 : fail_at(__LINE__))

static void one_dimension(int n, int batch)
{
    cufftComplex *x;
    cufftHandle plan;
    cudaMallocManaged(&x, n * batch * sizeof *x);
    for (int i = 0; i < n * batch; i++)
        x[i] = make_cuComplex((i * 37 % 19) - 9, (i * 11 % 7) - 3);
    const int b = batch - 1, k = n / 3;
    C want = 0;
    for (int i = 0; i < n; i++)
        want += C(x[b * n + i].x, x[b * n + i].y) * std::polar(1.0, -2 * M_PI * i * k / n);
    cufftComplex before = x[b * n + n / 2];
    cufftPlan1d(&plan, n, CUFFT_C2C, batch);
    cufftExecC2C(plan, x, x, CUFFT_FORWARD);
    cudaDeviceSynchronize();
    if (std::abs(C(x[b * n + k].x, x[b * n + k].y) - want) > 1e-4 * n) {
        printf("n = %d: %g %g, not %g %g\n", n, x[b * n + k].x, x[b * n + k].y, want.real(),
               want.imag());
        failures++;
    }
    cufftExecC2C(plan, x, x, CUFFT_INVERSE);
    cudaDeviceSynchronize();
    EXPECT(std::fabs(x[b * n + n / 2].x / n - before.x) <= 1e-4);
    cufftDestroy(plan);
    cudaFree(x);
}

static void two_dimensions(int ny, int nx)
{
    double *real;
    cufftDoubleComplex *half;
    cufftHandle forward, back;
    cudaMallocManaged(&real, ny * nx * sizeof *real);
    cudaMallocManaged(&half, ny * (nx / 2 + 1) * sizeof *half);
    for (int i = 0; i < ny * nx; i++)
        real[i] = i * i % 31;
    C want = 0;
    for (int y = 0; y < ny; y++)
        for (int x = 0; x < nx; x++)
            want += real[y * nx + x] *
                    std::polar(1.0, -2 * M_PI * (2.0 * y / ny + 1.0 * x / nx));
    double before = real[nx + 3];
    cufftPlan2d(&forward, ny, nx, CUFFT_D2Z);
    cufftPlan2d(&back, ny, nx, CUFFT_Z2D);
    cufftExecD2Z(forward, real, half);
    cudaDeviceSynchronize();
    cufftDoubleComplex got = half[2 * (nx / 2 + 1) + 1];
    EXPECT(std::abs(C(got.x, got.y) - want) <= 1e-9 * ny * nx);
    cufftExecZ2D(back, half, real);
    cudaDeviceSynchronize();
    EXPECT(std::fabs(real[nx + 3] / (ny * nx) - before) <= 1e-9);
}

/* Descriptors are for at least two GPUs. */
static void by_descriptor()
{
    enum { N = 6 };
    cufftDoubleComplex x[N];
    for (int i = 0; i < N; i++)
        x[i] = make_cuDoubleComplex(i, -1);
    int gpus[2] = {0, 99};
    cufftHandle plan;
    cudaLibXtDesc *memory;
    cufftCreate(&plan);
    EXPECT(cufftXtSetGPUs(plan, 1, gpus) == CUFFT_INVALID_VALUE);
    EXPECT(cufftXtSetGPUs(plan, 2, gpus) == CUFFT_INVALID_DEVICE);
    cufftDestroy(plan);
    EXPECT(cufftPlan1d(&plan, N, CUFFT_Z2Z, 1) == CUFFT_SUCCESS);
    EXPECT(cufftXtMalloc(plan, &memory, CUFFT_XT_FORMAT_INPLACE) == CUFFT_SUCCESS);
    EXPECT(cufftXtMemcpy(plan, memory, x, CUFFT_COPY_HOST_TO_DEVICE) == CUFFT_SUCCESS);
    EXPECT(
        cufftXtExecDescriptorZ2Z(plan, memory, memory, CUFFT_FORWARD) ==
        CUFFT_EXEC_FAILED);
    cufftXtFree(memory);
    cufftDestroy(plan);
}

/* A real signal of bytes: a callback converts it, another one scales the spectrum. */
__device__ cufftReal load_byte(void *input, size_t i, void *info, void *)
{
    return ((const unsigned char *)input)[i] + *(const float *)info;
}
__device__ void store_scaled(void *output, size_t i, cufftComplex x, void *, void *)
{
    ((cufftComplex *)output)[i] = make_cuComplex(x.x / 8, x.y / 8);
}
__device__ cufftCallbackLoadR load_byte_address = load_byte;
__device__ cufftCallbackStoreC store_scaled_address = store_scaled;
static void callbacks()
{
    unsigned char *in;
    cufftComplex *out;
    float *plus;
    cufftHandle plan;
    cufftCallbackLoadR load;
    cufftCallbackStoreC store;
    cudaMallocManaged(&in, 16);
    cudaMallocManaged(&out, 10 * sizeof *out);
    cudaMallocManaged(&plus, sizeof *plus);
    *plus = 0.5f;
    for (int i = 0; i < 16; i++)
        in[i] = (unsigned char)(i < 8 ? 3 : i % 2);  // one constant, one alternating
    cudaMemcpyFromSymbol(&load, load_byte_address, sizeof load);
    cudaMemcpyFromSymbol(&store, store_scaled_address, sizeof store);
    cufftPlan1d(&plan, 8, CUFFT_R2C, 2);
    EXPECT(
        cufftXtSetCallback(plan, (void **)&load, CUFFT_CB_LD_COMPLEX, nullptr) !=
        CUFFT_SUCCESS);
    cufftXtSetCallback(plan, (void **)&load, CUFFT_CB_LD_REAL, (void **)&plus);
    cufftXtSetCallback(plan, (void **)&store, CUFFT_CB_ST_COMPLEX, nullptr);
    cufftExecR2C(plan, (cufftReal *)in, out);
    cudaDeviceSynchronize();
    for (int i = 0; i < 10; i++) {
        float want = i == 0 ? 3.5f : i == 5 ? 1 : i == 9 ? -0.5f : 0;
        EXPECT(std::fabs(out[i].x - want) <= 1e-6 && std::fabs(out[i].y) <= 1e-6);
    }
}

int main()
{
    by_descriptor();
    callbacks();
    for (int n : {1, 2, 8, 12, 30, 64, 77, 101, 1024})
        one_dimension(n, 3);
    two_dimensions(6, 10);
    two_dimensions(8, 9);
    if (failures) printf("%d failures\n", failures);
    return failures != 0;
}
