/* blocks_write.c - runs the threads of a block as loops between barriers, in place of
 * fibers:
 *
 *     __global__ void k(float *x)         __global__ void k(float *x)
 *     {                                   {
 *         int t = threadIdx.x;                if (begin_block()) {
 *         float v = x[t];            ->           static __thread float kept_v[1024];
 *         __syncthreads();                        for each thread {
 *         x[255 - t] = v;                             int t = threadIdx.x;
 *     }                                               float v = x[t];
 *                                                     kept_v[thread] = v;
 *                                                 }
 *                                                 for each thread {
 *                                                     int t = threadIdx.x;
 *                                                     float v = kept_v[thread];
 *                                                     x[255 - t] = v;
 *                                                 }
 *                                                 return;
 *                                             }
 *                                             ... the kernel as it was
 *
 * Only kernels that blocks.h describes are rewritten. The kernel as it was stays for all
 * other uses (wbcpu/blocks.h). */
#include "blocks_write.h"
#include "blocks_flat.h"

#include <stdlib.h>
#include <string.h>

/* As many blanks as stand before what follows the brace, for the columns of messages */
static void append_indent(struct buffer *b, struct kernel *k)
{
    const char *brace = k->s->tokens[k->body].start;
    append_text(b, " ");
    for (const char *c = brace; c > k->s->text && c[-1] != '\n'; c--)
        append_text(b, c[-1] == '\t' ? "\t" : " ");
}

/* The names from outside of the functions that the kernel calls */
static void append_function_checks(struct buffer *b, const struct kernel *k)
{
    for (int n = 0; n < k->own_call_count; n++) {
        const struct device_function *d = function_at(k->s, k->own_calls[n]);
        for (int m = 0; m < d->global_count; m++) {
            char *check = format(
                "::wbcpu::is_plain<__typeof__(%s), %s>() && ", d->globals[m],
                has_operators() ? "false" : "true");
            append_text(b, check);
            free(check);
        }
    }
}

/* What the C++ compiler knows of the names from outside */
static void append_checks(struct buffer *b, struct kernel *k)
{
    append_function_checks(b, k);
    for (int n = 0; n < k->call_count; n++)
        if (is(k->s, k->calls[n].name, "wbcpu_lockstep_sync")) {
            append_text(b, "::wbcpu_wants_lockstep() && ");
            break;
        }
    for (int n = 0; n < k->global_count; n++) {
        const struct global *g = &k->globals[n];
        char *name = text_of(k->s, g->name, g->name + 1);
        char *check = format(
            "::wbcpu::is_%s<__typeof__(%s), %s>() && ",
            g->constant ? "plain_constant" : "plain", name,
            has_operators() ? "false" : "true");
        append_text(b, check);
        free(check);
        free(name);
    }
}

/* Storage for variables that are kept from one phase to another, except arrays */
static void append_kept(struct buffer *b, struct kernel *k)
{
    for (int n = 0; n < k->variable_count; n++) {
        const struct variable *v = &k->variables[n];
        if (!v->kept) continue;
        if (v->kind == PARAMETER) {
            append_pattern(
                b, k, v,
                " static __thread ::wbcpu::kept<decltype(%N)> wbcpu_kept_%I[1024];");
        } else if (!v->indices) {
            append_pattern(
                b, k, v, " static __thread ::wbcpu::kept<%T%S> wbcpu_kept_%I[1024];");
        }
    }
}

/* body: the brace of the kernel in the source */
static void write_kernel(struct kernel *k, int body)
{
    struct buffer b = {0};
    struct token *brace = &k->s->tokens[body];
    plan_rows(k);
    append_text(&b, brace->after ? brace->after : "");
    append_text(&b, "\n#ifdef WBCPU_WHOLE_BLOCKS");
    append_line(&b, k, k->body, " 3");
    append_text(&b, "if (");
    append_checks(&b, k);
    append_text(&b, "::wbcpu::begin_block()) { WBCPU_BLOCK_BEGIN");
    append_kept(&b, k);
    if (k->call_count) append_text(&b, " WBCPU_WARP_SLOTS");
    if (k->exits) append_text(&b, " WBCPU_EXITS");
    for (int n = 0; n < k->item_count; n++)
        if (k->items[n].kind == IF && k->items[n].by_thread)
            append_number(&b, " static __thread ::wbcpu::left_out wbcpu_off_%d;", n);
    for (int n = 0; n < k->item_count; n++) {
        const struct item *item = &k->items[n];
        if (item->kind == LOOP) {
            append_copy(&b, k, item->first, item->end);
            append_text(&b, "{");
        } else if (item->kind == LOOP_END) {
            append_text(&b, "}");
        } else if (item->kind == FOR_BLOCK || item->kind == UPDATE) {
            append_copy(&b, k, item->first, item->end);
        } else if (
            item->kind == ELSE || item->kind == IF_END ||
            (item->kind == IF && !item->by_thread)) {
            append_branch(&b, k, n);
        } else if (item->kind == BARRIER) {
            if (is(k->s, item->first, "wbcpu_grid_sync"))
                append_text(&b, " ::wbcpu_block_grid_sync();");
        } else {
            n = append_phase(&b, k, n);
        }
    }
    append_text(&b, " WBCPU_BLOCK_END }\n#endif");
    append_line(&b, k, k->body, "");
    append_indent(&b, k);
    brace->after = keep(k->s, b.text);
}

/* void name(type); */
static int is_declared_only(const struct source *s, const struct kernel *k)
{
    return k->open > 0 && is(s, next(s, mate(s, k->open)), ";");
}

/* The kernel whose `__global__` is token i: as it is, or else a copy (flatten). */
static void rewrite_kernel(struct source *s, struct kernel *k, int i)
{
    const int count = s->count;
    int understood = read_kernel(k, s, i), body = k->body;
    if (!understood) {
        const int at = k->at;
        const char *why = k->why;
        int copy = find_kernel(k, s, i) ? flatten(s, k, i) : -1;
        body = k->body;
        if (copy >= 0)
            understood = read_kernel(k, s, copy);
        else
            k->at = at, k->why = why;
    }
    if (understood) {
        write_kernel(k, body);
        show_loops(s, k, i);
    } else if (!is_declared_only(s, k)) {
        show_fibers(s, k, i);
    }
    s->count = count;
}

void rewrite_blocks(struct source *s)
{
    static struct kernel k;
    index_names(s);
    for (int i = 0; i < s->count && !given_up; i++) {
        if (is(s, i, "(") && mate(s, i) > i) i = mate(s, i); /* a macro's argument? */
        if (is(s, i, "__global__") && !s->tokens[i].in_directive)
            rewrite_kernel(s, &k, i);
    }
}
