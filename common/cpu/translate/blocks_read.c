/* blocks_read.c - reads a kernel, and decides which of its loops and `if`s are the same in
 * all threads, and which variables can be computed again. */
#include "blocks.h"

#include <string.h>

/* Remembers why the kernel is no loop. */
static int refuse(struct kernel *k, const char *why)
{
    k->why = why;
    return 0;
}

/* --- declarations ------------------------------------------------------------------- */

/* 1 if the values in [first, end) of item n are always the same: they come from parameters,
 * indices and variables of that kind. */
static int is_constant(struct kernel *k, int n)
{
    const struct item *item = &k->items[n];
    if (item->effects & (READS | CHANGES | CALLS)) return 0;
    for (int i = item->first; i < item->end; i++) {
        const struct variable *v = variable_at(k, i);
        int meaning = k->meaning[i - k->body];
        if (meaning < 0 && !is_constant_global(k->s, i)) return 0;
        if (!v) continue;
        if (v->modified || v->kind == SHARED) return 0;
        if (v->kind != LOCAL || v->item == n) continue;
        const struct item *made = &k->items[v->item];
        if (made->kind != FOR_BLOCK && !made->again) return 0;
    }
    return 1;
}

int is_fixed(struct kernel *k, int first, int end)
{
    const struct source *s = k->s;
    for (int i = first; i < end; i = next(s, i)) {
        const struct variable *v = variable_at(k, i);
        int meaning = k->meaning[i - k->body];
        if (v) {
            int given = v->kind == PARAMETER && v->builtin && !v->stars;
            int made = v->kind == LOCAL && k->items[v->item].kind == FOR_BLOCK;
            if (v->modified || !(given || made)) return 0;
        } else if (meaning < 0) {
            if (!is_constant_global(s, i)) return 0;
            k->globals[-1 - meaning].constant = 1;
        } else if (is_index(s, i)) {
            if (is(s, i, "threadIdx")) return 0;
            i = next(s, next(s, i));
        } else if (!is_number(s, i) && template_parameter(k, i) != 'N') {
            if (s->tokens[i].kind != MARK || !strchr("+-*/()", *s->tokens[i].start))
                return 0;
        }
    }
    return 1;
}

static int can_repeat(struct kernel *k, int n)
{
    for (int m = 0; m < k->variable_count; m++) {
        const struct variable *v = &k->variables[m];
        if (v->kind == LOCAL && v->item == n &&
            (!v->builtin || v->indices || !v->value || v->modified))
            return 0;
    }
    return is_constant(k, n);
}

static int is_for_block(const struct kernel *k, int n)
{
    for (int m = 0; m < k->variable_count; m++)
        if (k->variables[m].kind == LOCAL && k->variables[m].item == n)
            return k->variables[m].once;
    return 0;
}

/* Says how the IF n is run; 0 if some threads only may come to a barrier. `other`: an item
 * in a loop comes later, too. */
static int find_branches(struct kernel *k, int n)
{
    struct item *item = &k->items[n];
    item->by_thread = item->effects & CHANGES || !is_uniform(k, n);
    if (!item->by_thread) return 1;
    int inside = 1;
    item->must_come = item->depth > 0;
    for (int m = n + 1; m < k->item_count; m++) {
        struct item *other = &k->items[m];
        int of = other->kind == ELSE || other->kind == IF_END ? other->of == n : 0;
        other->by_thread |= of;
        if (of && other->kind == IF_END) inside = 0;
        if (inside && other->kind == BARRIER && !is(k->s, other->first, "__syncwarp"))
            return 0;
        if (!inside)
            item->must_come |= other->kind == BARRIER || other->kind == ARGUMENTS;
    }
    return 1;
}

/* Says which declarations can be repeated; 0 if a loop differs from thread to thread. */
static int find_constants(struct kernel *k)
{
    unsigned before = 0;
    find_once(k);
    int branches = 0; /* around the item, by thread */
    for (int n = 0; n < k->item_count; n++) {
        struct item *item = &k->items[n];
        if (item->kind == LOOP && !is_uniform(k, n))
            return refuse(k, "threads may disagree on a loop with a barrier");
        if (item->kind == IF && !find_branches(k, n))
            return refuse(k, "threads may disagree on an `if` with a barrier");
        if (item->by_thread) branches += (item->kind == IF) - (item->kind == IF_END);
        if (item->kind == DECLARATION) {
            item->again = can_repeat(k, n);
            if (is_for_block(k, n)) item->kind = FOR_BLOCK;
            /* These come before their phase: before a return, too, and in all threads. */
            int late = item->effects & DIVIDES && (before & RETURNS || branches);
            if (item->kind == FOR_BLOCK && late)
                return refuse(k, "some threads may not reach a division");
            item->by_row = item->again && item->kind == DECLARATION && !late;
        }
        int constant = item->again || item->kind == FOR_BLOCK || item->kind == UPDATE ||
                       item->kind == LOOP || (item->kind == IF && !item->by_thread);
        for (int i = item->first; constant && i < item->end; i++)
            if (k->meaning[i - k->body] < 0)
                k->globals[-1 - k->meaning[i - k->body]].constant = 1;
        before |= item->effects;
    }
    return 1;
}

/* --- the whole kernel --------------------------------------------------------------- */

/* Sets k->head to the '<' of the template<...> before the `__global__` at i. Returns 0 if
 * something else than words is before it. */
