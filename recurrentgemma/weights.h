/* weights.h - a Hugging Face model folder, checked and brought to the device.
 *
 *     FOLDER/config.json
 *     FOLDER/model.safetensors, or model.safetensors.index.json and its shards
 *
 * Tensor names as Hugging Face's RecurrentGemmaForCausalLM has them, or those of the official
 * torch checkpoint (blocks.0.recurrent_block...). Sizes are read from the tensors and must
 * be those of the config. A missing tensor, one that belongs to nothing, a wrong shape or
 * dtype, a truncated or missing file: one sentence that names it.
 */
#ifndef WEIGHTS_H
#define WEIGHTS_H
#include "decoder.h"

typedef struct rg_config {
    int layers, channels, heads, head_dim, hidden, vocab, recurrent, taps, window;
    float eps, rope_base, softcap; /* softcap 0: none */
    bool scaled;                   /* embedding times sqrt(channels), in bf16 */
    bool hf_window;                /* TinyLM's own key: trained with W keys */
    char blocks[64];               /* kinds of layers, repeated and cut: r recurrent, a attention */
    int bos, pad, eos[8], eos_count; /* bos, pad -1: none */
} rg_config;

/* Old and new keys of RoPE; unknown keys are ignored. */
int rg_config_read(rg_config *c, const char *folder, wb_error *err);
int rg_config_parse(
    rg_config *c, const char *json, size_t bytes, const char *name, wb_error *err);

typedef struct rg_weights {
    decoder_config shape; /* heads filled up: see decoder_head */
    decoder_layer *layer; /* (layers) */
    const void *emb, *head, *nf; /* (V,C) (V,C) (C); head is emb when tied */
    size_t parameters, bytes;    /* in the files; on the device */
    void *arena;
} rg_weights;

/* auto_dtype: take bf16 if the files are bf16, else f32. Enqueued on the stream and done when
 * it returns. */
int rg_weights_load(
    rg_weights *w, const rg_config *c, const char *folder, bool auto_dtype, wb_dtype dtype,
    cudaStream_t stream, wb_error *err);
void rg_weights_free(rg_weights *w);

#endif
