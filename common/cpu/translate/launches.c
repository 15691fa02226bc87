/* launches.c - rewrites kernel<<<grid, block>>>(arguments).
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

/* Steps back from the closing bracket at i over indices and arguments, to the a of a[i] and
 * a[i](x), or the f of f(x). Returns -1 if no name precedes them. */
static int indexed_name(const struct source *s, int i)
{
    while (is(s, i, "]") || is(s, i, ")"))
        i = previous(s, mate(s, i));
    const int keyword = token_in(s, i, "return else do if while for switch");
    return is_name(s, i) && !keyword ? i : -1;
}

/* Skips one part before the name at i: ns::, T<int>::, object., pointer-> or, in a macro,
 * name##. Returns its first token, or i if there is none. */
static int step_left(const struct source *s, int i)
{
    int a = previous(s, i), b = previous(s, a);
    if (is(s, a, ".")) return indexed_name(s, b);
    if (is(s, a, "#") && is(s, b, "#"))
        return is_name(s, previous(s, b)) ? previous(s, b) : -1;
    if (is(s, a, ">") && is(s, b, "-")) return indexed_name(s, previous(s, b));
    if (!is(s, a, ":") || !is(s, b, ":")) return i;
    int c = previous(s, b);
    if (is(s, c, ">")) {
        int o = open_angle(s, c);
        return o < 0 ? b : previous(s, o);
    }
    return is_name(s, c) && !token_in(s, c, "return else do") ? c : b; /* ::k */
}

/* The first token of the kernel's name, which ends before i, or -1. */
static int callee_start(const struct source *s, int i)
{
    i = previous(s, i);
    if (is(s, i, ">")) { /* template arguments */
        i = open_angle(s, i);
        i = i < 0 ? -1 : previous(s, i);
    }
    int first = is(s, i, ")") ? mate(s, i) : -1; /* (*pointer)<<< */
    i = indexed_name(s, i);                      /* table[i]<<<, MACRO(k)<<< */
    if (i < 0) return first;
    for (int left; (left = step_left(s, i)) != i; i = left)
        if (left < 0) return -1;
    return i;
}

/* table[i]<<<: the lambda captures the element. In each thread, table[i] might insert into a
 * map, or be table[next++]. */
