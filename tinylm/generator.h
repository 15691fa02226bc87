/* generator.h - texts from a model: the prompt in one pass, then token by token, with the
 * sampler on the device.
 *
 *     generator g;
 *     generator_create(&g, &m, &settings, &err);
 *     generator_start(&g, prompts, lengths, seeds, &err);   // B texts at once
 *     generator_write(&g, n);                               // n tokens more of each
 *     g.text[b], g.count[b]                                 // prompt and what was written
 *
 * A decoder (decoder.h) reads and draws; here is which tokens it reads when. generator_write
 * waits only behind its last step. A row's text depends on its own prompt and seed alone.
 *
 * What a token sees. In a Griffin-type model the states and the window of the last keys,
 * however long the text gets. A Llama-type model has learnt `context` positions: a text
 * that outgrows them slides, that is, the newer half of what the model sees is read again
 * from position 0. With cache false all that the model can see is read anew for each
 * token, by the same rule, so greedy texts are equal.
 */
#ifndef GENERATOR_H
#define GENERATOR_H
#include "decoder.h"
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

typedef struct generator {
    model *m; /* its weights, stream and handles are used, no more */
    generator_settings set;
    decoder d;
    int B;
    bool slides; /* see above */
    void *wide;  /* copies of weights with wider heads, where labs 05 and 07 want them */
    /* on the host, up to date when generator_write returns */
    int **text, *count; /* (B) prompt and drawn tokens; how many */
    int *start, *read;  /* (B) first token that the model sees; how many it read */
    int *again;         /* (B) how many to read again */
    int *zero;          /* (B) zeros: every reading begins a text */
    const int **seen;   /* (B) what the model sees */
    int *h_rows;        /* scratch, (B,tokens) */
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

#endif
