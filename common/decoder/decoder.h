/* decoder.h - a decoder at work, for both programs: prompts in chunks, then token by token.
 *
 * Two architectures from the same pieces: every layer is a temporal block (attention, or
 * Griffin's recurrent block) and a gated MLP, each behind an RMSNorm and added to the
 * residual stream. Weights lie where their owner put them: the decoder only points at
 * them; what it owns are states, caches and buffers, one allocation made by
 * decoder_create.
 *
 *     decoder d;
 *     decoder_create(&d, &config, &weights, &settings, blas, stream, &err);
 *     decoder_read(&d, tokens, n, base);   // B rows, behind what each has read before
 *     decoder_start(&d, NULL);
 *     decoder_place(&d, at);
 *     decoder_choose(&d);                  // the first token of each row
 *     decoder_step(&d);                    // reads it, draws the next; and so on
 *     decoder_destroy(&d);
 *
 * All that changes from token to token (tokens, positions, states, what was drawn) lies
 * in device memory, so that a step is one CUDA graph, recorded once and replayed. Which
 * tokens are read when, what has been drawn and when to stop is the business of what
 * stands above: tinylm/generator.c and recurrentgemma/engine/engine.c. Letters as in wb.h; B
 * rows are B texts at once. No state is cleared for a new text: a token at position 0
 * reads none.
 */
#ifndef DECODER_H
#define DECODER_H
#include "cuda_check.h"
#include "dtype.h"
#include "file.h"
#include "ops.h"

#include <stdint.h>

typedef struct decoder_config {
    wb_dtype dtype;               /* of weights and activations */
    int layers, C, H, K, D, F, V; /* D: see decoder_head */
    int table;                    /* rows of the embedding, >= V */
    int N;                        /* channels of a head that RoPE turns */
    int window;        /* tokens before its own that attention sees, or WB_ALL */
    int Cr, taps;      /* recurrent channels, in H gate blocks; taps of the convolution */
    int act;           /* WB_SWIGLU or WB_GEGLU */
    float eps, offset; /* norms: factor offset + w */
    float scale;       /* of the scores */
    float emb_scale, softcap, rope_base;
} decoder_config;

/* Head sizes that labs 05 and 07 take: D rounded up to a multiple of 8, at least 16. The
 * owner of the weights fills up each head's rows of wqkv and columns of wo with zeros;
 * scale and N stay those of the narrow head. */
static inline int decoder_head(int D)
{
    return D < 16 ? 16 : (D + 7) / 8 * 8;
}

/* Elements of the dtype; NULL where this architecture has none. */
typedef struct decoder_layer {
    bool recurrent;
    const void *n1, *n2;           /* (C) */
    const void *wgu, *bgu;         /* (2F,C) gate rows, then up rows; (2F) */
    const void *wd, *bd;           /* (C,F); (C) */
    const void *wo, *bo;           /* (C,H*D) or (C,Cr); (C) */
    const void *wqkv;              /* ((H+2K)D,C) */
    const void *wxy, *bxy;         /* (2Cr,C) x rows, then y rows; (2Cr) */
    const void *cw, *cb;           /* (Cr,taps); (Cr) */
    const void *wx, *bx, *wa, *ba; /* (H,M,M) (H,M), M = Cr/H: input, recurrence gate */
    const void *ap;                /* (Cr) */
    /* what it remembers, pointed at by decoder_create in the decoder's own copy */
    void *keys, *values; /* (B,S,K,D) rings, by position mod S */
    void *conv;          /* (B,taps,Cr) ring of the convolution's inputs */
    float *state;        /* (B,Cr) of the RG-LRU */
} decoder_layer;

typedef struct decoder_weights {
    const decoder_layer *layer;  /* (layers); copied */
    const void *emb, *head, *nf; /* (table,C) (V,C) (C); head may be emb */
} decoder_weights;

typedef struct decoder_settings {
    int B;          /* rows */
    int T;          /* tokens of a row that are read at once */
    int P;          /* the most tokens of a row in one decoder_read */
    int positions;  /* the most tokens of a row: rows of the RoPE table */
    int drawn;      /* columns of `out` */
    int score;      /* rows whose logits decoder_logits gives at once; 0: never called */
    bool continues; /* readings go on behind others, besides chunks of one reading */
    bool by_position; /* the sampler's clock: the position, not how many were drawn */
    bool graph;       /* a step is a graph; false: launch by launch */
    float temperature, top_p, penalty; /* see sample_f32 */
    int top_k;
    const int *stop; /* (stops) on the host, copied: see generate_advance */
    int stops;
} decoder_settings;

typedef struct decoder decoder;
/* Called by decoder_read, for tests: x (rows,C) is the residual stream of this chunk's
 * tokens behind the embedding (layer -1) and behind each layer (0 ..), then, where
 * decoder_norm is called, normalised (layer = layers). Behind a layer the buffers of its
 * block (xy, c, px, pa, h; qkv, att; gu, s) still hold what it left in them. */
typedef void decoder_watch(void *user, decoder *d, int layer, const void *x, int T);

