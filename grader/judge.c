/* judge.c - the verdict on one case: every call, every output, every byte around them.
 *
 * The bytes come from the child, the expected values and tolerances from the reference.
 */
#define _GNU_SOURCE /* memmem */
#include "judge.h"

#include "compare.h"
#include "crash.h"
#include "repeats.h"
#include "values.h"
#include "writes.h"

#include <stdio.h>
#include <string.h>

/* Some parts limit the workspace, to make sure that it is not used to store
 * everything. */
static bool
workspace_right(struct findings *f, const struct graded_case *g, uint64_t bytes)
{
    if (!g->workspace_below || bytes < g->workspace_below) return true;
    say(f, "asks for %llu bytes of workspace; this part allows fewer than %llu",
        (unsigned long long)bytes, (unsigned long long)g->workspace_below);
    return false;
}

/* A program allocates the workspace once, for its largest sizes. */
static bool workspace_grows(struct findings *f, const struct run *run)
{
    if (!*run->falls) return true;
    say(f, "the workspace must never decrease when a size grows: %s", run->falls);
    return false;
}

/* true: the call ran without a CUDA error and returned what the case expects */
static bool
status_right(struct findings *f, const struct graded_case *g, const struct result *r)
{
    int status = r->head.status;
    const char *message = r->head.cuda_message;
    if (r->head.cuda_error && r->head.which == CALL_CAPTURED)
        say(f,
            "cannot be captured in a CUDA graph (%s): a launcher may only enqueue work "
            "on the stream that it is given",
            message);
    else if (r->head.cuda_error)
        say(f, "%s%s", message,
            strstr(message, "IllegalAddress") ? ": a kernel reads or writes out of bounds"
            : strstr(message, "NotPermitted")
                ? ": a launcher must not copy to the host; leave results on the device"
                : "");
    else if (status == (int)g->status)
        return true;
    else if (status == WB_TODO)
        say(f, "not written yet: %s_%s returns WB_TODO", g->function, g->dtype);
    else if (status < 0 || status > WB_BAD_CUDA)
        say(f, "returned %d, which is not a wb_status", status);
    else
        say(f, "returned %s, expected %s%s", wb_status_name((wb_status)status),
            wb_status_name(g->status),
            g->status == WB_BAD_CUDA
                ? ": the launch fails here, and cudaGetLastError() tells it"
                : "");
    return false;
}

/* A launcher that needs no workspace cannot get too little of it. */
static bool needs_no_more(const struct graded_case *g, const struct run *run)
{
    uint32_t least = g->workspace_less == WITHHOLD_ALL ? 1 : g->workspace_less;
    return run->workspace < least && run->result[CALL_A].present &&
           run->result[CALL_A].head.status == WB_OK &&
           !run->result[CALL_A].head.cuda_error;
}

/* Did every call come back that this case needs, and return what it must? */
static bool all_returned(
    struct findings *f, const struct graded_case *g, const struct case_data *d,
    const struct run *run)
{
    char words[160];
    for (uint32_t i = 0; i < CALLS; i++) {
        if (!run->result[i].present || status_right(f, g, &run->result[i])) continue;
        words_of_call(words, sizeof words, d, i);
        if (i >= CALL_SHIFTED)
            say(f, "the first call was right; this one is not%s", words);
        return false;
    }
    for (uint32_t i = 0; i < (g->status == WB_OK ? CALLS : 1); i++) {
        if (!asked(run, i) || (run->result[i].present && run->result[i].bytes)) continue;
        say(f, "no result came back%s", words_of_call(words, sizeof words, d, i));
        return false;
    }
    return workspace_right(f, g, run->workspace);
}

static void judge_calls(
    struct judgement *j, const struct graded_case *g, const struct case_data *d,
    const struct run *run)
{
    const struct result *a = &run->result[CALL_A];
    struct findings *f = &j->findings;
    j->verdict = FAILED;
    if (needs_no_more(g, run)) {
        j->verdict = PASSED;
        return;
    }
    if (!all_returned(f, g, d, run)) return;
    j->returned = true;
    bool grows = workspace_grows(f, run);
    bool kept = memory_kept(f, d, &d->set[0], a->bytes, g->status != WB_OK);
    if (g->status != WB_OK) {
        if (kept && grows) j->verdict = PASSED;
        return;
    }
    /* State kept between calls makes the thread orders differ too: check for it first. */
    bool right = all_right(d, &d->set[0], a->bytes);
    if (kept && right && !repeats_right(j, d, run)) return;
    /* If the order of threads matters, a pattern seen in one order means little. */
    bool same = orders_agree(f, d, run, right);
    if (!right) values_right(j, d, &d->set[0], a->bytes, same ? ALL : KNOWN_CAUSES);
    bool good = right && same;
    if (same && !launched(f, d, run)) good = false;
    if (good && kept && !shifted_right(j, d, run)) good = false;
    if (good && kept && grows) j->verdict = PASSED;
}

