/* config_read.c - config.json to griffin_config: see config.h. */
#include "config.h"
#include "json_text.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_SIZE = 1 << 30 };

typedef struct reader {
    json_t *root;
    const char *name;  // of the file
    wb_error *err;     // of the first key that is wrong
    bool failed;
} reader;

static void wrong(reader *r, const char *key, const char *what)
{
    if (!r->failed) error_set(r->err, "%s: %s %s", r->name, key, what);
    r->failed = true;
}

// NULL where the key is missing or null.
static json_t *value(json_t *object, const char *key)
{
    json_t *j = json_object_get(object, key);
    return json_is_null(j) ? NULL : j;
}

// fallback 0: the key is required.
static int size(reader *r, const char *key, int fallback)
{
    json_t *j = value(r->root, key);
    if (!j && fallback) return fallback;
    json_int_t n = json_integer_value(j);
    if (!j)
        wrong(r, key, "is missing");
    else if (!json_is_integer(j) || n < 1 || n > MAX_SIZE)
        wrong(r, key, "is not a whole number from 1 to 1073741824");
    else
        return (int)n;
    return 1;
}

static double number(reader *r, json_t *object, const char *key, double fallback)
{
    json_t *j = value(object, key);
    if (!j) return fallback;
    double x = json_number_value(j);
    if (!json_is_number(j) || !isfinite((float)x)) wrong(r, key, "is not a number");
    return x;
}

static bool flag(reader *r, const char *key, bool fallback)
{
    json_t *j = value(r->root, key);
    if (j && !json_is_boolean(j)) wrong(r, key, "is neither true nor false");
    return j ? json_is_true(j) : fallback;
}

static void require(reader *r, json_t *object, const char *key, const char *word)
{
    json_t *j = value(object, key);
    const char *text = json_string_value(j);
    char what[200];
    snprintf(what, sizeof what, "is not \"%s\", the only supported kind", word);
    if (j && !(text && strcmp(text, word) == 0)) wrong(r, key, what);
}

static void read_blocks(reader *r, model_shape *s)
{
    json_t *blocks = value(r->root, "block_types");
    if (!blocks) blocks = value(r->root, "_block_types");
    size_t n = json_array_size(blocks);
    strcpy(s->blocks, "rra");
    if (!blocks) return;
    if (n > (size_t)s->layers) n = (size_t)s->layers;
    bool good = n >= 1 && n < sizeof s->blocks;
    for (size_t i = 0; i < n && good; i++) {
        const char *kind = json_string_value(json_array_get(blocks, i));
        bool recurrent = kind && strcmp(kind, "recurrent") == 0;
        good = recurrent || (kind && strcmp(kind, "attention") == 0);
        s->blocks[i] = recurrent ? 'r' : 'a', s->blocks[i + 1] = 0;
    }
    if (!good)
        wrong(
            r, "block_types", "is not a list of 1 to 63 \"recurrent\" and \"attention\"");
}

static int token_id(reader *r, const char *key)
{
    json_t *j = value(r->root, key);
    json_int_t id = json_integer_value(j);
    if (!j) return -1;
    if (!json_is_integer(j) || id < 0 || id >= MAX_TOKEN_ID)
        wrong(r, key, "is not a token id");
    return (int)id;
}

static void read_eos(reader *r, griffin_config *c)
{
    wb_error why;
    if (!eos_from_json(&c->eos, r->root, r->name, &why)) return;
    if (!r->failed) error_set(r->err, "%s", why.text);
    r->failed = true;
}

