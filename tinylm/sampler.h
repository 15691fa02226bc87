/* sampler.h - from logits to the next token, on the host.
 *
 * In this order: repetition penalty, temperature, top-k, top-p, draw. The draw is a
 * function of the seed and of how many tokens were drawn before, so equal seeds give equal
 * texts, with a cache or without.
 */
#ifndef SAMPLER_H
#define SAMPLER_H
#include <stdbool.h>
#include <stdint.h>

typedef struct sampler_entry {
    float logit;
    int token;
} sampler_entry;

typedef struct sampler {
    int vocab;
    double temperature; /* 0: the largest logit, of equals the lowest token */
    int top_k;      /* 0: all; tokens as likely as the k-th stay out if they come later */
    double top_p;   /* 1: all; else the fewest whose probabilities reach it */
    double penalty; /* of tokens seen: a logit above 0 is divided, one below multiplied,
                           so that both fall when penalty > 1 */
    uint64_t seed;
    uint32_t drawn;
    bool *seen;            /* (vocab) */
    sampler_entry *sorted; /* (vocab) scratch */
} sampler;

bool sampler_open(sampler *s, int vocab); /* false: no memory */
void sampler_close(sampler *s);
void sampler_see(sampler *s, int token); /* tokens of the prompt; chosen ones by itself */
int sampler_choose(sampler *s, float *logits); /* logits (vocab) are changed */

#endif
