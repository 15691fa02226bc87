/* llama.c - the model's sizes, the layout of its memory, and its first weights. */
#include "llama.h"
#include "rope.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    size_t bytes;
    const llama_calls *calls;
} dtypes[LLAMA_DTYPES] = {
    [LLAMA_F32] = {"f32", 4, &llama_calls_f32},
    [LLAMA_BF16] = {"bf16", 2, &llama_calls_bf16},
    [LLAMA_F16] = {"f16", 2, &llama_calls_f16},
};

size_t llama_element(llama_dtype dtype)
{
    return dtypes[dtype].bytes;
}

const char *llama_dtype_name(llama_dtype dtype)
{
    return dtypes[dtype].name;
}

bool llama_dtype_parse(const char *name, llama_dtype *dtype)
{
    for (int i = 0; i < LLAMA_DTYPES; i++) {
        if (strcmp(name, dtypes[i].name) != 0) continue;
        *dtype = (llama_dtype)i;
        return true;
    }
    return false;
}

void cuda_check(cudaError_t e, const char *call, const char *file, int line)
{
    if (e == cudaSuccess) return;
    fprintf(stderr, "%s:%d: %s: %s\n", file, line, cudaGetErrorString(e), call);
    exit(1);
}

int llama_check(const llama_config *c, wb_error *err)
{
    if (c->layers < 1 || c->channels < 1 || c->heads < 1 || c->hidden < 1 ||
        c->context < 1)
        return error_set(
            err,
            "the model has %d layers, %d channels, %d heads, %d hidden, context %d: "
            "each must be at least 1",
            c->layers, c->channels, c->heads, c->hidden, c->context);
    if (c->kv_heads < 1 || c->heads % c->kv_heads)
        return error_set(
            err, "%d key/value heads do not divide %d heads", c->kv_heads, c->heads);
    if (c->head_dim < 2 || c->head_dim % 2)
        return error_set(
            err, "a head of %d channels: RoPE needs an even number (channels / heads)",
            c->head_dim);
    if (c->vocab < 1) return error_set(err, "a vocabulary of %d tokens", c->vocab);
    // What is counted in int: a row of each product, and the parameters of a matrix.
    double widest = fmax(2.0 * c->hidden, (c->heads + 2.0 * c->kv_heads) * c->head_dim);
    widest = fmax(widest, fmax(c->vocab + 64.0, c->context)) * c->channels;
    if (widest > 2e9 || c->layers > 10000)
        return error_set(
            err, "the model is too large: a matrix of %.3g elements", widest);
    if (!(c->eps > 0) || !(c->rope_base > 1))
        return error_set(
            err, "rms_norm_eps %g must be above 0 and rope_theta %g above 1", c->eps,
            c->rope_base);
    return 0;
}

/* --- weights ------------------------------------------------------------------------ */

#define ALIGN_ELEMENTS 64  // every matrix starts at a multiple of 128 or 256 bytes

static size_t align_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

static int padded_vocab(const llama_config *c)
{
    return (int)align_up((size_t)c->vocab, 64);
}

// Where each piece of the flat buffers starts.
typedef struct places {
    size_t emb, head, nf, decayed, N;
    size_t layer, wo, wgu,
        wd;               // of layer l: l*layer + ...; wqkv is at 0, after emb, head
    size_t first, norms;  // first layer's matrices; its n1, then n2
    size_t norm;          // aligned length of a norm
} places;

static places lay_weights(const llama_config *c)
{
    size_t C = (size_t)c->channels, F = (size_t)c->hidden, D = (size_t)c->head_dim;
    size_t HD = (size_t)c->heads * D, W = HD + 2 * (size_t)c->kv_heads * D;
    size_t table = align_up((size_t)padded_vocab(c) * C, ALIGN_ELEMENTS);
    places a = {.emb = 0, .head = c->tied ? 0 : table};
    a.first = a.head + table;
    a.wo = align_up(W * C, ALIGN_ELEMENTS);
    a.wgu = a.wo + align_up(C * HD, ALIGN_ELEMENTS);
    a.wd = a.wgu + align_up(2 * F * C, ALIGN_ELEMENTS);
    a.layer = a.wd + align_up(C * F, ALIGN_ELEMENTS);
    a.decayed = a.norms = a.first + (size_t)c->layers * a.layer;
    a.norm = align_up(C, ALIGN_ELEMENTS);
    a.nf = a.norms + (size_t)c->layers * 2 * a.norm;
    a.N = a.nf + a.norm;
    return a;
}

