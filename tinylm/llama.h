/* llama.h - the model: its sizes, where its weights and buffers lie, and its passes.
 *
 * A Llama-type decoder: RMSNorm, RoPE (half-split), attention with K <= H key/value heads,
 * SwiGLU, no biases, output matrix tied to the embedding or its own. Letters as in wb.h:
 * R = B*T rows of C channels; H query and K key/value heads of D; F hidden; V classes.
 *
 *     llama m;
 *     llama_create(&m, &config, B, T, LLAMA_TRAIN, &err);
 *     m.calls->step(&m, &recipe);          // accum micro-batches and the update
 *     llama_destroy(&m);
 *
 * Every pass only enqueues work on m.stream and takes all that changes from step to step
 * from device memory (tokens, wb_train), so that it can be captured once and replayed.
 * Everything on the device is one allocation, made by llama_create.
 */
#ifndef LLAMA_H
#define LLAMA_H
#include "file.h"
#include "ops.h"

#include <cuda_runtime_api.h>
#include <stdbool.h>

typedef enum llama_dtype { LLAMA_F32, LLAMA_BF16, LLAMA_F16, LLAMA_DTYPES } llama_dtype;

typedef struct llama_config {
    int layers;   /* >= 1 */
    int channels; /* C */
    int heads;    /* H */
    int kv_heads; /* K, divides H */
    int head_dim; /* D, even; H*D may differ from C */
    int hidden;   /* F */
    int vocab;    /* V */
    int context;  /* the most tokens it sees at once */
    bool tied;    /* the output matrix is the embedding */
    float eps, rope_base;
    llama_dtype dtype;
} llama_config;

/* One line about the first size that makes no model; 0 if all do. */
int llama_check(const llama_config *c, wb_error *err);

/* A weight under its Hugging Face name: rows x cols elements (cols 0: a vector of rows)
 * from `offset` of the flat buffers on. Packed products hold q, k, v (and gate, up) as
 * neighbouring rows, so each named weight is one contiguous piece. */
typedef struct llama_tensor {
    char name[96];
    size_t offset, rows, cols;
    float deviation; /* of the normal numbers it starts from; 0: it starts as ones */
} llama_tensor;

/* All weights, malloc'ed. */
llama_tensor *llama_tensors(const llama_config *c, int *count);

typedef struct llama_layer {                     /* void: elements of the model's dtype */
    void *wqkv, *wo, *wgu, *wd, *n1, *n2;        /* (W,C) (C,HD) (2F,C) (C,F) (C) (C) */
    float *dwqkv, *dwo, *dwgu, *dwd, *dn1, *dn2; /* their gradients */
    void *x1, *h1;  /* (R,C) residual stream before attention, and normalised */
    void *qkv;      /* (R,W) W = (H+2K)D: queries | keys | values */
    void *p, *att;  /* (B,H,T,T) attention weights; (R,HD) */
    void *x2, *h2;  /* (R,C) the same before the MLP */
    void *gu, *s;   /* (R,2F) gate | up; (R,F) */
    float *r1, *r2; /* (R) inverse rms of x1, x2 */
    void *cache;    /* (context,2KD) keys | values of the tokens so far; LLAMA_GENERATE */
} llama_layer;

typedef struct llama_recipe { /* what a training step needs besides the model */
    wb_schedule schedule;
    int accum; /* micro-batches of a step: token and target are (accum,B,T) */
    int growth;
    float dropout, beta1, beta2, adam_eps, decay, clip;
} llama_recipe;

typedef struct llama llama;
typedef struct llama_calls { /* one table per dtype: llama_pass.h */
    void (*step)(llama *m, const llama_recipe *r);
    /* one micro-batch: logits and losses, and (gradients) dparam += */
    void (*micro)(llama *m, const llama_recipe *r, int index, bool gradients);
    void (*evaluate)(llama *m); /* *m->eval_loss += sum of the losses of the batch */
    /* T tokens of one text at `token`, positions past..past+T-1 at `pos`: fills the caches
     * and m->out (V), the logits of the last one */
    void (*extend)(llama *m, int T, int past);
    void (*cast)(llama *m); /* param = master, rounded */
    void (*workspace)(llama *m);
} llama_calls;

typedef enum llama_use { LLAMA_TRAIN, LLAMA_EVALUATE, LLAMA_GENERATE } llama_use;

struct llama {
    llama_config config;
    llama_use use;
    int B, T, R, W,
        Vp; /* Vp: V rounded up to 64, rows of the table, width of a logits row */
    size_t N, decayed; /* parameters; [0,decayed) matrices, [decayed,N) norms */
    const llama_calls *calls;
    /* flat buffers with equal offsets */
    void *param;
    float *master; /* NULL for f32: param is it */
    float *m, *v, *grad;
    /* pieces of them, and activations */
    llama_layer *layer;    /* (layers), on the host */
    void *emb, *head, *nf; /* (Vp,C) (Vp,C) (C); head = emb when tied */
    float *demb, *dhead, *dnf;
    void *br;                               /* (R,C) what the last branch gave */
    void *xf, *hf, *logits;                 /* (R,C) (R,C) (R,Vp) */
    void *dx, *dbr, *dh, *datt, *dqkv, *ds; /* scratch of the backward pass */
    float *rf, *loss;                       /* (R) inverse rms; loss of each token */
    float *out;                             /* (V) logits for the sampler, always float */
    float *cis;                             /* (context,D/2,2) */
    int *token, *target;                    /* (accum,B,T) */
    int *pos;                               /* (T) */
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
int llama_create(
    llama *m, const llama_config *c, int B, int T, int accum, llama_use use,
    wb_error *err);
void llama_destroy(llama *m);

/* Normal numbers of mean 0, wb_random(seed), and ones. */
void llama_initialise(llama *m, uint64_t seed);
/* N floats to the exact weights of a model that trains (or is f32), and from there, rounded,
 * to param. */
void llama_set_weights(llama *m, const float *h_weights);
/* Any bytes between host and device, done when it returns. */
void llama_download(const llama *m, void *h, const void *device, size_t bytes);
void llama_upload(const llama *m, void *device, const void *h, size_t bytes);

size_t llama_element(llama_dtype dtype); /* bytes */
const char *llama_dtype_name(llama_dtype dtype);
bool llama_dtype_parse(const char *name, llama_dtype *dtype);

/* Stops with file:line when a CUDA call fails. */
#define CUDA_CHECK(call) cuda_check((call), #call, __FILE__, __LINE__)
void cuda_check(cudaError_t e, const char *call, const char *file, int line);

extern const llama_calls llama_calls_f32, llama_calls_bf16, llama_calls_f16;

#endif
