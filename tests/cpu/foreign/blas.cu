/* cuBLAS levels 1 to 3: vectors, bfloat16, triangular solves, double GEMM, copies. */
#include <cmath>
#include <cstdio>
#include <cublasXt.h>
#include <cublas_v2.h>
#include <vector>

enum { N = 7, LD = 9 };
static int failures;
static void expect(const char *what, double got, double want)
{
    if (std::fabs(got - want) <= 1e-5 * (1 + std::fabs(want))) return;
    printf("%s: %g, not %g\n", what, got, want);
    failures++;
}

template <class T> struct device_array {
    T *p;
    explicit device_array(const std::vector<T> &h)
    {
        cudaMalloc(&p, h.size() * sizeof(T));
        cublasSetVector((int)h.size(), sizeof(T), h.data(), 1, p, 1);
    }
    std::vector<T> get(int n) const
    {
        std::vector<T> h(n);
        cublasGetVector(n, sizeof(T), p, 1, h.data(), 1);
        return h;
    }
};

static void vectors(cublasHandle_t blas)
{
    std::vector<float> x(N), y(N);
    for (int i = 0; i < N; i++)
        x[i] = i - 4.5f, y[i] = 0.5f * i;
    device_array<float> dx(x), dy(y);
    float alpha = 2, result;
    int place;
    cublasSdot(blas, N, dx.p, 1, dy.p, 1, &result);
    expect("dot", result, -1.75);
    cublasSasum(blas, N, dx.p, 1, &result);
    expect("asum", result, 14.5);
    cublasSnrm2(blas, N, dx.p, 1, &result);
    expect("nrm2", result, std::sqrt(43.75));
    cublasIsamax(blas, N, dx.p, 1, &place);
    expect("amax, from 1", place, 1);
    cublasSaxpy(blas, N, &alpha, dx.p, 1, dy.p, 1);
    expect("axpy", dy.get(N)[3], 2 * -1.5 + 1.5);
    cublasSscal(blas, 3, &alpha, dy.p, 2);
    expect("scal", dy.get(N)[2], 2 * (2 * -2.5 + 1));
    cublasScopy(blas, N, dx.p, 1, dy.p, -1);
    expect("copy, backwards", dy.get(N)[0], 1.5);

    float *on_device;
    cudaMalloc(&on_device, sizeof(float));
    cublasSetPointerMode(blas, CUBLAS_POINTER_MODE_DEVICE);
    cublasSdot(blas, N, dx.p, 1, dx.p, 1, on_device);
    cublasSetPointerMode(blas, CUBLAS_POINTER_MODE_HOST);
    cudaMemcpy(&result, on_device, sizeof result, cudaMemcpyDeviceToHost);
    expect("dot into device memory", result, 43.75);
}

/* bfloat16, computed in float */
static void narrow(cublasHandle_t blas)
{
    std::vector<__nv_bfloat16> x(N), y(N);
    for (int i = 0; i < N; i++)
        x[i] = __float2bfloat16(i - 3.0f), y[i] = __float2bfloat16(0.25f * i);
    device_array<__nv_bfloat16> dx(x), dy(y);
    const cudaDataType half = CUDA_R_16BF, wide = CUDA_R_32F;
    __nv_bfloat16 dot, norm;
    float alpha = 0.5f;
    cublasDotEx(blas, N, dx.p, half, 1, dy.p, half, -1, &dot, half, wide);
    expect("dot of bfloat16", __bfloat162float(dot), -7);
    cublasNrm2Ex(blas, N, dx.p, half, 1, &norm, half, wide);
    expect("norm of bfloat16", __bfloat162float(norm), 5.28125);  // the square root of 28
    cublasAxpyEx(blas, N, &alpha, wide, dy.p, half, 1, dx.p, half, 1, wide);
    cublasScalEx(blas, N, &alpha, wide, dx.p, half, 1, wide);
    expect("axpy and scal", __bfloat162float(dx.get(N)[6]), 1.875);
    if (!cublasDotEx(blas, N, dx.p, half, 1, dx.p, CUDA_R_64F, 1, &dot, half, wide))
        expect("two types are refused", 0, 1);
}

