/* blocks_items.c - reads a kernel as statements between barriers. */
#include "blocks.h"

static struct item *add_item(struct kernel *k, enum item_kind kind, int first, int depth)
{
    if (k->item_count == MAX_ITEMS) return NULL;
    struct item *item = &k->items[k->item_count++];
    *item = (struct item){.kind = kind, .first = first, .depth = depth, .phase = -1};
    k->effects = 0;
    return item;
}

/* The body of the `for` at i if it has braces with a barrier between them, or -1 */
static int body_with_barrier(const struct source *s, int i)
{
    int body = next(s, mate(s, next(s, i)));
    if (!is(s, i, "for") || !is(s, body, "{")) return -1;
    for (int n = body; n < mate(s, body); n++)
        if (is(s, n, "__syncthreads")) return body;
    return -1;
}

/* for (int d = 1; d < n; d *= 2): changes nothing but d, and only in its last part. */
static int read_counter(struct kernel *k)
{
    int id = k->variable_count;
    struct variable *v = &k->variables[id];
    if (!accept(k, "(") || !is_type(k, k->at) || !read_declaration(k, COUNTER)) return 0;
    if (k->variable_count != id + 1 || !v->builtin || !v->valued || v->indices) return 0;
    if (!read_values(k) || !accept(k, ";") || k->effects & CHANGES) return 0;
    int before = k->changes;
    if (!read_values(k) || !accept(k, ")")) return 0;
    int ok = k->changes == before + 1 && v->modified;
    v->modified = 0;
    return ok;
}

static int read_barrier_loop(struct kernel *k, struct item *item, int depth)
{
    int visible = k->visible_count;
    if (!accept(k, "for") || !read_counter(k)) return 0;
    item->end = k->at;
    item->effects = k->effects & ~(unsigned)CHANGES;
    int end = mate(k->s, k->at);
    if (!accept(k, "{") || !read_items(k, end, depth + 1)) return 0;
    k->visible_count = visible;
    item = add_item(k, LOOP_END, k->at, depth);
    if (!item || !accept(k, "}")) return 0;
    item->end = k->at;
    return 1;
}

/* 1 if no rule of the translator has changed the tokens. */
static int is_untouched(const struct source *s, int first, int end)
{
    for (int i = first; i < end; i++) {
        const struct token *t = &s->tokens[i];
        if (t->before || t->after || (t->text && t->kind != DIRECTIVE)) return 0;
    }
    return 1;
}

static int read_item(struct kernel *k, int depth)
{
    const struct source *s = k->s;
    int first = k->at, ok;
    if (!accept_unroll(k)) return 0;
    int loop = body_with_barrier(s, k->at) >= 0;
    struct item *item = add_item(k, loop ? LOOP : CODE, loop ? k->at : first, depth);
    if (!item) return 0;
    if (loop)
        return read_barrier_loop(k, item, depth) && is_untouched(s, first, item->end);
    if (token_in(s, k->at, "__shared__ extern")) {
        item->kind = FOR_BLOCK;
        ok = read_shared(k);
    } else if (accept(k, "__syncthreads")) {
        item->kind = BARRIER;
        ok = accept(k, "(") && accept(k, ")") && accept(k, ";");
    } else if (is_type(k, k->at)) {
        item->kind = DECLARATION;
        ok = read_declaration(k, LOCAL);
    } else {
        ok = read_statement(k);
    }
    item->end = k->at;
    item->effects = k->effects;
    return ok && (item->kind == FOR_BLOCK || is_untouched(s, first, k->at));
}

int read_items(struct kernel *k, int end, int depth)
{
    while (k->at < end)
        if (!read_item(k, depth)) return 0;
    return k->at == end;
}
