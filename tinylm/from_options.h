/* from_options.h - from the command line's options to a model and to the way it is
 * trained. */
#ifndef FROM_OPTIONS_H
#define FROM_OPTIONS_H
#include "config.h"
#include "options.h"
#include "recipe.h"

/* The model that the options describe; vocab: tokens of its tokenizer. */
int config_from_options(model_config *c, const options *o, int vocab, wb_error *err);
/* The options that describe this model: those of --init-from. */
void options_from_config(options *o, const model_config *c);
int recipe_from_options(model_recipe *r, const options *o, wb_error *err);

#endif
