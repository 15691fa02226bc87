/* cuRAND: the bits of XORWOW and Philox on the device; uniform and normal arrays. */
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
    cudaMallocManaged(&out, sizeof want);
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
