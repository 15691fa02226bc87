/* checkpoint.h - a model on disk, in the form of Hugging Face's LlamaForCausalLM.
 *
 *     FOLDER/config.json             the sizes
 *     FOLDER/generation_config.json
 *     FOLDER/tokenizer.json, tokenizer_config.json
 *     FOLDER/model.safetensors       the weights, in the dtype that the model computes in
 *     FOLDER/training.safetensors    runs only: all that going on needs, in one file
 *
 * Each file is either whole or not there (file.h). training.safetensors depends on no
 * other, so a run goes on from whatever instant it was killed at; and a model.safetensors
 * never stands beside the config or tokenizer of another run.
 */
#ifndef CHECKPOINT_H
#define CHECKPOINT_H
#include "model.h"
#include "tokenizer.h"

/* scratch: N * model_element bytes on the host */
int checkpoint_save(
    const model *m, const tokenizer *t, const char *folder, void *scratch, wb_error *err);

/* Sizes and dtype of the model in the folder; context: as it was trained. */
int checkpoint_config(model_config *c, const char *folder, wb_error *err);
/* Its weights, into a model made with that configuration. */
int checkpoint_load(model *m, const char *folder, wb_error *err);

/* What a run is besides its weights and moments. */
typedef struct run_state {
    char *options;  /* options_text; malloc'ed by training_load */
    wb_train train; /* as on the device */
    double best;    /* lowest validation loss so far, INFINITY: none yet */
    long best_step;
    uint64_t text_hash; /* of the training text */
} run_state;

/* scratch: 3 N floats on the host */
int training_save(
    const model *m, const run_state *s, const char *folder, float *scratch,
    wb_error *err);
/* Only the state, without weights; and the weights and moments into the model. */
int training_peek(run_state *s, const char *folder, wb_error *err);
int training_load(model *m, const char *folder, wb_error *err);

#endif
