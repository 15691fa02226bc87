/* reductions_compare.c - comparing code as text, and the values of constants in it. */
#include "reductions.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

char *compact(
    const struct source *s, int first, int end, const char *name, const char *mark, int a,
    int b, const char *part)
{
    struct buffer text = {0};
    append_text(&text, "");
    for (int i = first; i < end; i++) {
        const struct token *t = &s->tokens[i];
        if (t->kind == BLANK || t->kind == COMMENT) continue;
        char last = text.length ? text.text[text.length - 1] : ' ';
        int words = (isalnum((unsigned char)last) || last == '_') &&
                    (t->kind == NAME || t->kind == NUMBER);
        int marked = !(a <= i && i < b) && name && is(s, i, name);
        if (words && !(a <= i && i < b) && !(marked && *mark != 1)) append(&text, " ", 1);
        if (a <= i && i < b) {
            append_text(&text, part);
            i = b - 1;
        } else if (marked) {
            append_text(&text, mark);
        } else {
            append(&text, t->start, (size_t)t->length);
        }
    }
    return text.text;
}

char *plain(const struct source *s, int first, int end)
{
    return compact(s, first, end, NULL, NULL, -1, -1, NULL);
}

int one_of(const char *text, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(text, *list) == 0) return 1;
    return 0;
}

int find(const struct source *s, int first, int end, const char *text)
{
    for (int i = first; i < end; i++)
        if (is(s, i, text)) return i;
    return -1;
}
/* --- constants ---------------------------------------------------------------------- */

static int number(const char *text)
{
    char *end;
    long n = strtol(text, &end, 0);
    if (*end == 'u' || *end == 'U') end++;
    return *text && !*end && n > 0 && n <= 1 << 20 ? (int)n : -1;
}

/* The names in #define NAME and const int NAME = of the source that is rewritten. */
static struct token_index constants;

/* The token after the = of const int NAME = at i, or after #define NAME; else -1. */
static int defined_as(const struct source *s, int i)
{
    int b = previous(s, i), n = next(s, i);
    if (is(s, b, "define")) return n;
    if (!is(s, n, "=") || !(is(s, b, "int") || is(s, b, "unsigned"))) return -1;
    b = previous(s, b);
    return is(s, b, "const") || is(s, b, "constexpr") ? next(s, n) : -1;
}

void find_constants(const struct source *s)
{
    constants.count = 0;
    for (int i = 0; i < s->count; i++)
        if (is_name(s, i) && defined_as(s, i) >= 0) index_add(&constants, i);
    index_sort(&constants, s);
}

/* The value of #define NAME 32 or const int NAME = 32, if exactly one exists, else -1. */
static int value_of_name(const struct source *s, const char *name)
{
    int found;
    if (strcmp(name, "warpSize") == 0) return 32;
    int first = index_find(&constants, s, name, (int)strlen(name), &found);
    if (found != 1) return -1;
    int n = defined_as(s, constants.tokens[first]), after = n + 1;
    char *text = plain(s, n, n < s->count ? n + 1 : n);
    int value = number(text);
    free(text);
    /* Nothing else may follow: #define N 32 + 1 is not 32. */
    int ends = is(s, next(s, n), ";") ||
               (after < s->count && s->tokens[after].kind == BLANK &&
                memchr(s->tokens[after].start, '\n', (size_t)s->tokens[after].length));
    return ends ? value : -1;
}

int value_at(const struct source *s, int i)
{
    char *text = plain(s, i, i + 1);
    int value = number(text);
    if (value < 0) value = value_of_name(s, text);
    free(text);
    return value;
}

int constant(const struct source *s, const char *text)
{
    size_t n = strlen(text);
    char *copy = format("%s", text);
    int halve = 0, value;
    if (n > 2 && *copy == '(' && copy[n - 1] == ')') {
        memmove(copy, copy + 1, n - 2);
        copy[n -= 2] = 0;
    }
    if (n > 2 && strcmp(copy + n - 2, "/2") == 0)
        copy[n - 2] = 0, halve = 1;
    else if (n > 3 && strcmp(copy + n - 3, ">>1") == 0)
        copy[n - 3] = 0, halve = 1;
    value = number(copy);
    if (value < 0) value = value_of_name(s, copy);
    free(copy);
    if (halve) value = value > 0 && value % 2 == 0 ? value / 2 : -1;
    return value;
}
