/* cuSPARSE: products, triangular solves, conversions, incomplete LU; captured in a graph. */
#include <cusparse.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "expect.h"

#define CHECK(call)                                                                      \
    do {                                                                                 \
        const auto error = call;                                                         \
        if (error) {                                                                     \
            printf("%s:%d: error %d\n", __FILE__, __LINE__, (int)error);                 \
            exit(1);                                                                     \
        }                                                                                \
    } while (0)

static const int m = 7, n = 5;
static void *workspace;

template <class T> static T *managed(const std::vector<T> &values)
{
    T *p;
    CHECK(cudaMallocManaged(&p, (values.size() + 1) * sizeof(T)));
    for (size_t i = 0; i < values.size(); i++)
        p[i] = values[i];
    return p;
}

// A matrix (rows, columns), dense by rows and in three sparse formats
template <class T, class I> struct matrix {
    int rows, columns;
    std::vector<T> dense;
    std::vector<I> row, column, offsets;
    std::vector<T> values;
    cudaDataType type = sizeof(T) == 4 ? CUDA_R_32F : CUDA_R_64F;
    cusparseIndexType_t index = sizeof(I) == 4 ? CUSPARSE_INDEX_32I : CUSPARSE_INDEX_64I;

    matrix(int r, int c, I base) : rows(r), columns(c)
    {
        for (int i = 0; i < rows; i++) {
            offsets.push_back((I)values.size() + base);
            for (int j = 0; j < columns; j++) {
                T value = (i * 3 + j * 5) % 4 == 0 || i == j ? T(1 + (i * 7 + j) % 5) : 0;
                if (i == j) value += 8;
                dense.push_back(value);
                if (value == 0) continue;
                row.push_back(i + base), column.push_back(j + base);
                values.push_back(value);
            }
        }
        offsets.push_back((I)values.size() + base);
    }
    cusparseSpMatDescr_t csr(cusparseIndexBase_t base) const
    {
        cusparseSpMatDescr_t a;
        CHECK(cusparseCreateCsr(
            &a, rows, columns, (int)values.size(), managed(offsets), managed(column),
            managed(values), index, index, base, type));
        return a;
    }
    cusparseSpMatDescr_t coo(cusparseIndexBase_t base) const
    {
        cusparseSpMatDescr_t a;
        CHECK(cusparseCreateCoo(
            &a, rows, columns, (int)values.size(), managed(row), managed(column),
            managed(values), index, base, type));
        return a;
    }
    // The arrays of A in CSR are those of its transpose in CSC.
    cusparseSpMatDescr_t transpose_as_csc(cusparseIndexBase_t base) const
    {
        cusparseSpMatDescr_t a;
        CHECK(cusparseCreateCsc(
            &a, columns, rows, (int)values.size(), managed(offsets), managed(column),
            managed(values), index, index, base, type));
        return a;
    }
};

