/* recurrentgemma.h - RecurrentGemma (Griffin) inference on the workbook's kernels, as a C
 * library. This header (with -Irecurrentgemma -Icommon, in C11 or C++) is all that a
 * program needs to embed the engine; recurrentgemma/example.c is such a program.
 *
 *     wb_error err;
 *     rg_settings set = rg_defaults();
 *     set.temperature = 0.8f;
 *     rg_engine *e = rg_open("model-folder", &set, &err);
 *     if (!e) { fprintf(stderr, "%s\n", err.text); exit(1); }
 *     const int prompt[] = {2, 651, 7224, ...}, *prompts[] = {prompt};
 *     const int count[] = {sizeof prompt / sizeof *prompt};
 *     int rc = rg_prefill(e, prompts, count, &err);   // samples the first token
 *     for (int shown = 0; rc > 0;) {
 *         rc = rg_step(e, 16, &err);                  // up to 16 more tokens
 *         for (; shown < rg_sampled(e, 0); shown++) use(rg_tokens(e, 0)[shown]);
 *     }
 *     rg_close(e);
 *
 * The engine runs a batch of sequences. A sequence has processed some tokens (its states
 * and caches hold them) and has sampled some; the next step processes the newest sample.
 * What a sequence samples depends only on its own tokens and seed, not on its neighbours
 * or on how its prompt is cut into chunks (up to rounding).
 *
 * Every function that can fail returns -1 (or NULL), with one sentence in the error that
 * names the thing and the fix; the engine can then be used further or closed. A CUDA call
 * that fails ends the process (file:line).
 *
 * Threads: only one thread at a time may use an engine, but it need not always be the
 * same thread. Several threads may open and use different engines at the same time. On
 * the CPU back end the kernels of all engines share the workers and run one after the
 * other. */
#ifndef RECURRENTGEMMA_H
#define RECURRENTGEMMA_H
#include "model_shape.h"
#include "wb_error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

typedef enum rg_dtype {
    RG_AUTO, /* bf16 for a bf16 file, else f32 */
    RG_F32,
    RG_BF16, /* weights and activations; states, norms, gates and logits are float */
} rg_dtype;

typedef struct rg_settings {
    rg_dtype dtype;
    int batch;          /* B >= 1 sequences */
    int context;        /* maximum length of a sequence, prompt and samples together */
    int chunk;          /* tokens of a sequence in one pass: bounds rg_prefill's memory */
    int max_new_tokens; /* samples of a sequence after one rg_prefill */
    bool hf_window;     /* attention sees W keys as in transformers, not W+1 */
    bool whole_window;  /* rings for the whole window, however short the context: a state
                           then fits an engine of any context that has this too */
    bool graph;         /* a step is one CUDA graph; false: launch by launch */
    /* sampling: see sample_f32 in kvcache.h */
    float temperature;        /* 0: always the most likely token */
    int top_k;                /* 0: all */
    float top_p;              /* 1: all */
    float min_p;              /* 0: all; the least p, as a fraction of the largest */
    float repetition_penalty; /* 1: none */
    uint64_t seed;            /* of sequence 0; sequence b has seed + b */
    /* tokens that end a sequence (they are sampled, then the sequence is done) */
    const int *stop; /* NULL: eos_token_id of generation_config.json, else config.json */
    int stop_count;  /* with stop NULL: -1 takes those, 0 none at all */
} rg_settings;

/* dtype of the file, one sequence, 8192 tokens, chunks of 2048, greedy, the config's stop
 * tokens. */
rg_settings rg_defaults(void);

