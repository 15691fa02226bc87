/* blocks_read.c - reads a kernel, and decides which of its variables are equal in all
 * threads, which can be computed again, and which are kept from phase to phase. */
#include "blocks.h"

#include <string.h>

/* --- declarations ------------------------------------------------------------------- */

/* 1 if the values in [first, end) of item n are always the same: they come from parameters,
 * indices and variables of that kind. uniform: and in all threads of a block. */
static int is_constant(struct kernel *k, int n, int uniform)
{
    const struct item *item = &k->items[n];
    if (item->effects & (READS | CHANGES | CALLS | (uniform ? THREAD : 0))) return 0;
    for (int i = item->first; i < item->end; i++) {
        const struct variable *v = variable_at(k, i);
        int meaning = k->meaning[i - k->body];
        if (meaning < 0 && !is_constant_global(k->s, i)) return 0;
        if (!v) continue;
        if (v->modified || v->kind == SHARED) return 0;
        if (v->kind != LOCAL || v->item == n) continue;
        const struct item *made = &k->items[v->item];
        if (made->kind != FOR_BLOCK && (uniform || !made->again)) return 0;
    }
    return 1;
}

static int can_repeat(struct kernel *k, int n)
{
    for (int m = 0; m < k->variable_count; m++) {
        const struct variable *v = &k->variables[m];
        if (v->kind == LOCAL && v->item == n &&
            (!v->builtin || v->indices || !v->valued || v->modified))
            return 0;
    }
    return is_constant(k, n, 0);
}

/* Says which declarations can be repeated; 0 if a loop differs from thread to thread. */
static int find_constants(struct kernel *k)
{
    unsigned before = 0;
    for (int n = 0; n < k->item_count; n++) {
        struct item *item = &k->items[n];
        if (item->kind == LOOP && !is_constant(k, n, 1)) return 0;
        if (item->kind == DECLARATION) {
            item->again = can_repeat(k, n);
            if (item->again && is_constant(k, n, 1)) item->kind = FOR_BLOCK;
            /* It comes before its phase: before a return, too. */
            if (item->kind == FOR_BLOCK && item->effects & DIVIDES && before & RETURNS)
                return 0;
        }
        int constant = item->again || item->kind == LOOP;
        for (int i = item->first; constant && i < item->end; i++)
            if (k->meaning[i - k->body] < 0)
                k->globals[-1 - k->meaning[i - k->body]].constant = 1;
        before |= item->effects;
    }
    return 1;
}

/* --- phases ------------------------------------------------------------------------- */

static int number_phases(struct kernel *k)
{
    int running = 0;
    for (int n = 0; n < k->item_count; n++) {
        struct item *item = &k->items[n];
        if (item->kind == FOR_BLOCK) continue;
        int runs = item->kind == CODE || item->kind == DECLARATION;
        if (runs && !running) k->phases++;
        if (k->phases > MAX_PHASES) return 0;
        if (runs) item->phase = k->phases - 1;
        if (runs && item->depth) k->repeated |= 1ull << item->phase;
        running = runs;
    }
    return k->phases > 0;
}

/* The phases in which item n is computed: its own, and those that repeat it */
static unsigned long long phases_of(const struct kernel *k, int n)
{
    const struct item *item = &k->items[n];
    unsigned long long phases = item->phase < 0 ? 0 : 1ull << item->phase;
    for (int m = 0; item->again && m < k->variable_count; m++)
        if (k->variables[m].kind == LOCAL && k->variables[m].item == n)
            phases |= k->variables[m].phases;
    return phases;
}

/* Finds the phases in which each variable is used. What repeats an item uses that item's
 * variables: from the last item to the first. */
static void find_phases(struct kernel *k)
{
    for (int n = 0; n < k->variable_count; n++)
        if (k->variables[n].kind == LOCAL)
            k->variables[n].phases = phases_of(k, k->variables[n].item);
    for (int n = k->item_count - 1; n >= 0; n--) {
        const struct item *item = &k->items[n];
        for (int i = item->first; item->kind != FOR_BLOCK && i < item->end; i++)
            if (variable_at(k, i)) variable_at(k, i)->phases |= phases_of(k, n);
    }
}

/* Finds the variables that are kept between phases; 0 if one cannot be. */
static int find_kept(struct kernel *k)
{
    for (int n = 0; n < k->variable_count; n++) {
        struct variable *v = &k->variables[n];
        int several = (v->phases & (v->phases - 1)) != 0;
        /* Each thread changes its own copy, in one phase that runs once. */
        if (v->kind == PARAMETER && v->modified && (several || v->phases & k->repeated))
            return 0;
        if (v->kind != LOCAL || k->items[v->item].kind != DECLARATION) continue;
        v->kept = several && !k->items[v->item].again;
        if (v->kept && !v->storable) return 0;
    }
    return 1;
}

/* A thread may exit in the last phase, unless that is in a loop. */
static int exits_late(const struct kernel *k)
{
    for (int n = 0; n < k->item_count; n++) {
        const struct item *item = &k->items[n];
        if (item->effects & RETURNS && (item->phase != k->phases - 1 || item->depth))
            return 0;
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
    while (token_in(s, i, "static inline extern void") ||
           (i >= 0 && s->tokens[i].kind == STRING))
        i = previous(s, i);
    if (i < 0 || s->tokens[i].in_directive || s->tokens[i].kind == DIRECTIVE) return 1;
    if (is(s, i, ";") || is(s, i, "}") || is(s, i, "{")) return 1;
    k->head = open_angle(s, i);
    return is(s, i, ">") && is(s, previous(s, k->head), "template") &&
           is_known_template(k);
}

/* __global__ void __launch_bounds__(n) name( */
static int find_open(struct kernel *k, int i)
{
    const struct source *s = k->s;
    for (i = next(s, i); is_name(s, i) && !is_macro(s, i); i = next(s, i)) {
        if (s->tokens[i].in_directive || !is(s, next(s, i), "(")) continue;
        k->open = next(s, i);
        if (!is(s, i, "__launch_bounds__")) return 1;
        i = mate(s, k->open);
        if (i < 0) return 0;
    }
    return 0;
}

/* const type *name, type name */
static int read_parameters(struct kernel *k)
{
    const struct source *s = k->s;
    int close = mate(s, k->open), builtin;
    k->at = next(s, k->open);
    while (k->at < close) {
        if (!read_type(k, &builtin)) return 0;
        while (is(s, k->at, "*") || token_in(s, k->at, "const __restrict__ __restrict"))
            k->at = next(s, k->at);
        if (!add_variable(k, PARAMETER, k->at)) return 0;
        k->at = next(s, k->at);
        if (!accept(k, ",") && k->at != close) return 0;
    }
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

int read_kernel(struct kernel *k, struct source *s, int i)
{
    *k = (struct kernel){.s = s, .head = -1, .statement = -1};
    if (!find_template(k, i) || !find_open(k, i)) return 0;
    int close = mate(s, k->open);
    k->body = next(s, close), k->end = mate(s, k->body);
    if (close < 0 || !is(s, k->body, "{") || k->end < 0) return 0;
    if (k->end - k->body >= MAX_KERNEL || has_splice(k) || !read_parameters(k)) return 0;
    k->at = next(s, k->body);
    return read_items(k, k->end, 0) && find_constants(k) && number_phases(k) &&
           exits_late(k) && (find_phases(k), find_kept(k));
}
