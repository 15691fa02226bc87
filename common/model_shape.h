/* model_shape.h - the sizes of a model: the one description that TinyLM, the
 * RecurrentGemma engine and the decoder under both share. Configurations embed it and add
 * what is theirs.
 *
 * The letters are those of the kernels' contracts (wb.h) and of shapes in comments.
 */
#ifndef MODEL_SHAPE_H
#define MODEL_SHAPE_H
#include <stdbool.h>
#ifdef __cplusplus
extern "C" {
#endif

typedef struct model_shape {
    int layers;
    int channels; /* C: width of the residual stream */
    int heads;    /* H: query heads; in Griffin also the blocks of the gates */
    int kv_heads; /* K, divides H */
    int head_dim; /* D; H*D may differ from C */
    int rotated;  /* channels of a head that RoPE rotates: even, at most D */
    int hidden;   /* F: width of the MLP */
    int vocab;    /* V */
    int context;  /* maximum sequence length in training; 0: not given */
    float eps;    /* inside the root of RMSNorm */
    float rope_base;
    bool tied; /* the output matrix is the embedding */
    /* Griffin; all 0 in a Llama-type model */
    char blocks[64]; /* kinds of layers, repeated and cut: r recurrent, a attention */
    int recurrent;   /* Cr: recurrent channels, a multiple of H */
    int conv_width;  /* inputs that the temporal convolution covers */
    int window;      /* W: attention sees a token's own key and W before it */
    bool hf_window;  /* W keys in all, as transformers computes it */
    bool scaled;     /* the embedding is multiplied by shape_embedding_scale */
    float softcap;   /* of the logits; 0: none */
} model_shape;

/* The kind of a layer's temporal block. */
bool shape_is_recurrent(const model_shape *s, int layer);
/* Keys before its own that a token sees: W, W - 1 with hf_window, or WB_ALL in a model
 * without a window. */
int shape_window(const model_shape *s);
/* sqrt(C) rounded to bf16, whatever the model's dtype, as in the published models; 1
 * unless the embedding is scaled. */
float shape_embedding_scale(const model_shape *s);
/* V rounded up to whole tiles of the GEMM for the logits: rows of the embedding table. */
int shape_padded_vocab(const model_shape *s);

#ifdef __cplusplus
}
#endif
#endif
