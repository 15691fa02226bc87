/* plain_calls.c - rejects calls of a kernel as if it were a function: kernel(arguments); */
#include "tokens.h"

#include <stdlib.h>

/* The kernel that the __global__ at i declares, or -1. #define KERNEL __global__ void declares
 * none. Preprocessor lines between __global__ and the name are skipped. */
static int kernel_name(const struct source *s, int i)
{
    const int in_directive = s->tokens[i].in_directive;
    for (i = next(s, i);
         i < s->count && !is(s, i, ";") && !is(s, i, "{") && !is(s, i, "__global__");
         i = next(s, i)) {
        int open = next(s, i);
        if (in_directive && !s->tokens[i].in_directive) return -1;
        if (!is_name(s, i) || s->tokens[i].in_directive != in_directive) continue;
        if (is_launch_attribute(s, i) || is(s, i, "__attribute__")) {
            i = mate(s, open);
            if (i < 0) return -1;
        } else if (is(s, open, "(")) {
            return i;
        }
    }
    return -1;
}

/* 1 if name(...); is a whole statement. */
static int is_plain_call(const struct source *s, int i)
{
    int before = previous(s, i), open = next(s, i);
    if (run_of(s, open, '<', 3)) return 0;
    if (is(s, open, "<")) open = next(s, close_angle(s, open));
    if (open <= i || !is(s, open, "(") || mate(s, open) < 0) return 0;
    if (!is(s, next(s, mate(s, open)), ";")) return 0;
    return is(s, before, ";") || is(s, before, "{") || is(s, before, "}") ||
           is(s, before, ")") || is(s, before, "else");
}

/* The kernels of a source. For each place in the index: */
struct kernels {
    struct token_index names;
    char *overloaded; /* by a host function: then calls are left to the compiler */
};

/* The kernel with the name of token i: its first place in the index, or -1. */
static int kernel_of(const struct kernels *k, const struct source *s, int i)
{
    int equal;
    const struct token *t = &s->tokens[i];
    return index_find(&k->names, s, t->start, t->length, &equal);
}

/* A host function: a type before the name, and no __global__ in this declaration. */
static void find_overloads(struct kernels *k, const struct source *s)
{
    int start = -1; /* the token before this declaration, or its __global__ */
    for (int i = 0; i < s->count; i++) {
        int before = previous(s, i);
        if (is(s, i, ";") || is(s, i, "}") || is(s, i, "{") || is(s, i, "__global__"))
            start = i;
        if (!is_name(s, i) || !is(s, next(s, i), "(")) continue;
        if (!(is_name(s, before) || is(s, before, "*"))) continue;
        if (token_in(s, before, "return else do")) continue;
        int kernel = is(s, start, "__global__") ? -1 : kernel_of(k, s, i);
        if (kernel >= 0) k->overloaded[kernel] = 1;
    }
}

void find_plain_calls(struct source *s)
{
    struct kernels k = {0};
    for (int g = 0; g < s->count; g++) {
        int name = is(s, g, "__global__") ? kernel_name(s, g) : -1;
        if (name >= 0) index_add(&k.names, name);
    }
    index_sort(&k.names, s);
    k.overloaded = calloc(1, (size_t)k.names.count + 1);
    if (k.overloaded) find_overloads(&k, s);
    for (int i = 0; i < s->count && k.overloaded && !given_up; i++) {
        int kernel = k.names.count && is_name(s, i) && is_plain_call(s, i)
                         ? kernel_of(&k, s, i)
                         : -1;
        if (kernel < 0 || k.overloaded[kernel] || i <= k.names.tokens[kernel]) continue;
        char *name = text_of(s, i, i + 1);
        error_at(
            s, i,
            "kernel %s is called like a function; launch it with %s<<<grid, block>>>(...)",
            name, name);
        free(name);
    }
    free(k.names.tokens);
    free(k.overloaded);
}
