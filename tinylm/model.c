/* model.c - the memory of a model, and what goes between it and the host. */
#include "model.h"
#include "arena.h"
#include "griffin/config.h"
#include "rope.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const model_calls *const calls[WB_DTYPES] = {
    [WB_F32] = &model_calls_f32,
    [WB_BF16] = &model_calls_bf16,
    [WB_F16] = &model_calls_f16};

/* --- memory ------------------------------------------------------------------------- */

static void point_weights(model *m, arena *a)
{
    int count;
    model_tensor *all = model_tensors(&m->config, &count, &m->N, &m->decayed);
    bool trains = m->use == MODEL_TRAIN;
    char *param = m->param = take_elements(a, m->N);
    m->master = trains && m->config.dtype != WB_F32 ? take_floats(a, m->N) : NULL;
    m->m = trains ? take_floats(a, m->N) : NULL;
    m->v = trains ? take_floats(a, m->N) : NULL;
    m->grad = trains ? take_floats(a, m->N) : NULL;
    for (int i = count - 1; i >= 0; i--) {  // the first piece of a slot is its start
        model_tensor *t = &all[i];
        char *owner = t->layer < 0 ? (char *)m : (char *)&m->layer[t->layer];
        weight *w = (weight *)(owner + t->slot);
        if (!a->base) continue;  // only counting
        w->w = param + t->offset * a->element;
        if (trains) w->d = m->grad + t->offset;
    }
    if (m->config.tied) m->head = m->emb;
    free(all);
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

// What a layer keeps for the backward pass. First what all kinds of layers have.
static void point_layer(model *m, model_layer *y, arena *a)
{
    const model_config *c = &m->config;
    size_t R = (size_t)m->R, C = (size_t)c->channels, F = (size_t)c->hidden;
    size_t HD = (size_t)c->heads * c->head_dim, Cr = (size_t)c->recurrent;
    bool trains = m->use == MODEL_TRAIN;
    y->x1 = take_elements(a, R * C), y->h1 = take_elements(a, R * C);
    y->x2 = take_elements(a, R * C), y->h2 = take_elements(a, R * C);
    y->gu = take_elements(a, R * 2 * F), y->s = take_elements(a, R * F);
    y->r1 = take_floats(a, R), y->r2 = take_floats(a, R);
    if (y->recurrent) {
        y->xy = take_elements(a, R * 2 * Cr), y->c = take_elements(a, R * Cr);
        y->px = take_elements(a, R * Cr), y->pa = take_elements(a, R * Cr);
        y->g = take_elements(a, R * Cr);
        y->h = trains ? take_floats(a, R * Cr) : NULL;
        return;
    }
    y->qkv = take_elements(a, R * (size_t)m->W), y->att = take_elements(a, R * HD);
    if (c->gemm_attention)
        y->p = take_elements(a, R * (size_t)c->heads * (size_t)m->T);
    else
        y->lse = trains ? take_floats(a, R * (size_t)c->heads) : NULL;
}

// Without a backward pass all layers lie on the same place.
static void point_layers(model *m, arena *a)
{
    const model_config *c = &m->config;
    size_t start = a->used, end = start;
    for (int l = 0; l < c->layers; l++) {
        model_layer *y = &m->layer[l];
        y->recurrent = model_is_recurrent(c, l);
        if (m->use != MODEL_TRAIN) a->used = start;
        point_layer(m, y, a);
        end = larger(end, a->used);
    }
    a->used = end;
}

static void point_all(model *m, arena *a, int accum)
{
    const model_config *c = &m->config;
    size_t R = (size_t)m->R, C = (size_t)c->channels, F = (size_t)c->hidden;
    size_t HD = (size_t)c->heads * c->head_dim, Cr = (size_t)c->recurrent;
    size_t Vp = (size_t)m->Vp;
    point_weights(m, a);
    point_layers(m, a);
    m->br = take_elements(a, R * C), m->xf = take_elements(a, R * C);
    m->hf = take_elements(a, R * C), m->rf = take_floats(a, R);
    m->logits = take_elements(a, R * Vp);
    m->loss = take_floats(a, R);
    m->cis = take_floats(a, (size_t)c->context * m->rotated);
    m->token = take(a, (size_t)accum * R * sizeof *m->token);
    m->target = take(a, (size_t)accum * R * sizeof *m->target);
    m->train = take(a, sizeof *m->train);
    m->eval_loss = take_floats(a, 1);
    m->ws = take(a, m->ws_bytes);
    if (m->use != MODEL_TRAIN) return;
    m->dx = take_elements(a, R * C), m->dbr = take_elements(a, R * C);
    m->dh = take_elements(a, R * C), m->ds = take_elements(a, R * F);
    // a layer is of one kind: the gradients of both have one place
    m->datt = m->dg = take_elements(a, R * larger(HD, Cr));
    m->dqkv = m->dxy = take_elements(a, R * larger((size_t)m->W, 2 * Cr));
    m->dc = take_elements(a, R * Cr);
    m->dpx = take_elements(a, R * Cr), m->dpa = take_elements(a, R * Cr);
}

static void set_constants(model *m)
{
    const model_config *c = &m->config;
    bool griffin = c->arch == MODEL_GRIFFIN;
    m->R = m->B * m->T;
    m->W = (c->heads + 2 * c->kv_heads) * c->head_dim;
    m->offset = griffin ? 1 : 0;
    m->emb_scale = griffin ? griffin_embedding_scale(c->channels) : 1;
    m->scale = 1 / sqrtf((float)c->head_dim);
    m->rotated = griffin ? c->head_dim / 2 : c->head_dim;
    m->window = griffin ? c->window - c->hf_window : WB_ALL;
    m->calls = calls[c->dtype];
}

int model_create(
    model *m, const model_config *c, int B, int T, int accum, model_use use,
    wb_error *err)
{
    *m = (model){.config = *c, .use = use, .B = B, .T = T};
    if (model_check(c, err)) return -1;
    m->Vp = (c->vocab + 63) / 64 * 64;
    double widest = fmax(2.0 * c->hidden, fmax(m->Vp, (double)c->heads * T));
    if (B < 1 || T < 1 || accum < 1 || (double)B * T * fmax(accum, 1) > 1e9 ||
        (double)B * T * widest > 1e12)
        return error_set(
            err, "%d micro-batches of %d rows of %d tokens do not fit", accum, B, T);
    set_constants(m);
    m->layer = calloc((size_t)c->layers, sizeof *m->layer);
    if (!m->layer) return error_set(err, "no memory for %d layers", c->layers);

    arena count = {.element = wb_dtype_size(c->dtype)};
    point_weights(m, &count);  // N, which the workspace depends on
    m->calls->workspace(m);
    count.used = 0;
    point_all(m, &count, accum);
    m->arena_bytes = count.used;
    if (cudaMalloc(&m->arena, m->arena_bytes) != cudaSuccess) {
        cudaGetLastError();
        free(m->layer);
        return error_set(
            err, "no device memory for %.1f MB: take a smaller model or batch",
            (double)m->arena_bytes / 1e6);
    }
    arena given = {.base = m->arena, .element = count.element};
    point_all(m, &given, accum);
    CUDA_CHECK(cudaStreamCreateWithFlags(&m->stream, cudaStreamNonBlocking));
    CUDA_CHECK(cudaMemsetAsync(m->arena, 0, m->arena_bytes, m->stream));
    WB_CHECK(wb_blas_create(&m->blas));
    WB_CHECK(rope_table_f32(m->cis, c->context, m->rotated, c->rope_base, m->stream));
    CUDA_CHECK(cudaStreamSynchronize(m->stream));
    return 0;
}

void model_destroy(model *m)
{
    if (!m->arena) return;
    CUDA_CHECK(cudaStreamSynchronize(m->stream));
    wb_blas_destroy(m->blas);
    CUDA_CHECK(cudaStreamDestroy(m->stream));
    CUDA_CHECK(cudaFree(m->arena));
    free(m->layer);
    *m = (model){0};
}

/* --- between host and device --------------------------------------------------------- */

void model_set_weights(model *m, const float *h_weights)
{
    CUDA_CHECK(cudaMemcpyAsync(
        m->master ? m->master : m->param, h_weights, m->N * sizeof(float),
        cudaMemcpyHostToDevice, m->stream));
    m->calls->cast(m);
    CUDA_CHECK(cudaStreamSynchronize(m->stream));
}

void model_download(const model *m, void *h, const void *device, size_t bytes)
{
    CUDA_CHECK(cudaMemcpyAsync(h, device, bytes, cudaMemcpyDeviceToHost, m->stream));
    CUDA_CHECK(cudaStreamSynchronize(m->stream));
}

void model_upload(const model *m, void *device, const void *h, size_t bytes)
{
    CUDA_CHECK(cudaMemcpyAsync(device, h, bytes, cudaMemcpyHostToDevice, m->stream));
    CUDA_CHECK(cudaStreamSynchronize(m->stream));
}
