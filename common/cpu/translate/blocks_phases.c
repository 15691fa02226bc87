/* blocks_phases.c - writes a phase of a kernel, from one barrier to the next, as a loop over
 * the threads of a block.
 *
 *     v += __shfl_xor_sync(m, v, o);
 *
 * ends a phase, in which each thread gives its arguments, and begins the next one, in which
 * each takes its result (wbcpu/block_warps.h):
 *
 *     for each thread { ...; give::__shfl_xor_sync(slot, m, v, o); }
 *     for each thread { v += take_from<decltype(v)>(slot); ... } */
#include "blocks_write.h"

/* --- the variables of a phase ------------------------------------------------------- */

static int in_phase(unsigned long long phases, int phase)
{
    return (int)(phases >> phase & 1);
}

int may_be_gone(const struct kernel *k, int phase)
{
    return k->exits && in_phase(k->gone, phase);
}

/* The mask of a collective, and the check that all its lanes come by. */
static void append_mask(struct buffer *b, struct kernel *k, int n, const struct call *c)
{
    int comma = previous(k->s, c->value), branches = 0;
    for (int m = 0; m < n; m++) {
        const struct item *item = &k->items[m];
        if (item->kind != IF || !item->by_thread || !item->must_come || item->of < n)
            continue;
        append_number(b, "::wbcpu::present(wbcpu_off_%d, wbcpu_at, ", m);
        branches++;
    }
    append_tokens(b, k, next(k->s, next(k->s, c->name)), comma);
    for (; branches; branches--)
        append_text(b, ")");
    append_text(b, ", ");
}

/* A copy of an item; not every phase uses all that a declaration declares. */
static void append_item(struct buffer *b, struct kernel *k, int n)
{
    const struct item *item = &k->items[n];
    for (int m = 0; item->kind == ARGUMENTS && m < k->call_count; m++) {
        const struct call *c = &k->calls[m];
        if (c->statement != item->statement) continue;
        append_line(b, k, c->name, " 3");
        append_name(b, k, "::wbcpu::give::", c->name);
        append_number(b, "(wbcpu_slots[%d], wbcpu_at, wbcpu_count, ", slot_of(c));
        append_mask(b, k, n, c);
        append_tokens(b, k, c->value, c->close);
        append_text(b, ");");
    }
    if (item->kind == ARGUMENTS) return;
    if (item->kind == IF) {
        append_number(b, " wbcpu_off_%d.threads[wbcpu_at] = !", n);
        append_copy(b, k, item->first, item->end);
        append_text(b, ";");
        return;
    }
    append_copy(b, k, item->first, item->end);
    for (int m = 0; m < k->variable_count; m++)
        if (k->variables[m].kind == LOCAL && k->variables[m].item == n)
            append_pattern(b, k, &k->variables[m], " (void)%N;");
}

/* Appends the declarations that the phase needs once for each row. */
void append_row(struct buffer *b, struct kernel *k, int phase, const char *rows)
{
    append_text(b, rows);
    for (int n = 0; n < k->item_count; n++) {
        int wanted = 0;
        for (int m = 0; k->items[n].by_row && m < k->variable_count; m++)
            wanted |= k->variables[m].kind == LOCAL && k->variables[m].item == n &&
                      in_phase(k->variables[m].phases, phase);
        if (wanted) append_item(b, k, n);
        for (int m = 0; wanted && m < k->variable_count; m++)
            if (k->variables[m].kind == LOCAL && k->variables[m].item == n &&
                differs(&k->variables[m]))
                append_pattern(b, k, &k->variables[m], " const auto wbcpu_row_%I = %N;");
    }
}

/* Appends the declarations that the phase repeats, and the values that come from earlier
 * phases. `first` is its first item. */
int is_lane_variable(const struct kernel *k, const struct variable *v, int phase)
{
    return v->kind == LOCAL && k->items[v->item].kind == DECLARATION &&
           k->items[v->item].phase == phase && !k->items[v->item].by_row && !v->kept;
}

