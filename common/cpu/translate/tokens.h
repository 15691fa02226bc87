/* tokens.h - a CUDA source as a list of tokens. The translator does not parse C++: it
 * matches brackets, and each of its rules looks at a few neighbouring tokens.
 *
 * Tokens cover the whole text, including blanks and comments. A rule never moves text; it
 * replaces a token, or inserts text before or after it. Line breaks are kept, so compiler
 * messages have the line numbers of the source. */
#ifndef TOKENS_H
#define TOKENS_H

#include <stddef.h>

enum kind {
    BLANK,
    COMMENT,
    STRING, /* "...", '.', R"x(...)x" */
    NAME,
    NUMBER,
    MARK,      /* one punctuation character */
    DIRECTIVE, /* a whole #include, #error, #warning or #pragma line */
};

struct token {
    enum kind kind;
    const char *start; /* in the source */
    int length;
    int line;
    int mate;           /* index of the matching bracket, or -1 */
    const char *before; /* written before the token, or NULL */
    const char *text;   /* written in its place, or NULL */
    const char *after;  /* written after it, or NULL */
};

struct source {
    const char *path; /* as printed in messages */
    char *text;
    size_t size;
    struct token *tokens;
    int count;
};

/* Reads and tokenizes a file; returns 0 if it cannot be read. */
int read_source(struct source *s, const char *path);
void free_source(struct source *s);

/* These accept any index; outside [0, count) they find nothing. */
int is(const struct source *s, int i, const char *text);
int is_name(const struct source *s, int i);
int next(const struct source *s, int i); /* skips blanks and comments */
int previous(const struct source *s, int i);
/* 1 if n adjacent characters c start at i (<<< is three tokens). */
int run_of(const struct source *s, int i, char c, int n);
int mate(const struct source *s, int i); /* -1: not a bracket, or unmatched */
/* The '<' that matches the '>' at i, or the '>' that matches the '<' at i, or -1. */
int open_angle(const struct source *s, int i);
int close_angle(const struct source *s, int i);

/* The source text of [first, end) without comments, each run of blanks as one space. */
char *text_of(const struct source *s, int first, int end);
void erase(struct source *s, int first, int end); /* keeps the line breaks */
char *format(const char *pattern, ...) __attribute__((format(printf, 1, 2)));

/* Prints "path:line: error: ..." with the source line and a caret; adds 1 to errors. */
void error_at(const struct source *s, int i, const char *pattern, ...)
    __attribute__((format(printf, 3, 4)));
extern int errors;

/* The rules. */
void rewrite_launches(struct source *s);     /* launches.c */
void rewrite_declarations(struct source *s); /* declarations.c */
void rewrite_reductions(struct source *s);   /* reductions.c */

#endif
