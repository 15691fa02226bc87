/* sampler.c - see sampler.h. */
#include "sampler.h"
#include "wb.h"

#include <math.h>
#include <stdlib.h>

bool sampler_open(sampler *s, int vocab)
{
    *s = (sampler){.vocab = vocab, .temperature = 1, .top_p = 1, .penalty = 1};
    s->seen = calloc((size_t)vocab, sizeof *s->seen);
    s->sorted = calloc((size_t)vocab, sizeof *s->sorted);
    return s->seen && s->sorted;
}

void sampler_close(sampler *s)
{
    free(s->seen);
    free(s->sorted);
    *s = (sampler){0};
}

void sampler_see(sampler *s, int token)
{
    if (token >= 0 && token < s->vocab) s->seen[token] = true;
}

// Largest first, of equals the lowest token.
static int by_logit(const void *a, const void *b)
{
    const sampler_entry *x = a, *y = b;
    if (x->logit != y->logit) return x->logit < y->logit ? 1 : -1;
    return (x->token > y->token) - (x->token < y->token);
}

static int largest(const float *logits, int n)
{
    int best = 0;
    for (int i = 1; i < n; i++)
        if (logits[i] > logits[best]) best = i;
    return best;
}

// A number in [0, 1) for this draw.
static double uniform(sampler *s)
{
    uint32_t r[4];
    wb_random(r, s->seed, s->drawn, 0, 0, 0x5a11);
    return (((uint64_t)r[0] << 32 | r[1]) >> 11) * 0x1p-53;
}

// Among the first n of `sorted`, whose weights exp((logit - max) / temperature) sum to
// `total`: the fewest that have top_p of it, then one of them by its weight.
static int draw(sampler *s, int n, double total)
{
    double max = s->sorted[0].logit, kept = 0;
    int keep = 0;
    while (keep < n && (keep == 0 || kept < s->top_p * total))
        kept += exp((s->sorted[keep++].logit - max) / s->temperature);
    double at = uniform(s) * kept;
    for (int i = 0; i < keep; i++) {
        at -= exp((s->sorted[i].logit - max) / s->temperature);
        if (at < 0) return s->sorted[i].token;
    }
    return s->sorted[keep - 1].token;  // rounding ate the rest
}

int sampler_choose(sampler *s, float *logits)
{
    int n = s->vocab, token;
    for (int i = 0; i < n; i++)
        if (s->seen[i]) logits[i] *= logits[i] > 0 ? 1 / s->penalty : s->penalty;
    if (s->temperature == 0) {
        token = largest(logits, n);
    } else {
        double total = 0;
        for (int i = 0; i < n; i++)
            s->sorted[i] = (sampler_entry){logits[i], i};
        qsort(s->sorted, (size_t)n, sizeof *s->sorted, by_logit);
        if (s->top_k > 0 && s->top_k < n) n = s->top_k;
        for (int i = 0; i < n; i++)
            total += exp((s->sorted[i].logit - s->sorted[0].logit) / s->temperature);
        token = draw(s, n, total);
    }
    s->drawn++;
    s->seen[token] = true;
    return token;
}
