/* tokens.c - splits a source into tokens; functions to examine them. */
#include "tokens.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int errors;

static void *check_alloc(void *p)
{
    if (p) return p;
    fprintf(stderr, "translate: out of memory\n");
    exit(1);
}

/* --- tokenizing --------------------------------------------------------------------- */

static int is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

static const char *end_of_line(const char *p) /* a backslash continues the line */
{
    while (*p && *p != '\n')
        p += p[0] == '\\' && p[1] ? 2 : 1;
    return p;
}

/* The end of a raw string whose R is followed by the quote at p. */
static const char *end_of_raw_string(const char *p)
{
    const char *delimiter = ++p;
    while (*p && *p != '(')
        p++;
    char *closing = format(")%.*s\"", (int)(p - delimiter), delimiter);
    const char *end = strstr(p, closing);
    end = end ? end + strlen(closing) : p + strlen(p);
    free(closing);
    return end;
}

static const char *end_of_string(const char *p)
{
    char quote = *p++;
    while (*p && *p != quote && *p != '\n')
        p += p[0] == '\\' && p[1] ? 2 : 1;
    return *p == quote ? p + 1 : p;
}

static const char *end_of_number(const char *p)
{
    while (is_name_char(*p) || *p == '.' || (*p == '\'' && is_name_char(p[1])) ||
           ((*p == '+' || *p == '-') && strchr("eEpP", p[-1])))
        p++;
    return p;
}

static int is_whole_line_directive(const char *p) /* p: after the # */
{
    static const char *const names[] = {"include", "error", "warning", "pragma"};
    while (*p == ' ' || *p == '\t')
        p++;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(p, names[i], strlen(names[i])) == 0) return 1;
    return 0;
}

/* If a raw string starts at p, with any prefix (u8, L, ...), returns its quote. */
static const char *raw_quote(const char *p)
{
    if (p[0] == 'u' && p[1] == '8')
        p += 2;
    else if (*p == 'L' || *p == 'u' || *p == 'U')
        p++;
    return p[0] == 'R' && p[1] == '"' ? p + 1 : NULL;
}

static const char *end_of_token(const char *p, enum kind *kind)
{
    const char *quote;
    if (isspace((unsigned char)*p) || (*p == '\\' && (p[1] == '\n' || p[1] == '\r'))) {
        *kind = BLANK;
        while (isspace((unsigned char)*p) ||
               (*p == '\\' && (p[1] == '\n' || p[1] == '\r')))
            p++;
        return p;
    }
    if (p[0] == '/' && p[1] == '/') {
        *kind = COMMENT;
        return end_of_line(p);
    }
    if (p[0] == '/' && p[1] == '*') {
        *kind = COMMENT;
        const char *end = strstr(p + 2, "*/");
        return end ? end + 2 : p + strlen(p);
    }
    if (*p == '#' && is_whole_line_directive(p + 1)) {
        *kind = DIRECTIVE;
        return end_of_line(p);
    }
    if ((quote = raw_quote(p))) {
        *kind = STRING;
        return end_of_raw_string(quote);
    }
    if (*p == '"' || *p == '\'') {
        *kind = STRING;
        return end_of_string(p);
    }
    if (isdigit((unsigned char)*p) || (*p == '.' && isdigit((unsigned char)p[1]))) {
        *kind = NUMBER;
        return end_of_number(p);
    }
    if (is_name_char(*p)) {
        *kind = NAME;
        while (is_name_char(*p))
            p++;
        return p;
    }
    *kind = MARK;
    return p + 1;
}

static void tokenize(struct source *s)
{
    int room = 0, line = 1;
    for (const char *p = s->text; *p;) {
        if (s->count == room) {
            room = room ? 2 * room : 4096;
            s->tokens = check_alloc(realloc(s->tokens, (size_t)room * sizeof *s->tokens));
        }
        struct token *t = &s->tokens[s->count++];
        memset(t, 0, sizeof *t);
        const char *end = end_of_token(p, &t->kind);
        t->start = p;
        t->length = (int)(end - p);
        t->line = line;
        t->mate = -1;
        for (; p < end; p++)
            line += *p == '\n';
    }
}

static void match_brackets(struct source *s)
{
    int *open = check_alloc(malloc(sizeof *open * (size_t)(s->count + 1))), depth = 0;
    for (int i = 0; i < s->count; i++) {
        if (s->tokens[i].kind != MARK) continue;
        char c = *s->tokens[i].start;
        if (strchr("([{", c)) {
            open[depth++] = i;
        } else if (strchr(")]}", c) && depth) {
            int o = open[--depth];
            s->tokens[o].mate = i;
            s->tokens[i].mate = o;
        }
    }
    free(open);
}

