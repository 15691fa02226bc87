/* sparse.cpp - cuSPARSE (cusparse.h). Every call is a loop over the stored elements; sums
 * are in double. */
#include "sparse.h"

namespace wbcpu
{
/* --- products --------------------------------------------------------------------------- */
extern "C" status cusparseSpMV(
    cusparseHandle_t h, cusparseOperation_t op, const void *alpha,
    cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x, const void *beta,
    cusparseDnVecDescr_t y, cudaDataType type, cusparseSpMVAlg_t, void *)
{
    if (!h) return CUSPARSE_STATUS_NOT_INITIALIZED;
    if (!is_real(type)) return CUSPARSE_STATUS_NOT_SUPPORTED;
    bool transposed = op != CUSPARSE_OPERATION_NON_TRANSPOSE;
    if (x->size != (transposed ? a->rows : a->columns) ||
        y->size != (transposed ? a->columns : a->rows))
        return CUSPARSE_STATUS_INVALID_VALUE;
    auto work = [=, a = *a, x = *x, y = *y, alpha = factor(h, alpha, type),
                 beta = factor(h, beta, type)] {
        std::vector<double> sum((size_t)y.size);
        for_each_element(a, [&](int64_t i, int64_t j, double value) {
            if (transposed) std::swap(i, j);
            sum[(size_t)i] += value * load(x.values, x.type, j);
        });
        double b = beta.get();
        for (int64_t i = 0; i < y.size; i++)
            store(
                y.values, y.type, i,
                alpha.get() * sum[(size_t)i] + (b ? b * load(y.values, y.type, i) : 0));
    };
    return run_sparse(h, work);
}
extern "C" status cusparseSpMV_bufferSize(
    cusparseHandle_t, cusparseOperation_t, const void *, cusparseConstSpMatDescr_t,
    cusparseConstDnVecDescr_t, const void *, cusparseDnVecDescr_t, cudaDataType,
    cusparseSpMVAlg_t, size_t *bytes)
{
    *bytes = 1; /* some programs allocate it and take a failure for an error */
    return CUSPARSE_STATUS_SUCCESS;
}
extern "C" status cusparseSpMV_preprocess(
    cusparseHandle_t, cusparseOperation_t, const void *, cusparseConstSpMatDescr_t,
    cusparseConstDnVecDescr_t, const void *, cusparseDnVecDescr_t, cudaDataType,
    cusparseSpMVAlg_t, void *)
{
    return CUSPARSE_STATUS_SUCCESS;
}
extern "C" status cusparseSpMM(
    cusparseHandle_t h, cusparseOperation_t op_a, cusparseOperation_t op_b,
    const void *alpha, cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
    const void *beta, cusparseDnMatDescr_t c, cudaDataType type, cusparseSpMMAlg_t,
    void *)
{
    if (!h) return CUSPARSE_STATUS_NOT_INITIALIZED;
    if (!is_real(type)) return CUSPARSE_STATUS_NOT_SUPPORTED;
    bool transpose_a = op_a != CUSPARSE_OPERATION_NON_TRANSPOSE;
    bool transpose_b = op_b != CUSPARSE_OPERATION_NON_TRANSPOSE;
    if (c->rows != (transpose_a ? a->columns : a->rows) ||
        c->columns != (transpose_b ? b->rows : b->columns) ||
        (transpose_a ? a->rows : a->columns) != (transpose_b ? b->columns : b->rows))
        return CUSPARSE_STATUS_INVALID_VALUE;
    auto work = [=, a = *a, b = *b, c = *c, alpha = factor(h, alpha, type),
                 beta = factor(h, beta, type)] {
        std::vector<double> sum((size_t)(c.rows * c.columns));
        for_each_element(a, [&](int64_t i, int64_t k, double value) {
            if (transpose_a) std::swap(i, k);
            for (int64_t j = 0; j < c.columns; j++)
                sum[(size_t)(i * c.columns + j)] +=
                    value *
                    load(b.values, b.type, transpose_b ? place(b, j, k) : place(b, k, j));
        });
        double f = beta.get();
        for (int64_t i = 0; i < c.rows; i++)
            for (int64_t j = 0; j < c.columns; j++) {
                int64_t at = place(c, i, j);
                store(
                    c.values, c.type, at,
                    alpha.get() * sum[(size_t)(i * c.columns + j)] +
                        (f ? f * load(c.values, c.type, at) : 0));
            }
    };
    return run_sparse(h, work);
}
extern "C" status cusparseSpMM_bufferSize(
    cusparseHandle_t, cusparseOperation_t, cusparseOperation_t, const void *,
    cusparseConstSpMatDescr_t, cusparseConstDnMatDescr_t, const void *,
    cusparseDnMatDescr_t, cudaDataType, cusparseSpMMAlg_t, size_t *bytes)
{
    *bytes = 1;
    return CUSPARSE_STATUS_SUCCESS;
}

/* --- triangular solves ---------------------------------------------------------------- */
/* Solves op(A) v = v: by rows of A, or by columns of its transpose. */
static void
solve_triangle(const cusparseSpMatDescr &a, bool transposed, std::vector<double> &v)
{
    bool lower = a.fill == CUSPARSE_FILL_MODE_LOWER;
    bool unit = a.diagonal == CUSPARSE_DIAG_TYPE_UNIT;
    for (int64_t step = 0; step < a.rows; step++) {
        int64_t i = lower != transposed ? step : a.rows - 1 - step;
        int64_t first = load_index(a.row, a.row_type, i) - a.base;
        int64_t end = load_index(a.row, a.row_type, i + 1) - a.base;
        double diagonal = 1, &own = v[(size_t)i];
        auto each = [&](auto f) {
            for (int64_t k = first; k < end; k++) {
                int64_t j = load_index(a.column, a.column_type, k) - a.base;
                if (j == i && !unit)
                    diagonal = load(a.values, a.type, k);
                else if (lower ? j < i : j > i)
                    f(v[(size_t)j], load(a.values, a.type, k));
            }
        };
        if (transposed) {
            each([](double &, double) {});
            own /= diagonal;
            each([&](double &other, double value) { other -= value * own; });
        } else {
            each([&](double &other, double value) { own -= value * other; });
            own /= diagonal;
        }
    }
}
extern "C" status cusparseSpSV_solve(
    cusparseHandle_t h, cusparseOperation_t op, const void *alpha,
    cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x, cusparseDnVecDescr_t y,
    cudaDataType type, cusparseSpSVAlg_t, cusparseSpSVDescr_t)
{
    if (!h) return CUSPARSE_STATUS_NOT_INITIALIZED;
    if (!is_real(type) || a->format != CUSPARSE_FORMAT_CSR)
        return CUSPARSE_STATUS_NOT_SUPPORTED;
    if (a->rows != a->columns || x->size != a->rows || y->size != a->rows)
        return CUSPARSE_STATUS_INVALID_VALUE;
    auto work = [=, a = *a, x = *x, y = *y, alpha = factor(h, alpha, type)] {
        std::vector<double> v((size_t)a.rows);
        for (int64_t i = 0; i < a.rows; i++)
            v[(size_t)i] = alpha.get() * load(x.values, x.type, i);
        solve_triangle(a, op != CUSPARSE_OPERATION_NON_TRANSPOSE, v);
        for (int64_t i = 0; i < a.rows; i++)
            store(y.values, y.type, i, v[(size_t)i]);
    };
    return run_sparse(h, work);
}
extern "C" status cusparseSpSV_bufferSize(
    cusparseHandle_t, cusparseOperation_t, const void *, cusparseConstSpMatDescr_t,
    cusparseConstDnVecDescr_t, cusparseDnVecDescr_t, cudaDataType, cusparseSpSVAlg_t,
    cusparseSpSVDescr_t, size_t *bytes)
{
    *bytes = 1;
    return CUSPARSE_STATUS_SUCCESS;
}
extern "C" status cusparseSpSV_analysis(
    cusparseHandle_t, cusparseOperation_t, const void *, cusparseConstSpMatDescr_t,
    cusparseConstDnVecDescr_t, cusparseDnVecDescr_t, cudaDataType, cusparseSpSVAlg_t,
    cusparseSpSVDescr_t, void *)
{
    return CUSPARSE_STATUS_SUCCESS;
}

extern "C" status cusparseSpSM_solve(
    cusparseHandle_t h, cusparseOperation_t op, cusparseOperation_t op_b,
    const void *alpha, cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
    cusparseDnMatDescr_t c, cudaDataType type, cusparseSpSMAlg_t, cusparseSpSMDescr_t)
{
    if (!h) return CUSPARSE_STATUS_NOT_INITIALIZED;
    if (!is_real(type) || a->format != CUSPARSE_FORMAT_CSR)
        return CUSPARSE_STATUS_NOT_SUPPORTED;
    bool b_transposed = op_b != CUSPARSE_OPERATION_NON_TRANSPOSE;
    if (a->rows != a->columns || c->rows != a->rows ||
        (b_transposed ? b->columns : b->rows) != a->rows ||
        (b_transposed ? b->rows : b->columns) != c->columns)
        return CUSPARSE_STATUS_INVALID_VALUE;
    auto work = [=, a = *a, b = *b, c = *c, alpha = factor(h, alpha, type)] {
        std::vector<double> v((size_t)a.rows);
        for (int64_t j = 0; j < c.columns; j++) {
            for (int64_t i = 0; i < a.rows; i++) {
                int64_t at = b_transposed ? place(b, j, i) : place(b, i, j);
                v[(size_t)i] = alpha.get() * load(b.values, b.type, at);
            }
            solve_triangle(a, op != CUSPARSE_OPERATION_NON_TRANSPOSE, v);
            for (int64_t i = 0; i < a.rows; i++)
                store(c.values, c.type, place(c, i, j), v[(size_t)i]);
        }
    };
    return run_sparse(h, work);
}
extern "C" status cusparseSpSM_bufferSize(
    cusparseHandle_t, cusparseOperation_t, cusparseOperation_t, const void *,
    cusparseConstSpMatDescr_t, cusparseConstDnMatDescr_t, cusparseDnMatDescr_t,
    cudaDataType, cusparseSpSMAlg_t, cusparseSpSMDescr_t, size_t *bytes)
{
    *bytes = 1;
    return CUSPARSE_STATUS_SUCCESS;
}
extern "C" status cusparseSpSM_analysis(
    cusparseHandle_t, cusparseOperation_t, cusparseOperation_t, const void *,
    cusparseConstSpMatDescr_t, cusparseConstDnMatDescr_t, cusparseDnMatDescr_t,
    cudaDataType, cusparseSpSMAlg_t, cusparseSpSMDescr_t, void *)
{
    return CUSPARSE_STATUS_SUCCESS;
}

/* --- conversions ------------------------------------------------------------------------ */
extern "C" status cusparseSparseToDense(
    cusparseHandle_t h, cusparseConstSpMatDescr_t a, cusparseDnMatDescr_t b,
    cusparseSparseToDenseAlg_t, void *)
{
    if (!h) return CUSPARSE_STATUS_NOT_INITIALIZED;
    if (!is_real(a->type) || !is_real(b->type)) return CUSPARSE_STATUS_NOT_SUPPORTED;
    return run_sparse(h, [a = *a, b = *b] {
        for (int64_t i = 0; i < b.rows; i++)
            for (int64_t j = 0; j < b.columns; j++)
                store(b.values, b.type, place(b, i, j), 0);
        for_each_element(a, [&](int64_t i, int64_t j, double value) {
            store(b.values, b.type, place(b, i, j), value);
        });
    });
}
/* Calls f(row, column, value) for the nonzeros of a dense matrix, row by row. */
template <class F> static void for_each_nonzero(const cusparseDnMatDescr &a, F f)
{
    for (int64_t i = 0; i < a.rows; i++)
        for (int64_t j = 0; j < a.columns; j++)
            if (double value = load(a.values, a.type, place(a, i, j))) f(i, j, value);
}
extern "C" status cusparseDenseToSparse_analysis(
    cusparseHandle_t h, cusparseConstDnMatDescr_t a, cusparseSpMatDescr_t b,
    cusparseDenseToSparseAlg_t, void *)
{
    if (!h) return CUSPARSE_STATUS_NOT_INITIALIZED;
    if (!is_real(a->type) || b->format != CUSPARSE_FORMAT_CSR)
        return CUSPARSE_STATUS_NOT_SUPPORTED;
    if (cudaStreamSynchronize(h->stream)) return CUSPARSE_STATUS_EXECUTION_FAILED;
    wbcpu_library here;
    std::vector<int64_t> counts((size_t)a->rows + 1);
    for_each_nonzero(*a, [&](int64_t i, int64_t, double) { counts[(size_t)i + 1]++; });
    b->count = 0;
    for (int64_t i = 0; i <= a->rows; i++)
        store_index(b->row, b->row_type, i, b->base + (b->count += counts[(size_t)i]));
    return CUSPARSE_STATUS_SUCCESS;
}
extern "C" status cusparseDenseToSparse_convert(
    cusparseHandle_t h, cusparseConstDnMatDescr_t a, cusparseSpMatDescr_t b,
    cusparseDenseToSparseAlg_t, void *)
{
    if (!h) return CUSPARSE_STATUS_NOT_INITIALIZED;
    return run_sparse(h, [a = *a, b = *b] {
        int64_t k = 0;
        for_each_nonzero(a, [&](int64_t, int64_t j, double value) {
            store_index(b.column, b.column_type, k, b.base + j);
            store(b.values, b.type, k++, value);
        });
    });
}
extern "C" status cusparseSparseToDense_bufferSize(
    cusparseHandle_t, cusparseConstSpMatDescr_t, cusparseDnMatDescr_t,
    cusparseSparseToDenseAlg_t, size_t *bytes)
{
    *bytes = 1;
    return CUSPARSE_STATUS_SUCCESS;
}
extern "C" status cusparseDenseToSparse_bufferSize(
    cusparseHandle_t, cusparseConstDnMatDescr_t, cusparseSpMatDescr_t,
    cusparseDenseToSparseAlg_t, size_t *bytes)
{
    *bytes = 1;
    return CUSPARSE_STATUS_SUCCESS;
}

extern "C" status cusparseCsr2cscEx2(
    cusparseHandle_t h, int m, int n, int count, const void *values,
    const int *row_offsets, const int *column_indices, void *csc_values,
    int *column_offsets, int *row_indices, cudaDataType type, cusparseAction_t action,
    cusparseIndexBase_t base, cusparseCsr2CscAlg_t, void *)
{
    if (!h) return CUSPARSE_STATUS_NOT_INITIALIZED;
    if (!is_real(type)) return CUSPARSE_STATUS_NOT_SUPPORTED;
    return run_sparse(h, [=] {
        std::vector<int> next((size_t)n + 1); /* the place of a column's next element */
        for (int k = 0; k < count; k++)
            next[(size_t)(column_indices[k] - base) + 1]++;
        for (int j = 0; j <= n; j++)
            column_offsets[j] = base + (next[(size_t)j] += j ? next[(size_t)j - 1] : 0);
        for (int i = 0; i < m; i++)
            for (int k = row_offsets[i] - base; k < row_offsets[i + 1] - base; k++) {
                int to = next[(size_t)(column_indices[k] - base)]++;
                row_indices[to] = i + base;
                if (action == CUSPARSE_ACTION_NUMERIC)
                    store(csc_values, type, to, load(values, type, k));
            }
    });
}
extern "C" status cusparseCsr2cscEx2_bufferSize(
    cusparseHandle_t, int, int, int, const void *, const int *, const int *, void *,
    int *, int *, cudaDataType, cusparseAction_t, cusparseIndexBase_t,
    cusparseCsr2CscAlg_t, size_t *bytes)
{
    *bytes = 1;
    return CUSPARSE_STATUS_SUCCESS;
}

/* --- the older calls -------------------------------------------------------------------- */
/* L and U on the nonzeros of A: rows from the top; returns the first zero pivot, or -1. */
template <class T>
static int incomplete_lu(int m, T *values, const int *row, const int *column, int base)
{
    std::vector<int> place((size_t)m, -1); /* of the current row's elements, by column */
    std::vector<int> diagonal((size_t)m, -1);
    for (int i = 0; i < m; i++) {
        int first = row[i] - base, end = row[i + 1] - base;
        for (int k = first; k < end; k++)
            place[(size_t)(column[k] - base)] = k;
        for (int k = first; k < end; k++) {
            int j = column[k] - base;
            if (j == i) diagonal[(size_t)i] = k;
            if (j >= i) continue;
            values[k] /= values[diagonal[(size_t)j]];
            for (int l = diagonal[(size_t)j] + 1; l < row[j + 1] - base; l++)
                if (int to = place[(size_t)(column[l] - base)]; to >= 0)
                    values[to] -= values[k] * values[l];
        }
        for (int k = first; k < end; k++)
            place[(size_t)(column[k] - base)] = -1;
        if (diagonal[(size_t)i] < 0 || values[diagonal[(size_t)i]] == 0) return i + base;
    }
    return -1;
}
#define WBCPU_OLDER(T, L, TYPE)                                                          \
    extern "C" status cusparse##L##nnz(                                                  \
        cusparseHandle_t h, cusparseDirection_t direction, int m, int n,                 \
        cusparseMatDescr_t, const T *a, int ld, int *counts, int *total)                 \
    {                                                                                    \
        if (!h) return CUSPARSE_STATUS_NOT_INITIALIZED;                                  \
        bool by_rows = direction == CUSPARSE_DIRECTION_ROW;                              \
        cusparseDnMatDescr dense = {m, n, ld, (void *)a, TYPE, CUSPARSE_ORDER_COL};      \
        run_sparse(h, [=] {                                                              \
            for (int i = 0; i < (by_rows ? m : n); i++)                                  \
                counts[i] = 0;                                                           \
            *total = 0;                                                                  \
            for_each_nonzero(dense, [&](int64_t i, int64_t j, double) {                  \
                counts[by_rows ? i : j]++, ++*total;                                     \
            });                                                                          \
        });                                                                              \
        if (check::queues() && h->pointers == CUSPARSE_POINTER_MODE_HOST)                \
            check::stream_synchronized(h->stream);                                       \
        return CUSPARSE_STATUS_SUCCESS;                                                  \
    }                                                                                    \
    extern "C" status cusparse##L##csrilu02_bufferSize(                                  \
        cusparseHandle_t, int, int, cusparseMatDescr_t, T *, const int *, const int *,   \
        csrilu02Info_t, int *bytes)                                                      \
    {                                                                                    \
        *bytes = 1;                                                                      \
        return CUSPARSE_STATUS_SUCCESS;                                                  \
    }                                                                                    \
    extern "C" status cusparse##L##csrilu02_analysis(                                    \
        cusparseHandle_t, int, int, cusparseMatDescr_t, const T *, const int *,          \
        const int *, csrilu02Info_t info, cusparseSolvePolicy_t, void *)                 \
    {                                                                                    \
        info->zero_pivot = -1;                                                           \
        return CUSPARSE_STATUS_SUCCESS;                                                  \
    }                                                                                    \
    extern "C" status cusparse##L##csrilu02(                                             \
        cusparseHandle_t h, int m, int, cusparseMatDescr_t about, T *values,             \
        const int *row, const int *column, csrilu02Info_t info, cusparseSolvePolicy_t,   \
        void *)                                                                          \
    {                                                                                    \
        if (!h) return CUSPARSE_STATUS_NOT_INITIALIZED;                                  \
        int base = about->base;                                                          \
        return run_sparse(                                                               \
            h, [=] { info->zero_pivot = incomplete_lu(m, values, row, column, base); }); \
    }
WBCPU_OLDER(float, S, CUDA_R_32F)
WBCPU_OLDER(double, D, CUDA_R_64F)
#undef WBCPU_OLDER
extern "C" status
cusparseXcsrilu02_zeroPivot(cusparseHandle_t h, csrilu02Info_t info, int *position)
{
    if (cudaStreamSynchronize(h->stream)) return CUSPARSE_STATUS_EXECUTION_FAILED;
    *position = info->zero_pivot;
    return *position < 0 ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_ZERO_PIVOT;
}
}  // namespace wbcpu
