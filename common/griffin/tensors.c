/* tensors.c - see tensors.h. */
#include "tensors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// One line of the tables below. fan: the letter of the size whose root divides the deviation;
// in small letters where the product ends a branch of the residual stream.
typedef struct line {
    const char *name, *official;
    griffin_slot slot;
    const char *letters;
    char fan;  // 0: starts as zeros; '*': as a ring
    griffin_official stored;
} line;

#define LINEAR(name, official, slot, letters, fan)                                       \
    {                                                                                    \
        name ".weight", official ".weight", slot, letters, fan, GRIFFIN_SAME                  \
    }
#define SIZE(table) (int)(sizeof table / sizeof *table)

static const line embedding[] = {
    {"model.embed_tokens.weight", "embedder.input_embedding", GRIFFIN_EMB, "VC", 'C', 0},
    {"lm_head.weight", "", GRIFFIN_HEAD, "VC", 'C', 0},
};
static const line norm1[] = {
    {"temporal_pre_norm.weight", "temporal_pre_norm.scale", GRIFFIN_N1, "C", 0, 0},
};
#define HERE "temporal_block."
#define THERE "recurrent_block."
static const line recurrent[] = {
    LINEAR(HERE "linear_x", THERE "linear_x", GRIFFIN_WXY, "RC", 'C'),
    LINEAR(HERE "linear_y", THERE "linear_y", GRIFFIN_WXY, "RC", 'C'),
    {HERE "linear_x.bias", THERE "linear_x.bias", GRIFFIN_BXY, "R", 0, 0},
    {HERE "linear_y.bias", THERE "linear_y.bias", GRIFFIN_BXY, "R", 0, 0},
    {HERE "conv_1d.weight", THERE "conv_1d.w", GRIFFIN_CW, "R1W", 'W', GRIFFIN_TAPS_FIRST},
    {HERE "conv_1d.bias", THERE "conv_1d.b", GRIFFIN_CB, "R", 0, 0},
    {HERE "rg_lru.recurrent_param", THERE "rg_lru.a_param", GRIFFIN_AP, "R", '*', 0},
    {HERE "rg_lru.input_gate_weight", THERE "rg_lru.input_gate.w", GRIFFIN_WX, "HMM", 'M', 0},
    {HERE "rg_lru.input_gate_bias", THERE "rg_lru.input_gate.b", GRIFFIN_BX, "HM", 0, 0},
    {HERE "rg_lru.recurrent_gate_weight", THERE "rg_lru.a_gate.w", GRIFFIN_WA, "HMM", 'M', 0},
    {HERE "rg_lru.recurrent_gate_bias", THERE "rg_lru.a_gate.b", GRIFFIN_BA, "HM", 0, 0},
    LINEAR(HERE "linear_out", THERE "linear_out", GRIFFIN_WO, "CR", 'r'),
    {HERE "linear_out.bias", THERE "linear_out.bias", GRIFFIN_BO, "C", 0, 0},
};
#undef THERE
#define THERE "attention_block.proj_"
static const line attention[] = {
    LINEAR(HERE "q_proj", THERE "q", GRIFFIN_WQKV, "QC", 'C'),
    LINEAR(HERE "k_proj", THERE "k", GRIFFIN_WQKV, "KC", 'C'),
    LINEAR(HERE "v_proj", THERE "v", GRIFFIN_WQKV, "KC", 'C'),
    LINEAR(HERE "o_proj", THERE "final", GRIFFIN_WO, "CQ", 'q'),
    {HERE "o_proj.bias", THERE "final.bias", GRIFFIN_BO, "C", 0, 0},
};
static const line mlp[] = {
    {"channel_pre_norm.weight", "channel_pre_norm.scale", GRIFFIN_N2, "C", 0, 0},
    {"mlp_block.gate_proj.weight", "mlp_block.ffw_up.w", GRIFFIN_WGU, "EC", 'C', GRIFFIN_GATE},
    {"mlp_block.up_proj.weight", "mlp_block.ffw_up.w", GRIFFIN_WGU, "EC", 'C', GRIFFIN_UP},
    {"mlp_block.gate_proj.bias", "mlp_block.ffw_up.b", GRIFFIN_BGU, "E", 0, GRIFFIN_GATE},
    {"mlp_block.up_proj.bias", "mlp_block.ffw_up.b", GRIFFIN_BGU, "E", 0, GRIFFIN_UP},
    LINEAR("mlp_block.down_proj", "mlp_block.ffw_down", GRIFFIN_WD, "CE", 'e'),
    {"mlp_block.down_proj.bias", "mlp_block.ffw_down.bias", GRIFFIN_BD, "C", 0, 0},
};
static const line norm[] = {
    {"model.final_norm.weight", "final_norm.scale", GRIFFIN_NF, "C", 0, 0},
};

