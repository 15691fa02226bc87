/* checkpoint.h - a model on disk, as Hugging Face's LlamaForCausalLM or
 * RecurrentGemmaForCausalLM.
 *
 *     FOLDER/config.json             the sizes
 *     FOLDER/generation_config.json
 *     FOLDER/tokenizer.json, tokenizer_config.json
 *     FOLDER/model.safetensors       the weights, in the model's dtype; shards and their
 *                                    model.safetensors.index.json can be read, too, and
 *                                    the names of the official RecurrentGemma
 *     FOLDER/training.safetensors    runs only: everything that resuming needs, in one file
 *
 * Each file is either complete or missing (file.h). training.safetensors depends on no
 * other file, so a run can resume whenever it was killed. All files of a folder belong to
 * one model: a new run first moves an old one away (run_folder.h), and --resume changes
 * neither the sizes nor the tokenizer. So a save that is killed or does not fit on the
 * disk leaves a model that can be opened: each file is either the old or the new one.
 */
#ifndef CHECKPOINT_H
#define CHECKPOINT_H
#include "eos.h"
#include "model.h"
#include "tokenizer.h"

/* The folder must be new or hold a checkpoint of the same model. scratch: N elements on
 * the host */
int checkpoint_save(
    const model *m, const tokenizer *t, const char *folder, void *scratch, wb_error *err);

/* Configuration of the model in the folder, with the context that it was trained with. */
int checkpoint_config(model_config *c, const char *folder, wb_error *err);
/* The tokens that end a sequence: of generation_config.json, else of config.json. */
int checkpoint_eos(eos_tokens *t, const char *folder, wb_error *err);
/* Its weights, into a model created with that configuration. All must be finite. */
int checkpoint_load(model *m, const char *folder, wb_error *err);
/* The same into a model of any dtype that will be trained. */
int checkpoint_initialise(model *m, const char *folder, wb_error *err);

/* The state of a run besides its weights and moments. */
typedef struct run_state {
    char *options;  /* options_text; malloc'ed by training_peek */
    wb_train train; /* as on the device */
    double best;    /* lowest validation loss so far; INFINITY: none yet */
    long best_step;
    uint64_t text_hash; /* of the training text */
} run_state;

/* All ranks; rank 0 writes. scratch: 3 N floats on the host */
int training_save(
    const model *m, const run_state *s, const char *folder, float *scratch,
    wb_error *err);
/* peek: only the state, whose values must be possible; load: the weights and moments, into
 * the model, after a check of the file's checksum. */
int training_peek(run_state *s, const char *folder, wb_error *err);
int training_load(model *m, const char *folder, wb_error *err);

#endif
