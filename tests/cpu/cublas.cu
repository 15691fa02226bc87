/* cublas.cu - GEMM compared with sums in double: transposes, types, batches. */
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../tap.h"

constexpr int GAP = 3;  // elements of padding after each column

static void *shared_bytes(size_t n)
{
    void *p = NULL;
    if (cudaMallocManaged(&p, n) != cudaSuccess) exit(2);
    return p;
}

static bool on_gpu;  // else on the CPU back end

static uint64_t state = 0x5eed;
static float uniform(void)  // [-0.5, 0.5)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (float)(state >> 40) / (1 << 24) - 0.5f;
}

/* --- elements of any type ----------------------------------------------------------- */

static size_t size_of(cudaDataType type)
{
    return type == CUDA_R_32F ? 4 : 2;
}
static const char *name_of(cudaDataType type)
{
    return type == CUDA_R_32F ? "f32" : type == CUDA_R_16F ? "f16" : "bf16";
}
static double get(const void *x, size_t i, cudaDataType type)
{
    return type == CUDA_R_32F   ? ((const float *)x)[i]
           : type == CUDA_R_16F ? (float)((const __half *)x)[i]
                                : (float)((const __nv_bfloat16 *)x)[i];
}
static void set(void *x, size_t i, cudaDataType type, float v)
{
    if (type == CUDA_R_32F)
        ((float *)x)[i] = v;
    else if (type == CUDA_R_16F)
        ((__half *)x)[i] = __half(v);
    else
        ((__nv_bfloat16 *)x)[i] = __nv_bfloat16(v);
}
static double rounding_of(cudaDataType type)
{
    return type == CUDA_R_32F ? 0x1p-24 : type == CUDA_R_16F ? 0x1p-11 : 0x1p-8;
}

/* --- one GEMM ----------------------------------------------------------------------- */

typedef struct shape {
    int m, n, k, batch;
} shape;

typedef struct factor {
    void *data;
    cudaDataType type;
    int rows, columns, ld;  // as stored
    long long stride;
} factor;

static factor make_factor(cudaDataType type, int rows, int columns, int batch, int filled)
{
    factor x = {NULL, type, rows, columns, rows + GAP, 0};
    x.stride = (long long)x.ld * columns + 5;
    size_t n = (size_t)x.stride * (size_t)batch;
    x.data = shared_bytes(n * size_of(type));
    for (size_t i = 0; i < n; i++)
        set(x.data, i, type, filled ? uniform() : NAN);
    return x;
}

static double at(const factor *x, int index, int i, int j, int transposed)
{
    size_t place = transposed ? (size_t)i * (size_t)x->ld + (size_t)j
                              : (size_t)j * (size_t)x->ld + (size_t)i;
    return get(x->data, (size_t)(index * x->stride) + place, x->type);
}

