// test_grader.c - the cases file, judging and pattern finding, on made-up results.
// links: objects/grader/cases.o objects/grader/data.o objects/grader/util.o objects/grader/causes.o
// links: objects/grader/judge.o objects/grader/repeats.o objects/grader/values.o
// links: objects/grader/compare.o objects/grader/writes.o
// links: objects/grader/findings.o objects/grader/structure.o objects/grader/pattern.o
// links: objects/grader/pattern_where.o objects/grader/pattern_scale.o
// links: objects/grader/pattern_moved.o objects/grader/pattern_value.o
#include "../grader/cases.h"
#include "../grader/data.h"
#include "../grader/judge.h"
#include "../grader/structure.h"
#include "../grader/util.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- a case with one output: R rows of C elements, `gap` between rows --------------- */

struct scene {
    struct case_data d;
    struct graded_case g;
    struct run run;
    struct judgement j;
    size_t R, C, ld;
    float *x[2];
    double *want[2];
    float *tol;
};

static double value(size_t i, int set)
{
    return sin(1.7 * (double)i + 0.3 + 2 * set) + 0.2;
}

static void add_view(struct scene *s, const char *name, enum role role, size_t ld)
{
    struct view *v = &s->d.view[s->d.views];
    struct buffer *b = &s->d.buffer[s->d.buffers];
    snprintf(v->name, sizeof v->name, "%s", name);
    snprintf(b->name, sizeof b->name, "%s", name);
    v->role = role, v->element = ELEMENT_F32, v->buffer = s->d.buffers++;
    v->dims = 2, v->shape[0] = s->R, v->shape[1] = s->C;
    v->rows = s->R, v->cols = s->C, v->elements = s->R * s->C, v->stride = ld;
    b->bytes = s->R * ld * sizeof(float);
    s->d.views++;
}

/* The reference knows this mistake of the output. */
static void know(struct scene *s, struct cause cause)
{
    struct causes *c = s->d.set[0].causes = xalloc(sizeof *c);
    c->of = &s->d.view[0];
    c->all = xalloc(sizeof cause);
    c->all[c->count++] = cause;
}

/* view 0: the output `out`; view 1: the input `x` */
static struct scene scene(size_t R, size_t C, size_t gap, enum role role)
{
    struct scene s = {.R = R, .C = C, .ld = C + gap};
    add_view(&s, "out", role, s.ld);
    add_view(&s, "x", ROLE_IN, C);
    s.d.scalars = json_pack("{s:i, s:i}", "R", (int)R, "C", (int)C);
    s.d.tolerance = json_object();
    s.tol = xalloc(R * C * sizeof *s.tol);
    for (size_t i = 0; i < R * C; i++)
        s.tol[i] = 1e-5f;
    for (int k = 0; k < 2; k++) {
        s.x[k] = xalloc(R * s.ld * sizeof(float));
        s.want[k] = xalloc(R * C * sizeof(double));
        for (size_t i = 0; i < R * C; i++)
            s.x[k][i] = (float)cos(0.9 * (double)i + k), s.want[k][i] = value(i, k);
        s.d.set[k].bytes[1] = (unsigned char *)s.x[k];
        s.d.set[k].want[0] = s.want[k];
        s.d.set[k].tol[0] = s.tol;
    }
    s.d.buffer[1].filled = true;
    if (role != ROLE_OUT) { /* its contents before the call are x */
        s.d.buffer[0].filled = true;
        s.d.set[0].bytes[0] = (unsigned char *)s.x[0];
        s.d.set[1].bytes[0] = (unsigned char *)s.x[1];
    }
    snprintf(s.g.function, sizeof s.g.function, "op");
    snprintf(s.g.dtype, sizeof s.g.dtype, "f32");
    return s;
}

static void fill16(unsigned char *p, size_t bytes, unsigned pattern)
{
    for (size_t i = 0; i < bytes; i++)
        p[i] = (unsigned char)(i & 1 ? pattern >> 8 : pattern);
}

/* Where the output starts in a result; the input follows. */
static float *out_of(const struct scene *s, const struct result *r)
{
    (void)s;
    return (float *)(r->bytes + RED_ZONE);
}

static float *input_of(const struct scene *s, const struct result *r)
{
    return (float *)(r->bytes + RED_ZONE + s->d.buffer[0].bytes + 2 * RED_ZONE);
}

static size_t result_bytes(const struct scene *s)
{
    return s->d.buffer[0].bytes + s->d.buffer[1].bytes + 6 * RED_ZONE;
}

/* Adds a correct result; the tests then change it. */
static struct result *add_result(struct scene *s, uint32_t which, int set)
{
    size_t a = s->d.buffer[0].bytes, b = s->d.buffer[1].bytes;
    struct result r = {
        .present = true, .head = {.which = which, .launches = 1, .captured = 1}};
    r.bytes = xalloc(result_bytes(s));
    fill16(r.bytes, result_bytes(s), FILL_RED_ZONE);
    memset(r.bytes + RED_ZONE, 0xFF, a);
    memcpy(r.bytes + RED_ZONE + a + 2 * RED_ZONE, s->x[set], b);
    float *out = (float *)(r.bytes + RED_ZONE);
    for (size_t i = 0; i < s->R * s->C; i++)
        out[i / s->C * s->ld + i % s->C] = (float)s->want[set][i];
    s->run.result[which] = r;
    return &s->run.result[which];
}

enum { ALL_CALLS = CALL_SHIFTED + 4 }; /* two buffers */

