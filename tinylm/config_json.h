/* config_json.h - sizes of a model as Hugging Face's config.json, of LlamaForCausalLM and of
 * RecurrentGemmaForCausalLM. */
#ifndef CONFIG_JSON_H
#define CONFIG_JSON_H
#include "config.h"

#include <jansson.h>

json_t *config_to_json(const model_config *c);
/* All but the dtype; path is for messages. Attention runs on lab 05 where it can. */
int config_from_json(model_config *c, json_t *root, const char *path, wb_error *err);

/* How config.json calls a dtype. */
const char *config_dtype(wb_dtype dtype);

#endif