llama_tensor *llama_tensors(const llama_config *c, int *count)
{
    size_t C = (size_t)c->channels, F = (size_t)c->hidden, V = (size_t)c->vocab;
    size_t HD = (size_t)c->heads * c->head_dim, KD = (size_t)c->kv_heads * c->head_dim;
    float std = 0.02f, last = std / sqrtf(2.0f * c->layers);  // of what ends a branch
    places a = lay_weights(c);
    llama_tensor *all = malloc(((size_t)c->layers * 9 + 3) * sizeof *all), *t = all;
    if (!all) {
        fprintf(stderr, "no memory\n");
        exit(1);
    }
    *t++ = (llama_tensor){"model.embed_tokens.weight", a.emb, V, C, std};
    if (!c->tied) *t++ = (llama_tensor){"lm_head.weight", a.head, V, C, std};
    for (int l = 0; l < c->layers; l++) {
        size_t at = a.first + l * a.layer, norm = a.norms + 2 * l * a.norm;
        const llama_tensor layer[9] = {
            {"self_attn.q_proj", at, HD, C, std},
            {"self_attn.k_proj", at + HD * C, KD, C, std},
            {"self_attn.v_proj", at + (HD + KD) * C, KD, C, std},
            {"self_attn.o_proj", at + a.wo, C, HD, last},
            {"mlp.gate_proj", at + a.wgu, F, C, std},
            {"mlp.up_proj", at + a.wgu + F * C, F, C, std},
            {"mlp.down_proj", at + a.wd, C, F, last},
            {"input_layernorm", norm, C, 0, 0},
            {"post_attention_layernorm", norm + a.norm, C, 0, 0},
        };
        for (int i = 0; i < 9; i++) {
            *t = layer[i];
            snprintf(
                t->name, sizeof t->name, "model.layers.%d.%.40s.weight", l,
                layer[i].name);
            t++;
        }
    }
    *t++ = (llama_tensor){"model.norm.weight", a.nf, C, 0, 0};
    *count = (int)(t - all);
    return all;
}

/* --- memory ------------------------------------------------------------------------- */

// Hands out pieces of one allocation; with base NULL it only counts.
typedef struct arena {
    char *base;
    size_t used, element;
} arena;

static void *take(arena *a, size_t bytes)
{
    void *p = a->base ? a->base + a->used : NULL;
    a->used += align_up(bytes, 256);
    return p;
}

static void *take_elements(arena *a, size_t n)
{
    return take(a, n * a->element);
}

static float *take_floats(arena *a, size_t n)
{
    return take(a, n * sizeof(float));
}

static void point_weights(llama *m, arena *a)
{
    places at = lay_weights(&m->config);
    size_t e = a->element;
    m->N = at.N, m->decayed = at.decayed;
    bool trains = m->use == LLAMA_TRAIN;
    char *p = m->param = take_elements(a, m->N);
    m->master = trains && m->config.dtype != LLAMA_F32 ? take_floats(a, m->N) : NULL;
    m->m = trains ? take_floats(a, m->N) : NULL;
    m->v = trains ? take_floats(a, m->N) : NULL;
    float *g = m->grad = trains ? take_floats(a, m->N) : NULL;
    if (!a->base) return;  // only counting
    m->emb = p + at.emb * e, m->head = p + at.head * e, m->nf = p + at.nf * e;
    if (trains) m->demb = g + at.emb, m->dhead = g + at.head, m->dnf = g + at.nf;
    for (int l = 0; l < m->config.layers; l++) {
        llama_layer *y = &m->layer[l];
        size_t first = at.first + l * at.layer, norm = at.norms + 2 * l * at.norm;
        y->wqkv = p + first * e, y->wo = p + (first + at.wo) * e;
        y->wgu = p + (first + at.wgu) * e, y->wd = p + (first + at.wd) * e;
        y->n1 = p + norm * e, y->n2 = p + (norm + at.norm) * e;
        if (!trains) continue;
        y->dwqkv = g + first, y->dwo = g + first + at.wo;
        y->dwgu = g + first + at.wgu, y->dwd = g + first + at.wd;
        y->dn1 = g + norm, y->dn2 = g + norm + at.norm;
    }
}

