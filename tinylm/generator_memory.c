/* generator_memory.c - what a generator takes on the device and on the host. */
#include "arena.h"
#include "generator.h"
#include "kernels.h"
#include "rope.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

static const generator_calls *const calls_of[MODEL_DTYPES] = {
    [MODEL_F32] = &generator_calls_f32,
    [MODEL_BF16] = &generator_calls_bf16,
    [MODEL_F16] = &generator_calls_f16,
};

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static void point_caches(generator *g, arena *a)
{
    const model_config *c = &g->m->config;
    size_t B = (size_t)g->B, Cr = (size_t)c->recurrent;
    size_t ring = B * (size_t)g->S * (size_t)c->kv_heads * (size_t)g->D;
    size_t before = a->used;
    for (int l = 0; l < c->layers; l++) {
        generator_layer *y = &g->layer[l];
        if (g->m->layer[l].recurrent) {
            y->conv = take_elements(a, B * (size_t)c->taps * Cr);
            y->state = take_floats(a, B * Cr);
        } else {
            y->keys = take_elements(a, ring), y->values = take_elements(a, ring);
        }
    }
    g->cache_bytes = a->used - before;
}

// The model's own weights, or room for copies with wider heads.
static void point_heads(generator *g, arena *a)
{
    const model_config *c = &g->m->config;
    size_t C = (size_t)c->channels;
    for (int l = 0; l < c->layers; l++) {
        const model_layer *y = &g->m->layer[l];
        bool wider = !y->recurrent && g->D != c->head_dim;
        g->layer[l].wqkv = wider ? take_elements(a, (size_t)g->W * C) : y->wqkv.w;
        g->layer[l].wo = wider ? take_elements(a, C * (size_t)c->heads * g->D) : y->wo.w;
    }
}

static void copy_pieces(
    const generator *g, const void *to, size_t pitch, const void *from, size_t bytes,
    int count)
{
    CUDA_CHECK(cudaMemcpy2DAsync(
        (void *)to, pitch, from, bytes, bytes, (size_t)count, cudaMemcpyDeviceToDevice,
        g->m->stream));
}

// Behind each head's rows of wqkv, and columns of wo, zeros: products and scores stay.
static void widen_heads(generator *g)
{
    const model_config *c = &g->m->config;
    size_t e = model_element(c->dtype), C = (size_t)c->channels;
    size_t was = (size_t)c->head_dim * e, is = (size_t)g->D * e;
    for (int l = 0; l < c->layers && was != is; l++) {
        const model_layer *y = &g->m->layer[l];
        if (y->recurrent) continue;
        int heads = c->heads + 2 * c->kv_heads;
        copy_pieces(g, g->layer[l].wqkv, is * C, y->wqkv.w, was * C, heads);
        copy_pieces(g, g->layer[l].wo, is, y->wo.w, was, c->channels * c->heads);
    }
}

static void point_rows(generator *g, arena *a)
{
    const model_config *c = &g->m->config;
    size_t B = (size_t)g->B, R = B * (size_t)g->T, C = (size_t)c->channels;
    size_t F = (size_t)c->hidden, Cr = (size_t)c->recurrent;
    size_t KD = (size_t)c->kv_heads * (size_t)g->D;
    g->prompt = take_ints(a, B * (size_t)g->P);
    g->n = take_ints(a, B), g->base = take_ints(a, B);
    g->tok = take_ints(a, R), g->pos = take_ints(a, R);
    g->len = take_ints(a, B), g->last = take_ints(a, B);
    g->x = take_elements(a, R * C), g->u = take_elements(a, R * C);
    g->qkv = take_elements(a, R * (size_t)g->W);
    g->att = take_elements(a, R * (size_t)c->heads * (size_t)g->D);
    if (g->P > g->T) {  // a later chunk
        g->all_k = take_elements(a, B * (size_t)(g->S + g->T) * KD);
        g->all_v = take_elements(a, B * (size_t)(g->S + g->T) * KD);
    }
    if (c->arch == MODEL_GRIFFIN) {
        g->xy = take_elements(a, R * 2 * Cr), g->c = take_elements(a, R * Cr);
        g->px = take_elements(a, R * Cr), g->pa = take_elements(a, R * Cr);
        g->h = take_elements(a, R * Cr);
    }
    g->gu = take_elements(a, R * 2 * F), g->s = take_elements(a, R * F);
}

static void point_all(generator *g, arena *a)
{
    const model_config *c = &g->m->config;
    size_t B = (size_t)g->B, V = (size_t)c->vocab;
    point_caches(g, a);
    point_heads(g, a);
    point_rows(g, a);
    g->end = take_elements(a, B * (size_t)c->channels);
    g->logits = take_floats(a, B * V);
    g->token = take_ints(a, B), g->cur = take_ints(a, B);
    g->done = take_ints(a, B), g->drawn = take_ints(a, B);
    g->out = take_ints(a, B * (size_t)g->set.tokens);
    g->seed = take(a, B * sizeof *g->seed);
    if (g->set.penalty != 1) g->seen = take(a, B * V);
    g->cis = take_floats(a, (size_t)g->positions * g->m->rotated);
    g->ws = take(a, g->ws_bytes);
}

