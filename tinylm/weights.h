/* weights.h - the weights of a model folder, by Hugging Face's names or, of a Griffin, as
 * in the official RecurrentGemma checkpoint: read into the flat buffer of a model.
 */
#ifndef WEIGHTS_H
#define WEIGHTS_H
#include "model.h"
#include "safetensors.h"

/* The dtype of the folder's weights: the embedding's, since config.json only says how the
 * model was trained. */
int weights_dtype(
    wb_dtype *dtype, const model_config *c, const char *folder, wb_error *err);
/* Malloc'ed: floats, or elements of the model's dtype, which must then be the files'.
 * NULL on an error: all tensors must be there, and their elements finite. */
char *weights_read(const model *m, const char *folder, bool floats, wb_error *err);
int weights_check_finite(const st_tensor *t, const char *path, wb_error *err);

#endif
