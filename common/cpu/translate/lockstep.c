/* lockstep.c - statements that rely on the lanes of a warp in lockstep, as unrolled last
 * warps did before Volta:
 *
 *     volatile float *v = shared;
 *     v[t] += v[t + 32];
 *     v[t] += v[t + 16];
 *
 * Here each lane would run all of them before the next lane begins. A warning says so; with
 * WB_LOCKSTEP=1 the lanes wait for one another after each statement. */
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
        if (is(s, i, "=") || is(s, i, ",") || is(s, i, ")") || is(s, i, "[") || is(s, i, ";"))
            return name;
        if (is_name(s, i)) name = i;
    }
    return -1;
}

/* The ';' of a statement v[...] op= ... v[...] ...; at i, maybe after if (...); or -1. */
static int exchange(const struct source *s, int i, const struct names *volatiles)
{
    if (is(s, i, "if") && mate(s, next(s, i)) > i) i = next(s, mate(s, next(s, i)));
    if (!is_name(s, i) || !is_known(volatiles, &s->tokens[i])) return -1;
    int close = mate(s, next(s, i)), assigned = 0, again = 0;
    if (!is(s, next(s, i), "[") || close < 0) return -1;
    for (int n = 0, k = next(s, close); n < MAX_TOKENS && k < s->count; n++, k = next(s, k)) {
        if (is(s, k, ";")) return assigned && again ? k : -1;
        if (is(s, k, "{") || is(s, k, "}")) return -1;
        if (is(s, k, "=")) assigned = 1;
        again |= assigned && is_name(s, k) && is_known(volatiles, &s->tokens[k]);
    }
    return -1;
}

void rewrite_lockstep(struct source *s)
{
    struct names volatiles = {{0}, 0};
    for (int i = 0; i < s->count && !given_up; i++) {
        int name = is(s, i, "volatile") ? declared(s, i) : -1;
        if (name > 0 && volatiles.count < MAX_VOLATILE)
            volatiles.token[volatiles.count++] = &s->tokens[name];
        if (!is_name(s, i) || !volatiles.count) continue;
        int end = exchange(s, i, &volatiles), first = i;
        int another = end > 0 ? exchange(s, next(s, end), &volatiles) : -1;
        if (another < 0) continue;
        for (; end > 0; end = exchange(s, next(s, i), &volatiles)) {
            i = end;
            if (!s->tokens[end].after) s->tokens[end].after = " ::wbcpu_lockstep();";
        }
        warn_at(
            s, first,
            "these statements need lanes in lockstep, which no GPU since Volta promises: "
            "write __syncwarp() between them, or run with WB_LOCKSTEP=1");
    }
}
