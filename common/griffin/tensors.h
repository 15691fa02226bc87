/* tensors.h - the weights of a RecurrentGemma model: names in files, shapes, the slot of
 * each in the packed matrices (model_weights.h), and what training starts from. */
#ifndef GRIFFIN_TENSORS_H
#define GRIFFIN_TENSORS_H
#include "model_shape.h"
#include "model_weights.h"

#include <stddef.h>

/* How the official torch checkpoint stores a tensor. */
typedef enum griffin_official {
    GRIFFIN_SAME,
    GRIFFIN_WIDTH_FIRST, /* (conv_width,Cr) for (Cr,1,conv_width) */
    GRIFFIN_GATE,        /* part 0 of (2,C,F) for (F,C), of (2,1,1,F) for (F) */
    GRIFFIN_UP,          /* part 1 */
} griffin_official;

typedef struct griffin_tensor {
    char name[96];     /* "model.layers.0.temporal_block.linear_x.weight" */
    char official[96]; /* "blocks.0.recurrent_block.linear_x.weight"; "": none */
    griffin_official stored;
    weight_slot slot;
    int layer; /* -1: of the whole model */
    int ndim;
    size_t shape[3], count;
    /* the meaning of each size: C hidden_size, R lru_width, E half of intermediate_size,
     * V vocab_size, H heads, M = R/H, Q = H*D, K = kv_heads*D, W conv1d_width, 1 */
    char letters[4];
    weight_start start;
    float deviation; /* of START_NORMAL */
} griffin_tensor;

/* All weights, malloc'ed, layer by layer; with an output matrix unless s->tied. NULL: no
 * memory. */
griffin_tensor *griffin_tensors(const model_shape *s, int *count);

/* The shape in the official checkpoint of a tensor that has `shape` here; returns ndim. */
int griffin_official_shape(
    griffin_official stored, int ndim, const size_t shape[3], size_t official[4]);

/* The key of config.json for a letter of griffin_tensor.letters. */
const char *griffin_letter_key(char letter);

#endif
