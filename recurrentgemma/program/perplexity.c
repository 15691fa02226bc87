/* perplexity.c - --perplexity: how well the model predicts a text. The text is one
 * sequence of any length, processed chunk by chunk: the states carry what came before. */
#include "output.h"
#include "progress.h"
#include "prompts.h"
#include "session.h"
#include "stop.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct tally {
    const int *ids;
    int count;      // of ids
    double nats;    // - sum of log p(token) of the tokens predicted so far
    int predicted;  // tokens
} tally;

// -log softmax(z)[target]
static double surprise(const float *z, int vocab, int target)
{
    float most = z[0];
    double sum = 0;
    for (int i = 1; i < vocab; i++)
        if (z[i] > most) most = z[i];
    for (int i = 0; i < vocab; i++)
        sum += (double)expf(z[i] - most);
    return log(sum) + (double)most - (double)z[target];
}

// The logits after a token predict the next one. A signal ends the call.
static int add(void *user, int sequence, int at, const float *logits, int vocab)
{
    tally *t = user;
    (void)sequence;
    if (at + 1 < t->count) {
        t->nats += surprise(logits, vocab, t->ids[at + 1]);
        t->predicted++;
    }
    return stop_signal() ? -1 : 0;
}

static int report(const tally *t, const prompt_batch *p, bool whole, wb_error *err)
{
    char line[300];
    double mean = t->nats / t->predicted;
    int n = snprintf(
        line, sizeof line, "perplexity %.6g, %.6g nats/token over %d tokens", exp(mean),
        mean, t->predicted);
    if (whole)
        n += snprintf(
            line + n, sizeof line - (size_t)n, ", %.6g bits/byte over %zu bytes",
            t->nats / log(2) / (double)p->whole_bytes, p->whole_bytes);
    line[n++] = '\n';
    return output_write(line, (size_t)n, err);
}

static int run(session *s, prompt_batch *p, wb_error *err)
{
    const options *o = s->o;
    if (session_text(s, err) || prompts_read_text(p, o, o->perplexity, s->codec, err))
        return -1;
    int count = p->count[0];
    if (count < 2)
        return error_set(
            err, "%s: a text of one token predicts nothing: give a longer one", p->from);
    if (o->context && count > o->context)
        return error_set(
            err, "%s: %d tokens are more than --context %ld: leave that out", p->from,
            count, o->context);
    rg_settings set = session_settings(o, 1, count, count, 1);
    if (session_model(s, &set, err) || prompts_check(p, s->info->shape.vocab, err))
        return -1;
    session_say(s);
    stop_at_once(false);
    tally t = {.ids = p->ids[0], .count = count};
    double began = seconds_now();
    int rc = rg_score(s->e, (const int *const *)p->ids, &count, add, &t, err);
    if (rc && !stop_signal()) return -1;
    if (!o->gen.quiet)
        fprintf(
            stderr, "text   %s: %d tokens in %.3f s\n", p->from, t.predicted,
            seconds_now() - began);
    return t.predicted ? report(&t, p, rc == 0, err) : 0;
}

int perplexity(session *s, wb_error *err)
{
    prompt_batch p = {0};
    int rc = run(s, &p, err);
    prompts_free(&p);
    return rc;
}
