/* sparse_descriptions.cpp - cuSPARSE's handles, and descriptions of matrices and vectors. */
#include "driver.h"
#include "sparse.h"

namespace wbcpu
{
extern "C" const char *cusparseGetErrorName(status s)
{
    static const char *const names[] = {
        "CUSPARSE_STATUS_SUCCESS",
        "CUSPARSE_STATUS_NOT_INITIALIZED",
        "CUSPARSE_STATUS_ALLOC_FAILED",
        "CUSPARSE_STATUS_INVALID_VALUE",
        "CUSPARSE_STATUS_ARCH_MISMATCH",
        "CUSPARSE_STATUS_MAPPING_ERROR",
        "CUSPARSE_STATUS_EXECUTION_FAILED",
        "CUSPARSE_STATUS_INTERNAL_ERROR",
        "CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED",
        "CUSPARSE_STATUS_ZERO_PIVOT",
        "CUSPARSE_STATUS_NOT_SUPPORTED",
        "CUSPARSE_STATUS_INSUFFICIENT_RESOURCES"};
    return text_of(names, s, "unrecognized status code");
}
extern "C" const char *cusparseGetErrorString(status s)
{
    static const char *const sentences[] = {
        "success",
        "the library was not initialized",
        "an internal allocation failed",
        "an invalid value was passed to the function",
        "the device lacks a feature that the function needs",
        "an access to device memory failed",
        "the program failed to execute on the device",
        "an internal operation failed",
        "the matrix type is not supported",
        "zero pivot",
        "the functionality requested is not supported by the CPU back end",
        "insufficient resources"};
    return text_of(sentences, s, "unrecognized status code");
}
extern "C" status cusparseCreate(cusparseHandle_t *h)
{
    wbcpu::use_device();
    *h = new cusparseContext();
    return CUSPARSE_STATUS_SUCCESS;
}
extern "C" status cusparseDestroy(cusparseHandle_t h)
{
    if (!h) return CUSPARSE_STATUS_NOT_INITIALIZED;
    cudaStreamSynchronize(h->stream);
    delete h;
    return CUSPARSE_STATUS_SUCCESS;
}
extern "C" status cusparseGetVersion(cusparseHandle_t, int *version)
{
    *version = CUSPARSE_VERSION;
    return CUSPARSE_STATUS_SUCCESS;
}

/* Calls that set a field, read one, create an object, delete one. */
#define SETTER(name, Object, Value, field)                                               \
    extern "C" status name(Object h, Value value)                                        \
    {                                                                                    \
        if (!h) return CUSPARSE_STATUS_NOT_INITIALIZED;                                  \
        h->field = value;                                                                \
        return CUSPARSE_STATUS_SUCCESS;                                                  \
    }
#define GETTER(name, Object, Value, field)                                               \
    extern "C" status name(Object h, Value *to)                                          \
    {                                                                                    \
        if (!h) return CUSPARSE_STATUS_NOT_INITIALIZED;                                  \
        *to = h->field;                                                                  \
        return CUSPARSE_STATUS_SUCCESS;                                                  \
    }
#define DESTROYER(name, Object)                                                          \
    extern "C" status name(Object object)                                                \
    {                                                                                    \
        delete object;                                                                   \
        return CUSPARSE_STATUS_SUCCESS;                                                  \
    }
#define CREATOR(name, Type)                                                              \
    extern "C" status name(Type **object)                                                \
    {                                                                                    \
        *object = new Type();                                                            \
        return CUSPARSE_STATUS_SUCCESS;                                                  \
    }
SETTER(cusparseSetStream, cusparseHandle_t, cudaStream_t, stream)
GETTER(cusparseGetStream, cusparseHandle_t, cudaStream_t, stream)
SETTER(cusparseSetPointerMode, cusparseHandle_t, cusparsePointerMode_t, pointers)
GETTER(cusparseGetPointerMode, cusparseHandle_t, cusparsePointerMode_t, pointers)
CREATOR(cusparseCreateMatDescr, cusparseMatDescr)
DESTROYER(cusparseDestroyMatDescr, cusparseMatDescr_t)
SETTER(cusparseSetMatType, cusparseMatDescr_t, cusparseMatrixType_t, type)
SETTER(cusparseSetMatIndexBase, cusparseMatDescr_t, cusparseIndexBase_t, base)
SETTER(cusparseSetMatFillMode, cusparseMatDescr_t, cusparseFillMode_t, fill)
SETTER(cusparseSetMatDiagType, cusparseMatDescr_t, cusparseDiagType_t, diagonal)
CREATOR(cusparseCreateCsrilu02Info, csrilu02Info)
DESTROYER(cusparseDestroyCsrilu02Info, csrilu02Info_t)
CREATOR(cusparseSpSV_createDescr, cusparseSpSVDescr)
DESTROYER(cusparseSpSV_destroyDescr, cusparseSpSVDescr_t)
CREATOR(cusparseSpSM_createDescr, cusparseSpSMDescr)
DESTROYER(cusparseSpSM_destroyDescr, cusparseSpSMDescr_t)
DESTROYER(cusparseDestroySpMat, cusparseConstSpMatDescr_t)
DESTROYER(cusparseDestroyDnVec, cusparseConstDnVecDescr_t)
DESTROYER(cusparseDestroyDnMat, cusparseConstDnMatDescr_t)
SETTER(cusparseDnVecSetValues, cusparseDnVecDescr_t, void *, values)
extern "C" cusparseMatrixType_t cusparseGetMatType(const cusparseMatDescr_t about)
{
    return about->type;
}
extern "C" cusparseIndexBase_t cusparseGetMatIndexBase(const cusparseMatDescr_t about)
{
    return about->base;
}
extern "C" cusparseFillMode_t cusparseGetMatFillMode(const cusparseMatDescr_t about)
{
    return about->fill;
}
extern "C" cusparseDiagType_t cusparseGetMatDiagType(const cusparseMatDescr_t about)
{
    return about->diagonal;
}
#undef SETTER
#undef GETTER
#undef CREATOR
#undef DESTROYER

static status create(
    cusparseSpMatDescr_t *matrix, cusparseFormat_t format, int64_t rows, int64_t columns,
    int64_t count, void *row, void *column, void *values, cusparseIndexType_t row_type,
    cusparseIndexType_t column_type, cusparseIndexBase_t base, cudaDataType type)
{
    if (rows < 0 || columns < 0 || count < 0) return CUSPARSE_STATUS_INVALID_VALUE;
    *matrix = new cusparseSpMatDescr{
        format,
        rows,
        columns,
        count,
        row,
        column,
        values,
        row_type,
        column_type,
        base,
        type,
        CUSPARSE_FILL_MODE_LOWER,
        CUSPARSE_DIAG_TYPE_NON_UNIT};
    return CUSPARSE_STATUS_SUCCESS;
}
extern "C" status cusparseCreateCsr(
    cusparseSpMatDescr_t *matrix, int64_t rows, int64_t columns, int64_t count,
    void *row_offsets, void *column_indices, void *values,
    cusparseIndexType_t offset_type, cusparseIndexType_t index_type,
    cusparseIndexBase_t base, cudaDataType type)
{
    return create(
        matrix, CUSPARSE_FORMAT_CSR, rows, columns, count, row_offsets, column_indices,
        values, offset_type, index_type, base, type);
}
extern "C" status cusparseCreateCsc(
    cusparseSpMatDescr_t *matrix, int64_t rows, int64_t columns, int64_t count,
    void *column_offsets, void *row_indices, void *values,
    cusparseIndexType_t offset_type, cusparseIndexType_t index_type,
    cusparseIndexBase_t base, cudaDataType type)
{
    return create(
        matrix, CUSPARSE_FORMAT_CSC, rows, columns, count, row_indices, column_offsets,
        values, index_type, offset_type, base, type);
}
extern "C" status cusparseCreateCoo(
    cusparseSpMatDescr_t *matrix, int64_t rows, int64_t columns, int64_t count,
    void *row_indices, void *column_indices, void *values, cusparseIndexType_t index_type,
    cusparseIndexBase_t base, cudaDataType type)
{
    return create(
        matrix, CUSPARSE_FORMAT_COO, rows, columns, count, row_indices, column_indices,
        values, index_type, index_type, base, type);
}
extern "C" status
cusparseCsrSetPointers(cusparseSpMatDescr_t a, void *row, void *column, void *values)
{
    a->row = row, a->column = column, a->values = values;
    return CUSPARSE_STATUS_SUCCESS;
}
extern "C" status cusparseSpMatGetSize(
    cusparseConstSpMatDescr_t a, int64_t *rows, int64_t *columns, int64_t *count)
{
    *rows = a->rows, *columns = a->columns, *count = a->count;
    return CUSPARSE_STATUS_SUCCESS;
}
extern "C" status cusparseSpMatSetAttribute(
    cusparseSpMatDescr_t a, cusparseSpMatAttribute_t attribute, void *value, size_t)
{
    if (attribute == CUSPARSE_SPMAT_FILL_MODE)
        a->fill = *(cusparseFillMode_t *)value;
    else
        a->diagonal = *(cusparseDiagType_t *)value;
    return CUSPARSE_STATUS_SUCCESS;
}
extern "C" status cusparseCreateDnVec(
    cusparseDnVecDescr_t *vector, int64_t size, void *values, cudaDataType type)
{
    *vector = new cusparseDnVecDescr{size, values, type};
    return CUSPARSE_STATUS_SUCCESS;
}
extern "C" status cusparseCreateDnMat(
    cusparseDnMatDescr_t *matrix, int64_t rows, int64_t columns, int64_t ld, void *values,
    cudaDataType type, cusparseOrder_t order)
{
    if (ld < (order == CUSPARSE_ORDER_ROW ? columns : rows))
        return CUSPARSE_STATUS_INVALID_VALUE;
    *matrix = new cusparseDnMatDescr{rows, columns, ld, values, type, order};
    return CUSPARSE_STATUS_SUCCESS;
}
}  // namespace wbcpu
