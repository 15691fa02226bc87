/* cuBLASLt: epilogues with bias, ReLU, GELU and its derivative; rows and columns; half. */
#include <cmath>
#include <cstdio>
#include <cublasLt.h>
#include <cuda_fp16.h>

enum { M = 5, N = 6, K = 4 };
static float a[K * M], b[K * N], bias[M], *da, *db, *dc, *dbias, *daux;
static void *workspace;
static int failures;
static bool has_bias = true, has_aux = true;
static size_t workspace_bytes;

static float product(int i, int j) /* A^T B, A (K,M), B (K,N), by columns */
{
    float sum = 0;
    for (int k = 0; k < K; k++)
        sum += a[i * K + k] * b[j * K + k];
    return sum;
}
static double gelu(double x)
{
    return 0.5 * x * (1 + std::tanh(0.7978845608 * (x + 0.044715 * x * x * x)));
}
static void expect(const char *what, double got, double want)
{
    if (std::fabs(got - want) < 2e-5) return;
    printf("%s: %g, not %g\n", what, got, want);
    failures++;
}

static cublasStatus_t
multiply(cublasLtHandle_t lt, cublasLtEpilogue_t epilogue, cublasLtOrder_t order)
{
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t la, lb, lc;
    cublasLtMatmulPreference_t preference;
    cublasLtMatmulHeuristicResult_t found;
    const bool sums =
        epilogue == CUBLASLT_EPILOGUE_BGRADA;  // only of an A that is not transposed
    cublasOperation_t op = sums ? CUBLAS_OP_N : CUBLAS_OP_T;
    int64_t ld = M;
    int count = 0;
    float one = 1, zero = 0;
    cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &op, sizeof op);
    cublasLtMatmulDescSetAttribute(
        desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue);
    const bool uses_aux = epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS ||
                          epilogue == CUBLASLT_EPILOGUE_DGELU ||
                          epilogue == CUBLASLT_EPILOGUE_DGELU_BGRAD;
    const bool uses_bias = epilogue & CUBLASLT_EPILOGUE_BIAS ||
                           epilogue == CUBLASLT_EPILOGUE_BGRADA ||
                           epilogue == CUBLASLT_EPILOGUE_DGELU_BGRAD;
    if (uses_bias && has_bias)
        cublasLtMatmulDescSetAttribute(
            desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &dbias, sizeof dbias);
    if (uses_aux && has_aux) {
        cublasLtMatmulDescSetAttribute(
            desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &daux, sizeof daux);
        cublasLtMatmulDescSetAttribute(
            desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &ld, sizeof ld);
    }
    cublasLtMatrixLayoutCreate(&la, CUDA_R_32F, sums ? M : K, sums ? K : M, sums ? M : K);
    cublasLtMatrixLayoutCreate(&lb, CUDA_R_32F, K, N, K);
    cublasLtMatrixLayoutCreate(
        &lc, CUDA_R_32F, M, N, order == CUBLASLT_ORDER_ROW ? N : M);
    cublasLtMatrixLayoutSetAttribute(
        lc, CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof order);
    cublasLtMatmulPreferenceCreate(&preference);
    cublasLtMatmulPreferenceSetAttribute(
        preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_bytes,
        sizeof workspace_bytes);
    cublasLtMatmulAlgoGetHeuristic(
        lt, desc, la, lb, lc, lc, preference, 1, &found, &count);
    if (!count) return CUBLAS_STATUS_NOT_SUPPORTED;
    cublasStatus_t status = cublasLtMatmul(
        lt, desc, &one, da, la, db, lb, &zero, dc, lc, dc, lc, &found.algo, workspace,
        workspace_bytes, 0);
    cublasLtMatmulPreferenceDestroy(preference);
    cublasLtMatrixLayoutDestroy(la);
    cublasLtMatrixLayoutDestroy(lb);
    cublasLtMatrixLayoutDestroy(lc);
    cublasLtMatmulDescDestroy(desc);
    return status;
}
/* The same product in half, scaled by 2: the scale type is half, too. */
static void multiply_half(cublasLtHandle_t lt, float *c)
{
    static __half ha[K * M], hb[K * N], hc[M * N];
    __half *a16 = (__half *)da, *b16 = (__half *)db, *c16 = (__half *)dc;
    __half two = __float2half(2), zero = __float2half(0);
    cublasLtMatmulDescOpaque_t desc = {};  // Init instead of Create: no Destroy
    cublasLtMatrixLayoutOpaque_t la = {}, lb = {}, lc = {};
    cublasLtMatmulPreferenceOpaque_t preference = {};
    cublasLtMatmulHeuristicResult_t found;
    int count = 0;
    cublasOperation_t transposed = CUBLAS_OP_T;
    for (int i = 0; i < K * M; i++)
        ha[i] = __float2half(a[i]);
    for (int i = 0; i < K * N; i++)
        hb[i] = __float2half(b[i]);
    cudaMemcpy(a16, ha, sizeof ha, cudaMemcpyHostToDevice);
    cudaMemcpy(b16, hb, sizeof hb, cudaMemcpyHostToDevice);
    cublasLtMatmulDescInit(&desc, CUBLAS_COMPUTE_16F, CUDA_R_16F);
    cublasLtMatmulDescSetAttribute(
        &desc, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed);
    cublasLtMatrixLayoutInit(&la, CUDA_R_16F, K, M, K);
    cublasLtMatrixLayoutInit(&lb, CUDA_R_16F, K, N, K);
    cublasLtMatrixLayoutInit(&lc, CUDA_R_16F, M, N, M);
    cublasLtMatmulPreferenceInit(&preference);
    cublasLtMatmulAlgoGetHeuristic(
        lt, &desc, &la, &lb, &lc, &lc, &preference, 1, &found, &count);
    cublasStatus_t status = cublasLtMatmul(
        lt, &desc, &two, a16, &la, b16, &lb, &zero, c16, &lc, c16, &lc, NULL, NULL, 0, 0);
    if (count != 1 || status != CUBLAS_STATUS_SUCCESS) failures++;
    cudaMemcpy(hc, c16, sizeof hc, cudaMemcpyDeviceToHost);
    for (int i = 0; i < M * N; i++)
        c[i] = __half2float(hc[i]);
}

