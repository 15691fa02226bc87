/* safetensors.h - the one reader and writer of safetensors files.
 *
 * A file is  8 bytes, little-endian: the length N of the header
 *            N bytes of JSON:  {"NAME": {"dtype": "F32", "shape": [2,3],
 *                               "data_offsets": [begin, end]}, ...,
 *                               "__metadata__": {"key": "value", ...}}
 *            the data; offsets count from here. It is little-endian, row-major.
 *
 * The reader trusts nothing. It refuses, with one sentence that names the file and the
 * tensor: a truncated file, a header above SAFETENSORS_MAX_HEADER, broken JSON, a name
 * that comes twice, an unknown dtype, a shape whose bytes are not end - begin (or do not
 * fit in a size_t), offsets outside of the data, tensors that overlap, and bytes that
 * belong to none. What st_open returns can be read without further checks.
 *
 *     wb_error err;
 *     st_file *f = st_open("model.safetensors", &err);
 *     if (!f) { fprintf(stderr, "%s\n", err.text); exit(1); }
 *     const st_tensor *w = st_find(f, "weight");   // w->data, w->shape, ...
 *     st_close(f);                                 // w is gone with it
 *
 * Source: https://github.com/huggingface/safetensors, "Format".
 */
#ifndef SAFETENSORS_H
#define SAFETENSORS_H
#include "file.h"

#include <stdbool.h>
#include <stdint.h>

#define SAFETENSORS_MAX_HEADER 100000000 /* bytes; the format's own limit */
#define ST_MAX_DIMS 8

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

const char *st_dtype_name(st_dtype dtype);              /* "F32" */
size_t st_dtype_size(st_dtype dtype);                   /* bytes of an element */
bool st_dtype_parse(const char *name, st_dtype *dtype); /* false: not one of the above */
/* "(2,3)" in the buffer, for messages; returns it */
const char *st_shape_text(char *buffer, size_t room, int ndim, const size_t *shape);

typedef struct st_tensor {
    const char *name;
    st_dtype dtype;
    int ndim;                  /* 0: a scalar, one element */
    size_t shape[ST_MAX_DIMS]; /* outer to inner; a 0 makes it empty */
    size_t elements, bytes;    /* the writer works these two out itself */
    const void *data;          /* reader: inside the mapped file, as aligned as its writer
                                   made it. Ours aligns to the element; for a file from
                                   elsewhere copy with memcpy first. */
} st_tensor;

typedef struct st_pair {
    const char *key, *value;
} st_pair;

/* --- reading ------------------------------------------------------------------------ */

typedef struct st_file st_file;

/* Maps the file, read-only. NULL: see err (which may be NULL). */
st_file *st_open(const char *path, wb_error *err);
/* The same from memory that stays yours and must outlive the st_file. `name` is for
 * error messages. */
st_file *st_open_memory(const void *data, size_t bytes, const char *name, wb_error *err);
void st_close(st_file *f); /* NULL is fine */

size_t st_count(const st_file *f);
const st_tensor *st_at(const st_file *f, size_t i); /* i < count, in the order of data */
const st_tensor *st_find(const st_file *f, const char *name); /* NULL: not there */
/* As st_find, but it must have this dtype and shape: otherwise NULL and a sentence with
 * what was wanted and what is there. */
const st_tensor *st_expect(
    const st_file *f, const char *name, st_dtype dtype, int ndim, const size_t *shape,
    wb_error *err);
const char *st_metadata(const st_file *f, const char *key); /* NULL: not there */
const char *st_path(const st_file *f);

/* --- writing ------------------------------------------------------------------------ */

/* Writes the file in one go (see atomic_file in file.h: on any error the old file, if
 * there was one, is untouched). Uses name, dtype, ndim, shape and data of each tensor.
 * Tensors with larger elements come first, so that each is aligned to its element;
 * otherwise in the order given. Returns 0, or -1 with err set. */
int st_write(
    const char *path, const st_tensor *tensors, size_t count, const st_pair *metadata,
    size_t pairs, wb_error *err);

/* The same for data that are too large to hold: begins the file and writes its header;
 * `data` of the tensors is not used. What follows is the caller's: the data of all
 * tensors, those with larger elements first, otherwise in the order given, without gaps,
 * by atomic_write or, in any order, by atomic_write_at, where offset *begin is the first
 * tensor's first byte. Then atomic_commit. After an error of any of them it is gone. */
int st_begin(
    atomic_file *f, size_t *begin, const char *path, const st_tensor *tensors,
    size_t count, const st_pair *metadata, size_t pairs, wb_error *err);

#endif
