/* loading.h - a model folder on its way to the device: its files checked against its
 * config.json. A part of weights.c. */
#ifndef LOADING_H
#define LOADING_H
#include "griffin/tensors.h"
#include "model_files.h"
#include "upload.h"
#include "weights.h"

typedef struct loading {
    const char *folder;     // for messages
    griffin_config config;  // with the vocabulary and head of the files
    model_files files;
    griffin_tensor *tensors;
    int count;
    upload *uploads;
    rg_weights *w;
    wb_error *err;
} loading;

/* Corrects l->config by the files: the vocabulary is the embedding's, and a head that
 * differs from the embedding is used, whatever config.json says. Sets *dtype to the
 * embedding's. */
int loading_look(loading *l, wb_dtype *dtype);
/* Every tensor exists with its shape and a dtype for weights, and there are no others;
 * counts the parameters. */
int loading_check(loading *l);
/* A tensor under one of its names; NULL: it is missing. */
model_tensor_at *loading_find(const loading *l, const griffin_tensor *t);

#endif
