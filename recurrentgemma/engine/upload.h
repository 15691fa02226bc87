/* upload.h - matrices from mapped files to the device: converted, turned and filled up with
 * zeros on the way, piece by piece through a few MB of pinned memory, by several threads. */
#ifndef UPLOAD_H
#define UPLOAD_H
#include "dtype.h"
#include "file.h"

#include <cuda_runtime_api.h>

/* A matrix of the device and where its numbers are in a file. Of every row_full rows the
 * first row_true are in the file, the others are zeros; of columns the same. */
typedef struct upload {
    void *out;       /* (rows,cols) on the device */
    const void *in;  /* first element, aligned or not */
    wb_dtype stored; /* of `in` */
    size_t rows, cols;
    size_t row_true, row_full, col_true, col_full;
    size_t row_stride, col_stride; /* in elements of `in`, counting rows that are there */
} upload;

/* rows x cols as they lie in the file. */
upload upload_plain(void *out, const void *in, wb_dtype stored, size_t rows, size_t cols);

/* All of them, as `dtype`, to the nearest, ties to even. Enqueued on the stream, done when it
 * returns. *odd: the first one that holds inf or NaN; count: none does. */
int upload_all(
    const upload *u, size_t count, wb_dtype dtype, cudaStream_t stream, size_t *odd,
    wb_error *err);

#endif
