/* calls.c - the calls of one case: on which data, in which order, in which process.
 *
 * A process calls the launcher on data A, on B, on A again, and, unless it is host code,
 * on A in a captured graph; with off=each, then on A with each buffer in turn at an
 * unaligned address; on the CPU back end, then on variants of A. After that, a new process repeats the calls
 * on A, B and the variants in seeded orders of threads and blocks. Each result must have
 * the bits of the natural order. The new process has never seen the data and sees each
 * data set once, so remembered results are of no use. It also begins the next case.
 *
 * Of a case with alternatives, only the first variant gets all of that. The others share
 * the process that it leaves, and have calls in two orders only, on A and on B. If one call
 * takes long, some of the calls after the first four are left out, so that correct but
 * slow code stays within its CPU time.
 */
#include "calls.h"

#include "process.h"
#include "sha256.h"
#include "util.h"
#include "variant.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    FEW_ORDERS = 2, /* of A and B, which need no variants of A */
    ORDER_COST = 4, /* of a call in a seeded order, in plain calls: barriers are slower */
};
static const double LONGEST = 0.8; /* all calls, as a share of the CPU time */

struct calls {
    struct child *child;
    bool orders;
    double cpu_seconds; /* that a case may take */
};

struct calls *calls_new(
    const char *program, bool device, bool orders, struct child_limits limits,
    struct under *under)
{
    struct calls *s = xalloc(sizeof *s);
    s->child = child_new(program, device, limits, under);
    s->orders = orders;
    s->cpu_seconds = limits.cpu_seconds;
    return s;
}

void calls_free(struct calls *s)
{
    child_free(s->child);
    free(s);
}

/* --- seeded choices ----------------------------------------------------------------- */

/* Never 0, the natural order. The program learns these numbers, and must not be able to
 * compute the seed from them: it would know the data of the cases that follow. */
static uint64_t order_seed(uint64_t seed, uint32_t i)
{
    struct sha256 s;
    char hex[65];
    sha256_start(&s);
    sha256_add(&s, &seed, sizeof seed);
    sha256_add(&s, &i, sizeof i);
    sha256_hex(&s, hex);
    hex[16] = 0;
    return strtoull(hex, NULL, 16) | 1;
}

/* The numbers [0, n) in a seeded sequence: no call tells which ones follow. */
static void make_sequence(uint32_t sequence[], uint32_t n, uint64_t seed)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t j = (uint32_t)(next_random(&seed) % (i + 1));
        sequence[i] = sequence[j];
        sequence[j] = i;
    }
}

/* --- one call ----------------------------------------------------------------------- */

struct talk_about {
    struct child *child;
    const struct case_data *d;
    struct run *run;
    unsigned char *variant; /* room for one */
};

/* true: it returned WB_OK; only then do more calls follow. */
static bool call(const struct talk_about *t, uint32_t which)
{
    const struct case_data *d = t->d;
    const unsigned char *const *bytes = d->set[0].bytes;
    const unsigned char *of_variant[MAX_BUFFERS] = {0}, *next = t->variant;
    uint32_t same = same_data(which);
    struct wire_call w = {.which = which};
    if (which >= CALL_ORDER && which < CALL_SHIFTED)
        w.order = order_seed(d->seed, which - CALL_ORDER);
    if (same == CALL_B) bytes = d->set[1].bytes;
    if (same >= CALL_VARIANT) {
        make_variant(t->variant, d, same - CALL_VARIANT);
        for (int b = 0; b < d->buffers; b++) {
            if (!d->buffer[b].filled) continue;
            of_variant[b] = next;
            next += d->buffer[b].bytes;
        }
        bytes = of_variant;
    }
    if (!child_call(t->child, d, w, bytes, t->run)) return false;
    struct result *r = &t->run->result[which];
    r->order = w.order;
    return r->head.status == WB_OK && !r->head.cuda_error;
}

