/* recipe.h - how a model is trained: what a training step needs besides the model. */
#ifndef RECIPE_H
#define RECIPE_H
#include "ops.h"

typedef struct model_recipe {
    wb_schedule schedule; /* of the learning rate */
    int accum;            /* micro-batches of a step */
    float loss_scale;     /* initial; 1 except for f16 */
    int growth;           /* good steps that double the loss scale; 0: never */
    float dropout, beta1, beta2, adam_eps, decay, clip;
} model_recipe;

#endif
