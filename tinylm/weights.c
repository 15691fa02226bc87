/* weights.c - see weights.h. */
#include "weights.h"
#include "cast.h"
#include "model_files.h"
#include "tensors.h"

#include <stdlib.h>
#include <string.h>

// NaN and infinity have an exponent of ones only.
static bool is_finite(const void *data, size_t i, st_dtype dtype)
{
    if (dtype == ST_F32) return (((const uint32_t *)data)[i] & 0x7f800000) != 0x7f800000;
    uint16_t ones = dtype == ST_BF16 ? 0x7f80 : 0x7c00;
    return (((const uint16_t *)data)[i] & ones) != ones;
}

int weights_check_finite(const st_tensor *t, const char *path, wb_error *err)
{
    for (size_t i = 0; i < t->elements; i++)
        if (!is_finite(t->data, i, t->dtype))
            return error_set(
                err,
                "%s: tensor '%.200s': element %zu is NaN or infinite: the file is damaged, "
                "or its training has diverged: use another checkpoint",
                path, t->name, i);
    return 0;
}

static const model_tensor_at *find(const model_files *files, const model_tensor *t)
{
    const model_tensor_at *at = model_files_find(files, t->name);
    return at || !*t->official ? at : model_files_find(files, t->official);
}

int weights_dtype(
    wb_dtype *dtype, const model_config *c, const char *folder, wb_error *err)
{
    model_files files;
    if (model_files_open(&files, folder, err)) return -1;
    int count;
    model_tensor *all = model_tensors(c, &count, NULL, NULL);
    const model_tensor_at *at = find(&files, &all[0]);  // the embedding is the first
    int rc = at && wb_dtype_of_stored(at->tensor->dtype, dtype) ? 0 : -1;
    if (rc)
        error_set(
            err, "%s: tensor '%s': is missing or not F32, BF16 or F16",
            at ? st_path(at->file) : folder, at ? at->tensor->name : all[0].name);
    free(all);
    model_files_close(&files);
    return rc;
}

// Does the file store it in the other order of the official checkpoint?
static bool is_reordered(const model_tensor *t, const st_tensor *s)
{
    return t->stored != GRIFFIN_SAME && strcmp(s->name, t->name) != 0;
}

// A tensor of the model, all of whose elements are finite. dtype NULL: any.
static const st_tensor *expect(
    const model_files *files, const model_tensor *t, const wb_dtype *dtype,
    const char *folder, wb_error *err)
{
    const model_tensor_at *at = find(files, t);
    if (!at) {
        error_set(
            err, "%s: tensor '%s' is missing, but the sizes in config.json require it",
            folder, t->name);
        return NULL;
    }
    wb_dtype any = WB_F32;
    if (!dtype) wb_dtype_of_stored(at->tensor->dtype, &any);
    st_dtype want = wb_dtype_stored(dtype ? *dtype : any);
    size_t shape[4];
    bool reordered = is_reordered(t, at->tensor);
    int ndim = griffin_official_shape(
        reordered ? t->stored : GRIFFIN_SAME, t->ndim, t->shape, shape);
    const st_tensor *s = st_expect(at->file, at->tensor->name, want, ndim, shape, err);
    return s && !weights_check_finite(s, st_path(at->file), err) ? s : NULL;
}

// n elements of s, `stride` apart, from the one with number `from` on, to number `to` of the
// flat buffer
static void copy(
    char *weights, size_t to, const st_tensor *s, size_t from, size_t n, size_t stride,
    bool floats)
{
    wb_dtype dtype = WB_F32;
    wb_dtype_of_stored(s->dtype, &dtype);  // expect has checked it
    size_t e = wb_dtype_size(dtype);
    const char *in = (const char *)s->data + from * e;
    if (floats)
        wb_to_floats((float *)weights + to, in, dtype, n, stride);
    else if (stride == 1)
        memcpy(weights + to * e, in, n * e);
    else
        for (size_t i = 0; i < n; i++)
            memcpy(weights + (to + i) * e, in + i * stride * e, e);
}

// The official checkpoint stores these matrices transposed, and gate and up as one tensor.
static void put(char *weights, const model_tensor *t, const st_tensor *s, bool floats)
{
    if (!is_reordered(t, s)) {
        copy(weights, t->offset, s, 0, t->count, 1, floats);
        return;
    }
    size_t rows = t->shape[0], cols = t->count / rows;
    size_t start = t->stored == GRIFFIN_UP ? t->count : 0;
    for (size_t r = 0; r < rows; r++)
        copy(weights, t->offset + r * cols, s, start + r, cols, rows, floats);
}

char *weights_read(const model *m, const char *folder, bool floats, wb_error *err)
{
    model_files files;
    if (model_files_open(&files, folder, err)) return NULL;
    int count, rc = 0;
    size_t e = floats ? sizeof(float) : wb_dtype_size(m->config.dtype);
    model_tensor *all = model_tensors(&m->config, &count, NULL, NULL);
    char *weights = calloc(m->parameters, e);
    if (!weights)
        rc = error_set(err, "%s: no memory for %zu weights", folder, m->parameters);
    for (int i = 0; i < count && !rc; i++) {
        const wb_dtype *dtype = floats ? NULL : &m->config.dtype;
        const st_tensor *s = expect(&files, &all[i], dtype, folder, err);
        if (s)
            put(weights, &all[i], s, floats);
        else
            rc = -1;
    }
    free(all);
    model_files_close(&files);
    if (rc) free(weights);
    return rc ? NULL : weights;
}
