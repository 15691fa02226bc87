/* model.c - the memory of a model, and transfers between it and the host. */
#include "model.h"
#include "arena.h"
#include "reduction.h"
#include "rope.h"
#include "tensors.h"

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
    model_tensor *all = model_tensors(&m->config, &count, &m->parameters, &m->decayed);
    bool trains = m->use == MODEL_TRAIN, f32 = m->config.dtype == WB_F32;
    char *param = m->param = take_elements(a, m->parameters);
    size_t owned = m->sharded ? m->parameters / (size_t)m->ranks->size : m->parameters;
    m->master = trains && !f32 ? take_floats(a, owned) : NULL;
    m->adam_m = trains ? take_floats(a, owned) : NULL;
    m->adam_v = trains ? take_floats(a, owned) : NULL;
    m->grad = trains ? take_floats(a, m->parameters) : NULL;
    m->shard_grad = m->sharded ? take_floats(a, owned) : NULL;
    for (int i = count - 1; i >= 0; i--) {  // the first tensor of a slot is its start
        const model_tensor *t = &all[i];
        if (!a->base) continue;  // only counting
        *weight_at(&m->weights, t->layer, t->slot) = param + t->offset * a->element;
        if (trains) *weight_at(&m->gradients, t->layer, t->slot) = m->grad + t->offset;
    }
    if (m->config.shape.tied) {
        m->weights.head = m->weights.embedding;
        m->gradients.head = m->gradients.embedding;
    }
    free(all);
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

// What a layer keeps for the backward pass; first what both kinds of layers have.
static void point_layer(model *m, model_layer *y, arena *a)
{
    const model_shape *s = &m->config.shape;
    size_t R = (size_t)m->rows, C = (size_t)s->channels, F = (size_t)s->hidden;
    size_t HD = (size_t)s->heads * s->head_dim, Cr = (size_t)s->recurrent;
    bool trains = m->use == MODEL_TRAIN;
    y->residual1 = take_elements(a, R * C), y->normed1 = take_elements(a, R * C);
    y->residual2 = take_elements(a, R * C), y->normed2 = take_elements(a, R * C);
    y->gate_up = take_elements(a, R * 2 * F), y->activated = take_elements(a, R * F);
    y->rstd1 = take_floats(a, R), y->rstd2 = take_floats(a, R);
    if (y->recurrent) {
        y->xy = take_elements(a, R * 2 * Cr), y->conv_out = take_elements(a, R * Cr);
        y->gate_x = take_elements(a, R * Cr), y->gate_a = take_elements(a, R * Cr);
        y->recurrent_out = take_elements(a, R * Cr);
        y->state = trains ? take_floats(a, R * Cr) : NULL;
        return;
    }
    y->qkv = take_elements(a, R * (size_t)m->qkv_width),
    y->attention = take_elements(a, R * HD);
    if (m->config.gemm_attention)
        y->probabilities = take_elements(a, R * (size_t)s->heads * (size_t)m->length);
    else
        y->lse = trains ? take_floats(a, R * (size_t)s->heads) : NULL;
}

// Without a backward pass all layers share the same memory.
static void point_layers(model *m, arena *a)
{
    const model_shape *s = &m->config.shape;
    size_t start = a->used, end = start;
    for (int l = 0; l < s->layers; l++) {
        model_layer *y = &m->layer[l];
        y->w = &m->weights.layer[l], y->grad = &m->gradients.layer[l];
        y->recurrent = shape_is_recurrent(s, l);
        if (m->use != MODEL_TRAIN) a->used = start;
        point_layer(m, y, a);
        end = larger(end, a->used);
    }
    a->used = end;
}

static void point_all(model *m, arena *a, int accum)
{
    const model_shape *s = &m->config.shape;
    size_t R = (size_t)m->rows, C = (size_t)s->channels, F = (size_t)s->hidden;
    size_t HD = (size_t)s->heads * s->head_dim, Cr = (size_t)s->recurrent;
    size_t Vp = (size_t)m->padded_vocab;
    point_weights(m, a);
    point_layers(m, a);
    m->branch = take_elements(a, R * C), m->final_residual = take_elements(a, R * C);
    m->final_normed = take_elements(a, R * C), m->final_rstd = take_floats(a, R);
    m->logits = take_elements(a, R * Vp);
    m->loss = take_floats(a, R);
    m->rope_table = take_floats(a, (size_t)m->length * s->rotated);
    m->token = take(a, (size_t)accum * R * sizeof *m->token);
    m->target = take(a, (size_t)accum * R * sizeof *m->target);
    m->train = take(a, sizeof *m->train);
    m->eval_loss = take_floats(a, 1);
    m->workspace = take(a, m->workspace_bytes);
    if (m->use != MODEL_TRAIN) return;
    m->d_residual = take_elements(a, R * C), m->d_branch = take_elements(a, R * C);
    m->d_normed = take_elements(a, R * C), m->d_activated = take_elements(a, R * F);
    // a layer is of one kind: the gradients of both kinds share their memory
    m->d_attention = m->d_recurrent_out = take_elements(a, R * larger(HD, Cr));
    m->d_qkv = m->d_xy = take_elements(a, R * larger((size_t)m->qkv_width, 2 * Cr));
    m->d_conv_out = take_elements(a, R * Cr);
    m->d_gate_x = take_elements(a, R * Cr), m->d_gate_a = take_elements(a, R * Cr);
}

