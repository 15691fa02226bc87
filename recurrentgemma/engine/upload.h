/* upload.h - matrices from mapped files to the device: several threads convert, transpose
 * and pad them with zeros, piece by piece, through a few MB of pinned memory. */
#ifndef UPLOAD_H
#define UPLOAD_H
#include "dtype.h"
#include "file.h"

#include <cuda_runtime_api.h>

/* A matrix on the device and its elements in a file. Of every row_full rows the first
 * row_true are in the file and the others are zeros; the same holds for columns. */
typedef struct upload {
    void *out;       /* (rows,cols) on the device */
    const void *in;  /* first element, aligned or not */
    wb_dtype stored; /* of `in` */
    size_t rows, cols;
    size_t row_true, row_full, col_true, col_full;
    size_t row_stride, col_stride; /* in elements of `in`, without the padding */
} upload;

/* rows x cols as they are in the file. */
upload upload_plain(void *out, const void *in, wb_dtype stored, size_t rows, size_t cols);

/* Uploads all of them as `dtype`, rounded to nearest, ties to even. Done on return. *odd:
 * the first matrix that holds inf or NaN; count: none does. */
int upload_all(
    const upload *u, size_t count, wb_dtype dtype, cudaStream_t stream, size_t *odd,
    wb_error *err);

#endif
