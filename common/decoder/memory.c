/* memory.c - what a decoder allocates on the device. */
#include "arena.h"
#include "decoder.h"
#include "kernels.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const decoder_calls *const calls_of[WB_DTYPES] = {
    [WB_F32] = &decoder_calls_f32,
    [WB_BF16] = &decoder_calls_bf16,
    [WB_F16] = &decoder_calls_f16,
};

/* --- where everything goes ---------------------------------------------------------- */

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static bool has(const decoder *d, bool recurrent)
{
    for (int l = 0; l < d->config.shape.layers; l++)
        if (d->layer[l].recurrent == recurrent) return true;
    return false;
}

static void point_caches(decoder *d, arena *a)
{
    const model_shape *s = &d->config.shape;
    size_t B = (size_t)d->batch, Cr = (size_t)s->recurrent, before = a->used;
    size_t ring = B * (size_t)d->slots * (size_t)s->kv_heads * (size_t)s->head_dim;
    for (int l = 0; l < s->layers; l++) {
        decoder_layer *y = &d->layer[l];
        if (y->recurrent) {
            y->conv = take_elements(a, B * (size_t)s->conv_width * Cr);
            y->state = take_floats(a, B * Cr);
        } else {
            y->keys = take_elements(a, ring), y->values = take_elements(a, ring);
        }
    }
    d->cache_bytes = a->used - before;
}

static void point_chunk(decoder *d, arena *a)
{
    const model_shape *s = &d->config.shape;
    const decoder_settings *set = &d->set;
    size_t B = (size_t)d->batch, R = B * (size_t)d->chunk, D = (size_t)s->head_dim;
    size_t C = (size_t)s->channels, F = (size_t)s->hidden, Cr = (size_t)s->recurrent;
    d->count = take_ints(a, B), d->base = take_ints(a, B);
    d->chunk_token = take_ints(a, R), d->chunk_position = take_ints(a, R);
    d->chunk_length = take_ints(a, B), d->chunk_last = take_ints(a, B);
    d->residual = take_elements(a, R * C), d->normed = take_elements(a, R * C);
    d->gate_up = take_elements(a, R * 2 * F), d->activated = take_elements(a, R * F);
    if (has(d, false)) {
        d->qkv = take_elements(a, R * (size_t)d->qkv_width);
        d->attention = take_elements(a, R * (size_t)s->heads * D);
        if (set->longest_prompt > d->chunk || set->continues) {
            size_t all = B * (size_t)(d->slots + d->chunk) * (size_t)s->kv_heads * D;
            d->all_keys = take_elements(a, all), d->all_values = take_elements(a, all);
        }
    }
    if (has(d, true)) {
        d->xy = take_elements(a, R * 2 * Cr), d->conv_out = take_elements(a, R * Cr);
        d->gate_x = take_elements(a, R * Cr), d->gate_a = take_elements(a, R * Cr);
        d->recurrent_out = take_elements(a, R * Cr);
    }
}

static void point_all(decoder *d, arena *a)
{
    const model_shape *s = &d->config.shape;
    const decoder_settings *set = &d->set;
    size_t B = (size_t)d->batch, V = (size_t)s->vocab;
    size_t branch = larger((size_t)s->heads * s->head_dim, (size_t)s->recurrent);
    point_caches(d, a);
    point_chunk(d, a);
    d->last_residual = take_elements(a, B * (size_t)s->channels);
    d->last_branch = take_elements(a, B * branch);
    d->logits = take_floats(a, larger(B, (size_t)set->score_rows) * V);
    d->token = take_ints(a, B), d->position = take_ints(a, B);
    d->done = take_ints(a, B), d->sampled_count = take_ints(a, B);
    d->sampled = take_ints(a, B * (size_t)set->max_new_tokens);
    d->stop = take_ints(a, (size_t)set->stop_count);
    d->seed = take(a, B * sizeof *d->seed);
    if (set->repetition_penalty != 1) d->seen = take(a, B * V);
    d->workspace = take(a, d->workspace_bytes);
}

size_t decoder_cache_formula(const decoder_config *c, int batch, int slots)
{
    const model_shape *s = &c->shape;
    size_t element = wb_dtype_size(c->dtype), bytes = 0, Cr = (size_t)s->recurrent;
    size_t ring = (size_t)slots * s->kv_heads * s->head_dim * element;
    for (int l = 0; l < s->layers; l++)
        bytes += shape_is_recurrent(s, l)
                     ? Cr * ((size_t)s->conv_width * element + sizeof(float))
                     : 2 * ring;
    return (size_t)batch * bytes;
}

/* --- a decoder ---------------------------------------------------------------------- */

