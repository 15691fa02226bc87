/* blocks_strides.c - finds and writes the loops of a kernel whose threads share elements:
 *
 *     for (int i = threadIdx.x; i < n; i += blockDim.x)
 *         sum += x[i];
 *
 * One thread after another would read x in steps of blockDim.x elements. If the counters of
 * the threads of a row are i, i + 1, ..., they take turns, and read neighbours:
 *
 *     while a row has run
 *         for each row of threads with i + 15 < n
 *             for each of its threads { sum += x[i + its number]; }
 *     for each thread { the rest of its loop }
 *
 * g++ vectorizes the inner loop. */
#include "blocks_write.h"

#include <string.h>

/* --- reading ------------------------------------------------------------------------ */

/* The variable that the head of the loop at `open` declares, if it is one number; or -1 */
static int counter_of(const struct kernel *k, int open)
{
    int found = -1;
    for (int n = 0; n < k->variable_count; n++) {
        const struct variable *v = &k->variables[n];
        if (v->name < open || v->name > mate(k->s, open)) continue;
        int number = v->kind == INNER && v->builtin && v->value && !v->indices;
        if (found >= 0 || !number || v->stars) return -1;
        found = n;
    }
    return found;
}

/* 1 if the values can differ from thread to thread. */
static int can_differ(struct kernel *k, int first, int end)
{
    for (int i = first; i < end; i++) {
        const struct variable *v = variable_at(k, i);
        if (v ? v->kind == LOCAL && k->items[v->item].kind == DECLARATION
              : is(k->s, i, "threadIdx"))
            return 1;
    }
    return 0;
}

static int leaves(const struct source *s, int first, int end)
{
    for (int i = first; i < end; i++)
        if (token_in(s, i, "break continue return")) return 1;
    return 0;
}

/* Fills item->stride if the item is such a loop. */
static void find_stride(struct kernel *k, struct item *item)
{
    const struct source *s = k->s;
    int at = item->first;
    if (s->tokens[at].kind == DIRECTIVE) at = next(s, at);
    int open = next(s, at), close = mate(s, open), id = counter_of(k, open);
    if (!is(s, at, "for") || id < 0 || leaves(s, close, item->end)) return;
    const struct variable *v = &k->variables[id];
    int first = find_outside(s, next(s, v->name), s->count, ";");
    int second = find_outside(s, next(s, first), s->count, ";");
    int tested = next(s, first), less = next(s, tested), limit = next(s, less);
    int stepped = next(s, second), plus = next(s, stepped);
    if (v->modified != 1 || variable_at(k, tested) != v || !is(s, less, "<")) return;
    if (is(s, limit, "=")) limit = next(s, limit);
    if (variable_at(k, stepped) != v || !is(s, plus, "+") || !is(s, plus + 1, "="))
        return;
    if (!can_differ(k, next(s, v->name), first) || !is_fixed(k, limit, second) ||
        !is_fixed(k, next(s, plus + 1), close))
        return;
    item->stride = (struct stride){1 + id, next(s, first), close};
}

void find_strides(struct kernel *k)
{
    for (int n = 0; n < k->item_count; n++)
        if (k->items[n].kind == CODE) find_stride(k, &k->items[n]);
}

/* --- writing ------------------------------------------------------------------------ */

/* The phase that is item n, a loop with a stride */
void append_stride(struct buffer *b, struct kernel *k, int n)
{
    const struct item *item = &k->items[n];
    const struct variable *v = &k->variables[item->stride.counter - 1];
    int phase = item->phase, first = item->stride.first, close = item->stride.close;
    int second = first;
    while (!is(k->s, second, ";"))
        second++;
    append_text(b, " WBCPU_EACH_LINE { bool wbcpu_turns[64];");
    append_pattern(b, k, v, " %T wbcpu_counter[1024];");
    append_row(b, k, phase, " WBCPU_ROWS {");
    append_text(b, " WBCPU_EACH_LANE {{");
    append_thread(b, k, phase);
    append_begin(b, k, phase, n);
    append_line(b, k, v->name, " 3");
    append_pattern(b, k, v, "%T ");
    append_tokens(b, k, v->name, first);
    append_pattern(b, k, v, " wbcpu_counter[wbcpu_x + wbcpu_i] = %N; }}");
    append_text(
        b, " wbcpu_turns[wbcpu_x / 16] = ::wbcpu::is_row(wbcpu_counter + wbcpu_x, ");
    append_text(b, may_be_gone(k, phase) ? "wbcpu_gone + wbcpu_row); }" : "nullptr); }");
    append_text(
        b, " for (bool wbcpu_more = true; wbcpu_more;) { wbcpu_more = false;"
           " WBCPU_ROWS { if (!wbcpu_turns[wbcpu_x / 16]) continue;");
    append_pattern(b, k, v, " const %T wbcpu_row_%I = wbcpu_counter[wbcpu_x];");
    append_pattern(b, k, v, " %T %N = wbcpu_row_%I; if (!(");
    append_tokens(b, k, first, second);
    append_pattern(b, k, v, ")) continue; %N = wbcpu_row_%I + 15; if (!(");
    append_tokens(b, k, first, second);
    append_row(b, k, phase, ")) continue; {");
    append_lanes(b, k, phase);
    append_begin(b, k, phase, n);
    append_pattern(b, k, v, " const %T %N = wbcpu_row_%I + wbcpu_i; (void)%N;");
    append_copy(b, k, close + 1, item->end);
    k->parallel = 0;
    append_end(b, k, phase);
    append_pattern(b, k, v, " }}} %N = wbcpu_row_%I");
    append_tokens(b, k, second, close);
    append_pattern(b, k, v, "; wbcpu_counter[wbcpu_x] = %N; wbcpu_more = true; } }");
    append_text(b, " WBCPU_ROWS { if (wbcpu_turns[wbcpu_x / 16]) {");
    append_pattern(b, k, v, " const %T %N = wbcpu_counter[wbcpu_x]; if (%N >= 0 && !(");
    append_tokens(b, k, first, second);
    append_row(b, k, phase, ")) continue; ::wbcpu::set_row(wbcpu_counter + wbcpu_x); }");
    append_text(b, " WBCPU_EACH_LANE {{");
    append_thread(b, k, phase);
    append_begin(b, k, phase, n);
    append_line(b, k, item->first, " 3");
    append_pattern(b, k, v, " for (%T %N = wbcpu_counter[wbcpu_x + wbcpu_i];");
    append_tokens(b, k, first, item->end);
    append_end(b, k, phase);
    append_text(b, " }}}}\n");
}
