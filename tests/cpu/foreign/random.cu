/* cuRAND: bits of XORWOW, Philox and Sobol; uniform, normal and quasi-random arrays. */
#include <cmath>
#include <cstdio>
#include <curand.h>
#include <curand_kernel.h>

/* The expected values are those of the toolkit's curand_kernel.h. */
__global__ void bits(unsigned *out)
{
    curandState a;
    curand_init(1234, threadIdx.x, 5, &a);
    out[threadIdx.x] = curand(&a);
    curandStatePhilox4_32_10_t b;
    curand_init(1234, threadIdx.x, 6, &b);
    out[4 + threadIdx.x] = curand(&b);
}

__global__ void quasi(unsigned *out, curandDirectionVectors32_t *vectors)
{
    curandStateSobol32_t a;
    curand_init(vectors[threadIdx.x], 5, &a);
    out[threadIdx.x] = curand(&a);
}
/* Value 5 of ten dimensions; in each of 70 dimensions, 256 values fill 256 intervals. */
static int wrong_sobol(unsigned *out)
{
    const unsigned want[10] = {0xe0000000, 0xe0000000, 0x20000000, 0x60000000, 0xe0000000,
                               0xa0000000, 0xe0000000, 0x60000000, 0x60000000, 0x20000000};
    curandDirectionVectors32_t *host, *device;
    if (curandGetDirectionVectors32(&host, CURAND_DIRECTION_VECTORS_32_JOEKUO6)) return 1;
    cudaMalloc(&device, 10 * sizeof *device);
    cudaMemcpy(device, host, 10 * sizeof *device, cudaMemcpyHostToDevice);
    quasi<<<1, 10>>>(out, device);
    cudaDeviceSynchronize();
    int wrong = 0;
    for (int d = 0; d < 10; d++)
        wrong += out[d] != want[d];
    cudaFree(device);

    enum { D = 70, N = 256 };
    curandGenerator_t g;
    double *x;
    cudaMallocManaged(&x, D * N * sizeof *x);
    for (curandRngType_t type : {CURAND_RNG_QUASI_SOBOL32, CURAND_RNG_QUASI_SCRAMBLED_SOBOL64}) {
        curandCreateGenerator(&g, type);
        wrong += curandSetQuasiRandomGeneratorDimensions(g, D) != CURAND_STATUS_SUCCESS;
        wrong += curandGenerateUniformDouble(g, x, D * N - 1) != CURAND_STATUS_LENGTH_NOT_MULTIPLE;
        curandGenerateUniformDouble(g, x, D * N);
        cudaDeviceSynchronize();
        for (int d = 0; d < D; d++) {
            bool seen[N] = {};
            for (int i = 0; i < N; i++)
                seen[(int)std::ceil(x[d * N + i] * N) - 1] = true;
            for (bool s : seen)
                wrong += !s;
        }
        curandDestroyGenerator(g);
    }
    return wrong;
}

static double mean(const float *x, int n, double power)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += std::pow(x[i], power);
    return sum / n;
}

int main()
{
    const unsigned want[8] = {2501467243u, 75263415u,  839904678u,  3857148075u,
                              4196888723u, 495137217u, 2504520210u, 4056635629u};
    unsigned *out;
    cudaMallocManaged(&out, 16 * sizeof *out);
    bits<<<1, 4>>>(out);
    cudaDeviceSynchronize();
    int wrong = 0;
    for (int i = 0; i < 8; i++)
        wrong += out[i] != want[i];
    if (wrong) {
        for (int i = 0; i < 8; i++)
            printf("%u, ", out[i]);
        return 1;
    }
    if (wrong_sobol(out)) return 7;
    const int n = 1 << 17;
    float *x;
    cudaMallocManaged(&x, n * sizeof(float));
    curandGenerator_t g;
    for (curandRngType_t type : {CURAND_RNG_PSEUDO_DEFAULT, CURAND_RNG_PSEUDO_PHILOX4_32_10}) {
        if (curandCreateGenerator(&g, type)) return 2;
        curandSetPseudoRandomGeneratorSeed(g, 42);
        curandGenerateUniform(g, x, n);
        cudaDeviceSynchronize();
        if (std::fabs(mean(x, n, 1) - 0.5) > 0.005) return 3;
        if (std::fabs(mean(x, n, 2) - 1 / 3.0) > 0.005) return 4;
        curandGenerateNormal(g, x, n, 1, 2);
        cudaDeviceSynchronize();
        if (std::fabs(mean(x, n, 1) - 1) > 0.03) return 5;
        if (std::fabs(mean(x, n, 2) - 5) > 0.1) return 6;
        curandDestroyGenerator(g);
    }
    return 0;
}
