/* generate.c - continues a prompt, or a batch of them. */
#include "output.h"
#include "progress.h"
#include "prompts.h"
#include "session.h"
#include "stop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Gives the writers what is new. Returns how many sequences continue: they are not done,
// and no stop text has ended them.
static int follow(const session *s, writer *w, wb_error *err)
{
    int open = 0;
    for (int b = 0; b < s->batch; b++) {
        int shown = w[b].count, sampled = rg_sampled(s->e, b);
        if (w[b].stop.found) continue;
        if (writer_add(&w[b], rg_tokens(s->e, b) + shown, sampled - shown, err))
            return -1;
        open += !rg_done(s->e, b) && !w[b].stop.found;
    }
    return open;
}

// Steps until all sequences have ended or a signal comes. w NULL: only counted, not followed.
static int decode(session *s, int continuing, writer *w, wb_error *err)
{
    for (int n = 1;;) {
        if (w) continuing = follow(s, w, err);
        if (continuing < 0) return -1;
        if (continuing == 0 || stop_signal()) return 0;
        double began = seconds_now();
        continuing = session_step(s, n, err);
        if (continuing < 0) return -1;
        n = session_pace(n, seconds_now() - began);
    }
}

static int write_heading(const prompt_batch *p, int b, wb_error *err)
{
    char number[32];
    snprintf(number, sizeof number, b ? "\n--- %d" : "--- %d", b + 1);
    if (output_write(number, strlen(number), err)) return -1;
    const char *text = p->text[b];
    if (text && (output_write(": ", 2, err) || output_write(text, strlen(text), err)))
        return -1;
    return output_write("\n", 1, err);
}

// All sequences, in order.
static int write_batch(const session *s, const prompt_batch *p, wb_error *err)
{
    writer w;
    for (int b = 0; b < p->batch; b++)
        if ((s->codec && write_heading(p, b, err)) ||
            writer_begin(&w, s->codec, &s->o->gen.stop, err) ||
            writer_add(&w, rg_tokens(s->e, b), rg_sampled(s->e, b), err) ||
            writer_end(&w, err))
            return -1;
    return 0;
}

// Prefill and steps; one sequence is written as it comes.
static int
write_sequences(session *s, const prompt_batch *p, writer *follower, wb_error *err)
{
    int continuing = session_prefill(s, (const int *const *)p->ids, p->count, err);
    stop_at_once(false);
    bool one = p->batch == 1, stops = s->codec && s->o->gen.stop.count;
    int rc =
        continuing < 0 ? -1 : decode(s, continuing, one || stops ? follower : NULL, err);
    if (!one) return rc ? rc : write_batch(s, p, err);
    // All samples are printed even if a step has failed.
    wb_error again;
    return writer_end(follower, rc ? &again : err) ? -1 : rc;
}

static int continue_prompts(session *s, const prompt_batch *p, wb_error *err)
{
    if (s->o->echo && output_write(p->whole, p->whole_bytes, err)) return -1;
    writer *follower = calloc((size_t)p->batch, sizeof *follower);
    int rc = follower ? 0 : error_set(err, "no memory for %d texts", p->batch);
    for (int b = 0; b < p->batch && !rc; b++) {
        rc = writer_begin(&follower[b], s->codec, &s->o->gen.stop, err);
        follower[b].silent = p->batch > 1;
    }
    if (!rc) rc = write_sequences(s, p, follower, err);
    for (int b = 0; b < p->batch && follower; b++)
        writer_free(&follower[b]);
    free(follower);
    return rc;
}

static int check_context(const options *o, const prompt_batch *p, wb_error *err)
{
    if (!o->context) return 0;
    if (p->longest > o->context)
        return error_set(
            err, "%s: a prompt of %d tokens is longer than --context %ld: raise it",
            p->from, p->longest, o->context);
    if (p->longest + o->gen.max_new_tokens > o->context)
        return error_set(
            err,
            "--context %ld: a prompt of %d tokens and --max-new-tokens %ld exceed it: "
            "raise the context or lower the other",
            o->context, p->longest, o->gen.max_new_tokens);
    return 0;
}

static int run(session *s, prompt_batch *p, wb_error *err)
{
    const options *o = s->o;
    long max_new_tokens = o->gen.max_new_tokens;
    if (session_text(s, err) || prompts_read(p, o, s->codec, err) ||
        check_context(o, p, err))
        return -1;
    long needed = p->longest + max_new_tokens;
    if (needed < 2) needed = 2;  // the engine's minimum
    long context = o->context ? o->context : needed;
    rg_settings set = session_settings(o, p->batch, context, p->longest, max_new_tokens);
    if (session_model(s, &set, err) || prompts_check(p, s->info->shape.vocab, err))
        return -1;
    session_say(s);
    if (o->ids) text_close(s->codec), s->codec = NULL;
    if (o->logits_out && score(s, p, err)) return -1;
    if (o->logits_out)
        for (int b = 0; b < p->batch; b++)
            rg_reset(s->e, b, o->gen.seed + (uint64_t)b);
    return max_new_tokens > 0 ? continue_prompts(s, p, err) : 0;
}

int generate(session *s, wb_error *err)
{
    prompt_batch p = {0};
    int rc = run(s, &p, err);
    prompts_free(&p);
    return rc;
}
