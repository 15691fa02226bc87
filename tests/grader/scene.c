// scene.c - a made-up case and made-up results.
#include "scene.h"

#include "../../grader/util.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

struct scene scene(size_t R, size_t C, size_t gap, enum role role)
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

void fill16(unsigned char *p, size_t bytes, unsigned pattern)
{
    for (size_t i = 0; i < bytes; i++)
        p[i] = (unsigned char)(i & 1 ? pattern >> 8 : pattern);
}

float *out_of(const struct result *r)
{
    return (float *)(r->bytes + RED_ZONE);
}

float *input_of(const struct scene *s, const struct result *r)
{
    return (float *)(r->bytes + RED_ZONE + s->d.buffer[0].bytes + 2 * RED_ZONE);
}

size_t result_bytes(const struct scene *s)
{
    return s->d.buffer[0].bytes + s->d.buffer[1].bytes + 6 * RED_ZONE;
}

struct result *add_result(struct scene *s, uint32_t which, int set)
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

void add_all(struct scene *s)
{
    s->run.orders = ORDERS, s->run.first_shift = CALL_SHIFTED;
    s->run.last_shift = CALL_SHIFTED + 2 * (uint32_t)s->d.buffers;
    for (uint32_t which = 0; which < ALL_CALLS; which++)
        if (which != CALL_VARIANT && which != CALL_VARIANT + 1)
            add_result(s, which, same_data(which) == CALL_B);
}

char *report(struct scene *s)
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

void expect_silence(struct scene *s, const char *words)
{
    char *text = report(s);
    cr_expect_eq(s->j.verdict, FAILED, "%s", text);
    cr_expect_not(strstr(text, words), "did not expect '%s' in:\n%s", words, text);
    free(text);
}

void expect_fail_with(struct scene *s, enum verdict verdict, const char *words)
{
    char *text = report(s);
    cr_expect_eq(s->j.verdict, verdict, "%s", text);
    cr_expect(strstr(text, words), "expected '%s' in:\n%s", words, text);
    free(text);
}

void expect_fail(struct scene *s, const char *words)
{
    expect_fail_with(s, FAILED, words);
}

void know(struct scene *s, struct cause cause)
{
    struct causes *c = s->d.set[0].causes = xalloc(sizeof *c);
    c->of = &s->d.view[0];
    c->all = xalloc(sizeof cause);
    c->all[c->count++] = cause;
}

void every_call(struct scene *s)
{
    for (uint32_t n = 1; n < CALLS; n++)
        if (same_data(n) != CALL_B && s->run.result[n].present)
            memcpy(s->run.result[n].bytes, s->run.result[0].bytes, result_bytes(s));
}
