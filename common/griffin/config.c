/* config.c - see config.h. */
#include "config.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- which sizes are valid ---------------------------------------------------------- */

static int check_heads(const model_shape *s, wb_error *err)
{
    if (s->kv_heads < 1 || s->heads % s->kv_heads)
        return error_set(
            err, "%d key/value heads do not divide %d heads", s->kv_heads, s->heads);
    if (s->head_dim < 2 || s->head_dim % 2 || s->head_dim > 256)
        return error_set(
            err,
            "a head of %d channels (channels / heads): give an even number up to 256",
            s->head_dim);
    if (s->rotated < 0 || s->rotated % 2 || s->rotated > s->head_dim)
        return error_set(
            err, "RoPE rotates %d of a head's %d channels: give an even number, no more",
            s->rotated, s->head_dim);
    return 0;
}

static int check_blocks(const model_shape *s, wb_error *err)
{
    size_t kinds = strlen(s->blocks);
    if (kinds == 0 || strspn(s->blocks, "ra") != kinds)
        return error_set(
            err, "layers '%s': give r (recurrent) and a (attention), as in rra",
            s->blocks);
    if (s->recurrent < 1 || s->recurrent % s->heads || s->recurrent / s->heads > 512)
        return error_set(
            err, "%d recurrent channels do not make %d gate blocks of at most 512",
            s->recurrent, s->heads);
    if (s->conv_width < 2 || s->conv_width > 8)
        return error_set(err, "a convolution of width %d: give 2 to 8", s->conv_width);
    if (s->window < 0 || (s->hf_window && s->window < 1))
        return error_set(
            err, "a window of %d tokens: give %d or more", s->window, s->hf_window);
    return 0;
}

int griffin_check(const model_shape *s, wb_error *err)
{
    if (s->layers < 1 || s->channels < 1 || s->heads < 1 || s->hidden < 1 || s->vocab < 1)
        return error_set(
            err,
            "the model has %d layers, %d channels, %d heads, %d hidden, a vocabulary of "
            "%d: each must be at least 1",
            s->layers, s->channels, s->heads, s->hidden, s->vocab);
    if (check_heads(s, err) || check_blocks(s, err)) return -1;
    if (!(s->eps > 0) || !(s->rope_base > 1))
        return error_set(
            err, "rms_norm_eps %g must be above 0 and rope_theta %g above 1", s->eps,
            s->rope_base);
    if (!(s->softcap >= 0))
        return error_set(err, "a soft cap of %g: give 0 (none) or more", s->softcap);
    // Counted in int: a row of each GEMM, and the elements of a matrix.
    double widest = fmax(2.0 * s->hidden, (s->heads + 2.0 * s->kv_heads) * s->head_dim);
    widest = fmax(widest, fmax(s->vocab + 64.0, 2.0 * s->recurrent));
    if (widest * s->channels > 2e9 || s->layers > 10000)
        return error_set(
            err,
            "the model is too large: %d layers (10000 at most), a matrix of %.3g "
            "elements (2e9 at most)",
            s->layers, widest * s->channels);
    return 0;
}

/* --- writing ------------------------------------------------------------------------ */

double griffin_decimal(float x)
{
    char text[32];
    snprintf(text, sizeof text, "%.7g", (double)x);
    return strtod(text, NULL);
}

// What is not set is null.
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

// Older versions of transformers read rope_theta and partial_rotary_factor at the top,
// newer ones in rope_parameters. intermediate_size is twice the width of the MLP there.
json_t *griffin_config_to_json(const griffin_config *c, const char *dtype)
{
    const model_shape *s = &c->shape;
    double part = (double)s->rotated / s->head_dim;
    json_t *rope = json_pack(
        "{s:f, s:s, s:f}", "rope_theta", griffin_decimal(s->rope_base), "rope_type",
        "default", "partial_rotary_factor", part);
    json_t *blocks = json_array();
    for (const char *b = s->blocks; *b; b++)
        json_array_append_new(blocks, json_string(*b == 'r' ? "recurrent" : "attention"));
    json_t *root = json_pack(
        "{s:[s], s:s, s:s, s:s, s:b, s:f, s:i, s:o, s:o, s:i, s:o, s:f, s:i, s:s, s:i, "
        "s:i, s:f, s:i, s:o, s:i, s:i, s:i, s:o, s:f, s:f, s:f, s:o, s:b, s:i, s:b, s:f}",
        "architectures", "RecurrentGemmaForCausalLM", "model_type", "recurrent_gemma",
        "torch_dtype", dtype, "dtype", dtype, "attention_bias", 0, "attention_dropout",
        0.0, "attention_window_size", s->window, "block_types", blocks, "bos_token_id",
        unless(c->bos, -1), "conv1d_width", s->conv_width, "eos_token_id",
        ids(c->eos.id, c->eos.count), "final_w_init_variance_scale", 2.0 / s->layers,
        "head_dim", s->head_dim, "hidden_activation", "gelu_pytorch_tanh", "hidden_size",
        s->channels, "intermediate_size", 2 * s->hidden, "logits_soft_cap",
        griffin_decimal(s->softcap), "lru_width", s->recurrent, "max_position_embeddings",
        unless(s->context, 0), "num_attention_heads", s->heads, "num_hidden_layers",
        s->layers, "num_key_value_heads", s->kv_heads, "pad_token_id", unless(c->pad, -1),
        "partial_rotary_factor", part, "rms_norm_eps", griffin_decimal(s->eps),
        "rope_theta", griffin_decimal(s->rope_base), "rope_parameters", rope,
        "tie_word_embeddings", s->tied, "vocab_size", s->vocab, "use_cache", 1,
        "w_init_variance_scale", 0.01);
    // our own key: the window of transformers, one token less
    if (s->hf_window) json_object_set_new(root, "hf_window", json_true());
    if (!s->scaled)
        json_object_set_new(root, "embeddings_scale_by_sqrt_dim", json_false());
    return root;
}
