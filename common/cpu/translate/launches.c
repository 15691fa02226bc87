/* launches.c - rewrites kernel<<<grid, block>>>(arguments); rejects plain calls of
 * kernels.
 *
 *     ns::k<float><<<g, b, n, s>>>(x, f(y))
 * becomes
 *     ::wbcpu::launch(__FILE__, __LINE__, "ns::k<float>", ::wbcpu::config(g, b, n, s),
 *                     [=](auto &...wbcpu_a) { ns::k<float>(wbcpu_a...); })(x, f(y))
 *
 * so that arguments are evaluated once, on the host, and copied. A literal 0, NULL or
 * {...} changes its type when it is forwarded. In that case each other argument gets a
 * name, and the literal stays in the call:  [=](auto &wbcpu_1) { k(0, wbcpu_1); })(n)
 */
#include "tokens.h"

#include <stdlib.h>
#include <string.h>

/* --- the kernel's name -------------------------------------------------------------- */

/* Skips one qualifier before the name at i: ns::, T<int>::, object. or pointer->. Returns
 * its first token, or i if there is none. */
static int step_left(const struct source *s, int i)
{
    int a = previous(s, i), b = previous(s, a);
    if (is(s, a, ".")) return b;
    if (is(s, a, ">") && is(s, b, "-")) return previous(s, b);
    if (!is(s, a, ":") || !is(s, b, ":")) return i;
    int c = previous(s, b);
    if (is(s, c, ">")) {
        int o = open_angle(s, c);
        return o < 0 ? b : previous(s, o);
    }
    if (is_name(s, c) && !is(s, c, "return") && !is(s, c, "else") && !is(s, c, "do"))
        return c;
    return b; /* ::k */
}

/* The first token of the kernel's name, which ends before i, or -1. */
static int callee_start(const struct source *s, int i)
{
    i = previous(s, i);
    if (is(s, i, ">")) { /* template arguments */
        i = open_angle(s, i);
        i = i < 0 ? -1 : previous(s, i);
    }
    if (is(s, i, ")")) return mate(s, i);           /* (*pointer)<<< */
    if (is(s, i, "]")) i = previous(s, mate(s, i)); /* table[i]<<< */
    if (!is_name(s, i)) return -1;
    for (int left; (left = step_left(s, i)) != i; i = left)
        if (left < 0) return -1;
    return i;
}

/* The first '>' of the >>> that closes the <<< at i, or -1. */
static int closing_chevrons(const struct source *s, int i)
{
    for (i += 3; i < s->count; i++) {
        if (s->tokens[i].kind != MARK) continue;
        char c = *s->tokens[i].start;
        if (strchr("([{", c)) {
            if (mate(s, i) < 0) return -1;
            i = mate(s, i);
        } else if (strchr(";)}", c)) {
            return -1;
        } else if (run_of(s, i, '>', 3) && !run_of(s, i, '>', 4)) {
            return i;
        }
    }
    return -1;
}

/* --- arguments that must stay in the call ------------------------------------------- */

/* The end of the argument that starts at i: a comma, or the closing bracket at `end`.
 * Commas in brackets and in template arguments, f<a, b>(c), do not count. */
static int argument_end(const struct source *s, int i, int end)
{
    for (; i < end; i++) {
        if (s->tokens[i].kind != MARK) continue;
        if (is(s, i, ",")) return i;
        if (is(s, i, "<") && is_name(s, previous(s, i))) {
            int close = close_angle(s, i);
            if (close > 0 && close < end &&
                (is(s, next(s, close), "(") || is(s, next(s, close), "{") ||
                 is(s, next(s, close), ":")))
                i = close;
        } else if (mate(s, i) > i) {
            i = mate(s, i);
        }
    }
    return end;
}

static int must_stay(const struct source *s, int first, int end)
{
    int i = first;
    while (i < end && (s->tokens[i].kind == BLANK || s->tokens[i].kind == COMMENT))
        i++;
    if (i >= end) return 0;
    if (is(s, i, "{")) return 1;
    return (is(s, i, "0") || is(s, i, "NULL")) && next(s, i) >= end;
}

/* Returns the lambda's parameters and the call's arguments, and erases the literals that
 * stay in the call from the launch's argument list. */
static void name_arguments(struct source *s, int open, char **parameters, char **call)
{
    int end = mate(s, open), number = 0, kept = 0, last_comma = -1;
    *parameters = format("%s", "");
    *call = format("%s", "");
    for (int first = open + 1, stop; first <= end; first = stop + 1, number++) {
        stop = argument_end(s, first, end);
        const char *comma = number ? ", " : "";
        char *old = *call;
        if (must_stay(s, first, stop)) {
            char *literal = text_of(s, first, stop);
            *call = format("%s%s%s", old, comma, literal);
            free(literal);
            erase(s, first, stop);
            if (stop < end) erase(s, stop, stop + 1);
        } else {
            char *p = *parameters;
            *parameters = format("%s%sauto &wbcpu_%d", p, kept++ ? ", " : "", number);
            *call = format("%s%swbcpu_%d", old, comma, number);
            free(p);
            last_comma = stop < end ? stop : -1;
        }
        free(old);
    }
    if (last_comma >= 0) erase(s, last_comma, last_comma + 1); /* only literals follow */
}

