/* blocks_rows.c - rows of 16 threads run one statement at a time together:
 *
 *     if (row < n && col < n) {
 *         float sum = 0;
 *         for (int i = 0; i < n; i++) sum += a[row * n + i] * b[i * n + col];
 *         c[row * n + col] = sum;
 *     }
 *
 * g++ vectorizes no loop over threads with another loop in it, and makes no vectors of
 * pairs (float2) in a branch. So the condition is tested once for the row, and the
 * threads run each iteration of the inner loop together:
 *
 *     if (all 16 threads have row < n && col < n) {
 *         float lane_sum[16];
 *         for each thread { float &sum = lane_sum[thread]; sum = 0; }
 *         for (int i = 0; i < n; i++)
 *             for each thread { float &sum = lane_sum[thread]; sum += ...; }
 *         for each thread { float &sum = lane_sum[thread]; c[row * n + col] = sum; }
 *     } else
 *         for each thread, the statements as they are
 *
 * `if (row >= n || col >= n) return;` is such a condition, too. */
#include "blocks_write.h"

#include <string.h>

enum { MAX_GUARDS = 16 };

struct rows {
    struct kernel *k;
    struct buffer *b; /* NULL: only checks */
    int phase, first; /* and its first item */
    int lanes;        /* writing: the braces of a loop over lanes are open */
    int in_loop;      /* loops around it that all threads run */
    int pays;
    int guards[MAX_GUARDS], guard_count; /* the `if`s whose conditions are tested first */
    int inner[MAX_VARIABLES]; /* the INNER variables in scope that have an array */
    int inner_count;
};

/* --- conditions that are known for the whole row ------------------------------------ */

static int is_equal_shape(enum shape shape)
{
    return shape == EQUAL || shape == EQUAL_16S;
}

/* 1 if the value of [first, end) depends on nothing but numbers whose shapes are known.
 * equal: and is equal in all threads of a row. The C++ compiler checks the constants. */
static int is_known(struct kernel *k, int first, int end, int equal)
{
    const struct source *s = k->s;
    for (int i = next(s, first - 1); i < end; i = next(s, i)) {
        const struct variable *v = variable_at(k, i);
        int meaning = k->meaning[i - k->body];
        if (v) {
            if (v->stars || v->indices || v->shape == ANY) return 0;
            if (equal && !is_equal_shape(v->shape)) return 0;
        } else if (meaning < 0) {
            if (!is_constant_global(s, i)) return 0;
            k->globals[-1 - meaning].constant = 1;
        } else if (is_index(s, i)) {
            int member = next(s, next(s, i));
            if (equal && is(s, i, "threadIdx") && is(s, member, "x")) return 0;
            i = member;
        } else if (is(s, i, "/") || is(s, i, "%")) { /* it is computed early */
            if (!is_number(s, next(s, i))) return 0;
        } else if (
            !is_number(s, i) && template_parameter(k, i) != 'N' && !is_type(k, i)) {
            if (s->tokens[i].kind != MARK) return 0;
            if (!strchr("+-*<>=!&|()~^", *s->tokens[i].start)) return 0;
        }
    }
    return 1;
}

/* An `if` that most threads take or most leave: it compares, but not for equality. */
static int is_guard(struct kernel *k, int i)
{
    const struct source *s = k->s;
    int open = next(s, i), close = mate(s, open), compares = 0;
    if (!is(s, i, "if") || !is(s, open, "(")) return 0;
    for (int at = open; at < close; at++) {
        if (is(s, at, "=") && (is(s, at - 1, "=") || is(s, at - 1, "!"))) return 0;
        compares |= is(s, at, "<") || is(s, at, ">");
    }
    return compares && is_known(k, open, close + 1, 0);
}

/* if (...) return; */
static int is_leaving_guard(struct kernel *k, int i)
{
    const struct source *s = k->s;
    if (!is_guard(k, i)) return 0;
    int body = next(s, mate(s, next(s, i))), brace = is(s, body, "{");
    int at = brace ? next(s, body) : body;
    if (!is(s, at, "return") || !is(s, at = next(s, at), ";")) return 0;
    return !brace || next(s, at) == mate(s, body);
}