static int is_element(const struct source *s, int start, int chevrons)
{
    const int last = previous(s, chevrons);
    return is(s, last, "]") && mate(s, last) > start && !s->tokens[start].in_directive;
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

/* Appends the lambda's parameters and the call's arguments, and erases the literals that
 * stay in the call from the launch's argument list. Returns 0 after an error. */
static int
name_arguments(struct source *s, int open, struct buffer *parameters, struct buffer *call)
{
    int end = mate(s, open), number = 0, last_comma = -1;
    append_text(parameters, "");
    append_text(call, "");
    for (int first = open + 1, stop; first <= end; first = stop + 1, number++) {
        stop = argument_end(s, first, end);
        if (number) append_text(call, ", ");
        if (must_stay(s, first, stop)) {
            char *literal = text_of(s, first, stop);
            append_text(call, literal);
            int long_literal = strlen(literal) > MAX_LITERAL;
            free(literal);
            if (long_literal) {
                fail_at(
                    s, first,
                    "kernel launch: an argument {...} of more than %d characters",
                    MAX_LITERAL);
                return 0;
            }
            erase(s, first, stop);
            if (stop < end) erase(s, stop, stop + 1);
        } else {
            char *name = format("wbcpu_%d", number);
            append_text(parameters, parameters->length ? ", auto &" : "auto &");
            append_text(parameters, name);
            append_text(call, name);
            free(name);
            last_comma = stop < end ? stop : -1;
        }
    }
    if (last_comma >= 0) erase(s, last_comma, last_comma + 1); /* only literals follow */
    return 1;
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

/* The kernel's name as a string. In a macro, which may paste name##e or have the kernel as
 * a parameter, only the preprocessor knows it. */
static char *name_as_string(const struct token *t, const char *callee)
{
    if (t->in_directive) return format("WBCPU_NAME(%s)", callee);
    char *inside = as_string(callee), *text = format("\"%s\"", inside);
    free(inside);
    return text;
}

/* k<<<n>>>: no block. A macro may contain the comma. */
static int has_one_argument(const struct source *s, int chevrons, int close)
{
    int first = next(s, chevrons + 2);
    if (argument_end(s, first, close) < close || s->tokens[chevrons].in_directive)
        return 0;
    for (int i = first; i < close; i++)
        if (is_name(s, i) && may_be_macro(s, i)) return 0;
    return 1;
}

/* 1 if a directive lies between i, the start of the kernel's name, and '<<<'. */
static int crosses_directive(const struct source *s, int i, int chevrons)
{
    if (s->tokens[chevrons].in_directive) return 0;
    while (i < chevrons && !s->tokens[i].in_directive)
        i++;
    return i < chevrons;
}

/* Of #define ON(grid, block) <<<grid, block>>>, used as kernel ON(1, 32)(arguments), the body
 * becomes  % ::wbcpu::chevrons{__FILE__, __LINE__, ::wbcpu::config(grid, block)}: see
 * wbcpu/kernels.h. */
static int rewrite_chevrons(struct source *s, int chevrons, int close)
{
    int name = previous(s, chevrons), after = next(s, close + 2);
    if (is(s, name, ")")) name = previous(s, mate(s, name));
    if (!s->tokens[chevrons].in_directive || !is(s, previous(s, name), "define"))
        return 0;
    if (after < s->count && s->tokens[after].in_directive) return 0;
    erase(s, chevrons, chevrons + 3);
    erase(s, close, close + 3);
    s->tokens[chevrons].before =
        "% ::wbcpu::chevrons{__FILE__, __LINE__, ::wbcpu::config(";
    s->tokens[close].before = ")}";
    return 1;
}

/* Writes the lambda that calls the kernel after the '>>>' at close; `open` begins the
 * arguments. */
static void
append_lambda(struct source *s, int close, int open, const char *callee, int element)
{
    struct buffer parameters = {0}, call = {0}, capture = {0};
    append_text(&capture, "=");
    if (element) {
        append_text(&capture, ",wbcpu_kernel=");
        append_text(&capture, callee);
    }
    const char *called = element ? "wbcpu_kernel" : callee;
    if (!any_must_stay(s, open))
        s->tokens[close].before = keep(
            s,
            format("),[%s](auto &...wbcpu_a){ %s(wbcpu_a...); })", capture.text, called));
    else if (name_arguments(s, open, &parameters, &call))
        s->tokens[close].before = keep(
            s, format(
                   "),[%s](%s){ %s(%s); })", capture.text, parameters.text, called,
                   call.text));
    free(capture.text);
    free(parameters.text);
    free(call.text);
}

static void rewrite_launch(struct source *s, int chevrons)
{
    int close = closing_chevrons(s, chevrons);
    if (close < 0) {
        error_at(s, chevrons, "kernel launch: '<<<' without its '>>>'");
        return;
    }
    if (rewrite_chevrons(s, chevrons, close)) return;
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
    if (crosses_directive(s, start, chevrons)) {
        error_at(
            s, start,
            "kernel launch: a preprocessor directive splits it; write a whole launch in each branch");
        return;
    }
    int empty = next(s, chevrons + 2) == close;
    if (empty || has_one_argument(s, chevrons, close)) {
        error_at(
            s, chevrons,
            "kernel launch: '%s' needs a grid and a block, as in k<<<1, 256>>>(...)",
            empty ? "<<<>>>" : "<<<");
        return;
    }
    if (s->tokens[chevrons].start - s->tokens[start].start > MAX_NAME) {
        fail_at(
            s, start, "kernel launch: a kernel's name of more than %d characters",
            MAX_NAME);
        return;
    }
    const int element = is_element(s, start, chevrons);
    char *callee = text_of(s, start, chevrons),
         *name = name_as_string(&s->tokens[start], callee);
    erase(s, start, chevrons);
    s->tokens[start].before =
        keep(s, format(" ::wbcpu::launch(__FILE__,__LINE__,%s,::wbcpu::config(", name));
    erase(s, chevrons, chevrons + 3);
    erase(s, close, close + 3);
    append_lambda(s, close, open, callee, element);
    free(callee);
    free(name);
}

/* --- << < and >> > -------------------------------------------------------------------- */

/* Two adjacent characters c at i, a blank, and a third: moves the blank after it. */
static int join(struct source *s, int i, char c)
{
    if (!run_of(s, i, c, 2) || !run_of(s, i + 3, c, 1) || next(s, i + 1) != i + 3)
        return 0;
    struct token blank = s->tokens[i + 2], *third = &s->tokens[i + 2];
    *third = s->tokens[i + 3];
    s->tokens[i + 3] = blank;
    s->tokens[i + 3].next = third->next;
    s->tokens[i + 1].next = i + 2;
    third->previous = i + 1;
    for (int k = i + 3; k <= third->next && k < s->count; k++)
        s->tokens[k].previous = i + 2;
    return 1;
}

/* Formatters that do not know CUDA write k << <grid, block >> > (x), which nvcc accepts. */
static void join_chevrons(struct source *s)
{
    for (int i = 0; i < s->count; i++) {
        if (!is_name(s, previous(s, i)) && !is(s, previous(s, i), ">")) continue;
        if (!join(s, i, '<')) continue;
        for (int k = i + 3; k < s->count && !is(s, k, ";"); k++)
            if (join(s, k, '>')) break;
    }
}

void rewrite_launches(struct source *s)
{
    join_chevrons(s);
    find_plain_calls(s);
    for (int i = 0; i < s->count && !given_up; i++) {
        if (!run_of(s, i, '<', 3)) continue;
        rewrite_launch(s, i);
        i += 2;
    }
}