template <class T, class I>
static void test_products(cusparseHandle_t handle, cusparseIndexBase_t base)
{
    matrix<T, I> a(m, n, (I)base);
    const auto N = CUSPARSE_OPERATION_NON_TRANSPOSE, TR = CUSPARSE_OPERATION_TRANSPOSE;
    struct {
        cusparseSpMatDescr_t matrix;
        bool transposed;  // the matrix times x is the transpose of a times x
        cusparseOperation_t op;
    } cases[] = {
        {a.csr(base), false, N}, {a.coo(base), false, N},
        {a.csr(base), true, TR}, {a.transpose_as_csc(base), true, N},
        {a.coo(base), true, TR}, {a.transpose_as_csc(base), false, TR},
    };
    T alpha = 2, beta = -1;
    for (auto &c : cases) {
        int in = c.transposed ? m : n, out = c.transposed ? n : m;
        std::vector<T> x(in), y(out, 3);
        for (int i = 0; i < in; i++)
            x[i] = T(i + 1);
        T *dy = managed(y);
        cusparseDnVecDescr_t vx, vy;
        CHECK(cusparseCreateDnVec(&vx, in, managed(x), a.type));
        CHECK(cusparseCreateDnVec(&vy, out, dy, a.type));
        size_t bytes;
        CHECK(cusparseSpMV_bufferSize(
            handle, c.op, &alpha, c.matrix, vx, &beta, vy, a.type,
            CUSPARSE_SPMV_ALG_DEFAULT, &bytes));
        void *buffer;
        cudaMalloc(&buffer, bytes + 1);
        CHECK(cusparseSpMV(
            handle, c.op, &alpha, c.matrix, vx, &beta, vy, a.type,
            CUSPARSE_SPMV_ALG_DEFAULT, buffer));
        cudaFree(buffer);
        CHECK(cudaDeviceSynchronize());
        for (int i = 0; i < out; i++) {
            T sum = 0;
            for (int j = 0; j < in; j++)
                sum += a.dense[c.transposed ? j * n + i : i * n + j] * x[j];
            EXPECT(dy[i] == alpha * sum - 3);
        }
        // The same vector as the columns of a matrix, by rows and by columns
        for (auto order : {CUSPARSE_ORDER_ROW, CUSPARSE_ORDER_COL}) {
            std::vector<T> b(in * 2);
            for (int i = 0; i < in; i++)
                for (int j = 0; j < 2; j++)
                    b[order == CUSPARSE_ORDER_ROW ? i * 2 + j : j * in + i] =
                        x[i] * (j + 1);
            T *dc = managed(std::vector<T>(out * 2, (T)NAN));
            T zero = 0;
            cusparseDnMatDescr_t mb, mc;
            CHECK(cusparseCreateDnMat(
                &mb, in, 2, order == CUSPARSE_ORDER_ROW ? 2 : in, managed(b), a.type,
                order));
            CHECK(cusparseCreateDnMat(&mc, out, 2, 2, dc, a.type, CUSPARSE_ORDER_ROW));
            CHECK(cusparseSpMM(
                handle, c.op, N, &alpha, c.matrix, mb, &zero, mc, a.type,
                CUSPARSE_SPMM_ALG_DEFAULT, workspace));
            CHECK(cudaDeviceSynchronize());
            for (int i = 0; i < out; i++)
                EXPECT(dc[2 * i] == dy[i] + 3 && dc[2 * i + 1] == 2 * (dy[i] + 3));
            CHECK(cusparseDestroyDnMat(mb));
            CHECK(cusparseDestroyDnMat(mc));
        }
        CHECK(cusparseDestroyDnVec(vx));
        CHECK(cusparseDestroyDnVec(vy));
        CHECK(cusparseDestroySpMat(c.matrix));
    }
}

static void test_solves(cusparseHandle_t handle)
{
    matrix<double, int> a(n, n, 0);
    for (int fill = 0; fill < 2; fill++)
        for (int unit = 0; unit < 2; unit++)
            for (int transposed = 0; transposed < 2; transposed++) {
                cusparseSpMatDescr_t csr = a.csr(CUSPARSE_INDEX_BASE_ZERO);
                auto lower = (cusparseFillMode_t)fill;
                auto diagonal = (cusparseDiagType_t)unit;
                CHECK(cusparseSpMatSetAttribute(
                    csr, CUSPARSE_SPMAT_FILL_MODE, &lower, sizeof lower));
                CHECK(cusparseSpMatSetAttribute(
                    csr, CUSPARSE_SPMAT_DIAG_TYPE, &diagonal, sizeof diagonal));
                double *x = managed(std::vector<double>{1, 2, 3, 4, 5}), alpha = 2;
                double *y = managed(std::vector<double>(n));
                cusparseDnVecDescr_t vx, vy;
                cusparseSpSVDescr_t about;
                auto op = (cusparseOperation_t)transposed;
                CHECK(cusparseCreateDnVec(&vx, n, x, CUDA_R_64F));
                CHECK(cusparseCreateDnVec(&vy, n, y, CUDA_R_64F));
                CHECK(cusparseSpSV_createDescr(&about));
                CHECK(cusparseSpSV_analysis(
                    handle, op, &alpha, csr, vx, vy, CUDA_R_64F,
                    CUSPARSE_SPSV_ALG_DEFAULT, about, workspace));
                CHECK(cusparseSpSV_solve(
                    handle, op, &alpha, csr, vx, vy, CUDA_R_64F,
                    CUSPARSE_SPSV_ALG_DEFAULT, about));
                CHECK(cudaDeviceSynchronize());
                for (int i = 0; i < n; i++) {
                    double sum = 0;
                    for (int j = 0; j < n; j++) {
                        int r = transposed ? j : i, c = transposed ? i : j;
                        bool in = fill == CUSPARSE_FILL_MODE_LOWER ? r > c : r < c;
                        sum += (r == c && unit ? 1
                                : r == c || in ? a.dense[r * n + c]
                                               : 0) *
                               y[j];
                    }
                    EXPECT(fabs(sum - 2 * x[i]) < 1e-12);
                }
                CHECK(cusparseSpSV_destroyDescr(about));

                // Both columns of the result are y, the second of them twice.
                cusparseSpSMDescr_t several;
                cusparseDnMatDescr_t mb, mc;
                double *b = managed(std::vector<double>{1, 2, 2, 4, 3, 6, 4, 8, 5, 10});
                double *c = managed(std::vector<double>(2 * n));
                CHECK(
                    cusparseCreateDnMat(&mb, 2, n, 2, b, CUDA_R_64F, CUSPARSE_ORDER_COL));
                CHECK(
                    cusparseCreateDnMat(&mc, n, 2, 2, c, CUDA_R_64F, CUSPARSE_ORDER_ROW));
                CHECK(cusparseSpSM_createDescr(&several));
                CHECK(cusparseSpSM_analysis(
                    handle, op, CUSPARSE_OPERATION_TRANSPOSE, &alpha, csr, mb, mc,
                    CUDA_R_64F, CUSPARSE_SPSM_ALG_DEFAULT, several, workspace));
                CHECK(cusparseSpSM_solve(
                    handle, op, CUSPARSE_OPERATION_TRANSPOSE, &alpha, csr, mb, mc,
                    CUDA_R_64F, CUSPARSE_SPSM_ALG_DEFAULT, several));
                CHECK(cudaDeviceSynchronize());
                for (int i = 0; i < n; i++)
                    EXPECT(c[2 * i] == y[i] && c[2 * i + 1] == 2 * y[i]);
                CHECK(cusparseSpSM_destroyDescr(several));
            }
}