static void read_sizes(reader *r, model_shape *s)
{
    s->layers = size(r, "num_hidden_layers", 0);
    s->channels = size(r, "hidden_size", 0);
    s->heads = size(r, "num_attention_heads", 0);
    s->kv_heads = size(r, "num_key_value_heads", s->heads);
    int divided = s->channels / s->heads;
    s->head_dim = size(r, "head_dim", divided > 0 ? divided : 1);
    s->hidden = size(r, "intermediate_size", 0);
    if (s->hidden % 2)
        wrong(r, "intermediate_size", "is not even: it counts gate and up");
    s->hidden /= 2;
    s->vocab = size(r, "vocab_size", 0);
    s->recurrent = size(r, "lru_width", s->channels);
    bool sliding =
        !value(r->root, "attention_window_size") && value(r->root, "sliding_window");
    s->window = size(r, sliding ? "sliding_window" : "attention_window_size", 0);
    s->conv_width = size(r, "conv1d_width", 4);
    if (value(r->root, "max_position_embeddings"))
        s->context = size(r, "max_position_embeddings", 0);
}

// Newer versions of transformers write rope_parameters (or rope_scaling with the same
// content), older ones keys at the top.
static void read_rope(reader *r, model_shape *s)
{
    json_t *rope = value(r->root, "rope_parameters");
    if (!rope) rope = value(r->root, "rope_scaling");
    double base = number(r, r->root, "rope_theta", 10000);
    double part = number(r, r->root, "partial_rotary_factor", 0.5);
    if (rope && !json_is_object(rope)) wrong(r, "rope_parameters", "is not an object");
    require(r, rope, "rope_type", "default");
    require(r, rope, "type", "default");
    s->rope_base = (float)number(r, rope, "rope_theta", base);
    part = number(r, rope, "partial_rotary_factor", part);
    if (!(part >= 0 && part <= 1)) {
        wrong(r, "partial_rotary_factor", "is not a number from 0 to 1");
        return;
    }
    s->rotated = (int)(s->head_dim * part + 1e-6);  // 49 * (1 / 49.0) is below 1
}

int griffin_config_from_json(
    griffin_config *c, json_t *root, const char *name, wb_error *err)
{
    reader r = {.root = root, .name = name, .err = err};
    model_shape *s = &c->shape;
    *c = (griffin_config){0};
    if (!json_is_object(root))
        return error_set(err, "%s: is not a JSON object of a model's sizes", name);
    require(&r, root, "model_type", "recurrent_gemma");
    require(&r, root, "hidden_activation", "gelu_pytorch_tanh");
    if (flag(&r, "attention_bias", false))
        wrong(
            &r, "attention_bias",
            "is true: queries, keys and values have no biases here");
    read_sizes(&r, s);
    read_rope(&r, s);
    read_blocks(&r, s);
    s->eps = (float)number(&r, root, "rms_norm_eps", 1e-6);
    bool capped =
        value(root, "logits_soft_cap") || !json_object_get(root, "logits_soft_cap");
    s->softcap = capped ? (float)number(&r, root, "logits_soft_cap", 30) : 0;
    s->scaled = flag(&r, "embeddings_scale_by_sqrt_dim", true);
    s->tied = flag(&r, "tie_word_embeddings", true);
    s->hf_window = flag(&r, "hf_window", false);
    c->bos = token_id(&r, "bos_token_id"), c->pad = token_id(&r, "pad_token_id");
    read_eos(&r, c);
    if (r.failed) return -1;
    wb_error why;
    if (griffin_check(s, &why)) return error_set(err, "%s: %.600s", name, why.text);
    return 0;
}

int griffin_config_parse(
    griffin_config *c, const char *json, size_t bytes, const char *name, wb_error *err)
{
    json_t *root = json_parse(json, bytes, name, err);
    int rc = root ? griffin_config_from_json(c, root, name, err) : -1;
    json_decref(root);
    return rc;
}

int griffin_config_read(griffin_config *c, const char *folder, wb_error *err)
{
    char path[PATH_MAX + 16];
    snprintf(path, sizeof path, "%s/config.json", folder);
    json_t *root = json_read(path, err);
    int rc = root ? griffin_config_from_json(c, root, path, err) : -1;
    json_decref(root);
    return rc ? rc : eos_of_generation(&c->eos, folder, err);
}
