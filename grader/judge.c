/* judge.c - right or wrong: every element, every other byte, every call.
 *
 * The bytes come from the child, the expected values and tolerances from the reference.
 * |got - want| <= tol must be true, so that NaN fails; what is finite is told by the
 * exponent's bits, which no compiler flag changes.
 */
#include "grader.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void say(struct judgement *j, const char *format, ...)
{
    char text[600];
    va_list args;
    if (j->lines == MAX_LINES) return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    j->line[j->lines++] = text_of("%s", text);
}

/* ---- memory ------------------------------------------------------------------------- */

/* Where buffer b's bytes begin in a result; its fence is before and behind. */
static const unsigned char *
buffer_bytes(const struct case_data *d, const unsigned char *all, int b)
{
    for (int i = 0; i < b; i++)
        all += d->buffer[i].bytes + 2 * FENCE;
    return all + FENCE;
}

/* The 16-bit fillings start at the first byte of each part. */
static bool filled_with(const unsigned char *p, size_t i, unsigned pattern)
{
    return p[i] == (unsigned char)(i & 1 ? pattern >> 8 : pattern);
}

static const struct view *view_of(const struct case_data *d, int buffer, bool output)
{
    for (int i = 0; i < d->views; i++)
        if (d->view[i].buffer == buffer && (d->view[i].role != ROLE_IN) == output)
            return &d->view[i];
    return NULL;
}

/* Elements of the type that the buffer holds, for saying how far. */
static size_t buffer_element(const struct case_data *d, int b)
{
    const struct view *v = view_of(d, b, true);
    if (!v) v = view_of(d, b, false);
    return v ? element_bytes(v->element) : 1;
}

/* Furthest byte before and behind that was written. */
static bool fence_broken(
    struct judgement *j, const char *name, const unsigned char *before,
    const unsigned char *behind, size_t element)
{
    size_t low = 0, high = 0;
    for (size_t i = 0; i < FENCE; i++) {
        if (!low && !filled_with(before, i, FILL_FENCE)) low = FENCE - i;
        if (!filled_with(behind, i, FILL_FENCE)) high = i + 1;
    }
    if (low)
        say(j, "writes before the start of %s, %zu element%s before it", name,
            (low + element - 1) / element, low > element ? "s" : "");
    if (high)
        say(j,
            "writes past the end of %s, %zu element%s past it: a missing bounds check?",
            name, (high + element - 1) / element, high > element ? "s" : "");
    return low || high;
}

/* Which bytes of a buffer the call may write: those of its outputs. */
static unsigned char *writable(const struct case_data *d, int b)
{
    unsigned char *may = xalloc(d->buffer[b].bytes);
    for (int i = 0; i < d->views; i++) {
        const struct view *v = &d->view[i];
        size_t e = element_bytes(v->element);
        if (v->buffer != b || v->role == ROLE_IN || !v->elements) continue;
        for (size_t row = 0; row < v->rows; row++)
            memset(may + (v->offset + row * v->stride) * e, 1, v->cols * e);
    }
    return may;
}

static void
say_changed(struct judgement *j, const struct case_data *d, int b, size_t byte)
{
    const struct view *out = view_of(d, b, true), *in = view_of(d, b, false);
    size_t element = byte / buffer_element(d, b);
    char where[128];
    if (!out && in && element >= in->offset && in->stride) {
        size_t at = element - in->offset;
        snprintf(
            where, sizeof where, "row %zu, col %zu", at / in->stride, at % in->stride);
        if (in->rows == 1) snprintf(where, sizeof where, "%zu", at);
        say(j, "changes its input %s, first at [%s]", in->name, where);
    } else if (out && element >= out->offset && out->stride > out->cols) {
        size_t at = element - out->offset;
        say(j,
            "writes between the rows of %s: row %zu, col %zu, but a row has %zu columns "
            "(ld is %zu)",
            out->name, at / out->stride, at % out->stride, out->cols, out->stride);
    } else {
        say(j, "writes to buffer %s outside of its outputs, first element %zu",
            d->buffer[b].name, element);
    }
}

/* Everything that is no output must keep its bits. true: it did. */
static bool memory_kept(
    struct judgement *j, const struct case_data *d, const struct data_set *set,
    const unsigned char *all, bool outputs_too)
{
    int before = j->lines;
    for (int b = 0; b < d->buffers; b++) {
        const unsigned char *p = buffer_bytes(d, all, b);
        size_t bytes = d->buffer[b].bytes, i = 0;
        unsigned char *may = writable(d, b);
        fence_broken(j, d->buffer[b].name, p - FENCE, p + bytes, buffer_element(d, b));
        for (; i < bytes; i++) {
            if (may[i] && !outputs_too) continue;
            if (set->bytes[b] ? p[i] != set->bytes[b][i] : p[i] != 0xFF) break;
        }
        if (i < bytes) say_changed(j, d, b, i);
        free(may);
    }
    const unsigned char *work = buffer_bytes(d, all, d->buffers) - FENCE;
    fence_broken(j, "the workspace", work, work + FENCE, sizeof(float));
    return j->lines == before;
}