// What a layer keeps for the backward pass; without one all layers share the first's.
static void point_layer(llama *m, llama_layer *y, arena *a)
{
    const llama_config *c = &m->config;
    size_t R = (size_t)m->R, C = (size_t)c->channels, F = (size_t)c->hidden;
    size_t HD = (size_t)c->heads * c->head_dim, keys = (size_t)m->T;
    if (m->use == LLAMA_GENERATE) keys = (size_t)c->context;
    y->x1 = take_elements(a, R * C), y->h1 = take_elements(a, R * C);
    y->qkv = take_elements(a, R * (size_t)m->W);
    y->p = take_elements(a, R * (size_t)c->heads * keys);
    y->att = take_elements(a, R * HD);
    y->x2 = take_elements(a, R * C), y->h2 = take_elements(a, R * C);
    y->gu = take_elements(a, R * 2 * F), y->s = take_elements(a, R * F);
    y->r1 = take_floats(a, R), y->r2 = take_floats(a, R);
}

static void share_layer(llama_layer *y, const llama_layer *from)
{
    y->x1 = from->x1, y->h1 = from->h1, y->qkv = from->qkv, y->p = from->p;
    y->att = from->att, y->x2 = from->x2, y->h2 = from->h2, y->gu = from->gu;
    y->s = from->s, y->r1 = from->r1, y->r2 = from->r2;
}

static void point_all(llama *m, arena *a, int accum)
{
    const llama_config *c = &m->config;
    size_t R = (size_t)m->R, C = (size_t)c->channels, F = (size_t)c->hidden;
    size_t HD = (size_t)c->heads * c->head_dim, Vp = (size_t)m->Vp;
    point_weights(m, a);
    for (int l = 0; l < c->layers; l++) {
        llama_layer *y = &m->layer[l];
        if (m->use == LLAMA_TRAIN || l == 0)
            point_layer(m, y, a);
        else
            share_layer(y, &m->layer[0]);
        if (m->use == LLAMA_GENERATE)
            y->cache = take_elements(
                a, (size_t)c->context * 2 * (size_t)c->kv_heads * c->head_dim);
    }
    m->br = take_elements(a, R * C), m->xf = take_elements(a, R * C);
    m->hf = take_elements(a, R * C), m->rf = take_floats(a, R);
    if (m->use != LLAMA_GENERATE) m->logits = take_elements(a, R * Vp);
    m->loss = take_floats(a, R);
    m->out = take_floats(a, Vp);
    m->cis = take_floats(a, (size_t)c->context * c->head_dim);
    m->token = take(a, (size_t)accum * R * sizeof *m->token);
    m->target = take(a, (size_t)accum * R * sizeof *m->target);
    m->pos = take(a, R * sizeof *m->pos);
    m->train = take(a, sizeof *m->train);
    m->eval_loss = take_floats(a, 1);
    m->ws = take(a, m->ws_bytes);
    if (m->use != LLAMA_TRAIN) return;
    m->dx = take_elements(a, R * C), m->dbr = take_elements(a, R * C);
    m->dh = take_elements(a, R * C), m->datt = take_elements(a, R * HD);
    m->dqkv = take_elements(a, R * (size_t)m->W), m->ds = take_elements(a, R * F);
}