/* Adds correct results of every call. The variants of A have the values of A. */
static void add_all(struct scene *s)
{
    s->run.orders = ORDERS, s->run.first_shift = CALL_SHIFTED;
    s->run.last_shift = CALL_SHIFTED + 2 * (uint32_t)s->d.buffers;
    for (uint32_t which = 0; which < ALL_CALLS; which++)
        if (which != CALL_VARIANT && which != CALL_VARIANT + 1)
            add_result(s, which, same_data(which) == CALL_B);
}

static char *report(struct scene *s)
{
    char *all = text_of("%s", "");
    judge(&s->j, &s->g, &s->d, &s->run);
    for (int n = 0; n < s->j.findings.count; n++) {
        char *longer = text_of("%s%s\n", all, s->j.findings.line[n]);
        free(all);
        all = longer;
    }
    return all;
}

static void expect_silence(struct scene *s, const char *words)
{
    char *text = report(s);
    cr_expect_eq(s->j.verdict, FAILED, "%s", text);
    cr_expect_not(strstr(text, words), "did not expect '%s' in:\n%s", words, text);
    free(text);
}

static void expect_fail_with(struct scene *s, enum verdict verdict, const char *words)
{
    char *text = report(s);
    cr_expect_eq(s->j.verdict, verdict, "%s", text);
    cr_expect(strstr(text, words), "expected '%s' in:\n%s", words, text);
    free(text);
}

static void expect_fail(struct scene *s, const char *words)
{
    expect_fail_with(s, FAILED, words);
}

/* --- the judgement ------------------------------------------------------------------ */

Test(judge, right_passes)
{
    struct scene s = scene(4, 10, 3, ROLE_OUT);
    add_all(&s);
    char *text = report(&s);
    cr_expect_eq(s.j.verdict, PASSED, "%s", text);
    cr_expect_eq(s.j.findings.count, 0);
}

Test(judge, tolerance_is_a_bound)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT), t = scene(4, 10, 0, ROLE_OUT);
    add_all(&s), add_all(&t);
    for (int n = 0; n < ALL_CALLS; n++) {
        if (same_data((uint32_t)n) != CALL_A) continue;
        out_of(&s, &s.run.result[n])[3] += 0.9e-5f;
        out_of(&t, &t.run.result[n])[3] += 1.3e-5f;
    }
    report(&s);
    cr_expect_eq(s.j.verdict, PASSED);
    expect_fail(&t, "out: 1 of 40 elements wrong, first at [row 0, col 3]");
}

Test(judge, nan_fails)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT);
    add_all(&s);
    out_of(&s, &s.run.result[0])[39] = nanf("");
    expect_fail(&s, "first at [row 3, col 9]: got NaN");
}

Test(judge, infinity_fails)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT);
    add_all(&s);
    s.tol[0] = INFINITY;
    out_of(&s, &s.run.result[0])[0] = INFINITY;
    expect_fail(&s, "got inf");
}

Test(judge, never_written)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT);
    add_all(&s);
    memset(&out_of(&s, &s.run.result[0])[7], 0xFF, 4);
    expect_fail(&s, "got NaN (never written)");
}

Test(judge, red_zones)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT), t = scene(4, 10, 0, ROLE_OUT);
    add_all(&s), add_all(&t);
    out_of(&s, &s.run.result[0])[42] = 0;
    expect_fail(&s, "writes past the end of out, by up to 3 elements");
    out_of(&t, &t.run.result[0])[-1] = 0;
    expect_fail(&t, "writes before the start of out, by 1 element");
}

Test(judge, workspace_red_zone)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT);
    add_all(&s);
    s.run.result[0].bytes[result_bytes(&s) - RED_ZONE] = 0;
    expect_fail(
        &s, "writes past the end of the workspace, by 1 element: does its _workspace");
}

Test(judge, input_changed)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT);
    add_all(&s);
    input_of(&s, &s.run.result[0])[12] = 9;
    expect_fail(&s, "changes its input x, first at [row 1, col 2]");
}

Test(judge, gap_between_rows)
{
    struct scene s = scene(4, 10, 3, ROLE_OUT);
    add_all(&s);
    out_of(&s, &s.run.result[0])[13 + 11] = 9;
    expect_fail(&s, "writes between the rows of out, at row 1, col 11");
}

Test(judge, second_data_wrong)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT);
    add_all(&s);
    memcpy(out_of(&s, &s.run.result[1]), out_of(&s, &s.run.result[0]), 160);
    expect_fail(&s, "it has the results of the first: is something kept between calls");
}

Test(judge, second_data_wrong_but_not_kept)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT);
    add_all(&s);
    for (size_t i = 0; i < 40; i++)
        out_of(&s, &s.run.result[1])[i] *= 3;
    expect_fail(&s, "does the kernel read memory that it has not written");
    cr_expect(strstr(s.j.findings.line[1], "the expected values times 3"));
}

Test(judge, repeat_differs)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT);
    add_all(&s);
    out_of(&s, &s.run.result[2])[5] += 1e-6f;
    expect_fail(&s, "two calls on equal inputs differ (out[row 0, col 5] is");
}

Test(judge, order_differs)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT);
    add_all(&s);
    out_of(&s, &s.run.result[CALL_ORDER])[5] += 1e-6f;
    expect_fail(&s, "changes with the thread order: is a __syncthreads() missing?");
}

/* Without shared memory, barriers and shuffles there is no barrier to miss. */
Test(judge, order_differs_without_barriers)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT), t = scene(4, 10, 0, ROLE_OUT);
    add_all(&s), add_all(&t);
    s.d.threads_apart = t.d.threads_apart = true;
    out_of(&s, &s.run.result[CALL_ORDER])[5] += 1;
    out_of(&t, &t.run.result[CALL_ORDER])[5] += 1;
    expect_fail(
        &s, "does one thread read or write an element that another writes? Or is an "
            "uninitialized local variable read?");
    expect_silence(&t, "__syncthreads");
}

