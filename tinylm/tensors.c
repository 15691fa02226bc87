/* tensors.c - which weights each architecture has, their places, and what they start
 * from. */
#include "tensors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A line of the tables below. Tensors of one slot follow each other without a gap.
typedef struct piece {
    const char *name;
    weight_slot slot;
    bool decayed;
    weight_start start;
    float deviation;
    size_t shape[3];  // 0: no such dimension
} piece;

#define NORMAL true, START_NORMAL
#define ONES false, START_ONES, 0
#define SIZE(table) (int)(sizeof table / sizeof *table)

typedef struct list {
    model_tensor *all;
    int count;
    size_t padded;  // elements of the padded embedding table
} list;

static void no_memory(const model_config *c)
{
    fprintf(stderr, "no memory for the names of %d layers\n", c->shape.layers);
    exit(1);
}

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

static void llama_weights(list *l, const model_shape *s)
{
    size_t C = (size_t)s->channels, F = (size_t)s->hidden, V = (size_t)s->vocab;
    size_t HD = (size_t)s->heads * s->head_dim, KD = (size_t)s->kv_heads * s->head_dim;
    float std = 0.02f,
          last = std / sqrtf(2.0f * s->layers);  // of the matrix that ends a branch
    const piece first[] = {
        {"model.embed_tokens.weight", WEIGHT_EMBEDDING, NORMAL, std, {V, C}},
        {"lm_head.weight", WEIGHT_HEAD, NORMAL, std, {V, C}},
    };
    const piece layer[] = {
        {"self_attn.q_proj.weight", WEIGHT_QKV, NORMAL, std, {HD, C}},
        {"self_attn.k_proj.weight", WEIGHT_QKV, NORMAL, std, {KD, C}},
        {"self_attn.v_proj.weight", WEIGHT_QKV, NORMAL, std, {KD, C}},
        {"self_attn.o_proj.weight", WEIGHT_OUT, NORMAL, last, {C, HD}},
        {"mlp.gate_proj.weight", WEIGHT_GATE_UP, NORMAL, std, {F, C}},
        {"mlp.up_proj.weight", WEIGHT_GATE_UP, NORMAL, std, {F, C}},
        {"mlp.down_proj.weight", WEIGHT_DOWN, NORMAL, last, {C, F}},
        {"input_layernorm.weight", WEIGHT_NORM1, ONES, {C}},
        {"post_attention_layernorm.weight", WEIGHT_NORM2, ONES, {C}},
    };
    const piece norm = {"model.norm.weight", WEIGHT_FINAL_NORM, ONES, {C}};
    add(l, -1, first, s->tied ? 1 : 2);
    for (int i = 0; i < s->layers; i++)
        add(l, i, layer, SIZE(layer));
    add(l, -1, &norm, 1);
}

/* --- griffin ------------------------------------------------------------------------ */

// Weight decay is for matrices; the filters of the convolution are not matrices.
static void griffin_weights(list *l, const model_config *c)
{
    int count;
    griffin_tensor *all = griffin_tensors(&c->shape, &count);
    if (!all) no_memory(c);
    for (int i = 0; i < count; i++) {
        const griffin_tensor *from = &all[i];
        model_tensor t = {
            .count = from->count,
            .ndim = from->ndim,
            .stored = from->stored,
            .decayed = from->start == START_NORMAL && from->slot != WEIGHT_CONV,
            .start = from->start,
            .deviation = from->deviation,
            .layer = from->layer,
            .slot = from->slot};
        memcpy(t.name, from->name, sizeof t.name);
        memcpy(t.official, from->official, sizeof t.official);
        memcpy(t.shape, from->shape, sizeof t.shape);
        t.room = t.layer < 0 && t.ndim == 2 ? l->padded : t.count;
        l->all[l->count++] = t;
    }
    free(all);
}

/* --- the flat buffers --------------------------------------------------------------- */

enum { MAX_PER_LAYER = 24 };

static size_t align_up(size_t n)
{
    return (n + ALIGN_ELEMENTS - 1) / ALIGN_ELEMENTS * ALIGN_ELEMENTS;
}

// Called first for the tensors with weight decay, which become one range; returns its
// end.
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

model_tensor *
model_tensors(const model_config *c, int *count, size_t *parameters, size_t *decayed)
{
    const model_shape *s = &c->shape;
    list l = {.padded = (size_t)shape_padded_vocab(s) * (size_t)s->channels};
    l.all = malloc(((size_t)s->layers * MAX_PER_LAYER + 3) * sizeof *l.all);
    if (!l.all) no_memory(c);
    if (c->arch == MODEL_GRIFFIN)
        griffin_weights(&l, c);
    else
        llama_weights(&l, s);
    size_t matrices = place(&l, true, 0), all = place(&l, false, matrices);
    if (decayed) *decayed = matrices;
    if (parameters) *parameters = all;
    *count = l.count;
    return l.all;
}

size_t model_elements(const model_config *c)
{
    int count;
    size_t elements = 0;
    model_tensor *all = model_tensors(c, &count, NULL, NULL);
    for (int i = 0; i < count; i++)
        elements += all[i].count;
    free(all);
    return elements;
}
