/* generate.c - goes on from a prompt, or from many at once. */
#include "output.h"
#include "progress.h"
#include "prompts.h"
#include "session.h"
#include "stop.h"

#include <stdio.h>
#include <string.h>

// Steps until all rows are done or somebody wants an end; `live`: row 0 as it comes.
static int write_all(session *s, int going, writer *live, wb_error *err)
{
    for (int n = 1, shown = 0;;) {
        int drawn = rg_sampled(s->e, 0);
        if (live && writer_add(live, rg_tokens(s->e, 0) + shown, drawn - shown, err))
            return -1;
        shown = drawn;
        if (going == 0 || stop_signal()) return 0;
        double began = seconds_now();
        going = session_step(s, n, err);
        if (going < 0) return -1;
        n = session_pace(n, seconds_now() - began);
    }
}

static int write_heading(const prompt_batch *r, int b, wb_error *err)
{
    char number[32];
    snprintf(number, sizeof number, b ? "\n--- %d" : "--- %d", b + 1);
    if (output_write(number, strlen(number), err)) return -1;
    const char *prompt = r->text[b];
    if (prompt &&
        (output_write(": ", 2, err) || output_write(prompt, strlen(prompt), err)))
        return -1;
    return output_write("\n", 1, err);
}

// All rows, in order.
static int write_batch(const session *s, const prompt_batch *r, wb_error *err)
{
    writer w;
    for (int b = 0; b < r->batch; b++)
        if ((s->codec && write_heading(r, b, err)) || writer_begin(&w, s->codec, err) ||
            writer_add(&w, rg_tokens(s->e, b), rg_sampled(s->e, b), err) ||
            writer_end(&w, err))
            return -1;
    return 0;
}

static int write_rows(session *s, const prompt_batch *r, wb_error *err)
{
    writer live;
    const char *before = s->o->echo ? s->o->gen.prompt : "";
    if (output_write(before, strlen(before), err)) return -1;
    if (writer_begin(&live, s->codec, err)) return -1;
    int going = session_prefill(s, (const int *const *)r->ids, r->count, err);
    stop_at_once(false);
    int rc = going < 0 ? -1 : write_all(s, going, r->batch == 1 ? &live : NULL, err);
    if (r->batch > 1) {
        text_stream_free(live.stream);
        return rc ? rc : write_batch(s, r, err);
    }
    // What was drawn is shown whole even if a step has failed.
    wb_error again;
    if (writer_end(&live, rc ? &again : err)) rc = -1;
    return rc;
}

static int check_room(const options *o, const prompt_batch *r, wb_error *err)
{
    if (!o->context) return 0;
    if (r->longest > o->context)
        return error_set(
            err, "%s: a prompt of %d tokens is longer than --context %ld: raise it",
            r->from, r->longest, o->context);
    if (r->longest + o->gen.max_new_tokens > o->context)
        return error_set(
            err,
            "--context %ld: %d tokens of a prompt and --max-new-tokens %ld are more: "
            "raise the one or lower the other",
            o->context, r->longest, o->gen.max_new_tokens);
    return 0;
}

static int run(session *s, prompt_batch *r, wb_error *err)
{
    const options *o = s->o;
    if (session_text(s, err) || prompts_read(r, o, s->codec, err) || check_room(o, r, err))
        return -1;
    long needed = r->longest + o->gen.max_new_tokens;
    if (needed < 2) needed = 2;  // the least there is
    long context = o->context ? o->context : needed;
    rg_settings set = session_settings(o, r->batch, context, r->longest, o->gen.max_new_tokens);
    if (session_model(s, &set, err) || prompts_check(r, s->info->shape.vocab, err)) return -1;
    session_say(s);
    if (o->ids) text_close(s->codec), s->codec = NULL;
    if (o->logits_out && score(s, r, err)) return -1;
    if (o->logits_out)
        for (int b = 0; b < r->batch; b++)
            rg_reset(s->e, b, o->gen.seed + (uint64_t)b);
    return o->gen.max_new_tokens > 0 ? write_rows(s, r, err) : 0;
}

int generate(session *s, wb_error *err)
{
    prompt_batch r = {0};
    int rc = run(s, &r, err);
    prompts_free(&r);
    return rc;
}
