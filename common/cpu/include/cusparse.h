/* cusparse.h - sparse matrices: products with vectors and dense matrices, triangular solves,
 * conversions, incomplete LU. float and double; CSR, CSC and COO; indices of 32 or 64 bits.
 *
 * Names, signatures and values are those of cuSPARSE 12. Its analysis and preprocessing
 * calls do nothing here, and no call needs a buffer. The library is correct, but not fast. */
#ifndef CUSPARSE_H
#define CUSPARSE_H

#include "cuda_runtime_api.h"
#include "library_types.h"

#include <stdint.h>

#define CUSPARSE_VERSION 12600
#define CUSPARSEAPI /* helper_cuda.h asks for it */

typedef struct cusparseContext *cusparseHandle_t;
typedef struct cusparseMatDescr *cusparseMatDescr_t; /* of the older calls */
typedef struct cusparseSpMatDescr *cusparseSpMatDescr_t;
typedef struct cusparseDnVecDescr *cusparseDnVecDescr_t;
typedef struct cusparseDnMatDescr *cusparseDnMatDescr_t;
typedef const struct cusparseSpMatDescr *cusparseConstSpMatDescr_t;
typedef const struct cusparseDnVecDescr *cusparseConstDnVecDescr_t;
typedef const struct cusparseDnMatDescr *cusparseConstDnMatDescr_t;
typedef struct cusparseSpSVDescr *cusparseSpSVDescr_t;
typedef struct cusparseSpSMDescr *cusparseSpSMDescr_t;
typedef struct csrilu02Info *csrilu02Info_t;

typedef enum {
    CUSPARSE_STATUS_SUCCESS = 0,
    CUSPARSE_STATUS_NOT_INITIALIZED = 1,
    CUSPARSE_STATUS_ALLOC_FAILED = 2,
    CUSPARSE_STATUS_INVALID_VALUE = 3,
    CUSPARSE_STATUS_ARCH_MISMATCH = 4,
    CUSPARSE_STATUS_MAPPING_ERROR = 5,
    CUSPARSE_STATUS_EXECUTION_FAILED = 6,
    CUSPARSE_STATUS_INTERNAL_ERROR = 7,
    CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED = 8,
    CUSPARSE_STATUS_ZERO_PIVOT = 9,
    CUSPARSE_STATUS_NOT_SUPPORTED = 10,
    CUSPARSE_STATUS_INSUFFICIENT_RESOURCES = 11
} cusparseStatus_t;
typedef enum {
    CUSPARSE_POINTER_MODE_HOST = 0,
    CUSPARSE_POINTER_MODE_DEVICE = 1
} cusparsePointerMode_t;
typedef enum {
    CUSPARSE_MATRIX_TYPE_GENERAL = 0,
    CUSPARSE_MATRIX_TYPE_SYMMETRIC = 1,
    CUSPARSE_MATRIX_TYPE_HERMITIAN = 2,
    CUSPARSE_MATRIX_TYPE_TRIANGULAR = 3
} cusparseMatrixType_t;
typedef enum {
    CUSPARSE_FILL_MODE_LOWER = 0,
    CUSPARSE_FILL_MODE_UPPER = 1
} cusparseFillMode_t;
typedef enum {
    CUSPARSE_DIAG_TYPE_NON_UNIT = 0,
    CUSPARSE_DIAG_TYPE_UNIT = 1
} cusparseDiagType_t;
typedef enum {
    CUSPARSE_INDEX_BASE_ZERO = 0,
    CUSPARSE_INDEX_BASE_ONE = 1
} cusparseIndexBase_t;
typedef enum {
    CUSPARSE_OPERATION_NON_TRANSPOSE = 0,
    CUSPARSE_OPERATION_TRANSPOSE = 1,
    CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE = 2
} cusparseOperation_t;
typedef enum {
    CUSPARSE_DIRECTION_ROW = 0,
    CUSPARSE_DIRECTION_COLUMN = 1
} cusparseDirection_t;
typedef enum {
    CUSPARSE_SOLVE_POLICY_NO_LEVEL = 0,
    CUSPARSE_SOLVE_POLICY_USE_LEVEL = 1
} cusparseSolvePolicy_t;
typedef enum {
    CUSPARSE_FORMAT_CSR = 1,
    CUSPARSE_FORMAT_CSC = 2,
    CUSPARSE_FORMAT_COO = 3
} cusparseFormat_t;
typedef enum { CUSPARSE_ORDER_COL = 1, CUSPARSE_ORDER_ROW = 2 } cusparseOrder_t;
typedef enum { CUSPARSE_INDEX_32I = 2, CUSPARSE_INDEX_64I = 3 } cusparseIndexType_t;
typedef enum {
    CUSPARSE_SPMAT_FILL_MODE,
    CUSPARSE_SPMAT_DIAG_TYPE
} cusparseSpMatAttribute_t;

