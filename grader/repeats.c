/* repeats.c - several calls on equal data agree, whatever happens between them. */
#include "repeats.h"

#include "compare.h"
#include "values.h"
#include "writes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Which call it was, if it was not the first. */
const char *
words_of_call(char *words, size_t room, const struct case_data *d, uint32_t which)
{
    if (which >= CALL_SHIFTED && shifted_buffer(which) < (uint32_t)d->buffers) {
        const struct buffer *b = &d->buffer[shifted_buffer(which)];
        snprintf(
            words, room,
            " (in a call in which %s alone starts %u bytes after a 16-byte boundary)",
            b->name, shifted_bytes(which, element_bytes(b->element)));
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

static const struct result *result_of(const struct run *run, uint32_t which)
{
    return run->result[which].present ? &run->result[which] : NULL;
}

bool asked(const struct run *run, uint32_t which)
{
    if (which == CALL_CAPTURED) return !run->host_code;
    if (which >= CALL_SHIFTED)
        return which >= run->first_shift && which < run->last_shift;
    if (which >= CALL_ORDER) return which < CALL_ORDER + (uint32_t)run->orders;
    if (which < CALL_VARIANT) return true;
    return which >= CALL_VARIANT + 2 && which < CALL_VARIANT + (uint32_t)run->orders;
}

/* The first element that two calls give differently */
struct change {
    double from, to;
    bool outside;   /* one of them comes from outside the buffers */
    bool unwritten; /* the first comes from shared memory that nothing has written */
    char text[256];
};

/* Do two calls give the same bits in the judged outputs? If not, `c` says where. */
static bool same_outputs(
    struct change *c, const struct case_data *d, const unsigned char *a,
    const unsigned char *b)
{
    char where[128];
    if (a == b) return true; /* equal results are kept once */
    for (int i = 0; i < d->views; i++) {
        const struct view *v = &d->view[i];
        size_t e = element_bytes(v->element);
        if (!d->set[0].want[i]) continue;
        const unsigned char *pa = buffer_bytes(d, a, v->buffer);
        const unsigned char *pb = buffer_bytes(d, b, v->buffer);
        for (size_t x = 0; x < v->elements; x++) {
            size_t at = view_index(v, x) * e;
            if (x % v->cols == 0 && !memcmp(pa + at, pb + at, v->cols * e)) {
                x += v->cols - 1; /* the whole row is equal */
                continue;
            }
            if (!memcmp(pa + at, pb + at, e)) continue;
            c->from = element_value(v->element, pa + at);
            c->to = element_value(v->element, pb + at);
            c->outside = mark_of(v->element, pa + at) == MARK_RED_ZONE ||
                         mark_of(v->element, pb + at) == MARK_RED_ZONE;
            c->unwritten = mark_of(v->element, pa + at) == MARK_SHARED;
            snprintf(
                c->text, sizeof c->text, "%s%s is %.9g, then %.9g", v->name,
                place(where, sizeof where, v, x), c->from, c->to);
            return false;
        }
    }
    return true;
}

/* In place, the outputs may be right before the call, as in a rotation of 0 channels. */
static bool right_before(const struct case_data *d)
{
    bool judged = false;
    for (int i = 0; i < d->views; i++) {
        const struct view *v = &d->view[i];
        const double *want = d->set[0].want[i];
        const unsigned char *bytes = want ? d->set[0].bytes[v->buffer] : NULL;
        size_t e = element_bytes(v->element);
        if (want && !bytes) return false;
        judged |= want != NULL;
        for (size_t x = 0; want && x < v->elements; x++)
            if (element_value(v->element, bytes + view_index(v, x) * e) != want[x])
                return false;
    }
    return judged;
}

/* Was work launched, and on the stream that was passed? The CPU back end counts launches;
 * on a GPU the graph's nodes count. Work on another stream is not in the graph, so the
 * replay gives another result. */
bool launched(struct findings *f, const struct case_data *d, const struct run *run)
{
    const struct result *a = result_of(run, CALL_A);
    const struct result *graph = result_of(run, CALL_CAPTURED);
    struct change change;
    for (int i = 0; i < d->views; i++) /* wb.h: if an output is empty, do nothing */
        if (d->set[0].want[i] && !d->view[i].elements) return true;
    if (right_before(d)) return true;
    bool counted = a->head.launches != NOT_COUNTED;
    if (counted ? !a->head.launches : graph && !graph->head.captured) {
        say(f, "returned WB_OK but launched no kernel");
        return false;
    }
    if (!graph) return true; /* host code */
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
    bool last_bits = fabs(a - b) <= 0x1p-16 * size;
    if (d->threads_apart && last_bits)
        return "do several threads add to one element? A float atomic changes the last "
               "bits. Or does a thread read what another writes?";
    if (d->threads_apart)
        return "does one thread read or write an element that another writes? Or is an "
               "uninitialized local variable read?";
    if (last_bits)
        return "is a __syncthreads() missing? A float atomic also changes the last bits";
    return "is a __syncthreads() missing? Does one thread read or write an element that "
           "another writes? Or is an uninitialized local variable read?";
}

#define KEPT                                                                              \
    "a new process gets it right in every order. Is something kept from an earlier call " \
    "(a static variable)? Otherwise, does a thread read what another writes?"

/* A new process gave these results: are all of them on data A right? */
static bool new_process_right(const struct case_data *d, const struct run *run)
{
    for (uint32_t i = CALL_ORDER; i < CALL_ORDER + (uint32_t)run->orders; i++)
        if (same_data(i) == CALL_A && !all_right(d, &d->set[0], run->result[i].bytes))
            return false;
    return true;
}

bool orders_agree(
    struct findings *f, const struct case_data *d, const struct run *run, bool right)
{
    for (uint32_t i = CALL_ORDER; i < CALL_ORDER + (uint32_t)run->orders; i++) {
        const struct result *r = &run->result[i];
        struct change c;
        if (same_outputs(&c, d, run->result[same_data(i)].bytes, r->bytes)) continue;
        say(f, "the result changes with the thread order: %s (%s; order %#llx)",
            !right && !c.unwritten && new_process_right(d, run)
                ? KEPT
                : why_orders_differ(d, &c),
            c.text, (unsigned long long)r->order);
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
bool repeats_right(struct judgement *j, const struct case_data *d, const struct run *run)
{
    struct findings *f = &j->findings;
    const struct result *a = result_of(run, CALL_A), *b = result_of(run, CALL_B);
    const struct result *again = result_of(run, CALL_A_AGAIN);
    struct change change;
    if (!memory_kept(f, d, &d->set[1], b->bytes, false)) return false;
    if (!all_right(d, &d->set[1], b->bytes)) {
        bool kept = kept_results(d, a->bytes, b->bytes);
        values_right(j, d, &d->set[1], b->bytes, kept ? WHERE_ONLY : ALL);
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
bool shifted_right(struct judgement *j, const struct case_data *d, const struct run *run)
{
    for (uint32_t i = run->first_shift; i < run->last_shift; i++) {
        const unsigned char *bytes = run->result[i].bytes;
        char words[160];
        if (bytes == run->result[CALL_A].bytes) continue; /* equal */
        if (memory_kept(&j->findings, d, &d->set[0], bytes, false) &&
            values_right(j, d, &d->set[0], bytes, ALL))
            continue;
        words_of_call(words, sizeof words, d, i);
        say(&j->findings, "the first call was right; this is wrong only%s", words);
        return false;
    }
    return true;
}
