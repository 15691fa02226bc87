/* weights.c - see weights.h. */
#include "weights.h"
#include "files.h"
#include "rg_tensors.h"
#include "swiglu.h"
#include "upload.h"
#include "wb.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 256 }; // bytes, of every matrix

typedef struct loading {
    const char *folder;
    rg_config config; // with what the files say of vocabulary and head
    model_files files;
    rg_tensor *tensors;
    int count;
    upload *uploads;
    rg_weights *w;
    wb_error *err;
} loading;

/* --- what the files say ------------------------------------------------------------- */

static bool as_dtype(st_dtype stored, wb_dtype *dtype)
{
    if (stored == ST_F32) return *dtype = WB_F32, true;
    if (stored == ST_BF16) return *dtype = WB_BF16, true;
    if (stored == ST_F16) return *dtype = WB_F16, true;
    return false;
}

static model_tensor_at *find(const loading *l, const rg_tensor *t)
{
    model_tensor_at *at = model_files_find(&l->files, t->name);
    return at || !*t->official ? at : model_files_find(&l->files, t->official);
}

static bool same_bytes(const st_tensor *a, const st_tensor *b)
{
    return a->dtype == b->dtype && a->bytes == b->bytes &&
           memcmp(a->data, b->data, a->bytes) == 0;
}

// The vocabulary is that of the embedding, and a head that differs from it is the model's,
// whatever config.json says. Sets *dtype to that of the embedding.
static int look(loading *l, wb_dtype *dtype)
{
    rg_tensor *embedding = l->tensors; // the first of the table
    const model_tensor_at *at = find(l, embedding);
    if (!at)
        return error_set(
            l->err, "%s: tensor '%s' is missing, and '%s' too: not a RecurrentGemma",
            l->folder, embedding->name, embedding->official);
    const st_tensor *e = at->tensor;
    if (!as_dtype(e->dtype, dtype)) *dtype = WB_F32; // refused below
    if (e->ndim == 2 && e->shape[0] >= 1 && e->shape[0] < INT32_MAX)
        l->config.vocab = (int)e->shape[0];
    model_tensor_at *head = model_files_find(&l->files, "lm_head.weight");
    if (head) {
        l->config.tied = same_bytes(head->tensor, e);
        head->used = l->config.tied;
    }
    wb_error why;
    if (rg_config_check(&l->config, &why))
        return error_set(l->err, "%s: %.600s", st_path(at->file), why.text);
    return 0;
}

// The shape and its letters in this file: as Hugging Face's, but for three official ones.
static int
expected(const rg_tensor *t, bool official, size_t shape[4], char letters[8])
{
    memcpy(shape, t->shape, sizeof t->shape);
    strcpy(letters, t->letters);
    if (!official || t->stored == RG_SAME) return t->ndim;
    if (t->stored == RG_TAPS_FIRST) {
        shape[0] = t->shape[2], shape[1] = t->shape[0];
        strcpy(letters, "WR");
        return 2;
    }
    shape[0] = 2;
    if (t->ndim == 2) {
        shape[1] = t->shape[1], shape[2] = t->shape[0];
        strcpy(letters, "2CE");
        return 3;
    }
    shape[1] = shape[2] = 1, shape[3] = t->shape[0];
    strcpy(letters, "211E");
    return 4;
}

static int check(const loading *l, const rg_tensor *t, const model_tensor_at *at)
{
    size_t shape[4];
    char letters[8], have[100], want[100], keys[200] = "";
    const st_tensor *s = at->tensor;
    wb_dtype dtype;
    int ndim = expected(t, strcmp(s->name, t->name) != 0, shape, letters);
    if (!as_dtype(s->dtype, &dtype))
        return error_set(
            l->err, "%s: tensor '%s': is %s: weights are F32, F16 or BF16",
            st_path(at->file), s->name, st_dtype_name(s->dtype));
    if (s->ndim == ndim && memcmp(s->shape, shape, (size_t)ndim * sizeof *shape) == 0)
        return 0;
    for (int i = 0; i < ndim; i++) {
        size_t n = strlen(keys);
        snprintf(
            keys + n, sizeof keys - n, "%s%s", i ? ", " : "", rg_letter_key(letters[i]));
    }
    return error_set(
        l->err, "%s: tensor '%s': is %s, but config.json makes it %s (%s)",
        st_path(at->file), s->name, st_shape_text(have, sizeof have, s->ndim, s->shape),
        st_shape_text(want, sizeof want, ndim, shape), keys);
}

