/* pattern.c - what a wrong output looks like, and what usually makes it look so.
 *
 * First the mistakes that the reference knows by name (NAME.if.CAUSE: what the output
 * would be with them); then where the wrong elements lie (tail, block, every k-th); then
 * what their values are (a factor, a sign, somebody else's value, too few digits).
 */
#include "grader.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- helpers ------------------------------------------------------------------------ */

/* relative rounding of the output's type */
static double unit(const struct comparison *c)
{
    return c->view->element == ELEMENT_F16    ? 0x1p-11
           : c->view->element == ELEMENT_BF16 ? 0x1p-8
                                              : 0x1p-24;
}

/* Is got[i] this other value? The tolerance is that of the right one, scaled; an expected 0
 * (behind a mask) has none to scale. */
static bool is(const struct comparison *c, size_t i, double other)
{
    bool zero = c->want[i] == 0;
    double scale = zero ? 1 : fmax(1, fabs(other / c->want[i]));
    double units = zero ? 16 : 2;
    double tol = 2 * (double)c->tol[i] * fmin(scale, 1e6) + units * unit(c) * fabs(other);
    return fabs(c->got[i] - other) <= tol; /* NaN: false */
}

/* f(i) must hold for every wrong element; of a constant or lone element nothing is said */
#define EVERY_WRONG(c, i, holds)                                                         \
    for (size_t i = 0; i < (c)->view->elements; i++)                                     \
        if ((c)->mark[i] && !(holds)) return false

/* enough wrong elements for a pattern to mean something */
static bool several(const struct comparison *c)
{
    return c->wrong >= 3;
}

/* ---- known mistakes ------------------------------------------------------------------ */

static bool matches_cause(const struct comparison *c, const double *value)
{
    for (size_t i = 0; i < c->view->elements; i++)
        if (!is(c, i, value[i])) return false;
    return true;
}

static bool known_mistake(struct judgement *j, const struct comparison *c)
{
    const struct cause *cause = c->set->cause[c->view - c->data->view];
    for (int n = 0; n < MAX_CAUSES && cause[n].value; n++) {
        if (!matches_cause(c, cause[n].value)) continue;
        say(j, "pattern: %s", cause[n].words);
        return true;
    }
    return false;
}

/* ---- where --------------------------------------------------------------------------- */

/* Which rows, or which columns, have a wrong element. */
struct hits {
    const char *one, *many; /* "row", "rows" */
    unsigned char *hit;
    size_t size, count, first, last;
};

static struct hits find_hits(const struct comparison *c, bool rows)
{
    size_t size = rows ? c->view->rows : c->view->cols, cols = c->view->cols;
    bool flat = c->view->dims < 2;
    struct hits h = {
        rows   ? "row"
        : flat ? "element"
               : "column",
        rows   ? "rows"
        : flat ? "elements"
               : "columns",
        xalloc(size),
        size,
        0,
        0,
        0};
    for (size_t i = 0; i < c->view->elements; i++)
        if (c->mark[i]) h.hit[rows ? i / cols : i % cols] = 1;
    for (size_t k = size; k-- > 0;)
        if (h.hit[k]) h.first = k, h.count++;
    for (size_t k = 0; k < size; k++)
        if (h.hit[k]) h.last = k;
    return h;
}

/* Largest power of two of which `first` is the last multiple below size. 0: none */
static size_t tail_of(size_t first, size_t size)
{
    for (size_t p = 4096; p >= 2; p /= 2)
        if (size % p && size - size % p == first) return p;
    return 0;
}

/* k if exactly every k-th is hit (or, with `but`, exactly those are not). 0: none */
static size_t period_of(const struct hits *h, bool but, size_t *start)
{
    for (size_t k = 2; k <= 64 && 3 * k <= h->size; k++) {
        size_t at = but ? 0 : h->first, i = 0;
        while (but && at < k && h->hit[at])
            at++;
        while (i < h->size && (h->hit[i] == (i % k == at % k)) != but)
            i++;
        *start = at;
        if (i == h->size) return k;
    }
    return 0;
}

static bool says_period(char *text, size_t room, const struct hits *h)
{
    size_t start, k = period_of(h, false, &start);
    if (k) {
        snprintf(
            text, room, "every %zu%s %s, from %zu on", k,
            k == 2   ? "nd"
            : k == 3 ? "rd"
                     : "th",
            h->one, start);
        return true;
    }
    k = period_of(h, true, &start);
    if (k)
        snprintf(
            text, room, "all but every %zu%s %s (right: %zu, %zu, ...)", k,
            k == 2   ? "nd"
            : k == 3 ? "rd"
                     : "th",
            h->one, start, start + k);
    return k != 0;
}