static int allocate(decoder *d, wb_error *err)
{
    arena count = {.element = wb_dtype_size(d->config.dtype)};
    d->workspace_bytes = d->calls->workspace(d);
    point_all(d, &count);
    d->arena_bytes = count.used;
    if (cudaMalloc(&d->arena, d->arena_bytes) || decoder_grow_prompt(d, 1) ||
        decoder_grow_rope(d, 1)) {
        cudaGetLastError();
        return error_set(
            err,
            "no device memory for %.1f MB of caches and buffers: use a smaller batch, fewer "
            "tokens, or shorter chunks",
            (double)d->arena_bytes / 1e6);
    }
    arena given = {.base = d->arena, .element = count.element};
    point_all(d, &given);
    return 0;
}

// Sizes whose products overflow an int of a launcher, or exceed any device's memory.
static int check_sizes(const decoder *d, wb_error *err)
{
    const model_shape *s = &d->config.shape;
    const decoder_settings *set = &d->set;
    double B = d->batch, R = B * d->chunk;
    double widest = fmax(2.0 * s->hidden, fmax(2.0 * s->recurrent, d->qkv_width));
    if (s->head_dim > 256)
        return error_set(
            err, "heads of %d channels: labs 05 and 07 take up to 256", s->head_dim);
    if (d->batch < 1 || d->chunk < 1 || set->longest_prompt < 1 || set->positions < 1 ||
        set->max_new_tokens < 0)
        return error_set(
            err, "%d sequences of %d tokens: give at least one", d->batch,
            set->longest_prompt);
    if (R > 1e9 || R * widest > 1e12 || set->positions > 1e9 ||
        B * set->max_new_tokens > 1e10 || B * set->longest_prompt > 1e10)
        return error_set(
            err,
            "%d sequences of up to %d tokens are too many: use fewer or shorter ones",
            d->batch, set->positions);
    return 0;
}

static int copy_layers(decoder *d, const model_weights *w, wb_error *err)
{
    const model_shape *s = &d->config.shape;
    size_t layers = (size_t)s->layers;
    d->weights = *w;
    d->weights.layer = malloc(layers * sizeof *w->layer);
    d->layer = calloc(layers, sizeof *d->layer);
    if (!d->layer || !d->weights.layer)
        return error_set(err, "no memory for %d layers", s->layers);
    memcpy(d->weights.layer, w->layer, layers * sizeof *w->layer);
    for (int l = 0; l < s->layers; l++) {
        d->layer[l].w = &d->weights.layer[l];
        d->layer[l].recurrent = shape_is_recurrent(s, l);
    }
    return 0;
}

int decoder_create(
    decoder *d, const decoder_config *c, const model_weights *w,
    const decoder_settings *set, wb_blas *blas, cudaStream_t stream, wb_error *err)
{
    const model_shape *s = &c->shape;
    bool geglu = c->activation == WB_GEGLU;
    *d = (decoder){
        .config = *c,
        .set = *set,
        .calls = calls_of[c->dtype],
        .blas = blas,
        .stream = stream,
        .batch = set->batch,
        .chunk = set->chunk,
        .qkv_width = (s->heads + 2 * s->kv_heads) * s->head_dim};
    bool all = set->whole_window && c->window != WB_ALL;
    d->slots = !all && set->positions - 1 < c->window ? set->positions - 1 : c->window;
    if (d->slots < 1) d->slots = 1;
    d->set.top_p = fmaxf(set->top_p, FLT_MIN);  // 0 means the most likely token
    d->fused = !wb_kernel_is_yours("rmsnorm_forward") &&
               !wb_kernel_is_yours(geglu ? "geglu_forward" : "swiglu_forward");
    if (check_sizes(d, err) || copy_layers(d, w, err) || allocate(d, err)) return -1;
    CUDA_CHECK(cudaMemsetAsync(d->arena, 0, d->arena_bytes, stream));
    if (set->stop_count)
        decoder_upload(
            d, d->stop, set->stop, (size_t)set->stop_count * sizeof *set->stop);
    d->set.stop = d->stop;
    CUDA_CHECK(cudaStreamSynchronize(stream));
    return 0;
}

void decoder_destroy(decoder *d)
{
    if (d->arena) CUDA_CHECK(cudaStreamSynchronize(d->stream));
    decoder_forget_graphs(d);
    if (d->arena) CUDA_CHECK(cudaFree(d->arena));
    if (d->prompt) CUDA_CHECK(cudaFree(d->prompt));
    if (d->rope_table) CUDA_CHECK(cudaFree(d->rope_table));
    free(d->weights.layer);
    free(d->layer);
    *d = (decoder){0};
}
