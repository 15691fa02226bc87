/* blocks_flat.c - copies a kernel, with the functions that wait in place of their calls, and
 * with barriers and shuffles in place of the methods of cooperative groups:
 *
 *     __device__ float sum(float v)            cg::thread_block b = cg::this_thread_block();
 *     {                                        float t = 2 * sum(x[0]);
 *         for (int o = 16; o; o /= 2)          cg::sync(b);
 *             v += __shfl_xor_sync(m, v, o);
 *         return v;
 *     }                                   ->   float wbcpu_1_v = (x[0]);
 *                                              for (int wbcpu_1_o = 16; ...
 *                                              float wbcpu_1_result = (wbcpu_1_v);
 *                                              float t = 2 * wbcpu_1_result;
 *                                              __syncthreads();
 *
 * Statements that need lanes in lockstep get a collective, in which all lanes read before
 * one of them writes:
 *
 *     volatile float *v = s;                   float *v = s;
 *     v[t] += v[t + 16];                       v[t] += wbcpu_lockstep_sync(0, v[t + 16]);
 *
 * The copy is appended to the source's tokens while the kernel is read and written
 * (blocks_write.c). A function's variables get new names. A parameter that the function
 * does not change is its argument, if that is a variable of the same type. */
#include "blocks_flat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- tokens of a statement ---------------------------------------------------------- */

static const struct result *result_at(const struct scope *c, int i)
{
    for (int n = 0; n < c->result_count; n++)
        if (c->results[n].call == i) return &c->results[n];
    return NULL;
}

void flat_tokens(struct flat *f, int i, int end, struct scope *c)
{
    const struct source *s = f->s;
    for (int n; i < end && !f->failed; i++) {
        const struct result *r = result_at(c, i);
        if (r) {
            if (r->number) put_number(f, "wbcpu_%d_result", r->number);
            i = r->close;
            continue;
        }
        if (!is_name(s, i) || is_member(s, i)) {
            put(f, i);
            continue;
        }
        if (is(s, i, "volatile") && !is(s, next(s, i), "__shared__") &&
            !is(s, previous(s, i), "__shared__")) {
            f->was_volatile = 1;
            continue;
        }
        if ((n = flat_group(f, i, c)) > i || (n = flat_macro(f, i, c)) > i) {
            i = n - 1;
            continue;
        }
        const struct binding *b = find_binding(f, c, i);
        if (b) {
            int bare = b->is_type || b->as_is || next(s, b->first) >= b->end;
            if (!bare) put_words(f, "(");
            flat_tokens(f, b->first, b->end, b->where);
            if (bare) put_words(f, " ");
            if (!bare) put_words(f, ")");
        } else if (c->number && is_own_name(s, i)) {
            put_own_name(f, c, i);
        } else {
            put(f, i);
        }
    }
}

/* --- statements --------------------------------------------------------------------- */

/* Remembers the types of the variables that [i, end) declares, if it does. */
static void note_types(struct flat *f, int i, int end, struct scope *c)
{
    const struct source *s = f->s;
    int shared = 0, last = -1, first;
    for (; token_in(s, i, "__shared__ extern static volatile const"); i = next(s, i))
        shared |= is(s, i, "__shared__");
    for (first = i; i < end && (is_name(s, i)); i = next(s, i))
        last = i;
    if (last < 0) return;
    int type_end = is(s, i, "*") ? i : last, name = type_end;
    if (type_end == first) return;
    for (int n = first; n < type_end; n = next(s, n))
        if (is(s, n, "__shared__")) shared = 1, type_end = n; /* float __shared__ s[] */
    for (i = name; i < end; i = next(s, i)) {
        int stars = 0;
        for (; is(s, i, "*") || token_in(s, i, "const __restrict__ __restrict");
             i = next(s, i))
            stars += is(s, i, "*");
        int after = next(s, i), array = is(s, after, "[");
        if (!is_name(s, i) || c->typed_count == MAX_TYPED) return;
        if (after < end && !array && !is(s, after, "=") && !is(s, after, ",")) return;
        c->typed[c->typed_count++] =
            (struct typed){i, first, type_end, stars + array, shared, array};
        i = find_outside(s, after, end, ",");
    }
}