static void describe(char *text, size_t room, const struct hits *h)
{
    size_t tail = tail_of(h->first, h->size);
    bool run = h->last - h->first + 1 == h->count;
    if (h->count == h->size)
        snprintf(text, room, "every %s", h->one);
    else if (run && h->last + 1 == h->size && tail && h->count < h->size / 2 + tail)
        snprintf(
            text, room, "%s %zu..%zu: the tail after the last multiple of %zu", h->many,
            h->first, h->last, tail);
    else if (h->count == 1)
        snprintf(
            text, room, "%s %zu%s", h->one, h->first,
            h->first + 1 == h->size ? ", the last"
            : h->first              ? ""
                                    : ", the first");
    else if (run && h->last + 1 == h->size)
        snprintf(
            text, room, "%s %zu..%zu: only the first%s are right", h->many, h->first,
            h->last, h->first == 1 ? "" : " of them");
    else if (run)
        snprintf(text, room, "%s %zu..%zu", h->many, h->first, h->last);
    else if (!says_period(text, room, h))
        snprintf(text, room, "%zu of %zu %s", h->count, h->size, h->many);
}

/* Wrong in the flattened order: an elementwise kernel. */
static bool flat_tail(struct judgement *j, const struct comparison *c)
{
    size_t n = c->view->elements;
    if (c->view->rows < 2 || c->wrong != n - c->first_wrong) return false;
    size_t tail = tail_of(c->first_wrong, n);
    if (!tail) return false;
    say(j,
        "pattern: the last %zu elements of all: the tail after the last multiple of %zu",
        c->wrong, tail);
    return true;
}

static bool triangle(struct judgement *j, const struct comparison *c)
{
    const struct view *v = c->view;
    size_t above = 0, on = 0, square = v->dims >= 2 ? v->shape[v->dims - 2] : 0;
    if (v->dims < 2 || square != v->cols || v->cols < 3) return false;
    for (size_t i = 0; i < v->elements; i++) {
        size_t row = i / v->cols % square, col = i % v->cols;
        if (c->mark[i]) above += col > row, on += col == row;
    }
    size_t planes = v->elements / (v->cols * v->cols);
    if (on == c->wrong && on > planes * v->cols / 2)
        say(j, "pattern: the diagonal");
    else if (above == c->wrong && above > planes * v->cols * (v->cols - 1) / 4)
        say(j, "pattern: above the diagonal: the mask?");
    else
        return false;
    return true;
}

/* true: said where */
static bool find_place(struct judgement *j, const struct comparison *c)
{
    char rows_text[128], cols_text[128];
    struct hits rows = find_hits(c, true), cols = find_hits(c, false);
    /* some may be right by luck */
    bool block = c->wrong * 10 >= rows.count * cols.count * 9;
    bool everywhere = c->wrong * 10 >= c->view->elements * 8 && cols.count == cols.size &&
                      rows.count * 10 >= rows.size * 9;
    bool said = true;
    describe(rows_text, sizeof rows_text, &rows);
    describe(cols_text, sizeof cols_text, &cols);
    if (c->wrong == c->view->elements || everywhere)
        said = false; /* its values say more */
    else if (flat_tail(j, c) || triangle(j, c))
        ;
    else if (c->view->rows == 1)
        say(j, "pattern: %s", cols_text);
    else if (block)
        say(j, "pattern: %s, %s", rows_text, cols_text);
    else
        say(j, "pattern: scattered over %zu of %zu rows, %zu of %zu columns", rows.count,
            rows.size, cols.count, cols.size);
    free(rows.hit);
    free(cols.hit);
    return said;
}

/* ---- what: one value everywhere ------------------------------------------------------ */

static bool all_marked(const struct comparison *c, uint8_t mark)
{
    EVERY_WRONG(c, i, c->mark[i] == mark);
    return true;
}

static bool all_nan(const struct comparison *c)
{
    EVERY_WRONG(c, i, isnan(c->got[i]));
    return true;
}

static bool all_equal(const struct comparison *c, double value)
{
    EVERY_WRONG(c, i, c->got[i] == value);
    return true;
}

