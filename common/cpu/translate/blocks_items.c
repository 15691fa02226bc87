/* blocks_items.c - reads a kernel as statements between barriers. */
#include "blocks.h"

static int read_item(struct kernel *k, int depth);
static int split_item(struct kernel *k, int first);

static struct item *add_item(struct kernel *k, enum item_kind kind, int first, int depth)
{
    if (k->item_count == MAX_ITEMS) return NULL;
    struct item *item = &k->items[k->item_count++];
    *item = (struct item){.kind = kind, .first = first, .depth = depth, .phase = -1};
    k->effects = 0;
    return item;
}

static int is_barrier(const struct source *s, int i)
{
    return is(s, i, "__syncthreads") || is(s, i, "__syncwarp") ||
           is(s, i, "wbcpu_grid_sync");
}

static int waits(const struct source *s, int i)
{
    return is_barrier(s, i) || is_collective(s, i);
}

int end_of(const struct source *s, int i, int depth)
{
    if (depth == MAX_DEPTH || i >= s->count) return s->count;
    if (is(s, i, "{")) return mate(s, i);
    if (token_in(s, i, "for while if switch")) {
        int end = end_of(s, next(s, mate(s, next(s, i))), depth + 1),
            other = next(s, end);
        int more = is(s, i, "if") && is(s, other, "else");
        return more ? end_of(s, next(s, other), depth + 1) : end;
    }
    return find_outside(s, i, s->count, ";");
}

static int waits_in(const struct source *s, int i, int end)
{
    for (; i >= 0 && i < end; i = next(s, i))
        if (waits(s, i)) return 1;
    return 0;
}

/* 1 if the `if` at i has branches in which threads wait. */
static int is_waiting_if(const struct source *s, int i)
{
    return is(s, i, "if") && is(s, next(s, i), "(") &&
           waits_in(s, mate(s, next(s, i)), end_of(s, i, 0));
}

/* 1 if the `for` or `while` at i has a body in which threads wait. */
static int is_waiting_loop(const struct source *s, int i)
{
    if (!token_in(s, i, "for while")) return 0;
    for (int n = next(s, mate(s, next(s, i))), end = -1; n < s->count; n = next(s, n)) {
        if (waits(s, n)) return 1;
        if (end < 0 && (is(s, n, "{") || is(s, n, "("))) end = mate(s, n);
        if (end < 0 ? is(s, n, ";") : n == end && is(s, n, "}")) return 0;
        if (n == end) end = -1;
    }
    return 0;
}

/* { item... } or item */
static int read_branch(struct kernel *k, int depth)
{
    int visible = k->visible_count, end = mate(k->s, k->at);
    int ok = accept(k, "{") ? read_items(k, end, depth) && accept(k, "}")
                            : read_item(k, depth);
    k->visible_count = visible;
    return ok;
}

/* An item without tokens, at k->at. `of`: of an ELSE or IF_END, its IF */
static int mark(struct kernel *k, enum item_kind kind, int of, int depth)
{
    struct item *item = add_item(k, kind, k->at, depth);
    if (!item) return 0;
    item->end = k->at;
    item->of = of;
    if (kind == IF_END) k->items[of].of = k->item_count - 1;
    return 1;
}

/* for (int d = 1, e = n; d < n; d *= 2, e /= 2): changes nothing but d and e, and only in its
 * last part. */
static int read_counters(struct kernel *k)
{
    int first = k->variable_count;
    if (!read_declaration(k, COUNTER)) return 0;
    int end = k->variable_count;
    for (int n = first; n < end; n++) {
        const struct variable *v = &k->variables[n];
        if (!v->builtin || !v->value || v->indices || v->modified) return 0;
    }
    if (!read_values(k) || !accept(k, ";") || k->effects & CHANGES) return 0;
    int before = k->changes, changed = 0;
    if (!read_values(k) || !accept(k, ")")) return 0;
    for (int n = first; n < end; n++) {
        changed += k->variables[n].modified;
        k->variables[n].modified = 0;
    }
    return changed && k->changes == before + changed;
}

/* (i = n; i > 0; i--) or (i > 0). They may change variables, which find_once checks, but no
 * memory. */
static int read_conditions(struct kernel *k, int parts)
{
    int before = k->changes, changed = 0;
    for (int n = 0; n < k->variable_count; n++)
        changed -= k->variables[n].modified;
    for (; parts; parts--) {
        const char *end = parts > 1 ? ";" : ")";
        if (!is(k->s, k->at, end) && !read_values(k)) return 0;
        if (!accept(k, end)) return 0;
    }
    for (int n = 0; n < k->variable_count; n++)
        changed += k->variables[n].modified;
    return k->changes == before + changed;
}

static int read_barrier_loop(struct kernel *k, struct item *item, int depth)
{
    int visible = k->visible_count;
    k->conditional++;
    int parts = accept(k, "while") ? 1 : 3;
    if ((parts == 3 && !accept(k, "for")) || !accept(k, "(")) return 0;
    int counts = parts == 3 && is_type(k, k->at);
    if (!(counts ? read_counters(k) : read_conditions(k, parts))) return 0;
    k->conditional--;
    item->end = k->at;
    item->effects = k->effects & ~(unsigned)CHANGES;
    if (!read_branch(k, depth + 1)) return 0;
    k->visible_count = visible;
    return mark(k, LOOP_END, 0, depth);
}

/* 1 if threads wait in the braces at i. */
static int is_waiting_block(const struct source *s, int i)
{
    return is(s, i, "{") && waits_in(s, i, mate(s, i));
}

