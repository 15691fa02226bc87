/* lockstep.c - statements that rely on the lanes of a warp in lockstep, as unrolled last
 * warps and scans did before Volta:
 *
 *     volatile float *v = shared;
 *     v[t] += v[t + 32];
 *     if (t >= 16) { v[t] += v[t - 16]; }
 *
 * Here each lane would run all of them before the next lane begins. The translator warns.
 * With WB_LOCKSTEP=1, wbcc's default, the lanes wait for one another before the first
 * statement, between the reads and the write of each one, and after it. A lane that skips
 * an `if` waits as often:
 *
 *     ::wbcpu_lockstep(); v[t] += ::wbcpu_in_lockstep( v[t + 32]); ::wbcpu_lockstep();
 *     if (t >= 16) { v[t] += ::wbcpu_in_lockstep( v[t - 16]); }
 *         else ::wbcpu_lockstep(); ::wbcpu_lockstep(); */
#include "tokens.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_VOLATILE = 64, MAX_TOKENS = 200 }; /* names; tokens of a statement */

struct names {
    const struct token *token[MAX_VOLATILE];
    int count;
};

static int is_known(const struct names *n, const struct token *t)
{
    for (int i = 0; i < n->count; i++)
        if (n->token[i]->length == t->length &&
            memcmp(n->token[i]->start, t->start, (size_t)t->length) == 0)
            return 1;
    return 0;
}

/* The name that the declaration after a `volatile` declares, or -1. */
static int declared(const struct source *s, int i)
{
    int name = -1;
    for (int n = 0; n < 8; n++) {
        i = next(s, i);
        if (is(s, i, "=") || is(s, i, ",") || is(s, i, ")") || is(s, i, "[") ||
            is(s, i, ";"))
            return name;
        if (is_name(s, i)) name = i;
    }
    return -1;
}

/* A statement v[...] op= ... v[...] ...; maybe after if (...), then maybe in braces */
struct exchange {
    int assign, semicolon; /* the = and the ; */
    int end;               /* its last token, or -1: there is no such statement */
    int conditional;       /* after if (...) */
    int comma;             /* after the =, outside of brackets */
};

static struct exchange
find_exchange(const struct source *s, int i, const struct names *volatiles)
{
    struct exchange x = {-1, -1, -1, 0, 0}, none = x;
    int brace = -1, again = 0, depth = 0;
    if (is(s, i, "if") && !s->tokens[i].in_directive && mate(s, next(s, i)) > i) {
        i = next(s, mate(s, next(s, i)));
        x.conditional = 1;
        if (is(s, i, "{")) brace = mate(s, i), i = next(s, i);
    }
    if (!is_name(s, i) || !is_known(volatiles, &s->tokens[i])) return none;
    int close = mate(s, next(s, i)), k = next(s, close);
    if (!is(s, next(s, i), "[") || close < 0) return none;
    for (int n = 0; !is(s, k, ";"); n++, k = next(s, k)) {
        if (n == MAX_TOKENS || k >= s->count || is(s, k, "{") || is(s, k, "}"))
            return none;
        if (is(s, k, "=") && x.assign < 0) x.assign = k;
        if (x.assign < 0) continue;
        depth += is(s, k, "(") || is(s, k, "[");
        depth -= is(s, k, ")") || is(s, k, "]");
        x.comma |= depth == 0 && is(s, k, ",");
        again |= is_name(s, k) && is_known(volatiles, &s->tokens[k]);
    }
    x.semicolon = x.end = k;
    if (brace >= 0 && next(s, k) != brace) return none;
    if (brace >= 0) x.end = brace;
    return again && !is(s, next(s, x.end), "else") ? x : none;
}

static void wait_around(struct source *s, const struct exchange *x)
{
    struct token *assign = &s->tokens[x->assign], *semicolon = &s->tokens[x->semicolon];
    struct token *end = &s->tokens[x->end];
    if (end->after) return;
    int inside = !x->comma && !assign->after && !semicolon->before;
    if (inside) {
        assign->after = " ::wbcpu_in_lockstep(";
        semicolon->before = ")";
    }
    end->after = inside && x->conditional
                     ? " else ::wbcpu_lockstep(); ::wbcpu_lockstep();"
                     : " ::wbcpu_lockstep();";
}

void rewrite_lockstep(struct source *s)
{
    struct names volatiles = {{0}, 0};
    for (int i = 0; i < s->count && !given_up; i++) {
        int name = is(s, i, "volatile") ? declared(s, i) : -1;
        if (name > 0 && volatiles.count < MAX_VOLATILE)
            volatiles.token[volatiles.count++] = &s->tokens[name];
        if (!is_name(s, i) || !volatiles.count) continue;
        struct exchange x = find_exchange(s, i, &volatiles);
        if (x.end < 0 || find_exchange(s, next(s, x.end), &volatiles).end < 0) continue;
        int first = i, before = previous(s, i);
        if (!s->tokens[i].before &&
            (is(s, before, ";") || is(s, before, "{") || is(s, before, "}")))
            s->tokens[i].before = "::wbcpu_lockstep(); ";
        for (; x.end > 0; x = find_exchange(s, next(s, i), &volatiles)) {
            i = x.end;
            wait_around(s, &x);
        }
        warn_at(
            s, first,
            "these statements need lanes in lockstep, which no GPU since Volta promises: "
            "write __syncwarp() between them; WB_LOCKSTEP=1 runs them in lockstep, "
            "WB_LOCKSTEP=0 does not");
    }
}