static int find_template(struct kernel *k, int i)
{
    const struct source *s = k->s;
    i = previous(s, i);
    while (token_in(s, i, "static inline extern void") || is(s, i, ")") ||
           (i >= 0 && s->tokens[i].kind == STRING)) {
        if (is(s, i, ")") && !is_launch_attribute(s, i = previous(s, mate(s, i))))
            return 0;
        i = previous(s, i);
    }
    if (i < 0 || s->tokens[i].in_directive || s->tokens[i].kind == DIRECTIVE) return 1;
    if (is(s, i, ";") || is(s, i, "}") || is(s, i, "{")) return 1;
    k->head = open_angle(s, i);
    return is(s, i, ">") && is(s, previous(s, k->head), "template") &&
           is_known_template(k);
}

/* __global__ void __launch_bounds__(n) name( or name<2>( */
static int find_open(struct kernel *k, int i)
{
    const struct source *s = k->s;
    for (i = next(s, i); is_name(s, i) && !is_macro(s, i); i = next(s, i)) {
        int after = next(s, i), close = is(s, after, "<") ? close_angle(s, after) : -1;
        if (close > 0) after = next(s, close);
        if (s->tokens[i].in_directive || !is(s, after, "(")) continue;
        k->open = after;
        if (!is_launch_attribute(s, i)) return 1;
        i = mate(s, k->open);
        if (i < 0) return 0;
    }
    return 0;
}

/* const type *name, type name, type name[]; of a function also type &name */
static int read_parameter(struct kernel *k, struct device_function *d, unsigned bit)
{
    const struct source *s = k->s;
    int builtin, stars = 0, changed = 0, fixed = 0, first = k->at;
    if (!read_type(k, &builtin)) return 0;
    int named = k->named;
    for (int i = first; i < k->at; i = next(s, i))
        fixed |= is(s, i, "const");
    for (; is(s, k->at, "*") || token_in(s, k->at, "const __restrict__ __restrict");
         k->at = next(s, k->at))
        stars += is(s, k->at, "*");
    if (d && accept(k, "&")) changed = !fixed || stars;
    if (!add_variable(k, PARAMETER, k->at)) return 0;
    struct variable *v = &k->variables[k->variable_count - 1];
    k->at = next(s, k->at);
    if (accept(k, "[")) {
        if (is_number(s, k->at) || template_parameter(k, k->at) == 'N')
            k->at = next(s, k->at);
        if (!accept(k, "]")) return 0;
        stars++;
    }
    v->builtin = builtin, v->stars = stars, v->storable = builtin || named || stars;
    if (d) d->by_reference |= changed ? bit : 0, d->pointers |= stars ? bit : 0;
    return 1;
}

static int read_parameters(struct kernel *k, struct device_function *d)
{
    int close = mate(k->s, k->open);
    unsigned bit = 1;
    k->at = next(k->s, k->open);
    for (; k->at < close; bit <<= 1)
        if (!bit || !read_parameter(k, d, bit) || (!accept(k, ",") && k->at != close))
            return 0;
    return k->at == close;
}

/* A name or an operator with a line break in it is several tokens. */
static int has_splice(const struct kernel *k)
{
    for (int i = k->open; i < k->end; i++) {
        const struct token *t = &k->s->tokens[i];
        if (t->kind == BLANK && memchr(t->start, '\\', (size_t)t->length)) return 1;
    }
    return 0;
}

int find_kernel(struct kernel *k, struct source *s, int i)
{
    *k = (struct kernel){.s = s, .head = -1, .statement = -1};
    if (!find_template(k, i) || !find_open(k, i)) return 0;
    int close = mate(s, k->open);
    k->body = next(s, close), k->end = mate(s, k->body);
    return close >= 0 && is(s, k->body, "{") && k->end >= 0;
}

int read_kernel(struct kernel *k, struct source *s, int i)
{
    if (!find_kernel(k, s, i)) return refuse(k, "its declaration is not understood");
    if (k->end - k->body >= MAX_KERNEL) return refuse(k, "it is too long");
    if (has_splice(k)) return refuse(k, "a backslash continues one of its lines");
    if (!read_parameters(k, NULL)) return 0;
    k->at = next(s, k->body);
    if (!read_items(k, k->end, 0) || !find_constants(k)) return 0;
    find_shapes(k);
    find_strides(k);
    return arrange(k, 1) || arrange(k, 0) ||
           refuse(k, "a variable cannot be kept from one barrier to the next");
}

/* The type that a function returns: words that are no attributes */
static int read_result(struct kernel *k, struct device_function *d)
{
    const struct source *s = k->s;
    int i = d->head < 0 ? d->start : next(s, close_angle(s, d->head));
    for (; i < d->name; i = next(s, i)) {
        if (is(s, i, "*") || is(s, i, "&")) d->returns_pointer = 1;
        if (!is(s, i, "*") && !is_type(k, i) &&
            !token_in(
                s, i,
                "static inline __device__ __host__ __forceinline__ __inline__ "
                "__noinline__ extern"))
            return 0;
    }
    return 1;
}

int read_function(struct kernel *k, struct device_function *d)
{
    *k = (struct kernel){.s = d->s, .head = d->head, .statement = -1, .function = 1};
    k->open = d->open, k->body = d->body, k->end = d->end;
    if (k->end - k->body >= MAX_KERNEL || (d->head >= 0 && !is_known_template(k)))
        return 0;
    if (has_splice(k) || !read_result(k, d) || !read_parameters(k, d)) return 0;
    k->conditional = 1; /* it waits for no other thread */
    k->at = next(k->s, k->body);
    while (k->at < k->end)
        if (!read_statement(k)) return 0;
    return k->at == k->end && is_untouched(k->s, next(k->s, k->body), k->end);
}
