/* blocks_inline.c - writes a __device__ function that waits in place of its call: its
 * parameters with their arguments as values, its body, and its result. */
#include "blocks_flat.h"

#include <stdlib.h>

/* --- arguments ---------------------------------------------------------------------- */

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

/* --- the function ------------------------------------------------------------------- */

/* A function that is called: tokens of f->s, where those of a header are copied to */
struct callee {
    int head;        /* the '<' of template <...>, or -1 */
    int start, name; /* the type of its result ends where its name begins */
    int open;        /* the '(' of its parameters */
    int body, end;   /* its braces */
};

static struct callee
callee_of(const struct flat *f, const struct device_function *d, int shift)
{
    struct callee e = {-1,
                       d->start + shift,
                       d->name + shift,
                       d->open + shift,
                       d->body + shift,
                       d->end + shift};
    if (d->head < 0) return e;
    e.head = d->head + shift;
    e.start = next(f->s, close_angle(f->s, e.head));
    return e;
}

/* Passes the argument [first, end) to the parameter [p, p_end). */
static void pass_argument(
    struct flat *f, const struct callee *e, int p, int p_end, int first, int end,
    struct scope *c, struct scope *in)
{
    const struct source *s = f->s;
    struct parameter x = parameter_at(s, p, p_end);
    int group = group_of(f, first, end, c), type = x.type;
    if (x.name < 0 || first >= end) {
        give_up(f);
        return;
    }
    if (group >= 0) {
        add_group(f, in, x.name, c->groups[group].lanes);
        return;
    }
    while (token_in(s, type, "const volatile"))
        type = next(s, type);
    if (is_open_type(f, e->head, type, in)) deduce(f, &x, first, end, c, in);
    if (is_open_type(f, e->head, type, in)) give_up(f);
    pass(f, &x, first, end, is_changed(s, x.name, e->body, e->end), c, in);
}

/* Passes the arguments of the call that begin at `open`. */
static void pass_arguments(
    struct flat *f, const struct callee *e, int open, struct scope *c, struct scope *in)
{
    const struct source *s = f->s;
    int p = next(s, e->open), p_close = mate(s, e->open);
    int a = next(s, open), a_close = mate(s, open);
    for (; p < p_close && !f->failed; p = next(s, p), a = next(s, a)) {
        int first = p, begin = a;
        for (; p < p_close && !is(s, p, ","); p = next(s, p))
            if (is(s, p, "<") && close_angle(s, p) > 0) p = close_angle(s, p);
        a = find_outside(s, a, a_close, ",");
        pass_argument(f, e, first, p, begin, a, c, in);
    }
    if (a < a_close) give_up(f);
}

/* Writes the body: its only `return` is the last statement. */
static void write_body(struct flat *f, const struct callee *e, struct scope *in)
{
    const struct source *s = f->s;
    int last = -1, end = e->end;
    for (int i = next(s, e->body); i < end; i = next(s, i)) {
        if (s->tokens[i].in_directive || (is(s, i, "return") && last >= 0)) give_up(f);
        if (is(s, i, "return")) last = i;
    }
    int stop = last < 0 ? end : last;
    int semicolon = find_outside(s, stop, end, ";");
    if (last >= 0 && next(s, semicolon) != end) give_up(f);
    if (f->failed) return;
    flat_statements(f, next(s, e->body), stop, in);
    if (last < 0 || is(s, next(s, last), ";")) return;
    in->result_count = 0;
    hoist(f, next(s, last), semicolon, in);
    for (int i = e->start; i < e->name; i = next(s, i))
        if (!token_in(
                s, i,
                "static inline __device__ __host__ __forceinline__ "
                "__inline__ __noinline__ const extern"))
            flat_tokens(f, i, i + 1, in), put_words(f, " ");
    put_number(f, "wbcpu_%d_result = (", in->number);
    flat_tokens(f, next(s, last), semicolon, in);
    put_words(f, ") ;");
}

static int is_void(const struct source *s, const struct callee *e)
{
    for (int i = e->start; i < e->name; i = next(s, i))
        if (is(s, i, "void") && !is(s, next(s, i), "*")) return 1;
    return 0;
}

int flat_call(struct flat *f, struct device_function *d, int i, int open, struct scope *c)
{
    int shift = shift_of(f, d), line = f->line;
    if (c->depth == MAX_INLINED || f->failed || is_overloaded(d) ||
        d->end - d->body > MAX_KERNEL) {
        give_up(f);
        return 0;
    }
    struct callee e = callee_of(f, d, shift);
    struct scope *in = new_scope(f, c);
    in->changes = has_references(f->s, e.open);
    if (e.head >= 0) bind_template(f, e.head, next(f->s, i), c, in);
    pass_arguments(f, &e, open, c, in);
    if (d->s != f->s) f->line = f->s->tokens[i].line;
    if (!f->failed) write_body(f, &e, in);
    f->line = line;
    int number = is_void(f->s, &e) ? 0 : in->number;
    free(in);
    return number;
}