/* Moves the tokens from `first` on to the top of the kernel. */
static void move_to_top(struct flat *f, int first)
{
    size_t count = (size_t)(f->count - first), before = (size_t)(first - f->top);
    struct token *moved = check_alloc(malloc(count * sizeof *moved));
    memcpy(moved, f->tokens + first, count * sizeof *moved);
    memmove(f->tokens + f->top + count, f->tokens + f->top, before * sizeof *moved);
    memcpy(f->tokens + f->top, moved, count * sizeof *moved);
    f->top += (int)count;
    free(moved);
}

/* The __shared__ variables of a function belong to the block: they are declared once, at
 * the top of the kernel. Dynamic ones of several functions have the same address. */
static void flat_shared(struct flat *f, int i, int end, struct scope *c)
{
    const struct source *s = f->s;
    int first = f->count, dynamic = 0, id = 0, typed = c->typed_count;
    note_types(f, i, end, c);
    for (int n = i; n < end; n = next(s, n))
        dynamic |= is(s, n, "extern");
    if (typed == c->typed_count || !c->typed[typed].shared) give_up(f);
    if (f->failed) return;
    while (id < f->shared_count && f->shared[id] != i)
        id++;
    for (int n = typed; n < c->typed_count; n++)
        c->typed[n].shared = 1 + id;
    for (int n = i; n < end && id < f->shared_count; n = next(s, n))
        if (is_name(s, n) && find_binding(f, c, n))
            give_up(f); /* another type or size? */
    if (id < f->shared_count) return;
    if (f->shared_count == MAX_SHARED) {
        give_up(f);
        return;
    }
    f->shared[f->shared_count++] = i;
    for (; i <= end; i++)
        if (!is(s, i, "static")) flat_tokens(f, i, i + 1, c);
    if (f->failed) return;
    struct token *last = &f->tokens[f->count - 1], *name = last - 1;
    last->after = NULL; /* the kernel as it was sums the sizes */
    if (dynamic) {
        while (name->kind != NAME)
            name--;
        last->before = keep(
            f->s,
            format(" = (decltype(%.*s))wbcpu_dynamic_shared", name->length, name->start));
    }
    move_to_top(f, first);
}

static int is_shared(const struct source *s, int i)
{
    return token_in(s, i, "__shared__") ||
           (token_in(s, i, "extern static") && is(s, next(s, i), "__shared__")) ||
           (is(s, i, "extern") && is(s, next(s, next(s, i)), "__shared__"));
}

void hoist(struct flat *f, int i, int end, struct scope *c)
{
    const struct source *s = f->s;
    int conditional = 0, depth = 0;
    for (; i < end && !f->failed; i = next(s, i)) {
        if (is(s, i, "(") || is(s, i, "[") || is(s, i, "{")) depth++;
        if (is(s, i, ")") || is(s, i, "]") || is(s, i, "}")) depth--;
        if (is(s, i, "?") || run_of(s, i, '&', 2) || run_of(s, i, '|', 2) ||
            (is(s, i, ",") && !depth))
            conditional = 1;
        if (!is_name(s, i) || is_member(s, i)) continue;
        int reduced = is_group_reduction(f, i, c);
        struct device_function *d = reduced ? NULL : function_at(s, i);
        int open = next(s, i);
        if (d && is(s, open, "<")) open = next(s, close_angle(s, open));
        if (!reduced && (!d || !is(s, open, "(") || never_waits(d))) continue;
        struct result r = {i, reduced ? reduced : mate(s, open), 0};
        if (!reduced) hoist(f, next(s, open), r.close, c);
        if (conditional || c->result_count == MAX_RESULTS) give_up(f);
        if (f->failed) return;
        r.number = reduced ? flat_reduction(f, i, c) : flat_call(f, d, i, open, c);
        c->results[c->result_count++] = r;
        f->changed = 1;
        i = r.close;
    }
}

static int flat_statement(struct flat *f, int i, int end, struct scope *c);

static int flat_body(struct flat *f, int i, int end, struct scope *c)
{
    if (is(f->s, i, "{")) return flat_statement(f, i, end, c);
    put_words(f, "{");
    i = flat_statement(f, i, end, c);
    put_words(f, "}");
    return i;
}

