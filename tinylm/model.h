/* model.h - a model on the device: its weights, buffers and passes.
 *
 *     model m;
 *     model_create(&m, &config, B, T, accum, MODEL_TRAIN, &err);
 *     m.calls->step(&m, &recipe);          // accum micro-batches and the update
 *     model_destroy(&m);
 *
 * Every pass only enqueues work on m.stream and reads all that changes from step to step
 * from device memory (tokens, wb_train), so that it can be captured once and replayed.
 * Everything on the device is one allocation, made by model_create.
 *
 * Letters in shapes as in model_shape.h and wb.h: B sequences of T tokens are R = B*T
 * rows; W = (H+2K)D; Vp is V padded.
 */
#ifndef MODEL_H
#define MODEL_H
#include "config.h"
#include "cuda_check.h"
#include "model_weights.h"
#include "ops.h"
#include "ranks.h"
#include "recipe.h"

/* What a layer keeps for the backward pass. void: elements of the model's dtype. */
typedef struct model_layer {
    const layer_weights *w;
    const layer_weights *grad; /* float, when training */
    bool recurrent;            /* the kind of the temporal block */

    void *residual1, *normed1; /* (R,C) before the temporal block */
    void *residual2, *normed2; /* (R,C) before the MLP */
    float *rstd1, *rstd2;      /* (R) inverse rms of residual1, residual2 */
    void *gate_up, *activated; /* (R,2F) gate | up; (R,F) */
    /* attention */
    void *qkv;           /* (R,W) queries | keys | values */
    void *attention;     /* (R,HD) */
    float *lse;          /* (B,H,T) lab 05 */
    void *probabilities; /* (B,H,T,T) rung zero */
    /* recurrent block */
    void *xy;              /* (R,2Cr) */
    void *conv_out;        /* (R,Cr) */
    void *gate_x, *gate_a; /* (R,Cr) before the sigmoid */
    void *recurrent_out;   /* (R,Cr) */
    float *state;          /* (R,Cr) */
} model_layer;

typedef struct model model;
typedef struct model_calls { /* one table per dtype: pass.h */
    void (*step)(model *m, const model_recipe *r);
    /* one micro-batch: logits and losses, and with `gradients` also dparam += */
    void (*micro)(model *m, const model_recipe *r, int index, bool gradients);
    void (*evaluate)(model *m); /* *m->eval_loss += sum of the losses of the batch */
    void (*cast)(model *m, const float *weights); /* param = weights, rounded */
    void (*workspace)(model *m);
} model_calls;

typedef enum model_use { MODEL_TRAIN, MODEL_EVALUATE } model_use;

struct model {
    model_config config;
    model_use use;
    int batch, length, rows; /* B, T, R */
    int qkv_width;           /* W */
    int padded_vocab;        /* Vp: rows of the table, width of a row of logits */
    size_t parameters;       /* N: elements of each flat buffer */
    size_t decayed;          /* [0,decayed) with weight decay, [decayed,N) without */
    const model_calls *calls;
    /* constants in which the architectures differ */
    float norm_offset; /* a norm multiplies by norm_offset + w */
    float embedding_scale;
    float score_scale; /* of the attention scores */
    int window;        /* keys before its own that a token sees, or WB_ALL */
    /* flat buffers (N) with equal offsets */
    void *param;
    float *master; /* NULL for f32: param is it */
    float *adam_m, *adam_v, *grad;
    /* Several ranks: the batch is this rank's rows. Sharded, master, adam_m and adam_v
     * hold this rank's parts, packed (N/size); shard_grad: their gradients, summed. */
    const ranks *ranks;
    bool sharded;
    float *shard_grad;
    struct reduction *reduction; /* NULL: one rank */
    /* pointers into param and grad */
    model_weights weights, gradients;
    /* activations */
    model_layer *layer;                  /* (layers), on the host */
    void *branch;                        /* (R,C) output of the last branch */
    void *final_residual, *final_normed; /* (R,C) */
    float *final_rstd;                   /* (R) */
    void *logits;                        /* (R,Vp) */
    float *loss;                         /* (R) */
    /* gradients of activations: scratch of the backward pass */
    void *d_residual, *d_branch, *d_normed; /* (R,C) */
    void *d_activated;                      /* (R,F) */
    void *d_attention, *d_qkv;              /* (R,HD) (R,W) */
    void *d_recurrent_out, *d_xy;           /* (R,Cr) (R,2Cr) */
    void *d_conv_out, *d_gate_x, *d_gate_a; /* (R,Cr) */
    float *rope_table;                      /* (T,rotated/2,2) */
    int *token, *target;                    /* (accum,B,T) */
    wb_train *train;
    float *eval_loss;
    void *workspace;
    size_t workspace_bytes;
    wb_blas *blas;
    cudaStream_t stream;
    void *arena;
    size_t arena_bytes;
};

/* accum: micro-batches whose tokens fit. Buffers and weights start as zeros. */
int model_create(
    model *m, const model_config *c, int batch, int length, int accum, model_use use,
    wb_error *err);
/* The same for one of several ranks that train together; sharded: size divides 64. */
int model_create_rank(
    model *m, const model_config *c, int batch, int length, int accum, const ranks *r,
    bool sharded, wb_error *err);
void model_destroy(model *m);

/* initialise.c: random numbers from wb_random(seed), ones and zeros, as model_tensors
 * says. */
void model_initialise(model *m, uint64_t seed);
/* N floats to the exact weights of a model that trains (or is f32), and from there, rounded, to
 * param. */
void model_set_weights(model *m, const float *h_weights);
/* Any bytes between host and device; done on return. */
void model_download(const model *m, void *h, const void *device, size_t bytes);
void model_upload(const model *m, void *device, const void *h, size_t bytes);

extern const model_calls model_calls_f32, model_calls_bf16, model_calls_f16;

#endif
