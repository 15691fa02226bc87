/* judge.c - the verdict on one case: every call, every output, every byte around them.
 *
 * The bytes come from the child, the expected values and tolerances from the reference.
 */
#define _GNU_SOURCE /* memmem */
#include "judge.h"

#include "compare.h"
#include "pattern.h"
#include "writes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- the values of one call --------------------------------------------------------- */

/* Prints both values with as many digits as tell them apart, but no more. */
static void
two_values(char *got, char *want, size_t room, double g, double w, enum mark mark)
{
    static const char *const origin[] = {
        [MARK_RIGHT] = "",
        [MARK_WRONG] = "",
        [MARK_POISON] = " (never written)",
        [MARK_RED_ZONE] = " (read out of bounds)",
        [MARK_WORKSPACE] = " (uninitialised workspace)",
        [MARK_SHARED] = " (uninitialised shared memory)"};
    for (int digits = 4; digits <= 9; digits++) {
        snprintf(got, room, "%.*g", digits, g);
        snprintf(want, room, "%.*g", digits, w);
        if (strcmp(got, want)) break;
    }
    if (is_nan(g)) snprintf(got, room, "NaN%s", origin[mark]);
}

static void say_wrong(struct findings *f, const struct comparison *c)
{
    char got[64], want[64], where[128];
    const struct view *v = c->view;
    size_t at = c->first_wrong;
    two_values(got, want, sizeof want, c->got[at], c->want[at], c->mark[at]);
    say(f, "%s: %zu of %zu elements wrong, first at %s: got %s, expected %s", v->name,
        c->wrong, v->elements, place(where, sizeof where, v, at), got, want);
}

/* Which block and thread computed the first wrong element, in the usual launch. */
static void say_owner(struct findings *f, const struct comparison *c)
{
    size_t i = c->first_wrong, row = i / c->view->cols, col = i % c->view->cols;
    if (!strcmp(c->view->owner, "row"))
        say(f, "computed by: block %zu, if each block computes one row",
            c->view->dims < 2 ? col : row);
    else if (!strcmp(c->view->owner, "column"))
        say(f,
            "computed by: block %zu, thread %zu, if each thread computes one column and "
            "a block has 256 threads",
            col / 256, col % 256);
    else if (!strcmp(c->view->owner, "element"))
        say(f,
            "computed by: block %zu, thread %zu, if each thread computes one element and "
            "a block has 256 threads",
            i / 256, i % 256);
}

static void say_tolerance(struct findings *f, const struct comparison *c)
{
    const char *formula =
        json_string_value(json_object_get(c->data->tolerance, c->view->name));
    double error = fabs(c->got[c->first_wrong] - c->want[c->first_wrong]);
    double tol = (double)c->tol[c->first_wrong];
    /* far outside the tolerance, its formula does not matter */
    if (!formula || !is_finite(error) || !(error < 1000 * tol)) return;
    say(f, "error %.2g, tolerance %.2g: %s", error, tol, formula);
}

enum depth { WHERE_ONLY, KNOWN_CAUSES, ALL };

/* Checks all outputs of one call against one data set. true: all right. depth: how much
 * is said of why they are wrong. */
static bool values_right(
    struct judgement *j, const struct case_data *d, const struct data_set *set,
    const unsigned char *result, enum depth depth)
{
    bool good = true;
    for (int i = 0; i < d->views; i++) {
        struct comparison c;
        if (!set->want[i]) continue;
        compare(&c, d, set, i, result);
        if (c.wrong * 2 > c.view->elements) j->mostly_wrong = true;
        if (c.wrong) {
            say_wrong(&j->findings, &c);
            if (good && depth == KNOWN_CAUSES) find_cause(&j->findings, &c);
            if (good && depth == ALL) { /* only the first wrong output is explained */
                say_tolerance(&j->findings, &c);
                find_pattern(&j->findings, &c);
                say_owner(&j->findings, &c);
            }
            j->wrong += c.wrong;
            good = false;
        }
        comparison_free(&c);
    }
    return good;
}

static bool first_right(const struct case_data *d, const struct result *a)
{
    struct judgement quiet = {0};
    bool right = values_right(&quiet, d, &d->set[0], a->bytes, WHERE_ONLY);
    findings_free(&quiet.findings);
    return right;
}