static int has(const struct source *s, int first, int end, const char *words)
{
    for (int i = first; i < end; i++)
        if (token_in(s, i, words)) return 1;
    return 0;
}

/* The counter of the `for` at i if it counts alike in all threads, or NULL */
static struct variable *equal_counter(struct kernel *k, int i)
{
    const struct source *s = k->s;
    int open = next(s, i), close = mate(s, open), last = end_of(s, i, 0);
    struct variable *v = NULL;
    if (!is(s, i, "for") || has(s, close, last, "break continue return")) return NULL;
    for (int n = 0; n < k->variable_count; n++) {
        struct variable *other = &k->variables[n];
        if (other->name < open || other->name > close) continue;
        if (v || other->kind != INNER) return NULL;
        v = other;
    }
    if (!v || !v->builtin || v->stars || v->indices || !v->value || v->modified != 1)
        return NULL;
    int second = find_outside(s, v->value_end, close, ";");
    second = find_outside(s, next(s, second), close, ";");
    for (int at = second, changed = 0;; at++) { /* in its last part */
        if (at >= close) return NULL;
        changed |= variable_at(k, at) == v;
        if (changed) break;
    }
    if (!is_known(k, v->value, v->value_end, 1)) return NULL;
    enum shape before = v->shape;
    v->shape = EQUAL;
    int known = is_known(k, next(s, v->value_end), second, 1) &&
                is_known(k, next(s, second), close, 1);
    if (!known) v->shape = before;
    return known ? v : NULL;
}

/* --- loops over the lanes ----------------------------------------------------------- */

static void append_lane_begin(struct rows *r)
{
    struct kernel *k = r->k;
    append_thread(r->b, k, r->phase);
    append_begin(r->b, k, r->phase, r->first);
    for (int n = 0; n < r->inner_count; n++)
        append_pattern(
            r->b, k, &k->variables[r->inner[n]],
            " auto &%N = wbcpu_lane_%I[wbcpu_i]; (void)%N;");
}

static void open_lanes(struct rows *r)
{
    if (!r->b || r->lanes) return;
    append_text(r->b, " WBCPU_EACH_LANE_PARALLEL {{");
    append_lane_begin(r);
    r->lanes = 1;
}

static void close_lanes(struct rows *r)
{
    if (r->b && r->lanes) append_text(r->b, " }}\n");
    r->lanes = 0;
}

/* --- statements --------------------------------------------------------------------- */

static int walk(struct rows *r, int first, int end);

/* 1 if another variable in scope has the name of the INNER variable. */
static int is_hidden(const struct rows *r, int id)
{
    const struct kernel *k = r->k;
    for (int n = 0; n < k->variable_count; n++)
        if (n != id && k->variables[n].kind != INNER &&
            same_text(k->s, k->variables[n].name, k->variables[id].name))
            return 1;
    for (int n = 0; n < r->inner_count; n++)
        if (same_text(k->s, k->variables[r->inner[n]].name, k->variables[id].name))
            return 1;
    return 0;
}

/* Declarations become assignments to elements of arrays, which append_arrays declares. */
static int walk_declaration(struct rows *r, int first, int last)
{
    struct kernel *k = r->k;
    for (int n = 0; n < k->variable_count; n++) {
        const struct variable *v = &k->variables[n];
        if (v->name < first || v->name > last) continue;
        if (v->indices) return 0;
        if (has(k->s, v->type, v->type_end, "constexpr static auto volatile")) return 0;
        if (v->kind == INNER && v->value && is(k->s, v->value, "{")) return 0;
        if (v->kind == INNER) {
            if (is_hidden(r, n)) return 0;
            close_lanes(r);
            if (r->b)
                append_pattern(
                    r->b, k, v, " std::remove_const_t<%T%S> wbcpu_lane_%I[16];");
            r->inner[r->inner_count++] = n;
        }
        open_lanes(r);
        if (!r->b || !v->value) continue;
        append_line(r->b, k, v->name, " 3");
        append_pattern(r->b, k, v, "%N = ");
        append_tokens(r->b, k, v->value, v->value_end);
        append_text(r->b, ";");
    }
    return 1;
}