Test(judge, order_differs_in_the_last_bits)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT);
    add_all(&s);
    s.d.threads_apart = true;
    out_of(&s, &s.run.result[CALL_ORDER])[5] += 1e-6f;
    expect_fail(&s, "do several threads add to one element? A float atomic changes");
}

/* The orders run in a process of their own. */
Test(judge, right_in_a_new_process)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT);
    add_all(&s);
    out_of(&s, &s.run.result[0])[5] += 2;
    expect_fail(&s, "Is something kept from an earlier call (a static variable)?");
}

/* What matters is the read, not the order that reveals it. */
Test(judge, order_differs_out_of_bounds)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT);
    add_all(&s);
    fill16((unsigned char *)&out_of(&s, &s.run.result[CALL_ORDER])[5], 4, FILL_RED_ZONE);
    expect_fail(&s, "changes with the thread order: a kernel reads out of bounds");
}

Test(judge, order_differs_with_a_cause)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT);
    float with[40];
    add_all(&s);
    for (size_t i = 0; i < 40; i++)
        with[i] = (float)s.want[0][i] + 2, out_of(&s, &s.run.result[0])[i] += 2;
    know(&s, (struct cause){.words = "2 is added", .value = with});
    expect_fail(&s, "likely cause: 2 is added");
}

Test(judge, order_differs_on_other_data)
{
    for (uint32_t i = 1; i < ORDERS; i++) {
        struct scene s = scene(4, 10, 0, ROLE_OUT);
        add_all(&s);
        out_of(&s, &s.run.result[CALL_ORDER + i])[5] += 1e-6f;
        expect_fail(&s, "changes with the thread order: is a __syncthreads() missing?");
    }
}

/* A launcher may take another kernel if a buffer is not aligned: other last bits, but
 * right values. */
Test(judge, unaligned_buffer)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT), t = scene(4, 10, 0, ROLE_OUT);
    struct scene u = scene(4, 10, 0, ROLE_OUT), v = scene(4, 10, 0, ROLE_OUT);
    add_all(&s), add_all(&t), add_all(&u), add_all(&v);
    out_of(&s, &s.run.result[CALL_SHIFTED + 2])[3] += 1e-6f;
    char *text = report(&s);
    cr_expect_eq(s.j.verdict, PASSED, "%s", text);
    out_of(&t, &t.run.result[CALL_SHIFTED + 2])[3] += 1;
    expect_fail(&t, "wrong only (in a call in which x alone starts 4 bytes after");
    input_of(&u, &u.run.result[CALL_SHIFTED + 1])[3] += 1;
    expect_fail(&u, "changes its input x");
    v.run.ending = CRASHED, v.run.call = CALL_SHIFTED;
    snprintf(v.run.text, sizeof v.run.text, "misaligned access");
    expect_fail_with(&v, CRASH, "misaligned access (in a call in which out alone starts");
}

Test(judge, graph_differs)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT);
    add_all(&s);
    out_of(&s, &s.run.result[3])[5] = 0;
    expect_fail(&s, "work on a stream other than the one passed?");
}

Test(judge, nothing_launched)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT);
    add_all(&s);
    s.run.result[0].head.launches = 0;
    expect_fail(&s, "launched no kernel");
}

/* wb.h: if an output is empty, the function does nothing. */
Test(judge, nothing_to_launch)
{
    struct scene s = scene(0, 10, 0, ROLE_OUT);
    add_all(&s);
    s.run.result[0].head.launches = 0;
    char *text = report(&s);
    cr_expect_eq(s.j.verdict, PASSED, "%s", text);
}

Test(judge, no_workspace_to_withhold)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT), t = scene(4, 10, 0, ROLE_OUT);
    s.g.status = t.g.status = WB_NO_SPACE;
    s.g.workspace_less = t.g.workspace_less = 4;
    add_result(&s, CALL_A, 0), add_result(&t, CALL_A, 0);
    char *text = report(&s);
    cr_expect_eq(s.j.verdict, PASSED, "%s", text);
    t.run.workspace = 4;
    expect_fail(&t, "returned WB_OK, expected WB_NO_SPACE");
}

Test(judge, workspace_falls)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT);
    add_all(&s);
    strcpy(s.run.falls, "80 bytes for C=3, but only 64 for C=6");
    expect_fail(&s, "must never decrease when a size grows: 80 bytes for C=3, but");
    cr_expect(s.j.returned);
}

/* What a case that needs this one looks at. */
Test(judge, how_wrong)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT), t = scene(4, 10, 0, ROLE_OUT);
    struct scene u = scene(4, 10, 0, ROLE_OUT);
    add_all(&s), add_all(&t);
    for (size_t i = 0; i < 20; i++)
        out_of(&s, &s.run.result[0])[i] = 9, out_of(&t, &t.run.result[0])[2 * i] = 9;
    out_of(&t, &t.run.result[0])[1] = 9;
    add_result(&u, CALL_A, 0)->head.status = WB_TODO;
    free(report(&s)), free(report(&t)), free(report(&u));
    cr_expect(s.j.returned && !s.j.mostly_wrong);
    cr_expect(t.j.returned && t.j.mostly_wrong);
    cr_expect_not(u.j.returned);
}

