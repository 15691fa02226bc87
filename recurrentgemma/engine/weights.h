/* weights.h - the weights of a Hugging Face model folder, checked and brought to the device.
 *
 *     FOLDER/config.json
 *     FOLDER/model.safetensors, or model.safetensors.index.json and its shards
 *
 * Tensor names as Hugging Face's RecurrentGemmaForCausalLM has them, or those of the official
 * torch checkpoint (blocks.0.recurrent_block...), in F32, F16, BF16 or a mixture. Sizes are
 * read from the tensors and must be those of the config, but for the vocabulary, which is
 * the embedding's. A missing tensor, one that belongs to nothing, a wrong shape or dtype, a
 * truncated or missing file: one sentence that names it.
 *
 * Files are mapped and sent in pieces of some MB: no copy of the weights on the host.
 */
#ifndef WEIGHTS_H
#define WEIGHTS_H
#include "decoder.h"
#include "griffin/config.h"

typedef struct rg_weights {
    decoder_config shape;        /* heads filled up: see decoder_head */
    decoder_layer *layer;        /* (layers) */
    const void *emb, *head, *nf; /* (table,C) (table,C) (C); head is emb when tied */
    size_t parameters;           /* in the files, the tied head once */
    size_t bytes;                /* on the device */
    void *arena;
} rg_weights;

/* auto_dtype: take bf16 if the embedding is bf16, else f32. The window of `shape` is
 * c->window, or one less with c->hf_window. Enqueued on the stream and done when it returns;
 * on an error nothing is left to free. */
int rg_weights_load(
    rg_weights *w, const griffin_config *c, const char *folder, bool auto_dtype,
    wb_dtype dtype, cudaStream_t stream, wb_error *err);
void rg_weights_free(rg_weights *w);

#endif
