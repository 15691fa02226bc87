/* reductions_read.c - the statements of a loop that may reduce a value over a warp. */
#include "reductions.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* v, s[i], acc.x: a name, with members and with indices that are a name or a number. */
static int is_simple_variable(const struct source *s, int first, int end)
{
    int i = first;
    if (!is_name(s, i)) return 0;
    for (i = next(s, i); i < end; i = next(s, i)) {
        if (is(s, i, "[")) {
            int inner = next(s, i);
            if (next(s, inner) != mate(s, i)) return 0;
            if (s->tokens[inner].kind != NAME && s->tokens[inner].kind != NUMBER)
                return 0;
            i = mate(s, i);
        } else if (is(s, i, ".") && is_name(s, next(s, i))) {
            i = next(s, i);
        } else {
            return 0;
        }
    }
    return 1;
}

/* A mask without side effects: names, numbers, ~ and -. */
static int is_simple_mask(const struct source *s, int first, int end)
{
    for (int i = next(s, first - 1); i < end; i = next(s, i)) {
        if (s->tokens[i].kind == NUMBER || is(s, i, "~") || is(s, i, "-")) continue;
        if (!is_name(s, i) || is(s, next(s, i), "(")) return 0;
    }
    return 1;
}

/* VALUE += OTHER; VALUE = VALUE + OTHER; VALUE = fmaxf(VALUE, OTHER); and so on. */
static int is_combination(const char *text)
{
    static const char *const forms[] = {
        VALUE "+=" OTHER,
        VALUE "*=" OTHER,
        VALUE "|=" OTHER,
        VALUE "&=" OTHER,
        VALUE "^=" OTHER,
        VALUE "=" VALUE "+" OTHER,
        VALUE "=" OTHER "+" VALUE,
        VALUE "=" VALUE "*" OTHER,
        VALUE "=" OTHER "*" VALUE,
        VALUE "=" VALUE "|" OTHER,
        VALUE "=" VALUE "&" OTHER,
        VALUE "=" VALUE "^" OTHER,
        NULL};
    static const char *const functions[] = {
        "max",    "min",     "fmaxf",   "fminf",    "fmax",     "fmin",      "::max",
        "::min",  "::fmaxf", "::fminf", "std::max", "std::min", "std::fmax", "std::fmin",
        "__hmax", "__hmin",  "__hadd",  "__hmax2",  "__hmin2",  "__hadd2",   NULL};
    if (one_of(text, forms)) return 1;
    if (strncmp(text, VALUE "=", 2) != 0) return 0;
    for (int i = 0; functions[i]; i++) {
        size_t n = strlen(functions[i]);
        const char *rest = text + 2 + n;
        if (strncmp(text + 2, functions[i], n) != 0) continue;
        if (strcmp(rest, "(" VALUE "," OTHER ")") == 0) return 1;
        if (strcmp(rest, "(" OTHER "," VALUE ")") == 0) return 1;
    }
    return 0;
}

/* Sets ends to the ends of the arguments of the call with the bracket at `open`; returns
 * their number (5: more than 4). */
static int split_arguments(const struct source *s, int open, int ends[4])
{
    int count = 0, close = mate(s, open);
    for (int i = open + 1; i <= close; i++) {
        if (i < close && mate(s, i) > i) i = mate(s, i);
        if (i != close && !is(s, i, ",")) continue;
        if (count == 4) return 5;
        ends[count++] = i;
    }
    return count;
}

/* The text with VALUE for the variable, which can have several tokens. */
static char *with_value_marked(const char *text, const char *value)
{
    size_t n = strlen(value);
    struct buffer marked = {0};
    append_text(&marked, "");
    for (const char *p = text; *p;) {
        int starts = p == text || !(isalnum((unsigned char)p[-1]) || strchr("_.", p[-1]));
        int whole = starts && strncmp(p, value, n) == 0 &&
                    !isalnum((unsigned char)p[n]) && !strchr("_.[(", p[n] ? p[n] : ' ');
        append(&marked, whole ? VALUE : p, 1);
        p += whole ? n : 1;
    }
    return marked.text;
}

