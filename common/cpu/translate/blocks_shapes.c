/* blocks_shapes.c - how values differ between the 16 threads of a row.
 *
 *     int t = blockIdx.x * blockDim.x + threadIdx.x;    neighbours, from a multiple of 16
 *     int warp = t / 32, lane = t % 32;                 equal; neighbours
 *     x[warp * n + lane]                                neighbours
 *
 * A row of threads begins at a multiple of 16, and so does a block. */
#include "blocks_write.h"

#include <string.h>

struct reader {
    struct kernel *k;
    int at, end, depth;
    int wraps; /* an unsigned operand of 32 bits differs between threads */
};

static enum shape read_or(struct reader *r);

static int take(struct reader *r, const char *mark)
{
    if (r->at >= r->end || !is(r->k->s, r->at, mark)) return 0;
    r->at = next(r->k->s, r->at);
    return 1;
}

static int is_equal(enum shape a)
{
    return a == EQUAL || a == EQUAL_16S;
}

static int has_word(const struct kernel *k, const struct variable *v, const char *words)
{
    for (int i = v->type; i < v->type_end; i++)
        if (token_in(k->s, i, words)) return 1;
    return 0;
}
static int is_long(const struct kernel *k, const struct variable *v)
{
    return has_word(k, v, "long size_t int64_t");
}
static int is_unsigned(const struct kernel *k, const struct variable *v)
{
    return has_word(k, v, "unsigned") && !is_long(k, v);
}

static enum shape read_index(struct reader *r)
{
    const struct source *s = r->k->s;
    int of_thread = is(s, r->at, "threadIdx"), of_block = is(s, r->at, "blockDim");
    int member = next(s, next(s, r->at));
    r->at = next(s, member);
    if (!is(s, member, "x")) return EQUAL;
    r->wraps |= of_thread;
    return of_thread ? ROW : of_block ? EQUAL_16S : EQUAL;
}

/* A number, a name, an index, (v), (type)v; anything else is ANY. */
static enum shape read_factor(struct reader *r)
{
    const struct source *s = r->k->s;
    int i = r->at;
    if (i >= r->end || r->depth == MAX_DEPTH) return ANY;
    if (is_index(s, i)) return read_index(r);
    r->at = next(s, i);
    if (is(s, i, "(") && is_type(r->k, r->at)) { /* to an integer of 32 or 64 bits */
        int wide = 0;
        for (; r->at < mate(s, i); r->at = next(s, r->at)) {
            if (!token_in(s, r->at, "int unsigned size_t long const")) return ANY;
            wide |= token_in(s, r->at, "size_t long");
        }
        r->at = next(s, r->at);
        enum shape value = read_factor(r);
        return wide && value == NEIGHBOURS && r->wraps ? ANY : value;
    }
    if (is(s, i, "(")) {
        r->depth++;
        enum shape inner = read_or(r);
        r->depth--;
        return take(r, ")") ? inner : ANY;
    }
    const struct variable *v = variable_at(r->k, i);
    if (v && is(s, r->at, "[")) return ANY;
    if (v && !is_equal(v->shape)) r->wraps |= is_unsigned(r->k, v);
    if (v) return v->shape;
    if (is_number(s, i) || template_parameter(r->k, i) == 'N' ||
        is_constant_global(s, i)) {
        int value = value_at(s, i);
        return value > 0 && value % 16 == 0 ? EQUAL_16S : EQUAL;
    }
    return ANY;
}

static enum shape read_product(struct reader *r)
{
    const struct source *s = r->k->s;
    enum shape a = read_factor(r);
    for (;;) {
        int times = take(r, "*"), over = !times && take(r, "/");
        if (!times && !over && !take(r, "%")) return a;
        int value = value_at(s, r->at), is_16s = value > 0 && value % 16 == 0;
        enum shape b = read_factor(r);
        if (is_equal(a) && is_equal(b))
            a = times && (a == EQUAL_16S || b == EQUAL_16S) ? EQUAL_16S : EQUAL;
        else if (a == ROW && is_equal(b) && is_16s && !times)
            a = over ? EQUAL : ROW;
        else
            a = ANY;
    }
}

static enum shape read_sum(struct reader *r)
{
    enum shape a = read_product(r);
    for (int wrapped = 0;;) { /* threadIdx.x - 1 + n, where n may have 64 bits */
        int plus = take(r, "+");
        if (!plus && !take(r, "-")) return a;
        if (wrapped) a = ANY;
        wrapped = !plus && !is_equal(a) && r->wraps;
        enum shape b = read_product(r);
        if (a == ANY || b == ANY || (!is_equal(a) && !is_equal(b)) ||
            (!plus && !is_equal(b)))
            a = ANY;
        else if (is_equal(a) && is_equal(b))
            a = a == EQUAL_16S && b == EQUAL_16S ? EQUAL_16S : EQUAL;
        else
            a = (a == ROW && b == EQUAL_16S) || (a == EQUAL_16S && b == ROW) ? ROW
                                                                             : NEIGHBOURS;
    }
}

/* a & 31, a >> 5 */
static enum shape read_or(struct reader *r)
{
    const struct source *s = r->k->s;
    enum shape a = read_sum(r);
    for (;;) {
        int shift = r->at < r->end && run_of(s, r->at, '>', 2);
        if (shift) r->at = next(s, r->at + 1);
        if (!shift && (run_of(s, r->at, '&', 2) || !take(r, "&"))) return a;
        int value = value_at(s, r->at), alone = next(s, r->at);
        enum shape b = read_sum(r);
        if (is_equal(a) && is_equal(b))
            a = EQUAL;
        else if (a == ROW && r->at == alone && (shift ? value >= 4 : value % 16 == 15))
            a = shift ? EQUAL : ROW;
        else
            a = ANY;
    }
}