Test(judge, last_words)
{
    static char output[] = "x.cu:9: error: deadlock in kernel k: no thread continues\n x";
    struct scene s = scene(4, 10, 0, ROLE_OUT);
    s.run.ending = CRASHED, s.run.output = output, s.run.output_bytes = sizeof output - 1;
    snprintf(s.run.text, sizeof s.run.text, "abort (a failed assert?) in kernel k");
    char *text = report(&s);
    cr_expect_str_eq(text, "deadlock in kernel k: no thread continues\n");
}

Test(judge, arguments_to_refuse)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT);
    s.g.status = WB_BAD_SHAPE, s.run.ending = TOO_MUCH_MEMORY;
    snprintf(s.run.text, sizeof s.run.text, "used more than 2048 MB of memory: stopped");
    expect_fail_with(&s, CRASH, "expected WB_BAD_SHAPE: check the arguments");
}

Test(judge, status)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT), t = scene(4, 10, 0, ROLE_OUT);
    add_result(&s, CALL_A, 0)->head.status = WB_TODO;
    expect_fail(&s, "not written yet: op_f32 returns WB_TODO");
    add_result(&t, CALL_A, 0)->head.status = 77;
    expect_fail(&t, "returned 77, which is not a wb_status");
}

Test(judge, expected_error_writes_nothing)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT);
    struct result *r = add_result(&s, CALL_A, 0);
    s.g.status = r->head.status = WB_BAD_SHAPE;
    expect_fail(&s, "writes to out before it returns the error");
}

Test(judge, silence_does_not_pass)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT), t = scene(4, 10, 0, ROLE_OUT);
    expect_fail(&s, "no result came back");
    add_result(&t, CALL_A, 0);
    expect_fail(&t, "no result came back (in the second call, on other data)");
}

/* A verdict needs every call that was asked for, and a result without buffers is one of
 * a CUDA error. */
Test(judge, no_call_may_be_missing)
{
    for (uint32_t i = 0; i < ALL_CALLS; i++) {
        struct scene s = scene(4, 10, 0, ROLE_OUT), t = scene(4, 10, 0, ROLE_OUT);
        if (i == CALL_VARIANT || i == CALL_VARIANT + 1) continue;
        add_all(&s), add_all(&t);
        s.run.result[i].present = false;
        expect_fail(&s, "no result came back");
        t.run.result[i].bytes = NULL;
        expect_fail(&t, "no result came back");
    }
}

/* Makes all calls on data A return what the first one did: wrong, but reproducible. */
static void every_call(struct scene *s)
{
    for (uint32_t n = 1; n < CALLS; n++)
        if (same_data(n) != CALL_B && s->run.result[n].present)
            memcpy(s->run.result[n].bytes, s->run.result[0].bytes, result_bytes(s));
}

/* --- patterns ----------------------------------------------------------------------- */

/* what a wrong kernel writes at row r, col c in place of the expected value y */
typedef float wrong(const struct scene *s, size_t r, size_t c, double y);

static double want_at(const struct scene *s, size_t r, size_t c)
{
    return s->want[0][r * s->C + c];
}

static float poison(void)
{
    float f;
    memset(&f, 0xFF, sizeof f);
    return f;
}

#define WRONG(name, expression)                                                          \
    static float name(const struct scene *s, size_t r, size_t c, double y)               \
    {                                                                                    \
        (void)s, (void)r, (void)c, (void)y;                                              \
        return (float)(expression);                                                      \
    }
WRONG(zero, 0)
WRONG(flipped, -y)
WRONG(not_divided, y * 100)
WRONG(divided_twice, y / 100)
WRONG(shifted, y + 3)
WRONG(tail_32, c >= 96 ? poison() : y)
WRONG(rows_tail, r >= 16 ? poison() : y)
WRONG(first_64, c >= 64 ? 0 : y)
WRONG(first_row, r ? poison() : y)
WRONG(every_fourth, c % 4 == 1 ? 7 * y + 1 : y)
WRONG(all_but_16th, r % 16 == 15 ? y : 7 * y + 1)
WRONG(row_before, want_at(s, r ? r - 1 : 0, c))
WRONG(next_col, want_at(s, r, c + 1 < s->C ? c + 1 : c))
WRONG(swapped, want_at(s, r ^ 1, c))
WRONG(row_factor, y *(1.5 + (double)r))
WRONG(col_factor, y *(1.5 + (double)c))
WRONG(row_summand, y + 1.5 + (double)r)
WRONG(a_copy, s->x[0][r * s->C + c])
WRONG(coarse, y *(1 + 0.0005 * sin((double)(r * 31 + c))))
WRONG(one_sided, y *(1 + 0.0005 * (1.1 + sin((double)(r * 31 + c)))))
WRONG(transposed, want_at(s, (r * s->C + c) % s->R, (r * s->C + c) / s->R))
WRONG(all_never, poison())

static void expect_pattern(size_t R, size_t C, wrong *f, const char *words)
{
    struct scene s = scene(R, C, 0, ROLE_OUT);
    add_all(&s);
    float *out = out_of(&s, &s.run.result[0]);
    for (size_t i = 0; i < R * C; i++)
        out[i] = f(&s, i / C, i % C, s.want[0][i]);
    every_call(&s);
    expect_fail(&s, words);
}

Test(pattern, values)
{
    expect_pattern(6, 100, zero, "pattern: always 0");
    expect_pattern(6, 100, flipped, "times -1: the sign is flipped");
    expect_pattern(6, 100, not_divided, "times 100, which is C: a factor 1/C is missing");
    expect_pattern(
        6, 100, divided_twice, "times 0.01, which is 1/C: a factor C is missing");
    expect_pattern(6, 100, shifted, "the expected values plus 3");
    expect_pattern(6, 100, a_copy, "equal to the input x");
    expect_pattern(6, 100, coarse, "in half precision? Accumulate in float");
    expect_pattern(6, 100, one_sided, "a small term that is missing?");
    expect_pattern(6, 100, all_never, "pattern: never written");
}