/* for, while, if and switch: their heads call no function that waits, except if's. */
static int flat_control(struct flat *f, int i, int end, struct scope *c)
{
    const struct source *s = f->s;
    int open = next(s, i), is_if = is(s, i, "if");
    if (is(s, open, "constexpr")) open = next(s, open);
    int close = mate(s, open);
    if (!is(s, open, "(") || close < 0) {
        give_up(f);
        return end;
    }
    int before = f->number;
    hoist(f, open + 1, close, c);
    if (!is_if && f->number != before) give_up(f);
    if (is(s, i, "for"))
        note_types(f, next(s, open), find_outside(s, next(s, open), close, ";"), c);
    flat_tokens(f, i, close + 1, c);
    c->result_count = 0;
    i = flat_body(f, next(s, close), end, c);
    if (is_if && is(s, i, "else")) {
        put(f, i);
        put_words(f, " ");
        i = flat_body(f, next(s, i), end, c);
    }
    return i;
}

static int flat_statement(struct flat *f, int i, int end, struct scope *c)
{
    const struct source *s = f->s;
    if (f->failed || i >= end || ++f->depth > MAX_DEPTH) {
        give_up(f);
        return end;
    }
    int after;
    if (is(s, i, "{")) {
        int typed = c->typed_count, close = mate(s, i);
        put(f, i);
        for (int n = next(s, i); n < close && !f->failed;)
            n = flat_statement(f, n, close, c);
        put_words(f, "}");
        c->typed_count = typed;
        after = next(s, close);
    } else if (s->tokens[i].kind == DIRECTIVE) {
        put(f, i);
        after = next(s, i);
    } else if (token_in(s, i, "for while if switch")) {
        after = flat_control(f, i, end, c);
    } else if (is(s, i, "do")) {
        put(f, i);
        after = flat_body(f, next(s, i), end, c);
        int stop = find_outside(s, after, end, ";");
        flat_tokens(f, after, stop + 1, c);
        after = next(s, stop);
    } else {
        int stop = find_outside(s, i, end, ";");
        if (stop >= end) give_up(f);
        after = next(s, stop);
        if (c->number && is_shared(s, i)) {
            flat_shared(f, i, stop, c);
        } else if (!flat_group_declaration(f, i, stop, c)) {
            hoist(f, i, stop, c);
            note_types(f, i, stop, c);
            flat_tokens(f, i, stop + 1, c);
        }
        c->result_count = 0;
    }
    f->depth--;
    return after;
}

void flat_statements(struct flat *f, int i, int end, struct scope *c)
{
    while (i < end && !f->failed)
        i = flat_statement(f, i, end, c);
}

struct scope *new_scope(struct flat *f, struct scope *caller)
{
    struct scope *in = check_alloc(calloc(1, sizeof *in));
    in->number = ++f->number;
    in->depth = caller->depth + 1;
    in->caller = caller;
    return in;
}

/* --- the kernel --------------------------------------------------------------------- */

static long long added; /* tokens, for all kernels of a source and its headers */

int flatten(struct source *s, const struct kernel *k, int i)
{
    enum { MAX_ADDED = 4000000 };
    if (added > MAX_ADDED) return -1;
    static struct token tokens[MAX_FLAT];
    struct flat all = {.s = s, .own_line = s->tokens[i].line, .tokens = tokens, .at = i};
    struct flat *f = &all;
    struct scope *c = check_alloc(calloc(1, sizeof *c));
    int first = k->head >= 0 ? previous(s, k->head) : i, before = s->count, found = -1;
    put_words(f, ";");
    int shift = f->count - first;
    for (int n = first; n <= k->body; n++)
        put(f, n);
    f->top = f->count;
    for (int n = next(s, k->open), close = mate(s, k->open); n < close;) {
        int stop = n;
        while (stop < close && !is(s, stop, ","))
            stop = next(s, stop);
        note_types(f, n, stop, c);
        n = next(s, stop);
    }
    flat_statements(f, next(s, k->body), k->end, c);
    put_words(f, "}");
    shift += s->count;
    if (f->was_volatile && !f->in_lockstep) give_up(f);
    if (!f->failed && f->changed) {
        append_to_source(f, f->tokens, f->count);
        found = i + shift;
    }
    added += s->count - before + f->count;
    if (f->failed) found = -1;
    if (found < 0) s->count = before;
    free(c);
    return found;
}
