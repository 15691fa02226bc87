/* text.c - builds texts: the inside of tokens.h's struct buffer, and others. */
#include "tokens.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *format(const char *pattern, ...)
{
    char *text;
    va_list args;
    va_start(args, pattern);
    if (vasprintf(&text, pattern, args) < 0) check_alloc(NULL);
    va_end(args);
    return text;
}

char *keep(struct source *s, char *text)
{
    if ((s->kept_count & (s->kept_count - 1)) == 0) { /* full: grow to twice the size */
        size_t room = s->kept_count ? 2 * (size_t)s->kept_count : 1;
        s->kept = check_alloc(realloc(s->kept, room * sizeof *s->kept));
    }
    return s->kept[s->kept_count++] = text;
}

void append(struct buffer *b, const char *text, size_t length)
{
    if (b->length + length + 1 > b->room) {
        b->room = 2 * (b->length + length) + 64;
        b->text = check_alloc(realloc(b->text, b->room));
    }
    memcpy(b->text + b->length, text, length);
    b->text[b->length += length] = 0;
}
void append_text(struct buffer *b, const char *text)
{
    append(b, text, strlen(text));
}

void append_token(struct buffer *b, const struct token *t, const char *instead)
{
    const char *text = instead ? instead : t->text;
    if (t->before) append_text(b, t->before);
    if (text)
        append_text(b, text);
    else
        append(b, t->start, (size_t)t->length);
    if (t->shift && !text) append_text(b, t->shift);
    if (t->after) append_text(b, t->after);
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

char *as_string(const char *text)
{
    struct buffer out = {0};
    append_text(&out, "");
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        char escape[8];
        if (c < ' ' || c == 0x7f)
            snprintf(escape, sizeof escape, "\\%03o", c);
        else
            snprintf(escape, sizeof escape, c == '"' || c == '\\' ? "\\%c" : "%c", c);
        append_text(&out, escape);
    }
    return out.text;
}

void erase(struct source *s, int first, int end)
{
    for (int i = first; i < end; i++) {
        struct token *t = &s->tokens[i];
        if (t->kind == BLANK) continue;
        struct buffer breaks = {0}; /* a comment can contain line breaks */
        for (int k = 0; k < t->length; k++)
            if (t->start[k] == '\n') append_text(&breaks, "\n");
        t->text = breaks.text ? keep(s, breaks.text) : "";
    }
}
