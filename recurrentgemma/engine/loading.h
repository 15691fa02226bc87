/* loading.h - a model folder on its way to the device: what its files say, held against its
 * config.json. A part of weights.h. */
#ifndef LOADING_H
#define LOADING_H
#include "files.h"
#include "griffin/tensors.h"
#include "upload.h"
#include "weights.h"

typedef struct loading {
    const char *folder;  // for messages
    griffin_config config;    // with what the files say of vocabulary and head
    model_files files;
    griffin_tensor *tensors;
    int count;
    upload *uploads;
    rg_weights *w;
    wb_error *err;
} loading;

/* The vocabulary is that of the embedding, and a head that differs from it is the model's,
 * whatever config.json says: corrects l->config. Sets *dtype to that of the embedding. */
int loading_look(loading *l, wb_dtype *dtype);
/* Every tensor is there, with its shape and a dtype that weights can have, and no other;
 * counts the parameters. */
int loading_check(loading *l);
/* A tensor under one of its names; NULL: it is not there. */
model_tensor_at *loading_find(const loading *l, const griffin_tensor *t);
bool loading_dtype(st_dtype stored, wb_dtype *dtype); /* false: no dtype of weights */

#endif
