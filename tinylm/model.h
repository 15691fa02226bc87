/* model.h - the model: its sizes, where its weights and buffers lie, and its passes.
 *
 * A decoder of one of two architectures. Every layer is a temporal block and an MLP, each
 * behind an RMSNorm and added to the residual stream:
 *     llama     attention; SwiGLU
 *     griffin   two layers with an RG-LRU, one with attention in a window, and so on;
 *               GeGLU; biases; norms of weight 1 + w; soft cap of the logits
 * Letters as in wb.h: R = B*T rows of C channels; H query and K key/value heads of D; F
 * hidden; V classes; Cr recurrent channels in H gate blocks.
 *
 *     model m;
 *     model_create(&m, &config, B, T, accum, MODEL_TRAIN, &err);
 *     m.calls->step(&m, &recipe);          // accum micro-batches and the update
 *     model_destroy(&m);
 *
 * Every pass only enqueues work on m.stream and takes all that changes from step to step
 * from device memory (tokens, wb_train), so that it can be captured once and replayed.
 * Everything on the device is one allocation, made by model_create.
 */
#ifndef MODEL_H
#define MODEL_H
#include "cuda_check.h"
#include "dtype.h"
#include "file.h"
#include "ops.h"

#include <stdbool.h>

typedef enum model_arch { MODEL_LLAMA, MODEL_GRIFFIN, MODEL_ARCHS } model_arch;

typedef struct model_config {
    model_arch arch;
    int layers;   /* >= 1 */
    int channels; /* C */
    int heads;    /* H; of griffin also the blocks of the gates */
    int kv_heads; /* K, divides H */
    int head_dim; /* D; H*D may differ from C */
    int hidden;   /* F */
    int vocab;    /* V */
    int context;  /* the most tokens it sees at once */
    bool tied;    /* the output matrix is the embedding */
    float eps, rope_base;
    wb_dtype dtype;
    bool gemm_attention; /* by matrix products instead of lab 05: llama only */
    /* griffin */
    char blocks[64]; /* kinds of layers, repeated and cut: r recurrent, a attention */
    int recurrent;   /* Cr, a multiple of H */
    int taps;        /* of the convolution */
    int window;      /* tokens that attention sees before its own */
    bool hf_window;  /* one less, as transformers has it */
    float softcap;   /* of the logits; 0: none */
} model_config;

/* One line about the first size that makes no model; 0 if all do. */
int model_check(const model_config *c, wb_error *err);
bool model_is_recurrent(const model_config *c, int layer);
/* Sets gemm_attention. how: "lab05"; "gemm", its rung zero; or "auto", that is lab 05 unless
 * model_lab05_refuses. */
int model_choose_attention(model_config *c, const char *how, wb_error *err);
/* NULL, or why lab 05 does not take this model. */
const char *model_lab05_refuses(const model_config *c);

/* --- weights ------------------------------------------------------------------------ */

typedef struct weight {
    void *w;  /* elements of the model's dtype; NULL: this architecture has none */
    float *d; /* its gradient, when training */
} weight;

/* A weight under its Hugging Face name: `count` elements from `offset` of the flat buffers
 * on. Packed products hold q, k, v (and gate, up, and x, y) as neighbouring rows, so each
 * named weight is one contiguous piece. */
typedef enum model_start {
    START_NORMAL,
    START_ONES,
    START_ZEROS,
    START_RING
} model_start;
typedef struct model_tensor {
    char name[96];
    size_t offset, count, shape[3];
    int ndim;
    bool decayed;      /* weight decay applies */
    model_start start; /* RING: a_param of the RG-LRU */
    float deviation;   /* of START_NORMAL */
    int layer;         /* -1: of the whole model */
    size_t slot;       /* the `weight` in model_layer (or model) that it is a part of */
    size_t room;       /* elements that it takes: count, or more */
} model_tensor;

/* All weights, malloc'ed; each of N and decayed may be NULL: see model. */
model_tensor *
model_tensors(const model_config *c, int *count, size_t *N, size_t *decayed);

/* --- a layer ------------------------------------------------------------------------ */

