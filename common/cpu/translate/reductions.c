/* reductions.c - rewrites loops that reduce a value over a warp:
 *
 *     for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffff, v, o);
 * becomes one collective in place of five (include/wbcpu/reduction.h):
 *     v = ::wbcpu::warp_loop<::wbcpu::read_xor, 16, false>(
 *         0xffffffff, v, [](auto &x, auto y) { x += y; });
 *
 * Recognizes the usual loops: xor or down, offsets that halve from a power of two or
 * double from one, a sum, product, minimum, maximum or bit operation, one statement or
 * several in braces, also in two steps:  float t = __shfl_xor_sync(m, v, o); v += t;
 * A loop that differs in any token is left alone.
 */
#include "tokens.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* In compact text these stand for the loop's offset, the variable and the shuffle. */
#define OFFSET "\1"
#define VALUE "\2"
#define OTHER "\3"

/* A longer loop is left alone. A source can nest many loop heads; with these limits the
 * time stays proportional to its size. */
enum { MAX_STATEMENTS = 8, MAX_HEAD = 200, MAX_BODY = 1000 }; /* the last two: tokens */

struct reduction {
    char *value; /* "v", "sum[i]" */
    char *mask;
    char *combine; /* compact: VALUE "+=" OTHER */
    char *type;    /* of the shuffled value, "auto" for that of the variable */
    int down;      /* else xor */
    int width;     /* the fourth argument, by default 32 */
    int variable;  /* its first token */
    int end;       /* its last ';' */
};

/* --- comparing code ----------------------------------------------------------------- */

/* The source text of [first, end) without comments and blanks (except one between two
 * words), with `name` replaced by `mark` and tokens [a, b) by `part`; so that "o > 0" and
 * "o>0" compare equal. */
static char *compact(
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
static char *plain(const struct source *s, int first, int end)
{
    return compact(s, first, end, NULL, NULL, -1, -1, NULL);
}

static int one_of(const char *text, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(text, *list) == 0) return 1;
    return 0;
}

static int find(const struct source *s, int first, int end, const char *text)
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

static void find_constants(const struct source *s)
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

/* 16, 32/2, warpSize/2, WARP>>1, (WARP/2): its value, or -1. */
static int constant(const struct source *s, const char *text)
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

static int is_offset(int n)
{
    return n == 1 || n == 2 || n == 4 || n == 8 || n == 16;
}

/* --- the head of the loop ----------------------------------------------------------- */

struct head {
    char *offset; /* the name of the loop variable */
    int first;    /* the largest offset */
    int rising;
};

/* Fills h from for (open ... close), or returns 0; h->offset is the caller's to free. */
static int read_head(const struct source *s, int open, int close, struct head *h)
{
    static const char *const types[] = {"int", "unsigned", "unsigned int", "auto", NULL};
    static const char *const while_positive[] = {
        OFFSET ">0", OFFSET ">=1", OFFSET "!=0", OFFSET, "0<" OFFSET, OFFSET ">0u", NULL};
    static const char *const halves[] = {
        OFFSET ">>=1", OFFSET "/=2", OFFSET "=" OFFSET "/2", OFFSET "=" OFFSET ">>1",
        NULL};
    static const char *const doubles[] = {OFFSET "<<=1",          OFFSET "*=2",
                                          OFFSET "=" OFFSET "*2", OFFSET "=" OFFSET "<<1",
                                          OFFSET "+=" OFFSET,     NULL};
    int semicolon1 = find(s, open, close, ";"), assign = find(s, open, close, "=");
    if (semicolon1 < 0 || assign < 0 || assign > semicolon1) return 0;
    int semicolon2 = find(s, semicolon1 + 1, close, ";"), name = previous(s, assign);
    if (semicolon2 < 0 || !is_name(s, name)) return 0;
    h->offset = plain(s, name, name + 1);
    char *type = plain(s, open + 1, name), *start = plain(s, assign + 1, semicolon1);
    char *condition =
        compact(s, semicolon1 + 1, semicolon2, h->offset, OFFSET, -1, -1, NULL);
    char *step = compact(s, semicolon2 + 1, close, h->offset, OFFSET, -1, -1, NULL);
    int from = constant(s, start), ok = one_of(type, types);
    if (one_of(condition, while_positive) && one_of(step, halves)) {
        h->first = from;
        h->rising = 0;
    } else if (
        from == 1 && one_of(step, doubles) && strncmp(condition, OFFSET "<", 2) == 0) {
        int inclusive = condition[2] == '=';
        h->first = constant(s, condition + 2 + inclusive);
        if (!inclusive) h->first = h->first % 2 == 0 ? h->first / 2 : -1;
        h->rising = 1;
    } else {
        ok = 0;
    }
    free(type);
    free(start);
    free(condition);
    free(step);
    ok = ok && is_offset(h->first);
    if (!ok) free(h->offset);
    return ok;
}

