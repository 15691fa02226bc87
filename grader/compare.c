/* compare.c - one output against its expected values, element by element.
 *
 * |got - want| <= tol must be true, so that NaN fails. Whether a value is finite is
 * decided by the exponent's bits, which no compiler flag changes.
 */
#include "compare.h"

#include "util.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool is_finite(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (bits >> 52 & 0x7FF) != 0x7FF;
}

bool is_nan(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (bits & 0x7FFFFFFFFFFFFFFF) > 0x7FF0000000000000;
}

static bool right(double got, double want, double tol)
{
    if (is_finite(want)) return is_finite(got) && fabs(got - want) <= tol;
    return is_nan(want) ? is_nan(got) : got == want;
}

bool filled_with(const unsigned char *p, size_t i, unsigned pattern)
{
    return p[i] == (unsigned char)(i & 1 ? pattern >> 8 : pattern);
}

enum mark mark_of(enum element e, const unsigned char *p)
{
    static const struct {
        unsigned pattern;
        enum mark mark;
    } fillings[] = {
        {FILL_POISON, MARK_POISON},
        {FILL_RED_ZONE, MARK_RED_ZONE},
        {FILL_WORKSPACE, MARK_WORKSPACE},
        {FILL_SHARED, MARK_SHARED}};
    for (size_t k = 0; k < sizeof fillings / sizeof *fillings; k++) {
        size_t i = 0;
        while (i < element_bytes(e) && filled_with(p, i, fillings[k].pattern))
            i++;
        if (i == element_bytes(e)) return fillings[k].mark;
    }
    return MARK_WRONG;
}

static bool output_right(
    const struct case_data *d, const struct data_set *set, int i,
    const unsigned char *result)
{
    const struct view *v = &d->view[i];
    const unsigned char *p = buffer_bytes(d, result, v->buffer);
    const double *want = set->want[i];
    const float *tol = set->tol[i];
    double got[256];
    for (size_t x = 0, n; x < v->elements; x += n, want += n, tol += n) {
        size_t left = v->cols - x % v->cols; /* in the row */
        n = left < 256 ? left : 256;
        element_values(
            got, v->element, p + view_index(v, x) * element_bytes(v->element), n);
        for (size_t k = 0; k < n; k++)
            if (!right(got[k], want[k], (double)tol[k])) return false;
    }
    return true;
}

bool all_right(
    const struct case_data *d, const struct data_set *set, const unsigned char *result)
{
    for (int i = 0; i < d->views; i++)
        if (set->want[i] && !output_right(d, set, i, result)) return false;
    return true;
}

void compare(
    struct comparison *c, const struct case_data *d, const struct data_set *set, int i,
    const unsigned char *result)
{
    const struct view *v = &d->view[i];
    const unsigned char *p = buffer_bytes(d, result, v->buffer);
    const unsigned char *initial = v->role == ROLE_OUT ? NULL : set->bytes[v->buffer];
    size_t e = element_bytes(v->element), n = v->elements;
    *c = (struct comparison){
        .view = v,
        .data = d,
        .set = set,
        .want = set->want[i],
        .tol = set->tol[i],
        .got = xalloc(n * sizeof *c->got),
        .first = initial ? xalloc(n * sizeof *c->first) : NULL,
        .mark = xalloc(n)};
    for (size_t x = 0; x < n; x++) {
        size_t at = view_index(v, x) * e;
        c->got[x] = element_value(v->element, p + at);
        if (initial) c->first[x] = element_value(v->element, initial + at);
        if (right(c->got[x], c->want[x], (double)c->tol[x])) continue;
        c->mark[x] = (uint8_t)mark_of(v->element, p + at);
        if (!c->wrong++) c->first_wrong = x;
    }
}

void comparison_free(struct comparison *c)
{
    free(c->got);
    free(c->first);
    free(c->mark);
}

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
