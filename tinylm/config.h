/* config.h - the configuration of a model: its architecture, sizes and dtype.
 *
 * A decoder of one of two architectures. Every layer is a temporal block and an MLP, each
 * after an RMSNorm and added to the residual stream:
 *     llama     attention; SwiGLU
 *     griffin   two layers with an RG-LRU, one with attention in a window, and so on; GeGLU;
 *               biases; norms with weight 1 + w; soft cap of the logits
 */
#ifndef CONFIG_H
#define CONFIG_H
#include "dtype.h"
#include "file.h"
#include "model_shape.h"

typedef enum model_arch { MODEL_LLAMA, MODEL_GRIFFIN, MODEL_ARCHS } model_arch;

typedef struct model_config {
    model_arch arch;
    model_shape shape; /* context: sequence length in training, at least 1 */
    wb_dtype dtype;
    bool gemm_attention; /* batched GEMMs instead of lab 05: llama only */
} model_config;

/* 0 if every size is valid; else -1, with one line about the first that is not. */
int model_check(const model_config *c, wb_error *err);
/* Sets gemm_attention. how: "lab05"; "gemm", its rung zero; or "auto", which is lab 05
 * unless model_lab05_refuses. */
int model_choose_attention(model_config *c, const char *how, wb_error *err);
/* NULL, or why lab 05 does not take this model. */
const char *model_lab05_refuses(const model_config *c);

const char *model_arch_name(model_arch arch);
bool model_arch_parse(const char *name, model_arch *arch);

#endif
