/* blocks_inline.c - writes a __device__ function that waits in place of its call. */
#include "blocks_flat.h"

#include <stdlib.h>
#include <string.h>

/* --- parameters --------------------------------------------------------------------- */

/* type *name, type &name, type name[] */
struct parameter {
    int type, type_end, name, stars, reference, is_const, is_volatile;
};

static struct parameter parameter_at(const struct source *s, int first, int end)
{
    struct parameter p = {.type = first, .type_end = -1, .name = -1};
    for (int i = first; i < end; i = next(s, i)) {
        if (is(s, i, "const") && p.type_end < 0) p.is_const = 1;
        if (is(s, i, "volatile")) p.is_volatile = 1;
        if ((is(s, i, "*") || is(s, i, "&")) && p.type_end < 0) p.type_end = i;
        p.stars += is(s, i, "*");
        p.reference |= is(s, i, "&");
        if (is(s, i, "<") && close_angle(s, i) > 0) i = close_angle(s, i);
        if (is(s, i, "=")) { /* a default value */
            p.name = -1;
            return p;
        }
        if (is(s, i, "[")) {
            if (p.stars || p.reference) p.name = -1; /* of arrays or pointers */
            p.stars = 1;
            return p;
        }
        if (is_name(s, i)) p.name = i;
    }
    if (p.type_end < 0) p.type_end = p.name;
    return p;
}

/* 1 if the argument at i is passed to a function that may take it by reference. */
static int is_referenced(const struct source *s, int i)
{
    int open = i, number = 0;
    for (int p = previous(s, i); p >= 0; p = previous(s, p)) {
        if (mate(s, p) >= 0 && mate(s, p) < p) p = mate(s, p);
        number += is(s, p, ",");
        if (is(s, p, ";") || is(s, p, "{") || is(s, p, "}")) return 0;
        open = p;
        if (is(s, p, "(")) break;
    }
    int name = previous(s, open);
    if (is(s, name, ">") && open_angle(s, name) >= 0)
        name = previous(s, open_angle(s, name));
    if (!is_name(s, name) || token_in(s, name, "if while for switch return")) return 0;
    const struct device_function *d = function_at(s, name);
    if (!d) return !is_pure(s, name) && !is_atomic(s, name) && !is_collective(s, name);
    if (is_overloaded(d)) return 1;
    int p = next(d->s, d->open), close = mate(d->s, d->open);
    for (; p < close && number; p = next(d->s, p))
        number -= is(d->s, p, ",");
    for (; p < close && !is(d->s, p, ","); p = next(d->s, p))
        if (is(d->s, p, "&")) return 1;
    return 0;
}

/* 1 if the function may change its parameter `name`. */
static int is_changed(const struct source *s, int name, int body, int end)
{
    for (int i = next(s, body); i < end; i = next(s, i)) {
        if (!is_name(s, i) || !same_text(s, i, name)) continue;
        int n = next(s, i), p = previous(s, i);
        if ((is(s, n, "=") && !run_of(s, n, '=', 2)) || is(s, n, ".")) return 1;
        if (s->tokens[n].kind == MARK && strchr("+-*/%&|^", *s->tokens[n].start) &&
            (is(s, n + 1, "=") ||
             (run_of(s, n, *s->tokens[n].start, 2) && !is(s, n, "&") && !is(s, n, "|"))))
            return 1;
        if ((run_of(s, n, '<', 2) || run_of(s, n, '>', 2)) && is(s, n + 2, "=")) return 1;
        if (run_of(s, p - 1, '+', 2) || run_of(s, p - 1, '-', 2)) return 1;
        if (is(s, p, "&") && !run_of(s, p - 1, '&', 2)) return 1;
        int argument =
            (is(s, p, "(") || is(s, p, ",")) && (is(s, n, ")") || is(s, n, ","));
        if (argument && is_referenced(s, i)) return 1;
    }
    return 0;
}

int same_type(const struct source *s, int a, int a_end, int b, int b_end)
{
    static const char words[] = "const volatile __restrict__ __restrict struct";
    for (;;) {
        while (a < a_end && token_in(s, a, words))
            a = next(s, a);
        while (b < b_end && token_in(s, b, words))
            b = next(s, b);
        if (a >= a_end || b >= b_end) return a >= a_end && b >= b_end;
        if (!same_text(s, a, b)) return 0;
        a = next(s, a), b = next(s, b);
    }
}