bool first_call_right(
    struct findings *f, const struct graded_case *g, const struct case_data *d,
    const struct run *run)
{
    struct judgement j = {0};
    const struct result *a = &run->result[CALL_A];
    bool right =
        needs_no_more(g, run) ||
        (status_right(&j.findings, g, a) && a->bytes &&
         memory_kept(&j.findings, d, &d->set[0], a->bytes, g->status != WB_OK) &&
         (g->status != WB_OK || values_right(&j, d, &d->set[0], a->bytes, WHERE_ONLY)));
    findings_add(f, &j.findings);
    return right;
}

/* --- a dry case --------------------------------------------------------------------- */

/* One call at a real size, on zeros: no result is right or wrong. */
static void judge_dry(
    struct judgement *j, const struct graded_case *g, const struct case_data *d,
    const struct run *run)
{
    const struct result *r = &run->result[CALL_A];
    struct findings *f = &j->findings;
    j->verdict = FAILED;
    if (!r->present)
        say(f, "no result came back");
    else if (!status_right(f, g, r))
        say(f, "a real size: more than 2^31 elements or 65,535 rows, or one long row");
    else if (r->head.unwritten == DRY_SKIPPED)
        j->verdict = PASSED; /* the device is too small for the case */
    else if (!r->head.launches)
        say(f, "returned WB_OK but launched no kernel");
    else if (r->head.unwritten && r->head.unwritten <= (uint32_t)d->views)
        say(f,
            "the last element of %s is never written: is the grid too small for this "
            "size, or does a number of elements overflow an int?",
            d->view[r->head.unwritten - 1].name);
    else
        j->verdict = PASSED;
}

/* --- the verdict -------------------------------------------------------------------- */

/* Where the back end stops a program it first says why: "file:line: error: deadlock ...".
 * Better than the name of the signal. NULL: it said nothing. */
static const char *last_words(const struct run *run, size_t *length)
{
    static const char mark[] = ": error: ";
    size_t bytes = run->output_bytes < OUTPUT_KEPT ? run->output_bytes : OUTPUT_KEPT;
    const char *from =
        run->output ? memmem(run->output, bytes, mark, strlen(mark)) : NULL;
    if (!from || !strstr(run->text, "abort")) return NULL;
    from += strlen(mark);
    size_t left = bytes - (size_t)(from - (const char *)run->output);
    const char *end = memchr(from, '\n', left);
    *length = end ? (size_t)(end - from) : left;
    return from;
}

void judge(
    struct judgement *j, const struct graded_case *g, const struct case_data *d,
    const struct run *run)
{
    j->seconds = run->seconds;
    switch (run->ending) {
    case RAN:
        (d->dry ? judge_dry : judge_calls)(j, g, d, run);
        j->unwritten = !run->result[0].head.cuda_error && j->findings.count == 1 &&
                       run->result[0].head.status == WB_TODO;
        return;
    case TIMED_OUT:
        j->verdict = TIMEOUT;
        break;
    case BROKE:
        j->verdict = BROKEN;
        break;
    case FLOODED:
        j->verdict = FAILED;
        break;
    default:
        j->verdict = CRASH;
        break;
    }
    char call[160];
    size_t length = 0;
    const char *words = last_words(run, &length);
    words_of_call(call, sizeof call, d, run->call);
    if (words)
        say(&j->findings, "%.*s%s", (int)length, words, call);
    else
        say(&j->findings, "%s%s", run->text, call);
    if (g->status != WB_OK && g->status != WB_BAD_CUDA)
        say(&j->findings, "expected %s: check the arguments before the first launch",
            wb_status_name(g->status));
    if (d->dry && j->verdict == CRASH && !words && !strstr(run->text, PAST_END))
        say(&j->findings,
            "a buffer may have more than 2^31 elements: compute offsets in size_t, not int");
}
