/* blocks_calls.c - reads calls of functions: mathematical ones, atomics, warp collectives. */
#include "blocks.h"

/* In a loop a thread could wait until an atomic function has another result. */
static int is_unused(const struct kernel *k, int name)
{
    return name == k->statement &&
           is(k->s, next(k->s, mate(k->s, next(k->s, name))), ";");
}

/* 1 if the '(' at i is before &a[b], an element of this block's shared memory. */
static int is_own(struct kernel *k, int i)
{
    const struct source *s = k->s;
    int mark = next(s, i), name = next(s, mark), n = next(s, name);
    const struct variable *v = variable_at(k, name);
    while (is(s, n, "["))
        n = next(s, mate(s, n));
    return is(s, mark, "&") && v && v->kind == SHARED && v->builtin && is(s, n, ",");
}

int read_call(struct kernel *k)
{
    const struct source *s = k->s;
    int name = k->at, atomic = is_atomic(s, name), open = next(s, name);
    if (atomic && k->loops && !is_unused(k, name)) return 0;
    k->at = next(s, open);
    k->effects |= CALLS | (atomic ? READS | CHANGES : 0);
    while (!is(s, k->at, ")"))
        if (!read_value(k) || (!accept(k, ",") && !is(s, k->at, ")"))) return 0;
    if (atomic) k->own[name - k->body] = (char)is_own(k, open);
    return accept(k, ")");
}

/* __shfl_xor_sync(mask, value, offset) */
int read_collective(struct kernel *k)
{
    const struct source *s = k->s;
    if (k->conditional || k->call_count == MAX_CALLS) return 0;
    struct call *c = &k->calls[k->call_count++];
    *c = (struct call){.name = k->at, .close = mate(s, next(s, k->at))};
    k->effects |= CALLS | READS | THREAD;
    k->conditional++; /* none in its arguments */
    k->at = next(s, next(s, k->at));
    int ok = read_value(k) && accept(k, ",");
    c->value = k->at;
    ok = ok && read_value(k);
    c->value_end = k->at;
    while (ok && accept(k, ","))
        ok = read_value(k);
    k->conditional--;
    return ok && k->at == c->close && accept(k, ")");
}
