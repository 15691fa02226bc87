/* safetensors.c - reads safetensors files. */
#include "safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct st_file {
    char *path;
    const uint8_t *map;
    size_t map_bytes;
    bool mapped;   // st_close unmaps it
    json_t *root;  // owns the names and the metadata
    st_tensor *tensors;
    size_t count;
};

static int bad_tensor(const st_file *f, const char *name, wb_error *err, const char *what)
{
    return error_set(err, "%s: tensor '%.200s': %s", f->path, name, what);
}

// A JSON integer >= 0; booleans, reals and strings are not.
static bool get_size(const json_t *j, size_t *out)
{
    if (!json_is_integer(j) || json_integer_value(j) < 0) return false;
    *out = (size_t)json_integer_value(j);
    return true;
}

// Fills *t from one entry of the header.
static int
read_entry(st_file *f, json_t *entry, size_t data_bytes, st_tensor *t, wb_error *err)
{
    size_t begin, end;
    const char *dtype = json_string_value(json_object_get(entry, "dtype"));
    json_t *shape = json_object_get(entry, "shape");
    json_t *offsets = json_object_get(entry, "data_offsets");
    if (!dtype) return bad_tensor(f, t->name, err, "no dtype");
    if (!st_dtype_parse(dtype, &t->dtype))
        return error_set(
            err,
            "%s: tensor '%.200s': dtype '%.20s' is not one of "
            "F64 F32 F16 BF16 I64 I32 U8 BOOL",
            f->path, t->name, dtype);
    if (!json_is_array(shape) || json_array_size(shape) > ST_MAX_DIMS)
        return bad_tensor(f, t->name, err, "shape is not an array of at most 8 sizes");
    t->ndim = (int)json_array_size(shape);
    for (int i = 0; i < t->ndim; i++)
        if (!get_size(json_array_get(shape, (size_t)i), &t->shape[i]))
            return bad_tensor(f, t->name, err, "a size in shape is not an integer >= 0");
    if (!st_measure(t)) return bad_tensor(f, t->name, err, "shape is too large");
    if (!json_is_array(offsets) || json_array_size(offsets) != 2 ||
        !get_size(json_array_get(offsets, 0), &begin) ||
        !get_size(json_array_get(offsets, 1), &end))
        return bad_tensor(f, t->name, err, "data_offsets is not [begin, end]");
    if (begin > end)
        return bad_tensor(f, t->name, err, "data_offsets end before they begin");
    if (end > data_bytes)
        return error_set(
            err,
            "%s: tensor '%.200s': its data ends at byte %zu, but the file has %zu bytes "
            "of data: it is truncated",
            f->path, t->name, end, data_bytes);
    if (end - begin != t->bytes)
        return error_set(
            err, "%s: tensor '%.200s': shape and dtype make %zu bytes, data_offsets %zu",
            f->path, t->name, t->bytes, end - begin);
    t->data = f->map + (f->map_bytes - data_bytes) + begin;
    return 0;
}

static int by_place(const void *a, const void *b)
{
    const st_tensor *x = a, *y = b;
    if (x->data != y->data) return (const char *)x->data < (const char *)y->data ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);  // empty tensors first
}

// Every byte of the data belongs to exactly one tensor.
static int check_cover(const st_file *f, const uint8_t *data, wb_error *err)
{
    const uint8_t *at = data;
    for (size_t i = 0; i < f->count; i++) {
        const st_tensor *t = &f->tensors[i];
        if ((const uint8_t *)t->data < at)
            return error_set(
                err, "%s: tensor '%.200s': overlaps '%.200s'", f->path, t->name,
                f->tensors[i - 1].name);
        if ((const uint8_t *)t->data > at)
            return error_set(
                err, "%s: tensor '%.200s': %td bytes before it belong to no tensor",
                f->path, t->name, (const uint8_t *)t->data - at);
        at = (const uint8_t *)t->data + t->bytes;
    }
    if (at != f->map + f->map_bytes)
        return error_set(
            err, "%s: %td bytes at the end belong to no tensor", f->path,
            f->map + f->map_bytes - at);
    return 0;
}

static int check_metadata(const st_file *f, json_t *metadata, wb_error *err)
{
    const char *key;
    json_t *value;
    if (!json_is_object(metadata))
        return error_set(err, "%s: __metadata__ is not an object", f->path);
    json_object_foreach(metadata, key, value) {
        if (!json_is_string(value))
            return error_set(
                err, "%s: __metadata__ '%.200s' is not a string", f->path, key);
    }
    return 0;
}