/* int8 GEMM: sums in int, or in float */
static void integers(cublasHandle_t blas)
{
    enum { M = 5, K = 7, STRIDE = 8 };
    std::vector<int8_t> a(M * STRIDE), b(N * STRIDE);
    for (size_t i = 0; i < a.size(); i++)
        a[i] = (int8_t)(29 * i % 251 - 125);
    for (size_t i = 0; i < b.size(); i++)
        b[i] = (int8_t)(127 - 31 * i % 255);
    device_array<int8_t> da(a), db(b);
    device_array<int> dc(std::vector<int>(M * N, 5));
    device_array<float> df(std::vector<float>(M * N, 5));
    int two = 2, minus = -1, sum = 0;
    float half = 0.5f, one = 1;
    auto gemm = [&](int ld, void *c, cudaDataType type, cublasComputeType_t compute,
                    const void *alpha, const void *beta) {
        return cublasGemmEx(
            blas, CUBLAS_OP_T, CUBLAS_OP_N, M, N, K, alpha, da.p, CUDA_R_8I, ld, db.p,
            CUDA_R_8I, ld, beta, c, type, M, compute, CUBLAS_GEMM_DEFAULT);
    };
    for (int k = 0; k < K; k++)
        sum += a[3 * STRIDE + k] * b[2 * STRIDE + k];
    gemm(STRIDE, dc.p, CUDA_R_32I, CUBLAS_COMPUTE_32I, &two, &minus);
    expect("int8 summed in int", dc.get(M * N)[2 * M + 3], 2 * sum - 5);
    gemm(STRIDE, df.p, CUDA_R_32F, CUBLAS_COMPUTE_32F, &half, &one);
    expect("int8 summed in float", df.get(M * N)[2 * M + 3], 0.5 * sum + 5);
    expect(
        "a leading dimension that is not a multiple of 4",
        gemm(K, dc.p, CUDA_R_32I, CUBLAS_COMPUTE_32I, &two, &minus),
        CUBLAS_STATUS_NOT_SUPPORTED);
    expect(
        "too small a leading dimension",
        gemm(4, dc.p, CUDA_R_32I, CUBLAS_COMPUTE_32I, &two, &minus),
        CUBLAS_STATUS_INVALID_VALUE);
}

