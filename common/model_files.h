/* model_files.h - the tensors of a model folder: of model.safetensors, or of the shards
 * that model.safetensors.index.json names. */
#ifndef MODEL_FILES_H
#define MODEL_FILES_H
#include "safetensors.h"

typedef struct model_tensor_at {
    const st_tensor *tensor;
    const st_file *file;
    bool used; /* set by the caller; a tensor that stays unused is an error */
} model_tensor_at;

typedef struct model_files {
    st_file **file; /* mapped */
    int files;
    model_tensor_at *all; /* by name */
    size_t count;
} model_files;

/* One sentence about a shard that is missing, has a path in its name, lacks a tensor that
 * the index lists or holds one that it does not list. */
int model_files_open(model_files *m, const char *folder, wb_error *err);
void model_files_close(model_files *m);
model_tensor_at *model_files_find(const model_files *m, const char *name); /* or NULL */

/* The index alone: names of tensors and of their shards, checked too. */
typedef struct shard_index {
    struct json_t *root; /* owns the names */
    const char **shard;  /* each once */
    int shards;
} shard_index;

int shard_index_parse(
    shard_index *x, const char *json, size_t bytes, const char *name, wb_error *err);
/* The shard of a tensor; NULL: the index does not know it. */
const char *shard_index_find(const shard_index *x, const char *tensor);
void shard_index_free(shard_index *x);

#endif
