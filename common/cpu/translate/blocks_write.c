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
#include "blocks.h"

#include <stdlib.h>
#include <string.h>

static void append_tokens(struct buffer *b, const struct kernel *k, int first, int end)
{
    const struct source *s = k->s;
    for (int i = first; i < end; i++) {
        const struct token *t = &s->tokens[i];
        if (t->before) append_text(b, t->before);
        if (is(s, i, "return"))
            append_text(b, "goto wbcpu_exit");
        else if (t->text)
            append_text(b, t->text);
        else {
            if (k->own[i - k->body]) append_text(b, "::wbcpu::alone::");
            append(b, t->start, (size_t)t->length);
        }
        if (t->after) append_text(b, t->after);
    }
}
/* What follows is line i's. Copies are marked as a system header (3), so that the compiler
 * warns only of the kernel as it was. */
static void append_line(struct buffer *b, const struct kernel *k, int i, const char *mark)
{
    char *path = as_string(k->s->path);
    char *text = format("\n# %d \"%s\"%s\n", k->s->tokens[i].line, path, mark);
    append_text(b, text);
    free(text);
    free(path);
}
/* As many blanks as stand before what follows the brace, for the columns of messages */
static void append_indent(struct buffer *b, const struct kernel *k)
{
    const char *brace = k->s->tokens[k->body].start;
    append_text(b, " ");
    for (const char *c = brace; c > k->s->text && c[-1] != '\n'; c--)
        append_text(b, c[-1] == '\t' ? "\t" : " ");
}
/* A copy of [first, end), in lines of its own */
static void append_copy(struct buffer *b, const struct kernel *k, int first, int end)
{
    append_line(b, k, first, " 3");
    append_tokens(b, k, first, end);
    append_text(b, "\n");
}

/* pattern: %T the type of a variable, %N its name, %I its number, %S its stars */
static void append_pattern(
    struct buffer *b, const struct kernel *k, const struct variable *v,
    const char *pattern)
{
    for (const char *p = pattern; *p; p++) {
        char *text = NULL;
        if (*p != '%') {
            append(b, p, 1);
            continue;
        }
        switch (*++p) {
        case 'T':
            text = text_of(k->s, v->type, v->type_end);
            break;
        case 'N':
            text = text_of(k->s, v->name, v->name + 1);
            break;
        case 'I':
            text = format("%d", (int)(v - k->variables));
            break;
        case 'S':
            text = format("%.*s", v->stars, "********");
            break;
        }
        append_text(b, text);
        free(text);
    }
}

static int appears(const struct variable *v, int phase)
{
    return (int)(v->phases >> phase & 1);
}

/* A copy of an item; not every phase uses all that a declaration declares. */
static void append_item(struct buffer *b, const struct kernel *k, int n)
{
    append_copy(b, k, k->items[n].first, k->items[n].end);
    for (int m = 0; m < k->variable_count; m++)
        if (k->variables[m].kind == LOCAL && k->variables[m].item == n)
            append_pattern(b, k, &k->variables[m], " (void)%N;");
}

/* Appends the declarations that the phase repeats, and the values that come from earlier
 * phases. `first` is its first item. */
static void append_begin(struct buffer *b, const struct kernel *k, int phase, int first)
{
    for (int n = 0; n < first; n++) {
        const struct item *item = &k->items[n];
        int wanted = 0;
        for (int m = 0; item->kind == DECLARATION && m < k->variable_count; m++) {
            const struct variable *v = &k->variables[m];
            if (v->kind != LOCAL || v->item != n || item->phase == phase) continue;
            wanted |= item->again && appears(v, phase);
            if (v->kept && appears(v, phase))
                append_pattern(b, k, v, " %T%S %N = wbcpu_kept_%I[wbcpu_at];");
        }
        if (wanted) append_item(b, k, n);
    }
}
static void append_end(struct buffer *b, const struct kernel *k, int phase)
{
    for (int n = 0; n < k->variable_count; n++) {
        const struct variable *v = &k->variables[n];
        if (!v->kept || !appears(v, phase)) continue;
        if (v->modified || k->items[v->item].phase == phase)
            append_pattern(b, k, v, " wbcpu_kept_%I[wbcpu_at] = %N;");
    }
}

