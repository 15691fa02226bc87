/* config.h - the configuration of a RecurrentGemma (Griffin) model: config.json of
 * Hugging Face's RecurrentGemmaForCausalLM. One reader and one writer for all programs.
 *
 * The reader takes the keys of older and newer versions of transformers (rope_theta at
 * the top or in rope_parameters; attention_window_size or sliding_window; block_types or
 * _block_types) and ignores unknown keys. A key that is missing, has a wrong type or
 * exceeds what the kernels take gives one sentence that names the file, the key and the
 * valid values.
 */
#ifndef GRIFFIN_CONFIG_H
#define GRIFFIN_CONFIG_H
#include "eos.h"
#include "file.h"
#include "model_shape.h"

#include <stddef.h>

typedef struct griffin_config {
    model_shape shape; /* vocab: a loader trusts the rows of the embedding instead */
    int bos, pad;      /* token ids; -1: none */
    eos_tokens eos;
} griffin_config;

/* config.json of the folder; the end-of-sequence tokens of generation_config.json replace
 * its own (eos.h). */
int griffin_config_read(griffin_config *c, const char *folder, wb_error *err);
/* The same from memory; name is for messages. */
int griffin_config_parse(
    griffin_config *c, const char *json, size_t bytes, const char *name, wb_error *err);
/* The same from jansson's json_t. */
struct json_t;
int griffin_config_from_json(
    griffin_config *c, struct json_t *root, const char *name, wb_error *err);
/* A new json_t; dtype as transformers spells it: float32, bfloat16, float16. */
struct json_t *griffin_config_to_json(const griffin_config *c, const char *dtype);
/* A float as the decimal that people write: 1e-05, not 9.9999997e-06. */
double griffin_decimal(float x);

/* 0 if every size is valid; else -1, with one line about the first that is not. */
int griffin_check(const model_shape *s, wb_error *err);

#endif
