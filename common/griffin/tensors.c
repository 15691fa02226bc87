/* tensors.c - see tensors.h. */
#include "tensors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A line of the tables below. fan: the letter of the size whose root divides the
// deviation; in lower case for the matrix that ends a branch of the residual stream.
typedef struct line {
    const char *name, *official;
    weight_slot slot;
    const char *letters;
    char fan;  // 0: starts as zeros; '*': on a ring
    griffin_official stored;
} line;

#define LINEAR(name, official, slot, letters, fan)                                       \
    {                                                                                    \
        name ".weight", official ".weight", slot, letters, fan, GRIFFIN_SAME             \
    }
#define SIZE(table) (int)(sizeof table / sizeof *table)

static const line embedding[] = {
    {"model.embed_tokens.weight", "embedder.input_embedding", WEIGHT_EMBEDDING, "VC", 'C',
     0},
    {"lm_head.weight", "", WEIGHT_HEAD, "VC", 'C', 0},
};
static const line norm1[] = {
    {"temporal_pre_norm.weight", "temporal_pre_norm.scale", WEIGHT_NORM1, "C", 0, 0},
};
#define HERE "temporal_block."
#define THERE "recurrent_block."
static const line recurrent[] = {
    LINEAR(HERE "linear_x", THERE "linear_x", WEIGHT_XY, "RC", 'C'),
    LINEAR(HERE "linear_y", THERE "linear_y", WEIGHT_XY, "RC", 'C'),
    {HERE "linear_x.bias", THERE "linear_x.bias", WEIGHT_XY_BIAS, "R", 0, 0},
    {HERE "linear_y.bias", THERE "linear_y.bias", WEIGHT_XY_BIAS, "R", 0, 0},
    {HERE "conv_1d.weight", THERE "conv_1d.w", WEIGHT_CONV, "R1W", 'W',
     GRIFFIN_WIDTH_FIRST},
    {HERE "conv_1d.bias", THERE "conv_1d.b", WEIGHT_CONV_BIAS, "R", 0, 0},
    {HERE "rg_lru.recurrent_param", THERE "rg_lru.a_param", WEIGHT_A_PARAM, "R", '*', 0},
    {HERE "rg_lru.input_gate_weight", THERE "rg_lru.input_gate.w", WEIGHT_GATE_X, "HMM",
     'M', 0},
    {HERE "rg_lru.input_gate_bias", THERE "rg_lru.input_gate.b", WEIGHT_GATE_X_BIAS, "HM",
     0, 0},
    {HERE "rg_lru.recurrent_gate_weight", THERE "rg_lru.a_gate.w", WEIGHT_GATE_A, "HMM",
     'M', 0},
    {HERE "rg_lru.recurrent_gate_bias", THERE "rg_lru.a_gate.b", WEIGHT_GATE_A_BIAS, "HM",
     0, 0},
    LINEAR(HERE "linear_out", THERE "linear_out", WEIGHT_OUT, "CR", 'r'),
    {HERE "linear_out.bias", THERE "linear_out.bias", WEIGHT_OUT_BIAS, "C", 0, 0},
};
#undef THERE
#define THERE "attention_block.proj_"
static const line attention[] = {
    LINEAR(HERE "q_proj", THERE "q", WEIGHT_QKV, "QC", 'C'),
    LINEAR(HERE "k_proj", THERE "k", WEIGHT_QKV, "KC", 'C'),
    LINEAR(HERE "v_proj", THERE "v", WEIGHT_QKV, "KC", 'C'),
    LINEAR(HERE "o_proj", THERE "final", WEIGHT_OUT, "CQ", 'q'),
    {HERE "o_proj.bias", THERE "final.bias", WEIGHT_OUT_BIAS, "C", 0, 0},
};
static const line mlp[] = {
    {"channel_pre_norm.weight", "channel_pre_norm.scale", WEIGHT_NORM2, "C", 0, 0},
    {"mlp_block.gate_proj.weight", "mlp_block.ffw_up.w", WEIGHT_GATE_UP, "EC", 'C',
     GRIFFIN_GATE},
    {"mlp_block.up_proj.weight", "mlp_block.ffw_up.w", WEIGHT_GATE_UP, "EC", 'C',
     GRIFFIN_UP},
    {"mlp_block.gate_proj.bias", "mlp_block.ffw_up.b", WEIGHT_GATE_UP_BIAS, "E", 0,
     GRIFFIN_GATE},
    {"mlp_block.up_proj.bias", "mlp_block.ffw_up.b", WEIGHT_GATE_UP_BIAS, "E", 0,
     GRIFFIN_UP},
    LINEAR("mlp_block.down_proj", "mlp_block.ffw_down", WEIGHT_DOWN, "CE", 'e'),
    {"mlp_block.down_proj.bias", "mlp_block.ffw_down.bias", WEIGHT_DOWN_BIAS, "C", 0, 0},
};
static const line norm[] = {
    {"model.final_norm.weight", "final_norm.scale", WEIGHT_FINAL_NORM, "C", 0, 0},
};