/* Which call it was, if it was not the first. */
static const char *
words_of_call(char *words, size_t room, const struct case_data *d, uint32_t which)
{
    if (which >= CALL_SHIFTED && which < CALL_SHIFTED + (uint32_t)d->buffers) {
        snprintf(
            words, room,
            " (in a call in which %s alone starts one element after a "
            "16-byte boundary)",
            d->buffer[which - CALL_SHIFTED].name);
        return words;
    }
    snprintf(
        words, room, "%s",
        which == CALL_A          ? ""
        : which == CALL_B        ? " (in the second call, on other data)"
        : which == CALL_A_AGAIN  ? " (in the third call, on the first data again)"
        : which == CALL_CAPTURED ? " (in the call captured in a CUDA graph)"
        : which < CALL_ORDER     ? " (in a later call, on other data)"
                                 : " (under another thread order)");
    return words;
}

/* --- several calls ------------------------------------------------------------------ */

static const struct result *result_of(const struct run *run, uint32_t which)
{
    return run->result[which].present ? &run->result[which] : NULL;
}

/* Is this call part of a case whose calls all return WB_OK? */
static bool asked(const struct run *run, uint32_t which)
{
    bool variant = which >= CALL_VARIANT && which < CALL_ORDER;
    if (which >= CALL_SHIFTED) return which < CALL_SHIFTED + (uint32_t)run->shifts;
    return variant ? run->orders && which >= CALL_VARIANT + 2
                   : run->orders || which < CALL_VARIANT;
}

/* The first element that two calls give differently */
struct change {
    double from, to;
    bool outside; /* one of them comes from outside the buffers */
    char text[256];
};

/* Do two calls give the same bits in the judged outputs? If not, `c` says where. */
static bool same_outputs(
    struct change *c, const struct case_data *d, const unsigned char *a,
    const unsigned char *b)
{
    char where[128];
    for (int i = 0; i < d->views; i++) {
        const struct view *v = &d->view[i];
        size_t e = element_bytes(v->element);
        if (!d->set[0].want[i]) continue;
        const unsigned char *pa = buffer_bytes(d, a, v->buffer);
        const unsigned char *pb = buffer_bytes(d, b, v->buffer);
        for (size_t x = 0; x < v->elements; x++) {
            size_t at = view_index(v, x) * e;
            if (!memcmp(pa + at, pb + at, e)) continue;
            c->from = element_value(v->element, pa + at);
            c->to = element_value(v->element, pb + at);
            c->outside = mark_of(v->element, pa + at) == MARK_RED_ZONE ||
                         mark_of(v->element, pb + at) == MARK_RED_ZONE;
            snprintf(
                c->text, sizeof c->text, "%s%s is %.9g, then %.9g", v->name,
                place(where, sizeof where, v, x), c->from, c->to);
            return false;
        }
    }
    return true;
}

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
        say(f, "returned %s, expected %s", wb_status_name((wb_status)status),
            wb_status_name(g->status));
    return false;
}

/* Was work launched, and on the stream that was passed? The CPU back end counts launches;
 * on a GPU the graph's nodes count. Work on another stream is not in the graph, so the
 * replay gives another result. */
static bool launched(struct findings *f, const struct case_data *d, const struct run *run)
{
    const struct result *a = result_of(run, CALL_A);
    const struct result *graph = result_of(run, CALL_CAPTURED);
    struct change change;
    for (int i = 0; i < d->views; i++) /* wb.h: if an output is empty, do nothing */
        if (d->set[0].want[i] && !d->view[i].elements) return true;
    if (!a->head.launches || (a->head.launches == UINT64_MAX && !graph->head.captured)) {
        say(f, "returned WB_OK but launched no kernel");
        return false;
    }
    if (same_outputs(&change, d, a->bytes, graph->bytes)) return true;
    say(f,
        "replayed from a CUDA graph, the call gives a different result (%s): is there "
        "work on a stream other than the one passed? Or does a kernel read host memory?",
        change.text);
    return false;
}

/* Why two results for the same data may differ, from the two values and the program. */
static const char *why_orders_differ(const struct case_data *d, const struct change *c)
{
    double a = c->from, b = c->to, size = fmax(fabs(a), fabs(b));
    if (c->outside)
        return "a kernel reads out of bounds, and writes what it read into an element "
               "that another thread writes";
    if (is_nan(a) || is_nan(b))
        return "is something read before another thread has written it?";
    if (d->threads_apart)
        return "does one thread read or write an element that another writes? Or is an "
               "uninitialized local variable read?";
    if (fabs(a - b) <= 0x1p-16 * size)
        return "is a __syncthreads() missing? A float atomic also changes the last bits";
    return "is a __syncthreads() missing? Does one thread read or write an element that "
           "another writes? Or is an uninitialized local variable read?";
}

