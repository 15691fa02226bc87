/* generator.h - sequences from a model: the prompt in one pass, then token by token, with
 * the sampler on the device.
 *
 *     generator g;
 *     generator_create(&g, &m, &settings, &err);
 *     generator_start(&g, prompts, lengths, seeds, &err);   // a batch of sequences
 *     generator_decode(&g, n);                              // n more tokens of each
 *     g.tokens[b], g.count[b]                               // prompt and sampled tokens
 *
 * The decoder (decoder.h) does the computing; the generator decides when it processes
 * which tokens. generator_decode waits for the device only after its last step. The
 * tokens of a sequence depend only on its own prompt and seed. A sequence ends with its
 * stop token; the other sequences continue.
 *
 * What a token sees. In a Griffin-type model: the states and the window of the last keys,
 * however long the sequence gets. A Llama-type model was trained on `context` positions:
 * a sequence that outgrows them slides, that is, the newer half of what the model sees is
 * processed again from position 0. With cache = false all that the model can see is
 * processed again for every token, by the same rule, so greedy sequences are equal.
 */
#ifndef GENERATOR_H
#define GENERATOR_H
#include "decoder.h"
#include "model.h"

typedef struct generator_settings {
    int batch;          /* B: sequences */
    int max_new_tokens; /* of each sequence */
    int longest_prompt;
    bool cache, graph;        /* see above; false: launch by launch */
    float temperature;        /* 0: always the most likely token */
    int top_k;                /* 0: all */
    float top_p;              /* 1: all */
    float min_p;              /* 0: all */
    float repetition_penalty; /* 1: none */
    const int *stop;          /* (stop_count) the caller's: tokens that end a sequence */
    int stop_count;
} generator_settings;

typedef struct generator {
    model *m; /* only its weights, stream and handles are used */
    generator_settings set;
    decoder d;
    int batch;
    bool slides; /* see above */
    void *wide;  /* copies of weights with wider heads, where labs 05 and 07 need them */
    /* on the host, up to date when generator_decode returns */
    int **tokens, *count; /* (B) prompt and sampled tokens; how many */
    int *first;           /* (B) the first token that the model sees */
    int *processed;       /* (B) tokens in its states and caches; 0 once it is done */
    bool *done;           /* (B) */
    int continuing;       /* sequences that are not done */
    bool ended;           /* a sequence has ended since the last step */
    int *again;           /* (B) how many to process again */
    int *zero;            /* (B) zeros: every prefill starts a sequence */
    const int **visible;  /* (B) what the model sees */
    int *h_scratch;       /* (B,max_new_tokens) */
    int sampled;          /* tokens so far, in each sequence that is not done */
} generator;

/* m: loaded, and kept until after generator_destroy. */
int generator_create(
    generator *g, model *m, const generator_settings *set, wb_error *err);
void generator_destroy(generator *g);

/* Starts a sequence from each prompt (at least one token) and samples its first token. */
int generator_start(
    generator *g, const int *const *prompt, const int *length, const uint64_t *seed,
    wb_error *err);
/* Up to n more tokens for each sequence that is not done. */
void generator_decode(generator *g, int n);

#endif