static size_t size_of(const griffin_config *c, char letter)
{
    switch (letter) {
    case 'C':
        return (size_t)c->channels;
    case 'R':
        return (size_t)c->recurrent;
    case 'E':
        return (size_t)c->hidden;
    case 'V':
        return (size_t)c->vocab;
    case 'H':
        return (size_t)c->heads;
    case 'M':
        return (size_t)(c->recurrent / c->heads);
    case 'Q':
        return (size_t)c->heads * (size_t)c->head_dim;
    case 'K':
        return (size_t)c->kv_heads * (size_t)c->head_dim;
    case 'W':
        return (size_t)c->taps;
    default:
        return 1;
    }
}

const char *griffin_letter_key(char letter)
{
    switch (letter) {
    case 'C':
        return "hidden_size";
    case 'R':
        return "lru_width";
    case 'E':
        return "half of intermediate_size";
    case 'V':
        return "vocab_size";
    case 'H':
        return "num_attention_heads";
    case 'M':
        return "lru_width / num_attention_heads";
    case 'Q':
        return "num_attention_heads * head_dim";
    case 'K':
        return "num_key_value_heads * head_dim";
    case 'W':
        return "conv1d_width";
    default:
        return "1";
    }
}

// The official initialisation: variance 1/fan, times 2/L where a branch ends.
static float deviation_of(const griffin_config *c, char fan)
{
    if (fan == 'W') return (float)sqrt(0.01 / c->taps);
    if (fan < 'a') return (float)sqrt(1.0 / (double)size_of(c, fan));
    return (float)sqrt(2.0f / (float)c->layers / (float)size_of(c, (char)(fan - 32)));
}

static void
add(griffin_tensor *all, int *count, const griffin_config *c, int layer, const line *lines, int n)
{
    for (int i = 0; i < n; i++) {
        const line *p = &lines[i];
        griffin_tensor *t = &all[(*count)++];
        *t =
            (griffin_tensor){.stored = p->stored, .slot = p->slot, .layer = layer, .count = 1};
        for (; p->letters[t->ndim]; t->ndim++)
            t->count *= t->shape[t->ndim] = size_of(c, p->letters[t->ndim]);
        strcpy(t->letters, p->letters);
        t->start = p->fan == '*' ? GRIFFIN_RING : p->fan ? GRIFFIN_NORMAL : GRIFFIN_ZEROS;
        if (t->start == GRIFFIN_NORMAL) t->deviation = deviation_of(c, p->fan);
        if (layer < 0) {
            strcpy(t->name, p->name);
            strcpy(t->official, p->official);
            continue;
        }
        snprintf(t->name, sizeof t->name, "model.layers.%d.%s", layer, p->name);
        snprintf(t->official, sizeof t->official, "blocks.%d.%s", layer, p->official);
    }
}

griffin_tensor *griffin_tensors(const griffin_config *c, int *count)
{
    size_t most = SIZE(norm1) + SIZE(recurrent) + SIZE(mlp);
    griffin_tensor *all = malloc(((size_t)c->layers * most + 3) * sizeof *all);
    *count = 0;
    if (!all) return NULL;
    add(all, count, c, -1, embedding, c->tied ? 1 : 2);
    for (int i = 0; i < c->layers; i++) {
        add(all, count, c, i, norm1, 1);
        if (griffin_is_recurrent(c, i))
            add(all, count, c, i, recurrent, SIZE(recurrent));
        else
            add(all, count, c, i, attention, SIZE(attention));
        add(all, count, c, i, mlp, SIZE(mlp));
    }
    add(all, count, c, -1, norm, 1);
    return all;
}