static bool
orders_agree(struct findings *f, const struct case_data *d, const struct run *run)
{
    for (uint32_t i = CALL_ORDER; run->orders && i < CALL_SHIFTED; i++) {
        const struct result *r = &run->result[i];
        struct change c;
        if (same_outputs(&c, d, run->result[same_data(i)].bytes, r->bytes)) continue;
        say(f, "the result changes with the thread order: %s (%s; order %#llx)",
            why_orders_differ(d, &c), c.text, (unsigned long long)r->order);
        return false;
    }
    return true;
}

/* Do most of the elements that are wrong on data B hold the results on data A? */
static bool
kept_results(const struct case_data *d, const unsigned char *a, const unsigned char *b)
{
    size_t same = 0, wrong = 0;
    for (int i = 0; i < d->views; i++) {
        struct comparison first, second;
        if (!d->set[1].want[i]) continue;
        compare(&first, d, &d->set[0], i, a);
        compare(&second, d, &d->set[1], i, b);
        for (size_t x = 0; x < second.view->elements; x++) {
            wrong += second.mark[x] != MARK_RIGHT;
            same += second.mark[x] && second.got[x] == first.got[x];
        }
        comparison_free(&first);
        comparison_free(&second);
    }
    return same * 2 > wrong;
}

/* The call on data B, and the second call on data A, both at the same pointers. */
static bool
repeats_right(struct judgement *j, const struct case_data *d, const struct run *run)
{
    struct findings *f = &j->findings;
    const struct result *a = result_of(run, CALL_A), *b = result_of(run, CALL_B);
    const struct result *again = result_of(run, CALL_A_AGAIN);
    struct change change;
    if (!memory_kept(f, d, &d->set[1], b->bytes, false)) return false;
    bool kept = kept_results(d, a->bytes, b->bytes);
    if (!values_right(j, d, &d->set[1], b->bytes, kept ? WHERE_ONLY : ALL)) {
        say(f,
            kept
                ? "this is the second call, on other data at the same pointers; it has "
                  "the results of the first: is something kept between calls (a static "
                  "variable, a cache)?"
                : "this is the second call, on other data; the first was right: does the "
                  "kernel read memory that it has not written, or depend on the values? "
                  "Or is something kept between calls?");
        return false;
    }
    if (same_outputs(&change, d, a->bytes, again->bytes)) return true;
    say(f,
        "two calls on equal inputs differ (%s): a float atomic, a race, or memory or a "
        "variable that is read before it is written?",
        change.text);
    return false;
}

/* The calls on data A, each with one unaligned buffer. A launcher may choose another
 * kernel for them, so the last bits may differ from those of the first call. */
static bool
shifted_right(struct judgement *j, const struct case_data *d, const struct run *run)
{
    for (uint32_t i = CALL_SHIFTED; asked(run, i); i++) {
        const unsigned char *bytes = run->result[i].bytes;
        char words[160];
        if (memory_kept(&j->findings, d, &d->set[0], bytes, false) &&
            values_right(j, d, &d->set[0], bytes, ALL))
            continue;
        words_of_call(words, sizeof words, d, i);
        say(&j->findings, "the first call was right; this is wrong only%s", words);
        return false;
    }
    return true;
}

/* A launcher that needs no workspace cannot get too little of it. */
static bool needs_no_more(const struct graded_case *g, const struct run *run)
{
    return g->workspace_less && run->workspace < g->workspace_less &&
           run->result[CALL_A].present && run->result[CALL_A].head.status == WB_OK &&
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
    if (kept && first_right(d, a) && !repeats_right(j, d, run)) return;
    /* If the order of threads matters, a pattern seen in one order means little. */
    bool same = orders_agree(f, d, run);
    bool good =
        values_right(j, d, &d->set[0], a->bytes, same ? ALL : KNOWN_CAUSES) && same;
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
    if (d->dry && j->verdict == CRASH)
        say(&j->findings,
            "a buffer may have more than 2^31 elements: compute offsets in size_t, not int");
}
