/* config_json.c - see config_json.h. */
#include "config_json.h"
#include "griffin/config.h"

#include <string.h>

static json_t *llama_to_json(const model_config *c)
{
    const model_shape *s = &c->shape;
    json_t *rope = json_pack(
        "{s:f, s:s}", "rope_theta", griffin_decimal(s->rope_base), "rope_type",
        "default");
    const char *dtype = wb_dtype_config_name(c->dtype);
    return json_pack(
        "{s:[s], s:s, s:s, s:s, s:b, s:b, s:f, s:n, s:n, s:i, s:s, s:i, s:f, s:i, s:i, "
        "s:i, s:i, s:i, s:f, s:f, s:o, s:b, s:i, s:b}",
        "architectures", "LlamaForCausalLM", "model_type", "llama", "torch_dtype", dtype,
        "dtype", dtype, "attention_bias", 0, "mlp_bias", 0, "attention_dropout", 0.0,
        "bos_token_id", "eos_token_id", "head_dim", s->head_dim, "hidden_act", "silu",
        "hidden_size", s->channels, "initializer_range", 0.02, "intermediate_size",
        s->hidden, "max_position_embeddings", s->context, "num_attention_heads", s->heads,
        "num_hidden_layers", s->layers, "num_key_value_heads", s->kv_heads,
        "rms_norm_eps", griffin_decimal(s->eps), "rope_theta",
        griffin_decimal(s->rope_base), "rope_parameters", rope, "tie_word_embeddings",
        s->tied, "vocab_size", s->vocab, "use_cache", 1);
}

json_t *config_to_json(const model_config *c)
{
    if (c->arch == MODEL_LLAMA) return llama_to_json(c);
    const griffin_config g = {.shape = c->shape, .bos = -1, .pad = -1};
    return griffin_config_to_json(&g, wb_dtype_config_name(c->dtype));
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

// Variants of Llama that this program does not support.
static const char *unsupported(json_t *root)
{
    json_t *scaling = json_object_get(root, "rope_scaling");
    json_t *rope = json_object_get(root, "rope_parameters");
    double part = read_number(root, "partial_rotary_factor", 1);
    if (strcmp(text_of(root, "hidden_act", "silu"), "silu") != 0)
        return "hidden_act is not silu";
    if (json_is_true(json_object_get(root, "attention_bias"))) return "it has biases";
    if (json_is_true(json_object_get(root, "mlp_bias"))) return "it has biases";
    if (scaling && !json_is_null(scaling)) return "it scales RoPE";
    if (strcmp(text_of(rope, "rope_type", "default"), "default") != 0)
        return "it scales RoPE";
    if (read_number(rope, "partial_rotary_factor", part) != 1)
        return "RoPE does not rotate whole heads";
    return NULL;
}

static int parse_llama(model_config *c, json_t *root, const char *path, wb_error *err)
{
    model_shape *s = &c->shape;
    static const char *const keys[] = {"num_hidden_layers",   "hidden_size",
                                       "num_attention_heads", "intermediate_size",
                                       "vocab_size",          "max_position_embeddings"};
    int *const fields[] = {&s->layers, &s->channels, &s->heads,
                           &s->hidden, &s->vocab,    &s->context};
    const char *why = unsupported(root);
    if (why) return error_set(err, "%s: %s: not a model for this program", path, why);
    for (int i = 0; i < 6; i++)
        if (read_size(root, keys[i], fields[i], -1))
            return error_set(err, "%s: %s is missing or not a size", path, keys[i]);
    if (read_size(root, "num_key_value_heads", &s->kv_heads, s->heads) ||
        read_size(root, "head_dim", &s->head_dim, s->channels / s->heads))
        return error_set(err, "%s: num_key_value_heads or head_dim is not a size", path);
    s->rotated = s->head_dim;
    json_t *rope = json_object_get(root, "rope_parameters");
    s->tied = json_is_true(json_object_get(root, "tie_word_embeddings"));
    s->eps = (float)read_number(root, "rms_norm_eps", 1e-6);
    s->rope_base =
        (float)read_number(root, "rope_theta", read_number(rope, "rope_theta", 10000));
    return 0;
}

enum { DEFAULT_CONTEXT = 8192 };  // published RecurrentGemma configs give none

static int parse_griffin(model_config *c, json_t *root, const char *path, wb_error *err)
{
    griffin_config g;
    const model_shape *s = &g.shape;
    if (griffin_config_from_json(&g, root, path, err)) return -1;
    if (s->rotated != s->head_dim / 2 || !s->scaled || !s->tied)
        return error_set(
            err,
            "%s: not a model for this program: here RoPE rotates half of each head, the "
            "embedding is scaled, and it is also the output matrix",
            path);
    *c = (model_config){.arch = MODEL_GRIFFIN, .shape = g.shape};
    if (!s->context) c->shape.context = DEFAULT_CONTEXT;
    return 0;
}

int config_from_json(model_config *c, json_t *root, const char *path, wb_error *err)
{
    const char *type = text_of(root, "model_type", "");
    bool griffin = strcmp(type, "recurrent_gemma") == 0;
    if (!griffin && strcmp(type, "llama") != 0)
        return error_set(err, "%s: model_type is not llama or recurrent_gemma", path);
    *c = (model_config){.arch = MODEL_LLAMA};
    if (griffin ? parse_griffin(c, root, path, err) : parse_llama(c, root, path, err))
        return -1;
    wb_error reason;
    model_choose_attention(c, "auto", &reason);
    if (model_check(c, &reason)) return error_set(err, "%s: %.600s", path, reason.text);
    return 0;
}