/* --- the body ----------------------------------------------------------------------- */

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

/* Fills r from the statement [first, semicolon), or that one and the next before `past`, or
 * returns 0. */
static int read_statement(
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

static void free_reduction(struct reduction *r)
{
    free(r->value);
    free(r->mask);
    free(r->combine);
    free(r->type);
}

/* Several statements in a loop are independent if none uses another's variable. */
static int are_independent(
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

/* --- the rewriting ------------------------------------------------------------------ */

/* Replaces the marks by the lambda's parameters. */
static char *with_names(const char *combine)
{
    struct buffer text = {0};
    append_text(&text, "");
    for (; *combine; combine++)
        if (*combine == *VALUE)
            append_text(&text, "wbcpu_x");
        else if (*combine == *OTHER)
            append_text(&text, "wbcpu_y");
        else
            append(&text, combine, 1);
    return text.text;
}

static char *as_operation(const struct reduction *r, const struct head *h)
{
    char *combine = with_names(r->combine);
    char *text = format(
        "%s=::wbcpu::warp_loop<::wbcpu::read_%s,%d,%s>(%s,%s,"
        "[](auto &wbcpu_x,%s wbcpu_y){%s;});",
        r->value, r->down ? "down" : "xor", h->first, h->rising ? "true" : "false",
        r->mask, r->value, r->type, combine);
    free(combine);
    return text;
}

/* Replaces the loop at [loop, end] by its operations. */
static void replace(
    struct source *s, int loop, int end, const struct head *h, const struct reduction *r,
    int count)
{
    struct buffer text = {0};
    append_text(&text, count == 1 ? "" : "{");
    for (int i = 0; i < count; i++) {
        char *one = as_operation(&r[i], h);
        append_text(&text, one);
        free(one);
    }
    append_text(&text, count == 1 ? "" : "}");
    int pragma = previous(s, loop); /* #pragma unroll applies to the loop */
    if (pragma >= 0 && s->tokens[pragma].kind == DIRECTIVE) {
        char *line = plain(s, pragma, pragma + 1);
        if (strstr(line, "unroll")) erase(s, pragma, pragma + 1);
        free(line);
    }
    for (int i = loop; i <= end; i++)
        s->tokens[i].in_reduction = 1;
    s->tokens[loop].before = keep(s, text.text);
    erase(s, loop, end + 1);
}

static void rewrite_loop(struct source *s, int loop)
{
    struct head h;
    struct reduction r[MAX_STATEMENTS];
    int starts[MAX_STATEMENTS], count = 0, ok = 1;
    int open = next(s, loop), close = mate(s, open);
    if (s->tokens[loop].in_directive) return; /* macros are left alone */
    if (!is(s, open, "(") || close < 0 || close - open > MAX_HEAD) return;
    if (!read_head(s, open, close, &h)) return;
    int body = next(s, close), braces = is(s, body, "{");
    int limit = body + MAX_BODY < s->count ? body + MAX_BODY : s->count;
    int end = braces ? mate(s, body) : find(s, body, limit, ";");
    if (end > limit) end = -1;
    int at = braces ? next(s, body) : body, past = braces ? end : end + 1;
    while (ok && end > 0 && at < past) {
        int semicolon = find(s, at, end + 1, ";");
        if (semicolon < 0 || count == MAX_STATEMENTS) {
            ok = 0;
            break;
        }
        starts[count] = at;
        ok = read_statement(s, at, semicolon, past, h.offset, &r[count]);
        /* With a width, xor must not reach outside its segment. */
        ok = ok &&
             (r[count].width == 32 || (!r[count].down && r[count].width >= 2 * h.first));
        at = next(s, r[count].end);
        count++;
    }
    ok = ok && count && are_independent(s, r, starts, count);
    if (ok) replace(s, loop, end, &h, r, count);
    for (int i = 0; i < count; i++)
        free_reduction(&r[i]);
    free(h.offset);
}

void rewrite_reductions(struct source *s)
{
    find_constants(s);
    for (int i = 0; i < s->count; i++)
        if (is(s, i, "for")) rewrite_loop(s, i);
}
