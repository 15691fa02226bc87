/* pattern_where.c - where the wrong elements are: a tail, a block, every k-th, a
 * triangle. */
#include "pattern_parts.h"
#include "util.h"

#include <stdio.h>
#include <stdlib.h>

/* --- the rows, or the columns, that have a wrong element ---------------------------- */

struct hits {
    const char *one, *many; /* "row", "rows" */
    unsigned char *hit;
    size_t size, count, first, last;
};

static void count_hits(struct hits *h)
{
    for (size_t k = h->size; k-- > 0;)
        if (h->hit[k]) h->first = k, h->count++;
    for (size_t k = 0; k < h->size; k++)
        if (h->hit[k]) h->last = k;
}

static struct hits find_hits(const struct comparison *c, bool rows)
{
    size_t size = rows ? c->view->rows : c->view->cols, cols = c->view->cols;
    struct hits h = {.one = "row", .many = "rows", .hit = xalloc(size), .size = size};
    if (!rows && c->view->dims < 2)
        h.one = "element", h.many = "elements";
    else if (!rows)
        h.one = "column", h.many = "columns";
    for (size_t i = 0; i < c->view->elements; i++)
        if (c->mark[i]) h.hit[rows ? i / cols : i % cols] = 1;
    count_hits(&h);
    return h;
}

/* The largest power of two whose last multiple below size is `first`, or 0. */
static size_t tail_of(size_t first, size_t size)
{
    if (size < 8) return 0; /* the end of almost nothing */
    for (size_t p = 4096; p >= 2; p /= 2)
        if (size % p && size - size % p == first) return p;
    return 0;
}

/* k if exactly every k-th is hit; with `except`, if exactly those are not. Else 0. */
static size_t period_of(const struct hits *h, bool except, size_t *start)
{
    for (size_t k = 2; k <= 64 && 3 * k <= h->size; k++) {
        size_t at = except ? 0 : h->first, i = 0;
        while (except && at < k && h->hit[at])
            at++;
        while (i < h->size && (h->hit[i] == (i % k == at % k)) != except)
            i++;
        *start = at;
        if (i == h->size) return k;
    }
    return 0;
}

static const char *ordinal_suffix(size_t k)
{
    if (k / 10 % 10 == 1) return "th"; /* 11th, 12th, 13th */
    return k % 10 == 1 ? "st" : k % 10 == 2 ? "nd" : k % 10 == 3 ? "rd" : "th";
}

static bool describe_period(char *text, size_t room, const struct hits *h)
{
    size_t start, k = period_of(h, false, &start);
    if (k) {
        snprintf(
            text, room, "every %zu%s %s, starting at %zu", k, ordinal_suffix(k), h->one,
            start);
        return true;
    }
    k = period_of(h, true, &start);
    if (k)
        snprintf(
            text, room, "all %s except every %zu%s (right: %zu, %zu, ...)", h->many, k,
            ordinal_suffix(k), start, start + k);
    return k != 0;
}

static void describe(char *text, size_t room, const struct hits *h)
{
    size_t tail = tail_of(h->first, h->size);
    bool run = h->last - h->first + 1 == h->count, to_end = h->last + 1 == h->size;
    if (h->count == h->size)
        snprintf(text, room, "every %s", h->one);
    else if (run && to_end && tail && h->count < h->size / 2 + tail)
        snprintf(
            text, room, "%s %zu..%zu, the tail after the last multiple of %zu", h->many,
            h->first, h->last, tail);
    else if (h->count == 1)
        snprintf(
            text, room, "%s %zu%s", h->one, h->first,
            to_end     ? ", the last"
            : h->first ? ""
                       : ", the first");
    else if (run && to_end && h->first == 1)
        snprintf(
            text, room, "%s %zu..%zu: only the first is right", h->many, h->first,
            h->last);
    else if (run && to_end)
        snprintf(
            text, room, "%s %zu..%zu: only the first %zu are right", h->many, h->first,
            h->last, h->first);
    else if (run)
        snprintf(text, room, "%s %zu..%zu", h->many, h->first, h->last);
    else if (!describe_period(text, room, h))
        snprintf(text, room, "%zu of %zu %s", h->count, h->size, h->many);
}

/* Columns of several heads of D channels: if only some heads have wrong channels, and all of
 * them the same, which heads and which channels. */
static bool describe_heads(
    char *text, size_t room, const struct comparison *c, const struct hits *cols)
{
    size_t D = (size_t)json_integer_value(json_object_get(c->data->scalars, "D"));
    char heads_text[60], channels_text[60];
    if (!D || cols->size % D || cols->size == D || c->view->dims < 2) return false;
    struct hits heads = {.one = "head", .many = "heads", .size = cols->size / D};
    struct hits channels = {.one = "channel", .many = "channels", .size = D};
    heads.hit = xalloc(heads.size), channels.hit = xalloc(D);
    for (size_t k = 0; k < cols->size; k++)
        if (cols->hit[k]) heads.hit[k / D] = channels.hit[k % D] = 1;
    count_hits(&heads), count_hits(&channels);
    bool same = cols->count < cols->size && cols->count == heads.count * channels.count;
    if (same) {
        describe(heads_text, sizeof heads_text, &heads);
        describe(channels_text, sizeof channels_text, &channels);
        snprintf(text, room, "%s, %s", heads_text, channels_text);
    }
    free(heads.hit);
    free(channels.hit);
    return same;
}

/* --- shapes that rows and columns do not show --------------------------------------- */

/* The end of the flattened array: the tail of an elementwise kernel. */
static bool flat_tail(struct findings *f, const struct comparison *c)
{
    size_t n = c->view->elements;
    if (c->view->rows < 2 || c->wrong != n - c->first_wrong) return false;
    size_t tail = tail_of(c->first_wrong, n);
    if (!tail) return false;
    say(f,
        "where: the last %zu elements of the tensor, the tail after the last multiple of "
        "%zu",
        c->wrong, tail);
    return true;
}

static bool triangle(struct findings *f, const struct comparison *c)
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
        say(f, "where: only on the diagonal");
    else if (above == c->wrong && above > planes * v->cols * (v->cols - 1) / 4)
        say(f, "where: only above the diagonal: is the mask wrong?");
    else
        return false;
    return true;
}

/* Says nothing where almost all is wrong: then the values tell more than the places. */
bool find_where(struct findings *f, const struct comparison *c)
{
    char rows_text[128], cols_text[128];
    struct hits rows = find_hits(c, true), cols = find_hits(c, false);
    /* some elements of a wrong block may be right by chance */
    bool block = c->wrong * 10 >= rows.count * cols.count * 9;
    bool everywhere = c->wrong * 10 >= c->view->elements * 8 && cols.count == cols.size &&
                      rows.count * 10 >= rows.size * 9;
    size_t start;
    if (period_of(&rows, true, &start)) everywhere = false;
    bool said = true;
    describe(rows_text, sizeof rows_text, &rows);
    if (!describe_heads(cols_text, sizeof cols_text, c, &cols))
        describe(cols_text, sizeof cols_text, &cols);
    if (c->wrong == c->view->elements || everywhere)
        said = false;
    else if (flat_tail(f, c) || triangle(f, c))
        ;
    else if (c->view->rows == 1)
        say(f, "where: %s", cols_text);
    else if (block)
        say(f, "where: %s, %s", rows_text, cols_text);
    else
        say(f, "where: scattered over %zu of %zu rows and %zu of %zu columns", rows.count,
            rows.size, cols.count, cols.size);
    free(rows.hit);
    free(cols.hit);
    return said;
}
