/* sparse.h - what sparse.cpp and sparse_descriptions.cpp share: descriptions of matrices and
 * vectors, access to their elements. */
#ifndef WBCPU_SPARSE_H
#define WBCPU_SPARSE_H

#include "check/host_hooks.h"
#include "include/cusparse.h"
#include "scheduler.h"

#include <vector>

struct cusparseContext {
    cudaStream_t stream;
    cusparsePointerMode_t pointers;
};
struct cusparseMatDescr {
    cusparseMatrixType_t type;
    cusparseIndexBase_t base;
    cusparseFillMode_t fill;
    cusparseDiagType_t diagonal;
};
struct cusparseSpMatDescr {
    cusparseFormat_t format;
    int64_t rows, columns, count;
    void *row, *column, *values; /* row: offsets of CSR; column: offsets of CSC */
    cusparseIndexType_t row_type, column_type;
    int64_t base;
    cudaDataType type;
    cusparseFillMode_t fill;
    cusparseDiagType_t diagonal;
};
struct cusparseDnVecDescr {
    int64_t size;
    void *values;
    cudaDataType type;
};
struct cusparseDnMatDescr {
    int64_t rows, columns, ld;
    void *values;
    cudaDataType type;
    cusparseOrder_t order;
};
struct cusparseSpSVDescr {
};
struct cusparseSpSMDescr {
};
struct csrilu02Info {
    int zero_pivot; /* or -1 */
};

namespace wbcpu
{
typedef cusparseStatus_t status;

/* Runs work() now, or when the handle's stream does. */
template <class Work> static status run_sparse(cusparseHandle_t h, const Work &work)
{
    wbcpu_run_library(h->stream, work);
    return CUSPARSE_STATUS_SUCCESS;
}

/* --- elements ------------------------------------------------------------------------- */
static bool is_real(cudaDataType type)
{
    return type == CUDA_R_32F || type == CUDA_R_64F;
}
static double load(const void *values, cudaDataType type, int64_t i)
{
    return type == CUDA_R_32F ? ((const float *)values)[i] : ((const double *)values)[i];
}
static void store(void *values, cudaDataType type, int64_t i, double value)
{
    if (type == CUDA_R_32F)
        ((float *)values)[i] = (float)value;
    else
        ((double *)values)[i] = value;
}
static int64_t load_index(const void *p, cusparseIndexType_t type, int64_t i)
{
    return type == CUSPARSE_INDEX_32I ? ((const int32_t *)p)[i] : ((const int64_t *)p)[i];
}
static void store_index(void *p, cusparseIndexType_t type, int64_t i, int64_t value)
{
    if (type == CUSPARSE_INDEX_32I)
        ((int32_t *)p)[i] = (int32_t)value;
    else
        ((int64_t *)p)[i] = value;
}
/* The factor at p: in host memory it is read when the call is made. */
struct factor {
    const void *p;
    cudaDataType type;
    bool on_device;
    double value;
    factor(cusparseHandle_t h, const void *at, cudaDataType t)
        : p(at), type(t), on_device(h->pointers == CUSPARSE_POINTER_MODE_DEVICE),
          value(on_device ? 0 : load(p, type, 0))
    {
    }
    double get() const
    {
        return on_device ? load(p, type, 0) : value;
    }
};

/* Calls f(row, column, value) for each element of a matrix. */
template <class F> static void for_each_element(const cusparseSpMatDescr &a, F f)
{
    bool by_columns = a.format == CUSPARSE_FORMAT_CSC;
    if (a.format == CUSPARSE_FORMAT_COO) {
        for (int64_t k = 0; k < a.count; k++)
            f(load_index(a.row, a.row_type, k) - a.base,
              load_index(a.column, a.column_type, k) - a.base, load(a.values, a.type, k));
        return;
    }
    const void *offsets = by_columns ? a.column : a.row;
    const void *indices = by_columns ? a.row : a.column;
    cusparseIndexType_t offset_type = by_columns ? a.column_type : a.row_type;
    cusparseIndexType_t index_type = by_columns ? a.row_type : a.column_type;
    for (int64_t i = 0; i < (by_columns ? a.columns : a.rows); i++) {
        int64_t end = load_index(offsets, offset_type, i + 1) - a.base;
        for (int64_t k = load_index(offsets, offset_type, i) - a.base; k < end; k++) {
            int64_t j = load_index(indices, index_type, k) - a.base;
            f(by_columns ? j : i, by_columns ? i : j, load(a.values, a.type, k));
        }
    }
}
static int64_t place(const cusparseDnMatDescr &m, int64_t row, int64_t column)
{
    return m.order == CUSPARSE_ORDER_ROW ? row * m.ld + column : column * m.ld + row;
}
}  // namespace wbcpu

#endif