int read_source(struct source *s, const char *path)
{
    memset(s, 0, sizeof *s);
    FILE *f = fopen(path, "rb");
    if (!f) return 0;
    size_t room = 0, n;
    do {
        s->text = check_alloc(realloc(s->text, (room += 65536) + 1));
        n = fread(s->text + s->size, 1, room - s->size, f);
        s->size += n;
    } while (n);
    int bad = ferror(f);
    fclose(f);
    s->text[s->size] = 0;
    s->path = path;
    if (bad) return 0;
    tokenize(s);
    match_brackets(s);
    return 1;
}

void free_source(struct source *s)
{
    free(s->tokens);
    free(s->text);
}

/* --- examining tokens --------------------------------------------------------------- */

static int inside(const struct source *s, int i)
{
    return i >= 0 && i < s->count;
}

int is(const struct source *s, int i, const char *text)
{
    return inside(s, i) && (size_t)s->tokens[i].length == strlen(text) &&
           memcmp(s->tokens[i].start, text, strlen(text)) == 0;
}
int is_name(const struct source *s, int i)
{
    return inside(s, i) && s->tokens[i].kind == NAME;
}

static int is_space(const struct source *s, int i)
{
    return s->tokens[i].kind == BLANK || s->tokens[i].kind == COMMENT;
}
int next(const struct source *s, int i)
{
    do
        i++;
    while (i < s->count && is_space(s, i));
    return i;
}
int previous(const struct source *s, int i)
{
    do
        i--;
    while (i >= 0 && is_space(s, i));
    return i;
}
int run_of(const struct source *s, int i, char c, int n)
{
    for (int k = i; k < i + n; k++)
        if (!inside(s, k) || s->tokens[k].kind != MARK || *s->tokens[k].start != c)
            return 0;
    return 1;
}
int mate(const struct source *s, int i)
{
    return inside(s, i) ? s->tokens[i].mate : -1;
}

static int
angle(const struct source *s, int i, int step, const char *opening, const char *closing)
{
    int depth = 0;
    for (; inside(s, i); i += step) {
        if (s->tokens[i].kind != MARK) continue;
        if (is(s, i, opening)) depth++;
        if (is(s, i, closing) && --depth == 0) return i;
        if (is(s, i, ";")) return -1;
        int m = s->tokens[i].mate;
        if (m < 0) continue;
        if ((m - i) * step < 0) return -1; /* leaves the enclosing bracket */
        i = m;
    }
    return -1;
}
int open_angle(const struct source *s, int i)
{
    return angle(s, i, -1, ">", "<");
}
int close_angle(const struct source *s, int i)
{
    return angle(s, i, 1, "<", ">");
}

/* --- text --------------------------------------------------------------------------- */

char *format(const char *pattern, ...)
{
    char *text;
    va_list args;
    va_start(args, pattern);
    if (vasprintf(&text, pattern, args) < 0) check_alloc(NULL);
    va_end(args);
    return text;
}

char *text_of(const struct source *s, int first, int end)
{
    size_t room = 1;
    for (int i = first; i < end; i++)
        room += (size_t)s->tokens[i].length;
    char *text = check_alloc(malloc(room)), *p = text;
    for (int i = first; i < end; i++) {
        const struct token *t = &s->tokens[i];
        if (is_space(s, i)) {
            if (p > text && p[-1] != ' ') *p++ = ' ';
        } else {
            memcpy(p, t->start, (size_t)t->length);
            p += t->length;
        }
    }
    while (p > text && p[-1] == ' ')
        p--;
    *p = 0;
    return text;
}

void erase(struct source *s, int first, int end)
{
    for (int i = first; i < end; i++) {
        struct token *t = &s->tokens[i];
        if (t->kind == BLANK) continue; /* a comment can contain line breaks */
        char *breaks = check_alloc(calloc(1, (size_t)t->length + 1)), *p = breaks;
        for (int k = 0; k < t->length; k++)
            if (t->start[k] == '\n') *p++ = '\n';
        t->text = breaks;
    }
}

void error_at(const struct source *s, int i, const char *pattern, ...)
{
    if (i < 0) i = 0;
    if (i >= s->count) i = s->count - 1;
    const struct token *t = &s->tokens[i];
    fprintf(stderr, "%s:%d: error: ", s->path, t->line);
    va_list args;
    va_start(args, pattern);
    vfprintf(stderr, pattern, args);
    va_end(args);
    const char *first = t->start, *end = t->start;
    while (first > s->text && first[-1] != '\n')
        first--;
    while (*end && *end != '\n')
        end++;
    fprintf(stderr, "\n%5d | %.*s\n      | ", t->line, (int)(end - first), first);
    for (const char *p = first; p < t->start; p++)
        fputc(*p == '\t' ? '\t' : ' ', stderr);
    fprintf(stderr, "^\n");
    errors++;
}
