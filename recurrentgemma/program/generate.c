/* generate.c - continues a prompt, or a batch of them. */
#include "devices.h"
#include "output.h"
#include "progress.h"
#include "prompts.h"
#include "saved_state.h"
#include "session.h"
#include "stop.h"

#include <limits.h>
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

// Steps until all sequences have ended or a signal comes. w NULL: without writers.
static int decode(session *s, int continuing, writer *w, wb_error *err)
{
    for (int n = 1;;) {
        if (w) continuing = follow(s, w, err);
        if (continuing < 0) return -1;
        if (continuing == 0 || stop_signal()) return 0;
        double began = seconds_now();
        continuing = session_step(s, n, err);
        if (continuing < 0) return -1;
        // A state ends where the text ends: no step may go beyond it.
        if (!s->o->save_state) n = session_pace(n, seconds_now() - began);
    }
}

static int write_heading(const prompt_batch *p, int b, wb_error *err)
{
    char number[32];
    int place = p->first + b;  // in the batch of all devices
    snprintf(number, sizeof number, place ? "\n--- %d" : "--- %d", place + 1);
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
    bool one = p->batch == 1 && devices_count() == 1,
         stops = s->codec && s->o->gen.stop.count;
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
        follower[b].silent = p->batch > 1 || devices_count() > 1;
    }
    if (!rc) rc = write_sequences(s, p, follower, err);
    for (int b = 0; b < p->batch && follower; b++)
        writer_free(&follower[b]);
    free(follower);
    return rc;
}

/* --- states ------------------------------------------------------------------------- */

// The prompt follows what the state holds.
static int load_state(const options *o, prompt_batch *p, saved_state *held, wb_error *err)
{
    if (saved_state_read(held, o->load_state, err)) return -1;
    return prompts_precede(p, held->newest, err);
}

// With steps one by one no step has processed the newest sample. Without any sample all
// tokens but the last are processed now.
static int save_state(session *s, const prompt_batch *p, wb_error *err)
{
    int count = p->count[0] - 1, newest = p->ids[0][count];
    if (s->o->gen.max_new_tokens > 0) {
        newest = rg_take_back(s->e, 0);
    } else if (count > 0) {
        if (session_prefill(s, (const int *const *)p->ids, &count, err) < 0) return -1;
        rg_take_back(s->e, 0);
    }
    return saved_state_write(s, newest, s->o->save_state, err);
}

/* --- all of it ---------------------------------------------------------------------- */

// held: tokens of a loaded state.
static int check_context(const options *o, const prompt_batch *p, int held, wb_error *err)
{
    long prompt = (long)held + p->longest;
    if (p->batch > 1 && (o->load_state || o->save_state))
        return error_set(
            err, "%s: %d lines, but a state is that of one sequence", p->from, p->batch);
    if (!o->context) return 0;
    if (prompt > o->context)
        return error_set(
            err, "%s: a prompt of %ld tokens is longer than --context %ld: raise it",
            p->from, prompt, o->context);
    if (prompt + o->gen.max_new_tokens > o->context)
        return error_set(
            err,
            "--context %ld: a prompt of %ld tokens and --max-new-tokens %ld exceed it: "
            "raise the context or lower the other",
            o->context, prompt, o->gen.max_new_tokens);
    return 0;
}

static int open_model(session *s, prompt_batch *p, saved_state *held, wb_error *err)
{
    const options *o = s->o;
    long max_new_tokens = o->gen.max_new_tokens;
    long needed = (long)held->length + p->longest + max_new_tokens;
    if (needed < 2) needed = 2;  // the engine's minimum
    if (needed > INT_MAX / 2)
        return error_set(err, "a sequence of %ld tokens is too long", needed);
    long context = o->context ? o->context : needed;
    rg_settings set = session_settings(o, p->batch, context, p->longest, max_new_tokens);
    if (session_model(s, &set, err) || prompts_check(p, s->info->shape.vocab, err))
        return -1;
    if (o->load_state && saved_state_use(held, s, err)) return -1;
    session_say(s);
    return 0;
}

typedef struct task {
    prompt_batch *p;
    saved_state *held;
} task;

// On one device.
static int run(session *s, const task *t, wb_error *err)
{
    const options *o = s->o;
    prompt_batch *p = t->p;
    if (open_model(s, p, t->held, err)) return -1;
    if (o->ids) text_close(s->codec), s->codec = NULL;
    if (o->logits_out && score(s, p, err)) return -1;
    if (o->logits_out)
        for (int b = 0; b < p->batch; b++)
            rg_reset(s->e, b, o->gen.seed + (uint64_t)b);
    if (o->gen.max_new_tokens > 0 && continue_prompts(s, p, err)) return -1;
    return o->save_state ? save_state(s, p, err) : 0;
}

// Its sequences only; each has the seed that it would have on one device.
static int run_share(session *s, void *context, wb_error *err)
{
    const task *t = context;
    prompt_batch share = *t->p;
    static options o;
    int first;
    share.batch = devices_share(share.batch, &first);
    share.ids += first, share.count += first, share.line += first, share.text += first;
    share.first = first;
    o = *s->o;
    o.gen.seed += (uint64_t)first;
    if (devices_index()) o.gen.quiet = true, o.gen.kernels = false;
    s->o = &o;
    return run(s, &(task){&share, t->held}, err);
}

static int run_all(session *s, task *t, wb_error *err)
{
    const options *o = s->o;
    prompt_batch *p = t->p;
    if (session_text(s, err) || prompts_read(p, o, s->codec, err)) return -1;
    if (o->load_state && load_state(o, p, t->held, err)) return -1;
    if (check_context(o, p, t->held->length, err)) return -1;
    int n = o->devices < p->batch ? (int)o->devices : p->batch;
    return n == 1 ? run(s, t, err) : devices_run(s, n, run_share, t, err);
}

int generate(session *s, wb_error *err)
{
    prompt_batch p = {0};
    saved_state held = {0};
    int rc = run_all(s, &(task){&p, &held}, err);
    prompts_free(&p);
    saved_state_free(&held);
    return rc;
}
