/* spins.c - loops that only wait: while (*flag == 0); and do { v = *flag; } while (v == 0);
 * get a call of wbcpu_spin, which lets other threads run after a while. */
#include "tokens.h"

enum { MAX_BODY = 60 }; /* tokens of a loop that only waits */

/* 1 if the `while` at i ends a do-loop. */
static int ends_do(const struct source *s, int i)
{
    int p = previous(s, i);
    if (is(s, p, "}")) return is(s, previous(s, mate(s, p)), "do");
    for (int n = 0; n < MAX_BODY && is(s, p, ";") + n > 0; n++) {
        p = previous(s, p);
        if (is(s, p, "do")) return 1;
        if (is(s, p, ")") || is(s, p, "]")) p = mate(s, p);
        if (p < 0 || is(s, p, ";") || is(s, p, "{") || is(s, p, "}")) return 0;
    }
    return 0;
}

static void after(struct source *s, int i)
{
    if (!s->tokens[i].after) s->tokens[i].after = " ::wbcpu_spin();";
}

static void while_loop(struct source *s, int i)
{
    int close = mate(s, next(s, i)), body = next(s, close);
    if (!is(s, next(s, i), "(") || close < 0 || ends_do(s, i)) return;
    if (is(s, body, ";")) s->tokens[body].text = " ::wbcpu_spin();";
    if (!is(s, body, "{")) return;
    int first = next(s, body);
    if (is(s, first, "}") || (is(s, first, ";") && is(s, next(s, first), "}")))
        after(s, body);
}

/* One assignment that counts nothing. */
static void do_loop(struct source *s, int i)
{
    int body = next(s, i), end = mate(s, body), assignments = 0;
    if (!is(s, body, "{") || end < 0 || end - body > MAX_BODY) return;
    for (int k = body + 1; k < end; k++) {
        if (run_of(s, k, '+', 2) || run_of(s, k, '-', 2) || is(s, k, "{")) return;
        if (is(s, k, "=")) {
            int before = previous(s, k);
            if (!is_name(s, before) && !is(s, before, "]")) return;
            assignments++;
        }
    }
    if (assignments == 1) after(s, body);
}

void rewrite_spins(struct source *s)
{
    for (int i = 0; i < s->count && !given_up; i++)
        if (is(s, i, "while"))
            while_loop(s, i);
        else if (is(s, i, "do"))
            do_loop(s, i);
}
