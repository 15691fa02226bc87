/* cublaslt.cpp - the calls of include/cublasLt.h: a cuBLAS GEMM whose tiles pass through an
 * epilogue. A matrix stored by rows is the transpose of one stored by columns; if D is, the
 * product is D^T = op(B)^T op(A)^T. */
#include "cublasLt.h"
#include "blas.h"

#include <cmath>
#include <cstring>
#include <utility>

struct cublasLtContext {
    cublasHandle_t blas;
};

/* --- descriptions ------------------------------------------------------------------- */

static cublasStatus_t set(void *field, size_t size, const void *value, size_t bytes)
{
    if (!value || bytes != size) return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(field, value, size);
    return CUBLAS_STATUS_SUCCESS;
}
#define SET(field) return set(&(field), sizeof(field), value, bytes)

static bool is_by_rows(const cublasLtMatrixLayoutOpaque_t *x)
{
    return x->order == CUBLASLT_ORDER_ROW;
}
/* Bits of cublasLtEpilogue_t: DGELU has both, and only reads the auxiliary matrix. */
enum { READS_AUX = 64, WRITES_AUX = 128 };
static bool uses_bias(int epilogue)
{
    return epilogue & CUBLASLT_EPILOGUE_BIAS || epilogue == CUBLASLT_EPILOGUE_BGRADA ||
           epilogue == CUBLASLT_EPILOGUE_BGRADB ||
           epilogue == CUBLASLT_EPILOGUE_DGELU_BGRAD;
}
/* cuBLASLt's DGELU_BGRAD needs a workspace, of a size that depends on the shape. Here it is
 * a float per row, and stays unused. */
static size_t workspace_of(
    const cublasLtMatmulDescOpaque_t *d, const cublasLtMatrixLayoutOpaque_t *result)
{
    return d->epilogue == CUBLASLT_EPILOGUE_DGELU_BGRAD ? sizeof(float) * result->rows
                                                        : 0;
}
/* cuBLASLt on an H200 refuses most epilogues of a row-major result, BGRADA with A^T, BGRADB
 * without B^T and a workspace that is too small. Half-precision products are summed in
 * float, too. */
static bool is_supported(
    const cublasLtMatmulDescOpaque_t *d, const cublasLtMatrixLayoutOpaque_t *result,
    size_t workspace)
{
    if (workspace < workspace_of(d, result)) return false;
    bool half = d->scale == CUDA_R_16F;
    if (half ? d->compute != CUBLAS_COMPUTE_16F : d->scale != CUDA_R_32F) return false;
    bool columns = !is_by_rows(result);
    switch (d->epilogue) {
    case CUBLASLT_EPILOGUE_DEFAULT:
    case CUBLASLT_EPILOGUE_RELU:
    case CUBLASLT_EPILOGUE_GELU:
        return true;
    case CUBLASLT_EPILOGUE_BIAS:
    case CUBLASLT_EPILOGUE_RELU_BIAS:
    case CUBLASLT_EPILOGUE_GELU_BIAS:
    case CUBLASLT_EPILOGUE_GELU_AUX:
    case CUBLASLT_EPILOGUE_GELU_AUX_BIAS:
    case CUBLASLT_EPILOGUE_DGELU:
    case CUBLASLT_EPILOGUE_DGELU_BGRAD:
        return columns;
    case CUBLASLT_EPILOGUE_BGRADA:
        return columns && d->transpose[0] == CUBLAS_OP_N;
    case CUBLASLT_EPILOGUE_BGRADB:
        return columns && d->transpose[1] != CUBLAS_OP_N;
    default:
        return false;
    }
}