/* A is lower triangular, with 2 on its diagonal. */
static void matrices(cublasHandle_t blas)
{
    std::vector<double> a(LD * N), b(LD * N), x(N, 1.0);
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++) {
            a[j * LD + i] = i == j ? 2 : i > j ? 0.25 * (i - j) : -77;
            b[j * LD + i] = i + 0.5 * j;
        }
    double one = 1, half = 0.5, zero = 0, *da, *db, *dc;
    cudaMalloc(&da, LD * N * sizeof(double));
    cudaMalloc(&db, LD * N * sizeof(double));
    cudaMalloc(&dc, LD * N * sizeof(double));
    cublasSetMatrix(N, N, sizeof(double), a.data(), LD, da, LD);
    cublasSetMatrix(N, N, sizeof(double), b.data(), LD, db, LD);
    auto element = [&](const double *d, int i, int j) {
        std::vector<double> h(LD * N);
        cublasGetMatrix(N, N, sizeof(double), d, LD, h.data(), LD);
        return h[j * LD + i];
    };
    cublasDtrmm(
        blas, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT,
        N, N, &one, da, LD, db, LD, dc, LD);
    expect("trmm", element(dc, 2, 1), 0.5 * 0.5 + 0.25 * 1.5 + 2 * 2.5);
    cublasDtrsm(
        blas, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT,
        N, N, &one, da, LD, dc, LD);
    for (int i = 0; i < N; i++)
        expect("trsm after trmm", element(dc, i, 3), i + 1.5);
    cublasDtrsm(
        blas, CUBLAS_SIDE_RIGHT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_T,
        CUBLAS_DIAG_NON_UNIT, N, N, &half, da, LD, dc, LD);
    cublasDtrmm(
        blas, CUBLAS_SIDE_RIGHT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_T,
        CUBLAS_DIAG_NON_UNIT, N, N, &one, da, LD, dc, LD, dc, LD);
    expect("from the right", element(dc, 4, 2), 2.5);

    cublasGemmEx(  // the older form, with an element type for the sums
        blas, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, N, &half, db, CUDA_R_64F, LD, db,
        CUDA_R_64F, LD, &zero, dc, CUDA_R_64F, LD, CUDA_R_64F, CUBLAS_GEMM_DEFAULT);
    double first = 0;
    for (int k = 0; k < N; k++)
        first += 0.5 * (0.5 * k) * k;
    expect("GemmEx, the older form", element(dc, 0, 0), first);

    cublasDsyrk(
        blas, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_T, N, N, &one, db, LD, &zero, dc, LD);
    double want = 0, symmetric = 0;
    for (int k = 0; k < N; k++) {
        want += b[1 * LD + k] * b[4 * LD + k];
        symmetric += a[std::min(k, 3) * LD + std::max(k, 3)] * b[2 * LD + k];
    }
    expect("syrk", element(dc, 1, 4), want);
    cublasDgemm(
        blas, CUBLAS_OP_T, CUBLAS_OP_N, N, N, N, &one, db, LD, db, LD, &one, dc, LD);
    expect("gemm", element(dc, 1, 4), 2 * want);
    expect(
        "gemm of matrices with too small a leading dimension",
        cublasDgemm(
            blas, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, &one, db, N - 1, db, LD, &one, dc,
            LD),
        CUBLAS_STATUS_INVALID_VALUE);
    cublasDsymm(
        blas, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, N, N, &one, da, LD, db, LD, &zero,
        dc, LD);
    expect("symm", element(dc, 3, 2), symmetric);

    device_array<double> dx(x), dy(x);
    cublasDgemv(blas, CUBLAS_OP_T, N, N, &one, db, LD, dx.p, 1, &one, dy.p, 1);
    expect("gemv", dy.get(N)[2], 1 + 21 + 7);
    cublasDger(blas, N, N, &one, dx.p, 1, dx.p, 1, db, LD);
    expect("ger", element(db, 3, 2), 5);
}

/* C (2,3) = A^T B of matrices in host memory */
static void host_matrices()
{
    enum { M = 2, P = 3, K = 4 };
    float a[K * M], b[K * P], c[LD * P], alpha = 1, beta = 0;
    int device = 0;
    cublasXtHandle_t xt;
    for (int i = 0; i < K * M; i++)
        a[i] = (float)(i + 1);
    for (int i = 0; i < K * P; i++)
        b[i] = (float)(2 * i - 5);
    cublasXtCreate(&xt);
    cublasXtDeviceSelect(xt, 1, &device);
    cublasXtSgemm(
        xt, CUBLAS_OP_T, CUBLAS_OP_N, M, P, K, &alpha, a, K, b, K, &beta, c, LD);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < P; j++) {
            float want = 0;
            for (int k = 0; k < K; k++)
                want += a[i * K + k] * b[j * K + k];
            expect("Xt gemm", c[j * LD + i], want);
        }
    device = 99;
    expect("no such device", cublasXtDeviceSelect(xt, 1, &device) != 0, 1);
    cublasXtDestroy(xt);
}

int main()
{
    cublasHandle_t blas;
    if (cublasCreate(&blas)) return 1;
    host_matrices();
    vectors(blas);
    narrow(blas);
    integers(blas);
    matrices(blas);
    cublasDestroy(blas);
    return failures != 0;
}
