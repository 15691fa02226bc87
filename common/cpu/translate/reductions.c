/* reductions.c - rewrites loops that reduce a value over a warp:
 *
 *     for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffff, v, o);
 * becomes one collective in place of five (include/wbcpu/reduction.h):
 *     v = ::wbcpu::warp_loop<::wbcpu::read_xor, 16, false>(
 *         0xffffffff, v, [](auto &x, auto y) { x += y; });
 *
 * Recognizes the usual loops: xor or down, offsets that halve from a power of two or
 * double from one, a sum, product, minimum, maximum or bit operation, one statement or
 * several in braces, also in two steps:  float t = __shfl_xor_sync(m, v, o); v += t;
 * A loop that differs in any token is left alone.
 */
#include "reductions.h"

#include <stdlib.h>
#include <string.h>

/* A longer loop is left alone. A source can nest many loop heads; with these limits the
 * time stays proportional to its size. */
enum { MAX_STATEMENTS = 8, MAX_HEAD = 200, MAX_BODY = 1000 }; /* the last two: tokens */

/* --- the head of the loop ----------------------------------------------------------- */

static int is_offset(int n)
{
    return n == 1 || n == 2 || n == 4 || n == 8 || n == 16;
}

struct head {
    char *offset; /* the name of the loop variable */
    int first;    /* the largest offset */
    int rising;
};

/* Fills h from for (open ... close), or returns 0; h->offset is the caller's to free. */
static int read_head(const struct source *s, int open, int close, struct head *h)
{
    static const char *const types[] = {"int", "unsigned", "unsigned int", "auto", NULL};
    static const char *const while_positive[] = {
        OFFSET ">0", OFFSET ">=1", OFFSET "!=0", OFFSET, "0<" OFFSET, OFFSET ">0u", NULL};
    static const char *const halves[] = {
        OFFSET ">>=1", OFFSET "/=2", OFFSET "=" OFFSET "/2", OFFSET "=" OFFSET ">>1",
        NULL};
    static const char *const doubles[] = {OFFSET "<<=1",          OFFSET "*=2",
                                          OFFSET "=" OFFSET "*2", OFFSET "=" OFFSET "<<1",
                                          OFFSET "+=" OFFSET,     NULL};
    int semicolon1 = find(s, open, close, ";"), assign = find(s, open, close, "=");
    if (semicolon1 < 0 || assign < 0 || assign > semicolon1) return 0;
    int semicolon2 = find(s, semicolon1 + 1, close, ";"), name = previous(s, assign);
    if (semicolon2 < 0 || !is_name(s, name)) return 0;
    h->offset = plain(s, name, name + 1);
    char *type = plain(s, open + 1, name), *start = plain(s, assign + 1, semicolon1);
    char *condition =
        compact(s, semicolon1 + 1, semicolon2, h->offset, OFFSET, -1, -1, NULL);
    char *step = compact(s, semicolon2 + 1, close, h->offset, OFFSET, -1, -1, NULL);
    int from = constant(s, start), ok = one_of(type, types);
    if (one_of(condition, while_positive) && one_of(step, halves)) {
        h->first = from;
        h->rising = 0;
    } else if (
        from == 1 && one_of(step, doubles) && strncmp(condition, OFFSET "<", 2) == 0) {
        int inclusive = condition[2] == '=';
        h->first = constant(s, condition + 2 + inclusive);
        if (!inclusive) h->first = h->first % 2 == 0 ? h->first / 2 : -1;
        h->rising = 1;
    } else {
        ok = 0;
    }
    free(type);
    free(start);
    free(condition);
    free(step);
    ok = ok && is_offset(h->first);
    if (!ok) free(h->offset);
    return ok;
}
/* --- the rewriting ------------------------------------------------------------------ */

/* Replaces the marks by the lambda's parameters. */
static char *with_names(const char *combine)
{
    struct buffer text = {0};
    append_text(&text, "");
    for (; *combine; combine++)
        if (*combine == *VALUE)
            append_text(&text, "wbcpu_x");
        else if (*combine == *OTHER)
            append_text(&text, "wbcpu_y");
        else
            append(&text, combine, 1);
    return text.text;
}

static char *as_operation(const struct reduction *r, const struct head *h)
{
    char *combine = with_names(r->combine);
    char *text = format(
        "%s=::wbcpu::warp_loop<::wbcpu::read_%s,%d,%s>(%s,%s,"
        "[](auto &wbcpu_x,%s wbcpu_y){%s;});",
        r->value, r->down ? "down" : "xor", h->first, h->rising ? "true" : "false",
        r->mask, r->value, r->type, combine);
    free(combine);
    return text;
}

/* Replaces the loop at [loop, end] by its operations. */
static void replace(
    struct source *s, int loop, int end, const struct head *h, const struct reduction *r,
    int count)
{
    struct buffer text = {0};
    append_text(&text, count == 1 ? "" : "{");
    for (int i = 0; i < count; i++) {
        char *one = as_operation(&r[i], h);
        append_text(&text, one);
        free(one);
    }
    append_text(&text, count == 1 ? "" : "}");
    int pragma = previous(s, loop); /* #pragma unroll applies to the loop */
    if (pragma >= 0 && s->tokens[pragma].kind == DIRECTIVE) {
        char *line = plain(s, pragma, pragma + 1);
        if (strstr(line, "unroll")) erase(s, pragma, pragma + 1);
        free(line);
    }
    for (int i = loop; i <= end; i++)
        s->tokens[i].in_reduction = 1;
    s->tokens[loop].before = keep(s, text.text);
    erase(s, loop, end + 1);
}

static void rewrite_loop(struct source *s, int loop)
{
    struct head h;
    struct reduction r[MAX_STATEMENTS];
    int starts[MAX_STATEMENTS], count = 0, ok = 1;
    int open = next(s, loop), close = mate(s, open);
    if (s->tokens[loop].in_directive) return; /* macros are left alone */
    if (!is(s, open, "(") || close < 0 || close - open > MAX_HEAD) return;
    if (!read_head(s, open, close, &h)) return;
    int body = next(s, close), braces = is(s, body, "{");
    int limit = body + MAX_BODY < s->count ? body + MAX_BODY : s->count;
    int end = braces ? mate(s, body) : find(s, body, limit, ";");
    if (end > limit) end = -1;
    int at = braces ? next(s, body) : body, past = braces ? end : end + 1;
    while (ok && end > 0 && at < past) {
        int semicolon = find(s, at, end + 1, ";");
        if (semicolon < 0 || count == MAX_STATEMENTS) {
            ok = 0;
            break;
        }
        starts[count] = at;
        ok = read_reduction(s, at, semicolon, past, h.offset, &r[count]);
        /* With a width, xor must not reach outside its segment. */
        ok = ok &&
             (r[count].width == 32 || (!r[count].down && r[count].width >= 2 * h.first));
        at = next(s, r[count].end);
        count++;
    }
    ok = ok && count && are_independent(s, r, starts, count);
    if (ok) replace(s, loop, end, &h, r, count);
    for (int i = 0; i < count; i++)
        free_reduction(&r[i]);
    free(h.offset);
}

void rewrite_reductions(struct source *s)
{
    find_constants(s);
    for (int i = 0; i < s->count; i++)
        if (is(s, i, "for")) rewrite_loop(s, i);
}
