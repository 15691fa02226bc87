/* generator_memory.c - a decoder on a model's weights, and a generator's memory on the
 * host. */
#include "arena.h"
#include "generator.h"

#include <stdlib.h>
#include <string.h>

/* --- wider heads -------------------------------------------------------------------- */

static void copy_pieces(
    const model *m, void *to, size_t pitch, const void *from, size_t bytes, int count)
{
    CUDA_CHECK(cudaMemcpy2DAsync(
        to, pitch, from, bytes, bytes, (size_t)count, cudaMemcpyDeviceToDevice,
        m->stream));
}

// Zeros after each head's rows of qkv and columns of out: all scores and sums stay the
// same.
static void widen_heads(generator *g, layer_weights *layer, int head_dim, arena *a)
{
    const model_shape *s = &g->m->config.shape;
    size_t e = a->element, C = (size_t)s->channels;
    size_t was = (size_t)s->head_dim * e, is = (size_t)head_dim * e;
    int heads = s->heads + 2 * s->kv_heads;
    for (int l = 0; l < s->layers; l++) {
        layer_weights *w = &layer[l];
        if (shape_is_recurrent(s, l)) continue;
        void *qkv = take(a, heads * is * C), *out = take(a, C * s->heads * is);
        if (!a->base) continue;  // only counting
        copy_pieces(g->m, qkv, is * C, w->qkv, was * C, heads);
        copy_pieces(g->m, out, is, w->out, was, s->channels * s->heads);
        w->qkv = qkv, w->out = out;
    }
}

static int make_wide(generator *g, layer_weights *layer, int head_dim, wb_error *err)
{
    arena a = {.element = wb_dtype_size(g->m->config.dtype)};
    if (head_dim == g->m->config.shape.head_dim) return 0;
    widen_heads(g, layer, head_dim, &a);
    if (cudaMalloc(&g->wide, a.used) != cudaSuccess) {
        cudaGetLastError();
        return error_set(
            err, "no device memory for %.1f MB of wider heads", (double)a.used / 1e6);
    }
    CUDA_CHECK(cudaMemsetAsync(g->wide, 0, a.used, g->m->stream));
    a = (arena){.base = g->wide, .element = a.element};
    widen_heads(g, layer, head_dim, &a);
    return 0;
}

/* --- a generator -------------------------------------------------------------------- */

static decoder_settings settings_of(generator *g)
{
    const generator_settings *set = &g->set;
    int context = g->m->config.shape.context;
    int whole = set->longest_prompt + set->max_new_tokens;  // of the longest sequence
    g->slides = g->m->config.arch == MODEL_LLAMA;
    int longest = set->cache ? set->longest_prompt : whole;
    if (g->slides && whole > context) longest = context;  // what a slide processes again
    return (decoder_settings){
        .batch = g->batch,
        .chunk = longest < context ? longest : context,
        .longest_prompt = longest,
        .positions = g->slides && whole > context ? context : whole,
        .max_new_tokens = set->max_new_tokens,
        .graph = set->graph,
        .temperature = set->temperature,
        .top_k = set->top_k,
        .top_p = set->top_p,
        .min_p = set->min_p,
        .repetition_penalty = set->repetition_penalty,
        .stop = set->stop,
        .stop_count = set->stop_count};
}

static int make_decoder(generator *g, wb_error *err)
{
    const model *m = g->m;
    decoder_config c = decoder_configure(&m->config.shape, m->config.dtype);
    decoder_settings set = settings_of(g);
    model_weights w = m->weights;
    size_t bytes = (size_t)c.shape.layers * sizeof *w.layer;
    w.layer = malloc(bytes);
    if (!w.layer) return error_set(err, "no memory for %d layers", c.shape.layers);
    memcpy(w.layer, m->weights.layer, bytes);
    int head_dim = c.shape.head_dim;
    int rc = head_dim > 256 ? 0 : make_wide(g, w.layer, head_dim, err);
    if (!rc) rc = decoder_create(&g->d, &c, &w, &set, m->blas, m->stream, err);
    free(w.layer);
    return rc;
}

static int make_sequences(generator *g, wb_error *err)
{
    size_t B = (size_t)g->batch;
    size_t room = (size_t)g->set.longest_prompt + g->set.max_new_tokens;
    g->tokens = calloc(B, sizeof *g->tokens);
    g->count = calloc(5 * B, sizeof *g->count);
    g->done = calloc(B, sizeof *g->done);
    g->visible = calloc(B, sizeof *g->visible);
    g->h_scratch = calloc(B * (size_t)g->set.max_new_tokens, sizeof *g->h_scratch);
    if (!g->tokens || !g->count || !g->done || !g->visible || !g->h_scratch)
        return error_set(err, "no memory for %d sequences", g->batch);
    g->first = g->count + B, g->processed = g->first + B, g->again = g->processed + B;
    g->zero = g->again + B;
    for (size_t b = 0; b < B; b++) {
        g->tokens[b] = malloc(room * sizeof **g->tokens);
        if (!g->tokens[b]) return error_set(err, "no memory for %zu tokens", room);
    }
    return 0;
}

int generator_create(generator *g, model *m, const generator_settings *set, wb_error *err)
{
    *g = (generator){.m = m, .set = *set, .batch = set->batch};
    if (g->set.max_new_tokens < 1) g->set.max_new_tokens = 1;
    if ((double)g->set.longest_prompt + g->set.max_new_tokens > 1e9)
        return error_set(
            err, "a sequence of %d tokens is too long", g->set.max_new_tokens);
    return make_decoder(g, err) || make_sequences(g, err) ? -1 : 0;
}

void generator_destroy(generator *g)
{
    decoder_destroy(&g->d);
    if (g->wide) CUDA_CHECK(cudaFree(g->wide));
    for (int b = 0; g->tokens && b < g->batch; b++)
        free(g->tokens[b]);
    free(g->tokens);
    free(g->count);
    free(g->done);
    free(g->visible);
    free(g->h_scratch);
    *g = (generator){0};
}