static int check_gemm(
    cublasHandle_t h, shape s, cudaDataType in, cudaDataType out, int ta, int tb,
    float alpha, float beta, int *repeats)
{
    factor a = make_factor(in, ta ? s.k : s.m, ta ? s.m : s.k, s.batch, 1);
    factor b = make_factor(in, tb ? s.n : s.k, tb ? s.k : s.n, s.batch, 1);
    factor c = make_factor(out, s.m, s.n, s.batch, beta != 0);
    size_t bytes = (size_t)c.stride * (size_t)s.batch * size_of(out);
    char *before = (char *)malloc(bytes), *first = (char *)malloc(bytes);
    memcpy(before, c.data, bytes);
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    for (int run = 0; run < 2 && status == CUBLAS_STATUS_SUCCESS; run++) {
        if (run) memcpy(first, c.data, bytes), memcpy(c.data, before, bytes);
        cublasOperation_t oa = ta ? CUBLAS_OP_T : CUBLAS_OP_N,
                          ob = tb ? CUBLAS_OP_T : CUBLAS_OP_N;
        if (s.batch > 1)
            status = cublasGemmStridedBatchedEx(
                h, oa, ob, s.m, s.n, s.k, &alpha, a.data, in, a.ld, a.stride, b.data, in,
                b.ld, b.stride, &beta, c.data, out, c.ld, c.stride, s.batch,
                CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
        else if (in == CUDA_R_32F)
            status = cublasSgemm(
                h, oa, ob, s.m, s.n, s.k, &alpha, (float *)a.data, a.ld, (float *)b.data,
                b.ld, &beta, (float *)c.data, c.ld);
        else
            status = cublasGemmEx(
                h, oa, ob, s.m, s.n, s.k, &alpha, a.data, in, a.ld, b.data, in, b.ld,
                &beta, c.data, out, c.ld, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
        cudaDeviceSynchronize();
    }
    *repeats += memcmp(first, c.data, bytes) == 0;

    factor old = c;
    old.data = before;
    int wrong = status != CUBLAS_STATUS_SUCCESS;
    for (int index = 0; index < s.batch; index++)
        for (int j = 0; j < s.n; j++)
            for (int i = 0; i < s.m; i++) {
                double sum = 0, size = 0;
                for (int p = 0; p < s.k; p++) {
                    double term = at(&a, index, i, p, ta) * at(&b, index, p, j, tb);
                    sum += term, size += fabs(term);
                }
                double want = alpha * sum, magnitude = fabs((double)alpha) * size;
                if (beta != 0) {
                    want += beta * at(&old, index, i, j, 0);
                    magnitude += fabs(beta * at(&old, index, i, j, 0));
                }
                double limit = rounding_of(out) * fabs(want) +
                               (8 + sqrt((double)s.k)) * 0x1p-24 * magnitude +
                               1e-7 * (out == CUDA_R_16F);
                // cuBLAS may round alpha A B before it adds beta C
                if (beta != 0 && on_gpu)
                    limit += rounding_of(out) * fabs((double)alpha * sum);
                double got = at(&c, index, i, j, 0);
                if (fabs(got - want) <= limit || wrong++ > 0) continue;
                printf(
                    "# (%d,%d,%d) x %d, alpha %g, beta %g: "
                    "(%d,%d) is %g, expected %g +- %.2g\n",
                    s.m, s.n, s.k, s.batch, (double)alpha, (double)beta, i, j, got, want,
                    limit);
            }
    for (size_t i = 0; i < bytes / size_of(out); i++) {  // the padding must not change
        long long place = (long long)i % c.stride;
        int inside = place < (long long)c.ld * s.n && place % c.ld < s.m;
        if (!inside)
            wrong += 0 != memcmp(
                              (char *)c.data + i * size_of(out),
                              before + i * size_of(out), size_of(out));
    }
    free(before), free(first);
    cudaFree(a.data), cudaFree(b.data), cudaFree(c.data);
    return wrong;
}

static void test_gemms(cublasHandle_t h)
{
    constexpr int SHAPES = 11;
    const shape shapes[SHAPES] = {{1, 1, 1, 1},      {5, 7, 3, 1},     {33, 65, 129, 1},
                                  {64, 48, 300, 1},  {390, 50, 20, 1}, {40, 395, 40, 1},
                                  {17, 31, 9, 5},    {64, 64, 32, 3},  {6, 7, 50, 1},
                                  {35, 13, 1400, 1}, {400, 70, 352, 1}};
    const cudaDataType types[][2] = {
        {CUDA_R_32F, CUDA_R_32F},
        {CUDA_R_16F, CUDA_R_16F},
        {CUDA_R_16BF, CUDA_R_16BF},
        {CUDA_R_16F, CUDA_R_32F},
        {CUDA_R_16BF, CUDA_R_32F}};
    const float scales[][2] = {{1, 0}, {1, 1}, {-0.5f, 0.25f}};
    for (int t = 0; t < 5; t++)
        for (int trans = 0; trans < 4; trans++) {
            int wrong = 0, repeats = 0, runs = 0;
            for (int s = 0; s < SHAPES; s++)
                for (int f = 0; f < 3; f++, runs++)
                    wrong += check_gemm(
                        h, shapes[s], types[t][0], types[t][1], trans & 1, trans >> 1,
                        scales[f][0], scales[f][1], &repeats);
            tap(wrong == 0 && repeats == runs,
                "%s to %s, op %c%c: %d shapes, 3 scales, twice "
                "(%d wrong, %d of %d with equal bits)",
                name_of(types[t][0]), name_of(types[t][1]), "NT"[trans & 1],
                "NT"[trans >> 1], SHAPES, wrong, repeats, runs);
        }
}

/* A linear layer in bf16 on a CPU that multiplies bf16: a token's outputs do not depend on
 * how many tokens there are. Elsewhere a library decides. */
static bool multiplies_bf16(void)
{
#ifdef __x86_64__
    const char *blas = getenv("WB_BLAS");
    return !on_gpu && !(blas && *blas) && __builtin_cpu_supports("avx512bf16");
#else
    return false;
#endif
}
static void test_columns(cublasHandle_t h, int M, int K)
{
    constexpr int N = 401, COUNTS = 9;
    const int counts[COUNTS] = {1, 15, 17, 47, 64, 65, 130, 385, 400};
    const float one = 1, zero = 0;
    if (!multiplies_bf16()) return;
    factor a = make_factor(CUDA_R_16BF, K, M, 1, 1);
    factor b = make_factor(CUDA_R_16BF, K, N, 1, 1);
    factor all = make_factor(CUDA_R_32F, M, N, 1, 0);
    factor c = make_factor(CUDA_R_32F, M, N, 1, 0);
    int wrong = 0;
    for (int i = 0; i <= COUNTS; i++) {
        const factor *to = i ? &c : &all;
        int n = i ? counts[i - 1] : N;
        cublasGemmEx(
            h, CUBLAS_OP_T, CUBLAS_OP_N, M, n, K, &one, a.data, CUDA_R_16BF, a.ld, b.data,
            CUDA_R_16BF, b.ld, &zero, to->data, CUDA_R_32F, to->ld, CUBLAS_COMPUTE_32F,
            CUBLAS_GEMM_DEFAULT);
        for (int j = 0; j < n; j++)
            wrong += 0 != memcmp(
                              (float *)to->data + (size_t)j * to->ld,
                              (float *)all.data + (size_t)j * all.ld, M * sizeof(float));
    }
    tap(wrong == 0,
        "bf16, op TN, %d x %d: a column's bits depend on no other column (%d differ)", M,
        K, wrong);
    cudaFree(a.data), cudaFree(b.data), cudaFree(all.data), cudaFree(c.data);
}

/* One B for the whole batch; k = 0; m = 0. */
static void test_edges(cublasHandle_t h)
{
    constexpr int M = 9, N = 6, K = 11, BATCH = 4;
    float *a = (float *)shared_bytes(sizeof *a * M * K * BATCH),
          *b = (float *)shared_bytes(sizeof *b * K * N);
    float *c = (float *)shared_bytes(sizeof *c * M * N * BATCH);
    const float one = 1, two = 2, zero = 0;
    for (int i = 0; i < M * K * BATCH; i++)
        a[i] = (float)(i % 7 - 3);
    for (int i = 0; i < K * N; i++)
        b[i] = (float)(i % 5 - 2);
    cublasSgemmStridedBatched(
        h, CUBLAS_OP_N, CUBLAS_OP_N, M, N, K, &one, a, M, M * K, b, K, 0, &zero, c, M,
        M * N, BATCH);
    cudaDeviceSynchronize();
    int wrong = 0;
    for (int at = 0; at < M * N * BATCH; at++) {
        int index = at / (M * N), i = at % M, j = at / M % N;
        float want = 0;
        for (int p = 0; p < K; p++)
            want += a[index * M * K + p * M + i] * b[j * K + p];
        wrong += c[at] != want;
    }
    tap(wrong == 0, "stride 0: one matrix for the whole batch (%d wrong)", wrong);

    for (int i = 0; i < M * N; i++)
        c[i] = (float)i;
    cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, M, N, 0, &one, a, M, b, K, &two, c, M);
    cudaDeviceSynchronize();
    wrong = 0;
    for (int i = 0; i < M * N; i++)
        wrong += c[i] != 2 * (float)i;
    tap(wrong == 0, "k = 0: C is scaled (%d wrong)", wrong);
    tap(cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, 0, N, K, &one, a, M, b, K, &two, c, M) ==
            CUBLAS_STATUS_SUCCESS,
        "m = 0: nothing to do");
    tap(cublasSgemm(
            h, CUBLAS_OP_N, CUBLAS_OP_N, M, N, K, &one, a, M - 1, b, K, &two, c, M) ==
            CUBLAS_STATUS_INVALID_VALUE,
        "a leading dimension less than the rows is rejected");
    cudaFree(a), cudaFree(b), cudaFree(c);
}

