/* config_json.c - see config_json.h. */
#include "config_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *config_dtype(wb_dtype dtype)
{
    static const char *const names[WB_DTYPES] = {
        [WB_F32] = "float32", [WB_BF16] = "bfloat16", [WB_F16] = "float16"};
    return names[dtype];
}

// A float as the decimal that people write: 1e-05, not 9.9999997e-06.
static double decimal(float x)
{
    char text[32];
    snprintf(text, sizeof text, "%.7g", (double)x);
    return strtod(text, NULL);
}

static json_t *llama_to_json(const model_config *c)
{
    json_t *rope = json_pack(
        "{s:f, s:s}", "rope_theta", decimal(c->rope_base), "rope_type", "default");
    return json_pack(
        "{s:[s], s:s, s:s, s:s, s:b, s:b, s:f, s:n, s:n, s:i, s:s, s:i, s:f, s:i, s:i, "
        "s:i, s:i, s:i, s:f, s:f, s:o, s:b, s:i, s:b}",
        "architectures", "LlamaForCausalLM", "model_type", "llama", "torch_dtype",
        config_dtype(c->dtype), "dtype", config_dtype(c->dtype), "attention_bias", 0,
        "mlp_bias", 0, "attention_dropout", 0.0, "bos_token_id", "eos_token_id",
        "head_dim", c->head_dim, "hidden_act", "silu", "hidden_size", c->channels,
        "initializer_range", 0.02, "intermediate_size", c->hidden,
        "max_position_embeddings", c->context, "num_attention_heads", c->heads,
        "num_hidden_layers", c->layers, "num_key_value_heads", c->kv_heads,
        "rms_norm_eps", decimal(c->eps), "rope_theta", decimal(c->rope_base),
        "rope_parameters", rope, "tie_word_embeddings", c->tied, "vocab_size", c->vocab,
        "use_cache", 1);
}

// Older versions of transformers read rope_theta and partial_rotary_factor at the top, newer
// ones in rope_parameters. intermediate_size is twice the width of the MLP there.
static json_t *griffin_to_json(const model_config *c)
{
    json_t *rope = json_pack(
        "{s:f, s:s, s:f}", "rope_theta", decimal(c->rope_base), "rope_type", "default",
        "partial_rotary_factor", 0.5);
    json_t *blocks = json_array();
    for (const char *b = c->blocks; *b; b++)
        json_array_append_new(blocks, json_string(*b == 'r' ? "recurrent" : "attention"));
    json_t *root = json_pack(
        "{s:[s], s:s, s:s, s:s, s:b, s:f, s:i, s:o, s:n, s:i, s:n, s:f, s:i, s:s, s:i, "
        "s:i, s:f, s:i, s:i, s:i, s:i, s:i, s:n, s:f, s:f, s:f, s:o, s:b, s:i, s:b, s:f}",
        "architectures", "RecurrentGemmaForCausalLM", "model_type", "recurrent_gemma",
        "torch_dtype", config_dtype(c->dtype), "dtype", config_dtype(c->dtype),
        "attention_bias", 0, "attention_dropout", 0.0, "attention_window_size", c->window,
        "block_types", blocks, "bos_token_id", "conv1d_width", c->taps, "eos_token_id",
        "final_w_init_variance_scale", 2.0 / c->layers, "head_dim", c->head_dim,
        "hidden_activation", "gelu_pytorch_tanh", "hidden_size", c->channels,
        "intermediate_size", 2 * c->hidden, "logits_soft_cap", decimal(c->softcap),
        "lru_width", c->recurrent, "max_position_embeddings", c->context,
        "num_attention_heads", c->heads, "num_hidden_layers", c->layers,
        "num_key_value_heads", c->kv_heads, "pad_token_id", "partial_rotary_factor", 0.5,
        "rms_norm_eps", decimal(c->eps), "rope_theta", decimal(c->rope_base),
        "rope_parameters", rope, "tie_word_embeddings", c->tied, "vocab_size", c->vocab,
        "use_cache", 1, "w_init_variance_scale", 0.01);
    // ours: trained with one token less in the window, as transformers computes it
    if (c->hf_window) json_object_set_new(root, "hf_window", json_true());
    return root;
}

json_t *config_to_json(const model_config *c)
{
    return c->arch == MODEL_GRIFFIN ? griffin_to_json(c) : llama_to_json(c);
}

/* --- reading ------------------------------------------------------------------------ */

static int read_size(json_t *root, const char *key, int *out, int fallback)
{
    json_t *j = json_object_get(root, key);
    if (!j || json_is_null(j)) return *out = fallback, fallback < 0 ? -1 : 0;
    if (!json_is_integer(j) || json_integer_value(j) < 1 ||
        json_integer_value(j) > 1 << 30)
        return -1;
    *out = (int)json_integer_value(j);
    return 0;
}

static double read_number(json_t *root, const char *key, double fallback)
{
    json_t *j = json_object_get(root, key);
    return json_is_number(j) ? json_number_value(j) : fallback;
}

static const char *text_of(json_t *root, const char *key, const char *fallback)
{
    const char *text = json_string_value(json_object_get(root, key));
    return text ? text : fallback;
}