/* ---- values ------------------------------------------------------------------------- */

static bool finite_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (bits >> 52 & 0x7FF) != 0x7FF;
}

static bool nan_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (bits & 0x7FFFFFFFFFFFFFFF) > 0x7FF0000000000000;
}

static bool right(double got, double want, double tol)
{
    if (finite_bits(want)) return finite_bits(got) && fabs(got - want) <= tol;
    return nan_bits(want) ? nan_bits(got) : got == want;
}

/* What a wrong value's bits tell: one of the fillings of protocol.h? */
static uint8_t mark_of(enum element e, const unsigned char *p)
{
    static const struct {
        unsigned pattern;
        uint8_t mark;
    } fillings[] = {
        {FILL_POISON, MARK_POISON},
        {FILL_FENCE, MARK_FENCE},
        {FILL_WORKSPACE, MARK_WORKSPACE}};
    for (size_t k = 0; k < sizeof fillings / sizeof *fillings; k++) {
        size_t i = 0;
        while (i < element_bytes(e) && filled_with(p, i, fillings[k].pattern))
            i++;
        if (i == element_bytes(e)) return fillings[k].mark;
    }
    return MARK_WRONG;
}

struct compared {
    struct comparison c;
    double *got, *first;
    uint8_t *mark;
};

static void compare(
    struct compared *k, const struct case_data *d, const struct data_set *set, int i,
    const unsigned char *all)
{
    const struct view *v = &d->view[i];
    const unsigned char *p = buffer_bytes(d, all, v->buffer);
    size_t e = element_bytes(v->element), n = v->elements;
    bool starts = v->role != ROLE_OUT && set->bytes[v->buffer];
    memset(k, 0, sizeof *k);
    k->got = xalloc(n * sizeof *k->got);
    k->mark = xalloc(n);
    if (starts) k->first = xalloc(n * sizeof *k->first);
    k->c = (struct comparison){
        v, d, set, set->want[i], set->tol[i], k->got, k->mark, k->first, 0, 0};
    for (size_t x = 0; x < n; x++) {
        size_t at = view_index(v, x) * e;
        k->got[x] = element_value(v->element, p + at);
        if (starts) k->first[x] = element_value(v->element, set->bytes[v->buffer] + at);
        if (right(k->got[x], set->want[i][x], (double)set->tol[i][x])) continue;
        k->mark[x] = mark_of(v->element, p + at);
        if (!k->c.wrong++) k->c.first_wrong = x;
    }
}

static void compared_free(struct compared *k)
{
    free(k->got);
    free(k->first);
    free(k->mark);
}

/* "[row 0, col 992]"; more dimensions by number: "[1, 0, 5, 17]" */
char *place(char *text, size_t bytes, const struct view *v, size_t i)
{
    size_t index[MAX_DIMS];
    int n = 0;
    if (v->dims <= 1) {
        snprintf(text, bytes, "[%zu]", i);
        return text;
    }
    if (v->dims == 2) {
        snprintf(text, bytes, "[row %zu, col %zu]", i / v->cols, i % v->cols);
        return text;
    }
    for (int k = v->dims - 1; k >= 0; i /= v->shape[k], k--)
        index[k] = i % v->shape[k];
    for (int k = 0; k < v->dims; k++)
        n += snprintf(text + n, bytes - (size_t)n, "%s%zu", k ? ", " : "[", index[k]);
    snprintf(text + n, bytes - (size_t)n, "]");
    return text;
}

/* As many digits as tell the two apart, but no more. */
static void
two_values(char *got, char *want, size_t room, double g, double w, uint8_t mark)
{
    static const char *const why[] = {
        "", "", " (never written)", " (read outside of a buffer)",
        " (workspace that nobody wrote)"};
    for (int digits = 4; digits <= 9; digits++) {
        snprintf(got, room, "%.*g", digits, g);
        snprintf(want, room, "%.*g", digits, w);
        if (strcmp(got, want)) break;
    }
    if (nan_bits(g)) snprintf(got, room, "NaN%s", why[mark]);
}

static int outputs_judged(const struct case_data *d)
{
    int n = 0;
    for (int i = 0; i < d->views; i++)
        n += d->set[0].want[i] != NULL;
    return n;
}

