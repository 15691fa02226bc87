/* blocks_tokens.c - writes tokens of a kernel whose threads run as loops, with what replaces
 * some of them. */
#include "blocks_write.h"

#include <stdlib.h>
#include <string.h>

void append_line(struct buffer *b, struct kernel *k, int i, const char *mark)
{
    char *path = as_string(k->s->path);
    char *text = format("\n# %d \"%s\"%s\n", k->s->tokens[i].line, path, mark);
    append_text(b, text);
    free(text);
    free(path);
}

int differs(const struct variable *v)
{
    return v->shape == NEIGHBOURS || v->shape == ROW;
}

static int phase_at(struct kernel *k, int i)
{
    for (int n = 0; n < k->item_count; n++)
        if (i >= k->items[n].first && i < k->items[n].end && k->items[n].phase >= 0 &&
            k->items[n].kind != ARGUMENTS)
            return k->items[n].phase;
    return 0;
}

/* A statement with collectives is in two phases. */
int is_in_phase(const struct kernel *k, int i, int phase)
{
    for (int n = 0; n < k->item_count; n++)
        if (i >= k->items[n].first && i < k->items[n].end && k->items[n].phase == phase)
            return 1;
    return 0;
}

void append_number(struct buffer *b, const char *pattern, int n)
{
    char *text = format(pattern, n);
    append_text(b, text);
    free(text);
}

void append_name(struct buffer *b, struct kernel *k, const char *space, int name)
{
    append_text(b, space);
    append(b, k->s->tokens[name].start, (size_t)k->s->tokens[name].length);
}

/* The slot of a call: those of a statement differ from those of the one before. */
int slot_of(const struct call *c)
{
    return c->statement % 2 * MAX_SLOTS + c->slot;
}

static void append_result(struct buffer *b, struct kernel *k, const struct call *c)
{
    append_name(b, k, "::wbcpu::take::", c->name);
    append_text(b, "<decltype(");
    append_tokens(b, k, c->value, c->value_end);
    append_number(b, ")>(wbcpu_slots[%d], wbcpu_at)", slot_of(c));
}

/* The value of [first, end) in the first thread of a row */
static void append_first_value(struct buffer *b, struct kernel *k, int first, int end)
{
    for (int i = first; i < end; i++) {
        const struct variable *v = variable_at(k, i);
        int member = next(k->s, next(k->s, i));
        if (v && differs(v))
            append_pattern(b, k, v, "wbcpu_row_%I");
        else if (is(k->s, i, "threadIdx") && is(k->s, member, "x")) {
            append_text(b, "(unsigned)wbcpu_x");
            i = member;
        } else
            append_tokens(b, k, i, i + 1);
    }
}

/* [i + 1] if that is the neighbour of the other threads' element: in a form from which g++
 * sees that no index wraps around */
static int append_index(struct buffer *b, struct kernel *k, int open)
{
    int close = mate(k->s, open);
    enum shape shape = shape_of(k, open + 1, close);
    if (shape != NEIGHBOURS && shape != ROW) return 0;
    append_text(b, "[::wbcpu::neighbour(");
    append_first_value(b, k, open + 1, close);
    append_text(b, ", wbcpu_i)]");
    return 1;
}

void append_tokens(struct buffer *b, struct kernel *k, int first, int end)
{
    const struct source *s = k->s;
    for (int i = first; i < end; i++) {
        const struct token *t = &s->tokens[i];
        const struct call *call = is_collective(s, i) ? call_at(k, i) : NULL;
        const struct variable *v = variable_at(k, i);
        if (v && v->renamed) {
            append_pattern(b, k, v, i == k->items[v->item].first ? "%T %N" : "%N");
            continue;
        }
        if (call) {
            append_result(b, k, call);
            i = call->close;
            continue;
        }
        if (k->parallel && is(s, i, "[") && append_index(b, k, i)) {
            i = mate(s, i);
            continue;
        }
        if (t->before && !t->in_reduction) append_text(b, t->before);
        if (is(s, i, "return"))
            append_number(b, "goto wbcpu_exit_%d", phase_at(k, i));
        else if (t->text && !t->in_reduction)
            append_text(b, t->text);
        else {
            if (k->own[i - k->body]) append_text(b, "::wbcpu::alone::");
            append(b, t->start, (size_t)t->length);
        }
        if (t->shift && (!t->text || t->in_reduction)) append_text(b, t->shift);
        if (t->after) append_text(b, t->after);
    }
}

void append_copy(struct buffer *b, struct kernel *k, int first, int end)
{
    /* Marked as a system header (3): the compiler warns only of the kernel as it was. */
    append_line(b, k, first, " 3");
    append_tokens(b, k, first, end);
    append_text(b, "\n");
}

void append_pattern(
    struct buffer *b, struct kernel *k, const struct variable *v, const char *pattern)
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
            if (!v->renamed) break;
            append_text(b, text);
            free(text);
            text = format("_wbcpu_%d", (int)(v - k->variables));
            break;
        case 'I':
            text = format("%d", (int)(v - k->variables));
            break;
        case 'D':
            text = text_of(k->s, v->sizes, v->sizes_end);
            break;
        case 'S':
            text = format("%.*s", v->stars, "********");
            break;
        }
        append_text(b, text);
        free(text);
    }
}
