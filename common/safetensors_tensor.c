/* safetensors_tensor.c - the dtype, size and shape of a tensor in a safetensors file. */
#include "safetensors.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    size_t size;
} dtypes[] = {
    [ST_F64] = {"F64", 8},   [ST_F32] = {"F32", 4},   [ST_F16] = {"F16", 2},
    [ST_BF16] = {"BF16", 2}, [ST_I64] = {"I64", 8},   [ST_I32] = {"I32", 4},
    [ST_U8] = {"U8", 1},     [ST_BOOL] = {"BOOL", 1},
};
#define DTYPES (sizeof dtypes / sizeof *dtypes)

const char *st_dtype_name(st_dtype dtype)
{
    return (size_t)dtype < DTYPES ? dtypes[dtype].name : "?";
}

size_t st_dtype_size(st_dtype dtype)
{
    return (size_t)dtype < DTYPES ? dtypes[dtype].size : 0;
}

bool st_dtype_parse(const char *name, st_dtype *dtype)
{
    for (size_t i = 0; i < DTYPES; i++) {
        if (strcmp(name, dtypes[i].name) != 0) continue;
        *dtype = (st_dtype)i;
        return true;
    }
    return false;
}

bool st_measure(st_tensor *t)
{
    t->elements = 1;
    for (int i = 0; i < t->ndim; i++)
        if (__builtin_mul_overflow(t->elements, t->shape[i], &t->elements)) return false;
    return !__builtin_mul_overflow(t->elements, st_dtype_size(t->dtype), &t->bytes);
}

const char *st_shape_text(char *buffer, size_t room, int ndim, const size_t *shape)
{
    size_t at = (size_t)snprintf(buffer, room, "(");
    for (int i = 0; i < ndim && at < room; i++)
        at += (size_t)snprintf(buffer + at, room - at, i ? ",%zu" : "%zu", shape[i]);
    if (at < room) snprintf(buffer + at, room - at, ")");
    return buffer;
}