static void set_constants(model *m)
{
    const model_shape *s = &m->config.shape;
    m->rows = m->batch * m->length;
    m->qkv_width = (s->heads + 2 * s->kv_heads) * s->head_dim;
    m->padded_vocab = shape_padded_vocab(s);
    m->norm_offset = m->config.arch == MODEL_GRIFFIN ? 1 : 0;
    m->embedding_scale = shape_embedding_scale(s);
    m->score_scale = 1 / sqrtf((float)s->head_dim);
    m->window = shape_window(s);
    m->calls = calls[m->config.dtype];
}

static int check_batch(const model *m, int accum, wb_error *err)
{
    const model_shape *s = &m->config.shape;
    double B = m->batch, T = m->length;
    double widest = fmax(2.0 * s->hidden, fmax(shape_padded_vocab(s), s->heads * T));
    if (B >= 1 && T >= 1 && accum >= 1 && B * T * accum <= 1e9 && B * T * widest <= 1e12)
        return 0;
    return error_set(
        err, "%d micro-batches of %d sequences of %d tokens do not fit", accum, m->batch,
        m->length);
}

static int make_layers(model *m, wb_error *err)
{
    size_t layers = (size_t)m->config.shape.layers;
    m->layer = calloc(layers, sizeof *m->layer);
    m->weights.layer = calloc(layers, sizeof *m->weights.layer);
    m->gradients.layer = calloc(layers, sizeof *m->gradients.layer);
    if (m->layer && m->weights.layer && m->gradients.layer) return 0;
    return error_set(err, "no memory for %zu layers", layers);
}

static void free_layers(model *m)
{
    free(m->layer);
    free(m->weights.layer);
    free(m->gradients.layer);
}

static int allocate(model *m, int accum, wb_error *err)
{
    arena count = {.element = wb_dtype_size(m->config.dtype)};
    point_weights(m, &count);  // sets N, which the workspace depends on
    m->calls->workspace(m);
    count.used = 0;
    point_all(m, &count, accum);
    m->arena_bytes = count.used;
    if (cudaMalloc(&m->arena, m->arena_bytes) != cudaSuccess) {
        cudaGetLastError();
        return error_set(
            err, "no device memory for %.1f MB: use a smaller model or batch",
            (double)m->arena_bytes / 1e6);
    }
    arena given = {.base = m->arena, .element = count.element};
    point_all(m, &given, accum);
    return 0;
}

static int create(model *m, int accum, wb_error *err)
{
    const model_config *c = &m->config;
    const model_shape *s = &c->shape;
    if (model_check(c, err) || check_batch(m, accum, err)) return -1;
    set_constants(m);
    if (make_layers(m, err) || allocate(m, accum, err)) {
        free_layers(m);
        *m = (model){0};
        return -1;
    }
    CUDA_CHECK(cudaStreamCreateWithFlags(&m->stream, cudaStreamNonBlocking));
    CUDA_CHECK(cudaMemsetAsync(m->arena, 0, m->arena_bytes, m->stream));
    wb_avoid_waits();
    WB_CHECK(wb_blas_create(&m->blas));
    WB_CHECK(
        rope_table_f32(m->rope_table, m->length, s->rotated, s->rope_base, m->stream));
    CUDA_CHECK(cudaStreamSynchronize(m->stream));
    return 0;
}

int model_create(
    model *m, const model_config *c, int batch, int length, int accum, model_use use,
    wb_error *err)
{
    *m = (model){
        .config = *c, .use = use, .batch = batch, .length = length, .ranks = &one_rank};
    return create(m, accum, err);
}

int model_create_rank(
    model *m, const model_config *c, int batch, int length, int accum, const ranks *r,
    bool sharded, wb_error *err)
{
    *m = (model){
        .config = *c,
        .use = MODEL_TRAIN,
        .batch = batch,
        .length = length,
        .ranks = r,
        .sharded = sharded && r->size > 1};
    if (m->sharded && ALIGN_ELEMENTS % r->size)
        return error_set(
            err, "--shard 1 needs 2, 4, 8, 16, 32 or 64 ranks, not %d", r->size);
    return create(m, accum, err);
}

void model_destroy(model *m)
{
    if (!m->arena) return;
    CUDA_CHECK(cudaStreamSynchronize(m->stream));
    reduction_close(m);
    wb_blas_destroy(m->blas);
    CUDA_CHECK(cudaStreamDestroy(m->stream));
    CUDA_CHECK(cudaFree(m->arena));
    free_layers(m);
    *m = (model){0};
}

/* --- between host and device -------------------------------------------------------- */

void model_set_weights(model *m, const float *h_weights)
{
    size_t bytes = m->parameters * sizeof *h_weights;
    if (m->use != MODEL_TRAIN || m->config.dtype == WB_F32) {
        model_upload(m, m->param, h_weights, bytes);
        return;
    }
    model_upload(m, m->grad, h_weights, bytes);  // free between two steps, then 0 again
    m->calls->cast(m, m->grad);
    reduction_keep(m, m->master, m->grad);
    CUDA_CHECK(cudaMemsetAsync(m->grad, 0, bytes, m->stream));
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
