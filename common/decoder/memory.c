/* memory.c - what a decoder takes on the device. */
#include "arena.h"
#include "decoder.h"
#include "kernels.h"
#include "rope.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const decoder_calls *const calls_of[WB_DTYPES] = {
    [WB_F32] = &decoder_calls_f32,
    [WB_BF16] = &decoder_calls_bf16,
    [WB_F16] = &decoder_calls_f16,
};

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static bool has(const decoder *d, bool recurrent)
{
    for (int l = 0; l < d->config.layers; l++)
        if (d->layer[l].recurrent == recurrent) return true;
    return false;
}

static void point_caches(decoder *d, arena *a)
{
    const decoder_config *c = &d->config;
    size_t B = (size_t)d->B, Cr = (size_t)c->Cr, before = a->used;
    size_t ring = B * (size_t)d->S * (size_t)c->K * (size_t)c->D;
    for (int l = 0; l < c->layers; l++) {
        decoder_layer *y = &d->layer[l];
        if (y->recurrent) {
            y->conv = take_elements(a, B * (size_t)c->taps * Cr);
            y->state = take_floats(a, B * Cr);
        } else {
            y->keys = take_elements(a, ring), y->values = take_elements(a, ring);
        }
    }
    d->cache_bytes = a->used - before;
}

static void point_rows(decoder *d, arena *a)
{
    const decoder_config *c = &d->config;
    size_t B = (size_t)d->B, R = B * (size_t)d->T, C = (size_t)c->C, F = (size_t)c->F;
    size_t all = B * (size_t)(d->S + d->T) * (size_t)c->K * (size_t)c->D;
    size_t Cr = (size_t)c->Cr;
    d->prompt = take_ints(a, B * (size_t)d->P);
    d->n = take_ints(a, B), d->base = take_ints(a, B);
    d->tok = take_ints(a, R), d->pos = take_ints(a, R);
    d->len = take_ints(a, B), d->last = take_ints(a, B);
    d->x = take_elements(a, R * C), d->u = take_elements(a, R * C);
    d->gu = take_elements(a, R * 2 * F), d->s = take_elements(a, R * F);
    if (has(d, false)) {
        d->qkv = take_elements(a, R * (size_t)d->W);
        d->att = take_elements(a, R * (size_t)c->H * (size_t)c->D);
        if (d->P > d->T || d->set.continues)
            d->all_k = take_elements(a, all), d->all_v = take_elements(a, all);
    }
    if (has(d, true)) {
        d->xy = take_elements(a, R * 2 * Cr), d->c = take_elements(a, R * Cr);
        d->px = take_elements(a, R * Cr), d->pa = take_elements(a, R * Cr);
        d->h = take_elements(a, R * Cr);
    }
}

static void point_all(decoder *d, arena *a)
{
    const decoder_config *c = &d->config;
    size_t B = (size_t)d->B, V = (size_t)c->V;
    point_caches(d, a);
    point_rows(d, a);
    d->end = take_elements(a, B * (size_t)c->C);
    d->end_branch = take_elements(a, B * larger((size_t)c->H * c->D, (size_t)c->Cr));
    d->logits = take_floats(a, larger(B, (size_t)d->set.score) * V);
    d->token = take_ints(a, B), d->cur = take_ints(a, B);
    d->done = take_ints(a, B), d->drawn = take_ints(a, B);
    d->out = take_ints(a, B * (size_t)d->set.drawn);
    d->stop = take_ints(a, (size_t)d->set.stops);
    d->seed = take(a, B * sizeof *d->seed);
    if (d->set.penalty != 1) d->seen = take(a, B * V);
    d->cis = take_floats(a, (size_t)d->set.positions * c->N);
    d->ws = take(a, d->ws_bytes);
}

size_t
decoder_cache_formula(const decoder_config *c, const decoder_layer *layer, int B, int S)
{
    size_t element = wb_dtype_size(c->dtype), bytes = 0, Cr = (size_t)c->Cr;
    for (int l = 0; l < c->layers; l++)
        bytes += layer[l].recurrent ? Cr * ((size_t)c->taps * element + sizeof(float))
                                    : 2 * (size_t)S * c->K * c->D * element;
    return (size_t)B * bytes;
}

