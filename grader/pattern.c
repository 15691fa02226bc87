/* pattern.c - what a wrong output looks like, and its likely cause.
 *
 * First the mistakes that the reference knows (tensors NAME.if.CAUSE and NAME.times.CAUSE:
 * what the output would be with them). Then where the wrong elements are
 * (pattern_where.c), and what they hold: one value, an input, another output, a wrong
 * accumulation, a factor or summand (pattern_scale.c), the values of another row or column
 * (pattern_moved.c), too few digits.
 */
#include "pattern.h"

#include "pattern_parts.h"

#include <math.h>

/* --- known mistakes ----------------------------------------------------------------- */

/* Is it a NaN that the kernel computed, not a pattern that fills memory? */
static bool computed_nan(const struct comparison *c, size_t i)
{
    return is_nan(c->got[i]) && c->mark[i] == MARK_WRONG;
}

/* NaN: with this mistake the value is wrong, but unknown (read out of bounds), unless the
 * cause says that it is NaN. */
static bool matches_cause(const struct comparison *c, const struct cause *cause)
{
    for (size_t i = 0; i < c->view->elements; i++) {
        if (cause->partial && c->mark[i] == MARK_RIGHT) continue;
        double value = cause->factor ? cause->value[i / c->view->cols] * c->want[i]
                                     : cause->value[i];
        bool same = is_nan(value)
                        ? cause->nan ? computed_nan(c, i) : c->mark[i] != MARK_RIGHT
                    : is_finite(value) ? is(c, i, value)
                                       : c->got[i] == value;
        if (!same) return false;
    }
    return true;
}

/* --- one value everywhere ----------------------------------------------------------- */

static bool all_marked(const struct comparison *c, enum mark mark)
{
    EVERY_WRONG(c, i, c->mark[i] == mark);
    return true;
}

static bool any_marked(const struct comparison *c, enum mark mark)
{
    for (size_t i = 0; i < c->view->elements; i++)
        if (c->mark[i] == mark) return true;
    return false;
}

static bool all_nan(const struct comparison *c)
{
    EVERY_WRONG(c, i, isnan(c->got[i]));
    return true;
}

static bool none_finite(const struct comparison *c)
{
    EVERY_WRONG(c, i, !isfinite(c->got[i]));
    return true;
}

static bool all_equal(const struct comparison *c, double value)
{
    EVERY_WRONG(c, i, c->got[i] == value);
    return true;
}

/* An input that holds NaN where a kernel must not read, or NULL. */
static const struct view *nan_input(const struct comparison *c)
{
    for (int k = 0; k < c->data->views; k++) {
        const struct view *in = &c->data->view[k];
        if (in->role == ROLE_OUT || in->buffer < 0 || !c->set->bytes[in->buffer])
            continue;
        const unsigned char *bytes = c->set->bytes[in->buffer];
        size_t e = element_bytes(in->element);
        for (size_t i = 0; i < in->elements; i++)
            if (is_nan(element_value(in->element, bytes + view_index(in, i) * e)))
                return in;
    }
    return NULL;
}

static void say_nan(struct findings *f, const struct comparison *c)
{
    const struct view *in = nan_input(c);
    if (in)
        say(f,
            "pattern: always NaN: %s has NaN where it must not be read, and 0 times NaN "
            "is NaN: skip these elements; or inf - inf, inf / inf or 0 / 0",
            in->name);
    else
        say(f,
            "pattern: always NaN: inf - inf (a maximum of nothing that is still -inf?), "
            "inf / inf (exp of a large number?), 0 / 0, the square root of a negative "
            "number, or a read of uninitialised memory or outside of a buffer");
}

/* placed: a line before says where; the finding of the first element says "never
 * written" */
