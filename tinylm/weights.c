/* weights.c - which weights each architecture has, where they lie, how they start. */
#include "model.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

// One line of the tables below. Lines of one slot lie behind one another without a gap.
typedef struct piece {
    const char *name;
    size_t slot;
    bool decayed;
    model_start start;
    float deviation;
    size_t shape[3];  // 0: no such dimension
} piece;

#define OF(field) offsetof(model_layer, field)
#define ENDS(field) offsetof(model, field)
#define NORMAL true, START_NORMAL
#define ZEROS false, START_ZEROS, 0
#define ONES false, START_ONES, 0
#define SIZE(table) (int)(sizeof table / sizeof *table)

typedef struct list {
    model_tensor *all;
    int count;
    size_t padded;  // elements of the table of the vocabulary
} list;

static void add(list *l, int layer, const piece *pieces, int n)
{
    for (int i = 0; i < n; i++) {
        const piece *p = &pieces[i];
        model_tensor t = {
            .count = 1,
            .decayed = p->decayed,
            .start = p->start,
            .deviation = p->deviation,
            .layer = layer,
            .slot = p->slot};
        for (; t.ndim < 3 && p->shape[t.ndim]; t.ndim++)
            t.count *= t.shape[t.ndim] = p->shape[t.ndim];
        t.room = layer < 0 && t.ndim == 2 ? l->padded : t.count;
        if (layer < 0)
            snprintf(t.name, sizeof t.name, "%s", p->name);
        else
            snprintf(t.name, sizeof t.name, "model.layers.%d.%s", layer, p->name);
        l->all[l->count++] = t;
    }
}

/* --- llama -------------------------------------------------------------------------- */

static void llama_weights(list *l, const model_config *c)
{
    size_t C = (size_t)c->channels, F = (size_t)c->hidden, V = (size_t)c->vocab;
    size_t HD = (size_t)c->heads * c->head_dim, KD = (size_t)c->kv_heads * c->head_dim;
    float std = 0.02f, last = std / sqrtf(2.0f * c->layers);  // of what ends a branch
    const piece first[] = {
        {"model.embed_tokens.weight", ENDS(emb), NORMAL, std, {V, C}},
        {"lm_head.weight", ENDS(head), NORMAL, std, {V, C}},
    };
    const piece layer[] = {
        {"self_attn.q_proj.weight", OF(wqkv), NORMAL, std, {HD, C}},
        {"self_attn.k_proj.weight", OF(wqkv), NORMAL, std, {KD, C}},
        {"self_attn.v_proj.weight", OF(wqkv), NORMAL, std, {KD, C}},
        {"self_attn.o_proj.weight", OF(wo), NORMAL, last, {C, HD}},
        {"mlp.gate_proj.weight", OF(wgu), NORMAL, std, {F, C}},
        {"mlp.up_proj.weight", OF(wgu), NORMAL, std, {F, C}},
        {"mlp.down_proj.weight", OF(wd), NORMAL, last, {C, F}},
        {"input_layernorm.weight", OF(n1), ONES, {C}},
        {"post_attention_layernorm.weight", OF(n2), ONES, {C}},
    };
    const piece norm = {"model.norm.weight", ENDS(nf), ONES, {C}};
    add(l, -1, first, c->tied ? 1 : 2);
    for (int i = 0; i < c->layers; i++)
        add(l, i, layer, SIZE(layer));
    add(l, -1, &norm, 1);
}

/* --- griffin ------------------------------------------------------------------------ */

static float root(double x)
{
    return (float)sqrt(x);
}