/* The algorithms give the same results. */
typedef enum { CUSPARSE_SPARSETODENSE_ALG_DEFAULT = 0 } cusparseSparseToDenseAlg_t;
typedef enum { CUSPARSE_DENSETOSPARSE_ALG_DEFAULT = 0 } cusparseDenseToSparseAlg_t;
typedef enum { CUSPARSE_SPSV_ALG_DEFAULT = 0 } cusparseSpSVAlg_t;
typedef enum { CUSPARSE_SPSM_ALG_DEFAULT = 0 } cusparseSpSMAlg_t;
typedef enum {
    CUSPARSE_ACTION_SYMBOLIC = 0,
    CUSPARSE_ACTION_NUMERIC = 1
} cusparseAction_t;
typedef enum {
    CUSPARSE_CSR2CSC_ALG_DEFAULT = 1,
    CUSPARSE_CSR2CSC_ALG1 = 1
} cusparseCsr2CscAlg_t;
typedef enum {
    CUSPARSE_SPMV_ALG_DEFAULT = 0,
    CUSPARSE_SPMV_COO_ALG1 = 1,
    CUSPARSE_SPMV_CSR_ALG1 = 2,
    CUSPARSE_SPMV_CSR_ALG2 = 3,
    CUSPARSE_SPMV_COO_ALG2 = 4
} cusparseSpMVAlg_t;
typedef enum {
    CUSPARSE_SPMM_ALG_DEFAULT = 0,
    CUSPARSE_SPMM_COO_ALG1 = 1,
    CUSPARSE_SPMM_COO_ALG2 = 2,
    CUSPARSE_SPMM_COO_ALG3 = 3,
    CUSPARSE_SPMM_CSR_ALG1 = 4,
    CUSPARSE_SPMM_COO_ALG4 = 5,
    CUSPARSE_SPMM_CSR_ALG2 = 6,
    CUSPARSE_SPMM_CSR_ALG3 = 12
} cusparseSpMMAlg_t;

#ifdef __cplusplus
extern "C" {
#endif
/* --- the library -------------------------------------------------------------------- */
const char *cusparseGetErrorName(cusparseStatus_t status);
const char *cusparseGetErrorString(cusparseStatus_t status);
cusparseStatus_t cusparseCreate(cusparseHandle_t *handle);
cusparseStatus_t cusparseDestroy(cusparseHandle_t handle);
cusparseStatus_t cusparseGetVersion(cusparseHandle_t handle, int *version);
cusparseStatus_t cusparseSetStream(cusparseHandle_t handle, cudaStream_t stream);
cusparseStatus_t cusparseGetStream(cusparseHandle_t handle, cudaStream_t *stream);
cusparseStatus_t
cusparseSetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t mode);
cusparseStatus_t
cusparseGetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t *mode);

/* --- descriptions of matrices and vectors --------------------------------------------- */
cusparseStatus_t cusparseCreateMatDescr(cusparseMatDescr_t *about);
cusparseStatus_t cusparseDestroyMatDescr(cusparseMatDescr_t about);
cusparseStatus_t cusparseSetMatType(cusparseMatDescr_t about, cusparseMatrixType_t type);
cusparseStatus_t
cusparseSetMatIndexBase(cusparseMatDescr_t about, cusparseIndexBase_t base);
cusparseStatus_t
cusparseSetMatFillMode(cusparseMatDescr_t about, cusparseFillMode_t mode);
cusparseStatus_t
cusparseSetMatDiagType(cusparseMatDescr_t about, cusparseDiagType_t type);
cusparseMatrixType_t cusparseGetMatType(const cusparseMatDescr_t about);
cusparseIndexBase_t cusparseGetMatIndexBase(const cusparseMatDescr_t about);
cusparseFillMode_t cusparseGetMatFillMode(const cusparseMatDescr_t about);
cusparseDiagType_t cusparseGetMatDiagType(const cusparseMatDescr_t about);

cusparseStatus_t cusparseCreateCsr(
    cusparseSpMatDescr_t *matrix, int64_t rows, int64_t columns, int64_t count,
    void *row_offsets, void *column_indices, void *values,
    cusparseIndexType_t offset_type, cusparseIndexType_t index_type,
    cusparseIndexBase_t base, cudaDataType type);
cusparseStatus_t cusparseCreateCsc(
    cusparseSpMatDescr_t *matrix, int64_t rows, int64_t columns, int64_t count,
    void *column_offsets, void *row_indices, void *values,
    cusparseIndexType_t offset_type, cusparseIndexType_t index_type,
    cusparseIndexBase_t base, cudaDataType type);
cusparseStatus_t cusparseCreateCoo(
    cusparseSpMatDescr_t *matrix, int64_t rows, int64_t columns, int64_t count,
    void *row_indices, void *column_indices, void *values, cusparseIndexType_t index_type,
    cusparseIndexBase_t base, cudaDataType type);