Test(pattern, other_output)
{
    struct scene s = scene(6, 100, 0, ROLE_OUT);
    add_all(&s);
    float *out = out_of(&s, &s.run.result[0]);
    double *other = xalloc(600 * sizeof *other);
    for (size_t i = 0; i < 600; i++)
        other[i] = sin(0.7 * (double)i), out[i] = (float)other[i];
    s.d.set[0].want[1] = s.d.set[1].want[1] = other; /* as if x were an output, too */
    s.d.set[0].tol[1] = s.d.set[1].tol[1] = s.tol;
    every_call(&s);
    expect_fail(&s, "pattern: equal to what x should be: are the two swapped?");
    free(other);
}

Test(pattern, lines)
{
    expect_pattern(
        6, 100, row_factor, "each row is multiplied by a factor of its own (1.5 to 6.5)");
    expect_pattern(
        6, 100, row_summand, "each row is shifted by a constant of its own (1.5 to 6.5)");
    expect_pattern(
        6, 100, col_factor, "each column is multiplied by a factor of its own");
}

/* In a kernel that computes nothing per row, no row's sum is wrong; in one without 16-bit
 * variables nothing is in half precision. */
Test(pattern, fits_the_kernel)
{
    for (int n = 0; n < 4; n++) {
        struct scene s = scene(6, 100, 0, ROLE_OUT);
        add_all(&s);
        for (size_t i = 0; i < 600; i++)
            out_of(&s, &s.run.result[0])[i] =
                n < 2 ? row_factor(&s, i / 100, i % 100, s.want[0][i])
                      : coarse(&s, i / 100, i % 100, s.want[0][i]);
        every_call(&s);
        snprintf(
            s.d.view[0].owner, sizeof s.d.view[0].owner, "%s", n ? "element" : "row");
        s.d.no_halves = n == 3;
        if (n == 0)
            expect_fail(&s, "a value that is computed once per row");
        else if (n == 2)
            expect_fail(&s, "half precision");
        else
            expect_silence(&s, n == 1 ? "once per row" : "half precision");
    }
}

Test(pattern, places)
{
    expect_pattern(
        6, 100, tail_32,
        "where: every row, columns 96..99, the tail after the last multiple of 32");
    expect_pattern(
        21, 7, rows_tail, "where: rows 16..20, the tail after the last multiple of 16");
    expect_pattern(6, 100, first_64, "every row, columns 64..99");
    expect_pattern(6, 100, first_row, "rows 1..5: only the first is right, every column");
    expect_pattern(6, 100, every_fourth, "every 4th column, starting at 1");
    expect_pattern(48, 6, all_but_16th, "all rows except every 16th (right: 15, 31, ...)");
}

/* Columns are heads of D channels */
Test(pattern, heads)
{
    struct scene s = scene(6, 100, 0, ROLE_OUT);
    add_all(&s);
    for (size_t i = 0; i < 600; i++)
        if (i % 100 >= 20 && i % 20 >= 16) out_of(&s, &s.run.result[0])[i] += 2;
    every_call(&s);
    json_object_set_new(s.d.scalars, "D", json_integer(20));
    expect_fail(
        &s, "where: every row, heads 1..4: only the first is right, channels 16..19");
}

Test(pattern, elsewhere)
{
    expect_pattern(
        6, 100, row_before, "has the values of the previous one: off by one row");
    expect_pattern(6, 100, next_col, "one place too far left: off by one column");
    expect_pattern(6, 100, swapped, "neighbouring rows are swapped");
    expect_pattern(6, 100, transposed, "transposed");
}

Test(pattern, accumulation)
{
    struct scene s = scene(6, 100, 0, ROLE_ACC), t = scene(6, 100, 0, ROLE_ACC);
    add_all(&s), add_all(&t);
    float *out = out_of(&s, &s.run.result[0]), *same = out_of(&t, &t.run.result[0]);
    for (size_t i = 0; i < 600; i++)
        out[i] = (float)(s.want[0][i] - (double)s.x[0][i]), same[i] = t.x[0][i];
    every_call(&s), every_call(&t);
    expect_fail(&s, "add to this output (+=), do not overwrite it");
    expect_fail(&t, "unchanged: nothing was added");
}

Test(pattern, known_mistake)
{
    struct scene s = scene(6, 100, 0, ROLE_OUT);
    float *with = xalloc(600 * sizeof *with);
    add_all(&s);
    for (size_t i = 0; i < 600; i++) {
        with[i] = (float)(s.want[0][i] * s.want[0][i]);
        out_of(&s, &s.run.result[0])[i] = with[i];
    }
    every_call(&s);
    know(&s, (struct cause){.words = "eps is outside the square root", .value = with});
    expect_fail(&s, "likely cause: eps is outside the square root");
}

/* some_: every wrong element fits, and the others are right. */
Test(pattern, mistake_of_some)
{
    for (int n = 0; n < 3; n++) {
        struct scene s = scene(6, 100, 0, ROLE_OUT);
        float *with = xalloc(600 * sizeof *with);
        add_all(&s);
        for (size_t i = 0; i < 600; i++)
            with[i] = (float)s.want[0][i] + 1;
        out_of(&s, &s.run.result[0])[7] = with[7];
        out_of(&s, &s.run.result[0])[9] = with[9] + (n == 1);
        every_call(&s);
        know(&s, (struct cause){.words = "one sum", .value = with, .partial = n < 2});
        if (n)
            expect_silence(&s, "likely cause");
        else
            expect_fail(&s, "likely cause: one sum");
    }
}