static void test_conversions(cusparseHandle_t handle)
{
    matrix<float, int> a(m, n, 1);
    cusparseDnMatDescr_t dense, back;
    cusparseSpMatDescr_t csr;
    int64_t rows, columns, count;
    int *offsets = managed(std::vector<int>(m + 1)), *indices;
    float *values, *again = managed(std::vector<float>(m * n, 9));
    CHECK(cusparseCreateDnMat(
        &dense, m, n, n, managed(a.dense), CUDA_R_32F, CUSPARSE_ORDER_ROW));
    CHECK(cusparseCreateDnMat(&back, m, n, n, again, CUDA_R_32F, CUSPARSE_ORDER_ROW));
    CHECK(cusparseCreateCsr(
        &csr, m, n, 0, offsets, nullptr, nullptr, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
        CUSPARSE_INDEX_BASE_ONE, CUDA_R_32F));
    CHECK(cusparseDenseToSparse_analysis(
        handle, dense, csr, CUSPARSE_DENSETOSPARSE_ALG_DEFAULT, workspace));
    CHECK(cusparseSpMatGetSize(csr, &rows, &columns, &count));
    EXPECT(rows == m && columns == n && count == (int64_t)a.values.size());
    CHECK(cudaMallocManaged(&indices, count * sizeof *indices));
    CHECK(cudaMallocManaged(&values, count * sizeof *values));
    CHECK(cusparseCsrSetPointers(csr, offsets, indices, values));
    CHECK(cusparseDenseToSparse_convert(
        handle, dense, csr, CUSPARSE_DENSETOSPARSE_ALG_DEFAULT, workspace));
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i <= m; i++)
        EXPECT(offsets[i] == a.offsets[i]);
    for (int i = 0; i < count; i++)
        EXPECT(indices[i] == a.column[i] && values[i] == a.values[i]);
    CHECK(cusparseSparseToDense(
        handle, csr, back, CUSPARSE_SPARSETODENSE_ALG_DEFAULT, workspace));
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < m * n; i++)
        EXPECT(again[i] == a.dense[i]);

    // The transpose, by columns from the dense matrix
    int *starts = managed(std::vector<int>(n + 1)),
        *row = managed(std::vector<int>(m * n));
    CHECK(cusparseCsr2cscEx2(
        handle, m, n, (int)count, values, offsets, indices, again, starts, row,
        CUDA_R_32F, CUSPARSE_ACTION_NUMERIC, CUSPARSE_INDEX_BASE_ONE,
        CUSPARSE_CSR2CSC_ALG_DEFAULT, workspace));
    CHECK(cudaDeviceSynchronize());
    int at = 0;
    for (int j = 0; j < n; j++) {
        EXPECT(starts[j] == at + 1);
        for (int i = 0; i < m; i++)
            if (a.dense[i * n + j] != 0) {
                EXPECT(row[at] == i + 1 && again[at] == a.dense[i * n + j]);
                at++;
            }
    }
    EXPECT(starts[n] == count + 1);

    cusparseMatDescr_t about;
    int *counts = managed(std::vector<int>(m)), total;
    CHECK(cusparseCreateMatDescr(&about));
    // By columns, a row of the dense matrix is a column of n elements.
    CHECK(cusparseSnnz(
        handle, CUSPARSE_DIRECTION_COLUMN, n, m, about, managed(a.dense), n, counts,
        &total));
    CHECK(cudaDeviceSynchronize());
    EXPECT(total == count && counts[2] == a.offsets[3] - a.offsets[2]);
    CHECK(cusparseDestroyMatDescr(about));
}

