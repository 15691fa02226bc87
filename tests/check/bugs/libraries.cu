// libraries.cu - a library gets wrong arguments, or calls a wrong function of the program.
// The mark is at the call, or in that function.
#include "../cases.h"

#include <cublas_v2.h>
#include <cufft.h>
#include <curand.h>
#include <thrust/device_ptr.h>
#include <thrust/sort.h>
#include <thrust/transform.h>

enum { N = 100 };
struct look_up {
    const float *table;
    __host__ __device__ float operator()(float x) const
    {
        return table[(int)x]; // BUG index_of_functor out-of-bounds, table_of_functor uninitialized
    }
};
CASE(index_of_functor)
{
    thrust::device_ptr<float> x(counting<float>(N)), y(zeros<float>(N));
    thrust::transform(x, x + N, y, look_up{zeros<float>(N - 1)});
    return 0;
}
CASE(table_of_functor)
{
    thrust::device_ptr<float> x(counting<float>(N)), y(zeros<float>(N));
    thrust::transform(x, x + N, y, look_up{unwritten<float>(N)});
    return 0;
}
CASE(sort_past_the_end)
{
    thrust::device_ptr<float> x(counting<float>(N));
    thrust::sort(x, x + N + 1); // BUG sort_past_the_end out-of-bounds
    return 0;
}
CASE(sort_on_the_host)
{
    float *x = counting<float>(N);
    thrust::sort(thrust::host, x, x + N); // BUG sort_on_the_host device-pointer
    return 0;
}
// A real transform of N values has N / 2 + 1 results.
CASE(half_a_result)
{
    float *x = counting<float>(N);
    cufftComplex *y = unwritten<cufftComplex>(N / 2);
    cufftHandle plan;
    cufftPlan1d(&plan, N, CUFFT_R2C, 1);
    cufftExecR2C(plan, x, y); // BUG half_a_result out-of-bounds
    cufftDestroy(plan);
    return 0;
}
CASE(random_without_waiting)
{
    float *x, first;
    curandGenerator_t random;
    cudaMallocManaged(&x, N * sizeof *x);
    curandCreateGenerator(&random, CURAND_RNG_PSEUDO_DEFAULT);
    curandGenerateUniform(random, x, N);
    first = x[0]; // BUG random_without_waiting stream-race
    curandDestroyGenerator(random);
    cudaFree(x);
    return first > 1;
}
CASE(dot_of_nothing)
{
    float *x = unwritten<float>(N), dot;
    cublasHandle_t blas;
    cublasCreate(&blas);
    cublasSdot(blas, N, x, 1, x, 1, &dot); // BUG dot_of_nothing uninitialized
    cublasDestroy(blas);
    return dot < 0;
}
CASE(copy_of_too_much)
{
    float *x = counting<float>(N), *y = unwritten<float>(N);
    cublasHandle_t blas;
    cublasCreate(&blas);
    cublasScopy(blas, N, x, 1, y, 2); // BUG copy_of_too_much out-of-bounds
    cublasDestroy(blas);
    return 0;
}