int llama_create(
    llama *m, const llama_config *c, int B, int T, int accum, llama_use use,
    wb_error *err)
{
    *m = (llama){.config = *c, .use = use, .B = B, .T = T, .Vp = padded_vocab(c)};
    if (llama_check(c, err)) return -1;
    double widest = fmax(2.0 * c->hidden, fmax(m->Vp, (double)c->heads * T));
    if (B < 1 || T < 1 || accum < 1 || (double)B * T * fmax(accum, 1) > 1e9 ||
        (double)B * T * widest > 1e12)
        return error_set(
            err, "%d micro-batches of %d rows of %d tokens do not fit", accum, B, T);
    m->R = B * T;
    m->W = (c->heads + 2 * c->kv_heads) * c->head_dim;
    m->calls = dtypes[c->dtype].calls;
    m->layer = calloc((size_t)c->layers, sizeof *m->layer);
    if (!m->layer) return error_set(err, "no memory for %d layers", c->layers);

    arena count = {.element = llama_element(c->dtype)};
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
    WB_CHECK(rope_table_f32(m->cis, c->context, c->head_dim, c->rope_base, m->stream));
    CUDA_CHECK(cudaStreamSynchronize(m->stream));
    return 0;
}

void llama_destroy(llama *m)
{
    if (!m->arena) return;
    CUDA_CHECK(cudaStreamSynchronize(m->stream));
    wb_blas_destroy(m->blas);
    CUDA_CHECK(cudaStreamDestroy(m->stream));
    CUDA_CHECK(cudaFree(m->arena));
    free(m->layer);
    *m = (llama){0};
}

/* --- first weights ------------------------------------------------------------------ */

// Normal numbers by Box and Muller; the counter says which weight, so a tensor's numbers
// do not depend on the others'.
static void fill_normal(float *out, size_t n, float deviation, uint64_t seed, uint32_t id)
{
    for (size_t i = 0; i < n; i += 4) {
        uint32_t r[4];
        wb_random(r, seed, (uint32_t)(i / 4), (uint32_t)(i >> 34), id, 0x1217);
        for (size_t k = 0; k < 4 && i + k < n; k++) {
            double u = (r[k & 2] + 0.5) * 0x1p-32,
                   angle = 2 * M_PI * r[(k & 2) + 1] * 0x1p-32;
            double radius = sqrt(-2 * log(u));
            out[i + k] = (float)(deviation * radius * (k & 1 ? sin(angle) : cos(angle)));
        }
    }
}

void llama_initialise(llama *m, uint64_t seed)
{
    int count;
    llama_tensor *all = llama_tensors(&m->config, &count);
    float *w = calloc(m->N, sizeof *w);
    if (!w) {
        fprintf(stderr, "no memory for %zu weights\n", m->N);
        exit(1);
    }
    for (int i = 0; i < count; i++) {
        llama_tensor *t = &all[i];
        if (t->cols)
            fill_normal(
                w + t->offset, t->rows * t->cols, t->deviation, seed, (uint32_t)i);
        else
            for (size_t k = 0; k < t->rows; k++)
                w[t->offset + k] = 1;
    }
    llama_set_weights(m, w);
    free(w);
    free(all);
}

void llama_set_weights(llama *m, const float *h_weights)
{
    CUDA_CHECK(cudaMemcpyAsync(
        m->master ? m->master : m->param, h_weights, m->N * sizeof(float),
        cudaMemcpyHostToDevice, m->stream));
    m->calls->cast(m);
    CUDA_CHECK(cudaStreamSynchronize(m->stream));
}

void llama_download(const llama *m, void *h, const void *device, size_t bytes)
{
    CUDA_CHECK(cudaMemcpyAsync(h, device, bytes, cudaMemcpyDeviceToHost, m->stream));
    CUDA_CHECK(cudaStreamSynchronize(m->stream));
}

void llama_upload(const llama *m, void *device, const void *h, size_t bytes)
{
    CUDA_CHECK(cudaMemcpyAsync(device, h, bytes, cudaMemcpyHostToDevice, m->stream));
    CUDA_CHECK(cudaStreamSynchronize(m->stream));
}