// A multiple of 8 from 16 on.
static int wide_head(const model_config *c)
{
    return c->head_dim < 16 ? 16 : (c->head_dim + 7) / 8 * 8;
}

size_t generator_cache_formula(const model_config *c, int B, int S)
{
    size_t element = model_element(c->dtype), bytes = 0, Cr = (size_t)c->recurrent;
    for (int l = 0; l < c->layers; l++)
        bytes += model_is_recurrent(c, l)
                     ? Cr * ((size_t)c->taps * element + sizeof(float))
                     : 2 * (size_t)S * c->kv_heads * wide_head(c) * element;
    return (size_t)B * bytes;
}

static void make_room(generator *g, const generator_settings *set)
{
    const model_config *c = &g->m->config;
    int whole = set->longest + set->tokens;  // of the longest text
    g->slides = c->arch == MODEL_LLAMA;
    g->P = set->cache ? set->longest : whole;
    if (g->slides && whole > c->context) g->P = c->context;  // what is read again too
    g->T = g->P < c->context ? g->P : c->context;
    g->positions = g->slides && whole > c->context ? c->context : whole;
    g->S = g->positions - 1 < g->m->window ? g->positions - 1 : g->m->window;
    if (g->S < 1) g->S = 1;
}

static int allocate(generator *g, wb_error *err)
{
    arena count = {.element = model_element(g->m->config.dtype)};
    g->ws_bytes = g->calls->workspace(g);
    point_all(g, &count);
    g->arena_bytes = count.used;
    if (cudaMalloc(&g->arena, g->arena_bytes) != cudaSuccess) {
        cudaGetLastError();
        return error_set(
            err, "no device memory for %.1f MB of caches and buffers: write fewer tokens",
            (double)g->arena_bytes / 1e6);
    }
    arena given = {.base = g->arena, .element = count.element};
    point_all(g, &given);
    return 0;
}

int generator_create(generator *g, model *m, const generator_settings *set, wb_error *err)
{
    const model_config *c = &m->config;
    *g = (generator){.m = m, .set = *set, .B = set->batch, .calls = calls_of[c->dtype]};
    g->D = wide_head(c);
    g->W = (c->heads + 2 * c->kv_heads) * g->D;
    if (g->D > 256)
        return error_set(
            err, "heads of %d channels: labs 05 and 07 take up to 256", c->head_dim);
    g->set.top_p = fmaxf(set->top_p, FLT_MIN);  // 0: the likeliest token alone
    if (g->set.tokens < 1) g->set.tokens = 1;
    make_room(g, &g->set);
    if ((double)g->B * g->T * fmax(2.0 * c->hidden, c->vocab) > 1e12 ||
        (double)g->set.longest + g->set.tokens > 1e9)
        return error_set(err, "a text of %d tokens is too long", g->set.tokens);
    g->fuse = !wb_kernel_is_yours("rmsnorm_forward") &&
              !wb_kernel_is_yours(
                  c->arch == MODEL_GRIFFIN ? "geglu_forward" : "swiglu_forward");
    size_t B = (size_t)g->B, row = larger((size_t)g->P, (size_t)g->set.tokens);
    g->layer = calloc((size_t)c->layers, sizeof *g->layer);
    g->text = calloc(B, sizeof *g->text);
    g->count = calloc(4 * B, sizeof *g->count);
    g->h_rows = calloc(B * row, sizeof *g->h_rows);
    if (!g->layer || !g->text || !g->count || !g->h_rows)
        return error_set(err, "no memory for %d texts", g->B);
    g->start = g->count + B, g->read = g->start + B, g->again = g->read + B;
    for (int b = 0; b < g->B; b++) {
        size_t room = (size_t)g->set.longest + g->set.tokens;
        g->text[b] = malloc(room * sizeof **g->text);
        if (!g->text[b]) return error_set(err, "no memory for %zu tokens", room);
    }
    if (allocate(g, err)) return -1;
    CUDA_CHECK(cudaMemsetAsync(g->arena, 0, g->arena_bytes, m->stream));
    widen_heads(g);
    WB_CHECK(rope_table_f32(g->cis, g->positions, m->rotated, c->rope_base, m->stream));
    CUDA_CHECK(cudaStreamSynchronize(m->stream));
    return 0;
}

void generator_destroy(generator *g)
{
    if (g->arena) CUDA_CHECK(cudaStreamSynchronize(g->m->stream));
    if (g->step_graph) CUDA_CHECK(cudaGraphExecDestroy(g->step_graph));
    if (g->arena) CUDA_CHECK(cudaFree(g->arena));
    for (int b = 0; g->text && b < g->B; b++)
        free(g->text[b]);
    free(g->text);
    free(g->count);
    free(g->layer);
    free(g->h_rows);
    *g = (generator){0};
}
