/* outline_tokens.c - the tokens of an outline: a source without blanks, comments and lines
 * of the preprocessor. What those lines define is entered on the way. */
#include "outline.h"

#include <stdlib.h>
#include <string.h>

/* --- tokens of an outline ----------------------------------------------------------- */

int word(const struct outline *o, int i, const char *text)
{
    return i >= 0 && i < o->count && is(o->s, o->token[i], text);
}
int named(const struct outline *o, int i)
{
    return i >= 0 && i < o->count && is_name(o->s, o->token[i]);
}
int other(const struct outline *o, int i)
{
    int m = i >= 0 && i < o->count ? mate(o->s, o->token[i]) : -1;
    return m < 0 ? -1 : o->place[m];
}
int past_angles(const struct outline *o, int i)
{
    int close = word(o, i, "<") ? close_angle(o->s, o->token[i]) : -1;
    int at = close < 0 ? -1 : o->place[close];
    return at < 0 ? i : at + 1;
}
int scope_mark(const struct outline *o, int i)
{
    return word(o, i, ":") && word(o, i + 1, ":") && o->token[i + 1] == o->token[i] + 1;
}

/* --- lines of the preprocessor ------------------------------------------------------ */

/* 1 for the '#' of #if, #define, ... (but not for #include and others that are one token) */
static int starts_directive(const struct source *s, int i)
{
    int k = next(s, i);
    return is(s, i, "#") && !s->tokens[i].in_directive && k < s->count &&
           s->tokens[k].in_directive;
}

/* #define HD __host__ __device__, or a macro that contains such a macro */
static int is_for_both(const struct source *s, int name, int end)
{
    int host = 0, device = 0;
    for (int i = name + 1; i < end && !is(s, name + 1, "("); i++) {
        const struct token *t = &s->tokens[i];
        const struct name *n = t->kind == NAME ? look_up(t->start, t->length, 0) : NULL;
        if (n && n->for_both) return 1;
        host |= is(s, i, "__host__");
        device |= is(s, i, "__device__");
    }
    return host && device;
}

/* What follows the name in #define; of all but short ones, nothing. */
static void enter_macro(const struct source *s, int name, int guarded)
{
    enum { MAX_MACRO = 60 }; /* tokens */
    struct name *n = look_up(s->tokens[name].start, s->tokens[name].length, 1);
    int end = name + 1;
    while (end < s->count && end < name + MAX_MACRO && s->tokens[end].in_directive)
        end++;
    n->defined++;
    n->guarded = guarded;
    n->in = s, n->at = name;
    n->takes = is(s, name + 1, "(");
    n->for_both |= is_for_both(s, name, end);
    free(n->macro);
    n->macro = end < name + MAX_MACRO ? text_of(s, name + 1, end) : NULL;
}

/* A macro may rename, declare or hide a function: its name, and the names in its text that
 * look declared, are unsure. Token i is the '#'. */
static void know_macro(const struct source *s, int i, int guarded)
{
    int define = next(s, i), name = next(s, define);
    if (is(s, define, "undef") && is_name(s, name))
        look_up(s->tokens[name].start, s->tokens[name].length, 1)->defined++;
    if (!is(s, define, "define") || !is_name(s, name)) return;
    enter_macro(s, name, guarded);
    for (int k = name; k < s->count && s->tokens[k].in_directive; k = next(s, k)) {
        const struct token *t = &s->tokens[k];
        int before = previous(s, k);
        if (t->kind == NAME &&
            (k == name || (is_name(s, before) && before != name) || is(s, before, "*") ||
             is(s, before, "&") || is(s, before, ">") || is(s, before, "#")))
            look_up(t->start, t->length, 1)->flags |= k == name ? MACRO | UNSURE : UNSURE;
    }
}

/* The #if that a whole header is in, to be read once, does not count. */
static int is_guarded(const struct source *s)
{
    int first = next(s, -1);
    return starts_directive(s, first) && is(s, next(s, first), "ifndef");
}

/* --- the tokens --------------------------------------------------------------------- */

void take_tokens(struct outline *o)
{
    const struct source *s = o->s;
    int depth = is_guarded(s) ? -1 : 0;
    for (int i = 0; i < s->count; i++) {
        const struct token *t = &s->tokens[i];
        int start = starts_directive(s, i), m = t->mate;
        int in_line = start || t->in_directive || t->kind == DIRECTIVE;
        o->place[i] = -1;
        if (start) {
            int k = next(s, i);
            if (is(s, k, "if") || is(s, k, "ifdef") || is(s, k, "ifndef")) depth++;
            if (is(s, k, "endif")) depth--;
            know_macro(s, i, depth > 0);
        }
        if (t->kind == MARK && !in_line && strchr("()[]{}", *t->start) &&
            (m < 0 || s->tokens[m].in_directive))
            o->lost = 1;
        if (in_line || t->kind == BLANK || t->kind == COMMENT) continue;
        o->place[i] = o->count;
        o->depth[o->count] = (unsigned short)(depth < 0 ? 0 : depth);
        o->token[o->count++] = i;
    }
}
