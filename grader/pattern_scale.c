/* pattern_scale.c - the expected values with a factor or a summand: one for all
 * elements, or one for each row or column. */
#include "pattern_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- a factor ----------------------------------------------------------------------- */

/* The best k in got = k want over some of the wrong elements, or 0. */
static double
factor_of(const struct comparison *c, size_t from, size_t count, size_t step)
{
    double gw = 0, ww = 0;
    for (size_t n = 0, i = from; n < count; n++, i += step) {
        if (!c->mark[i]) continue;
        gw += c->got[i] * c->want[i];
        ww += c->want[i] * c->want[i];
    }
    double k = ww > 0 ? gw / ww : 0;
    return isfinite(k) ? k : 0;
}

static bool all_scaled(const struct comparison *c, double k)
{
    EVERY_WRONG(c, i, is(c, i, k * c->want[i]));
    return true;
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 2e-3 * fabs(b);
}

/* Is the factor k a simple function of the scalar s? */
static void compare_factor(char *text, size_t room, double k, const char *name, double s)
{
    if (fabs(s) < 1e-6 || near(fabs(s), 1)) return;
    if (near(k, s))
        snprintf(
            text, room,
            ", which is %s: a factor 1/%s is missing, or there is an extra factor %s",
            name, name, name);
    else if (near(k, 1 / s))
        snprintf(
            text, room,
            ", which is 1/%s: a factor %s is missing, or there is an extra factor 1/%s",
            name, name, name);
    else if (s > 0 && near(k, sqrt(s)))
        snprintf(text, room, ", which is sqrt(%s)", name);
    else if (s > 0 && near(k, 1 / sqrt(s)))
        snprintf(text, room, ", which is 1/sqrt(%s)", name);
}

/* Explains the factor by a number that it often is, or by a size of this case. */
static void name_factor(char *text, size_t room, const struct comparison *c, double k)
{
    const char *name;
    json_t *scalar;
    const struct {
        double value;
        const char *words;
    } known[] = {
        {-1, "the sign is flipped"},
        {2, "something counts twice, or a factor 1/2 is missing"},
        {0.5, "half of the terms are missing, or there is an extra factor 1/2"},
        {M_LN2, "ln 2: is exp2 used for exp, or log for log2?"},
        {M_LOG2E, "1 / ln 2: is exp2 used for exp, or log2 for log?"}};
    *text = 0;
    for (size_t n = 0; n < sizeof known / sizeof *known; n++)
        if (near(k, known[n].value)) snprintf(text, room, ": %s", known[n].words);
    json_object_foreach(c->data->scalars, name, scalar)
        compare_factor(text, room, k, name, json_number_value(scalar));
    for (int i = 0; i < c->data->views; i++) { /* a scalar in device memory */
        const struct view *v = &c->data->view[i];
        if (v->role != ROLE_IN || v->elements != 1 || !c->set->bytes[v->buffer]) continue;
        const unsigned char *at =
            c->set->bytes[v->buffer] + v->offset * element_bytes(v->element);
        compare_factor(text, room, k, v->name, element_value(v->element, at));
    }
}

/* Does the kernel compute something per row, of 16-bit elements? */
static bool row_in_half(const struct view *v)
{
    return !strcmp(v->owner, "row") && v->element != ELEMENT_F32;
}

bool constant_factor(struct findings *f, const struct comparison *c)
{
    char words[160];
    double k = factor_of(c, 0, c->view->elements, 1);
    if (!several(c) || k == 0 || fabs(k - 1) < fmax(1e-4, 8 * unit(c))) return false;
    if (!all_scaled(c, k)) return false;
    name_factor(words, sizeof words, c, k);
    say(f, "pattern: the expected values times %.6g%s", k,
        *words || !row_in_half(c->view)
            ? words
            : ": is a sum in half precision? Accumulate in float");
    return true;
}

/* --- a summand ---------------------------------------------------------------------- */

static bool all_shifted(const struct comparison *c, double k)
{
    EVERY_WRONG(c, i, is(c, i, c->want[i] + k));
    return true;
}

bool constant_summand(struct findings *f, const struct comparison *c)
{
    double k = c->got[c->first_wrong] - c->want[c->first_wrong];
    double least = 8 * (double)c->tol[c->first_wrong]; /* less is rounding */
    if (!several(c) || !isfinite(k) || fabs(k) < least || !all_shifted(c, k))
        return false;
    say(f, "pattern: the expected values plus %.6g", k);
    return true;
}

/* --- rows and columns --------------------------------------------------------------- */

/* A row or column: `count` elements, `step` apart. */
struct line {
    size_t from, count, step;
};

static struct line line_of(const struct view *v, bool rows, size_t n)
{
    return rows ? (struct line){n * v->cols, v->cols, 1}
                : (struct line){n, v->rows, v->cols};
}

/* Has this line one factor (or summand)? Widens [least, most] to include it. */
static bool line_holds(
    const struct comparison *c, struct line line, bool summand, double *least,
    double *most)
{
    size_t checked = 0, i = line.from;
    double k = 0;
    bool known = false;
    if (!summand) k = factor_of(c, line.from, line.count, line.step), known = true;
    for (size_t n = 0; n < line.count; n++, i += line.step) {
        if (!c->mark[i]) continue;
        if (!known) k = c->got[i] - c->want[i], known = true;
        if (!is(c, i, summand ? c->want[i] + k : k * c->want[i])) return false;
        checked++;
    }
    if (checked == 0) return true;
    if (checked < 3 || (!summand && k == 0)) return false;
    if (k < *least) *least = k;
    if (k > *most) *most = k;
    return true;
}

static bool
lines_hold(struct findings *f, const struct comparison *c, bool rows, bool summand)
{
    double least = INFINITY, most = -INFINITY;
    const struct view *v = c->view;
    if (v->rows < 2 || v->cols < 2) return false;
    for (size_t n = 0; n < (rows ? v->rows : v->cols); n++)
        if (!line_holds(c, line_of(v, rows, n), summand, &least, &most)) return false;
    bool shared = !strcmp(v->owner, "row"); /* the kernel computes something per row */
    say(f, "pattern: each %s is %s (%.4g to %.4g)%s%s", rows ? "row" : "column",
        summand ? "shifted by a constant of its own"
                : "multiplied by a factor of its own",
        least, most,
        !rows ? ": the weights or their index are wrong"
        : shared
            ? ": a value that is computed once per row (a sum, a maximum, a root) is "
              "wrong"
            : "",
        rows && row_in_half(v) ? ", or in half precision: accumulate in float" : "");
    return true;
}

bool factors_of_lines(struct findings *f, const struct comparison *c)
{
    return lines_hold(f, c, true, false) || lines_hold(f, c, true, true) ||
           lines_hold(f, c, false, false) || lines_hold(f, c, false, true);
}

bool each_row_scaled(const struct comparison *c)
{
    double least = INFINITY, most = -INFINITY;
    const struct view *v = c->view;
    if (strcmp(v->owner, "row") || v->rows < 2 || v->cols < 4) return false;
    for (size_t row = 0; row < v->rows; row++)
        if (!line_holds(c, line_of(v, true, row), false, &least, &most)) return false;
    return true;
}