static void test_sgemv(cublasHandle_t h)
{
    constexpr int M = 23, N = 41, LD = 25;
    float *a = (float *)shared_bytes(sizeof *a * LD * N),
          *x = (float *)shared_bytes(sizeof *x * 200);
    float *y = (float *)shared_bytes(sizeof *y * 200);
    for (int i = 0; i < LD * N; i++)
        a[i] = (float)(i % 11 - 5);
    for (int trans = 0; trans < 2; trans++)
        for (int inc = 1; inc <= 3; inc += 2) {
            int rows = trans ? N : M, columns = trans ? M : N, wrong = 0;
            const float alpha = 2, beta = -1;
            for (int i = 0; i < 200; i++)
                x[i] = (float)(i % 7 - 3), y[i] = (float)(i % 5);
            cublasSgemv(
                h, trans ? CUBLAS_OP_T : CUBLAS_OP_N, M, N, &alpha, a, LD, x, inc, &beta,
                y, inc);
            cudaDeviceSynchronize();
            for (int i = 0; i < 200; i++) {
                float want = (float)(i % 5);
                if (i % inc == 0 && i / inc < rows) {
                    want = -want;
                    for (int p = 0; p < columns; p++)
                        want += 2 * a[trans ? i / inc * LD + p : p * LD + i / inc] *
                                x[p * inc];
                }
                wrong += y[i] != want;
            }
            tap(wrong == 0, "sgemv op %c, increments of %d (%d wrong)", "NT"[trans], inc,
                wrong);
        }
    cudaFree(a), cudaFree(x), cudaFree(y);
}