// A full matrix has an exact LU: L U = A.
static void test_lu(cusparseHandle_t handle)
{
    const int k = 4;
    std::vector<double> a(k * k);
    std::vector<int> offsets, columns;
    for (int i = 0; i < k * k; i++) {
        a[i] = i / k == i % k ? 10 : 1 + i % 3;
        if (i % k == 0) offsets.push_back(i);
        columns.push_back(i % k);
    }
    offsets.push_back(k * k);
    double *lu = managed(a);
    cusparseMatDescr_t about;
    csrilu02Info_t info;
    int zero_pivot, *row = managed(offsets), *column = managed(columns);
    CHECK(cusparseCreateMatDescr(&about));
    CHECK(cusparseSetMatIndexBase(about, CUSPARSE_INDEX_BASE_ZERO));
    CHECK(cusparseCreateCsrilu02Info(&info));
    CHECK(cusparseDcsrilu02_analysis(
        handle, k, k * k, about, lu, row, column, info, CUSPARSE_SOLVE_POLICY_NO_LEVEL,
        workspace));
    CHECK(cusparseDcsrilu02(
        handle, k, k * k, about, lu, row, column, info, CUSPARSE_SOLVE_POLICY_NO_LEVEL,
        workspace));
    CHECK(cusparseXcsrilu02_zeroPivot(handle, info, &zero_pivot));
    for (int i = 0; i < k; i++)
        for (int j = 0; j < k; j++) {
            double sum = 0;
            for (int l = 0; l <= i && l <= j; l++)
                sum += (l == i ? 1 : lu[i * k + l]) * lu[l * k + j];
            EXPECT(fabs(sum - a[i * k + j]) < 1e-12);
        }
    CHECK(cusparseDestroyCsrilu02Info(info));
}

static void test_graph(cusparseHandle_t handle)
{
    matrix<float, int> a(n, n, 0);
    float *x = managed(std::vector<float>(n, 1)), *y = managed(std::vector<float>(n, 0));
    float alpha = 1, beta = 1;
    cusparseDnVecDescr_t vx, vy;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cusparseSpMatDescr_t csr = a.csr(CUSPARSE_INDEX_BASE_ZERO);
    CHECK(cusparseCreateDnVec(&vx, n, x, CUDA_R_32F));
    CHECK(cusparseCreateDnVec(&vy, n, y, CUDA_R_32F));
    CHECK(cudaStreamCreate(&stream));
    CHECK(cusparseSetStream(handle, stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cusparseSpMV(
        handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &alpha, csr, vx, &beta, vy, CUDA_R_32F,
        CUSPARSE_SPMV_ALG_DEFAULT, workspace));
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph));
    alpha = beta = 0;  // host factors were read by the call
    EXPECT(y[0] == 0);
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    float sum = 0;
    for (int j = 0; j < n; j++)
        sum += a.dense[j];
    EXPECT(y[0] == 2 * sum);
}

int main()
{
    cusparseHandle_t handle;
    CHECK(cusparseCreate(&handle));
    CHECK(cudaMalloc(&workspace, 1 << 24)); // more than any of the calls asks for
    test_products<float, int>(handle, CUSPARSE_INDEX_BASE_ZERO);
    test_products<double, int>(handle, CUSPARSE_INDEX_BASE_ONE);
    test_products<double, int64_t>(handle, CUSPARSE_INDEX_BASE_ZERO);
    test_solves(handle);
    test_conversions(handle);
    test_lu(handle);
    test_graph(handle);
    CHECK(cusparseDestroy(handle));
    return 0;
}