cusparseStatus_t cusparseDestroySpMat(cusparseConstSpMatDescr_t matrix);
cusparseStatus_t cusparseCsrSetPointers(
    cusparseSpMatDescr_t matrix, void *row_offsets, void *column_indices, void *values);
cusparseStatus_t cusparseSpMatGetSize(
    cusparseConstSpMatDescr_t matrix, int64_t *rows, int64_t *columns, int64_t *count);
cusparseStatus_t cusparseSpMatSetAttribute(
    cusparseSpMatDescr_t matrix, cusparseSpMatAttribute_t attribute, void *value,
    size_t bytes);

cusparseStatus_t cusparseCreateDnVec(
    cusparseDnVecDescr_t *vector, int64_t size, void *values, cudaDataType type);
cusparseStatus_t cusparseDestroyDnVec(cusparseConstDnVecDescr_t vector);
cusparseStatus_t cusparseDnVecSetValues(cusparseDnVecDescr_t vector, void *values);
cusparseStatus_t cusparseCreateDnMat(
    cusparseDnMatDescr_t *matrix, int64_t rows, int64_t columns, int64_t ld, void *values,
    cudaDataType type, cusparseOrder_t order);
cusparseStatus_t cusparseDestroyDnMat(cusparseConstDnMatDescr_t matrix);

/* --- y = alpha op(A) x + beta y; C = alpha op(A) op(B) + beta C ------------------------- */
cusparseStatus_t cusparseSpMV_bufferSize(
    cusparseHandle_t handle, cusparseOperation_t op_a, const void *alpha,
    cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x, const void *beta,
    cusparseDnVecDescr_t y, cudaDataType type, cusparseSpMVAlg_t algorithm,
    size_t *bytes);
cusparseStatus_t cusparseSpMV_preprocess(
    cusparseHandle_t handle, cusparseOperation_t op_a, const void *alpha,
    cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x, const void *beta,
    cusparseDnVecDescr_t y, cudaDataType type, cusparseSpMVAlg_t algorithm, void *buffer);
cusparseStatus_t cusparseSpMV(
    cusparseHandle_t handle, cusparseOperation_t op_a, const void *alpha,
    cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x, const void *beta,
    cusparseDnVecDescr_t y, cudaDataType type, cusparseSpMVAlg_t algorithm, void *buffer);
cusparseStatus_t cusparseSpMM_bufferSize(
    cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b,
    const void *alpha, cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
    const void *beta, cusparseDnMatDescr_t c, cudaDataType type,
    cusparseSpMMAlg_t algorithm, size_t *bytes);
cusparseStatus_t cusparseSpMM(
    cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b,
    const void *alpha, cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
    const void *beta, cusparseDnMatDescr_t c, cudaDataType type,
    cusparseSpMMAlg_t algorithm, void *buffer);

/* --- op(A) y = alpha x, A triangular: CSR, with the attributes of SpMatSetAttribute ---- */
cusparseStatus_t cusparseSpSV_createDescr(cusparseSpSVDescr_t *about);
cusparseStatus_t cusparseSpSV_destroyDescr(cusparseSpSVDescr_t about);
cusparseStatus_t cusparseSpSV_bufferSize(
    cusparseHandle_t handle, cusparseOperation_t op_a, const void *alpha,
    cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x, cusparseDnVecDescr_t y,
    cudaDataType type, cusparseSpSVAlg_t algorithm, cusparseSpSVDescr_t about,
    size_t *bytes);
cusparseStatus_t cusparseSpSV_analysis(
    cusparseHandle_t handle, cusparseOperation_t op_a, const void *alpha,
    cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x, cusparseDnVecDescr_t y,
    cudaDataType type, cusparseSpSVAlg_t algorithm, cusparseSpSVDescr_t about,
    void *buffer);
cusparseStatus_t cusparseSpSV_solve(
    cusparseHandle_t handle, cusparseOperation_t op_a, const void *alpha,
    cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x, cusparseDnVecDescr_t y,
    cudaDataType type, cusparseSpSVAlg_t algorithm, cusparseSpSVDescr_t about);

/* --- op(A) C = alpha op(B): the same for the columns of matrices ------------------------ */
cusparseStatus_t cusparseSpSM_createDescr(cusparseSpSMDescr_t *about);
cusparseStatus_t cusparseSpSM_destroyDescr(cusparseSpSMDescr_t about);
cusparseStatus_t cusparseSpSM_bufferSize(
    cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b,
    const void *alpha, cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
    cusparseDnMatDescr_t c, cudaDataType type, cusparseSpSMAlg_t algorithm,
    cusparseSpSMDescr_t about, size_t *bytes);
