/* findings.c - the lines that explain a result. */
#include "findings.h"

#include "util.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void say(struct findings *f, const char *format, ...)
{
    char text[600];
    va_list args;
    if (f->count == MAX_FINDINGS) return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    f->line[f->count++] = text_of("%s", text);
    clean_text(
        f->line[f->count - 1]); /* it may have names and messages of the learner's */
}

void findings_free(struct findings *f)
{
    while (f->count)
        free(f->line[--f->count]);
}