/* The name that the shuffle at i initializes: float t = __shfl_xor_sync(m, v, o); or -1. */
static int initialized(const struct source *s, int first, int i, int end, int semicolon)
{
    static const char *const types[] = {
        "unsigned int", "long long", "unsigned long", "unsigned long long", NULL};
    int assign = previous(s, i), name = previous(s, assign);
    if (!is(s, assign, "=") || next(s, end - 1) != semicolon || !is_name(s, name))
        return -1;
    if (is(s, first, "const")) first = next(s, first);
    char *type = plain(s, first, name);
    int known = one_of(type, types) || (is_name(s, first) && next(s, first) == name);
    free(type);
    return known ? name : -1;
}

int read_reduction(
    const struct source *s, int first, int semicolon, int past, const char *offset,
    struct reduction *r)
{
    memset(r, 0, sizeof *r);
    first = next(s, first - 1);
    int shuffle = -1, ends[4];
    for (int i = first; i < semicolon; i++) {
        int is_down = is(s, i, "__shfl_down_sync");
        if (!is_down && !is(s, i, "__shfl_xor_sync")) continue;
        if (shuffle >= 0) return 0;
        shuffle = i;
        r->down = is_down;
    }
    int open = shuffle < 0 ? -1 : next(s, shuffle);
    if (!is(s, open, "(") || mate(s, open) < 0) return 0;
    int arguments = split_arguments(s, open, ends), end = mate(s, open) + 1;
    if (arguments < 3 || arguments > 4 || !is_simple_mask(s, open + 1, ends[0])) return 0;
    int other = initialized(s, first, shuffle, end, semicolon);
    r->type = other < 0 ? format("auto") : plain(s, first, other);
    if (other >= 0) {
        first = next(s, semicolon);
        semicolon = find(s, first, past, ";");
        if (semicolon < 0 || is(s, other, offset)) return 0;
    }
    r->end = semicolon, r->variable = first;

    /* The variable: everything before =, += and the like. */
    int variable_end = first;
    while (variable_end < semicolon && !is(s, variable_end, "="))
        variable_end++;
    if (variable_end == semicolon) return 0;
    int before = previous(s, variable_end);
    if (s->tokens[before].kind == MARK && strchr("+*|&^", *s->tokens[before].start) &&
        before == variable_end - 1)
        variable_end = before;
    if (!is_simple_variable(s, first, variable_end)) return 0;
    r->value = plain(s, first, variable_end);
    r->mask = plain(s, open + 1, ends[0]);
    char *second = plain(s, ends[0] + 1, ends[1]),
         *third = plain(s, ends[1] + 1, ends[2]);
    char *width = arguments == 4 ? plain(s, ends[2] + 1, ends[3]) : format("32");
    r->width = constant(s, width);

    /* The statement with marks for the shuffle and the variable. */
    char *name = other < 0 ? NULL : plain(s, other, other + 1);
    char *text = compact(s, first, semicolon, name, OTHER, shuffle, end, OTHER);
    r->combine = with_value_marked(text, r->value);
    int ok = strcmp(second, r->value) == 0 && strcmp(third, offset) == 0 &&
             is_combination(r->combine) && find(s, first, variable_end, offset) < 0 &&
             find(s, open, ends[0], offset) < 0;
    free(second);
    free(third);
    free(width);
    free(name);
    free(text);
    return ok;
}

void free_reduction(struct reduction *r)
{
    free(r->value);
    free(r->mask);
    free(r->combine);
    free(r->type);
}

int are_independent(
    const struct source *s, const struct reduction *r, const int *starts, int count)
{
    for (int i = 0; i < count; i++)
        for (int k = 0; k < count; k++) {
            char *name = plain(s, r[i].variable, r[i].variable + 1);
            int met = i != k && find(s, starts[k], r[k].end, name) >= 0;
            free(name);
            if (met) return 0;
        }
    return 1;
}
