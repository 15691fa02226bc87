/* random_model.h - a model folder with random weights: config.json, and model.safetensors
 * or shards with their index. It never needs more than a few MB of memory. random/
 * depends on common/ alone, and nothing else includes it. */
#ifndef RANDOM_MODEL_H
#define RANDOM_MODEL_H
#include "dtype.h"
#include "griffin/config.h"

#include <stdint.h>

typedef struct random_model {
    griffin_config config;
    wb_dtype dtype;
    uint64_t seed;
    int shards; /* at most; 0: one for each 5 GB */
    bool dry;   /* only measure: nothing is written */
} random_model;

typedef struct random_written {
    size_t parameters, bytes;
    int shards;
} random_written;

enum { RANDOM_SHARDS = 99 };

/* Equal settings give equal files on every machine. Weights start as for training
 * (griffin/tensors.h), except that biases, norms and filters are not 0, so that the
 * logits show a mistake in any of them. griffin_check must have accepted the sizes. The
 * folder must not hold a model yet. After an error or a signal (stop.h) it holds none. */
int random_write(
    const random_model *m, const char *folder, random_written *out, wb_error *err);

#endif
