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

void findings_with(struct findings *f, const char *words)
{
    if (!f->count || !*words) return;
    char *line = text_of("with %s: %s", words, f->line[0]);
    free(f->line[0]);
    f->line[0] = line;
}

void findings_free(struct findings *f)
{
    while (f->count)
        free(f->line[--f->count]);
}

void findings_add(struct findings *to, struct findings *from)
{
    for (int i = 0; i < from->count; i++) {
        if (to->count < MAX_FINDINGS)
            to->line[to->count++] = from->line[i];
        else
            free(from->line[i]);
    }
    from->count = 0;
}
