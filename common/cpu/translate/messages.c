/* messages.c - the translator's error messages. They show parts of a source, and the names
 * of its files, on a terminal: control characters are not printed as such. */
#include "tokens.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int errors, given_up;

enum { LONGEST_LINE = 200 }; /* a longer line of the source is not shown */

/* The length of the UTF-8 character at p, at most n bytes; 0: not one, or a control
 * character. */
static int character(const char *p, size_t n)
{
    unsigned char c = (unsigned char)*p;
    if (c < 0x80) return c >= ' ' && c != 0x7f;
    int length = c >= 0xf0 && c < 0xf5 ? 4 : c >= 0xe0 ? 3 : c >= 0xc2 ? 2 : 0;
    if (c >= 0xf5 || (size_t)length > n) return 0;
    for (int i = 1; i < length; i++)
        if (((unsigned char)p[i] & 0xc0) != 0x80) return 0;
    return c == 0xc2 && (unsigned char)p[1] < 0xa0 ? 0 : length; /* U+0080 to U+009F */
}

static void print_clean(const char *text, size_t n)
{
    for (size_t i = 0; i < n;) {
        int length = character(text + i, n - i);
        if (length)
            fwrite(text + i, 1, (size_t)length, stderr);
        else
            fputc(text[i] == '\t' ? '\t' : '?', stderr);
        i += length ? (size_t)length : 1;
    }
}

static void
print_message(const char *path, int line, int column, const char *pattern, va_list args)
{
    char *text;
    if (vasprintf(&text, pattern, args) < 0) exit(1);
    print_clean(path, strlen(path));
    if (line) fprintf(stderr, ":%d", line);
    if (column) fprintf(stderr, ":%d", column);
    fputs(": error: ", stderr);
    print_clean(text, strlen(text));
    fputc('\n', stderr);
    free(text);
    errors++;
}

static void show_line(const struct source *s, const struct token *t)
{
    const char *first = t->start, *end = t->start;
    while (first > s->text && first[-1] != '\n' && t->start - first <= LONGEST_LINE)
        first--;
    while (*end && *end != '\n' && end - first <= LONGEST_LINE)
        end++;
    if (end - first > LONGEST_LINE) return;
    if (end > first && end[-1] == '\r') end--;
    fprintf(stderr, "%5d | ", t->line);
    print_clean(first, (size_t)(end - first));
    fputs("\n      | ", stderr);
    for (const char *p = first; p < t->start; p++)
        if (((unsigned char)*p & 0xc0) != 0x80) fputc(*p == '\t' ? '\t' : ' ', stderr);
    fputs("^\n", stderr);
}

/* Counts bytes from 1, as g++ does. */
static int column_of(const struct source *s, int i)
{
    const char *start = s->tokens[i].start, *p = start;
    while (p > s->text && p[-1] != '\n')
        p--;
    return (int)(start - p) + 1;
}

static void message_at(
    const struct source *s, int i, int with_column, const char *pattern, va_list args)
{
    if (given_up) return;
    if (i >= s->count) i = s->count - 1;
    if (i < 0) i = 0;
    print_message(
        s->path, s->count ? s->tokens[i].line : 1,
        with_column && s->count ? column_of(s, i) : 0, pattern, args);
    if (s->count) show_line(s, &s->tokens[i]);
}

static void check_number(const struct source *s)
{
    if (errors == MAX_ERRORS)
        fail_in(s->path, 0, "more than %d errors: fix the first ones", MAX_ERRORS - 1);
}

void warn_at(const struct source *s, int i, const char *text)
{
    print_clean(s->path, strlen(s->path));
    fprintf(stderr, ":%d: warning: %s\n", s->tokens[i].line, text);
    show_line(s, &s->tokens[i]);
}

void note_at(const struct source *s, int i, const char *text)
{
    print_clean(s->path, strlen(s->path));
    fprintf(stderr, ":%d: ", s->tokens[i].line);
    print_clean(text, strlen(text));
    fputc('\n', stderr);
}

void error_at(const struct source *s, int i, const char *pattern, ...)
{
    va_list args;
    va_start(args, pattern);
    message_at(s, i, 0, pattern, args);
    va_end(args);
    check_number(s);
}

void refuse_at(const struct source *s, int i, const char *pattern, ...)
{
    va_list args;
    va_start(args, pattern);
    message_at(s, i, 1, pattern, args);
    va_end(args);
    check_number(s);
}

void fail_at(const struct source *s, int i, const char *pattern, ...)
{
    va_list args;
    va_start(args, pattern);
    message_at(s, i, 0, pattern, args);
    va_end(args);
    given_up = 1;
}

void fail_in(const char *path, int line, const char *pattern, ...)
{
    va_list args;
    if (given_up) return;
    va_start(args, pattern);
    print_message(path, line, 0, pattern, args);
    va_end(args);
    given_up = 1;
}
