/* loading.c - see loading.h. */
#include "loading.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

model_tensor_at *loading_find(const loading *l, const griffin_tensor *t)
{
    model_tensor_at *at = model_files_find(&l->files, t->name);
    return at || !*t->official ? at : model_files_find(&l->files, t->official);
}

static bool same_bytes(const st_tensor *a, const st_tensor *b)
{
    return a->dtype == b->dtype && a->bytes == b->bytes &&
           memcmp(a->data, b->data, a->bytes) == 0;
}

int loading_look(loading *l, wb_dtype *dtype)
{
    griffin_tensor *embedding = l->tensors;  // the first of the table
    const model_tensor_at *at = loading_find(l, embedding);
    if (!at)
        return error_set(
            l->err, "%s: tensor '%s' is missing, and '%s' too: not a RecurrentGemma",
            l->folder, embedding->name, embedding->official);
    const st_tensor *e = at->tensor;
    if (!wb_dtype_of_stored(e->dtype, dtype)) *dtype = WB_F32;  // refused below
    if (e->ndim == 2 && e->shape[0] >= 1 && e->shape[0] < INT32_MAX)
        l->config.shape.vocab = (int)e->shape[0];
    model_tensor_at *head = model_files_find(&l->files, "lm_head.weight");
    if (head) {
        l->config.shape.tied = same_bytes(head->tensor, e);
        head->used = l->config.shape.tied;
    }
    wb_error why;
    if (griffin_check(&l->config.shape, &why))
        return error_set(l->err, "%s: %.600s", st_path(at->file), why.text);
    return 0;
}

// The shape and its letters in this file: Hugging Face's, except for three official
// tensors.
static int
expected(const griffin_tensor *t, bool official, size_t shape[4], char letters[8])
{
    griffin_official stored = official ? t->stored : GRIFFIN_SAME;
    const char *other = stored == GRIFFIN_WIDTH_FIRST ? "WR"
                        : t->ndim == 2                ? "2CE"
                                                      : "211E";
    strcpy(letters, stored == GRIFFIN_SAME ? t->letters : other);
    return griffin_official_shape(stored, t->ndim, t->shape, shape);
}

static int check(const loading *l, const griffin_tensor *t, const model_tensor_at *at)
{
    size_t shape[4];
    char letters[8], have[100], want[100], keys[200] = "";
    const st_tensor *s = at->tensor;
    wb_dtype dtype;
    int ndim = expected(t, strcmp(s->name, t->name) != 0, shape, letters);
    if (!wb_dtype_of_stored(s->dtype, &dtype))
        return error_set(
            l->err, "%s: tensor '%s': is %s: weights are F32, F16 or BF16",
            st_path(at->file), s->name, st_dtype_name(s->dtype));
    if (s->ndim == ndim && memcmp(s->shape, shape, (size_t)ndim * sizeof *shape) == 0)
        return 0;
    for (int i = 0; i < ndim; i++) {
        size_t n = strlen(keys);
        snprintf(
            keys + n, sizeof keys - n, "%s%s", i ? ", " : "",
            griffin_letter_key(letters[i]));
    }
    return error_set(
        l->err, "%s: tensor '%s': is %s, but config.json makes it %s (%s)",
        st_path(at->file), s->name, st_shape_text(have, sizeof have, s->ndim, s->shape),
        st_shape_text(want, sizeof want, ndim, shape), keys);
}

int loading_check(loading *l)
{
    for (int i = 0; i < l->count; i++) {
        const griffin_tensor *t = &l->tensors[i];
        model_tensor_at *at = loading_find(l, t);
        bool official = loading_find(l, &l->tensors[0])->tensor->name[0] == 'e';
        if (!at)
            return error_set(
                l->err,
                "%s: tensor '%s' is missing, but the sizes in config.json require it",
                l->folder, official && *t->official ? t->official : t->name);
        if (check(l, t, at)) return -1;
        at->used = true;
        l->w->parameters += t->count;
    }
    for (size_t i = 0; i < l->files.count; i++)
        if (!l->files.all[i].used)
            return error_set(
                l->err,
                "%s: tensor '%.200s' is not part of a model of config.json's sizes",
                st_path(l->files.all[i].file), l->files.all[i].tensor->name);
    return 0;
}
