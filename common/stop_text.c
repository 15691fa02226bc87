/* stop_text.c - see stop_text.h. */
#include "stop_text.h"

#include <stdlib.h>
#include <string.h>

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

// Bytes of the longest text that ends at `end`; 0: none does.
static size_t found_at(const stop_text *s, size_t end)
{
    size_t most = 0;
    for (int i = 0; i < s->texts->count; i++) {
        const char *text = s->texts->word[i];
        size_t n = strlen(text);
        if (n <= end && memcmp(s->text + end - n, text, n) == 0) most = larger(most, n);
    }
    return most;
}

// How many of the last bytes of `all` may be the start of a text.
static size_t started(const stop_text *s, size_t all)
{
    size_t most = 0;
    for (int i = 0; i < s->texts->count; i++) {
        const char *text = s->texts->word[i];
        size_t n = strlen(text) - 1;
        if (n > all) n = all;
        while (n > most && memcmp(s->text + all - n, text, n) != 0)
            n--;
        most = larger(most, n);
    }
    return most;
}

const char *stop_text_add(stop_text *s, const char *piece, size_t bytes, size_t *out)
{
    size_t all = s->held + bytes;
    if (s->given) memmove(s->text, s->text + s->given, s->held);
    s->given = *out = 0;
    char *text = realloc(s->text, all + 1);
    if (!text) return NULL;
    s->text = text;
    if (s->found) return text;
    if (bytes) memcpy(text + s->held, piece, bytes);
    for (size_t end = s->held + 1; end <= all; end++) {
        size_t n = found_at(s, end);
        if (!n) continue;
        s->found = true, s->held = 0;
        return *out = end - n, text;
    }
    s->held = started(s, all);
    s->given = *out = all - s->held;
    return text;
}

const char *stop_text_end(stop_text *s, size_t *out)
{
    *out = s->held;
    s->held = 0;
    return s->text ? s->text + s->given : "";
}

void stop_text_free(stop_text *s)
{
    free(s->text);
    *s = (stop_text){.texts = s->texts};
}
