/* lockstep.c - statements that rely on the lanes of a warp in lockstep, as unrolled last
 * warps and scans did before Volta:
 *
 *     volatile float *v = shared;
 *     v[t] += v[t + 32];
 *     if (t >= 16) { v[t] += v[t - 16]; }
 *
 * the same in a loop,
 *
 *     for (int d = 16; d > 0; d /= 2) if (t < d) v[t] += v[t + d];
 *
 * or one statement in which two lanes read each other's element and change their own, with
 * int t = threadIdx.x;
 *
 *     s[t] += s[t ^ 8];
 *
 * Here each lane would run all of them before the next lane begins. The translator warns.
 * With WB_LOCKSTEP=1, wbcc's default, the lanes wait for one another before the first
 * statement, between the reads and the write of each one, and after it. A lane that skips
 * an `if` waits as often:
 *
 *     ::wbcpu_lockstep(); v[t] += ::wbcpu_in_lockstep( v[t + 32]); ::wbcpu_lockstep();
 *     if (t >= 16) { v[t] += ::wbcpu_in_lockstep( v[t - 16]); }
 *         else ::wbcpu_lockstep(); ::wbcpu_lockstep();
 *     for (int d = 16; ::wbcpu_lockstep(), d > 0; d /= 2) ... */
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

static int is_in(const struct source *s, const struct token *name, int from, int to)
{
    struct names one = {{name}, 1};
    for (int i = from; i < to; i++)
        if (is_name(s, i) && is_known(&one, &s->tokens[i])) return 1;
    return 0;
}

/* A loop of one such statement, which reads another element in each iteration */
static struct exchange
find_loop(const struct source *s, int i, const struct names *volatiles, int *condition)
{
    struct exchange none = {-1, -1, -1, 0, 0};
    int open = next(s, i), close = mate(s, open), body = next(s, close), variable = -1;
    if (!is(s, i, "for") || s->tokens[i].in_directive || close < open) return none;
    for (i = next(s, open); i < close && !is(s, i, ";"); i = next(s, i))
        if (is(s, i, "=") && variable < 0) variable = previous(s, i);
    *condition = i;
    if (i >= close || is(s, next(s, i), ";") || variable < 0) return none;
    int brace = is(s, body, "{") ? mate(s, body) : -1;
    if (brace >= 0) body = next(s, body);
    struct exchange x = find_exchange(s, body, volatiles);
    if (x.end < 0 || x.comma || (brace >= 0 && next(s, x.end) != brace)) return none;
    const struct token *counter = &s->tokens[variable];
    int element = previous(s, x.assign);
    while (!is_name(s, element) || !is_known(volatiles, &s->tokens[element]))
        element = previous(s, element);
    return !is_in(s, counter, element, x.assign) && is_in(s, counter, x.assign, x.end)
               ? x
               : none;
}

/* A statement s[t] op= s[t ^ ...]; */
static struct exchange
find_swap(const struct source *s, int i, const struct names *indices)
{
    struct exchange x = {-1, -1, -1, 0, 0};
    int open = next(s, i), t = next(s, open), close = next(s, t), op = next(s, close);
    if (!is(s, open, "[") || !is_name(s, t) || mate(s, open) != close ||
        !is_known(indices, &s->tokens[t]) || !is(s, op + 1, "="))
        return x;
    int other = next(s, op + 1), from = next(s, other), u = next(s, from);
    int semicolon = next(s, mate(s, from));
    if (!is_name(s, other) || !is(s, from, "[") || mate(s, from) < 0 ||
        !is(s, next(s, u), "^") || !is(s, semicolon, ";"))
        return x;
    if (!is_known(&(struct names){{&s->tokens[i]}, 1}, &s->tokens[other]) ||
        !is_known(&(struct names){{&s->tokens[t]}, 1}, &s->tokens[u]))
        return x;
    x.assign = op + 1;
    x.semicolon = x.end = semicolon;
    return x;
}