cusparseStatus_t cusparseSpSM_analysis(
    cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b,
    const void *alpha, cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
    cusparseDnMatDescr_t c, cudaDataType type, cusparseSpSMAlg_t algorithm,
    cusparseSpSMDescr_t about, void *buffer);
cusparseStatus_t cusparseSpSM_solve(
    cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b,
    const void *alpha, cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
    cusparseDnMatDescr_t c, cudaDataType type, cusparseSpSMAlg_t algorithm,
    cusparseSpSMDescr_t about);

/* --- conversions. DenseToSparse: its analysis writes CSR row offsets and sets the count, - */
/* --- then the program allocates, calls cusparseCsrSetPointers and converts -------------- */
cusparseStatus_t cusparseSparseToDense_bufferSize(
    cusparseHandle_t handle, cusparseConstSpMatDescr_t a, cusparseDnMatDescr_t b,
    cusparseSparseToDenseAlg_t algorithm, size_t *bytes);
cusparseStatus_t cusparseSparseToDense(
    cusparseHandle_t handle, cusparseConstSpMatDescr_t a, cusparseDnMatDescr_t b,
    cusparseSparseToDenseAlg_t algorithm, void *buffer);
cusparseStatus_t cusparseDenseToSparse_bufferSize(
    cusparseHandle_t handle, cusparseConstDnMatDescr_t a, cusparseSpMatDescr_t b,
    cusparseDenseToSparseAlg_t algorithm, size_t *bytes);
cusparseStatus_t cusparseDenseToSparse_analysis(
    cusparseHandle_t handle, cusparseConstDnMatDescr_t a, cusparseSpMatDescr_t b,
    cusparseDenseToSparseAlg_t algorithm, void *buffer);
cusparseStatus_t cusparseDenseToSparse_convert(
    cusparseHandle_t handle, cusparseConstDnMatDescr_t a, cusparseSpMatDescr_t b,
    cusparseDenseToSparseAlg_t algorithm, void *buffer);

/* The transpose of a CSR matrix (m,n), in CSR; or the same matrix in CSC */
cusparseStatus_t cusparseCsr2cscEx2_bufferSize(
    cusparseHandle_t handle, int m, int n, int count, const void *values,
    const int *row_offsets, const int *column_indices, void *csc_values,
    int *column_offsets, int *row_indices, cudaDataType type, cusparseAction_t action,
    cusparseIndexBase_t base, cusparseCsr2CscAlg_t algorithm, size_t *bytes);
cusparseStatus_t cusparseCsr2cscEx2(
    cusparseHandle_t handle, int m, int n, int count, const void *values,
    const int *row_offsets, const int *column_indices, void *csc_values,
    int *column_offsets, int *row_indices, cudaDataType type, cusparseAction_t action,
    cusparseIndexBase_t base, cusparseCsr2CscAlg_t algorithm, void *buffer);

/* --- the older calls: nonzeros of a dense matrix (column-major) per row or column; ------ */
/* --- A = L U on the nonzeros of A, in place --------------------------------------------- */
cusparseStatus_t cusparseCreateCsrilu02Info(csrilu02Info_t *info);
cusparseStatus_t cusparseDestroyCsrilu02Info(csrilu02Info_t info);
/* CUSPARSE_STATUS_ZERO_PIVOT and the row, or -1 */
cusparseStatus_t
cusparseXcsrilu02_zeroPivot(cusparseHandle_t handle, csrilu02Info_t info, int *position);
#define WBCPU_SPARSE(T, L)                                                               \
    cusparseStatus_t cusparse##L##nnz(                                                   \
        cusparseHandle_t handle, cusparseDirection_t direction, int m, int n,            \
        cusparseMatDescr_t about, const T *a, int ld, int *counts, int *total);          \
    cusparseStatus_t cusparse##L##csrilu02_bufferSize(                                   \
        cusparseHandle_t handle, int m, int count, cusparseMatDescr_t about, T *values,  \
        const int *row_offsets, const int *column_indices, csrilu02Info_t info,          \
        int *bytes);                                                                     \
    cusparseStatus_t cusparse##L##csrilu02_analysis(                                     \
        cusparseHandle_t handle, int m, int count, cusparseMatDescr_t about,             \
        const T *values, const int *row_offsets, const int *column_indices,              \
        csrilu02Info_t info, cusparseSolvePolicy_t policy, void *buffer);                \
    cusparseStatus_t cusparse##L##csrilu02(                                              \
        cusparseHandle_t handle, int m, int count, cusparseMatDescr_t about, T *values,  \
        const int *row_offsets, const int *column_indices, csrilu02Info_t info,          \
        cusparseSolvePolicy_t policy, void *buffer);
WBCPU_SPARSE(float, S)
WBCPU_SPARSE(double, D)
#undef WBCPU_SPARSE

#ifdef __cplusplus
}
#endif
#endif