static int parse(st_file *f, wb_error *err)
{
    if (f->map_bytes < 8)
        return error_set(
            err, "%s: %zu bytes, too short for a safetensors file", f->path,
            f->map_bytes);
    if (file_check_lfs(f->path, f->map, f->map_bytes, err)) return -1;
    uint64_t header = 0;
    for (int i = 7; i >= 0; i--)
        header = header << 8 | f->map[i];
    if (header > SAFETENSORS_MAX_HEADER)
        return error_set(
            err, "%s: header of %" PRIu64 " bytes: not a safetensors file (limit %d)",
            f->path, header, SAFETENSORS_MAX_HEADER);
    if (header > f->map_bytes - 8)
        return error_set(
            err, "%s: header of %" PRIu64 " bytes in a file of %zu: it is truncated",
            f->path, header, f->map_bytes);
    json_error_t je;
    f->root =
        json_loadb((const char *)f->map + 8, (size_t)header, JSON_REJECT_DUPLICATES, &je);
    if (!f->root)
        return error_set(
            err, "%s: header is not valid JSON: %s (byte %d)", f->path, je.text,
            je.position);
    if (!json_is_object(f->root))
        return error_set(err, "%s: header is not a JSON object", f->path);

    size_t entries = json_object_size(f->root);
    f->tensors = calloc(entries + 1, sizeof *f->tensors);
    if (!f->tensors) return error_set(err, "%s: out of memory", f->path);
    const char *name;
    json_t *entry;
    json_object_foreach(f->root, name, entry) {
        if (strcmp(name, "__metadata__") == 0) {
            if (check_metadata(f, entry, err)) return -1;
            continue;
        }
        st_tensor *t = &f->tensors[f->count++];
        t->name = name;
        if (read_entry(f, entry, f->map_bytes - 8 - (size_t)header, t, err)) return -1;
    }
    qsort(f->tensors, f->count, sizeof *f->tensors, by_place);
    return check_cover(f, f->map + 8 + header, err);
}

static st_file *
open_bytes(const void *map, size_t bytes, bool mapped, const char *name, wb_error *err)
{
    st_file *f = calloc(1, sizeof *f);
    if (f) f->path = strdup(name);
    if (!f || !f->path) {
        error_set(err, "%s: out of memory", name);
        if (mapped) munmap((void *)map, bytes);
        free(f);
        return NULL;
    }
    f->map = map, f->map_bytes = bytes, f->mapped = mapped;
    if (parse(f, err)) {
        st_close(f);
        return NULL;
    }
    return f;
}

st_file *st_open_memory(const void *data, size_t bytes, const char *name, wb_error *err)
{
    return open_bytes(data, bytes, false, name, err);
}

st_file *st_open(const char *path, wb_error *err)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) != 0) {
        error_set(err, "%s: %s", path, strerror(errno));
    } else if (!S_ISREG(st.st_mode)) {
        error_set(err, "%s: not a regular file", path);
    } else if (st.st_size == 0) {
        error_set(err, "%s: is empty", path);
    } else {
        void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        int reason = errno;
        close(fd);
        if (map != MAP_FAILED)
            return open_bytes(map, (size_t)st.st_size, true, path, err);
        error_set(err, "%s: cannot map: %s", path, strerror(reason));
        return NULL;
    }
    if (fd >= 0) close(fd);
    return NULL;
}

void st_close(st_file *f)
{
    if (!f) return;
    if (f->mapped) munmap((void *)f->map, f->map_bytes);
    json_decref(f->root);
    free(f->tensors);
    free(f->path);
    free(f);
}

size_t st_count(const st_file *f)
{
    return f->count;
}

const st_tensor *st_at(const st_file *f, size_t i)
{
    return i < f->count ? &f->tensors[i] : NULL;
}

const st_tensor *st_find(const st_file *f, const char *name)
{
    for (size_t i = 0; i < f->count; i++)
        if (strcmp(f->tensors[i].name, name) == 0) return &f->tensors[i];
    return NULL;
}

const st_tensor *st_expect(
    const st_file *f, const char *name, st_dtype dtype, int ndim, const size_t *shape,
    wb_error *err)
{
    const st_tensor *t = st_find(f, name);
    if (!t) {
        bad_tensor(f, name, err, "is missing");
        return NULL;
    }
    if (t->dtype == dtype && t->ndim == ndim &&
        (ndim == 0 || memcmp(t->shape, shape, (size_t)ndim * sizeof *shape) == 0))
        return t;
    char want[200], have[200];
    error_set(
        err, "%s: tensor '%.200s': is %s %s, not %s %s", f->path, name,
        st_dtype_name(t->dtype), st_shape_text(have, sizeof have, t->ndim, t->shape),
        st_dtype_name(dtype), st_shape_text(want, sizeof want, ndim, shape));
    return NULL;
}

const char *st_metadata(const st_file *f, const char *key)
{
    return json_string_value(
        json_object_get(json_object_get(f->root, "__metadata__"), key));
}

const char *st_path(const st_file *f)
{
    return f->path;
}