/* 1 if the name at i is given the value threadIdx.x. */
static int is_thread_index(const struct source *s, int i)
{
    int equals = next(s, i), index = next(s, equals), dot = next(s, index),
        member = next(s, dot);
    return is_name(s, i) && is(s, equals, "=") && is(s, index, "threadIdx") &&
           is(s, member, "x") && is(s, next(s, member), ";");
}

/* Lanes wait between the reads and the write, and after the write. In a loop, the condition
 * waits instead. */
static void wait_around(struct source *s, const struct exchange *x, int in_loop)
{
    struct token *assign = &s->tokens[x->assign], *semicolon = &s->tokens[x->semicolon];
    struct token *end = &s->tokens[x->end];
    if (end->after) return;
    int inside = !x->comma && !assign->after && !semicolon->before;
    end->lockstep = IN_LOCKSTEP;
    if (inside) {
        assign->after = " ::wbcpu_in_lockstep(";
        semicolon->before = ")";
        assign->lockstep = VALUE_FOLLOWS, semicolon->lockstep = VALUE_PRECEDES;
    }
    int skips = inside && x->conditional;
    end->after = skips && in_loop ? " else ::wbcpu_lockstep();"
                 : skips          ? " else ::wbcpu_lockstep(); ::wbcpu_lockstep();"
                 : in_loop        ? ""
                                  : " ::wbcpu_lockstep();";
}

static void add_name(struct names *n, const struct token *t)
{
    if (n->count < MAX_VOLATILE && !is_known(n, t)) n->token[n->count++] = t;
}

static const char several_need[] =
    "these statements need lanes in lockstep, which no GPU since Volta guarantees: write "
    "__syncwarp() between them; WB_LOCKSTEP=1 runs them in lockstep, WB_LOCKSTEP=0 does not";
static const char loop_needs[] =
    "this loop needs lanes in lockstep, which no GPU since Volta guarantees: in each "
    "iteration, read into a variable, then __syncwarp(), write, and __syncwarp(); "
    "WB_LOCKSTEP=1 runs it in lockstep, WB_LOCKSTEP=0 does not";

void rewrite_lockstep(struct source *s)
{
    struct names volatiles = {{0}, 0}, indices = {{0}, 0};
    for (int i = 0; i < s->count && !given_up; i++) {
        int name = is(s, i, "volatile") ? declared(s, i) : -1;
        if (name > 0) add_name(&volatiles, &s->tokens[name]);
        if (is_thread_index(s, i)) add_name(&indices, &s->tokens[i]);
        if (!is_name(s, i)) continue;
        int condition = -1, first = i, before = previous(s, i);
        struct exchange x = find_loop(s, i, &volatiles, &condition);
        if (x.end > 0 && !s->tokens[condition].after) {
            s->tokens[condition].after = " ::wbcpu_lockstep(),";
            s->tokens[condition].lockstep = IN_LOCKSTEP;
            wait_around(s, &x, 1);
            warn_at(s, first, loop_needs);
            i = x.end;
            continue;
        }
        x = find_exchange(s, i, &volatiles);
        int several = x.end > 0 && find_exchange(s, next(s, x.end), &volatiles).end > 0;
        if (!several) x = find_swap(s, i, &indices);
        if (x.end < 0) continue;
        if (!s->tokens[i].before &&
            (is(s, before, ";") || is(s, before, "{") || is(s, before, "}")))
            s->tokens[i].before = "::wbcpu_lockstep(); ",
            s->tokens[i].lockstep = IN_LOCKSTEP;
        for (; x.end > 0; x = find_exchange(s, next(s, i), &volatiles)) {
            i = x.end;
            wait_around(s, &x, 0);
        }
        warn_at(
            s, first,
            several ? several_need
                    : "this statement needs lanes in lockstep, which no GPU since Volta "
                      "guarantees: read into a variable, then __syncwarp() and write; "
                      "WB_LOCKSTEP=1 runs it in lockstep, WB_LOCKSTEP=0 does not");
    }
}