/* For each parameter that the threads change */
static void append_parameters(
    struct buffer *b, const struct kernel *k, int phase, const char *pattern)
{
    for (int n = 0; n < k->variable_count; n++) {
        const struct variable *v = &k->variables[n];
        if (v->kind == PARAMETER && v->modified && appears(v, phase))
            append_pattern(b, k, v, pattern);
    }
}

/* Appends the phase whose first item is `first`; returns its last item. */
static int append_phase(struct buffer *b, const struct kernel *k, int first)
{
    int phase = k->items[first].phase, last = first;
    while (last + 1 < k->item_count &&
           (k->items[last + 1].kind == FOR_BLOCK || k->items[last + 1].phase == phase))
        last++;
    for (int n = first; n <= last; n++)
        if (k->items[n].kind == FOR_BLOCK)
            append_copy(b, k, k->items[n].first, k->items[n].end);
    append_parameters(b, k, phase, " const auto wbcpu_given_%I = %N;");
    append_text(b, " WBCPU_EACH_THREAD {{");
    append_parameters(b, k, phase, " auto %N = wbcpu_given_%I;");
    append_begin(b, k, phase, first);
    for (int n = first; n <= last; n++)
        if (k->items[n].kind != FOR_BLOCK) append_item(b, k, n);
    int is_last = phase == k->phases - 1 && !k->items[first].depth;
    if (!is_last) append_end(b, k, phase);
    append_text(b, is_last ? " } wbcpu_exit: __attribute__((unused)); }\n" : " }}\n");
    return last;
}

/* What the C++ compiler knows of the names from outside */
static void append_checks(struct buffer *b, const struct kernel *k)
{
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

static void write_kernel(struct kernel *k)
{
    struct buffer b = {0};
    struct token *brace = &k->s->tokens[k->body];
    append_text(&b, brace->after ? brace->after : "");
    append_text(&b, "\n#ifdef WBCPU_WHOLE_BLOCKS");
    append_line(&b, k, k->body, " 3");
    append_text(&b, "if (");
    append_checks(&b, k);
    append_text(&b, "::wbcpu::begin_block()) { WBCPU_BLOCK_BEGIN");
    for (int n = 0; n < k->variable_count; n++)
        if (k->variables[n].kept)
            append_pattern(
                &b, k, &k->variables[n],
                " static __thread ::std::remove_const_t<%T%S> wbcpu_kept_%I[1024];");
    for (int n = 0; n < k->item_count; n++) {
        const struct item *item = &k->items[n];
        if (item->kind == LOOP) {
            append_copy(&b, k, item->first, item->end);
            append_text(&b, "{");
        } else if (item->kind == LOOP_END) {
            append_text(&b, "}");
        } else if (item->kind == FOR_BLOCK) {
            append_copy(&b, k, item->first, item->end);
        } else if (item->kind != BARRIER) {
            n = append_phase(&b, k, n);
        }
    }
    append_text(&b, " WBCPU_BLOCK_END }\n#endif");
    append_line(&b, k, k->body, "");
    append_indent(&b, k);
    brace->after = keep(k->s, b.text);
}

void rewrite_blocks(struct source *s)
{
    static struct kernel k;
    index_names(s);
    for (int i = 0; i < s->count && !given_up; i++) {
        if (is(s, i, "(") && mate(s, i) > i) i = mate(s, i); /* a macro's argument? */
        if (is(s, i, "__global__") && !s->tokens[i].in_directive && read_kernel(&k, s, i))
            write_kernel(&k);
    }
}