void append_begin(struct buffer *b, struct kernel *k, int phase, int first)
{
    if (!k->by_lane && may_be_gone(k, phase))
        append_text(b, " if (wbcpu_gone[wbcpu_at]) continue;");
    for (int m = 0; m < k->variable_count; m++) {
        const struct variable *v = &k->variables[m];
        if (v->kind != PARAMETER || !v->modified || !in_phase(v->phases, phase)) continue;
        append_pattern(
            b, k, v,
            v->kept && phase ? " auto %N = wbcpu_kept_%I[wbcpu_at];"
                             : " auto %N = wbcpu_given_%I;");
    }
    for (int m = 0; m < k->variable_count; m++) {
        const struct variable *v = &k->variables[m];
        int by_row = v->kind == LOCAL && k->items[v->item].by_row;
        if (by_row && in_phase(v->phases, phase) && differs(v))
            append_pattern(b, k, v, " %T %N = wbcpu_row_%I + wbcpu_i; (void)%N;");
    }
    for (int n = 0; n < first; n++) {
        const struct item *item = &k->items[n];
        int wanted = 0;
        for (int m = 0; item->kind == DECLARATION && m < k->variable_count; m++) {
            const struct variable *v = &k->variables[m];
            if (v->kind != LOCAL || v->item != n || item->phase == phase) continue;
            wanted |= item->again && !item->by_row && in_phase(v->phases, phase);
            if (v->kept && in_phase(v->phases, phase) && !k->by_lane)
                append_pattern(
                    b, k, v,
                    v->indices ? " auto &%N = wbcpu_kept_%I[wbcpu_at];"
                               : " %T%S %N = wbcpu_kept_%I[wbcpu_at];");
        }
        if (wanted) append_item(b, k, n);
    }
    for (int m = 0; k->by_lane && m < k->variable_count; m++) {
        const struct variable *v = &k->variables[m];
        if (is_lane_variable(k, v, phase))
            append_pattern(b, k, v, " auto &%N = wbcpu_lane_%I[wbcpu_i]; (void)%N;");
        else if (v->kept && in_phase(v->phases, phase))
            append_pattern(b, k, v, " auto &%N = wbcpu_kept_%I[wbcpu_at]; (void)%N;");
    }
}

void append_end(struct buffer *b, struct kernel *k, int phase)
{
    for (int n = 0; n < k->variable_count; n++) {
        const struct variable *v = &k->variables[n];
        if (!v->kept || !in_phase(v->phases, phase)) continue;
        int made = v->kind == PARAMETER ? 0 : k->items[v->item].phase;
        if (v->indices && made == phase)
            append_pattern(
                b, k, v, " __builtin_memcpy(wbcpu_kept_%I[wbcpu_at], %N, sizeof %N);");
        else if (!v->indices && (in_phase(v->changes, phase) || made == phase))
            append_pattern(b, k, v, " wbcpu_kept_%I[wbcpu_at] = %N;");
    }
}

/* The first phase copies the parameters that the threads change. */
static void append_given(struct buffer *b, struct kernel *k, int phase)
{
    for (int n = 0; n < k->variable_count; n++) {
        const struct variable *v = &k->variables[n];
        if (v->kind == PARAMETER && v->modified && in_phase(v->phases, phase) &&
            !(v->kept && phase))
            append_pattern(b, k, v, " const auto wbcpu_given_%I = %N;");
    }
}

/* Storage for the arrays that the phase declares and a later one uses. Their sizes may be
 * variables of the block. */
static void append_kept_arrays(struct buffer *b, struct kernel *k, int phase)
{
    int arrays = 0;
    for (int n = 0; n < k->variable_count; n++) {
        const struct variable *v = &k->variables[n];
        if (!v->kept || !v->indices) continue;
        arrays++;
        if (k->items[v->item].phase != phase) continue;
        append_pattern(
            b, k, v,
            " typedef ::wbcpu::kept<%T%S> wbcpu_array_%I%D; auto *wbcpu_kept_%I ="
            " (wbcpu_array_%I *)::wbcpu_kept_arrays(");
        append_number(b, "%d, ", arrays - 1);
        append_pattern(b, k, v, "wbcpu_count * sizeof(wbcpu_array_%I));");
    }
}

