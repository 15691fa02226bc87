/* blocks_macros.c - replaces a macro as the preprocessor would: it is defined once, not in
 * an #if, and has no # in it. A macro that is a number stays. */
#include "blocks_flat.h"
#include "outline.h"

#include <stdlib.h>
#include <string.h>

/* Binds the parameters (a, b) that begin at `open` to the arguments of the call. */
static void
bind_arguments(struct flat *f, int open, int call_open, struct scope *c, struct scope *in)
{
    const struct source *s = f->s;
    int a = next(s, call_open), close = mate(s, call_open), count = 0;
    struct binding of[MAX_BINDINGS];
    for (int p = next(s, open); p < mate(s, open); p = next(s, p)) {
        if (is(s, p, ",")) continue;
        int first = a;
        a = find_outside(s, a, close, ",");
        if (!is_name(s, p) || first >= a || count == MAX_BINDINGS) {
            give_up(f);
            return;
        }
        of[count++] = (struct binding){p, first, a, c, 0, 1};
        a = next(s, a);
    }
    if (a < close || in->binding_count + count > MAX_BINDINGS) {
        give_up(f);
        return;
    }
    memmove(in->bindings + count, in->bindings, (size_t)in->binding_count * sizeof *of);
    memcpy(in->bindings, of, (size_t)count * sizeof *of);
    in->binding_count += count;
}

/* 1 if the macro is defined before the kernel. A header counts if none is included later. */
static int is_before(const struct flat *f, const struct name *n)
{
    return n->in == f->s ? n->at < f->at : last_include() < f->at;
}

int flat_macro(struct flat *f, int i, struct scope *c)
{
    struct source *s = f->s;
    const struct token *t = &s->tokens[i];
    const struct name *n = look_up(t->start, t->length, 0);
    if (!n || !(n->flags & MACRO) || !n->macro || n->defined != 1) return i;
    if (n->guarded || strchr(n->macro, '#') || is_number(s, i) || !is_before(f, n))
        return i;
    int call = next(s, i), after = n->takes ? next(s, mate(s, call)) : i + 1;
    if (n->takes && !is(s, call, "(")) return i;
    if (f->macros == MAX_INLINED || f->expansions++ == MAX_EXPANSIONS) {
        give_up(f);
        return i;
    }
    struct source m = {.path = s->path, .text = format("%s", n->macro)};
    m.size = strlen(m.text);
    keep(s, m.text);
    tokenize(&m);
    struct scope *in = check_alloc(malloc(sizeof *in));
    if (given_up) {
        give_up(f);
    } else {
        *in = *c;
        for (int k = 0; k < m.count; k++)
            m.tokens[k].line = s->tokens[i].line;
        int open = append_to_source(f, m.tokens, m.count), end = s->count;
        f->macros++;
        if (n->takes) bind_arguments(f, open, call, c, in);
        flat_tokens(f, n->takes ? next(s, mate(s, open)) : open, end, in);
        f->macros--;
        f->changed = 1;
    }
    free(m.tokens);
    free(in);
    return after;
}
