/* weights.c - see weights.h. */
#include "weights.h"
#include "loading.h"
#include "upload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 256 };  // bytes, of every matrix

/* --- where it goes ------------------------------------------------------------------ */

static size_t align_up(size_t n)
{
    return (n + ALIGN - 1) / ALIGN * ALIGN;
}

// Where the layer, or for the first three the model, points at a matrix.
static const void **pointer_to(rg_weights *w, const griffin_tensor *t)
{
#define OF(field) offsetof(decoder_layer, field)
    static const size_t at[GRIFFIN_SLOTS] = {
        [GRIFFIN_EMB] = offsetof(rg_weights, emb),
        [GRIFFIN_HEAD] = offsetof(rg_weights, head),
        [GRIFFIN_NF] = offsetof(rg_weights, nf),
        [GRIFFIN_N1] = OF(n1),
        [GRIFFIN_N2] = OF(n2),
        [GRIFFIN_WGU] = OF(wgu),
        [GRIFFIN_BGU] = OF(bgu),
        [GRIFFIN_WD] = OF(wd),
        [GRIFFIN_BD] = OF(bd),
        [GRIFFIN_WO] = OF(wo),
        [GRIFFIN_BO] = OF(bo),
        [GRIFFIN_WXY] = OF(wxy),
        [GRIFFIN_WQKV] = OF(wqkv),
        [GRIFFIN_BXY] = OF(bxy),
        [GRIFFIN_CW] = OF(cw),
        [GRIFFIN_CB] = OF(cb),
        [GRIFFIN_WX] = OF(wx),
        [GRIFFIN_BX] = OF(bx),
        [GRIFFIN_WA] = OF(wa),
        [GRIFFIN_BA] = OF(ba),
        [GRIFFIN_AP] = OF(ap)};
#undef OF
    char *owner = t->layer < 0 ? (char *)w : (char *)&w->layer[t->layer];
    return (const void **)(owner + at[t->slot]);
}

static size_t rows_of(const loading *l, const griffin_tensor *t)
{
    if (t->ndim < 2) return 1;
    if (t->slot == GRIFFIN_EMB || t->slot == GRIFFIN_HEAD) return (size_t)l->w->shape.table;
    if (t->slot == GRIFFIN_WQKV)
        return t->shape[0] / (size_t)l->config.head_dim * (size_t)l->w->shape.D;
    return t->slot == GRIFFIN_CW ? t->shape[0] : t->count / t->shape[t->ndim - 1];
}

static size_t cols_of(const loading *l, const griffin_tensor *t)
{
    if (t->letters[1] == 'Q')
        return t->shape[1] / (size_t)l->config.head_dim * (size_t)l->w->shape.D;
    return t->shape[t->ndim - 1];
}

static upload
upload_of(const loading *l, const griffin_tensor *t, const model_tensor_at *at, void *out)
{
    const st_tensor *s = at->tensor;
    wb_dtype stored = WB_F32;
    loading_dtype(s->dtype, &stored);
    upload u = upload_plain(out, s->data, stored, rows_of(l, t), cols_of(l, t));
    size_t D = (size_t)l->config.head_dim, full = (size_t)l->w->shape.D;
    if (t->slot == GRIFFIN_WQKV) u.row_true = D, u.row_full = full;
    if (t->letters[1] == 'Q') {
        u.col_true = D, u.col_full = full;
        u.row_stride = t->shape[1];
    }
    if (t->layer < 0 && t->ndim == 2) u.row_true = t->shape[0];
    if (strcmp(s->name, t->name) == 0 || t->stored == GRIFFIN_SAME) return u;
    // what the official checkpoint has the other way round
    if (t->ndim >= 2) u.row_stride = 1, u.col_stride = u.rows;
    if (t->stored == GRIFFIN_UP) u.in = (const char *)s->data + s->bytes / 2;
    return u;
}

// Tensors of one slot one behind the other; a new slot on its own 256 bytes. Returns the
// bytes of all; with an arena it sets the pointers and the list of uploads too.
static size_t place(loading *l, char *arena)
{
    size_t at = 0, e = wb_dtype_size(l->w->shape.dtype);
    const griffin_tensor *before = NULL;
    for (int i = 0; i < l->count; i++) {
        griffin_tensor *t = &l->tensors[i];
        bool packed = before && before->layer == t->layer && before->slot == t->slot;
        if (!packed) at = align_up(at);
        if (arena) {
            if (!packed) *pointer_to(l->w, t) = arena + at;
            l->uploads[i] = upload_of(l, t, loading_find(l, t), arena + at);
        }
        at += rows_of(l, t) * cols_of(l, t) * e;
        before = t;
    }
    return align_up(at);
}

static decoder_config shape_of(const griffin_config *c, wb_dtype dtype)
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
        .table = (c->vocab + 63) / 64 * 64,  // whole tiles of the product for the logits
        .N = c->rotated,
        .window = c->hf_window ? c->window - 1 : c->window,
        .Cr = c->recurrent,
        .taps = c->taps,
        .act = WB_GEGLU,
        .eps = c->eps,
        .offset = 1,
        .scale = 1 / sqrtf((float)c->head_dim),
        .emb_scale = c->scaled ? griffin_embedding_scale(c->channels) : 1,
        .softcap = c->softcap,
        .rope_base = c->rope_base};
}

/* --- all of it ---------------------------------------------------------------------- */

static int bring(loading *l, cudaStream_t stream)
{
    rg_weights *w = l->w;
    w->layer = calloc((size_t)l->config.layers, sizeof *w->layer);
    l->uploads = calloc((size_t)l->count, sizeof *l->uploads);
    if (!w->layer || !l->uploads) return error_set(l->err, "%s: no memory", l->folder);
    for (int i = 0; i < l->config.layers; i++)
        w->layer[i].recurrent = griffin_is_recurrent(&l->config, i);
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
    if (l->config.tied) w->head = w->emb;
    wb_error why;
    size_t odd, count = (size_t)l->count;
    if (upload_all(l->uploads, count, w->shape.dtype, stream, &odd, &why))
        return error_set(l->err, "%s: %.700s", l->folder, why.text);
    if (odd == count) return 0;
    const model_tensor_at *at = loading_find(l, &l->tensors[odd]);
    return error_set(
        l->err, "%s: tensor '%s': holds inf or NaN%s: such a model cannot be computed",
        st_path(at->file), at->tensor->name, w->shape.dtype == WB_F16 ? " (as f16)" : "");
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
    l.tensors = griffin_tensors(&l.config, &l.count);
    if (l.tensors && loading_look(&l, &stored) == 0) {
        free(l.tensors);  // now with the vocabulary and the head that there are
        l.tensors = griffin_tensors(&l.config, &l.count);
        if (auto_dtype) dtype = stored == WB_BF16 ? WB_BF16 : WB_F32;
        w->shape = shape_of(&l.config, dtype);
        if (l.tensors) rc = loading_check(&l) || bring(&l, stream) ? -1 : 0;
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