/* false after a call that failed */
static bool calls(const struct talk_about *t, uint32_t from, uint32_t to)
{
    for (uint32_t which = from; which < to; which++)
        if (!call(t, which)) return false;
    return true;
}

static bool orders(const struct talk_about *t)
{
    uint32_t sequence[ORDERS];
    uint32_t n = (uint32_t)t->run->orders;
    make_sequence(sequence, n, t->d->seed);
    for (uint32_t i = 0; i < n; i++)
        if (!call(t, CALL_ORDER + sequence[i])) return false;
    return true;
}

/* After the first `made` calls: leaves out those for which there is no time if they are
 * as slow. First go the calls in other orders, then those at unaligned addresses. */
static void leave_out(const struct calls *s, struct run *run, uint32_t made)
{
    double used = child_cpu(s->child, run), one = used / made;
    if (used <= 0) return;
    double room = fmax(0, LONGEST * s->cpu_seconds / one - made);
    if (room < run->last_shift - run->first_shift)
        run->last_shift = run->first_shift + (uint32_t)room;
    room -= run->last_shift - run->first_shift;
    if (run->orders > FEW_ORDERS &&
        room < ORDER_COST * run->orders + run->orders - FEW_ORDERS)
        run->orders = FEW_ORDERS;
    if (room < ORDER_COST * run->orders) run->orders = 0;
}

/* The calls of one process, then, in the first variant, those of another. */
static void all_calls(
    const struct calls *s, const struct talk_about *t, const struct graded_case *g,
    bool new_process)
{
    uint32_t first = CALL_CAPTURED + !t->d->host_code;
    bool good = calls(t, CALL_A, first);
    if (good) leave_out(s, t->run, first);
    uint32_t many = (uint32_t)t->run->orders;
    good = good && calls(t, t->run->first_shift, t->run->last_shift);
    if (good && many) good = calls(t, CALL_VARIANT + 2, CALL_VARIANT + many);
    if (good && many && !new_process) good = orders(t);
    if (t->run->ending == RAN) child_close(t->child, t->d, t->run);
    if (t->run->ending != RAN || !good || !many || !new_process) return;
    child_stop(t->child); /* the next process has seen nothing */
    if (child_open(t->child, g, t->d, t->run) && (orders(t) || t->run->ending == RAN))
        child_close(t->child, t->d, t->run);
}

/* off=each: each buffer, by one element and by 8 bytes; with values drawn at random only one
 * of these calls, because there are many such variants. */
static void
choose_shifts(struct run *run, const struct graded_case *g, const struct case_data *d)
{
    uint32_t all = g->off_each ? 2 * (uint32_t)d->buffers : 0;
    run->first_shift = CALL_SHIFTED;
    run->last_shift = CALL_SHIFTED + all;
    if (!all || !*d->drawn) return;
    run->first_shift +=
        (uint32_t)(order_seed(d->seed, CALLS + (uint32_t)g->variant) % all);
    run->last_shift = run->first_shift + 1;
}

void calls_of_case(
    struct calls *s, const struct graded_case *g, const struct case_data *d,
    struct run *run)
{
    size_t room = 1;
    for (int b = 0; b < d->buffers; b++)
        if (d->buffer[b].filled) room += d->buffer[b].bytes;
    struct talk_about t = {.child = s->child, .d = d, .run = run};
    memset(run, 0, sizeof *run);
    run->started = now();
    run->host_code = d->host_code;
    run->orders = !s->orders ? 0 : g->variant ? FEW_ORDERS : ORDERS;
    choose_shifts(run, g, d);
    t.variant = xalloc(room);
    if (child_open(t.child, g, d, run)) {
        if (!d->dry)
            all_calls(s, &t, g, !g->variant);
        else if (call(&t, CALL_A) || run->ending == RAN)
            child_close(t.child, d, run);
    }
    free(t.variant);
    run->seconds = now() - run->started;
}
