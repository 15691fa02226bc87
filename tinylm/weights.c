/* weights.c - which weights each architecture has, where they lie, how they start. */
#include "config_json.h"
#include "draw.h"
#include "model.h"
#include "griffin/tensors.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
#define ONES false, START_ONES, 0
#define SIZE(table) (int)(sizeof table / sizeof *table)

typedef struct list {
    model_tensor *all;
    int count;
    size_t padded;  // elements of the table of the vocabulary
} list;

static void no_memory(const model_config *c)
{
    fprintf(stderr, "no memory for the names of %d layers\n", c->layers);
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

static size_t slot_offset(griffin_slot slot)
{
    static const size_t at[GRIFFIN_SLOTS] = {
        [GRIFFIN_EMB] = ENDS(emb), [GRIFFIN_HEAD] = ENDS(head), [GRIFFIN_NF] = ENDS(nf),
        [GRIFFIN_N1] = OF(n1),     [GRIFFIN_N2] = OF(n2),       [GRIFFIN_WGU] = OF(wgu),
        [GRIFFIN_BGU] = OF(bgu),   [GRIFFIN_WD] = OF(wd),       [GRIFFIN_BD] = OF(bd),
        [GRIFFIN_WO] = OF(wo),     [GRIFFIN_BO] = OF(bo),       [GRIFFIN_WQKV] = OF(wqkv),
        [GRIFFIN_WXY] = OF(wxy),   [GRIFFIN_BXY] = OF(bxy),     [GRIFFIN_CW] = OF(cw),
        [GRIFFIN_CB] = OF(cb),     [GRIFFIN_WX] = OF(wx),       [GRIFFIN_BX] = OF(bx),
        [GRIFFIN_WA] = OF(wa),     [GRIFFIN_BA] = OF(ba),       [GRIFFIN_AP] = OF(ap)};
    return at[slot];
}

// Matrices decay; the filters of the convolution are none.
static void griffin_weights(list *l, const model_config *c)
{
    static const model_start starts[] = {
        [GRIFFIN_ZEROS] = START_ZEROS, [GRIFFIN_NORMAL] = START_NORMAL, [GRIFFIN_RING] = START_RING};
    griffin_config g = config_griffin(c);
    int count;
    griffin_tensor *all = griffin_tensors(&g, &count);
    if (!all) no_memory(c);
    for (int i = 0; i < count; i++) {
        const griffin_tensor *s = &all[i];
        model_tensor t = {
            .count = s->count,
            .ndim = s->ndim,
            .decayed = s->start == GRIFFIN_NORMAL && s->slot != GRIFFIN_CW,
            .start = starts[s->start],
            .deviation = s->deviation,
            .layer = s->layer,
            .slot = slot_offset(s->slot)};
        memcpy(t.name, s->name, sizeof t.name);
        memcpy(t.shape, s->shape, sizeof t.shape);
        t.room = t.layer < 0 && t.ndim == 2 ? l->padded : t.count;
        l->all[l->count++] = t;
    }
    free(all);
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
    if (!l.all) no_memory(c);
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
            draw_normal(out, 0, t->count, t->deviation, seed, (uint32_t)i);
        if (t->start == START_RING) draw_ring(out, 0, t->count, seed, (uint32_t)i);
        for (size_t k = 0; t->start == START_ONES && k < t->count; k++)
            out[k] = 1;
    }
    model_set_weights(m, w);
    free(w);
    free(all);
}