/* NaN: some wrong value; it need not be NaN, but it must be wrong. */
Test(pattern, mistake_with_unknown_values)
{
    for (int n = 0; n < 2; n++) {
        struct scene s = scene(6, 100, 0, ROLE_OUT);
        float *with = xalloc(600 * sizeof *with);
        add_all(&s);
        for (size_t i = 0; i < 600; i++) {
            with[i] = i < 200 ? NAN : (float)s.want[0][i] + 1;
            if (i || !n) out_of(&s, &s.run.result[0])[i] = (float)s.want[0][i] + 1;
        }
        every_call(&s);
        know(&s, (struct cause){.words = "a wrong index", .value = with});
        if (n)
            expect_silence(&s, "likely cause");
        else
            expect_fail(&s, "likely cause: a wrong index");
    }
}

/* A factor of the expected values for each row */
Test(pattern, mistake_as_factors)
{
    struct scene s = scene(6, 100, 0, ROLE_OUT);
    float *with = xalloc(6 * sizeof *with);
    add_all(&s);
    for (size_t i = 0; i < 600; i++) {
        with[i / 100] = 1.5f + (float)(i / 100);
        out_of(&s, &s.run.result[0])[i] = (float)s.want[0][i] * with[i / 100];
    }
    every_call(&s);
    know(&s, (struct cause){.words = "a lost part", .value = with, .factor = true});
    expect_fail(&s, "likely cause: a lost part");
}

/* nan_: NaN is what the kernel computes. */
Test(pattern, mistake_with_nan)
{
    for (int n = 0; n < 2; n++) {
        struct scene s = scene(6, 100, 0, ROLE_OUT);
        float *with = xalloc(600 * sizeof *with);
        add_all(&s);
        for (size_t i = 0; i < 600; i++) {
            with[i] = NAN;
            out_of(&s, &s.run.result[0])[i] = i || !n ? NAN : 7;
        }
        every_call(&s);
        know(&s, (struct cause){.words = "0 / 0", .value = with, .nan = true});
        if (n)
            expect_silence(&s, "likely cause");
        else
            expect_fail(&s, "likely cause: 0 / 0");
    }
}

/* An input with NaN that must not be read, and a result that is 0 like another output */
Test(pattern, nan_of_an_input)
{
    struct scene s = scene(6, 100, 0, ROLE_OUT), t = scene(6, 100, 0, ROLE_OUT);
    double *zero = xalloc(600 * sizeof *zero);
    s.x[0][7] = NAN;
    add_all(&s), add_all(&t);
    for (size_t i = 300; i < 600; i++)
        out_of(&s, &s.run.result[0])[i] = NAN, out_of(&t, &t.run.result[0])[i] = 1e-30f;
    every_call(&s), every_call(&t);
    expect_fail(&s, "x has NaN where it must not be read");
    t.d.set[0].want[1] = t.d.set[1].want[1] = zero; /* as if x were an output, too */
    t.d.set[0].tol[1] = t.d.set[1].tol[1] = t.tol;
    expect_silence(&t, "are the two swapped");
    free(zero);
}

/* --- the cases file ----------------------------------------------------------------- */

