/* pattern_moved.c - the right values in the wrong place: those of another row, column or
 * head. */
#include "pattern_parts.h"

#include <stdint.h>

/* The index of the element whose value is at i; SIZE_MAX: there is none. */
typedef size_t source(const struct view *v, size_t i, size_t n);

static size_t other_row(const struct view *v, size_t i, size_t n)
{
    size_t row = i / v->cols + n; /* n may be (size_t)-1 */
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
        if (other == SIZE_MAX) continue; /* at the edge */
        if (!is(c, i, c->want[other])) return false;
        checked++;
    }
    return checked >= 3 && checked * 2 > c->wrong;
}

static bool moved_head(struct findings *f, const struct comparison *c)
{
    size_t cols = c->view->cols;
    size_t D = (size_t)json_integer_value(json_object_get(c->data->scalars, "D"));
    if (c->view->rows < 2 || !D || D >= cols) return false;
    if (taken_from(c, other_col, D))
        say(f, "pattern: each head has the values of the next head (D = %zu)", D);
    else if (taken_from(c, other_col, -D))
        say(f, "pattern: each head has the values of the previous head (D = %zu)", D);
    else if (2 * D <= cols && taken_from(c, swapped_col, D))
        say(f, "pattern: neighbouring heads are swapped (D = %zu)", D);
    else
        return false;
    return true;
}

bool moved(struct findings *f, const struct comparison *c)
{
    const struct view *v = c->view;
    bool wide = v->cols > 1, table = v->rows > 1 && wide;
    const char *row = v->dims > 2 ? "row (or head)" : "row";
    const char *rows = v->dims > 2 ? "rows (or heads)" : "rows";
    if (table && taken_from(c, other_row, (size_t)-1))
        say(f, "pattern: each %s has the values of the previous one: off by one row",
            row);
    else if (table && taken_from(c, other_row, 1))
        say(f, "pattern: each %s has the values of the next one: off by one row", row);
    else if (wide && taken_from(c, other_col, (size_t)-1))
        say(f, "pattern: the values are one place too far right: off by one column");
    else if (wide && taken_from(c, other_col, 1))
        say(f, "pattern: the values are one place too far left: off by one column");
    else if (moved_head(f, c))
        ;
    else if (table && taken_from(c, swapped_row, 1))
        say(f, "pattern: neighbouring %s are swapped", rows);
    else if (wide && taken_from(c, swapped_col, 1))
        say(f, "pattern: neighbouring elements are swapped: pairs (2i, 2i+1)?");
    else if (table && taken_from(c, transposed, 0))
        say(f, "pattern: transposed: rows and columns are swapped");
    else if (table && taken_from(c, reversed_row, 0))
        say(f, "pattern: the rows are in reverse order");
    else
        return false;
    return true;
}