static enum shape read_shape(struct kernel *k, int first, int end, int *wraps)
{
    struct reader r = {k, next(k->s, first - 1), end, 0, 0};
    enum shape shape = read_or(&r);
    *wraps = r.wraps;
    return r.at >= end ? shape : ANY;
}
enum shape shape_of(struct kernel *k, int first, int end)
{
    int wraps;
    return read_shape(k, first, end, &wraps);
}

/* 1 if the threads of a row may not have v, v + 1, v + 2, ...: a narrow type may wrap around.
 * So may an unsigned one of 32 bits, except in a ROW, which begins at a multiple of 16.
 * threadIdx.x - 1 wraps around in thread 0: as an int it is -1, but not in 64 bits. */
static int
may_wrap(const struct kernel *k, const struct variable *v, enum shape shape, int wraps)
{
    for (int i = v->type; i < v->type_end; i++)
        if (is_name(k->s, i) &&
            !token_in(k->s, i, "const constexpr int unsigned long size_t int64_t"))
            return 1;
    return shape != ROW && (is_unsigned(k, v) || (wraps && is_long(k, v)));
}

static enum shape shape_of_variable(struct kernel *k, const struct variable *v)
{
    if (v->kind == COUNTER) return EQUAL;
    if (v->kind == PARAMETER) return v->modified ? ANY : EQUAL;
    if (v->kind == LOCAL && v->once && v->modified) return EQUAL;
    if (v->kind != LOCAL || v->modified || v->indices || !v->value) return ANY;
    const struct item *item = &k->items[v->item];
    int for_block = item->kind == FOR_BLOCK;
    if (!for_block && !item->by_row) return ANY;
    int wraps;
    enum shape shape = read_shape(k, v->value, v->value_end, &wraps);
    if (for_block && shape == ANY) return EQUAL;
    return !is_equal(shape) && may_wrap(k, v, shape, wraps) ? ANY : shape;
}

void find_shapes(struct kernel *k)
{
    for (int again = 1; again;) {
        again = 0;
        for (int n = 0; n < k->variable_count; n++) {
            struct variable *v = &k->variables[n];
            v->shape = shape_of_variable(k, v);
            if (v->kind != LOCAL || v->shape != ANY || !k->items[v->item].by_row)
                continue;
            k->items[v->item].by_row = 0;
            again = 1;
        }
    }
}

/* --- phases ------------------------------------------------------------------------- */

/* a[equal][neighbours]: 1 if that is what the threads access. */
static int are_indices_known(struct kernel *k, int first, int end)
{
    const struct source *s = k->s;
    for (int i = first; i < end; i++) {
        if (is(s, i, "-") && is(s, i + 1, ">")) return 0;
        if (!is(s, i, "[")) continue;
        enum shape shape = shape_of(k, i + 1, mate(s, i));
        int last = !is(s, next(s, mate(s, i)), "[");
        if (shape == ANY || (!last && !is_equal(shape))) return 0;
    }
    return 1;
}

/* What the call at i changes by reference: 1 if only numbers of the thread's own. */
static int changes_own_numbers(struct kernel *k, int i, const struct device_function *d)
{
    const struct source *s = k->s;
    int open = next(s, i);
    if (is(s, open, "<")) open = next(s, close_angle(s, open));
    int close = mate(s, open);
    for (int n = 0, at = next(s, open), comma; at < close; n++, at = next(s, comma)) {
        comma = find_outside(s, at, close, ",");
        if (n < 32 && !(d->by_reference >> n & 1)) continue;
        const struct variable *v = variable_at(k, at);
        int own = v && (v->kind == LOCAL || v->kind == INNER) && v->builtin &&
                  !v->indices && !v->stars;
        if (!own || next(s, at) != comma) return 0;
    }
    return 1;
}

int is_parallel(struct kernel *k, int phase)
{
    const struct source *s = k->s;
    for (int n = 0; n < k->item_count; n++) {
        const struct item *item = &k->items[n];
        if (item->phase != phase || item->by_row) continue;
        for (int i = item->first; i < item->end; i++)
            if (is_atomic(s, i)) return 0;
        if (!are_indices_known(k, item->first, item->end)) return 0;
    }
    for (int n = 0; n < k->own_call_count; n++) {
        const struct device_function *d = function_at(k->s, k->own_calls[n]);
        int reads = d->effects & (READS | THREAD) || d->global_count ||
                    !changes_own_numbers(k, k->own_calls[n], d);
        if (reads && is_in_phase(k, k->own_calls[n], phase)) return 0;
    }
    /* Arrays and classes of a thread would be in one place of the stack for all. */
    for (int n = 0; n < k->variable_count; n++) {
        const struct variable *v = &k->variables[n];
        int own = (v->kind == LOCAL || v->kind == INNER) && v->phases >> phase & 1;
        if (own && (v->indices || !(v->builtin || v->stars))) return 0;
        if (own && v->stars && v->shape != EQUAL) return 0;
        if (v->kind == PARAMETER && v->modified && v->phases >> phase & 1) return 0;
    }
    return 1;
}