/* --- where it goes ------------------------------------------------------------------ */

static size_t align_up(size_t n)
{
    return (n + ALIGN - 1) / ALIGN * ALIGN;
}

static const void **slot(rg_weights *w, const rg_tensor *t)
{
    decoder_layer *y = t->layer < 0 ? NULL : &w->layer[t->layer];
    switch (t->slot) {
    case RG_EMB: return &w->emb;
    case RG_HEAD: return &w->head;
    case RG_NF: return &w->nf;
    case RG_N1: return &y->n1;
    case RG_N2: return &y->n2;
    case RG_WGU: return &y->wgu;
    case RG_BGU: return &y->bgu;
    case RG_WD: return &y->wd;
    case RG_BD: return &y->bd;
    case RG_WO: return &y->wo;
    case RG_BO: return &y->bo;
    case RG_WQKV: return &y->wqkv;
    case RG_WXY: return &y->wxy;
    case RG_BXY: return &y->bxy;
    case RG_CW: return &y->cw;
    case RG_CB: return &y->cb;
    case RG_WX: return &y->wx;
    case RG_BX: return &y->bx;
    case RG_WA: return &y->wa;
    case RG_BA: return &y->ba;
    case RG_AP: return &y->ap;
    default: return NULL;
    }
}

static size_t rows_of(const loading *l, const rg_tensor *t)
{
    if (t->ndim < 2) return 1;
    if (t->slot == RG_EMB || t->slot == RG_HEAD) return (size_t)l->w->shape.table;
    if (t->slot == RG_WQKV)
        return t->shape[0] / (size_t)l->config.head_dim * (size_t)l->w->shape.D;
    return t->slot == RG_CW ? t->shape[0] : t->count / t->shape[t->ndim - 1];
}

static size_t cols_of(const loading *l, const rg_tensor *t)
{
    if (t->letters[1] == 'Q')
        return t->shape[1] / (size_t)l->config.head_dim * (size_t)l->w->shape.D;
    return t->shape[t->ndim - 1];
}

static upload upload_of(
    const loading *l, const rg_tensor *t, const model_tensor_at *at, void *out)
{
    const st_tensor *s = at->tensor;
    wb_dtype stored = WB_F32;
    as_dtype(s->dtype, &stored);
    upload u = upload_plain(out, s->data, stored, rows_of(l, t), cols_of(l, t));
    size_t D = (size_t)l->config.head_dim, full = (size_t)l->w->shape.D;
    if (t->slot == RG_WQKV) u.row_true = D, u.row_full = full;
    if (t->letters[1] == 'Q') {
        u.col_true = D, u.col_full = full;
        u.row_stride = t->shape[1];
    }
    if (t->layer < 0 && t->ndim == 2) u.row_true = t->shape[0];
    if (strcmp(s->name, t->name) == 0 || t->stored == RG_SAME) return u;
    // what the official checkpoint has the other way round
    if (t->ndim >= 2) u.row_stride = 1, u.col_stride = u.rows;
    if (t->stored == RG_UP)
        u.in = (const char *)s->data + s->bytes / 2;
    return u;
}

// Tensors of one slot one behind the other; a new slot on its own 256 bytes. Returns the
// bytes of all; with an arena it sets the pointers and the list of uploads too.
static size_t place(loading *l, char *arena)
{
    size_t at = 0, e = wb_dtype_size(l->w->shape.dtype);
    const rg_tensor *before = NULL;
    for (int i = 0; i < l->count; i++) {
        rg_tensor *t = &l->tensors[i];
        bool packed = before && before->layer == t->layer && before->slot == t->slot;
        if (!packed) at = align_up(at);
        if (arena) {
            if (!packed) *slot(l->w, t) = arena + at;
            l->uploads[i] = upload_of(l, t, find(l, t), arena + at);
        }
        at += rows_of(l, t) * cols_of(l, t) * e;
        before = t;
    }
    return align_up(at);
}