static void say_wrong(struct judgement *j, const struct comparison *c)
{
    char got[64], want[64], where[128];
    const struct view *v = c->view;
    size_t at = c->first_wrong;
    bool named = outputs_judged(c->data) > 1;
    two_values(got, want, sizeof want, c->got[at], c->want[at], c->mark[at]);
    say(j, "%s%s%zu of %zu wrong, first at %s: got %s, expected %s", named ? v->name : "",
        named ? ": " : "", c->wrong, v->elements, place(where, sizeof where, v, at), got,
        want);
}

static void say_owner(struct judgement *j, const struct comparison *c)
{
    size_t row = c->first_wrong / c->view->cols, col = c->first_wrong % c->view->cols;
    if (!strcmp(c->view->owner, "row"))
        say(j, "owner: block %zu, where a block takes a row",
            c->view->dims < 2 ? col : row);
    else if (!strcmp(c->view->owner, "column"))
        say(j, "owner: the thread of column %zu: block %zu, thread %zu with 256 a block",
            col, col / 256, col % 256);
    else if (!strcmp(c->view->owner, "element"))
        say(j, "owner: block %zu, thread %zu, where a block of 256 takes 256 elements",
            c->first_wrong / 256, c->first_wrong % 256);
}

static void say_tolerance(struct judgement *j, const struct comparison *c)
{
    const char *words =
        json_string_value(json_object_get(c->data->tolerance, c->view->name));
    double off = fabs(c->got[c->first_wrong] - c->want[c->first_wrong]);
    double tol = (double)c->tol[c->first_wrong];
    if (!words || !finite_bits(off) || !(off < 1000 * tol)) return; /* not what matters */
    say(j, "off by %.2g, tolerance %.2g: %s", off, tol, words);
}

/* All outputs of one call against one data set. true: all right. `brief`: only where. */
static bool values_right(
    struct judgement *j, const struct case_data *d, const struct data_set *set,
    const unsigned char *all, bool brief)
{
    bool good = true;
    for (int i = 0; i < d->views; i++) {
        struct compared k;
        if (!set->want[i]) continue;
        compare(&k, d, set, i, all);
        if (k.c.wrong) {
            say_wrong(j, &k.c);
            if (good && !brief) { /* the first wrong output is explained */
                say_tolerance(j, &k.c);
                find_pattern(j, &k.c);
                say_owner(j, &k.c);
            }
            j->wrong += k.c.wrong;
            good = false;
        }
        compared_free(&k);
    }
    return good;
}

/* ---- calls -------------------------------------------------------------------------- */

/* Do two calls give the same bits in the outputs that count? If not: where, in words. */
static bool same_outputs(
    char *text, size_t room, const struct case_data *d, const unsigned char *a,
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
            snprintf(
                text, room, "first %s%s: %.9g, then %.9g", v->name,
                place(where, sizeof where, v, x), element_value(v->element, pa + at),
                element_value(v->element, pb + at));
            return false;
        }
    }
    return true;
}

static const struct result *result_of(const struct run *run, uint32_t which)
{
    for (size_t i = 0; i < run->results; i++)
        if (run->result[i].head.which == which) return &run->result[i];
    return NULL;
}

static const unsigned char *bytes_of(const struct run *run, const struct result *r)
{
    return r->as_first ? run->result[0].bytes : r->bytes;
}

/* A part that asks for a kernel with little workspace says so in bytes. */
static bool
workspace_right(struct judgement *j, const struct graded_case *g, const struct result *r)
{
    if (!g->workspace_below || r->head.workspace < g->workspace_below) return true;
    say(j, "asks for %llu bytes of workspace, and this part allows fewer than %llu",
        (unsigned long long)r->head.workspace, (unsigned long long)g->workspace_below);
    return false;
}

/* true: the call was made and returned what the case expects */
static bool
status_right(struct judgement *j, const struct graded_case *g, const struct result *r)
{
    int status = r->head.status;
    const char *message = r->head.cuda_message;
    if (r->head.cuda_error && r->head.which == CALL_CAPTURED)
        say(j,
            "cannot be recorded in a CUDA graph (%s): a launcher only enqueues work on "
            "the "
            "stream that it is given",
            message);
    else if (r->head.cuda_error)
        say(j, "%s%s", message,
            strstr(message, "IllegalAddress") ? ": a read or write out of bounds" : "");
    else if (status == (int)g->status)
        return workspace_right(j, g, r);
    else if (status == WB_TODO)
        say(j, "not written yet: %s_%s returns WB_TODO", g->function, g->dtype);
    else if (status < 0 || status > WB_BAD_CUDA)
        say(j, "returned %d, which is no wb_status", status);
    else
        say(j, "returned %s, expected %s", wb_status_name((wb_status)status),
            wb_status_name(g->status));
    return false;
}