/* A captured GEMM runs at every replay, with the matrices' current values. */
static void test_capture(cublasHandle_t h)
{
    constexpr int N = 24;
    float *a = (float *)shared_bytes(sizeof *a * N * N),
          *c = (float *)shared_bytes(sizeof *c * N * N);
    for (int i = 0; i < N * N; i++)
        a[i] = i % (N + 1) == 0 ? 1.0f : 0.0f, c[i] = -1;  // the identity
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    cublasSetStream(h, stream);
    cudaStream_t found = NULL;
    cublasGetStream(h, &found);
    tap(found == stream, "cublasGetStream returns the stream of cublasSetStream");
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    {
        float two = 2, one = 1;  // out of scope before the graph is launched
        cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
        cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_T, N, N, N, &two, a, N, a, N, &one, c, N);
        cudaStreamEndCapture(stream, &graph);
        two = one = 0;
    }
    cudaGraphInstantiate(&exec, graph, 0);
    cudaStreamSynchronize(stream);
    tap(c[0] == -1, "a captured GEMM does not run");
    cudaGraphLaunch(exec, stream);
    cudaStreamSynchronize(stream);
    float once = c[0];
    a[0] = 3;
    cudaGraphLaunch(exec, stream);
    cudaStreamSynchronize(stream);
    tap(once == 1 && c[0] == 19 && c[N + 1] == 3, "it runs at each of two replays");
    cublasSetStream(h, NULL);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
    cudaFree(a), cudaFree(c);
}

static void test_status_texts(void)
{
    tap(strstr(cublasGetStatusString(CUBLAS_STATUS_NOT_SUPPORTED), "not supported") !=
            NULL,
        "cublasGetStatusString");
    tap(strcmp(cublasGetStatusName(CUBLAS_STATUS_SUCCESS), "CUBLAS_STATUS_SUCCESS") == 0,
        "cublasGetStatusName");
}

static void test_unsupported(cublasHandle_t h)
{
    float x[4] = {0}, one = 1;
    tap(cublasGemmEx(
            h, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, x, CUDA_R_16F, 1, x, CUDA_R_16F,
            1, &one, x, CUDA_R_16F, 1, CUBLAS_COMPUTE_32I,
            CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_NOT_SUPPORTED,
        "sums in integers are not supported");
    tap(cublasGemmEx(
            h, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, x, CUDA_R_64F, 1, x, CUDA_R_64F,
            1, &one, x, CUDA_R_64F, 1, CUBLAS_COMPUTE_32F,
            CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_NOT_SUPPORTED,
        "doubles are not supported");
}

int main(void)
{
    cudaDeviceProp p;
    on_gpu = cudaGetDeviceProperties(&p, 0) == cudaSuccess && !p.integrated;
    cublasHandle_t h;
    if (cublasCreate(&h) != CUBLAS_STATUS_SUCCESS) {
        tap(0, "cublasCreate");
        return tap_done();
    }
    // no TF32, no partial sums in 16 bits
    int exact = CUBLAS_PEDANTIC_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
    cublasSetMathMode(h, (cublasMath_t)exact);
    test_gemms(h);
    test_columns(h, 45, 700);
    test_columns(h, 48, 704);  // whole tiles, for AMX
    test_edges(h);
    test_sgemv(h);
    test_capture(h);
    test_status_texts();
    if (!on_gpu) test_unsupported(h);
    tap(cublasDestroy(h) == CUBLAS_STATUS_SUCCESS, "cublasDestroy");
    return tap_done();
}