/* g++ itself unrolls loops whose number of rounds it knows. */
static int is_constant_loop(struct kernel *k, int open)
{
    for (int i = open; i < mate(k->s, open); i++) {
        const struct variable *v = variable_at(k, i);
        if (is_index(k->s, i) || (v && v->kind != INNER)) return 0;
    }
    return 1;
}

static int walk_loop(struct rows *r, int i, int last)
{
    struct kernel *k = r->k;
    int open = next(k->s, i), close = mate(k->s, open);
    close_lanes(r);
    r->pays |= !is_constant_loop(k, open);
    if (r->b) {
        append_copy(r->b, k, i, close + 1);
        append_text(r->b, "{");
    }
    r->in_loop++;
    int ok = walk(r, next(k->s, close), last + 1);
    r->in_loop--;
    close_lanes(r);
    if (r->b) append_text(r->b, "}");
    return ok;
}

static int calls_own(const struct kernel *k, int first, int last)
{
    for (int n = 0; n < k->own_call_count; n++)
        if (k->own_calls[n] >= first && k->own_calls[n] <= last) return 1;
    return 0;
}

static int add_guard(struct rows *r, int i)
{
    if (r->b) return 1;
    if (r->guard_count == MAX_GUARDS) return 0;
    r->guards[r->guard_count++] = i;
    return 1;
}

static int walk_guard(struct rows *r, int i, int last)
{
    struct kernel *k = r->k;
    if (!add_guard(r, i)) return 0;
    int close = mate(k->s, next(k->s, i));
    r->pays |= calls_own(k, close, last);
    for (int at = close; at < last; at++)
        r->pays |= is(k->s, at, ".") && !is_index(k->s, previous(k->s, at));
    return walk(r, next(k->s, close), last + 1);
}

static int walk_statement(struct rows *r, int i, int last)
{
    struct kernel *k = r->k;
    const struct source *s = k->s;
    int before = r->inner_count;
    if (is(s, i, "{")) {
        int ok = walk(r, next(s, i), last);
        if (r->inner_count != before) close_lanes(r);
        r->inner_count = before;
        return ok;
    }
    const struct variable *v = variable_at(k, i);
    if (is_type(k, i) || (v && v->renamed && v->name == i))
        return walk_declaration(r, i, last);
    if (!r->in_loop && is_leaving_guard(k, i)) return add_guard(r, i);
    if (equal_counter(k, i)) return walk_loop(r, i, last);
    int body = is(s, i, "if") ? mate(s, next(s, i)) : last;
    int alone = is(s, i, "if") && find_outside(s, body, last, "else") >= last;
    if (!r->in_loop && alone && is_guard(k, i)) return walk_guard(r, i, last);
    if (has(s, i, last, "return")) return 0;
    open_lanes(r);
    if (r->b) append_copy(r->b, k, i, last + 1);
    return 1;
}

static int walk(struct rows *r, int first, int end)
{
    const struct source *s = r->k->s;
    for (int i = next(s, first - 1); i < end;) {
        if (s->tokens[i].kind == DIRECTIVE) { /* #pragma unroll */
            i = next(s, i);
            continue;
        }
        int last = end_of(s, i, 0);
        if (last >= end || !walk_statement(r, i, last)) return 0;
        i = next(s, last);
    }
    return 1;
}

static int walk_phase(struct rows *r)
{
    struct kernel *k = r->k;
    int ok = 1;
    r->inner_count = 0;
    for (int n = r->first; ok && n < k->item_count; n++) {
        const struct item *item = &k->items[n];
        if (item->phase != r->phase || item->by_row) continue;
        ok = (item->kind == CODE || item->kind == DECLARATION) && !item->statement &&
             walk(r, item->first, item->end);
    }
    close_lanes(r);
    return ok;
}

