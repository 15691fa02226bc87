/* safetensors_write.c - writes safetensors files. */
#include "safetensors.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

// The first tensor at or after i with elements of `size` bytes; count if there is none.
static size_t next_of_size(const st_tensor *t, size_t i, size_t count, size_t size)
{
    while (i < count && st_dtype_size(t[i].dtype) != size)
        i++;
    return i;
}

static json_t *entry_of(const st_tensor *t, size_t begin)
{
    json_t *shape = json_array();
    for (int i = 0; i < t->ndim; i++)
        json_array_append_new(shape, json_integer((json_int_t)t->shape[i]));
    return json_pack(
        "{s:s, s:o, s:[I,I]}", "dtype", st_dtype_name(t->dtype), "shape", shape,
        "data_offsets", (json_int_t)begin, (json_int_t)(begin + t->bytes));
}

// The header as malloc'ed text, padded so that the data begins at a multiple of 8.
static char *header_text(
    const char *path, const st_tensor *tensors, size_t count, const st_pair *metadata,
    size_t pairs, size_t *length, wb_error *err)
{
    json_t *root = json_object(), *meta = json_object();
    char *text = NULL;
    for (size_t i = 0; i < pairs; i++)
        if (json_object_set_new(meta, metadata[i].key, json_string(metadata[i].value))) {
            error_set(err, "%s: metadata '%.200s' is not UTF-8", path, metadata[i].key);
            goto out;
        }
    if (pairs) json_object_set(root, "__metadata__", meta);
    size_t begin = 0;
    for (size_t size = 8; size >= 1; size /= 2)
        for (size_t i = 0; (i = next_of_size(tensors, i, count, size)) < count; i++) {
            st_tensor t = tensors[i];
            if (t.ndim < 0 || t.ndim > ST_MAX_DIMS || !st_measure(&t) ||
                json_object_get(root, t.name) || strcmp(t.name, "__metadata__") == 0 ||
                json_object_set_new(root, t.name, entry_of(&t, begin))) {
                error_set(
                    err,
                    "%s: tensor '%.200s': its shape is invalid, or its name is a "
                    "duplicate or not UTF-8",
                    path, t.name);
                goto out;
            }
            begin += t.bytes;
        }
    char *json = json_dumps(root, JSON_COMPACT | JSON_PRESERVE_ORDER);
    size_t n = json ? strlen(json) : 0;
    *length = (n + 7) / 8 * 8;
    if (json && (text = malloc(*length + 1))) {
        memset(text, ' ', *length);
        memcpy(text, json, n);
    } else {
        error_set(err, "%s: out of memory", path);
    }
    free(json);
out:
    json_decref(meta);
    json_decref(root);
    return text;
}

int st_begin(
    atomic_file *f, size_t *begin, const char *path, const st_tensor *tensors,
    size_t count, const st_pair *metadata, size_t pairs, wb_error *err)
{
    f->fd = -1;
    for (size_t i = 0; i < count; i++)
        if (st_dtype_size(tensors[i].dtype) == 0)
            return error_set(
                err, "%s: tensor '%.200s': unknown dtype", path, tensors[i].name);
    size_t length;
    char *header = header_text(path, tensors, count, metadata, pairs, &length, err);
    if (!header) return -1;
    uint8_t prefix[8];
    for (int i = 0; i < 8; i++)
        prefix[i] = (uint8_t)((uint64_t)length >> 8 * i);
    int rc = atomic_begin(f, path, err);
    if (!rc) rc = atomic_write(f, prefix, 8, err);
    if (!rc) rc = atomic_write(f, header, length, err);
    free(header);
    *begin = 8 + length;
    return rc;
}

int st_write(
    const char *path, const st_tensor *tensors, size_t count, const st_pair *metadata,
    size_t pairs, wb_error *err)
{
    atomic_file f;
    size_t begin;
    int rc = st_begin(&f, &begin, path, tensors, count, metadata, pairs, err);
    for (size_t size = 8; size >= 1 && !rc; size /= 2)
        for (size_t i = 0; (i = next_of_size(tensors, i, count, size)) < count; i++) {
            st_tensor t = tensors[i];
            st_measure(&t);
            if (!rc) rc = atomic_write(&f, t.data, t.bytes, err);
        }
    if (!rc) rc = atomic_commit(&f, err);
    return rc;
}