struct decoder {
    decoder_config config;
    decoder_settings set;
    decoder_weights weights; /* layer: the copy below */
    decoder_layer *layer;    /* (layers), on the host, with states */
    const struct decoder_calls *calls;
    wb_blas *blas;
    cudaStream_t stream;
    int B, T, P, W;       /* W = (H+2K)D */
    int S;                /* slots of a ring; a token sees itself and S before it */
    bool fuse;            /* norm and activation inside the products of a step */
    decoder_watch *watch; /* NULL: nobody */
    void *watch_user;
    /* false: of the last layer a reading computes what follows the temporal block only
     * for each text's last token. True before decoder_norm; under a watch it is as if
     * true. */
    bool every_row;
    /* reading: R = B*T rows; a step uses the first B */
    bool fresh;                  /* no row goes on: no keys but those of the reading */
    int *prompt, *n, *base;      /* (B,P) (B) (B) */
    int *tok, *pos, *len, *last; /* (B,T) (B,T) (B) (B): prompt_chunk */
    void *x, *u;                 /* (R,C) residual stream, normalised */
    void *qkv, *att;             /* (R,W) (R,HD) */
    void *all_k, *all_v;         /* (B,S+T,K,D) keys of before and of a later chunk */
    void *xy, *c, *px, *pa, *h;  /* (R,2Cr) (R,Cr) x 4: a recurrent block */
    void *gu, *s;                /* (R,2F) (R,F) */
    /* steps */
    void *end;        /* (B,C) residual stream of each row's last token */
    void *end_branch; /* (B,max(HD,Cr)) of a reading: what the last layer's wo reads */
    bool unfinished;  /* so `end` is the stream in front of that */
    float *logits;    /* (max(B,score),V) before the soft cap */
    int *token, *cur; /* (B) newest token and its position: not read yet */
    int *done, *drawn, *out; /* (B) (B) (B,set.drawn) what was drawn */
    int *stop;               /* (stops) */
    uint64_t *seed;          /* (B) */
    uint8_t *seen;           /* (B,V), NULL without a penalty */
    float *cis;              /* (positions,N/2,2) */
    void *ws;
    size_t ws_bytes;
    void *arena;
    size_t arena_bytes, cache_bytes; /* all of the above; the caches' part of it */
    cudaGraphExec_t step_graph;
    long steps; /* enqueued so far: the second one is recorded */
};

/* blas and stream stay the caller's, and outlive the decoder. */
int decoder_create(
    decoder *d, const decoder_config *c, const decoder_weights *w,
    const decoder_settings *set, wb_blas *blas, cudaStream_t stream, wb_error *err);
void decoder_destroy(decoder *d); /* of a decoder that is all 0: nothing */

/* What all these enqueue runs in order, on the stream. tokens, n, base, done, at: (B) on
 * the host.
 *
 * decoder_begin sends n[b] tokens of each row, which are read behind base[b] others; then
 * decoder_chunk reads columns t0 .. t0+T-1 of them, T <= d->T. Rows that end there leave
 * in `end` what their next token is drawn from. decoder_read does both, in chunks of
 * d->T; a row with n[b] = 0 stays as it is. */
void decoder_begin(decoder *d, const int *const *tokens, const int *n, const int *base);
void decoder_chunk(decoder *d, int t0, int T);
void decoder_read(decoder *d, const int *const *tokens, const int *n, const int *base);

/* Before a row's first token is drawn: nothing drawn so far; done (NULL: none) says which
 * rows draw nothing. */
void decoder_start(decoder *d, const int *done);
/* at[b]: the position of the last token read (decoder_choose adds 1), or, where steps go
 * on with `token`, of that. */
void decoder_place(decoder *d, const int *at);
/* From `end`: the next token of each row. */
void decoder_choose(decoder *d);
/* Reads `token`, draws the next. */
void decoder_step(decoder *d);

/* All rows of the last chunk of T tokens (read with every_row): normalised, into `u`;
 * then the logits behind the soft cap of `rows` <= set.score of these, from row r0 on,
 * into `logits`. */
void decoder_norm(decoder *d, int T);
void decoder_logits(decoder *d, int r0, int rows);

/* The tokens that a row has had, for the repetition penalty (nothing without one):
 * count[b] from tokens[b] on. */
int decoder_mark(decoder *d, const int *const *tokens, const int *count, wb_error *err);

/* Bytes between host and device, done when they return. */
void decoder_upload(decoder *d, void *device, const void *h, size_t bytes);
void decoder_download(decoder *d, void *h, const void *device, size_t bytes);

/* Bytes of all layers' caches by their shapes: what `cache_bytes` must be but for the
 * alignment of each piece. */
size_t
decoder_cache_formula(const decoder_config *c, const decoder_layer *layer, int B, int S);

/* --- used by decoder.c and tests: one table per dtype, pass.h ----------------------- */
typedef struct decoder_calls {
    void (*read)(decoder *d, int t0, int T, bool fresh, bool every_row);
    void (*norm)(decoder *d, int T);
    void (*logits)(decoder *d, int r0, int rows);
    void (*finish)(decoder *d);
    void (*choose)(decoder *d);
    void (*step)(decoder *d);
    size_t (*workspace)(const decoder *d);
} decoder_calls;
extern const decoder_calls decoder_calls_f32, decoder_calls_bf16, decoder_calls_f16;

#endif
