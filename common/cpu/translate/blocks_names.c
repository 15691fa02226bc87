/* blocks_names.c - the next token of a kernel, and what its names mean. */
#include "blocks.h"

#include <string.h>

/* --- the next token ----------------------------------------------------------------- */

int accept(struct kernel *k, const char *text)
{
    if (!is(k->s, k->at, text)) return 0;
    k->at = next(k->s, k->at);
    return 1;
}

int is_mark(const struct kernel *k, const char *marks)
{
    for (int n = 0; marks[n]; n++)
        if (!run_of(k->s, k->at + n, marks[n], 1)) return 0;
    return 1;
}
int accept_marks(struct kernel *k, const char *marks)
{
    if (!is_mark(k, marks)) return 0;
    k->at = next(k->s, k->at + (int)strlen(marks) - 1);
    return 1;
}

/* --- variables ---------------------------------------------------------------------- */

int find_variable(const struct kernel *k, int i)
{
    for (int n = k->visible_count - 1; n >= 0; n--)
        if (same_text(k->s, k->variables[k->visible[n]].name, i)) return k->visible[n];
    return -1;
}

struct variable *variable_at(struct kernel *k, int i)
{
    if (i <= k->body || i >= k->end || k->meaning[i - k->body] <= 0) return NULL;
    return &k->variables[k->meaning[i - k->body] - 1];
}

int add_variable(struct kernel *k, enum variable_kind kind, int name)
{
    if (k->variable_count == MAX_VARIABLES || !is_free(k->s, name)) return 0;
    if (template_parameter(k, name)) return 0;
    struct variable *v = &k->variables[k->variable_count];
    *v = (struct variable){.kind = kind, .name = name, .item = k->item_count - 1};
    /* Phases declare the variables of earlier items side by side. */
    if (kind != INNER && find_variable(k, name) >= 0) return 0;
    k->visible[k->visible_count++] = k->variable_count++;
    return 1;
}

int replace_variable(struct kernel *k, int name)
{
    int old = find_variable(k, name), new = k->variable_count;
    if (old < 0 || new == MAX_VARIABLES) return 0;
    const struct variable *v = &k->variables[old];
    k->variables[new] = (struct variable){
        .kind = LOCAL,
        .name = name,
        .item = k->item_count - 1,
        .type = v->type,
        .type_end = v->type_end,
        .builtin = 1,
        .storable = v->storable,
        .renamed = 1};
    for (int n = 0; n < k->visible_count; n++)
        if (k->visible[n] == old) k->visible[n] = new;
    k->meaning[name - k->body] = (short)(++k->variable_count);
    return 1;
}

int add_global(struct kernel *k, int i)
{
    int n = 0;
    while (n < k->global_count && !same_text(k->s, k->globals[n].name, i))
        n++;
    if (n == MAX_GLOBALS) return -1;
    if (n == k->global_count) k->globals[k->global_count++] = (struct global){i, 0};
    return n;
}
