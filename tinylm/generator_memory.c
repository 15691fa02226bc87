/* generator_memory.c - a decoder on a model's weights, and what a generator keeps itself. */
#include "arena.h"
#include "generator.h"

#include <stdlib.h>

static decoder_config config_of(const model *m)
{
    const model_config *c = &m->config;
    bool griffin = c->arch == MODEL_GRIFFIN;
    return (decoder_config){
        .dtype = c->dtype,
        .layers = c->layers,
        .C = c->channels,
        .H = c->heads,
        .K = c->kv_heads,
        .D = decoder_head(c->head_dim),
        .F = c->hidden,
        .V = c->vocab,
        .table = m->Vp,
        .N = m->rotated,
        .window = m->window,
        .Cr = griffin ? c->recurrent : 0,
        .taps = griffin ? c->taps : 0,
        .act = griffin ? WB_GEGLU : WB_SWIGLU,
        .eps = c->eps,
        .offset = m->offset,
        .scale = m->scale,
        .emb_scale = m->emb_scale,
        .softcap = c->softcap,
        .rope_base = c->rope_base};
}

static decoder_layer weights_of(const model_layer *y)
{
    return (decoder_layer){
        .recurrent = y->recurrent,
        .n1 = y->n1.w,
        .n2 = y->n2.w,
        .wgu = y->wgu.w,
        .bgu = y->bgu.w,
        .wd = y->wd.w,
        .bd = y->bd.w,
        .wo = y->wo.w,
        .bo = y->bo.w,
        .wqkv = y->wqkv.w,
        .wxy = y->wxy.w,
        .bxy = y->bxy.w,
        .cw = y->cw.w,
        .cb = y->cb.w,
        .wx = y->wx.w,
        .bx = y->bx.w,
        .wa = y->wa.w,
        .ba = y->ba.w,
        .ap = y->ap.w};
}

/* --- wider heads -------------------------------------------------------------------- */

static void copy_pieces(
    const model *m, void *to, size_t pitch, const void *from, size_t bytes, int count)
{
    CUDA_CHECK(cudaMemcpy2DAsync(
        to, pitch, from, bytes, bytes, (size_t)count, cudaMemcpyDeviceToDevice,
        m->stream));
}

// Behind each head's rows of wqkv, and columns of wo, zeros: products and scores stay.
static void widen_heads(generator *g, decoder_layer *layer, int D, arena *a)
{
    const model_config *c = &g->m->config;
    size_t e = a->element, C = (size_t)c->channels;
    size_t was = (size_t)c->head_dim * e, is = (size_t)D * e;
    int heads = c->heads + 2 * c->kv_heads;
    for (int l = 0; l < c->layers; l++) {
        decoder_layer *y = &layer[l];
        if (y->recurrent) continue;
        void *wqkv = take(a, heads * is * C), *wo = take(a, C * c->heads * is);
        if (!a->base) continue;  // only counting
        copy_pieces(g->m, wqkv, is * C, y->wqkv, was * C, heads);
        copy_pieces(g->m, wo, is, y->wo, was, c->channels * c->heads);
        y->wqkv = wqkv, y->wo = wo;
    }
}

static int make_wide(generator *g, decoder_layer *layer, int D, wb_error *err)
{
    arena a = {.element = wb_dtype_size(g->m->config.dtype)};
    if (D == g->m->config.head_dim) return 0;
    widen_heads(g, layer, D, &a);
    if (cudaMalloc(&g->wide, a.used) != cudaSuccess) {
        cudaGetLastError();
        return error_set(
            err, "no device memory for %.1f MB of wider heads", (double)a.used / 1e6);
    }
    CUDA_CHECK(cudaMemsetAsync(g->wide, 0, a.used, g->m->stream));
    a = (arena){.base = g->wide, .element = a.element};
    widen_heads(g, layer, D, &a);
    return 0;
}

/* --- a generator -------------------------------------------------------------------- */

static decoder_settings room_of(generator *g)
{
    const model_config *c = &g->m->config;
    const generator_settings *set = &g->set;
    int whole = set->longest + set->tokens;  // of the longest text
    g->slides = c->arch == MODEL_LLAMA;
    int P = set->cache ? set->longest : whole;
    if (g->slides && whole > c->context) P = c->context;  // what is read again too
    return (decoder_settings){
        .B = g->B,
        .T = P < c->context ? P : c->context,
        .P = P,
        .positions = g->slides && whole > c->context ? c->context : whole,
        .drawn = set->tokens,
        .graph = set->graph,
        .temperature = set->temperature,
        .top_k = set->top_k,
        .top_p = set->top_p,
        .penalty = set->penalty};
}

static int make_decoder(generator *g, wb_error *err)
{
    const model *m = g->m;
    decoder_config c = config_of(m);
    decoder_settings room = room_of(g);
    decoder_layer *layer = malloc((size_t)c.layers * sizeof *layer);
    if (!layer) return error_set(err, "no memory for %d layers", c.layers);
    for (int l = 0; l < c.layers; l++)
        layer[l] = weights_of(&m->layer[l]);
    const decoder_weights w = {
        .layer = layer, .emb = m->emb.w, .head = m->head.w, .nf = m->nf.w};
    int rc = c.D > 256 ? 0 : make_wide(g, layer, c.D, err);
    if (!rc) rc = decoder_create(&g->d, &c, &w, &room, m->blas, m->stream, err);
    free(layer);
    return rc;
}

static int make_texts(generator *g, wb_error *err)
{
    size_t B = (size_t)g->B, room = (size_t)g->set.longest + g->set.tokens;
    g->text = calloc(B, sizeof *g->text);
    g->count = calloc(5 * B, sizeof *g->count);
    g->seen = calloc(B, sizeof *g->seen);
    g->h_rows = calloc(B * (size_t)g->set.tokens, sizeof *g->h_rows);
    if (!g->text || !g->count || !g->seen || !g->h_rows)
        return error_set(err, "no memory for %d texts", g->B);
    g->start = g->count + B, g->read = g->start + B, g->again = g->read + B;
    g->zero = g->again + B;
    for (size_t b = 0; b < B; b++) {
        g->text[b] = malloc(room * sizeof **g->text);
        if (!g->text[b]) return error_set(err, "no memory for %zu tokens", room);
    }
    return 0;
}

int generator_create(generator *g, model *m, const generator_settings *set, wb_error *err)
{
    *g = (generator){.m = m, .set = *set, .B = set->batch};
    if (g->set.tokens < 1) g->set.tokens = 1;
    if ((double)g->set.longest + g->set.tokens > 1e9)
        return error_set(err, "a text of %d tokens is too long", g->set.tokens);
    return make_decoder(g, err) || make_texts(g, err) ? -1 : 0;
}

void generator_destroy(generator *g)
{
    decoder_destroy(&g->d);
    if (g->wide) CUDA_CHECK(cudaFree(g->wide));
    for (int b = 0; g->text && b < g->B; b++)
        free(g->text[b]);
    free(g->text);
    free(g->count);
    free(g->seen);
    free(g->h_rows);
    *g = (generator){0};
}
