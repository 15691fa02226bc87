/* safetensors.h - reads and writes safetensors files.
 *
 * A file is  8 bytes, little-endian: the length N of the header
 *            N bytes of JSON:  {"NAME": {"dtype": "F32", "shape": [2,3],
 *                               "data_offsets": [begin, end]}, ...,
 *                               "__metadata__": {"key": "value", ...}}
 *            the data, little-endian, row-major; data_offsets count from here
 *
 * The reader trusts nothing. It rejects, with one line that names the file and the
 * tensor: a truncated file, a header above SAFETENSORS_MAX_HEADER, invalid JSON, a
 * duplicate name, an unknown dtype, a shape whose size is not end - begin (or overflows
 * size_t), offsets outside the data, tensors that overlap, and bytes that belong to no
 * tensor. A file that st_open accepts needs no further checks.
 *
 *     wb_error err;
 *     st_file *f = st_open("model.safetensors", &err);
 *     if (!f) { fprintf(stderr, "%s\n", err.text); exit(1); }
 *     const st_tensor *w = st_find(f, "weight");   // w->data, w->shape, ...
 *     st_close(f);                                 // w is invalid from here on
 *
 * Source: https://github.com/huggingface/safetensors, "Format".
 */
#ifndef SAFETENSORS_H
#define SAFETENSORS_H
#include "file.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    SAFETENSORS_MAX_HEADER = 100000000, /* bytes; the limit of the format */
    ST_MAX_DIMS = 8,
};

typedef enum st_dtype {
    ST_F64,
    ST_F32,
    ST_F16,
    ST_BF16,
    ST_I64,
    ST_I32,
    ST_U8,
    ST_BOOL, /* one byte, 0 or 1 */
} st_dtype;

const char *st_dtype_name(st_dtype dtype); /* "F32" */
size_t st_dtype_size(st_dtype dtype);      /* bytes per element, 0: unknown dtype */
bool st_dtype_parse(const char *name, st_dtype *dtype); /* false: unknown name */
/* Writes "(2,3)" to the buffer of `room` bytes, for messages; returns the buffer. */
const char *st_shape_text(char *buffer, size_t room, int ndim, const size_t *shape);

typedef struct st_tensor {
    const char *name;
    st_dtype dtype;
    int ndim;                  /* 0: a scalar, one element */
    size_t shape[ST_MAX_DIMS]; /* outer to inner; an empty tensor has a 0 */
    size_t elements, bytes;    /* set by the reader; the writer computes its own */
    /* Reader: a pointer into the mapped file. Files written by this writer align it to
     * the element; other files may not, so access them by memcpy. */
    const void *data;
} st_tensor;

/* Sets elements and bytes from shape and dtype; false: overflow. */
bool st_measure(st_tensor *t);

typedef struct st_pair {
    const char *key, *value;
} st_pair;

/* --- reading ------------------------------------------------------------------------ */

typedef struct st_file st_file;

/* Maps the file read-only. On an error returns NULL and sets *err (err may be NULL). */
st_file *st_open(const char *path, wb_error *err);
/* The same for a file in memory, valid until st_close. `name` is for messages. */
st_file *st_open_memory(const void *data, size_t bytes, const char *name, wb_error *err);
void st_close(st_file *f); /* f may be NULL */

size_t st_count(const st_file *f);
/* The i-th tensor in the order of the data, NULL if i >= count. */
const st_tensor *st_at(const st_file *f, size_t i);
const st_tensor *st_find(const st_file *f, const char *name); /* NULL: no such tensor */
/* As st_find, but the tensor must have this dtype and shape. Otherwise returns NULL and
 * sets *err to the expected and the actual dtype and shape. */
const st_tensor *st_expect(
    const st_file *f, const char *name, st_dtype dtype, int ndim, const size_t *shape,
    wb_error *err);
const char *st_metadata(const st_file *f, const char *key); /* NULL: no such key */
const char *st_path(const st_file *f);

/* --- writing ------------------------------------------------------------------------ */

/* Writes the whole file. On an error an existing file stays untouched (see atomic_file in
 * file.h). Uses name, dtype, ndim, shape and data of each tensor. Tensors with larger
 * elements come first, so that each is aligned to its element; otherwise the given order
 * is kept. Returns 0, or -1 with *err set. */
int st_write(
    const char *path, const st_tensor *tensors, size_t count, const st_pair *metadata,
    size_t pairs, wb_error *err);

/* The same for data that does not fit in memory: begins the file and writes its header;
 * `data` of the tensors is not used. The caller then writes the data of all tensors
 * without gaps, those with larger elements first, otherwise in the given order: by
 * atomic_write, or in any order by atomic_write_at, where *begin is the offset of the
 * first tensor's first byte. Then it calls atomic_commit. After an error of any of these
 * the temporary file is removed. */
int st_begin(
    atomic_file *f, size_t *begin, const char *path, const st_tensor *tensors,
    size_t count, const st_pair *metadata, size_t pairs, wb_error *err);

#endif