/* A block is a loop without a head, which runs once. */
static int read_waiting_block(struct kernel *k, struct item *item, int depth)
{
    item->kind = LOOP;
    item->first = item->end = k->at;
    return read_branch(k, depth) && mark(k, LOOP_END, 0, depth);
}

static int read_waiting_if(struct kernel *k, struct item *item, int depth)
{
    int calls = k->call_count;
    accept(k, "if");
    item->first = k->at;
    if (!accept(k, "(") || !read_values(k) || !accept(k, ")")) return 0;
    item->end = k->at;
    item->effects = k->effects;
    if (!is_untouched(k->s, item->first, item->end)) return 0;
    if (k->call_count > calls && !split_item(k, calls)) return 0;
    int of = k->item_count - 1;
    if (!read_branch(k, depth + 1)) return 0;
    if (is(k->s, k->at, "else")) {
        if (!mark(k, ELSE, of, depth)) return 0;
        accept(k, "else");
        if (!read_branch(k, depth + 1)) return 0;
    }
    return mark(k, IF_END, of, depth);
}

/* --- warp collectives --------------------------------------------------------------- */

const struct call *call_at(const struct kernel *k, int i)
{
    for (int n = 0; n < k->call_count; n++)
        if (i >= k->calls[n].name && i <= k->calls[n].close) return &k->calls[n];
    return NULL;
}

/* Do the arguments of the calls from `first` on need what the declaration does before? */
static int needs_itself(struct kernel *k, int first)
{
    const struct item *item = &k->items[k->item_count - 1];
    if (item->kind != DECLARATION) return 0;
    for (int n = first; n < k->call_count; n++)
        for (int i = k->calls[n].name; i < k->calls[n].close; i++)
            if (variable_at(k, i) && variable_at(k, i)->item == k->item_count - 1)
                return 1;
    return item->effects & CHANGES;
}

/* The last item has the calls from `first` on: puts their arguments in an item before it. */
static int split_item(struct kernel *k, int first)
{
    int n = k->item_count - 1;
    if (needs_itself(k, first)) return 0;
    struct item *statement = add_item(k, CODE, 0, 0), *arguments = &k->items[n];
    if (!statement || arguments->kind == FOR_BLOCK) return 0;
    arguments->statement = ++k->statements;
    *statement = *arguments;
    arguments->kind = ARGUMENTS;
    arguments->effects &= ~(unsigned)RETURNS;
    for (int m = 0; m < k->variable_count; m++)
        k->variables[m].item += k->variables[m].item == n;
    for (int m = first; m < k->call_count; m++)
        k->calls[m].statement = k->statements, k->calls[m].slot = m - first;
    return k->call_count - first <= MAX_SLOTS;
}

/* 1 if no rule of the translator has changed the tokens. */
int is_untouched(const struct source *s, int first, int end)
{
    for (int i = first; i < end; i++) {
        const struct token *t = &s->tokens[i];
        if (t->in_reduction) continue;
        if (t->before || t->after || (t->text && t->kind != DIRECTIVE)) return 0;
    }
    return 1;
}

static int read_barrier(struct kernel *k)
{
    k->at = next(k->s, k->at);
    return accept(k, "(") && accept(k, ")") && accept(k, ";");
}

/* The last item, which begins at `first`, is a statement like i /= 2; or i++; */
static int is_update(struct kernel *k, int first, int changes_before)
{
    int n = k->item_count - 1;
    while (run_of(k->s, first, '+', 1) || run_of(k->s, first, '-', 1))
        first = next(k->s, first);
    const struct variable *v = variable_at(k, first);
    return v && v->kind == LOCAL && k->changes == changes_before + 1 &&
           is_modified_in(v, n);
}

static int read_item(struct kernel *k, int depth)
{
    const struct source *s = k->s;
    int first = k->at, calls = k->call_count, changes = k->changes, ok;
    if (!accept_unroll(k)) return 0;
    int loop = is_waiting_loop(s, k->at), condition = is_waiting_if(s, k->at);
    enum item_kind kind = loop ? LOOP : condition ? IF : CODE;
    struct item *item = add_item(k, kind, loop ? k->at : first, depth);
    if (!item) return 0;
    if (is_waiting_block(s, k->at)) return read_waiting_block(k, item, depth);
    if (condition) return read_waiting_if(k, item, depth);
    if (loop)
        return read_barrier_loop(k, item, depth) && is_untouched(s, first, item->end);
    int shared = token_in(s, k->at, "__shared__ extern") ||
                 (is(s, k->at, "volatile") && is(s, next(s, k->at), "__shared__"));
    if (shared) {
        item->kind = FOR_BLOCK;
        ok = read_shared(k);
    } else if (is_barrier(s, k->at)) {
        item->kind = BARRIER;
        ok = read_barrier(k);
    } else if (is_type(k, k->at)) {
        item->kind = DECLARATION;
        ok = read_declaration(k, LOCAL);
    } else if (depth == 0 && gives_new_values(k)) {
        item->kind = DECLARATION;
        ok = read_new_values(k);
    } else {
        ok = read_statement(k);
        item->update = is_update(k, first, changes);
    }
    item->end = k->at;
    item->effects = k->effects;
    ok = ok && (item->kind == FOR_BLOCK || is_untouched(s, first, k->at));
    return ok && (k->call_count == calls || split_item(k, calls));
}

int read_items(struct kernel *k, int end, int depth)
{
    while (k->at < end)
        if (is(k->s, k->at, "static_assert")) /* the kernel as it was still has it */
            k->at = next(k->s, end_of(k->s, k->at, 0));
        else if (!read_item(k, depth))
            return 0;
    return k->at == end;
}