/* Work must have been launched (counted by the CPU back end, as nodes of the graph on a
 * card), and on the stream that was passed (or the graph, which has only that, gives
 * another result). */
static bool
launched(struct judgement *j, const struct case_data *d, const struct run *run)
{
    const struct result *a = result_of(run, CALL_A),
                        *graph = result_of(run, CALL_CAPTURED);
    size_t elements = 0;
    char change[256];
    for (int i = 0; i < d->views; i++)
        if (d->set[0].want[i]) elements += d->view[i].elements;
    if (!elements || !graph) return true;
    if (!a->head.launches || (a->head.launches == UINT64_MAX && !graph->head.captured)) {
        say(j, "returned WB_OK, but launched no kernel");
        return false;
    }
    if (same_outputs(change, sizeof change, d, a->bytes, bytes_of(run, graph)))
        return true;
    say(j,
        "recorded in a CUDA graph and run from it, the result differs (%s): work on "
        "another "
        "stream than the one passed?",
        change);
    return false;
}

static bool
orders_agree(struct judgement *j, const struct case_data *d, const struct run *run)
{
    for (size_t i = 0; i < run->results; i++) {
        const struct result *r = &run->result[i];
        char change[256];
        if (r->head.which < CALL_ORDER || !bytes_of(run, r)) continue;
        if (same_outputs(
                change, sizeof change, d, run->result[0].bytes, bytes_of(run, r)))
            continue;
        say(j,
            "the result changes with the thread order: missing __syncthreads? (order "
            "%#llx; %s)",
            (unsigned long long)r->head.order, change);
        return false;
    }
    return true;
}

/* The second data set, and the first again, at the same pointers. */
static bool
repeats_right(struct judgement *j, const struct case_data *d, const struct run *run)
{
    const struct result *b = result_of(run, CALL_B),
                        *again = result_of(run, CALL_A_AGAIN);
    char change[256];
    int lines = j->lines;
    if (!b || !again || !bytes_of(run, b) || !bytes_of(run, again)) {
        say(j, "the second or third call did not return as the first did");
        return false;
    }
    if (!memory_kept(j, d, &d->set[1], bytes_of(run, b), false)) return false;
    if (!values_right(j, d, &d->set[1], bytes_of(run, b), true)) {
        say(j, "the first call was right, this one, with other data at the same "
               "pointers, is "
               "not: something is kept between calls (static variable, cache)");
        return false;
    }
    if (!same_outputs(
            change, sizeof change, d, run->result[0].bytes, bytes_of(run, again)))
        say(j, "two runs on equal inputs differ (%s): float atomics, or a race?", change);
    return j->lines == lines;
}

static bool first_right(const struct case_data *d, const struct result *a)
{
    struct judgement quiet = {0};
    bool right = values_right(&quiet, d, &d->set[0], a->bytes, true);
    while (quiet.lines)
        free(quiet.line[--quiet.lines]);
    return right;
}

static void judge_calls(
    struct judgement *j, const struct graded_case *g, const struct case_data *d,
    const struct run *run)
{
    const struct result *a = result_of(run, CALL_A);
    j->verdict = FAILED;
    if (!a) {
        say(j, "no result came back");
        return;
    }
    for (size_t i = 0; i < run->results; i++)
        if (!status_right(j, g, &run->result[i])) return;
    bool kept = memory_kept(j, d, &d->set[0], a->bytes, g->status != WB_OK);
    if (g->status != WB_OK) {
        if (kept) j->verdict = PASSED;
        return;
    }
    /* What is kept between calls differs in later orders too: it is asked for first. */
    if (kept && first_right(d, a) && !repeats_right(j, d, run)) return;
    bool same = orders_agree(j, d, run); /* if not, no pattern of one order means much */
    bool good = values_right(j, d, &d->set[0], a->bytes, !same) && same;
    if (same && !launched(j, d, run)) good = false;
    if (good && kept) j->verdict = PASSED;
}

/* Which call of several it was, when it was not the first. */
static const char *which_call(const struct run *run)
{
    return run->results == 0               ? ""
           : run->results == CALL_B        ? " (second call, other data)"
           : run->results == CALL_A_AGAIN  ? " (third call, the first data again)"
           : run->results == CALL_CAPTURED ? " (replayed from a CUDA graph)"
                                           : " (under another thread order)";
}

void judge(
    struct judgement *j, const struct graded_case *g, const struct case_data *d,
    const struct run *run)
{
    j->seconds = run->seconds;
    switch (run->ending) {
    case RAN:
        judge_calls(j, g, d, run);
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
    say(j, "%s%s", run->text, which_call(run));
}