static int allocate(decoder *d, wb_error *err)
{
    arena count = {.element = wb_dtype_size(d->config.dtype)};
    d->ws_bytes = d->calls->workspace(d);
    point_all(d, &count);
    d->arena_bytes = count.used;
    if (cudaMalloc(&d->arena, d->arena_bytes) != cudaSuccess) {
        cudaGetLastError();
        return error_set(
            err,
            "no device memory for %.1f MB of caches and buffers: fewer texts at once, "
            "fewer tokens, or shorter chunks take less",
            (double)d->arena_bytes / 1e6);
    }
    arena given = {.base = d->arena, .element = count.element};
    point_all(d, &given);
    return 0;
}

// Products of sizes that launchers take as int, or that no device has memory for.
static int check_sizes(const decoder *d, wb_error *err)
{
    const decoder_config *c = &d->config;
    const decoder_settings *set = &d->set;
    double R = (double)d->B * d->T, widest = fmax(2.0 * c->F, fmax(2.0 * c->Cr, d->W));
    if (c->D > 256)
        return error_set(
            err, "heads of %d channels: labs 05 and 07 take up to 256", c->D);
    if (d->B < 1 || d->T < 1 || d->P < 1 || set->positions < 1 || set->drawn < 0)
        return error_set(err, "%d texts of %d tokens: at least one", d->B, d->P);
    if (R > 1e9 || R * widest > 1e12 || set->positions > 1e9 ||
        (double)d->B * set->drawn > 1e10 || (double)d->B * d->P > 1e10)
        return error_set(
            err, "%d texts of up to %d tokens are too many: give fewer, or shorter ones",
            d->B, set->positions);
    return 0;
}

int decoder_create(
    decoder *d, const decoder_config *c, const decoder_weights *w,
    const decoder_settings *set, wb_blas *blas, cudaStream_t stream, wb_error *err)
{
    *d = (decoder){
        .config = *c,
        .set = *set,
        .weights = *w,
        .calls = calls_of[c->dtype],
        .blas = blas,
        .stream = stream,
        .B = set->B,
        .T = set->T,
        .P = set->P,
        .W = (c->H + 2 * c->K) * c->D};
    d->S = set->positions - 1 < c->window ? set->positions - 1 : c->window;
    if (d->S < 1) d->S = 1;
    d->set.top_p = fmaxf(set->top_p, FLT_MIN);  // 0: the likeliest token alone
    d->fuse =
        !wb_kernel_is_yours("rmsnorm_forward") &&
        !wb_kernel_is_yours(c->act == WB_GEGLU ? "geglu_forward" : "swiglu_forward");
    if (check_sizes(d, err)) return -1;
    d->layer = malloc((size_t)c->layers * sizeof *d->layer);
    if (!d->layer) return error_set(err, "no memory for %d layers", c->layers);
    memcpy(d->layer, w->layer, (size_t)c->layers * sizeof *d->layer);
    d->weights.layer = d->layer;
    if (allocate(d, err)) return -1;
    CUDA_CHECK(cudaMemsetAsync(d->arena, 0, d->arena_bytes, stream));
    if (set->stops)
        decoder_upload(d, d->stop, set->stop, (size_t)set->stops * sizeof *set->stop);
    d->set.stop = d->stop;
    WB_CHECK(rope_table_f32(d->cis, set->positions, c->N, c->rope_base, stream));
    CUDA_CHECK(cudaStreamSynchronize(stream));
    return 0;
}

void decoder_destroy(decoder *d)
{
    if (d->arena) CUDA_CHECK(cudaStreamSynchronize(d->stream));
    if (d->step_graph) CUDA_CHECK(cudaGraphExecDestroy(d->step_graph));
    if (d->arena) CUDA_CHECK(cudaFree(d->arena));
    free(d->layer);
    *d = (decoder){0};
}