static float get(const float *p, int at)
{
    float x;
    cudaMemcpy(&x, p + at, sizeof x, cudaMemcpyDeviceToHost);
    return x;
}

int main()
{
    for (int i = 0; i < K * M; i++)
        a[i] = 0.25f * (i % 7) - 0.5f;
    for (int i = 0; i < K * N; i++)
        b[i] = 0.5f * (i % 5) - 1;
    for (int i = 0; i < M; i++)
        bias[i] = 0.125f * i;
    cudaMalloc(&da, sizeof a);
    cudaMalloc(&db, sizeof b);
    cudaMalloc(&dc, M * N * sizeof(float));
    cudaMalloc(&daux, M * N * sizeof(float));
    cudaMalloc(&dbias, sizeof bias);
    cudaMemcpy(da, a, sizeof a, cudaMemcpyHostToDevice);
    cudaMemcpy(db, b, sizeof b, cudaMemcpyHostToDevice);
    cudaMemcpy(dbias, bias, sizeof bias, cudaMemcpyHostToDevice);
    cublasLtHandle_t lt;
    cublasLtCreate(&lt);

    const int i = 3, j = 4, at = j * M + i;
    const float x = product(i, j), y = x + bias[i];
    multiply(lt, CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_ORDER_COL);
    expect("product", get(dc, at), x);
    multiply(lt, CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_ORDER_ROW);
    expect("product by rows", get(dc, i * N + j), x);
    multiply(lt, CUBLASLT_EPILOGUE_RELU, CUBLASLT_ORDER_ROW);
    expect("row-major ReLU", get(dc, i * N + j), x > 0 ? x : 0);
    multiply(lt, CUBLASLT_EPILOGUE_RELU_BIAS, CUBLASLT_ORDER_COL);
    expect("ReLU, bias", get(dc, at), y > 0 ? y : 0);
    if (multiply(lt, CUBLASLT_EPILOGUE_RELU_BIAS, CUBLASLT_ORDER_ROW) !=
        CUBLAS_STATUS_NOT_SUPPORTED)
        expect("a row-major bias is refused", 0, 1);
    multiply(lt, CUBLASLT_EPILOGUE_GELU_AUX_BIAS, CUBLASLT_ORDER_COL);
    expect("GELU", get(dc, at), gelu(y));
    expect("its input", get(daux, at), y);
    multiply(lt, CUBLASLT_EPILOGUE_DGELU, CUBLASLT_ORDER_COL);
    expect("DGELU", get(dc, at), x * (gelu(y + 1e-4) - gelu(y - 1e-4)) / 2e-4);
    multiply(lt, CUBLASLT_EPILOGUE_BGRADA, CUBLASLT_ORDER_COL);
    expect("BGRADA", get(dbias, 2), a[2] + a[2 + M] + a[2 + 2 * M] + a[2 + 3 * M]);
    expect(
        "DGELU_BGRAD without a workspace",
        multiply(lt, CUBLASLT_EPILOGUE_DGELU_BGRAD, CUBLASLT_ORDER_COL),
        CUBLAS_STATUS_NOT_SUPPORTED);
    workspace_bytes = 4096;
    cudaMalloc(&workspace, workspace_bytes);
    has_bias = false;
    for (auto epilogue : {CUBLASLT_EPILOGUE_DGELU_BGRAD, CUBLASLT_EPILOGUE_BGRADA})
        expect(
            "a bias gradient without its vector", multiply(lt, epilogue, CUBLASLT_ORDER_COL),
            CUBLAS_STATUS_INVALID_VALUE);
    has_bias = true;
    has_aux = false;
    expect(
        "DGELU without its input",
        multiply(lt, CUBLASLT_EPILOGUE_DGELU, CUBLASLT_ORDER_COL),
        CUBLAS_STATUS_INVALID_VALUE);
    expect(
        "GELU_AUX without its auxiliary matrix",
        multiply(lt, CUBLASLT_EPILOGUE_GELU_AUX_BIAS, CUBLASLT_ORDER_COL),
        CUBLAS_STATUS_NOT_SUPPORTED);
    has_aux = true;
    cudaMemset(dc, 0, M * N * sizeof(float));
    multiply(lt, CUBLASLT_EPILOGUE_DGELU_BGRAD, CUBLASLT_ORDER_COL);
    expect("DGELU with BGRAD", get(dc, at), x * (gelu(y + 1e-4) - gelu(y - 1e-4)) / 2e-4);
    double sum = 0;
    for (int column = 0; column < N; column++)
        sum += get(dc, column * M + i);
    expect("BGRAD", get(dbias, i), sum);
    float c[M * N];
    multiply_half(lt, c);
    expect("product in half", c[at], 2 * x);
    cublasLtDestroy(lt);
    return failures != 0;
}