static bool one_value(struct findings *f, const struct comparison *c, bool placed)
{
    double value = c->got[c->first_wrong];
    if (all_marked(c, MARK_POISON)) {
        if (!placed) say(f, "pattern: never written");
    } else if (all_nan(c) && any_marked(c, MARK_RED_ZONE))
        say(f, "pattern: the values come from outside the buffers: the kernel reads out "
               "of bounds");
    else if (all_nan(c) && any_marked(c, MARK_WORKSPACE))
        say(f,
            "pattern: the values are the initial contents of the workspace: the kernel "
            "reads it before it writes it");
    else if (all_marked(c, MARK_SHARED))
        say(f, "pattern: shared memory is read before the block has written it: is a "
               "__syncthreads() missing before the read? Or do threads that should write "
               "it return early?");
    else if (all_nan(c) && any_marked(c, MARK_POISON))
        say(f, "pattern: some elements are never written; the others come from unwritten "
               "memory, or from inf - inf, inf / inf or 0 / 0");
    else if (all_nan(c))
        say_nan(f, c);
    else if (several(c) && isinf(value) && all_equal(c, value))
        say(f, "pattern: always infinite: an overflow (exp of a large number?), or a "
               "division by 0");
    else if (several(c) && none_finite(c))
        say(f, "pattern: always inf or NaN: an overflow, in f16 beyond 65504 (exp of a "
               "large number?), or a division by 0");
    else if (several(c) && all_equal(c, value))
        say(f, "pattern: always %.6g%s", value + 0.0, /* -0 is 0 */
            value == 0 && c->view->element == ELEMENT_F16
                ? ": is something divided by a sum that is inf in f16, above 65504?"
                : "");
    else
        return false;
    return true;
}

/* --- an input ----------------------------------------------------------------------- */

static bool all_input(const struct comparison *c, const struct view *in)
{
    const unsigned char *bytes = c->set->bytes[in->buffer];
    size_t e = element_bytes(in->element);
    EVERY_WRONG(
        c, i, c->got[i] == element_value(in->element, bytes + view_index(in, i) * e));
    return true;
}

static bool copied_input(struct findings *f, const struct comparison *c)
{
    for (int k = 0; k < c->data->views; k++) {
        const struct view *in = &c->data->view[k];
        if (in->role == ROLE_OUT || in->buffer < 0 || in == c->view) continue;
        if (in->elements != c->view->elements || !c->set->bytes[in->buffer]) continue;
        if (!several(c) || !all_input(c, in)) continue;
        if (in->buffer == c->view->buffer && in->offset == c->view->offset)
            say(f,
                "pattern: %s is never written: it shares memory with %s and still has "
                "its values",
                c->view->name, in->name);
        else
            say(f, "pattern: equal to the input %s", in->name);
        return true;
    }
    return false;
}

/* --- another output ------------------------------------------------------------------ */

/* What the call must add to an element, or write there. */
static double result_at(const struct comparison *c, const struct view *v, size_t i)
{
    double value = c->set->want[v - c->data->view][i];
    if (v->role != ROLE_ACC || v->buffer < 0 || !c->set->bytes[v->buffer]) return value;
    const unsigned char *before = c->set->bytes[v->buffer];
    return value - element_value(
                       v->element, before + view_index(v, i) * element_bytes(v->element));
}

/* Values that are all close to 0 fit any output. */
static bool all_of_output(const struct comparison *c, const struct view *other)
{
    bool acc = c->view->role == ROLE_ACC && c->first;
    size_t zeros = 0;
    EVERY_WRONG(c, i, is(c, i, (acc ? c->first[i] : 0) + result_at(c, other, i)));
    for (size_t i = 0; i < c->view->elements; i++)
        zeros += c->mark[i] && is(c, i, acc ? c->first[i] : 0);
    return zeros * 2 < c->wrong;
}

static bool other_output(struct findings *f, const struct comparison *c)
{
    for (int k = 0; k < c->data->views; k++) {
        const struct view *other = &c->data->view[k];
        if (other == c->view || !c->set->want[k]) continue;
        if (other->elements != c->view->elements || !several(c)) continue;
        if (!all_of_output(c, other)) continue;
        say(f, "pattern: equal to what %s should be: are the two swapped?", other->name);
        return true;
    }
    return false;
}

/* --- an output that is added to ----------------------------------------------------- */

/* Is the output `old` times its contents before the call plus `added` times the sum? */
static bool adds(const struct comparison *c, double old, double added)
{
    EVERY_WRONG(c, i, is(c, i, old * c->first[i] + added * (c->want[i] - c->first[i])));
    return true;
}

static bool accumulation(struct findings *f, const struct comparison *c)
{
    if (!c->first || c->view->role != ROLE_ACC) return false;
    if (adds(c, 1, 0))
        say(f, "pattern: unchanged: nothing was added");
    else if (adds(c, 0, 1))
        say(f,
            "pattern: the old value is lost: add to this output (+=), do not overwrite "
            "it");
    else if (adds(c, 1, 2))
        say(f, "pattern: added twice");
    else if (adds(c, 2, 1))
        say(f, "pattern: the old value counts twice");
    else if (adds(c, 1, -1))
        say(f, "pattern: subtracted instead of added");
    else
        return false;
    return true;
}

/* --- too few digits ----------------------------------------------------------------- */

