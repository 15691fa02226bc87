/* WMMA: three shapes of half, bfloat16 and 8-bit integers; TF32; double; saturated sums. */
#include <cstdio>
#include <mma.h>
#include <type_traits>

using namespace nvcuda;

/* d = a b + c by one warp; a by rows, b by columns, c and d by rows. */
template <int M, int N, int K, class T, class Element, class Sum>
__global__ void multiply(Sum *d, const Element *a, const Element *b, const Sum *c, bool saturate)
{
    wmma::fragment<wmma::matrix_a, M, N, K, T, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, M, N, K, T, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, M, N, K, Sum> fc, twice;
    wmma::load_matrix_sync(fa, a, K);
    wmma::load_matrix_sync(fb, b, K);
    wmma::load_matrix_sync(fc, c, N, wmma::mem_row_major);
    if constexpr (std::is_same<Sum, int>::value)
        wmma::mma_sync(fc, fa, fb, fc, saturate);
    else
        wmma::mma_sync(fc, fa, fb, fc);
    wmma::fill_fragment(twice, 2);
    for (int i = 0; i < fc.num_elements && !saturate; i++)
        fc.x[i] = fc.x[i] * twice.x[i];
    wmma::store_matrix_sync(d, fc, N, wmma::mem_row_major);
}

static int small(int i)
{
    return i * 37 % 11;
}
template <int M, int N, int K, class T, class Element, class Sum> static int wrong()
{
    Element *a, *b;
    Sum *c, *d;
    cudaMallocManaged(&a, M * K * sizeof *a);
    cudaMallocManaged(&b, K * N * sizeof *b);
    cudaMallocManaged(&c, M * N * sizeof *c);
    cudaMallocManaged(&d, M * N * sizeof *d);
    for (int i = 0; i < M * K; i++)
        a[i] = Element((float)small(i));
    for (int i = 0; i < K * N; i++)
        b[i] = Element((float)small(3 * i + 1));
    for (int i = 0; i < M * N; i++)
        c[i] = Sum((float)small(5 * i));
    multiply<M, N, K, T><<<1, 32>>>(d, a, b, c, false);
    cudaDeviceSynchronize();
    int count = 0;
    for (int i = 0; i < M * N; i++) {
        double sum = small(5 * i);
        for (int k = 0; k < K; k++)
            sum += small(i / N * K + k) * small(3 * (i % N * K + k) + 1);
        count += (double)(float)d[i] != 2 * sum;
    }
    cudaFree(a), cudaFree(b), cudaFree(c), cudaFree(d);
    return count;
}
template <class T, class Sum> static int wrong_shapes()
{
    return wrong<16, 16, 16, T, T, Sum>() + wrong<32, 8, 16, T, T, Sum>() +
           wrong<8, 32, 16, T, T, Sum>();
}

/* Sums near the largest int stay there. */
static int wrong_saturation()
{
    unsigned char *x;
    int *c;
    cudaMallocManaged(&x, 256);
    cudaMallocManaged(&c, 256 * sizeof *c);
    for (int i = 0; i < 256; i++)
        x[i] = 255, c[i] = i % 2 ? 0x7fffff00 : 5;
    multiply<16, 16, 16, unsigned char><<<1, 32>>>(c, x, x, c, true);
    cudaDeviceSynchronize();
    int count = 0;
    for (int i = 0; i < 256; i++)
        count += c[i] != (i % 2 ? 0x7fffffff : 5 + 16 * 255 * 255);
    return count;
}

__global__ void round_to_tf32(float *x)
{
    x[threadIdx.x] = wmma::__float_to_tf32(x[threadIdx.x]);
}

int main()
{
    if (wrong_shapes<__half, float>() || wrong_shapes<__half, __half>()) return 1;
    if (wrong_shapes<__nv_bfloat16, float>()) return 2;
    if (wrong_shapes<signed char, int>() || wrong_shapes<unsigned char, int>()) return 3;
    if (wrong<16, 16, 8, wmma::precision::tf32, float, float>()) return 4;
    if (wrong<8, 8, 4, double, double, double>()) return 5;
    if (wrong_saturation()) return 6;
    float *x;
    cudaMallocManaged(&x, 2 * sizeof *x);
    x[0] = 1.00048828125f, x[1] = 1.0004f;
    round_to_tf32<<<1, 2>>>(x);
    cudaDeviceSynchronize();
    return x[0] != 1.0009765625f || x[1] != 1 ? 7 : 0;
}
