/* generator.h - texts from a model: the prompt in one pass, then token by token, with the
 * sampler on the device.
 *
 *     generator g;
 *     generator_create(&g, &m, &settings, &err);
 *     generator_start(&g, prompts, lengths, seeds, &err);   // B texts at once
 *     generator_write(&g, n);                               // n tokens more of each
 *     g.text[b], g.count[b]                                 // prompt and what was written
 *
 * All that changes from token to token (tokens, positions, texts, states) lies in device
 * memory, so a step is one CUDA graph, recorded once and replayed; generator_write waits
 * only behind its last step. A row's text depends on its own prompt and seed alone.
 *
 * What a token sees. In a Griffin-type model the states and the window of the last keys,
 * however long the text gets. A Llama-type model has learnt `context` positions: a text
 * that outgrows them slides, that is, the newer half of what the model sees is read again
 * from position 0. With cache false all that the model can see is read anew for each
 * token, by the same rule, so greedy texts are equal.
 */
#ifndef GENERATOR_H
#define GENERATOR_H
#include "model.h"

typedef struct generator_settings {
    int batch;            /* B texts at once */
    int tokens;           /* the most that generator_write gives to a text */
    int longest;          /* the longest prompt */
    bool cache, graph;    /* see above; false: launch by launch */
    float temperature;    /* 0: always the likeliest */
    int top_k;            /* 0: all */
    float top_p, penalty; /* 1: all; 1: none */
} generator_settings;

typedef struct generator_layer {
    const void *wqkv, *wo; /* the model's, or copies with wider heads: see D */
    /* what it remembers */
    void *keys, *values; /* (B,S,K,D) rings, by position mod S */
    void *conv;          /* (B,taps,Cr) ring of the convolution's inputs */
    float *state;        /* (B,Cr) of the RG-LRU */
} generator_layer;

typedef struct generator {
    model *m; /* its weights, stream and handles are used, no more */
    generator_settings set;
    const struct generator_calls *calls;
    int B, T; /* T: tokens of a prompt that are read at once */
    int D, W; /* channels of a head, (H+2K)D: the model's, or filled up with zeros to what
                 labs 05 and 07 take */
    int S;    /* slots of a ring; a token sees itself and S before it */
    int P, positions;       /* columns of `prompt`; rows of `cis` */
    bool slides;            /* see above */
    bool fuse;              /* norm and activation inside the products of a step */
    generator_layer *layer; /* (layers), on the host */
    /* prompts: R = B*T rows; a step uses the first B */
    int *prompt, *n, *base;      /* (B,P) (B) (B) */
    int *tok, *pos, *len, *last; /* (B,T) (B,T) (B) (B): prompt_chunk */
    void *x, *u;                 /* (R,C) residual stream, normalised */
    void *qkv, *att;             /* (R,W) (R,HD) */
    void *all_k, *all_v;         /* (B,S+T,K,D) keys of before and of a later chunk */
    void *xy, *c, *px, *pa, *h;  /* (R,2Cr) (R,Cr) x 4: a recurrent block */
    void *gu, *s;                /* (R,2F) (R,F) */
    /* steps */
    void *end;               /* (B,C) residual stream of each text's last token */
    float *logits;           /* (B,V) */
    int *token, *cur;        /* (B) newest token and its position: not read yet */
    int *done, *drawn, *out; /* (B) (B) (B,tokens) what was drawn */
    uint64_t *seed;          /* (B) */
    uint8_t *seen;           /* (B,V), NULL without a penalty */
    float *cis;              /* (positions,N/2,2) */
    void *ws;
    size_t ws_bytes;
    void *arena;
    size_t arena_bytes, cache_bytes; /* all of the above; the caches' part of it */
    cudaGraphExec_t step_graph;
    int steps; /* enqueued so far: the second one is recorded */
    /* on the host, up to date when generator_write returns */
    int **text, *count; /* (B) prompt and drawn tokens; how many */
    int *start, *read;  /* (B) first token that the model sees; how many it read */
    int *again;         /* (B) how many to read again */
    int *h_rows;        /* scratch, (B,max(P,tokens)) */
    int written;        /* tokens drawn so far, in each text */
} generator;

/* m: loaded, and kept until after generator_destroy. */
int generator_create(
    generator *g, model *m, const generator_settings *set, wb_error *err);
void generator_destroy(generator *g);

/* Starts a text from each prompt (at least one token) and draws its first token. */
int generator_start(
    generator *g, const int *const *prompt, const int *length, const uint64_t *seed,
    wb_error *err);
/* n more tokens for each text. */
void generator_write(generator *g, int n);

/* Bytes of all layers' caches by their shapes: what `cache_bytes` must be but for the
 * alignment of each piece. */
size_t generator_cache_formula(const model_config *c, int B, int S);

/* --- used by generator.c and the tests: one table per dtype, generator_pass.h --------- */
typedef struct generator_calls {
    /* columns t0 .. t0+T-1 of the prompts; leaves the last tokens' rows in `end` */
    void (*read)(generator *g, int t0, int T);
    void (*choose)(generator *g); /* from `end`: the next token of each text */
    void (*step)(generator *g);   /* reads `token`, draws the next */
    size_t (*workspace)(const generator *g);
} generator_calls;
extern const generator_calls generator_calls_f32, generator_calls_bf16,
    generator_calls_f16;

#endif
