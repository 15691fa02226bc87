/* recurrentgemma.h - RecurrentGemma (Griffin) inference on the workbook's kernels, as a C
 * library: this header (with -Irecurrentgemma -Icommon, in C11 or C++) is all that a program
 * needs to embed it, and recurrentgemma/program/main.c is such a program.
 *
 *     wb_error err;
 *     rg_settings set = rg_defaults();
 *     set.temperature = 0.8f;
 *     rg_engine *e = rg_open("model-folder", &set, &err);
 *     if (!e) { fprintf(stderr, "%s\n", err.text); exit(1); }
 *     const int prompt[] = {2, 651, 7224, ...}, *rows[] = {prompt};
 *     const int count[] = {sizeof prompt / sizeof *prompt};
 *     int rc = rg_prefill(e, rows, count, &err);      // reads it, draws the first token
 *     for (int seen = 0; rc > 0;) {
 *         rc = rg_step(e, 16, &err);                  // up to 16 tokens more
 *         for (; seen < rg_drawn(e, 0); seen++) use(rg_tokens(e, 0)[seen]);
 *     }
 *     rg_close(e);
 *
 * A row is one text of the batch. It has read some tokens (its states and caches hold them)
 * and has drawn some; the newest one drawn is read by the next step. What a row draws depends
 * on its own tokens and seed alone, whatever its neighbours are and however its prompt was
 * cut into chunks (up to rounding).
 *
 * Every function that can fail returns -1 (or NULL) with one sentence in the error that names
 * the thing and the mend; the engine then still stands and can be closed or used on. A CUDA
 * call that fails ends the process (file:line). One engine belongs to one thread at a time;
 * several engines may live side by side. */
#ifndef RECURRENTGEMMA_H
#define RECURRENTGEMMA_H
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
    RG_BF16, /* weights and activations; states, norms, gates, logits compute in float */
} rg_dtype;

typedef struct rg_settings {
    rg_dtype dtype;
    int batch;      /* B >= 1 rows */
    int context;    /* the most tokens of a row, read and drawn together */
    int chunk;      /* tokens of a row read at once: bounds the memory of rg_prefill */
    int drawn;      /* the most tokens that a row draws after one rg_prefill */
    bool hf_window; /* attention sees W keys as in transformers, not W+1 */
    bool graph;     /* a step is one CUDA graph; false: launch by launch */
    /* sampling: see sample_f32 in kvcache.h */
    float temperature; /* 0: always the likeliest token */
    int top_k;         /* 0: all */
    float top_p;       /* 1: all */
    float penalty;     /* of tokens that the row has had; 1: none */
    uint64_t seed;     /* of row 0; row b has seed + b */
    /* tokens that end a row (they are drawn, then the row is done) */
    const int *stop; /* NULL: eos_token_id of the model's config.json */
    int stops;       /* with stop NULL: -1 takes those, 0 none at all */
} rg_settings;

/* f32 or bf16 as the file, one row, 8192 tokens, chunks of 2048, greedy, stops of the
 * config. */
rg_settings rg_defaults(void);

/* What the folder holds; see recurrentgemma/README.md for the files. */
typedef struct rg_info {
    int layers, channels, heads, head_dim, hidden, vocab, recurrent, taps, window;
    int attention_layers; /* of the layers; the others are recurrent */
    bool hf_window;       /* W keys: asked for here, or by config.json */
    bool tied;            /* the output matrix is the embedding */
    int bos, eos, pad;    /* -1: config.json names none */
    rg_dtype dtype;       /* that it computes in */
    size_t parameters;    /* all, the tied head once */
    size_t weight_bytes;  /* on the device */
    size_t cache_bytes;   /* states and rings of all rows */
    size_t buffer_bytes;  /* all the rest on the device */
    double load_seconds;  /* rg_open, of which most is reading the file */
    bool fused;           /* norm and activation inside the products of a step */
} rg_info;

typedef struct rg_engine rg_engine;

/* Loads a Hugging Face model folder: config.json and model.safetensors (or its shards). */
rg_engine *rg_open(const char *folder, const rg_settings *set, wb_error *err);
void rg_close(rg_engine *e); /* NULL is fine */
const rg_info *rg_describe(const rg_engine *e);

/* Reads count[b] tokens more of each row b, behind what it has read, and draws its next
 * token. A token that the row drew and has not read yet is read first. Rows with count 0
 * draw nothing and are done. Returns how many rows go on (are not done), -1 on an error:
 * a token outside of the vocabulary, more than `context` tokens, a row that was stepped on
 * after its end (rg_reset it first). Nothing is read then. */
int rg_prefill(rg_engine *e, const int *const *tokens, const int *count, wb_error *err);

/* Draws up to n tokens more in each row that is not done, and waits for them. Ends early
 * when all are done. Returns how many rows go on, -1 on an error (a row is full). A row is
 * done when it drew a stop token or `drawn` tokens since its rg_prefill. */
int rg_step(rg_engine *e, int n, wb_error *err);

/* What row b has drawn since its last rg_prefill; valid until the next call. */
const int *rg_tokens(const rg_engine *e, int b);
int rg_drawn(const rg_engine *e, int b);
bool rg_done(const rg_engine *e, int b);
/* Tokens that row b holds in its states: prompts, and drawn ones but for an unread one. */
int rg_read(const rg_engine *e, int b);

/* Row b forgets its text: the next rg_prefill starts a new one with this seed. */
void rg_reset(rg_engine *e, int b, uint64_t seed);

/* Reads like rg_prefill but draws nothing: calls `sink` with the logits (after the soft cap,
 * float, on the host) of every token in turn, `at` counting from this call's first token:
 * rows in order within a chunk, chunks in order. A sink that returns non-zero ends the
 * reading with -1; it sets err itself. */
typedef int rg_sink(void *user, int row, int at, const float *logits, int vocab);
int rg_score(
    rg_engine *e, const int *const *tokens, const int *count, rg_sink *sink, void *user,
    wb_error *err);

#ifdef __cplusplus
}
#endif
#endif
