/* weights.c - see weights.h. */
#include "weights.h"
#include "loading.h"
#include "upload.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGN = 256 };  // bytes, of every matrix

/* --- where it goes ------------------------------------------------------------------ */

static size_t align_up(size_t n)
{
    return (n + ALIGN - 1) / ALIGN * ALIGN;
}

// Rows of heads that the files have, with every head padded.
static size_t padded_heads(const loading *l, size_t rows)
{
    size_t heads = rows / (size_t)l->config.shape.head_dim;
    return heads * (size_t)l->w->config.shape.head_dim;
}

static size_t rows_of(const loading *l, const griffin_tensor *t)
{
    if (t->ndim < 2) return 1;
    if (t->slot == WEIGHT_EMBEDDING || t->slot == WEIGHT_HEAD)
        return (size_t)l->w->config.padded_vocab;
    if (t->slot == WEIGHT_QKV) return padded_heads(l, t->shape[0]);
    return t->slot == WEIGHT_CONV ? t->shape[0] : t->count / t->shape[t->ndim - 1];
}

static size_t cols_of(const loading *l, const griffin_tensor *t)
{
    size_t cols = t->shape[t->ndim - 1];
    return t->letters[1] == 'Q' ? padded_heads(l, cols) : cols;
}

static upload
upload_of(const loading *l, const griffin_tensor *t, const model_tensor_at *at, void *out)
{
    const st_tensor *s = at->tensor;
    wb_dtype stored = WB_F32;
    wb_dtype_of_stored(s->dtype, &stored);
    upload u = upload_plain(out, s->data, stored, rows_of(l, t), cols_of(l, t));
    size_t D = (size_t)l->config.shape.head_dim;
    size_t full = (size_t)l->w->config.shape.head_dim;
    if (t->slot == WEIGHT_QKV) u.row_true = D, u.row_full = full;
    if (t->letters[1] == 'Q') {
        u.col_true = D, u.col_full = full;
        u.row_stride = t->shape[1];
    }
    if (t->layer < 0 && t->ndim == 2) u.row_true = t->shape[0];
    if (strcmp(s->name, t->name) == 0 || t->stored == GRIFFIN_SAME) return u;
    // the official checkpoint stores these transposed
    if (t->ndim >= 2) u.row_stride = 1, u.col_stride = u.rows;
    if (t->stored == GRIFFIN_UP) u.in = (const char *)s->data + s->bytes / 2;
    return u;
}

// Up to the next slot: zeros, so that equal weights have equal bytes (rg_fingerprint).
static size_t leave_gap(char *arena, size_t at)
{
    size_t next = align_up(at);
    if (arena && next > at) CUDA_CHECK(cudaMemset(arena + at, 0, next - at));
    return next;
}

// The tensors of one slot follow each other without a gap; every slot starts at a
// multiple of 256 bytes. Returns the bytes of all; with an arena it also sets the
// pointers and the list of uploads.
static size_t place(loading *l, char *arena)
{
    size_t at = 0, e = wb_dtype_size(l->w->config.dtype);
    const griffin_tensor *before = NULL;
    for (int i = 0; i < l->count; i++) {
        griffin_tensor *t = &l->tensors[i];
        bool packed = before && before->layer == t->layer && before->slot == t->slot;
        if (!packed) at = leave_gap(arena, at);
        if (arena) {
            if (!packed) *weight_at(&l->w->at, t->layer, t->slot) = arena + at;
            l->uploads[i] = upload_of(l, t, loading_find(l, t), arena + at);
        }
        at += rows_of(l, t) * cols_of(l, t) * e;
        before = t;
    }
    return leave_gap(arena, at);
}

/* --- all of it ---------------------------------------------------------------------- */

static int upload_weights(loading *l, cudaStream_t stream)
{
    rg_weights *w = l->w;
    size_t odd, count = (size_t)l->count;
    wb_error why;
    if (upload_all(l->uploads, count, w->config.dtype, stream, &odd, &why))
        return error_set(l->err, "%s: %.700s", l->folder, why.text);
    if (odd == count) return 0;
    const model_tensor_at *at = loading_find(l, &l->tensors[odd]);
    return error_set(
        l->err, "%s: tensor '%s': holds inf or NaN%s: such a model cannot be computed",
        st_path(at->file), at->tensor->name,
        w->config.dtype == WB_F16 ? " (as f16)" : "");
}

static int load(loading *l, cudaStream_t stream)
{
    rg_weights *w = l->w;
    w->at.layer = calloc((size_t)l->config.shape.layers, sizeof *w->at.layer);
    l->uploads = calloc((size_t)l->count, sizeof *l->uploads);
    if (!w->at.layer || !l->uploads) return error_set(l->err, "%s: no memory", l->folder);
    w->bytes = place(l, NULL);
    if (cudaMalloc(&w->arena, w->bytes)) {
        size_t room = 0, all;
        cudaGetLastError();
        cudaMemGetInfo(&room, &all);
        return error_set(
            l->err, "%s: its weights take %.1f MB, and the device has %.1f MB free",
            l->folder, (double)w->bytes * 1e-6, (double)room * 1e-6);
    }
    place(l, w->arena);
    if (l->config.shape.tied) w->at.head = w->at.embedding;
    return upload_weights(l, stream);
}

int rg_weights_load(
    rg_weights *w, const griffin_config *c, const char *folder, bool auto_dtype,
    wb_dtype dtype, cudaStream_t stream, wb_error *err)
{
    loading l = {.folder = folder, .config = *c, .w = w, .err = err};
    wb_dtype stored = WB_F32;
    *w = (rg_weights){0};
    if (model_files_open(&l.files, folder, err)) return -1;
    int rc = -1;
    l.tensors = griffin_tensors(&l.config.shape, &l.count);
    if (l.tensors && loading_look(&l, &stored) == 0) {
        free(l.tensors);  // again, with the vocabulary and head of the files
        l.tensors = griffin_tensors(&l.config.shape, &l.count);
        if (auto_dtype) dtype = stored == WB_BF16 ? WB_BF16 : WB_F32;
        w->config = decoder_configure(&l.config.shape, dtype);
        if (l.tensors) rc = loading_check(&l) || load(&l, stream) ? -1 : 0;
    }
    if (!l.tensors) error_set(err, "%s: no memory", folder);
    free(l.uploads);
    free(l.tensors);
    model_files_close(&l.files);
    if (rc) rg_weights_free(w);
    return rc;
}

void rg_weights_free(rg_weights *w)
{
    cudaFree(w->arena);
    free(w->at.layer);
    *w = (rg_weights){0};
}
