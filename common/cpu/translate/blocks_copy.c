/* blocks_copy.c - the tokens that blocks_flat.c writes, and the names in them. */
#include "blocks_flat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- adding tokens ------------------------------------------------------------------ */

void give_up(struct flat *f)
{
    f->failed = 1;
}

static void add_token(struct flat *f, struct token t)
{
    if (f->failed || f->count == MAX_FLAT)
        give_up(f);
    else
        f->tokens[f->count++] = t;
}

void put(struct flat *f, int i)
{
    struct token t = f->s->tokens[i];
    if (t.in_directive) give_up(f); /* #if in the kernel */
    if (t.lockstep) {
        t.before = t.after = NULL;
        f->changed = f->in_lockstep = 1;
    }
    if (t.lockstep == VALUE_PRECEDES) put_words(f, ")");
    if (f->line) t.line = f->line;
    struct token blank = {.kind = BLANK, .start = " ", .length = 1, .line = t.line};
    struct token line = {.kind = BLANK, .start = "\n", .length = 1, .line = t.line};
    if (t.kind == DIRECTIVE) add_token(f, line); /* it has a line of its own */
    add_token(f, t.kind == COMMENT ? blank : t); /* after // there may be more */
    if (t.lockstep == VALUE_FOLLOWS) put_words(f, " wbcpu_lockstep_sync ( 0 ,");
    if (t.kind == DIRECTIVE) add_token(f, line);
}

static void add_text(struct flat *f, enum kind kind, char *text)
{
    keep(f->s, text);
    add_token(
        f, (struct token){
               .kind = kind,
               .start = text,
               .length = (int)strlen(text),
               .line = f->line ? f->line : f->own_line,
               .mate = -1});
}

void put_words(struct flat *f, const char *words) /* a leading blank counts */
{
    while (*words && !f->failed) {
        int n = (int)strcspn(words, " "), digit = *words >= '0' && *words <= '9';
        int name = *words == '_' || (*words >= 'a' && *words <= 'z');
        if (n) add_text(f, digit ? NUMBER : name ? NAME : MARK, format("%.*s", n, words));
        if (!n || digit || name) add_text(f, BLANK, format(" "));
        words += n + (words[n] == ' ');
    }
}

void put_number(struct flat *f, const char *pattern, int number)
{
    char *text = format(pattern, number);
    put_words(f, text);
    free(text);
}

/* Finds what follows each new token, and the matching brackets. */
static void link_tokens(struct flat *f, int first)
{
    struct source *s = f->s;
    int open[MAX_NESTING], depth = 0, last = previous(s, first);
    for (int i = first; i < s->count; i++) {
        struct token *t = &s->tokens[i];
        t->mate = -1, t->previous = last;
        if (t->kind != BLANK && t->kind != COMMENT) last = i;
        if (t->kind != MARK || !strchr("()[]{}", *t->start)) continue;
        if (strchr("([{", *t->start)) {
            if (depth == MAX_NESTING) {
                give_up(f);
                return;
            }
            open[depth++] = i;
        } else if (depth) {
            t->mate = open[--depth];
            s->tokens[t->mate].mate = i;
        }
    }
    for (int i = s->count - 1, after = s->count; i >= first; i--) {
        s->tokens[i].next = after;
        if (s->tokens[i].kind != BLANK && s->tokens[i].kind != COMMENT) after = i;
    }
    if (depth) give_up(f);
}

/* Appends tokens to the source. */
int append_to_source(struct flat *f, const struct token *tokens, int count)
{
    struct source *s = f->s;
    int first = s->count;
    if (s->count + count > s->room) {
        s->room = s->count + s->count / 4 + count + MAX_FLAT;
        s->tokens = check_alloc(realloc(s->tokens, (size_t)s->room * sizeof *tokens));
    }
    memcpy(s->tokens + s->count, tokens, (size_t)count * sizeof *tokens);
    s->count += count;
    link_tokens(f, first);
    return first;
}

/* What to add to the tokens of a function to find them in the source */
int shift_of(struct flat *f, const struct device_function *d)
{
    if (d->s == f->s) return 0;
    for (int n = 0; n < f->import_count; n++)
        if (f->imports[n].d == d) return f->imports[n].shift;
    if (f->import_count == MAX_IMPORTS) {
        give_up(f);
        return 0;
    }
    int shift = f->s->count - d->start;
    f->imports[f->import_count].d = d;
    f->imports[f->import_count++].shift = shift;
    append_to_source(f, d->s->tokens + d->start, d->end + 1 - d->start);
    return shift;
}

/* --- names -------------------------------------------------------------------------- */

int is_member(const struct source *s, int i)
{
    int p = previous(s, i);
    return is(s, p, ".") || (is(s, p, ">") && is(s, p - 1, "-")) ||
           (is(s, p, ":") && is(s, p - 1, ":"));
}

void bind(struct flat *f, struct scope *c, struct binding b)
{
    if (c->binding_count == MAX_BINDINGS)
        give_up(f);
    else
        c->bindings[c->binding_count++] = b;
}

const struct binding *find_binding(struct flat *f, const struct scope *c, int i)
{
    for (int n = 0; n < c->binding_count; n++)
        if (same_text(f->s, c->bindings[n].name, i)) return &c->bindings[n];
    return NULL;
}

const struct typed *find_typed(struct flat *f, const struct scope *c, int i)
{
    for (int n = c->typed_count - 1; n >= 0; n--)
        if (same_text(f->s, c->typed[n].name, i)) return &c->typed[n];
    return NULL;
}

int is_own_name(const struct source *s, int i)
{
    int n = next(s, i);
    return is_free(s, i) && !is_global(s, i) && !function_at(s, i) && !is(s, n, "(") &&
           !(is(s, n, ":") && is(s, n + 1, ":")) && !is_class(s, i);
}

void put_own_name(struct flat *f, const struct scope *c, int i)
{
    const struct token *t = &f->s->tokens[i];
    const struct typed *v = find_typed(f, c, i);
    int shared = v ? v->shared : 0;
    add_text(
        f, NAME,
        format(
            shared ? "wbcpu_shared%d_%.*s" : "wbcpu_%d_%.*s", shared ? shared : c->number,
            t->length, t->start));
    if (f->failed) return;
    const struct token *old = &f->s->tokens[i];
    if (!old->lockstep) {
        f->tokens[f->count - 1].before = old->before; /* the * of a shared array */
        f->tokens[f->count - 1].after = old->after;
    }
    put_words(f, " ");
}