// Variants of the architectures that this program does not compute.
static const char *unsupported(json_t *root, bool griffin)
{
    const char *act = griffin ? "gelu_pytorch_tanh" : "silu";
    json_t *scaling = json_object_get(root, "rope_scaling");
    json_t *rope = json_object_get(root, "rope_parameters");
    double part = read_number(root, "partial_rotary_factor", griffin ? 0.5 : 1);
    json_t *scaled = json_object_get(root, "embeddings_scale_by_sqrt_dim");
    if (!griffin && strcmp(text_of(root, "hidden_act", act), act) != 0)
        return "hidden_act is not silu";
    if (griffin && strcmp(text_of(root, "hidden_activation", act), act) != 0)
        return "hidden_activation is not gelu_pytorch_tanh";
    if (json_is_true(json_object_get(root, "attention_bias"))) return "it has biases";
    if (json_is_true(json_object_get(root, "mlp_bias"))) return "it has biases";
    if (scaling && !json_is_null(scaling)) return "it scales RoPE";
    if (strcmp(text_of(rope, "rope_type", "default"), "default") != 0)
        return "it scales RoPE";
    if (read_number(rope, "partial_rotary_factor", part) != (griffin ? 0.5 : 1))
        return "RoPE turns another part of the heads";
    if (griffin && scaled && json_is_false(scaled)) return "its embedding is not scaled";
    return NULL;
}

static int read_blocks(model_config *c, json_t *root)
{
    json_t *blocks = json_object_get(root, "block_types");
    size_t n = json_array_size(blocks);
    if (n < 1 || n >= sizeof c->blocks) return -1;
    for (size_t i = 0; i < n; i++) {
        const char *kind = json_string_value(json_array_get(blocks, i));
        if (!kind) return -1;
        bool recurrent = strcmp(kind, "recurrent") == 0;
        if (!recurrent && strcmp(kind, "attention") != 0) return -1;
        c->blocks[i] = recurrent ? 'r' : 'a';
    }
    return 0;
}

static int parse_griffin(model_config *c, json_t *root, const char *path, wb_error *err)
{
    static const char *const keys[] = {
        "lru_width", "attention_window_size", "conv1d_width"};
    int *const fields[] = {&c->recurrent, &c->window, &c->taps};
    const int fallbacks[] = {c->channels, -1, 4};
    for (int i = 0; i < 3; i++)
        if (read_size(root, keys[i], fields[i], fallbacks[i]))
            return error_set(err, "%s: %s is missing or no size", path, keys[i]);
    if (read_blocks(c, root))
        return error_set(
            err, "%s: block_types is no list of \"recurrent\" and \"attention\"", path);
    if (c->hidden % 2)
        return error_set(err, "%s: intermediate_size is not twice a width", path);
    c->hidden /= 2;
    c->softcap = (float)read_number(root, "logits_soft_cap", 30);
    c->hf_window = json_is_true(json_object_get(root, "hf_window"));
    c->tied = true;
    return 0;
}

enum { LONGEST = 8192 };  // of a published RecurrentGemma, whose config names no context

int config_from_json(model_config *c, json_t *root, const char *path, wb_error *err)
{
    static const char *const keys[] = {"num_hidden_layers",   "hidden_size",
                                       "num_attention_heads", "intermediate_size",
                                       "vocab_size",          "max_position_embeddings"};
    int *const fields[] = {&c->layers, &c->channels, &c->heads,
                           &c->hidden, &c->vocab,    &c->context};
    const char *type = text_of(root, "model_type", "");
    bool griffin = strcmp(type, "recurrent_gemma") == 0;
    if (!griffin && strcmp(type, "llama") != 0)
        return error_set(
            err, "%s: model_type is not llama, and not recurrent_gemma", path);
    const char *why = unsupported(root, griffin);
    if (why) return error_set(err, "%s: %s: not a model for this program", path, why);
    c->arch = griffin ? MODEL_GRIFFIN : MODEL_LLAMA;
    for (int i = 0; i < 6; i++)
        if (read_size(root, keys[i], fields[i], i == 5 && griffin ? LONGEST : -1))
            return error_set(err, "%s: %s is missing or no size", path, keys[i]);
    if (read_size(root, "num_key_value_heads", &c->kv_heads, c->heads) ||
        read_size(root, "head_dim", &c->head_dim, c->channels / c->heads))
        return error_set(err, "%s: num_key_value_heads or head_dim is no size", path);
    json_t *rope = json_object_get(root, "rope_parameters");
    c->tied = json_is_true(json_object_get(root, "tie_word_embeddings"));
    c->eps = (float)read_number(root, "rms_norm_eps", 1e-6);
    c->rope_base =
        (float)read_number(root, "rope_theta", read_number(rope, "rope_theta", 10000));
    if (griffin && parse_griffin(c, root, path, err)) return -1;
    wb_error reason;
    model_choose_attention(c, "auto", &reason);
    if (model_check(c, &reason)) return error_set(err, "%s: %.600s", path, reason.text);
    return 0;
}
