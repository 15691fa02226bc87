/* decoder.h - inference for both programs: prefill in chunks, then token by token.
 *
 * Two architectures from the same pieces: every layer is a temporal block (attention, or
 * Griffin's recurrent block) and a gated MLP, each after an RMSNorm and added to the
 * residual stream. The weights belong to the caller and the decoder only points at them.
 * It owns states, caches and buffers: one allocation, made by decoder_create, and two
 * that grow with the longest sequence (growth.c).
 *
 *     decoder d;
 *     decoder_config c = decoder_configure(&shape, dtype);
 *     decoder_create(&d, &c, &weights, &settings, blas, stream, &err);
 *     decoder_prefill(&d, tokens, count, base);  // every sequence, after its first base[b]
 *     decoder_start(&d, NULL);
 *     decoder_set_positions(&d, at);
 *     decoder_sample(&d);                        // the first token of each sequence
 *     decoder_steps(&d, n);                      // processes it, samples the next; n x
 *     decoder_destroy(&d);
 *
 * Everything that changes from token to token (tokens, positions, states, sampled tokens)
 * is in device memory, so steps are CUDA graphs, recorded once and replayed. The
 * callers decide which tokens to process and when to stop: tinylm/generator.c and
 * recurrentgemma/engine/engine.c. Letters in shapes as in model_shape.h and wb.h; B is
 * the number of sequences in the batch. A new sequence needs no cleared state: a token at
 * position 0 reads none.
 */
#ifndef DECODER_H
#define DECODER_H
#include "cuda_check.h"
#include "dtype.h"
#include "file.h"
#include "model_shape.h"
#include "model_weights.h"
#include "ops.h"

#include <stdint.h>

typedef struct decoder_config {
    wb_dtype dtype;    /* of weights and activations */
    model_shape shape; /* head_dim as decoder_head makes it */
    int padded_vocab;  /* rows of the embedding table, >= V */
    int window;        /* keys before its own that a token sees, or WB_ALL */
    int activation;    /* WB_SWIGLU or WB_GEGLU */
    float norm_offset; /* a norm multiplies by norm_offset + w */
    float score_scale; /* of the attention scores */
    float embedding_scale;
} decoder_config;

/* What a model of this shape needs; one with Griffin's blocks is a Griffin. */
decoder_config decoder_configure(const model_shape *s, wb_dtype dtype);

/* Head sizes that labs 05 and 07 take: D rounded up to a multiple of 8, at least 16. The
 * owner of the weights pads each head's rows of qkv and columns of out with zeros;
 * score_scale and `rotated` stay those of the narrow head. */
static inline int decoder_head(int head_dim)
{
    return head_dim < 16 ? 16 : (head_dim + 7) / 8 * 8;
}

typedef struct decoder_layer {
    const layer_weights *w;
    bool recurrent;      /* the kind of the temporal block */
    void *keys, *values; /* (B,slots,K,D) rings, by position mod slots */
    void *conv;          /* (B,conv_width,Cr) ring of the convolution's inputs */
    float *state;        /* (B,Cr) of the RG-LRU */
} decoder_layer;

typedef struct decoder_settings {
    int batch;          /* B: sequences */
    int chunk;          /* tokens of a sequence in one pass of the prefill */
    int longest_prompt; /* most tokens of a sequence in one decoder_prefill */
    int positions;      /* maximum length of a sequence */
    int max_new_tokens; /* columns of `sampled` */
    int score_rows;     /* most rows of one decoder_logits; 0: it is never called */
    bool continues;     /* a prefill may follow another one, or steps */
    bool whole_window;  /* rings as long as the window, even if `positions` is shorter */
    bool by_position; /* the sampler's counter: the position, not the number of samples */
    bool graph;       /* steps are CUDA graphs; false: launch by launch */
    float temperature, top_p, repetition_penalty; /* see sample_f32 */
    int top_k;
    float min_p;     /* 0: none; see min_p_keep */
    const int *stop; /* (stop_count) on the host, copied: see generate_advance */
    int stop_count;
} decoder_settings;

/* A graph of one step has 33 kernels for 6 layers. A text of many tokens takes graphs of
 * several steps: then the last kernel of a step and the first of the next overlap too. */
enum { STEPS_PER_GRAPH = 8 };

typedef struct decoder decoder;
/* For tests: called by the prefill with x (B*T,C), the residual stream of this chunk's
 * tokens after the embedding (layer -1) and after each layer (0 ..), then by decoder_norm
 * with the normalised stream (layer = layers). After a layer the buffers of its block
 * (xy, conv_out, gate_x, gate_a, recurrent_out; qkv, attention; gate_up, activated) still
 * hold its results. */
typedef void decoder_watch(void *user, decoder *d, int layer, const void *x, int T);

