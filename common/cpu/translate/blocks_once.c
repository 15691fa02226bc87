/* blocks_once.c - which variables are equal in all threads of a block, and so exist once:
 *
 *     int i = blockDim.x / 2;           FOR_BLOCK
 *     while (i != 0) {                  LOOP
 *         if (t < i) s[t] += s[t + i];
 *         __syncthreads();
 *         i /= 2;                       UPDATE: of i, once for the block
 *     }
 */
#include "blocks.h"

/* 1 if the item's values are equal in all threads that reach it. */
int is_uniform(struct kernel *k, int n)
{
    const struct item *item = &k->items[n];
    if (item->effects & (READS | CALLS | THREAD)) return 0;
    for (int i = item->first; i < item->end; i++) {
        const struct variable *v = variable_at(k, i);
        if (k->meaning[i - k->body] < 0 && !is_constant_global(k->s, i)) return 0;
        if (v && (v->kind == LOCAL ? !v->once : v->modified || v->kind == SHARED))
            return 0;
    }
    return 1;
}

/* 1 if threads may disagree on an `if` around item n. */
static int is_in_branch(struct kernel *k, int n)
{
    for (int m = 0; m < n; m++) {
        const struct item *item = &k->items[m];
        int differs = item->effects & CHANGES || !is_uniform(k, m);
        if (item->kind == IF && item->of > n && differs) return 1;
    }
    return 0;
}

/* An UPDATE ends a phase. That pays only if the variable controls a loop with a barrier. */
static int drives_loop(struct kernel *k, const struct variable *v)
{
    for (int n = 0; n < k->item_count; n++)
        for (int i = k->items[n].first; k->items[n].kind == LOOP && i < k->items[n].end;
             i++)
            if (variable_at(k, i) == v) return 1;
    return 0;
}

/* 1 if the variables that item n declares can exist once for the block: they begin equal in
 * all threads, and each change is the same in all threads. */
static int is_once(struct kernel *k, int n)
{
    const struct item *made = &k->items[n];
    if (made->kind != DECLARATION || made->effects & CHANGES || !is_uniform(k, n))
        return 0;
    for (int m = 0; m < k->variable_count; m++) {
        const struct variable *v = &k->variables[m];
        if (v->kind != LOCAL || v->item != n) continue;
        if (!v->builtin || v->indices || (!v->value && !v->modified)) return 0;
        if (v->modified && (is_in_branch(k, n) || !drives_loop(k, v))) return 0;
        for (int other = 0; other < k->item_count; other++) {
            const struct item *item = &k->items[other];
            if (!is_modified_in(v, other)) continue;
            if (item->kind != LOOP && !item->update) return 0;
            if (!is_uniform(k, other) || is_in_branch(k, other)) return 0;
        }
    }
    return 1;
}

void find_once(struct kernel *k)
{
    for (int n = 0; n < k->variable_count; n++)
        k->variables[n].once = k->variables[n].kind == LOCAL;
    for (int again = 1; again;) {
        again = 0;
        for (int n = 0; n < k->variable_count; n++) {
            struct variable *v = &k->variables[n];
            if (!v->once || is_once(k, v->item)) continue;
            v->once = 0;
            again = 1;
        }
    }
    for (int n = 0; n < k->variable_count; n++)
        for (int m = 0; k->variables[n].once && m < k->item_count; m++)
            if (k->items[m].update && is_modified_in(&k->variables[n], m))
                k->items[m].kind = UPDATE;
}