/* Do all values have at most so many bits after the leading one? */
static bool all_short(const struct comparison *c, int bits)
{
    for (size_t i = 0; i < c->view->elements; i++) {
        int exponent;
        double m = ldexp(frexp(c->got[i], &exponent), bits + 1);
        if (m != floor(m)) return false;
    }
    return true;
}

/* Root mean square error, relative to what the kernel computed. */
static double relative_error(const struct comparison *c)
{
    double error = 0, size = 0;
    for (size_t i = 0; i < c->view->elements; i++) {
        double base = c->first ? c->first[i] : 0; /* an acc: relative to what was added */
        if (!isfinite(c->got[i])) return INFINITY;
        error += (c->got[i] - c->want[i]) * (c->got[i] - c->want[i]);
        size += (c->want[i] - base) * (c->want[i] - base);
    }
    return size > 0 ? sqrt(error / size) : INFINITY;
}

/* How one-sided the errors are: 1 if all are in the same direction, near 0 for rounding
 * errors, which go both ways. With few wrong elements it means nothing: 1. */
static double bias_of(const struct comparison *c)
{
    double sum = 0, size = 0;
    if (c->wrong < 8) return 1;
    for (size_t i = 0; i < c->view->elements; i++) {
        double error = c->got[i] - c->want[i];
        if (!c->mark[i]) continue;
        sum += c->want[i] < 0 ? -error : error;
        size += fabs(error);
    }
    return size > 0 ? fabs(sum) / size : 1;
}

/* Are most of the wrong elements off by more than a quarter? Then digits are not the
 * matter, however small these elements are compared with the others. */
static bool far_off(const struct comparison *c)
{
    size_t far = 0;
    for (size_t i = 0; i < c->view->elements; i++)
        far += c->mark[i] && fabs(c->got[i] - c->want[i]) > fabs(c->want[i]) / 4;
    return far * 2 > c->wrong;
}

/* In 16 bits a sum in half precision makes many elements wrong. */
static bool half_sums_show(const struct comparison *c)
{
    if (c->view->element == ELEMENT_F32) return bias_of(c) < 0.5;
    return c->wrong * 50 >= c->view->elements;
}

static const char *why_inaccurate(const struct comparison *c, double error)
{
    bool single = c->view->element == ELEMENT_F32, rows = each_row_scaled(c);
    bool halves = error > 0x1p-18 && !(single && c->data->no_halves);
    if (rows && halves)
        return "is a sum or an intermediate value in half precision? Accumulate in "
               "float. Each row is wrong by a factor of its own: look at the row's sum";
    if (rows)
        return "each row is wrong by a factor of its own: is a term of the row's sum "
               "missing, or a small summand (eps)?";
    if (halves && half_sums_show(c))
        return "is a sum or an intermediate value in half precision? Accumulate in float";
    return "cancellation, an approximation of a function, or a small term that is "
           "missing?";
}

static bool few_digits(struct findings *f, const struct comparison *c)
{
    double error = relative_error(c);
    if (error > 0.01 || far_off(c)) return false;
    bool single = c->view->element == ELEMENT_F32;
    if (single && all_short(c, 10))
        say(f, "pattern: the values have only the digits of f16: use float from first to "
               "last");
    else if (single && all_short(c, 7))
        say(f,
            "pattern: the values have only the digits of bf16: use float from first to "
            "last");
    else if (error > 0x1p-18)
        say(f, "pattern: accurate to 2^%.0f only: %s", log2(error),
            why_inaccurate(c, error));
    else
        say(f, "pattern: accurate to 2^%.0f, but the tolerance is smaller: %s",
            log2(error), why_inaccurate(c, error));
    return true;
}

/* --- all of them -------------------------------------------------------------------- */

bool find_cause(struct findings *f, const struct comparison *c)
{
    struct causes *known = c->set->causes;
    if (!known) return false;
    causes_read(known, c->view);
    for (size_t n = 0; n < known->count; n++) {
        if (!matches_cause(c, &known->all[n])) continue;
        say(f, "likely cause: %s", known->all[n].words);
        return true;
    }
    return false;
}

void find_pattern(struct findings *f, const struct comparison *c)
{
    bool placed = find_where(f, c);
    if (one_value(f, c, placed) || accumulation(f, c) || copied_input(f, c)) return;
    if (other_output(f, c)) return;
    if (constant_factor(f, c) || constant_summand(f, c) || moved(f, c)) return;
    if (few_digits(f, c) || factors_of_lines(f, c) || placed) return;
    say(f, "pattern: none recognised; wrong elements in %s",
        c->view->dims < 2 ? "the whole vector" : "every row and column");
}