/* placed: a line before has said where; the first one has said "never written" */
static bool one_value(struct judgement *j, const struct comparison *c, bool placed)
{
    const char *these = placed ? "all of these " : "";
    double value = c->got[c->first_wrong];
    if (all_marked(c, MARK_POISON)) {
        if (!placed) say(j, "pattern: never written");
    } else if (all_marked(c, MARK_FENCE))
        say(j,
            "pattern: the values come from outside of a buffer: it reads past the end");
    else if (all_marked(c, MARK_WORKSPACE))
        say(j,
            "pattern: the values are what lay in the workspace before: it is read before "
            "it is written");
    else if (all_nan(c))
        say(j,
            "pattern: %sNaN: inf - inf or inf/inf (exp of a large number?), 0/0, a root "
            "of "
            "a negative number, or a read of what nobody wrote",
            these);
    else if (several(c) && isinf(value) && all_equal(c, value))
        say(j,
            "pattern: %sinfinite: an overflow (exp of a large number?) or a division by "
            "0",
            these);
    else if (several(c) && all_equal(c, value))
        say(j, "pattern: %salways %.6g", these, value);
    else
        return false;
    return true;
}

static bool all_input(const struct comparison *c, const struct view *in)
{
    const unsigned char *bytes = c->set->bytes[in->buffer];
    size_t e = element_bytes(in->element);
    EVERY_WRONG(
        c, i, c->got[i] == element_value(in->element, bytes + view_index(in, i) * e));
    return true;
}

static bool copied_input(struct judgement *j, const struct comparison *c)
{
    for (int k = 0; k < c->data->views; k++) {
        const struct view *in = &c->data->view[k];
        if (in->role == ROLE_OUT || in->buffer < 0 || in == c->view) continue;
        if (in->elements != c->view->elements || !c->set->bytes[in->buffer]) continue;
        if (!several(c) || !all_input(c, in)) continue;
        say(j, "pattern: equal to the input %s", in->name);
        return true;
    }
    return false;
}

/* ---- what: an accumulated output ----------------------------------------------------- */

static bool adds(const struct comparison *c, double old, double gradient)
{
    EVERY_WRONG(
        c, i, is(c, i, old * c->first[i] + gradient * (c->want[i] - c->first[i])));
    return true;
}

static bool accumulation(struct judgement *j, const struct comparison *c)
{
    if (!c->first || c->view->role != ROLE_ACC) return false;
    if (adds(c, 1, 0))
        say(j, "pattern: unchanged: nothing was added to it");
    else if (adds(c, 0, 1))
        say(j,
            "pattern: what was there is gone: this output is added to (+=), not written");
    else if (adds(c, 1, 2))
        say(j, "pattern: added twice");
    else if (adds(c, 2, 1))
        say(j, "pattern: what was there counts twice");
    else if (adds(c, 1, -1))
        say(j, "pattern: subtracted instead of added");
    else
        return false;
    return true;
}

/* ---- what: a factor or a summand ----------------------------------------------------- */

/* Best k in got = k want over some of the wrong elements. 0: none, or not finite */
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

/* What in this case has that size? */
static void name_factor(char *text, size_t room, const struct comparison *c, double k)
{
    const char *name;
    json_t *scalar;
    const struct {
        double value;
        const char *words;
    } known[] = {
        {-1, "the sign is the other one"},
        {2, "counted twice, or a missing 1/2"},
        {0.5, "half of it: only half of the terms, or 1/2 once too often"},
        {M_LN2, "ln 2: exp2 for exp, or log2 for log, somewhere"},
        {M_LOG2E, "1 / ln 2: exp2 for exp, or log2 for log, somewhere"}};
    *text = 0;
    for (size_t n = 0; n < sizeof known / sizeof *known; n++)
        if (near(k, known[n].value)) snprintf(text, room, ": %s", known[n].words);
    json_object_foreach(c->data->scalars, name, scalar)
    {
        double s = json_number_value(scalar);
        if (fabs(s) < 1e-6 || near(fabs(s), 1)) continue;
        if (near(k, s))
            snprintf(
                text, room, ": %s = %g: a missing 1/%s, or a %s too many", name, s, name,
                name);
        else if (near(k, 1 / s))
            snprintf(
                text, room, ": 1/%s (%s = %g): a missing %s, or a 1/%s too many", name,
                name, s, name, name);
        else if (s > 0 && near(k, sqrt(s)))
            snprintf(text, room, ": the root of %s = %g", name, s);
        else if (s > 0 && near(k, 1 / sqrt(s)))
            snprintf(text, room, ": 1 / the root of %s = %g", name, s);
    }
}

