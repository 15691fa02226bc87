/* known.c - what is known of each name, in a hash table. */
#include "outline.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct name **table;
static size_t slots, names;

static size_t hash(const char *text, int length)
{
    uint64_t h = (uintptr_t)&table; /* differs from run to run: no source can aim at it */
    for (int i = 0; i < length; i++)
        h = (h ^ (unsigned char)text[i]) * 0x9E3779B97F4A7C15u, h ^= h >> 29;
    return (size_t)h;
}

static void *room(size_t n, size_t size)
{
    return check_alloc(calloc(n, size));
}

/* The slot of a name: its own, or the empty one where it belongs. */
static struct name **slot(const char *text, int length)
{
    size_t i = hash(text, length) & (slots - 1);
    while (table[i] && (table[i]->length != length ||
                        memcmp(table[i]->text, text, (size_t)length) != 0))
        i = (i + 1) & (slots - 1);
    return &table[i];
}

static void grow(void)
{
    struct name **old = table;
    size_t before = slots;
    slots = slots ? 2 * slots : 1024;
    table = room(slots, sizeof *table);
    for (size_t i = 0; i < before; i++)
        if (old[i]) *slot(old[i]->text, old[i]->length) = old[i];
    free(old);
}

struct name *look_up(const char *text, int length, int add)
{
    if (2 * names >= slots) grow();
    struct name **found = slot(text, length);
    if (*found || !add) return *found;
    struct name *n = room(1, sizeof *n);
    n->text = format("%.*s", length, text);
    n->length = length;
    names++;
    return *found = n;
}

int may_be_macro(const struct source *s, int i)
{
    const struct token *t = &s->tokens[i];
    const struct name *n = look_up(t->start, t->length, 0);
    if (n) return (n->flags & MACRO) != 0;
    for (int k = 0; k < t->length; k++)
        if (t->start[k] >= 'a' && t->start[k] <= 'z') return 0;
    return 1; /* ALL_CAPITALS, from a header that was not read */
}

struct name *name_at(const struct outline *o, int i, int add)
{
    const struct token *t = &o->s->tokens[o->token[i]];
    return look_up(t->start, t->length, add);
}

int in_list(const struct outline *o, int i, const char *list)
{
    return i >= 0 && i < o->count && token_in(o->s, o->token[i], list);
}

/* "x " for a variable of host code, "+x " for one in global memory, "=x " for one in
 * managed memory. The compiled program keeps the list, for common/cpu/check/variables.cpp.
 */
void list_variables(struct source *s)
{
    struct buffer list = {0};
    for (int i = 0; i < s->count; i++) {
        const struct token *t = &s->tokens[i];
        struct name *n = is_name(s, i) ? look_up(t->start, t->length, 0) : NULL;
        if (!n || n->listed) continue;
        if (n->flags == (UNSURE | DEVICE_VARIABLE))
            append_text(&list, "+");
        else if (n->flags == (UNSURE | DEVICE_VARIABLE | MANAGED_VARIABLE))
            append_text(&list, "=");
        else if (n->flags != HOST_VARIABLE && n->flags != HOST_ARRAY)
            continue;
        n->listed = 1;
        append(&list, t->start, (size_t)t->length);
        append_text(&list, " ");
    }
    if (list.length) {
        const char **after = &s->tokens[s->count - 1].after;
        *after = keep(
            s, format(
                   "%s\nstatic const char wbcpu_variables[] __attribute__"
                   "((used, section(\"wbcpu_listed\"))) = \"%s\";\n",
                   *after ? *after : "", list.text));
    }
    free(list.text);
}