/* What the folder holds; see recurrentgemma/README.md for the files. */
typedef struct rg_info {
    model_shape shape;    /* vocab, tied and hf_window as the engine uses them */
    int attention_layers; /* of the layers; the others are recurrent */
    int bos, eos, pad;    /* -1: the model's files name none */
    rg_dtype dtype;       /* of the computation */
    size_t parameters;    /* all; a tied head counts once */
    size_t weight_bytes;  /* on the device */
    size_t cache_bytes;   /* states and rings of all sequences */
    size_t buffer_bytes;  /* everything else on the device so far: the longest sequence's
                             length adds to it */
    double load_seconds;  /* of rg_open, mostly reading the file */
    bool fused;           /* norm and activation run inside the GEMMs of a step */
} rg_info;

typedef struct rg_engine rg_engine;

/* The version of the library, "1.0.0". The first number counts incompatible changes. */
const char *rg_version(void);

/* Loads a Hugging Face model folder: config.json, and model.safetensors or its shards. */
rg_engine *rg_open(const char *folder, const rg_settings *set, wb_error *err);
void rg_close(rg_engine *e); /* NULL is fine */
const rg_info *rg_describe(const rg_engine *e);

/* Processes count[b] more tokens of each sequence b and samples its next token. A sampled
 * token that is not processed yet comes first. Sequences with count 0 sample nothing and
 * are done. Returns how many sequences continue (are not done), or -1 on an error: a
 * token outside the vocabulary, more than `context` tokens, a sequence that was stepped
 * past its end (rg_reset it first). Nothing is processed then. */
int rg_prefill(rg_engine *e, const int *const *tokens, const int *count, wb_error *err);

/* Samples up to n more tokens in each sequence that is not done, and waits for them.
 * Returns early when all are done. Returns how many sequences continue, or -1 on an error
 * (a sequence is full). A sequence is done when it has sampled a stop token, or
 * max_new_tokens tokens since its rg_prefill. */
int rg_step(rg_engine *e, int n, wb_error *err);

/* The samples of sequence b since its last rg_prefill, valid until the next call, and how
 * many there are. */
const int *rg_tokens(const rg_engine *e, int b);
int rg_sampled(const rg_engine *e, int b);
bool rg_done(const rg_engine *e, int b);
/* Tokens that sequence b holds in its states: prompts, and samples without an unprocessed
 * newest one. */
int rg_processed(const rg_engine *e, int b);

/* Removes the newest sample of sequence b, if no step has processed it yet, and returns
 * it; -1: there is none. The next rg_prefill continues after the token before it. */
int rg_take_back(rg_engine *e, int b);

/* Sequence b forgets its tokens: the next rg_prefill starts a new one with this seed. */
void rg_reset(rg_engine *e, int b, uint64_t seed);

/* A sequence as bytes: its states and rings, its newest token, and which tokens it has
 * (for the repetition penalty). The size is the same however long the sequence is.
 * rg_state_save writes rg_state_bytes. rg_state_load replaces sequence b by a state;
 * rg_prefill then continues it. It fails if the engine has another rg_fingerprint, rings
 * of another length (see whole_window) or too short a context. The seed stays that of
 * rg_reset. A state is not portable between versions of the library. */
size_t rg_state_bytes(const rg_engine *e, int b);
int rg_state_save(rg_engine *e, int b, void *state, wb_error *err);
int rg_state_load(rg_engine *e, int b, const void *state, size_t bytes, wb_error *err);

/* A checksum of the configuration, the dtype and all weights: it identifies the model
 * that a state belongs to. The first call for an engine, or its first state, reads all
 * weights, which takes seconds for a large model. 0: no memory. */
uint64_t rg_fingerprint(rg_engine *e);

/* Processes tokens like rg_prefill but samples nothing: calls `sink` with the logits
 * (after the soft cap, float, on the host) of every token in turn, `at` counting from
 * this call's first token: chunks in order, and within a chunk sequences in order. A sink
 * that returns non-zero ends the call with -1; it sets err itself. */
typedef int rg_sink(void *user, int sequence, int at, const float *logits, int vocab);
int rg_score(
    rg_engine *e, const int *const *tokens, const int *count, rg_sink *sink, void *user,
    wb_error *err);

#ifdef __cplusplus
}
#endif
#endif