static void griffin_weights(list *l, const model_config *c)
{
    size_t C = (size_t)c->channels, F = (size_t)c->hidden, V = (size_t)c->vocab;
    size_t HD = (size_t)c->heads * c->head_dim, KD = (size_t)c->kv_heads * c->head_dim;
    size_t Cr = (size_t)c->recurrent, H = (size_t)c->heads, M = Cr / H;
    size_t taps = (size_t)c->taps;
    float in = root(1.0 / C),
          branch = 2.0f / c->layers;  // variance of what ends a branch
    const piece embedding = {"model.embed_tokens.weight", ENDS(emb), NORMAL, in, {V, C}};
    const piece norm1 = {"temporal_pre_norm.weight", OF(n1), ZEROS, {C}};
    const piece recurrent[] = {
        {"temporal_block.linear_x.weight", OF(wxy), NORMAL, in, {Cr, C}},
        {"temporal_block.linear_y.weight", OF(wxy), NORMAL, in, {Cr, C}},
        {"temporal_block.linear_x.bias", OF(bxy), ZEROS, {Cr}},
        {"temporal_block.linear_y.bias", OF(bxy), ZEROS, {Cr}},
        {"temporal_block.conv_1d.weight",
         OF(cw),
         false,
         START_NORMAL,
         root(0.01 / taps),
         {Cr, 1, taps}},
        {"temporal_block.conv_1d.bias", OF(cb), ZEROS, {Cr}},
        {"temporal_block.rg_lru.recurrent_param", OF(ap), false, START_RING, 0, {Cr}},
        {"temporal_block.rg_lru.input_gate_weight",
         OF(wx),
         NORMAL,
         root(1.0 / M),
         {H, M, M}},
        {"temporal_block.rg_lru.input_gate_bias", OF(bx), ZEROS, {H, M}},
        {"temporal_block.rg_lru.recurrent_gate_weight",
         OF(wa),
         NORMAL,
         root(1.0 / M),
         {H, M, M}},
        {"temporal_block.rg_lru.recurrent_gate_bias", OF(ba), ZEROS, {H, M}},
        {"temporal_block.linear_out.weight", OF(wo), NORMAL, root(branch / Cr), {C, Cr}},
        {"temporal_block.linear_out.bias", OF(bo), ZEROS, {C}},
    };
    const piece attention[] = {
        {"temporal_block.q_proj.weight", OF(wqkv), NORMAL, in, {HD, C}},
        {"temporal_block.k_proj.weight", OF(wqkv), NORMAL, in, {KD, C}},
        {"temporal_block.v_proj.weight", OF(wqkv), NORMAL, in, {KD, C}},
        {"temporal_block.o_proj.weight", OF(wo), NORMAL, root(branch / HD), {C, HD}},
        {"temporal_block.o_proj.bias", OF(bo), ZEROS, {C}},
    };
    const piece mlp[] = {
        {"channel_pre_norm.weight", OF(n2), ZEROS, {C}},
        {"mlp_block.gate_proj.weight", OF(wgu), NORMAL, in, {F, C}},
        {"mlp_block.up_proj.weight", OF(wgu), NORMAL, in, {F, C}},
        {"mlp_block.gate_proj.bias", OF(bgu), ZEROS, {F}},
        {"mlp_block.up_proj.bias", OF(bgu), ZEROS, {F}},
        {"mlp_block.down_proj.weight", OF(wd), NORMAL, root(branch / F), {C, F}},
        {"mlp_block.down_proj.bias", OF(bd), ZEROS, {C}},
    };
    const piece norm = {"model.final_norm.weight", ENDS(nf), ZEROS, {C}};
    add(l, -1, &embedding, 1);
    for (int i = 0; i < c->layers; i++) {
        add(l, i, &norm1, 1);
        if (model_is_recurrent(c, i))
            add(l, i, recurrent, SIZE(recurrent));
        else
            add(l, i, attention, SIZE(attention));
        add(l, i, mlp, SIZE(mlp));
    }
    add(l, -1, &norm, 1);
}

/* --- the flat buffers --------------------------------------------------------------- */

enum { MOST_PER_LAYER = 24, ALIGN_ELEMENTS = 64 };  // of 128 or 256 bytes

static size_t align_up(size_t n)
{
    return (n + ALIGN_ELEMENTS - 1) / ALIGN_ELEMENTS * ALIGN_ELEMENTS;
}

// All with weight decay first, so that it is one range; returns where the range ends.
static size_t place(list *l, bool decayed, size_t at)
{
    const model_tensor *before = NULL;
    for (int i = 0; i < l->count; i++) {
        model_tensor *t = &l->all[i];
        if (t->decayed != decayed) continue;
        bool packed = before && before->layer == t->layer && before->slot == t->slot;
        if (!packed) at = align_up(at);
        t->offset = at;
        at += t->room;
        before = t;
    }
    return align_up(at);
}

model_tensor *model_tensors(const model_config *c, int *count, size_t *N, size_t *decayed)
{
    list l = {.padded = align_up((size_t)c->vocab) * (size_t)c->channels};
    l.all = malloc(((size_t)c->layers * MOST_PER_LAYER + 3) * sizeof *l.all);
    if (!l.all) {
        fprintf(stderr, "no memory for the names of %d layers\n", c->layers);
        exit(1);
    }
    if (c->arch == MODEL_GRIFFIN)
        griffin_weights(&l, c);
    else
        llama_weights(&l, c);
    size_t matrices = place(&l, true, 0), all = place(&l, false, matrices);
    if (decayed) *decayed = matrices;
    if (N) *N = all;
    *count = l.count;
    return l.all;
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

// a_param such that a = r at a recurrence gate of 1/8, r^2 uniform: points of a ring in
// the complex plane between the radii 0.9 and 0.999, of which the real model keeps r.
static void fill_ring(float *out, size_t n, uint64_t seed, uint32_t id)
{
    const double inner = 0.9 * 0.9 + 1e-8, outer = 0.999 * 0.999 + 1e-8;
    for (size_t i = 0; i < n; i++) {
        uint32_t r[4];
        wb_random(r, seed, (uint32_t)i, 0, id, 0x1217);
        double u = (r[0] + 0.5) * 0x1p-32;
        out[i] = (float)log(1 / sqrt(inner + (outer - inner) * u) - 1);
    }
}

void model_initialise(model *m, uint64_t seed)
{
    int count;
    model_tensor *all = model_tensors(&m->config, &count, NULL, NULL);
    float *w = calloc(m->N, sizeof *w);
    if (!w) {
        fprintf(stderr, "no memory for %zu weights\n", m->N);
        exit(1);
    }
    for (int i = 0; i < count; i++) {
        model_tensor *t = &all[i];
        float *out = w + t->offset;
        if (t->start == START_NORMAL)
            fill_normal(out, t->count, t->deviation, seed, (uint32_t)i);
        if (t->start == START_RING) fill_ring(out, t->count, seed, (uint32_t)i);
        for (size_t k = 0; t->start == START_ONES && k < t->count; k++)
            out[k] = 1;
    }
    model_set_weights(m, w);
    free(w);
    free(all);
}