extern "C" {
cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
    if (!handle) return CUBLAS_STATUS_INVALID_VALUE;
    *handle = new cublasLtContext();
    return cublasCreate(&(*handle)->blas);
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    cublasDestroy(handle->blas);
    delete handle;
    return CUBLAS_STATUS_SUCCESS;
}
size_t cublasLtGetVersion()
{
    return CUBLAS_VERSION;
}
cublasStatus_t cublasLtMatrixLayoutInit(
    cublasLtMatrixLayout_t layout, cudaDataType type, uint64_t rows, uint64_t columns,
    int64_t ld)
{
    *layout = {type, CUBLASLT_ORDER_COL, rows, columns, ld, 1, 0};
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutCreate(
    cublasLtMatrixLayout_t *layout, cudaDataType type, uint64_t rows, uint64_t columns,
    int64_t ld)
{
    *layout = new cublasLtMatrixLayoutOpaque_t;
    return cublasLtMatrixLayoutInit(*layout, type, rows, columns, ld);
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout)
{
    delete layout;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(
    cublasLtMatrixLayout_t x, cublasLtMatrixLayoutAttribute_t attribute,
    const void *value, size_t bytes)
{
    switch (attribute) {
    case CUBLASLT_MATRIX_LAYOUT_TYPE:
        SET(x->type);
    case CUBLASLT_MATRIX_LAYOUT_ORDER:
        SET(x->order);
    case CUBLASLT_MATRIX_LAYOUT_ROWS:
        SET(x->rows);
    case CUBLASLT_MATRIX_LAYOUT_COLS:
        SET(x->columns);
    case CUBLASLT_MATRIX_LAYOUT_LD:
        SET(x->ld);
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
        SET(x->batch);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
        SET(x->stride);
    }
    return CUBLAS_STATUS_NOT_SUPPORTED;
}
cublasStatus_t cublasLtMatmulDescInit(
    cublasLtMatmulDesc_t desc, cublasComputeType_t compute, cudaDataType scale)
{
    *desc = {};
    desc->compute = compute;
    desc->scale = scale;
    desc->epilogue = CUBLASLT_EPILOGUE_DEFAULT;
    desc->bias_type = desc->aux_type = -1;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescCreate(
    cublasLtMatmulDesc_t *desc, cublasComputeType_t compute, cudaDataType scale)
{
    *desc = new cublasLtMatmulDescOpaque_t;
    return cublasLtMatmulDescInit(*desc, compute, scale);
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc)
{
    delete desc;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(
    cublasLtMatmulDesc_t d, cublasLtMatmulDescAttributes_t attribute, const void *value,
    size_t bytes)
{
    switch (attribute) {
    case CUBLASLT_MATMUL_DESC_COMPUTE_TYPE:
        SET(d->compute);
    case CUBLASLT_MATMUL_DESC_SCALE_TYPE:
        SET(d->scale);
    case CUBLASLT_MATMUL_DESC_TRANSA:
        SET(d->transpose[0]);
    case CUBLASLT_MATMUL_DESC_TRANSB:
        SET(d->transpose[1]);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
        SET(d->epilogue);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
        SET(d->bias);
    case CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE:
        SET(d->bias_stride);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
        SET(d->bias_type);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
        SET(d->aux);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
        SET(d->aux_ld);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE:
        SET(d->aux_stride);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE:
        SET(d->aux_type);
    case CUBLASLT_MATMUL_DESC_POINTER_MODE: /* both kinds can be read */
    case CUBLASLT_MATMUL_DESC_FAST_ACCUM:
        return CUBLAS_STATUS_SUCCESS;
    default:
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
}
cublasStatus_t cublasLtMatmulPreferenceInit(cublasLtMatmulPreference_t preference)
{
    *preference = {};
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference)
{
    *preference = new cublasLtMatmulPreferenceOpaque_t;
    return cublasLtMatmulPreferenceInit(*preference);
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference)
{
    delete preference;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute,
    const void *value, size_t bytes)
{
    if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) SET(preference->workspace);
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t,
    cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t D,
    cublasLtMatmulPreference_t preference, int requested,
    cublasLtMatmulHeuristicResult_t results[], int *returned)
{
    if (!desc || !D || !preference || requested < 1 || !results || !returned)
        return CUBLAS_STATUS_INVALID_VALUE;
    *returned = 0;
    if (!is_supported(desc, D, preference->workspace)) return CUBLAS_STATUS_NOT_SUPPORTED;
    results[0] = cublasLtMatmulHeuristicResult_t();
    results[0].workspaceSize = workspace_of(desc, D);
    results[0].wavesCount = 1;
    *returned = 1;
    return CUBLAS_STATUS_SUCCESS;
}
}

/* --- epilogues ---------------------------------------------------------------------- */

static void touch(const matrix &x, long long at, bool write)
{
    wbcpu::check::library_touches(
        wbcpu_element(x, at), x.type == CUDA_R_32F ? 4 : 2, write);
}
static float load(const matrix &x, long long at)
{
    float value;
    touch(x, at, false);
    wbcpu_widen(&value, wbcpu_element(x, at), x.type, 1);
    return value;
}
static void store(const matrix &x, long long at, float value)
{
    touch(x, at, true);
    wbcpu_narrow(wbcpu_element(x, at), &value, x.type, 1);
}

constexpr float ROOT_2_PI = 0.7978845608f, CUBIC = 0.044715f;
static float gelu(float x)
{
    return 0.5f * x * (1 + tanhf(ROOT_2_PI * (x + CUBIC * x * x * x)));
}
static float gelu_slope(float x)
{
    float t = tanhf(ROOT_2_PI * (x + CUBIC * x * x * x));
    return 0.5f * (1 + t) + 0.5f * x * (1 - t * t) * ROOT_2_PI * (1 + 3 * CUBIC * x * x);
}

struct lt_epilogue {
    int kind;
    bool flipped; /* the product is D^T: row i of the tile is column i of D */
    matrix bias, aux;

    void operator()(float *c, int ldc, int i0, int j0, int m, int n, int index) const
    {
        for (int j = 0; j < n; j++)
            for (int i = 0; i < m; i++) {
                float &x = c[(long)j * ldc + i];
                long long row = flipped ? j0 + j : i0 + i;
                long long at = index * aux.stride + (long long)(j0 + j) * aux.ld + i0 + i;
                if (kind & CUBLASLT_EPILOGUE_BIAS)
                    x += load(bias, index * bias.stride + row);
                if (kind & READS_AUX)
                    x *= gelu_slope(load(aux, at));
                else if (kind & WRITES_AUX)
                    store(aux, at, x);
                if (kind & CUBLASLT_EPILOGUE_RELU) x = x > 0 ? x : 0;
                if (kind & CUBLASLT_EPILOGUE_GELU) x = gelu(x);
            }
    }
};

/* sums[i] = the sum of row i of op(X) (BGRADA), or of column i (BGRADB) */
static void
sum_lines(const matrix &x, bool transposed, bool rows, int n, int k, const matrix &sums)
{
    for (int i = 0; i < n; i++) {
        float sum = 0;
        for (int p = 0; p < k; p++)
            sum += load(
                x,
                transposed == rows ? (long long)i * x.ld + p : (long long)p * x.ld + i);
        store(sums, i, sum);
    }
}

/* The bias's gradient: the sum of each row of D, for each matrix of the batch */
static void sum_rows(const gemm_call &p, const matrix &sums)
{
    for (int b = 0; b < p.batch; b++) {
        matrix d = p.c, to = sums;
        d.data = wbcpu_element(d, b * d.stride);
        to.data = wbcpu_element(to, b * to.stride);
        sum_lines(d, false, true, p.m, p.n, to);
    }
}

/* --- the product -------------------------------------------------------------------- */

static matrix describe(const void *data, const cublasLtMatrixLayoutOpaque_t *x)
{
    return {const_cast<void *>(data), x->type, (int)x->ld, x->stride};
}
/* D = C before beta scales it */
static void copy_matrix(const gemm_call &p, const matrix &from)
{
    for (int b = 0; b < p.batch; b++)
        for (int j = 0; j < p.n; j++)
            for (int i = 0; i < p.m; i++)
                store(
                    p.c, b * p.c.stride + (long long)j * p.c.ld + i,
                    load(from, b * from.stride + (long long)j * from.ld + i));
}

extern "C" cublasStatus_t cublasLtMatmul(
    cublasLtHandle_t handle, cublasLtMatmulDesc_t d, const void *alpha, const void *A,
    cublasLtMatrixLayout_t Adesc, const void *B, cublasLtMatrixLayout_t Bdesc,
    const void *beta, const void *C, cublasLtMatrixLayout_t Cdesc, void *D,
    cublasLtMatrixLayout_t Ddesc, const cublasLtMatmulAlgo_t *, void *, size_t workspace,
    cudaStream_t stream)
{
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!d || !alpha || !beta || !Adesc || !Bdesc || !Ddesc)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!d->bias == uses_bias(d->epilogue) || (!d->aux && d->epilogue & READS_AUX))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!is_supported(d, Ddesc, workspace) || (!d->aux && d->epilogue & WRITES_AUX))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    auto scalar = [&](const void *x) {
        return d->scale == CUDA_R_16F ? (float)*(const __half *)x : *(const float *)x;
    };
    bool ta = (d->transpose[0] != CUBLAS_OP_N) != is_by_rows(Adesc);
    bool tb = (d->transpose[1] != CUBLAS_OP_N) != is_by_rows(Bdesc),
         flip = is_by_rows(Ddesc);
    int k = (int)(d->transpose[0] != CUBLAS_OP_N ? Adesc->rows : Adesc->columns);
    gemm_call p = {
        handle->blas,
        ta,
        tb,
        (int)Ddesc->rows,
        (int)Ddesc->columns,
        k,
        Ddesc->batch,
        scalar(alpha),
        scalar(beta),
        describe(A, Adesc),
        describe(B, Bdesc),
        describe(D, Ddesc)};
    auto type_or = [&](int type) { return type < 0 ? Ddesc->type : (cudaDataType)type; };
    matrix bias = {d->bias, type_or(d->bias_type), 0, d->bias_stride};
    matrix aux = {d->aux, type_or(d->aux_type), (int)d->aux_ld, d->aux_stride};
    handle->blas->stream = stream;
    if (d->epilogue == CUBLASLT_EPILOGUE_BGRADA)
        wbcpu_run_blas(handle->blas, [=] { sum_lines(p.a, ta, true, p.m, k, bias); });
    else if (d->epilogue == CUBLASLT_EPILOGUE_BGRADB)
        wbcpu_run_blas(handle->blas, [=] { sum_lines(p.b, tb, false, p.n, k, bias); });
    else if (d->epilogue != CUBLASLT_EPILOGUE_DEFAULT)
        p.after = lt_epilogue{d->epilogue, flip, bias, aux};
    if (flip) {
        std::swap(p.a, p.b);
        std::swap(p.m, p.n);
        p.transpose_a = !tb;
        p.transpose_b = !ta;
    }
    if (p.beta != 0 && C != D) {
        if (!Cdesc || is_by_rows(Cdesc) != flip) return CUBLAS_STATUS_NOT_SUPPORTED;
        matrix from = describe(C, Cdesc);
        wbcpu_run_blas(handle->blas, [=] { copy_matrix(p, from); });
    }
    cublasStatus_t status = wbcpu_start_gemm(
        p, p.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N,
        p.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    if (!status && d->epilogue == CUBLASLT_EPILOGUE_DGELU_BGRAD)
        wbcpu_run_blas(handle->blas, [=] { sum_rows(p, bias); });
    return status;
}
