/* config.c - see config.h. */
#include "config.h"
#include "cast.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool griffin_is_recurrent(const griffin_config *c, int layer)
{
    return c->blocks[(size_t)layer % strlen(c->blocks)] == 'r';
}

float griffin_embedding_scale(int channels)
{
    return wb_from_bf16(wb_to_bf16(sqrtf((float)channels)));
}

/* --- which sizes make a model ------------------------------------------------------- */

static int check_heads(const griffin_config *c, wb_error *err)
{
    if (c->kv_heads < 1 || c->heads % c->kv_heads)
        return error_set(
            err, "%d key/value heads do not divide %d heads", c->kv_heads, c->heads);
    if (c->head_dim < 2 || c->head_dim % 2 || c->head_dim > 256)
        return error_set(
            err, "a head of %d channels (channels / heads): an even number up to 256",
            c->head_dim);
    if (c->rotated < 0 || c->rotated % 2 || c->rotated > c->head_dim)
        return error_set(
            err, "RoPE turns %d of a head's %d channels: an even number of them",
            c->rotated, c->head_dim);
    return 0;
}

static int check_blocks(const griffin_config *c, wb_error *err)
{
    size_t kinds = strlen(c->blocks);
    if (kinds == 0 || strspn(c->blocks, "ra") != kinds)
        return error_set(
            err, "layers '%s': say r (recurrent) and a (attention), as in rra",
            c->blocks);
    if (c->recurrent < 1 || c->recurrent % c->heads || c->recurrent / c->heads > 512)
        return error_set(
            err, "%d recurrent channels do not make %d gate blocks of at most 512",
            c->recurrent, c->heads);
    if (c->taps < 2 || c->taps > 8)
        return error_set(err, "a convolution of %d taps: 2 to 8 are possible", c->taps);
    if (c->window < 0 || (c->hf_window && c->window < 1))
        return error_set(
            err, "a window of %d tokens: %d or more", c->window, c->hf_window);
    return 0;
}

int griffin_config_check(const griffin_config *c, wb_error *err)
{
    if (c->layers < 1 || c->channels < 1 || c->heads < 1 || c->hidden < 1 || c->vocab < 1)
        return error_set(
            err,
            "the model has %d layers, %d channels, %d heads, %d hidden, a vocabulary of "
            "%d: each must be at least 1",
            c->layers, c->channels, c->heads, c->hidden, c->vocab);
    if (check_heads(c, err) || check_blocks(c, err)) return -1;
    if (!(c->eps > 0) || !(c->rope_base > 1))
        return error_set(
            err, "rms_norm_eps %g must be above 0 and rope_theta %g above 1", c->eps,
            c->rope_base);
    if (!(c->softcap >= 0))
        return error_set(err, "a soft cap of %g: 0 (none) or above", c->softcap);
    // What is counted in int: a row of each product, and the elements of a matrix.
    double widest = fmax(2.0 * c->hidden, (c->heads + 2.0 * c->kv_heads) * c->head_dim);
    widest = fmax(widest, fmax(c->vocab + 64.0, 2.0 * c->recurrent));
    if (widest * c->channels > 2e9 || c->layers > 10000)
        return error_set(
            err,
            "the model is too large: %d layers (10000 at most), a matrix of %.3g "
            "elements (2e9 at most)",
            c->layers, widest * c->channels);
    return 0;
}

/* --- writing ------------------------------------------------------------------------ */

double griffin_decimal(float x)
{
    char text[32];
    snprintf(text, sizeof text, "%.7g", (double)x);
    return strtod(text, NULL);
}

// What is not there is null.
static json_t *unless(int number, int none)
{
    return number == none ? json_null() : json_integer(number);
}

static json_t *ids(const int *id, int count)
{
    if (count < 2) return unless(count ? *id : -1, -1);
    json_t *list = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(list, json_integer(id[i]));
    return list;
}

// Older versions of transformers read rope_theta and partial_rotary_factor at the top, newer
// ones in rope_parameters. intermediate_size is twice the width of the MLP there.
json_t *griffin_config_to_json(const griffin_config *c, const char *dtype)
{
    double part = (double)c->rotated / c->head_dim;
    json_t *rope = json_pack(
        "{s:f, s:s, s:f}", "rope_theta", griffin_decimal(c->rope_base), "rope_type", "default",
        "partial_rotary_factor", part);
    json_t *blocks = json_array();
    for (const char *b = c->blocks; *b; b++)
        json_array_append_new(blocks, json_string(*b == 'r' ? "recurrent" : "attention"));
    json_t *root = json_pack(
        "{s:[s], s:s, s:s, s:s, s:b, s:f, s:i, s:o, s:o, s:i, s:o, s:f, s:i, s:s, s:i, "
        "s:i, s:f, s:i, s:o, s:i, s:i, s:i, s:o, s:f, s:f, s:f, s:o, s:b, s:i, s:b, s:f}",
        "architectures", "RecurrentGemmaForCausalLM", "model_type", "recurrent_gemma",
        "torch_dtype", dtype, "dtype", dtype, "attention_bias", 0, "attention_dropout",
        0.0, "attention_window_size", c->window, "block_types", blocks, "bos_token_id",
        unless(c->bos, -1), "conv1d_width", c->taps, "eos_token_id",
        ids(c->eos, c->eos_count), "final_w_init_variance_scale", 2.0 / c->layers,
        "head_dim", c->head_dim, "hidden_activation", "gelu_pytorch_tanh", "hidden_size",
        c->channels, "intermediate_size", 2 * c->hidden, "logits_soft_cap",
        griffin_decimal(c->softcap), "lru_width", c->recurrent, "max_position_embeddings",
        unless(c->context, 0), "num_attention_heads", c->heads, "num_hidden_layers",
        c->layers, "num_key_value_heads", c->kv_heads, "pad_token_id", unless(c->pad, -1),
        "partial_rotary_factor", part, "rms_norm_eps", griffin_decimal(c->eps), "rope_theta",
        griffin_decimal(c->rope_base), "rope_parameters", rope, "tie_word_embeddings", c->tied,
        "vocab_size", c->vocab, "use_cache", 1, "w_init_variance_scale", 0.01);
    // ours: trained with one token less in the window, as transformers computes it
    if (c->hf_window) json_object_set_new(root, "hf_window", json_true());
    if (!c->scaled)
        json_object_set_new(root, "embeddings_scale_by_sqrt_dim", json_false());
    return root;
}
