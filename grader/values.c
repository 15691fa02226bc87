/* values.c - the values that one call returned, and words for those that are wrong. */
#include "values.h"

#include "compare.h"
#include "pattern.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Prints both values with as many digits as tell them apart, but no more. */
static void
two_values(char *got, char *want, size_t room, double g, double w, enum mark mark)
{
    static const char *const origin[] = {
        [MARK_RIGHT] = "",
        [MARK_WRONG] = "",
        [MARK_POISON] = " (never written)",
        [MARK_RED_ZONE] = " (read out of bounds)",
        [MARK_WORKSPACE] = " (uninitialised workspace)",
        [MARK_SHARED] = " (uninitialised shared memory)"};
    for (int digits = 4; digits <= 9; digits++) {
        snprintf(got, room, "%.*g", digits, g);
        snprintf(want, room, "%.*g", digits, w);
        if (strcmp(got, want)) break;
    }
    if (is_nan(g)) snprintf(got, room, "NaN%s", origin[mark]);
}

static void say_wrong(struct findings *f, const struct comparison *c)
{
    char got[64], want[64], where[128];
    const struct view *v = c->view;
    size_t at = c->first_wrong;
    two_values(got, want, sizeof want, c->got[at], c->want[at], c->mark[at]);
    say(f, "%s: %zu of %zu elements wrong, first at %s: got %s, expected %s", v->name,
        c->wrong, v->elements, place(where, sizeof where, v, at), got, want);
}

/* Which block and thread computed the first wrong element, in the usual launch; nothing
 * if none has written it. */
static void say_owner(struct findings *f, const struct comparison *c)
{
    size_t i = c->first_wrong, row = i / c->view->cols, col = i % c->view->cols;
    if (c->mark[i] == MARK_POISON) return;
    if (!strcmp(c->view->owner, "row"))
        say(f, "computed by: block %zu, if each block computes one row",
            c->view->dims < 2 ? col : row);
    else if (!strcmp(c->view->owner, "column"))
        say(f,
            "computed by: block %zu, thread %zu, if each thread computes one column and "
            "a block has 256 threads",
            col / 256, col % 256);
    else if (!strcmp(c->view->owner, "element"))
        say(f,
            "computed by: block %zu, thread %zu, if each thread computes one element and "
            "a block has 256 threads",
            i / 256, i % 256);
}

static void say_tolerance(struct findings *f, const struct comparison *c)
{
    const char *formula =
        json_string_value(json_object_get(c->data->tolerance, c->view->name));
    double error = fabs(c->got[c->first_wrong] - c->want[c->first_wrong]);
    double tol = (double)c->tol[c->first_wrong];
    /* far outside the tolerance, its formula does not matter */
    if (!formula || !is_finite(error) || !(error < 1000 * tol)) return;
    say(f, "error %.2g, tolerance %.2g: %s", error, tol, formula);
}

bool values_right(
    struct judgement *j, const struct case_data *d, const struct data_set *set,
    const unsigned char *result, enum depth depth)
{
    bool good = true, named = depth == WHERE_ONLY;
    if (all_right(d, set, result)) return true;
    for (int i = 0; i < d->views; i++) {
        struct comparison c;
        if (!set->want[i]) continue;
        compare(&c, d, set, i, result);
        if (!c.wrong) {
            comparison_free(&c);
            continue;
        }
        if (c.wrong * 2 > c.view->elements) j->mostly_wrong = true;
        say_wrong(&j->findings, &c);
        bool explained = good && depth == ALL; /* only the first wrong output is */
        if (explained) say_tolerance(&j->findings, &c);
        if (!named) named = find_cause(&j->findings, &c);
        if (explained && !named) find_pattern(&j->findings, &c);
        if (explained) say_owner(&j->findings, &c);
        j->wrong += c.wrong;
        good = false;
        comparison_free(&c);
    }
    return good;
}