static int any_must_stay(const struct source *s, int open)
{
    int end = mate(s, open);
    for (int first = open + 1, stop; first <= end; first = stop + 1) {
        stop = argument_end(s, first, end);
        if (must_stay(s, first, stop)) return 1;
    }
    return 0;
}

/* --- the launch --------------------------------------------------------------------- */

static char *as_string(const char *text) /* escapes quotes and backslashes */
{
    char *out = malloc(2 * strlen(text) + 1), *p = out;
    for (; out && *text; text++) {
        if (*text == '"' || *text == '\\') *p++ = '\\';
        *p++ = *text;
    }
    if (out) *p = 0;
    return out;
}

static void rewrite_launch(struct source *s, int chevrons)
{
    int close = closing_chevrons(s, chevrons);
    if (close < 0) {
        error_at(s, chevrons, "kernel launch: '<<<' without its '>>>'");
        return;
    }
    int open = next(s, close + 2);
    if (!is(s, open, "(")) {
        error_at(
            s, close, "kernel launch: '(' and the kernel's arguments must follow '>>>'");
        return;
    }
    if (mate(s, open) < 0) {
        error_at(s, open, "kernel launch: '(' without its ')'");
        return;
    }
    int start = callee_start(s, chevrons);
    if (start < 0) {
        error_at(s, chevrons, "kernel launch: a kernel's name must precede '<<<'");
        return;
    }
    if (next(s, chevrons + 2) == close) {
        error_at(s, chevrons, "kernel launch: '<<<>>>' needs a grid and a block");
        return;
    }
    char *callee = text_of(s, start, chevrons), *name = as_string(callee);
    erase(s, start, chevrons);
    s->tokens[start].before =
        format("::wbcpu::launch(__FILE__,__LINE__,\"%s\",::wbcpu::config(", name);
    erase(s, chevrons, chevrons + 3);
    erase(s, close, close + 3);
    if (any_must_stay(s, open)) {
        char *parameters, *call;
        name_arguments(s, open, &parameters, &call);
        s->tokens[close].before =
            format("),[=](%s){ %s(%s); })", parameters, callee, call);
    } else {
        s->tokens[close].before =
            format("),[=](auto &...wbcpu_a){ %s(wbcpu_a...); })", callee);
    }
}

/* --- a kernel called like a function ------------------------------------------------ */

/* The kernel that the __global__ at i declares, or -1. */
static int kernel_name(const struct source *s, int i)
{
    for (i = next(s, i); i < s->count && !is(s, i, ";") && !is(s, i, "{");
         i = next(s, i)) {
        int open = next(s, i);
        if (!is_name(s, i)) continue;
        if (is(s, i, "__launch_bounds__") || is(s, i, "__attribute__")) {
            i = mate(s, open);
            if (i < 0) return -1;
        } else if (is(s, open, "(")) {
            return i;
        }
    }
    return -1;
}

static int same_text(const struct source *s, int i, int k)
{
    return s->tokens[i].length == s->tokens[k].length &&
           memcmp(s->tokens[i].start, s->tokens[k].start, (size_t)s->tokens[i].length) ==
               0;
}

/* 1 if name(...); is a whole statement. */
static int is_plain_call(const struct source *s, int i)
{
    int before = previous(s, i), open = next(s, i);
    if (run_of(s, open, '<', 3)) return 0;
    if (is(s, open, "<")) open = next(s, close_angle(s, open));
    if (open <= i || !is(s, open, "(") || mate(s, open) < 0) return 0;
    if (!is(s, next(s, mate(s, open)), ";")) return 0;
    return is(s, before, ";") || is(s, before, "{") || is(s, before, "}") ||
           is(s, before, ")") || is(s, before, "else");
}

/* 1 if a host function has the same name: then calls are left to the compiler. */
static int is_overloaded(const struct source *s, int name)
{
    for (int i = 0; i < s->count; i++) {
        int before = previous(s, i);
        if (i == name || !is_name(s, i) || !same_text(s, i, name)) continue;
        if (!is(s, next(s, i), "(") || !(is_name(s, before) || is(s, before, "*")))
            continue;
        if (is(s, before, "return") || is(s, before, "else") || is(s, before, "do"))
            continue;
        int k = before;
        while (k >= 0 && !is(s, k, ";") && !is(s, k, "}") && !is(s, k, "{") &&
               !is(s, k, "__global__"))
            k--;
        if (!is(s, k, "__global__")) return 1;
    }
    return 0;
}

static void find_plain_calls(struct source *s)
{
    for (int g = 0; g < s->count; g++) {
        if (!is(s, g, "__global__")) continue;
        int name = kernel_name(s, g);
        if (name < 0 || is_overloaded(s, name)) continue;
        for (int i = name + 1; i < s->count; i++)
            if (is_name(s, i) && same_text(s, i, name) && is_plain_call(s, i))
                error_at(
                    s, i,
                    "kernel %.*s is called like a function; "
                    "launch it with %.*s<<<grid, block>>>(...)",
                    s->tokens[name].length, s->tokens[name].start, s->tokens[name].length,
                    s->tokens[name].start);
    }
}

void rewrite_launches(struct source *s)
{
    find_plain_calls(s);
    for (int i = 0; i < s->count; i++) {
        if (!run_of(s, i, '<', 3)) continue;
        rewrite_launch(s, i);
        i += 2;
    }
}
