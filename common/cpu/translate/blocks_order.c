/* blocks_order.c - divides a kernel into phases, from one barrier to the next, and decides
 * which variables are kept from phase to phase. */
#include "blocks.h"

/* 1 if the item reads what other lanes write in the item before it, or the next. */
static int is_in_lockstep(const struct kernel *k, const struct item *item)
{
    for (int n = 0; item->statement && n < k->call_count; n++)
        if (k->calls[n].statement == item->statement &&
            is(k->s, k->calls[n].name, "wbcpu_lockstep_sync"))
            return 1;
    return 0;
}

/* strides: 1: such a loop is a phase of its own */
static int number_phases(struct kernel *k, int strides)
{
    int running = 0;
    k->phases = 0, k->repeated = k->strides = 0;
    for (int n = 0; n < k->item_count; n++) {
        struct item *item = &k->items[n];
        if (item->kind == FOR_BLOCK) continue;
        int stride = strides && item->stride.counter;
        int runs = item->kind == CODE || item->kind == DECLARATION ||
                   item->kind == ARGUMENTS || (item->kind == IF && item->by_thread);
        int alone = stride || is_in_lockstep(k, item);
        if (runs && (!running || alone)) k->phases++;
        if (k->phases > MAX_PHASES) return 0;
        if (runs) item->phase = k->phases - 1;
        if (runs && item->depth) k->repeated |= 1ull << item->phase;
        if (stride) k->strides |= 1ull << item->phase;
        running = runs && item->kind != ARGUMENTS && item->kind != IF && !alone;
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

/* 1 if the phase of item n uses token i. Of a collective's arguments, the statement with
 * the result uses only the type of the value. */
static int uses(const struct kernel *k, const struct item *item, int i)
{
    const struct call *c = item->statement ? call_at(k, i) : NULL;
    if (item->kind == ARGUMENTS) return c != NULL;
    return !c || (i >= c->value && i < c->value_end);
}

/* Finds the phases in which each variable is used and modified. What repeats an item uses
 * that item's variables: from the last item to the first. */
static void find_phases(struct kernel *k)
{
    for (int n = 0; n < k->variable_count; n++) {
        struct variable *v = &k->variables[n];
        v->phases = v->kind == LOCAL ? phases_of(k, v->item) : 0;
        v->changes = v->kept = 0;
        for (int m = 0; m < k->item_count; m++) {
            if (!is_modified_in(v, m)) continue;
            int changed = m + (k->items[m].kind == ARGUMENTS);
            if (k->items[changed].phase >= 0)
                v->changes |= 1ull << k->items[changed].phase;
        }
    }
    for (int n = k->item_count - 1; n >= 0; n--) {
        const struct item *item = &k->items[n];
        for (int i = item->first; item->kind != FOR_BLOCK && i < item->end; i++)
            if (variable_at(k, i) && uses(k, item, i))
                variable_at(k, i)->phases |= phases_of(k, n);
    }
}

/* Finds the variables that are kept between phases; 0 if one cannot be. */
static int find_kept(struct kernel *k)
{
    int arrays = 0;
    for (int n = 0; n < k->variable_count; n++) {
        struct variable *v = &k->variables[n];
        int several = (v->phases & (v->phases - 1)) != 0;
        /* Each thread changes its own copy, which the first phase makes. */
        if (v->kind == PARAMETER && v->modified && (several || v->phases & k->repeated)) {
            if (k->repeated & 1 || !v->storable) return 0;
            v->kept = 1, v->phases |= 1;
        }
        if (v->kind != LOCAL || k->items[v->item].kind != DECLARATION) continue;
        v->kept = several && !k->items[v->item].again;
        if (v->kept && !v->storable) return 0;
        arrays += v->kept && v->indices;
    }
    return arrays <= MAX_ARRAYS;
}

/* Does a thread exit before the last phase, or in a loop? Or is it left out by an IF? */
static int exits_early(const struct kernel *k)
{
    for (int n = 0; n < k->item_count; n++) {
        const struct item *item = &k->items[n];
        if (item->kind == IF && item->by_thread) return 1;
        if (item->effects & RETURNS && (item->phase != k->phases - 1 || item->depth))
            return 1;
    }
    return 0;
}

/* The phases that some threads may not reach: those in an IF, and those after a return. In
 * a loop, the whole body comes after the return of an earlier iteration. */
static unsigned long long phases_with_gone(const struct kernel *k)
{
    unsigned long long phases = 0;
    for (int n = 0; n < k->item_count; n++) {
        const struct item *item = &k->items[n];
        int branch = item->kind == IF && item->by_thread;
        if (!branch && !(item->effects & RETURNS)) continue;
        int first = n + 1, end = branch ? item->of : k->item_count;
        for (; !branch && first > 0 && k->items[first - 1].depth; first--)
            ;
        for (int m = first; m < end; m++)
            if (k->items[m].phase >= 0 && (m <= n || k->items[m].phase != item->phase))
                phases |= 1ull << k->items[m].phase;
    }
    return phases;
}

int arrange(struct kernel *k, int strides)
{
    if (!number_phases(k, strides)) return 0;
    for (int n = 0; n < k->item_count; n++)
        if (k->items[n].stride.counter)
            k->variables[k->items[n].stride.counter - 1].shape =
                strides ? NEIGHBOURS : ANY;
    k->exits = exits_early(k);
    k->gone = phases_with_gone(k);
    find_phases(k);
    return find_kept(k);
}
