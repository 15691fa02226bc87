/* recipe.h - from options to a model and to the way it is trained. */
#ifndef RECIPE_H
#define RECIPE_H
#include "model.h"
#include "options.h"

/* Sizes of the model that the options describe; vocab: tokens of its tokenizer. */
int recipe_config(model_config *c, const options *o, int vocab, wb_error *err);
int recipe_make(model_recipe *r, const options *o, wb_error *err);

#endif