const struct typed *
type_of(struct flat *f, int first, int end, struct scope *c, struct scope **where)
{
    const struct binding *b;
    for (; (b = find_binding(f, c, first)) && !b->is_type; c = b->where) {
        if (next(f->s, first) < end) return NULL;
        first = b->first, end = b->end;
    }
    *where = c;
    return next(f->s, first) >= end && is_name(f->s, first) ? find_typed(f, c, first)
                                                            : NULL;
}

/* Finds the type T of a template's parameter from an argument: `T v`, `T *v`. */
static void deduce(
    struct flat *f, const struct parameter *p, int first, int end, struct scope *c,
    struct scope *in)
{
    const struct source *s = f->s;
    int t = p->type;
    while (token_in(s, t, "const volatile"))
        t = next(s, t);
    if (find_binding(f, in, t)) return;
    struct scope *where;
    const struct typed *v = type_of(f, first, end, c, &where);
    if (!v || v->stars != p->stars) return;
    const struct binding *outer = find_binding(f, where, v->type);
    if (outer && outer->is_type)
        bind(f, in, (struct binding){t, outer->first, outer->end, outer->where, 1, 0});
    else
        bind(f, in, (struct binding){t, v->type, v->type_end, where, 1, 0});
}

/* --- template arguments ------------------------------------------------------------- */

/* Binds template <class T, int N> to <float, 3> at `angle`; the others are deduced. */
static void
bind_template(struct flat *f, int head, int angle, struct scope *c, struct scope *in)
{
    const struct source *s = f->s;
    int close = close_angle(s, head), at = is(s, angle, "<") ? next(s, angle) : -1;
    int last = at < 0 ? -1 : close_angle(s, angle);
    if (close < 0) give_up(f);
    for (int i = next(s, head); i < close && at >= 0 && at < last; i = next(s, i)) {
        int is_type = token_in(s, i, "class typename"), name = i;
        for (; i < close && !is(s, i, ","); i = next(s, i))
            name = i;
        int end = at;
        while (end < last && !is(s, end, ","))
            end = next(s, end);
        bind(f, in, (struct binding){name, at, end, c, is_type, 0});
        at = next(s, end);
    }
}

/* --- the call ----------------------------------------------------------------------- */

/* Is the name at i a parameter of the template that has no argument yet? */
static int is_open_type(struct flat *f, int head, int i, const struct scope *in)
{
    const struct source *s = f->s;
    if (head < 0 || find_binding(f, in, i)) return 0;
    for (int n = next(s, head), close = close_angle(s, head); n < close; n = next(s, n))
        if (token_in(s, n, "class typename") && same_text(s, next(s, n), i)) return 1;
    return 0;
}

/* 1 if the function may change one of its arguments. */
static int has_references(const struct source *s, int open)
{
    int is_const = 0;
    for (int p = next(s, open), close = mate(s, open); p < close; p = next(s, p)) {
        is_const = (is_const || is(s, p, "const")) && !is(s, p, ",");
        if (is(s, p, "&") && !is_const) return 1;
    }
    return 0;
}

/* The argument [first, end) of the parameter: stands in its place, or is its first value. */
static void pass(
    struct flat *f, const struct parameter *p, int first, int end, int changed,
    struct scope *c, struct scope *in)
{
    const struct source *s = f->s;
    struct scope *where;
    const struct typed *v = type_of(f, first, end, c, &where);
    int alone = next(s, first) >= end;
    const struct binding *t = find_binding(f, in, p->type);
    /* Others may change a variable in shared memory while the function runs. */
    int steady =
        v && (!v->shared || v->array) && (!in->changes || (v->array && v->shared));
    int same = v && v->stars == p->stars &&
               (t ? same_type(s, t->first, t->end, v->type, v->type_end)
                  : same_type(s, p->type, p->type_end, v->type, v->type_end));
    if (p->is_volatile && !(same && v->shared)) give_up(f);
    if (p->reference && !p->is_const) {
        /* An element's index must stay the same while the function runs. */
        for (int i = first; i < end; i = next(s, i))
            if (is(s, i, "(") || is(s, i, "=") || run_of(s, i, '+', 2) ||
                run_of(s, i, '-', 2))
                give_up(f);
        if (alone && !same) give_up(f);
        bind(f, in, (struct binding){p->name, first, end, c, 0, 0});
    } else if (!changed && alone && same && steady) {
        bind(f, in, (struct binding){p->name, first, end, c, 0, 0});
    } else {
        if (!changed && !p->stars && !p->is_const) put_words(f, "const ");
        flat_tokens(f, p->type, p->type_end, in);
        put_words(f, " ");
        for (int n = 0; n < p->stars; n++)
            put_words(f, "*");
        put_own_name(f, in, p->name);
        if (in->typed_count < MAX_TYPED)
            in->typed[in->typed_count++] =
                (struct typed){p->name, p->type, p->type_end, p->stars, 0, 0};
        put_words(f, "= (");
        flat_tokens(f, first, end, c);
        put_words(f, ") ;");
    }
}

