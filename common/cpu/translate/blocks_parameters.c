/* blocks_parameters.c - the parameters of a function and of its template, for
 * blocks_inline.c: what they are, what the function may change, and their types. */
#include "blocks_flat.h"

#include <string.h>

/* --- parameters --------------------------------------------------------------------- */

struct parameter parameter_at(const struct source *s, int first, int end)
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

int is_changed(const struct source *s, int name, int body, int end)
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

int has_references(const struct source *s, int open)
{
    int is_const = 0;
    for (int p = next(s, open), close = mate(s, open); p < close; p = next(s, p)) {
        is_const = (is_const || is(s, p, "const")) && !is(s, p, ",");
        if (is(s, p, "&") && !is_const) return 1;
    }
    return 0;
}

/* --- types -------------------------------------------------------------------------- */

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

/* --- template arguments ------------------------------------------------------------- */

void bind_template(struct flat *f, int head, int angle, struct scope *c, struct scope *in)
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

int is_open_type(struct flat *f, int head, int i, const struct scope *in)
{
    const struct source *s = f->s;
    if (head < 0 || find_binding(f, in, i)) return 0;
    for (int n = next(s, head), close = close_angle(s, head); n < close; n = next(s, n))
        if (token_in(s, n, "class typename") && same_text(s, next(s, n), i)) return 1;
    return 0;
}

void deduce(
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
