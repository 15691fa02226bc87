/* unroll.c - makes g++ unroll the outer loop of a nest that accumulates:
 *
 *     #pragma unroll
 *     for (int r = 0; r < ROWS; r++)
 *     #pragma unroll
 *         for (int i = 0; i < N; i++)
 *             sum[i] += w[r] * x[r][i];
 *
 * g++ ignores #pragma unroll. It vectorizes the inner loop, but leaves `sum` in memory,
 * and loads and stores it once for each r. The outer loop becomes #pragma GCC unroll:
 * unrolled after the inner one is vectorized, it keeps the sums in vector registers. The
 * inner loop's pragma stays as it is: unrolled first, it would not be vectorized.
 */
#include "tokens.h"

enum { MAX_HEAD = 200, MAX_BODY = 200 }; /* tokens; a longer nest is left alone */
static const char UNROLL[] = "#pragma GCC unroll 64"; /* or as often as the loop runs */

static int is_unroll(const struct source *s, int i)
{
    return is(s, i, "#pragma unroll") && s->tokens[i].kind == DIRECTIVE;
}

/* The first token of the body of the `for` at i, or -1 */
static int body_of(const struct source *s, int i)
{
    int open = next(s, i), close = mate(s, open);
    if (!is(s, i, "for") || s->tokens[i].in_directive || !is(s, open, "(")) return -1;
    return close < 0 || close - open > MAX_HEAD ? -1 : next(s, close);
}

/* One statement that adds to something, without brackets other than indices */
static int accumulates(const struct source *s, int i)
{
    int adds = 0;
    for (int n = 0; n < MAX_BODY && i >= 0 && i < s->count; n++, i = next(s, i)) {
        if (is(s, i, ";")) return adds;
        if (is(s, i, "(") || is(s, i, "{") || s->tokens[i].kind == DIRECTIVE) return 0;
        adds |= is(s, i, "+") && is(s, i + 1, "=");
    }
    return 0;
}

void rewrite_unrolls(struct source *s)
{
    for (int i = 0; i < s->count; i++) {
        if (!is_unroll(s, i)) continue;
        int inner = body_of(s, next(s, i));
        if (is_unroll(s, inner)) inner = next(s, inner);
        if (inner >= 0 && accumulates(s, body_of(s, inner))) s->tokens[i].text = UNROLL;
    }
}
