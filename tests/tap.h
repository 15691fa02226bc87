/* tap.h - for test programs in C and CUDA. Every check prints one TAP line.
 *
 *     tap(ok, "what %d", n);         one check
 *     tap_skip("what", "why");       a skipped check
 *     return tap_done();             the exit status: 0 if every check passed
 */
#ifndef TAP_H
#define TAP_H

#include <stdarg.h>
#include <stdio.h>

static int tap_failures;

static inline void tap(int ok, const char *what, ...)
    __attribute__((format(printf, 2, 3), unused));
static inline void tap(int ok, const char *what, ...)
{
    va_list args;
    va_start(args, what);
    printf(ok ? "ok - " : "not ok - ");
    vprintf(what, args);
    printf("\n");
    fflush(stdout);
    va_end(args);
    if (!ok) tap_failures++;
}

static inline void tap_skip(const char *what, const char *why) __attribute__((unused));
static inline void tap_skip(const char *what, const char *why)
{
    printf("ok - %s # SKIP %s\n", what, why);
}

static inline int tap_done(void)
{
    return tap_failures != 0;
}

#endif
