// test_grader_pattern.c - which mistake the grader names for wrong values.
// links: objects/tests/grader/scene.o
// links: objects/grader/cases.o objects/grader/labs.o objects/grader/data.o objects/grader/util.o
// links: objects/grader/causes.o
// links: objects/grader/judge.o objects/grader/repeats.o objects/grader/values.o
// links: objects/grader/compare.o objects/grader/writes.o
// links: objects/grader/findings.o objects/grader/structure.o objects/grader/pattern.o
// links: objects/grader/pattern_where.o objects/grader/pattern_scale.o
// links: objects/grader/pattern_moved.o objects/grader/pattern_value.o
#include "grader/scene.h"

#include "../grader/util.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    float *out = out_of(&s.run.result[0]);
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
    float *out = out_of(&s.run.result[0]);
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
            out_of(&s.run.result[0])[i] =
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
    expect_pattern(
        48, 6, all_but_16th, "all rows except every 16th (right: 15, 31, ...)");
}

/* Columns are heads of D channels */
Test(pattern, heads)
{
    struct scene s = scene(6, 100, 0, ROLE_OUT);
    add_all(&s);
    for (size_t i = 0; i < 600; i++)
        if (i % 100 >= 20 && i % 20 >= 16) out_of(&s.run.result[0])[i] += 2;
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
    float *out = out_of(&s.run.result[0]), *same = out_of(&t.run.result[0]);
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
        out_of(&s.run.result[0])[i] = with[i];
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
        out_of(&s.run.result[0])[7] = with[7];
        out_of(&s.run.result[0])[9] = with[9] + (n == 1);
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
            if (i || !n) out_of(&s.run.result[0])[i] = (float)s.want[0][i] + 1;
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
        out_of(&s.run.result[0])[i] = (float)s.want[0][i] * with[i / 100];
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
            out_of(&s.run.result[0])[i] = i || !n ? NAN : 7;
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
        out_of(&s.run.result[0])[i] = NAN, out_of(&t.run.result[0])[i] = 1e-30f;
    every_call(&s), every_call(&t);
    expect_fail(&s, "x has NaN where it must not be read");
    t.d.set[0].want[1] = t.d.set[1].want[1] = zero; /* as if x were an output, too */
    t.d.set[0].tol[1] = t.d.set[1].tol[1] = t.tol;
    expect_silence(&t, "are the two swapped");
    free(zero);
}