struct decoder {
    decoder_config config;
    decoder_settings set;
    model_weights weights; /* layer: the copy that `layer` points at */
    decoder_layer *layer;  /* (layers), on the host */
    const struct decoder_calls *calls;
    wb_blas *blas;
    cudaStream_t stream;
    int batch, chunk; /* B, T: as in the settings */
    int qkv_width;    /* (H+2K)D */
    int slots;        /* of a ring; a token sees itself and at most `slots` before it */
    bool fused;       /* norm and activation run inside the GEMMs of a step */
    decoder_watch *watch; /* NULL: none */
    void *watch_user;
    /* false: in the last layer the prefill computes what follows the temporal block only
     * for each sequence's last token. Set it before decoder_norm; a watch implies it. */
    bool every_token;
    /* prefill: B*T rows, one for each token; a step uses the first B */
    bool fresh;                 /* every sequence starts here: no keys from before */
    int *prompt, *count, *base; /* (B,prompt_room) (B) (B) */
    int prompt_room;            /* at most longest_prompt */
    int *chunk_token, *chunk_position; /* (B,T) (B,T): prompt_chunk */
    int *chunk_length, *chunk_last;    /* (B) (B) */
    void *residual, *normed;           /* (B*T,C) */
    void *qkv, *attention;             /* (B*T,qkv_width) (B*T,HD) */
    void *all_keys, *all_values;       /* (B,slots+T,K,D) earlier keys, then a chunk's */
    void *xy, *conv_out;               /* (B*T,2Cr) (B*T,Cr): a recurrent block */
    void *gate_x, *gate_a, *recurrent_out; /* (B*T,Cr) gates before the sigmoid; output */
    void *gate_up, *activated;             /* (B*T,2F) (B*T,F) */
    /* steps */
    void *last_residual; /* (B,C) residual stream of each sequence's last token */
    void *last_branch; /* (B,max(HD,Cr)) after a prefill: input of the last layer's out */
    bool unfinished;   /* last_residual still lacks that layer's out and MLP */
    bool embedded;     /* last_residual is the embedding of `token` */
    float *logits;     /* (max(B,score_rows),V) before the soft cap */
    int *token, *position;     /* (B) newest token, not processed yet; its position */
    int *done, *sampled_count; /* (B) */
    int *sampled;              /* (B,max_new_tokens) */
    int *stop;                 /* (stop_count) */
    uint64_t *seed;            /* (B) */
    uint8_t *seen;             /* (B,V), NULL without a repetition penalty */
    float *rope_table;         /* (rope_room,rotated/2,2) */
    int rope_room;             /* at most positions */
    int reached;               /* positions that the next step needs, or one more */
    void *workspace;
    size_t workspace_bytes;
    void *arena;
    size_t arena_bytes, cache_bytes;         /* of the arena; the caches' part of it */
    size_t grown_bytes;                      /* of prompt and rope_table */
    cudaGraphExec_t step_graph, steps_graph; /* one step; STEPS_PER_GRAPH of them */
    long steps;                              /* enqueued so far */
};

/* blas and stream stay the caller's and outlive the decoder, as do the weights; the array
 * w->layer is copied. */
int decoder_create(
    decoder *d, const decoder_config *c, const model_weights *w,
    const decoder_settings *set, wb_blas *blas, cudaStream_t stream, wb_error *err);
void decoder_destroy(decoder *d); /* nothing to do for a decoder that is all 0 */

/* The functions below enqueue work, which runs in order on the stream. tokens, count,
 * base, done and at have one element for each sequence, on the host.
 *
 * decoder_prefill_begin sends count[b] tokens of each sequence, which follow its first
 * base[b]; decoder_prefill_chunk then processes columns t0 .. t0+T-1 of them, T <= chunk.
 * A sequence that ends there leaves the input of its next token's logits in
 * last_residual. decoder_prefill does both, chunk by chunk; a sequence with count[b] = 0
 * is untouched. */
void decoder_prefill_begin(
    decoder *d, const int *const *tokens, const int *count, const int *base);
void decoder_prefill_chunk(decoder *d, int t0, int T);
void decoder_prefill(
    decoder *d, const int *const *tokens, const int *count, const int *base);

/* Before the first sample of a sequence: nothing is sampled yet; done (NULL: none) marks
 * the sequences that sample nothing. */
void decoder_start(decoder *d, const int *done);
/* at[b]: the position of the last token processed (decoder_sample adds 1), or, where
 * steps continue with `token`, the position of that token. */
void decoder_set_positions(decoder *d, const int *at);
/* Samples the next token of each sequence from last_residual. */
void decoder_sample(decoder *d);
/* Processes `token` and samples the next, n times. The device has no reason to wait for
 * the host before the last of them. */
void decoder_steps(decoder *d, int n);
/* Before a step: other tokens than the sampled ones, one per sequence. */
void decoder_set_tokens(decoder *d, const int *tokens);

/* All rows of the last chunk of T tokens (every_token was set): normalised, into
 * `normed`; then the logits, after the soft cap, of `rows` <= score_rows of them, from
 * row r0 on. */
void decoder_norm(decoder *d, int T);
void decoder_logits(decoder *d, int r0, int rows);

/* The tokens of each sequence so far, count[b] at tokens[b], for the repetition penalty
 * (without one it does nothing). */
int decoder_mark_seen(
    decoder *d, const int *const *tokens, const int *count, wb_error *err);

/* Bytes between host and device; done on return. */
void decoder_upload(decoder *d, void *device, const void *h, size_t bytes);
void decoder_download(decoder *d, void *h, const void *device, size_t bytes);

/* Bytes of all layers' caches by their shapes: `cache_bytes` without the padding that
 * aligns each piece. */
size_t decoder_cache_formula(const decoder_config *c, int batch, int slots);

/* --- for decoder.c and tests -------------------------------------------------------- */

/* growth.c: room for prompts of `count` tokens, at most longest_prompt; for the angles of
 * `positions`, at most those of the settings. */
cudaError_t decoder_grow_prompt(decoder *d, int count);
cudaError_t decoder_grow_rope(decoder *d, int positions);
void decoder_forget_graphs(decoder *d);

/* One table per dtype: pass.h. */

typedef struct decoder_calls {
    void (*prefill)(decoder *d, int t0, int T, bool fresh, bool every_token);
    void (*norm)(decoder *d, int T);
    void (*logits)(decoder *d, int r0, int rows);
    void (*finish)(decoder *d);
    void (*sample)(decoder *d);
    void (*embed)(decoder *d);
    void (*step)(decoder *d); /* last_residual is the embedding of `token` */
    size_t (*workspace)(const decoder *d);
} decoder_calls;
extern const decoder_calls decoder_calls_f32, decoder_calls_bf16, decoder_calls_f16;

#endif
