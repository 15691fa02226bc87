/* tensors.h - the weights of a model by their names in files: shapes, places in the flat
 * buffers, and what training starts from. */
#ifndef TENSORS_H
#define TENSORS_H
#include "config.h"
#include "griffin/tensors.h"
#include "model_weights.h"

#include <stddef.h>

/* Packed matrices hold q, k, v (and gate, up, and x, y) as neighbouring rows, so every
 * named weight is one contiguous piece: `count` elements from `offset` of the flat
 * buffers. */
typedef struct model_tensor {
    char name[96];           /* Hugging Face's */
    char official[96];       /* that of the official RecurrentGemma; "": none */
    griffin_official stored; /* and how that checkpoint stores it */
    size_t offset, count, shape[3];
    int ndim;
    bool decayed; /* weight decay applies */
    weight_start start;
    float deviation; /* of START_NORMAL */
    int layer;       /* -1: of the whole model */
    weight_slot slot;
    size_t room; /* elements that it occupies: count, or more */
} model_tensor;

enum { ALIGN_ELEMENTS = 64 }; /* of 128 or 256 bytes: where slots and N end */

/* All weights, malloc'ed. *parameters: elements of a flat buffer; [0, *decayed) of them
 * have weight decay. Both may be NULL. */
model_tensor *
model_tensors(const model_config *c, int *count, size_t *parameters, size_t *decayed);
/* Of all weights, without what a flat buffer has between them. */
size_t model_elements(const model_config *c);

#endif