static decoder_config shape_of(const rg_config *c, wb_dtype dtype)
{
    return (decoder_config){
        .dtype = dtype,
        .layers = c->layers,
        .C = c->channels,
        .H = c->heads,
        .K = c->kv_heads,
        .D = decoder_head(c->head_dim),
        .F = c->hidden,
        .V = c->vocab,
        .table = (c->vocab + 63) / 64 * 64, // whole tiles of the product for the logits
        .N = c->rotated,
        .window = c->hf_window ? c->window - 1 : c->window,
        .Cr = c->recurrent,
        .taps = c->taps,
        .act = WB_GEGLU,
        .eps = c->eps,
        .offset = 1,
        .scale = 1 / sqrtf((float)c->head_dim),
        .emb_scale = c->scaled ? rg_embedding_scale(c->channels) : 1,
        .softcap = c->softcap,
        .rope_base = c->rope_base};
}

/* --- all of it ---------------------------------------------------------------------- */

static int check_all(loading *l)
{
    for (int i = 0; i < l->count; i++) {
        const rg_tensor *t = &l->tensors[i];
        model_tensor_at *at = find(l, t);
        bool official = find(l, &l->tensors[0])->tensor->name[0] == 'e';
        if (!at)
            return error_set(
                l->err, "%s: tensor '%s' is missing, which a model of config.json's sizes has",
                l->folder, official && *t->official ? t->official : t->name);
        if (check(l, t, at)) return -1;
        at->used = true;
        l->w->parameters += t->count;
    }
    for (size_t i = 0; i < l->files.count; i++)
        if (!l->files.all[i].used)
            return error_set(
                l->err, "%s: tensor '%.200s' belongs to nothing in a model of config.json's sizes",
                st_path(l->files.all[i].file), l->files.all[i].tensor->name);
    return 0;
}

static int bring(loading *l, cudaStream_t stream)
{
    rg_weights *w = l->w;
    w->layer = calloc((size_t)l->config.layers, sizeof *w->layer);
    l->uploads = calloc((size_t)l->count, sizeof *l->uploads);
    if (!w->layer || !l->uploads) return error_set(l->err, "%s: no memory", l->folder);
    for (int i = 0; i < l->config.layers; i++)
        w->layer[i].recurrent = rg_is_recurrent(&l->config, i);
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
    w->own_head = !l->config.tied;
    if (!w->own_head) w->head = w->emb;
    wb_error why;
    if (upload_all(l->uploads, (size_t)l->count, w->shape.dtype, stream, &why))
        return error_set(l->err, "%s: %.700s", l->folder, why.text);
    return 0;
}

int rg_weights_load(
    rg_weights *w, const rg_config *c, const char *folder, bool auto_dtype,
    wb_dtype dtype, cudaStream_t stream, wb_error *err)
{
    loading l = {.folder = folder, .config = *c, .w = w, .err = err};
    wb_dtype stored = WB_F32;
    *w = (rg_weights){0};
    if (model_files_open(&l.files, folder, err)) return -1;
    int rc = -1;
    l.tensors = rg_tensors(&l.config, &l.count);
    if (l.tensors && look(&l, &stored) == 0) {
        free(l.tensors); // now with the vocabulary and the head that there are
        l.tensors = rg_tensors(&l.config, &l.count);
        if (auto_dtype) dtype = stored == WB_BF16 ? WB_BF16 : WB_F32;
        w->shape = shape_of(&l.config, dtype);
        if (l.tensors) rc = check_all(&l) || bring(&l, stream) ? -1 : 0;
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
    free(w->layer);
    *w = (rg_weights){0};
}