/* --- phases ------------------------------------------------------------------------- */

/* A function that the phase calls may read threadIdx: the scheduler's variable. */
void append_thread(struct buffer *b, struct kernel *k, int phase)
{
    for (int n = 0; n < k->own_call_count; n++)
        if (is_in_phase(k, k->own_calls[n], phase) &&
            function_at(k->s, k->own_calls[n])->effects & THREAD) {
            append_text(b, " ::wbcpu_thread_index = threadIdx;");
            return;
        }
}

void append_lanes(struct buffer *b, struct kernel *k, int phase)
{
    k->parallel = is_parallel(k, phase);
    append_text(b, k->parallel ? " WBCPU_EACH_LANE_PARALLEL {{" : " WBCPU_EACH_LANE {{");
    append_thread(b, k, phase);
}

void append_branch(struct buffer *b, struct kernel *k, int n)
{
    const struct item *item = &k->items[n];
    if (item->kind == IF) { /* the same in all threads */
        append_text(b, " if ");
        append_copy(b, k, item->first, item->end);
        append_text(b, "{");
    } else if (!item->by_thread) {
        append_text(b, item->kind == ELSE ? "} else {" : "}");
    } else {
        append_text(b, item->kind == ELSE ? "} ::wbcpu::turn" : "} ::wbcpu::take_back");
        append_number(b, "(wbcpu_off_%d, wbcpu_gone, wbcpu_count);", item->of);
        if (item->kind == ELSE) append_text(b, " {");
    }
}

int append_phase(struct buffer *b, struct kernel *k, int first)
{
    int phase = k->items[first].phase, last = first;
    unsigned effects = k->items[first].effects;
    while (last + 1 < k->item_count &&
           (k->items[last + 1].kind == FOR_BLOCK || k->items[last + 1].phase == phase))
        effects |= k->items[++last].effects;
    for (int n = first; n <= last; n++)
        if (k->items[n].kind == FOR_BLOCK)
            append_copy(b, k, k->items[n].first, k->items[n].end);
    append_given(b, k, phase);
    append_kept_arrays(b, k, phase);
    if (in_phase(k->strides, phase)) {
        append_stride(b, k, first);
        return last;
    }
    append_row(
        b, k, phase,
        may_be_gone(k, phase)
            ? " WBCPU_EACH_ROW { if (::wbcpu::is_row_gone(wbcpu_gone + wbcpu_row)) continue;"
            : " WBCPU_EACH_ROW {");
    int rows = append_rows(b, k, first);
    if (rows == 2) {
        append_text(b, " }\n");
        return last;
    }
    append_lanes(b, k, phase);
    append_begin(b, k, phase, first);
    for (int n = first; n <= last; n++)
        if (k->items[n].kind != FOR_BLOCK && !k->items[n].by_row) append_item(b, k, n);
    k->parallel = 0;
    int is_last = phase == k->phases - 1 && !k->items[first].depth;
    if (!is_last) append_end(b, k, phase);
    if (effects & RETURNS) {
        append_number(b, " continue; } wbcpu_exit_%d:;", phase);
        append_text(b, k->exits ? " wbcpu_gone[wbcpu_at] = true; }}\n" : " }}\n");
    } else {
        append_text(b, " }}}\n");
    }
    const struct item *end = &k->items[last];
    int some_gone = may_be_gone(k, phase) || (k->exits && effects & RETURNS);
    if (end->kind == IF)
        append_number(
            b, " ::wbcpu::leave_out(wbcpu_off_%d, wbcpu_gone, wbcpu_count); {", last);
    if (end->kind != ARGUMENTS) return last;
    for (int m = 0; m < k->call_count; m++) {
        const struct call *c = &k->calls[m];
        if (c->statement != end->statement) continue;
        append_name(b, k, " ::wbcpu::exchange::", c->name);
        append_number(b, "(wbcpu_slots[%d], wbcpu_count", slot_of(c));
        append_text(b, some_gone ? ", wbcpu_gone);" : ", nullptr);");
    }
    return last;
}