static bool constant_factor(struct judgement *j, const struct comparison *c)
{
    char words[160];
    double k = factor_of(c, 0, c->view->elements, 1);
    if (!several(c) || k == 0 || fabs(k - 1) < fmax(1e-4, 8 * unit(c))) return false;
    if (!all_scaled(c, k)) return false;
    name_factor(words, sizeof words, c, k);
    say(j, "pattern: the expected values times %.6g%s", k, words);
    return true;
}

static bool all_shifted(const struct comparison *c, double k)
{
    EVERY_WRONG(c, i, is(c, i, c->want[i] + k));
    return true;
}

static bool constant_summand(struct judgement *j, const struct comparison *c)
{
    double k = c->got[c->first_wrong] - c->want[c->first_wrong];
    double least = 8 * (double)c->tol[c->first_wrong]; /* less is rounding */
    if (!several(c) || !isfinite(k) || fabs(k) < least || !all_shifted(c, k))
        return false;
    say(j, "pattern: the expected values plus %.6g", k);
    return true;
}

/* Each row (or column) times a factor, or plus a summand, of its own. */
static bool line_holds(
    const struct comparison *c, size_t from, size_t count, size_t step, bool summand,
    double *least, double *most)
{
    size_t checked = 0, i = from;
    double k = 0;
    bool known = false;
    if (!summand) k = factor_of(c, from, count, step), known = true;
    for (size_t n = 0; n < count; n++, i += step) {
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
lines_hold(struct judgement *j, const struct comparison *c, bool rows, bool summand)
{
    double least = INFINITY, most = -INFINITY;
    size_t R = c->view->rows, C = c->view->cols, lines = rows ? R : C;
    if (R < 2 || C < 2) return false;
    for (size_t n = 0; n < lines; n++)
        if (!line_holds(
                c, rows ? n * C : n, rows ? C : R, rows ? 1 : C, summand, &least, &most))
            return false;
    const char *line = rows ? "row" : "column";
    const char *blame =
        rows ? "what is computed once a row (sum, maximum, root) is wrong, "
               "the rest is right"
             : "the weights or their index are wrong";
    say(j, "pattern: each %s %s of its own (%.4g to %.4g): %s", line,
        summand ? "plus a number" : "times a factor", least, most, blame);
    return true;
}

/* ---- what: somebody else's values ---------------------------------------------------- */

typedef size_t source(const struct view *v, size_t i, size_t n); /* SIZE_MAX: nobody's */

static size_t other_row(const struct view *v, size_t i, size_t n)
{
    size_t row = i / v->cols + n; /* n may be -1 */
    return row < v->rows ? row * v->cols + i % v->cols : SIZE_MAX;
}

static size_t other_col(const struct view *v, size_t i, size_t n)
{
    size_t col = i % v->cols + n;
    return col < v->cols ? i - i % v->cols + col : SIZE_MAX;
}

static size_t swapped_row(const struct view *v, size_t i, size_t n)
{
    size_t row = i / v->cols / n % 2 ? i / v->cols - n : i / v->cols + n;
    return row < v->rows ? row * v->cols + i % v->cols : SIZE_MAX;
}

static size_t swapped_col(const struct view *v, size_t i, size_t n)
{
    size_t col = i % v->cols / n % 2 ? i % v->cols - n : i % v->cols + n;
    return col < v->cols ? i - i % v->cols + col : SIZE_MAX;
}

static size_t transposed(const struct view *v, size_t i, size_t n)
{
    (void)n;
    return i % v->rows * v->cols + i / v->rows; /* [c][r] stored as [r][c] */
}

static size_t reversed_row(const struct view *v, size_t i, size_t n)
{
    (void)n;
    return (v->rows - 1 - i / v->cols) * v->cols + i % v->cols;
}

static bool taken_from(const struct comparison *c, source *from, size_t n)
{
    size_t checked = 0;
    for (size_t i = 0; i < c->view->elements; i++) {
        if (!c->mark[i]) continue;
        size_t other = from(c->view, i, n);
        if (other == SIZE_MAX) continue; /* the edge has nobody */
        if (!is(c, i, c->want[other])) return false;
        checked++;
    }
    return checked >= 3 && checked * 2 > c->wrong;
}

static bool elsewhere(struct judgement *j, const struct comparison *c)
{
    const struct view *v = c->view;
    size_t head = (size_t)json_integer_value(json_object_get(c->data->scalars, "D"));
    bool table = v->rows > 1 && v->cols > 1;
    const char *row = v->dims > 2 ? "row (or head)" : "row";
    if (table && taken_from(c, other_row, (size_t)-1))
        say(j, "pattern: each %s holds the values of the one before: off by one row",
            row);
    else if (table && taken_from(c, other_row, 1))
        say(j, "pattern: each %s holds the values of the next: off by one row", row);
    else if (v->cols > 1 && taken_from(c, other_col, (size_t)-1))
        say(j, "pattern: the values are one place too far right: off by one column");
    else if (v->cols > 1 && taken_from(c, other_col, 1))
        say(j, "pattern: the values are one place too far left: off by one column");
    else if (table && head && head < v->cols && taken_from(c, other_col, head))
        say(j, "pattern: each head holds the values of the next (D = %zu)", head);
    else if (table && head && head < v->cols && taken_from(c, other_col, -head))
        say(j, "pattern: each head holds the values of the one before (D = %zu)", head);
    else if (table && head && 2 * head <= v->cols && taken_from(c, swapped_col, head))
        say(j, "pattern: neighbouring heads are exchanged (D = %zu)", head);
    else if (table && taken_from(c, swapped_row, 1))
        say(j, "pattern: neighbouring %ss are exchanged", row);
    else if (v->cols > 1 && taken_from(c, swapped_col, 1))
        say(j, "pattern: neighbouring elements are exchanged: pairs (2i, 2i+1)?");
    else if (table && taken_from(c, transposed, 0))
        say(j, "pattern: transposed: rows and columns are exchanged");
    else if (table && taken_from(c, reversed_row, 0))
        say(j, "pattern: the rows are in reverse order");
    else
        return false;
    return true;
}

/* ---- what: too few digits ------------------------------------------------------------ */

/* Are the values numbers of a type with so many bits behind the point? */
static bool all_short(const struct comparison *c, int bits)
{
    size_t long_ones = 0;
    for (size_t i = 0; i < c->view->elements; i++) {
        int exponent;
        double m = ldexp(frexp(c->got[i], &exponent), bits + 1);
        if (m != floor(m)) long_ones++;
    }
    return long_ones == 0;
}

static bool few_digits(struct judgement *j, const struct comparison *c)
{
    double error = 0, size = 0, least = INFINITY, most = -INFINITY;
    size_t R = c->view->rows, C = c->view->cols;
    for (size_t i = 0; i < c->view->elements; i++) {
        double base = c->first ? c->first[i] : 0; /* errors of what was added */
        if (!isfinite(c->got[i])) return false;
        error += (c->got[i] - c->want[i]) * (c->got[i] - c->want[i]);
        size += (c->want[i] - base) * (c->want[i] - base);
    }
    double off = size > 0 ? sqrt(error / size) : INFINITY;
    if (off > 0.01) return false;
    bool by_row = R > 1 && C > 3;
    for (size_t row = 0; row < R && by_row; row++)
        by_row = line_holds(c, row * C, C, 1, false, &least, &most);
    const char *where =
        by_row ? "; each row is off by one factor: it is the row's sum" : "";
    bool single = c->view->element == ELEMENT_F32;
    if (single && all_short(c, 10))
        say(j, "pattern: the values are f16 numbers: float is asked for, first to last");
    else if (single && all_short(c, 7))
        say(j, "pattern: the values are bf16 numbers: float is asked for, first to last");
    else if (off > 0x1p-18)
        say(j,
            "pattern: right to 2^%.0f only: a sum or an inner value in half precision? "
            "Accumulate in float%s",
            log2(off), where);
    else
        say(j,
            "pattern: right to 2^%.0f, not to the tolerance: cancellation, a fast "
            "approximation, or a term left out?%s",
            log2(off), where);
    return true;
}

/* ---- all of it ----------------------------------------------------------------------- */

void find_pattern(struct judgement *j, const struct comparison *c)
{
    if (known_mistake(j, c)) return;
    bool placed = find_place(j, c);
    if (one_value(j, c, placed) || accumulation(j, c) || copied_input(j, c)) return;
    if (constant_factor(j, c) || constant_summand(j, c) || elsewhere(j, c)) return;
    if (few_digits(j, c)) return;
    if (lines_hold(j, c, true, false) || lines_hold(j, c, true, true)) return;
    if (lines_hold(j, c, false, false) || lines_hold(j, c, false, true)) return;
    if (placed) return;
    say(j, "pattern: none that is known; every %s is hit",
        c->view->dims < 2 ? "element" : "row and column");
}
