/* config_json.h - a model's configuration as Hugging Face's config.json, of
 * LlamaForCausalLM or of RecurrentGemmaForCausalLM. */
#ifndef CONFIG_JSON_H
#define CONFIG_JSON_H
#include "config.h"

#include <jansson.h>

json_t *config_to_json(const model_config *c);
/* Everything except the dtype; path is for messages. Attention runs on lab 05 where it
 * can. */
int config_from_json(model_config *c, json_t *root, const char *path, wb_error *err);

#endif
