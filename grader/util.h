/* util.h - exit codes, fatal errors, memory and formatted text. */
#ifndef UTIL_H
#define UTIL_H
#include <stddef.h>

enum exit_code {
    EXIT_FULL = 0,
    EXIT_LESS = 1,
    EXIT_NOT_BUILT = 2, /* also: a wrong command line */
    EXIT_CRASHED = 3,
    EXIT_TIMED_OUT = 4,
    EXIT_BROKEN = 5, /* the exercise is at fault, not the learner's code */
};

/* Prints one line to stderr, then calls exit(code). */
_Noreturn void fatal(enum exit_code code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void *xalloc(size_t bytes);  /* zeroed; fatal when out of memory */
void *xmalloc(size_t bytes); /* the same, but not zeroed */
/* A new string, formatted as by printf. */
char *text_of(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Makes text of the learner's fit for the report, in place: control characters (also
 * those of Unicode that hide or turn around text) and invalid UTF-8 become dots. */
void clean_text(char *text);
/* Prints at most `most` bytes of text cleanly, and whether there are more. */
void print_clean(const char *text, size_t bytes, size_t most);

#endif
