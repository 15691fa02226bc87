/* util.c - fatal errors, memory and formatted text. */
#include "util.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn void fatal(enum exit_code code, const char *format, ...)
{
    char text[2048]; /* one line, whatever bytes a name has */
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    clean_text(text);
    fflush(stdout);
    fprintf(stderr, "grade: %s\n", text);
    exit(code);
}

static void *or_fatal(void *p, size_t bytes)
{
    if (!p) fatal(EXIT_BROKEN, "out of memory (%zu bytes)", bytes);
    return p;
}

void *xalloc(size_t bytes)
{
    return or_fatal(calloc(1, bytes ? bytes : 1), bytes);
}

void *xmalloc(size_t bytes)
{
    return or_fatal(malloc(bytes ? bytes : 1), bytes);
}

char *text_of(const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    char *text = xalloc((size_t)n + 1);
    vsnprintf(text, (size_t)n + 1, format, again);
    va_end(again);
    va_end(args);
    return text;
}

/* --- clean text --------------------------------------------------------------------- */

/* The length of the UTF-8 character at p and its code point; 0: invalid. */
static int decode(const unsigned char *p, size_t bytes, uint32_t *code)
{
    static const uint32_t least[] = {
        0, 0, 0x80, 0x800, 0x10000}; /* no longer than needed */
    int n = *p < 0x80   ? 1
            : *p < 0xC2 ? 0
            : *p < 0xE0 ? 2
            : *p < 0xF0 ? 3
            : *p < 0xF5 ? 4
                        : 0;
    *code = n == 1 ? *p : *p & (0x7Fu >> n);
    if ((size_t)n > bytes) return 0;
    for (int i = 1; i < n; i++) {
        if ((p[i] & 0xC0) != 0x80) return 0;
        *code = *code << 6 | (p[i] & 0x3F);
    }
    return *code < least[n] || *code > 0x10FFFF || (*code >> 11) == 0x1B ? 0 : n;
}

/* Controls, separators of lines, characters without width, turned directions, tags,
 * private use and what is no character. */
static int printable(uint32_t c)
{
    return c >= ' ' && (c < 0x7F || c > 0x9F) && c != 0xAD && c != 0x61C && c != 0x180E &&
           (c < 0x200B || c > 0x200F) && (c < 0x2028 || c > 0x202E) &&
           (c < 0x2060 || c > 0x206F) && c != 0xFEFF && (c < 0xE000 || c > 0xF8FF) &&
           (c < 0xFFF0 || c > 0xFFFC) && (c & 0xFFFE) != 0xFFFE && c < 0xE0000;
}

void clean_text(char *text)
{
    unsigned char *to = (unsigned char *)text, *from = to;
    size_t bytes = strlen(text);
    while (bytes) {
        uint32_t code;
        int n = decode(from, bytes, &code);
        if (n && printable(code))
            memmove(to, from, (size_t)n), to += n;
        else
            *to++ = '.';
        n = n ? n : 1;
        from += n, bytes -= (size_t)n;
    }
    *to = 0;
}

void print_clean(const char *text, size_t bytes, size_t most)
{
    char *copy = xalloc(bytes + 1);
    size_t n = bytes < most ? bytes : most;
    while (n < bytes && n && (text[n] & 0xC0) == 0x80)
        n--; /* not in the middle of a character */
    for (size_t i = 0; i < n; i++)
        copy[i] = text[i] ? text[i] : '.';
    clean_text(copy);
    printf("%s%s", copy, n < bytes ? " …" : "");
    free(copy);
}