static size_t size_of(const model_shape *s, char letter)
{
    switch (letter) {
    case 'C':
        return (size_t)s->channels;
    case 'R':
        return (size_t)s->recurrent;
    case 'E':
        return (size_t)s->hidden;
    case 'V':
        return (size_t)s->vocab;
    case 'H':
        return (size_t)s->heads;
    case 'M':
        return (size_t)(s->recurrent / s->heads);
    case 'Q':
        return (size_t)s->heads * (size_t)s->head_dim;
    case 'K':
        return (size_t)s->kv_heads * (size_t)s->head_dim;
    case 'W':
        return (size_t)s->conv_width;
    default:
        return 1;
    }
}

int griffin_official_shape(
    griffin_official stored, int ndim, const size_t shape[3], size_t official[4])
{
    memcpy(official, shape, 3 * sizeof *shape);
    if (stored == GRIFFIN_SAME) return ndim;
    if (stored == GRIFFIN_WIDTH_FIRST)
        return official[0] = shape[2], official[1] = shape[0], 2;
    official[0] = 2;
    if (ndim == 2) return official[1] = shape[1], official[2] = shape[0], 3;
    return official[1] = official[2] = 1, official[3] = shape[0], 4;
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
static float deviation_of(const model_shape *s, char fan)
{
    if (fan == 'W') return (float)sqrt(0.01 / s->conv_width);
    if (fan < 'a') return (float)sqrt(1.0 / (double)size_of(s, fan));
    return (float)sqrt(2.0f / (float)s->layers / (float)size_of(s, (char)(fan - 32)));
}

static void
add(griffin_tensor *all, int *count, const model_shape *s, int layer, const line *lines,
    int n)
{
    for (int i = 0; i < n; i++) {
        const line *p = &lines[i];
        griffin_tensor *t = &all[(*count)++];
        *t = (griffin_tensor){
            .stored = p->stored, .slot = p->slot, .layer = layer, .count = 1};
        for (; p->letters[t->ndim]; t->ndim++)
            t->count *= t->shape[t->ndim] = size_of(s, p->letters[t->ndim]);
        strcpy(t->letters, p->letters);
        t->start = p->fan == '*' ? START_RING : p->fan ? START_NORMAL : START_ZEROS;
        if (t->start == START_NORMAL) t->deviation = deviation_of(s, p->fan);
        if (layer < 0) {
            strcpy(t->name, p->name);
            strcpy(t->official, p->official);
            continue;
        }
        snprintf(t->name, sizeof t->name, "model.layers.%d.%s", layer, p->name);
        snprintf(t->official, sizeof t->official, "blocks.%d.%s", layer, p->official);
    }
}

griffin_tensor *griffin_tensors(const model_shape *s, int *count)
{
    size_t most = SIZE(norm1) + SIZE(recurrent) + SIZE(mlp);
    griffin_tensor *all = malloc(((size_t)s->layers * most + 3) * sizeof *all);
    *count = 0;
    if (!all) return NULL;
    add(all, count, s, -1, embedding, s->tied ? 1 : 2);
    for (int i = 0; i < s->layers; i++) {
        add(all, count, s, i, norm1, 1);
        if (shape_is_recurrent(s, i))
            add(all, count, s, i, recurrent, SIZE(recurrent));
        else
            add(all, count, s, i, attention, SIZE(attention));
        add(all, count, s, i, mlp, SIZE(mlp));
    }
    add(all, count, s, -1, norm, 1);
    return all;
}
