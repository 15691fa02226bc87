/* decoder.h - a decoder at work: prompts in chunks, then token by token, for both programs.
 *
 * Two architectures from the same pieces: every layer is a temporal block (attention, or
 * Griffin's recurrent block) and a gated MLP, each behind an RMSNorm and added to the residual
 * stream. Weights lie where their owner put them: the decoder only points at them; what it
 * owns are states, caches and buffers, one allocation made by decoder_create.
 *
 * All that changes from token to token (tokens, positions, states, what was drawn) lies in
 * device memory, so that a step is one CUDA graph, recorded once and replayed. Letters as in
 * wb.h; B rows are B texts at once.
 */
#ifndef DECODER_H
#define DECODER_H
#include "dtype.h"
#include "file.h"

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct wb_blas wb_blas;

typedef struct decoder_config {
    wb_dtype dtype;  /* of weights and activations */
    int layers, C, H, K, D, F, V; /* D: 16.. 256, a multiple of 8: see decoder_head */
    int table;       /* rows of the embedding, >= V */
    int N;           /* channels of a head that RoPE turns */
    int window;      /* tokens before its own that attention sees, or WB_ALL */
    int Cr, taps;    /* recurrent channels, in H gate blocks; taps of the convolution */
    int act;         /* WB_SWIGLU or WB_GEGLU */
    float eps, offset;             /* norms: offset + w */
    float scale;                   /* of the scores */
    float emb_scale, softcap, rope_base;
} decoder_config;

/* Head sizes that labs 05 and 07 take: D rounded up to a multiple of 8, at least 16. The
 * owner of the weights fills up each head's rows of wqkv and columns of wo with zeros. */
int decoder_head(int D);

/* Elements of the dtype; NULL where this architecture has none. */
typedef struct decoder_layer {
    bool recurrent;
    const void *n1, *n2;         /* (C) */
    const void *wgu, *bgu;       /* (2F,C) gate rows, then up rows; (2F) */
    const void *wd, *bd;         /* (C,F); (C) */
    const void *wo, *bo;         /* (C,H*D) or (C,Cr); (C) */
    const void *wqkv;            /* ((H+2K)D,C) */
    const void *wxy, *bxy;       /* (2Cr,C) x rows, then y rows; (2Cr) */
    const void *cw, *cb;         /* (Cr,taps); (Cr) */
    const void *wx, *bx, *wa, *ba; /* (H,M,M) (H,M), M = Cr/H: input, recurrence gate */
    const void *ap;              /* (Cr) */
    /* what it remembers, pointed at by decoder_create */
    void *keys, *values;         /* (B,S,K,D) rings, by position mod S */
    void *conv;                  /* (B,taps,Cr) ring of the convolution's inputs */
    float *state;                /* (B,Cr) of the RG-LRU */
} decoder_layer;

typedef struct decoder_settings {
    int B;       /* rows */
    int T;       /* tokens of a row that are read at once */
    int P;       /* columns of `prompt`: the most tokens of one reading */
    int positions; /* the most tokens of a row: rows of the RoPE table */
    int drawn;   /* columns of `out` */
    bool continues; /* readings may go on behind others (P > T, or a second reading) */
    bool score;  /* decoder_logits is used */
    bool graph;
    float temperature, top_p, penalty;
    int top_k;
    int stops;   /* tokens in `stop` */
} decoder_settings;

#endif
