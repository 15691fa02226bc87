/* weights.h - the weights of a Hugging Face model folder, checked and uploaded to the
 * device.
 *
 *     FOLDER/config.json
 *     FOLDER/model.safetensors, or model.safetensors.index.json and its shards
 *
 * Tensor names as in Hugging Face's RecurrentGemmaForCausalLM, or as in the official
 * torch checkpoint (blocks.0.recurrent_block...), in F32, F16, BF16 or a mixture. The
 * sizes of the tensors must match the config, except for the vocabulary, which is the
 * embedding's. A missing or unexpected tensor, a wrong shape or dtype, a truncated or
 * missing file gives one sentence that names it.
 *
 * Files are mapped and uploaded in pieces of a few MB: the host keeps no copy of the
 * weights.
 */
#ifndef WEIGHTS_H
#define WEIGHTS_H
#include "decoder.h"
#include "griffin/config.h"

typedef struct rg_weights {
    decoder_config config; /* heads padded: see decoder_head */
    model_weights at;
    size_t parameters; /* in the files; a tied head counts once */
    size_t bytes;      /* on the device */
    void *arena;
} rg_weights;

/* auto_dtype: take bf16 if the embedding is bf16, else f32. Enqueued on the stream and
 * done on return; on an error there is nothing to free. */
int rg_weights_load(
    rg_weights *w, const griffin_config *c, const char *folder, bool auto_dtype,
    wb_dtype dtype, cudaStream_t stream, wb_error *err);
void rg_weights_free(rg_weights *w);

#endif