/* --- planning ----------------------------------------------------------------------- */

/* Counters of loops have a shape only where the loop is one of the row. */
static void forget_counters(struct kernel *k)
{
    for (int n = 0; n < k->variable_count; n++)
        if (k->variables[n].kind == INNER && k->variables[n].shape == EQUAL)
            k->variables[n].shape = ANY;
}

static void plan_phase(struct kernel *k, int first)
{
    int phase = k->items[first].phase;
    if (k->strides >> phase & 1) return;
    struct rows r = {.k = k, .phase = phase, .first = first};
    if (walk_phase(&r) && r.pays && is_parallel(k, phase)) k->rows |= 1ull << phase;
    forget_counters(k);
}

/* g++ vectorizes no loop with a call. The functions may be in a header that has been
 * written. */
static void inline_functions(struct kernel *k, int phase)
{
    for (int n = 0; n < k->own_call_count; n++) {
        if (!is_in_phase(k, k->own_calls[n], phase)) continue;
        const struct device_function *d = function_at(k->s, k->own_calls[n]);
        const struct source *s = d->s;
        int at = d->head < 0 ? d->start : next(s, close_angle(s, d->head));
        if (d->s != k->s || has(s, d->start, d->name, "extern __noinline__")) continue;
        struct token *t = &k->s->tokens[at];
        if (t->before && strstr(t->before, "always_inline")) continue;
        const char *before = t->before ? t->before : "";
        t->before = keep(k->s, format("__attribute__((always_inline)) %s", before));
    }
}

void plan_rows(struct kernel *k)
{
    for (int n = 0, phase = -1; n < k->item_count; n++) {
        if (k->items[n].phase <= phase) continue;
        phase = k->items[n].phase;
        plan_phase(k, n);
        if (k->rows >> phase & 1 || is_parallel(k, phase)) inline_functions(k, phase);
    }
}

/* --- writing ------------------------------------------------------------------------ */

/* Where the variables of a row's threads live: those that the phase declares. Others are
 * declared where they are made, or kept from earlier phases. */
static void append_arrays(struct rows *r)
{
    struct kernel *k = r->k;
    for (int n = 0; n < k->variable_count; n++)
        if (is_lane_variable(k, &k->variables[n], r->phase))
            append_pattern(
                r->b, k, &k->variables[n],
                " std::remove_const_t<%T%S> wbcpu_lane_%I[16];");
}

/* wbcpu_whole: all threads of the row run the statements. Returns 0 if they always do. */
static int append_conditions(struct rows *r)
{
    struct kernel *k = r->k;
    int may_exit = may_be_gone(k, r->phase);
    if (!r->guard_count && !may_exit) return 0;
    append_text(r->b, " bool wbcpu_whole = true; WBCPU_EACH_LANE_PARALLEL {{");
    append_lane_begin(r);
    if (may_exit) append_text(r->b, " wbcpu_whole &= !wbcpu_gone[wbcpu_at];");
    for (int n = 0; n < r->guard_count; n++) {
        int open = next(k->s, r->guards[n]), leaves = is_leaving_guard(k, r->guards[n]);
        append_text(r->b, leaves ? " wbcpu_whole &= !" : " wbcpu_whole &= ");
        append_copy(r->b, k, open, mate(k->s, open) + 1);
        append_text(r->b, ";");
    }
    append_text(r->b, " }}\n");
    return 1;
}

int append_rows(struct buffer *b, struct kernel *k, int first)
{
    int phase = k->items[first].phase;
    if (!(k->rows >> phase & 1)) return 0;
    struct rows r = {.k = k, .phase = phase, .first = first};
    k->parallel = k->by_lane = 1;
    walk_phase(&r); /* for the guards */
    r.b = b;
    append_arrays(&r);
    int tested = append_conditions(&r);
    append_text(b, tested ? " if (wbcpu_whole) {" : " {");
    walk_phase(&r);
    append_text(b, tested ? " } else" : " }\n");
    k->parallel = k->by_lane = 0;
    forget_counters(k);
    return tested ? 1 : 2;
}