/* Writes the body: its only `return` is the last statement. */
static void
write_body(struct flat *f, int start, int name, int body, int end, struct scope *in)
{
    const struct source *s = f->s;
    int last = -1;
    for (int i = next(s, body); i < end; i = next(s, i)) {
        if (s->tokens[i].in_directive || (is(s, i, "return") && last >= 0)) give_up(f);
        if (is(s, i, "return")) last = i;
    }
    int stop = last < 0 ? end : last;
    int semicolon = find_outside(s, stop, end, ";");
    if (last >= 0 && next(s, semicolon) != end) give_up(f);
    if (f->failed) return;
    flat_statements(f, next(s, body), stop, in);
    if (last < 0 || is(s, next(s, last), ";")) return;
    in->result_count = 0;
    hoist(f, next(s, last), semicolon, in);
    for (int i = start; i < name; i = next(s, i))
        if (!token_in(
                s, i,
                "static inline __device__ __host__ __forceinline__ "
                "__inline__ __noinline__ const extern"))
            flat_tokens(f, i, i + 1, in), put_words(f, " ");
    put_number(f, "wbcpu_%d_result = (", in->number);
    flat_tokens(f, next(s, last), semicolon, in);
    put_words(f, ") ;");
}

int flat_call(struct flat *f, struct device_function *d, int i, int open, struct scope *c)
{
    int shift = shift_of(f, d);
    const struct source *s = f->s;
    if (c->depth == MAX_INLINED || f->failed || is_overloaded(d) ||
        d->end - d->body > MAX_KERNEL) {
        give_up(f);
        return 0;
    }
    struct scope *in = new_scope(f, c);
    int head = d->head < 0 ? -1 : d->head + shift, name = d->name + shift;
    int start = head < 0 ? d->start + shift : next(s, close_angle(s, head));
    in->changes = has_references(s, d->open + shift);
    if (head >= 0) bind_template(f, head, next(s, i), c, in);
    int p = next(s, d->open + shift), p_close = mate(s, d->open + shift);
    int a = next(s, open), a_close = mate(s, open);
    int line = f->line;
    for (; p < p_close && !f->failed; p = next(s, p), a = next(s, a)) {
        int first = p, begin = a;
        for (; p < p_close && !is(s, p, ","); p = next(s, p))
            if (is(s, p, "<") && close_angle(s, p) > 0) p = close_angle(s, p);
        a = find_outside(s, a, a_close, ",");
        struct parameter x = parameter_at(s, first, p);
        int group = group_of(f, begin, a, c);
        if (x.name < 0 || begin >= a) {
            give_up(f);
        } else if (group >= 0) {
            add_group(f, in, x.name, c->groups[group].lanes);
        } else {
            int t = x.type;
            while (token_in(s, t, "const volatile"))
                t = next(s, t);
            if (is_open_type(f, head, t, in)) deduce(f, &x, begin, a, c, in);
            if (is_open_type(f, head, t, in)) give_up(f);
            pass(
                f, &x, begin, a, is_changed(s, x.name, d->body + shift, d->end + shift),
                c, in);
        }
    }
    if (a < a_close) give_up(f);
    if (d->s != f->s) f->line = s->tokens[i].line;
    if (!f->failed) write_body(f, start, name, d->body + shift, d->end + shift, in);
    f->line = line;
    int is_void = 0, number = in->number;
    for (int n = start; n < name; n = next(s, n))
        is_void |= is(s, n, "void") && !is(s, next(s, n), "*");
    free(in);
    return is_void ? 0 : number;
}