static int read_cases(struct lab *lab, const char *text, char *error, size_t room)
{
    char path[] = "/tmp/test_cases_XXXXXX";
    int fd = mkstemp(path);
    cr_assert(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    int rc = cases_read(lab, path, error, room);
    unlink(path);
    return rc;
}

static void expect_error(const char *text, const char *words)
{
    struct lab lab = {0};
    char error[512];
    cr_expect_eq(read_cases(&lab, text, error, sizeof error), -1);
    cr_expect(strstr(error, words), "expected '%s', got '%s'", words, error);
}

Test(cases, reads)
{
    struct lab lab = {0};
    char error[512];
    cr_assert_eq(
        read_cases(
            &lab,
            "# a comment\n\none 03.1 40 op_forward R=4 ; - ; the formula\n"
            "two 03.2 60 op_forward dtype=f16 off=each status=WB_BAD_SHAPE ; one ; "
            "halves, all\n",
            error, sizeof error),
        0, "%s", error);
    cr_assert_eq(lab.count, 2);
    cr_expect_str_eq(lab.cases[0].name, "one");
    cr_expect_str_eq(lab.cases[0].dtype, "f32");
    cr_expect_null(lab.cases[0].needs[0]);
    cr_expect_str_eq(lab.cases[1].needs[0], "one");
    cr_expect_str_eq(lab.cases[1].dtype, "f16");
    cr_expect_eq(lab.cases[1].status, WB_BAD_SHAPE);
    cr_expect(lab.cases[1].off_each && !lab.cases[0].off_each);
    cr_expect_str_eq(lab.cases[1].catches, "halves, all");
    const struct graded_case *one = &lab.cases[0], *two = &lab.cases[1];
    cr_expect(case_matches(&lab, one, "on"));
    cr_expect(case_matches(&lab, one, "x,03.1"));
    cr_expect(case_matches(&lab, one, "o?e"));
    cr_expect_not(case_matches(&lab, one, "two"));
    cr_expect(case_matches(&lab, one, "o") && case_matches(&lab, two, "o"));
    cr_expect(case_matches(&lab, two, "one,tw"));
    snprintf(lab.cases[1].name, sizeof lab.cases[1].name, "one_more");
    cr_expect_not(case_matches(&lab, two, "one"), "the name of a case selects it alone");
}

static void
expect_variant(const struct graded_case *c, int k, const char *name, const char *words)
{
    struct graded_case v;
    char got[256];
    case_variant(&v, c, k, got, sizeof got);
    cr_expect_str_eq(v.name, name);
    cr_expect_str_eq(got, words);
    cr_expect_eq(v.variant, k);
}

Test(cases, reads_alternatives)
{
    struct lab lab = {0};
    struct graded_case v;
    char error[512], words[256];
    cr_assert_eq(
        read_cases(
            &lab,
            "one 1 40 f R=4 ; - ; x\n"
            "two 1 60 f C=3|44 dtype=f16|bf16 R=1 off=x|each status=WB_BAD_SHAPE|WB_OK "
            "; - ; x\n"
            "three 1 0 f T/S/pos=9/64/none|2/~1..9/last dtype=f16|bf16 ; - ; x\n"
            "four 1 0 f T=7|12*~1..9 S=T+~2..3 ; - ; x\n",
            error, sizeof error),
        0, "%s", error);
    const struct graded_case *c = &lab.cases[1];
    cr_expect_eq(lab.cases[2].variants, 4);
    expect_variant(&lab.cases[2], 2, "three@3", "T=2 pos=last dtype=f16");
    cr_expect_eq(lab.cases[3].variants, 13);
    expect_variant(&lab.cases[3], 0, "four@1", "T=7");
    expect_variant(&lab.cases[3], 12, "four@13", "");
    cr_expect_eq(lab.cases[0].variants, 1);
    expect_variant(&lab.cases[0], 0, "one", "");
    cr_expect_eq(c->variants, 16);
    cr_expect_str_eq(c->dtype, "f16|bf16");
    cr_expect_eq(c->status, WB_BAD_SHAPE);
    expect_variant(c, 0, "two@1", "C=3 dtype=f16 off=x status=WB_BAD_SHAPE");
    expect_variant(c, 7, "two@8", "C=3 dtype=bf16 off=each status=WB_OK");
    expect_variant(c, 13, "two@14", "C=44 dtype=bf16 off=x status=WB_OK");
    case_variant(&v, c, 7, words, sizeof words);
    cr_expect(v.off_each && v.status == WB_OK && !strcmp(v.dtype, "bf16"));
    cr_expect(case_has_dtype(c, "bf16") && case_has_dtype(c, "f16"));
    cr_expect(!case_has_dtype(c, "f32") && case_has_dtype(&lab.cases[0], "f32"));
    cr_expect_not(case_has_dtype(c, "f1"));
}

/* Cases with workspace_less= ask for larger sizes, or all cases if there is none. */
Test(cases, which_ask_for_more)
{
    struct lab lab = {0};
    char error[512];
    cr_assert_eq(
        read_cases(
            &lab,
            "one 03.1 40 op_forward R=4 off=x ; - ; the formula\n"
            "two 03.1 30 op_forward dtype=f16 R=4 ; - ; the formula\n"
            "less 03.2 30 op_forward R=4 workspace_less=4 status=WB_NO_SPACE ; - ; space\n",
            error, sizeof error),
        0, "%s", error);
    cr_expect_not(lab.cases[0].larger);
    cr_expect(lab.cases[1].larger);
    cr_expect(lab.cases[2].larger);
}

Test(cases, reads_bounds)
{
    struct lab lab = {0};
    char error[512];
    cr_assert_eq(
        read_cases(
            &lab,
            "one 03.6 40 f bound=reads(x)<=1.05 ; - ; x\n"
            "two 03.6 60 f bound=requests<=2,tensor>=3e6 ; - ; x\n",
            error, sizeof error),
        0, "%s", error);
    const struct bound *one = lab.cases[0].bounds, *two = lab.cases[1].bounds;
    cr_expect_eq(one[0].what, READS);
    cr_expect_str_eq(one[0].buffer, "x");
    cr_expect_eq(one[0].limit, 1.05);
    cr_expect_eq(one[1].what, NO_BOUND);
    cr_expect_eq(two[0].what, REQUESTS);
    cr_expect_eq(two[0].limit, 2);
    cr_expect_eq(two[1].what, TENSOR);
    cr_expect_eq(two[1].limit, 3e6);
}

Test(cases, refuses)
{
    expect_error("a 1 100 f C=1||2 ; - ; x", "expected key=value, got 'C=1||2'");
    expect_error("a 1 100 f C=1| ; - ; x", "expected key=value, got 'C=1|'");
    expect_error("a 1 100 f C ; - ; x", "expected key=value, got 'C'");
    expect_error("a 1 100 f dtype=f16|f8 ; - ; x", "dtype=f8: use f32, f16 or bf16");
    expect_error(
        "a 1 100 f A=1|2|3|4 B=1|2|3|4 C=1|2|3|4 D=1|2 ; - ; x",
        ":1: the case has more than 64 variants");
    expect_error("a 1 100 f bound=reads<=1 ; - ; x", "bound=reads<=1: use reads(x)");
    expect_error("a 1 100 f bound=speed<=1 ; - ; x", "bound=speed<=1: use reads(x)");
    expect_error("a 1 100 f bound=sectors<2 ; - ; x", "bound=sectors<2: use reads(x)");
    expect_error(
        "a 1 100 f bound=sectors<=2x ; - ; x", "bound=sectors<=2x: use reads(x)");
    expect_error("a 1 100 f bound=sectors>=2 ; - ; x", "bound=sectors>=2: use reads(x)");
    expect_error("a 1 100 f bound=tensor<=2 ; - ; x", "bound=tensor<=2: use reads(x)");
    expect_error(
        "a 1 100 f bound=sectors<=2,requests<=2,launches<=1 ; - ; x",
        "bound=: more than 2 bounds");
    expect_error("a 1 100 f ; -\n", ":1: a case is: name part points");
    expect_error("\na 1 x f ; - ; c\n", ":2: points of a: 'x' is not a whole number");
    expect_error("a 1 -5 f ; - ; c\n", ":1: points of a: '-5' is not a whole number");
    expect_error("a 1 90 f ; - ; c\n", "points add up to 90, not 100");
    expect_error("a 1 50 f ; - ; c\na 1 50 f ; - ; c\n", ":2: case a appears twice");
    expect_error("a 1 100 f ; b ; c\n", ":1: a needs 'b', which is not an earlier case");
    expect_error("a 1 100 f dtype=f64 ; - ; c\n", ":1: dtype=f64: use f32, f16 or bf16");
    expect_error("a 1 100 f R ; - ; c\n", ":1: expected key=value, got 'R'");
    expect_error("a 1 100 f status=OK ; - ; c\n", ":1: status=OK is not a wb_status");
    expect_error("a 1 100 f ; - ; \n", ":1: a does not say what it catches");
    expect_error("a/b 1 100 f ; - ; c\n", ":1: 'a/b' may contain only");
}

Test(cases, hints)
{
    char folder[] = "/tmp/test_hints_XXXXXX", path[64];
    int levels;
    cr_assert(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/hints.md", folder);
    FILE *f = fopen(path, "w");
    fputs(
        "# Hints\n\n## 03.1 forward\n1. first\n   more\n2. second\n\n## 03.2\n1. other\n",
        f);
    fclose(f);
    cr_expect_str_eq(hint_read(folder, "03.1", 1, &levels), "1. first\n   more\n");
    cr_expect_eq(levels, 2);
    cr_expect_str_eq(hint_read(folder, "03.1", 2, &levels), "2. second\n");
    cr_expect_null(hint_read(folder, "03.1", 3, &levels));
    cr_expect_str_eq(hint_read(folder, "03.2", 1, &levels), "1. other\n");
    unlink(path);
    rmdir(folder);
}

/* --- bounds ------------------------------------------------------------------------- */

static bool holds(struct bound b, const char *kernel, const char *words)
{
    struct findings f = {0};
    struct graded_case g = {.bounds = {b}, .catches = ""};
    json_t *report = json_pack("{s:[o]}", "kernels", json_loads(kernel, 0, NULL));
    bool held = structure_holds(&g, report, &f);
    cr_expect(held || strstr(f.line[0], words), "%s", f.count ? f.line[0] : "");
    findings_free(&f);
    json_decref(report);
    return held;
}

Test(bounds, what_was_not_seen)
{
    struct bound x = {READS, "x", 1.05}, sum = {READS, "sum", 0.05};
    struct bound sectors = {SECTORS, "", 1.1};
    const char *nothing = "{\"buffers\": [], \"global\": {}}";
    const char *once = "{\"buffers\": [{\"name\": \"x\", \"bytes\": 64,"
                       "\"read_bytes\": 64, \"read_distinct\": 64}], \"global\":"
                       "{\"read\": {\"bytes\": 64, \"sectors\": 2, \"ideal\": 2}}}";
    cr_expect(!holds(x, nothing, "check mode saw no kernel that reads x"));
    cr_expect(!holds(sectors, nothing, "saw no kernel that reads device memory"));
    cr_expect(holds(sum, nothing, ""));
    cr_expect(holds(x, once, "") && holds(sectors, once, ""));
}

/* 64 bytes, read in two launches of one kernel; 16 sectors for 2, and 200 good ones */
Test(bounds, what_is_repeated)
{
    struct bound x = {READS, "x", 1.05}, sectors = {SECTORS, "", 1.1};
    const char *twice = "{\"buffers\": [{\"name\": \"x\", \"bytes\": 64,"
                        "\"read_bytes\": 128, \"read_distinct\": 128}], \"global\":"
                        "{\"read\": {\"bytes\": 6464, \"sectors\": 216,"
                        "\"ideal\": 202}}}";
    cr_expect(!holds(x, twice, "x is read 2 times"));
    cr_expect(!holds(sectors, twice, "move 1.88 times as many"));
}

/* The only bound from below */
Test(bounds, tensor_cores)
{
    struct bound b = {TENSOR, "", 8192};
    cr_expect(holds(b, "{\"tensor\": 8192}", ""));
    cr_expect(
        !holds(b, "{\"tensor\": 4096}", "execute 4096 multiply-adds; this case asks"));
}

/* Two lines with 3-way conflicts are as bad as one; one bad line in 100 is not. */
Test(bounds, conflicts_of_all_lines)
{
    struct bound two = {CONFLICTS, "", 2};
    const char *none = "{\"shared\": {\"read\": {}, \"write\": {}}, \"lines\": []}";
    const char *spread = "{\"shared\": {\"read\": {\"wavefronts\": 90, \"ideal\": 30},"
                         "\"write\": {\"wavefronts\": 94, \"ideal\": 30}}, \"lines\": ["
                         "{\"file\": \"a.cu\", \"line\": 7, \"shared\": {\"read\":"
                         "{\"wavefronts\": 90, \"ideal\": 30}}}]}";
    const char *seldom =
        "{\"shared\": {\"read\": {\"wavefronts\": 131, \"ideal\": 100}},"
        "\"lines\": [{\"file\": \"a.cu\", \"line\": 7, \"shared\": {\"read\":"
        "{\"wavefronts\": 32, \"ideal\": 1}}}]}";
    cr_expect(holds(two, none, "") && holds(two, seldom, ""));
    cr_expect(!holds(two, spread, "multiply the passes of shared memory by 3.07;"));
}