typedef struct model_layer { /* void: elements of the model's dtype */
    weight n1, n2;           /* (C) norms before the temporal block, before the MLP */
    weight wgu, bgu;         /* (2F,C) gate rows, then up rows; (2F) */
    weight wd, bd;           /* (C,F); (C) */
    weight wo, bo;   /* (C,HD) or (C,Cr), the temporal block's last product; (C) */
    weight wqkv;     /* (W,C) attention */
    weight wxy, bxy; /* (2Cr,C) x rows, then y rows; (2Cr) recurrent, as what follows */
    weight cw, cb;   /* (Cr,taps); (Cr) */
    weight wx, bx, wa, ba; /* (H,M,M), (H,M), M = Cr/H: input gate, recurrence gate */
    weight ap;             /* (Cr) */

    bool recurrent; /* the kind of the temporal block */
    void *x1, *h1;  /* (R,C) residual stream before it, and normalised */
    void *x2, *h2;  /* (R,C) the same before the MLP */
    void *gu, *s;   /* (R,2F) gate | up; (R,F) */
    float *r1, *r2; /* (R) inverse rms of x1, x2 */
    /* attention */
    void *qkv;  /* (R,W) W = (H+2K)D: queries | keys | values */
    void *att;  /* (R,HD) */
    float *lse; /* (B,H,T) lab 05 */
    void *p;    /* (B,H,T,T) attention weights; rung zero */
    /* recurrent */
    void *xy;          /* (R,2Cr) */
    void *c, *px, *pa; /* (R,Cr) convolved; before the sigmoids of the gates */
    void *g;           /* (R,Cr) what wo reads */
    float *h;          /* (R,Cr) states */
} model_layer;

typedef struct model_recipe { /* what a training step needs besides the model */
    wb_schedule schedule;
    int accum;        /* micro-batches of a step: token and target are (accum,B,T) */
    float loss_scale; /* to start from: 1 but for f16 */
    int growth;       /* good steps that double it; 0: never */
    float dropout, beta1, beta2, adam_eps, decay, clip;
} model_recipe;

typedef struct model model;
typedef struct model_calls { /* one table per dtype: pass.h */
    void (*step)(model *m, const model_recipe *r);
    /* one micro-batch: logits and losses, and (gradients) dparam += */
    void (*micro)(model *m, const model_recipe *r, int index, bool gradients);
    void (*evaluate)(model *m); /* *m->eval_loss += sum of the losses of the batch */
    void (*cast)(model *m);     /* param = master, rounded */
    void (*workspace)(model *m);
} model_calls;

typedef enum model_use { MODEL_TRAIN, MODEL_EVALUATE } model_use;

struct model {
    model_config config;
    model_use use;
    int B, T, R, W;
    int Vp; /* V rounded up to 64: rows of the table, width of a logits row */
    size_t N,
        decayed; /* parameters; [0,decayed) with weight decay, [decayed,N) without */
    const model_calls *calls;
    /* what the architectures differ in, besides their blocks */
    float offset;    /* of the norms: factor offset + w */
    float emb_scale; /* of the embedding */
    float scale;     /* of the scores */
    int rotated;     /* channels of a head that RoPE turns */
    int window;      /* tokens before its own that attention sees, or WB_ALL */
    /* flat buffers with equal offsets */
    void *param;
    float *master; /* NULL for f32: param is it */
    float *m, *v, *grad;
    /* pieces of them, and activations */
    model_layer *layer;     /* (layers), on the host */
    weight emb, head, nf;   /* (Vp,C) (Vp,C) (C); head is emb when tied */
    void *br;               /* (R,C) what the last branch gave */
    void *xf, *hf, *logits; /* (R,C) (R,C) (R,Vp) */
    void *dx, *dbr, *dh;    /* (R,C) scratch of the backward pass, as what follows */
    void *ds, *datt, *dqkv; /* (R,F) (R,HD) (R,W) */
    void *dg, *dxy, *dc, *dpx, *dpa; /* (R,Cr) (R,2Cr) (R,Cr) (R,Cr) (R,Cr) */
    float *rf, *loss;                /* (R) inverse rms; loss of each token */
    float *cis;                      /* (context,rotated/2,2) */
    int *token, *target;             /* (accum,B,T) */
    wb_train *train;
    float *eval_loss;
    void *ws;
    size_t ws_bytes;
    wb_blas *blas;
    cudaStream_t stream;
    void *arena;
    size_t arena_bytes;
};

/* accum: micro-batches whose tokens fit. The buffers are zero, the weights too. */
int model_create(
    model *m, const model_config *c, int B, int T, int accum, model_use use,
    wb_error *err);
void model_destroy(model *m);

/* Random numbers from wb_random(seed), ones and zeros, as model_tensors says. */
void model_initialise(model *m, uint64_t seed);
/* N floats to the exact weights of a model that trains (or is f32), and from there, rounded,
 * to param. */
void model_set_weights(model *m, const float *h_weights);
/* Any bytes between host and device, done when it returns. */
void model_download(const model *m, void *h, const void *device, size_t bytes);
void model_upload(const model *m, void *device, const void *h, size_t bytes);

const char *model_dtype_name(wb_dtype dtype);
bool model_dtype_parse(const char *name, wb_dtype *dtype);
const char *model_arch_name(model_arch arch);
bool model_arch_parse(const char *name, model_arch *arch);

extern const model_calls model_calls_f32, model_calls_bf16, model_calls_f16;

#endif
