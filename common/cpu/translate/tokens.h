/* tokens.h - a CUDA source as a list of tokens. C++ is not parsed: brackets are matched,
 * and every rule of the translator looks at a few neighbours.
 *
 * Tokens cover the whole text, blanks and comments included. A rule never moves text; it
 * replaces a token (text), or puts something before or after it. Line breaks are kept, so
 * every later compiler message has the student's line number. */
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
    int mate;           /* the other bracket of this pair, or -1 */
    const char *before; /* written in front of the token, or NULL */
    const char *text;   /* written instead of it, or NULL */
    const char *after;
};

struct source {
    const char *path; /* as the compiler shall print it */
    char *text;
    size_t size;
    struct token *tokens;
    int count;
};

/* Reads and cuts a file; 0 if it cannot be read. */
int read_source(struct source *s, const char *path);
void free_source(struct source *s);

/* All of these take any index, also -1 and count, and then find nothing. */
int is(const struct source *s, int i, const char *text);
int is_name(const struct source *s, int i);
int next(const struct source *s, int i); /* past blanks and comments */
int previous(const struct source *s, int i);
/* Is there a run of n adjacent characters c at i? (<<< is three tokens) */
int run_of(const struct source *s, int i, char c, int n);
int mate(const struct source *s, int i); /* -1 if i is no bracket or has no mate */
/* The '<' for the '>' at i, or the '>' for the '<' at i, counting angle brackets; -1. */
int open_angle(const struct source *s, int i);
int close_angle(const struct source *s, int i);

/* Source text of [first, end), comments dropped, each run of blanks one space. */
char *text_of(const struct source *s, int first, int end);
void erase(struct source *s, int first, int end); /* line breaks stay */
char *format(const char *pattern, ...) __attribute__((format(printf, 1, 2)));

/* "path:line: error: ..." with the source line and a caret; counted in errors. */
void error_at(const struct source *s, int i, const char *pattern, ...)
    __attribute__((format(printf, 3, 4)));
extern int errors;

/* The rules, each in its file. */
void rewrite_launches(struct source *s);     /* launches.c */
void rewrite_declarations(struct source *s); /* declarations.c */
void rewrite_reductions(struct source *s);   /* reductions.c */

#endif
