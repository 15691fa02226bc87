/* declarations.c - rewrites __shared__, __constant__, __launch_bounds__, __cluster_dims__,
 * __noinline__. */
#include "tokens.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_SPECIFIERS = 16, MAX_TOKENS = 1000 }; /* of one declaration */

#define ATTRIBUTES "alignas __align__ __attribute__ __attribute"

/* The first token of the attribute that ends at i: alignas(16), [[maybe_unused]]; or i */
static int attribute_start(const struct source *s, int i)
{
    int open = mate(s, i);
    if (is(s, i, "]") && run_of(s, open, '[', 2)) return open;
    if (is(s, i, "]") && run_of(s, open - 1, '[', 2)) return open - 1;
    if (is(s, i, ")") && token_in(s, previous(s, open), ATTRIBUTES))
        return previous(s, open);
    return i;
}
static int declaration_start(const struct source *s, int i)
{
    for (int n = 0; n < MAX_SPECIFIERS; n++) {
        int before = attribute_start(s, previous(s, i));
        if (!is_name(s, before) && !is(s, before, "[")) break;
        i = before;
    }
    return i;
}

/* The specifier `word` next to the one at i (extern __shared__, __shared__ extern, static
 * volatile __shared__, extern alignas(16) __shared__), or -1. */
static int specifier(const struct source *s, int i, const char *word)
{
    for (int k = declaration_start(s, i); k < i; k = next(s, k))
        if (is(s, k, word)) return k;
    int n = 0;
    for (int k = next(s, i); n++ < MAX_SPECIFIERS; k = next(s, k)) {
        if (is(s, k, word)) return k;
        if (mate(s, k) > k && attribute_start(s, mate(s, k)) < mate(s, k))
            k = mate(s, k);
        else if (!is_name(s, k))
            break;
    }
    return -1;
}

/* --- scopes ------------------------------------------------------------------------- */

/* The braces that enclose a token, and the __shared__ variables visible there. */
struct scopes {
    int depth;
    struct scope {
        int function; /* in a function body, not only in a namespace or extern "C" */
        int sum;      /* number of the last sum of sizes, or 0 */
    } open[MAX_NESTING + 1]; /* open[depth] is the innermost; open[0] is the file */
    int sums;
};

/* 1 if the brace at i opens a namespace or extern "C". */
static int opens_namespace(const struct source *s, int i)
{
    int a = previous(s, i), b = previous(s, a);
    while (is(s, a, ":") || (is_name(s, a) && is(s, previous(s, a), ":")))
        a = previous(s, a), b = previous(s, a); /* namespace a::b { */
    if (is(s, a, "namespace") || is(s, b, "namespace")) return 1;
    return a >= 0 && s->tokens[a].kind == STRING;
}

static void enter_or_leave(struct scopes *in, const struct source *s, int i)
{
    struct scope *inner = &in->open[in->depth];
    if (is(s, i, "{") && in->depth < MAX_NESTING) {
        in->depth++;
        inner[1].function = inner->function || !opens_namespace(s, i);
        inner[1].sum = inner->sum;
    } else if (is(s, i, "}") && mate(s, i) >= 0 && in->depth) {
        in->depth--;
    }
}

/* --- __shared__ --------------------------------------------------------------------- */

/* 1 if the brace at i opens the members of struct {, union u {, ... */
static int opens_members(const struct source *s, int i)
{
    for (int n = 0; n < 2; n++) {
        i = previous(s, i);
        if (is(s, i, "struct") || is(s, i, "union") || is(s, i, "class")) return 1;
    }
    return 0;
}

static int end_of_declaration(const struct source *s, int i)
{
    int n = 0;
    for (; n < MAX_TOKENS && !is(s, i, ";"); i++, n++) {
        if (is(s, i, "{") && !opens_members(s, i)) return -1;
        if (mate(s, i) > i) i = mate(s, i);
    }
    return is(s, i, ";") ? i : -1;
}

/* extern __shared__ T name[] names the dynamic shared memory. Inside a function it
 * becomes a pointer, T *name = ..., or T (*name)[33] = ... for T name[][33]. A
 * declaration with an assembler name would be simpler, but g++ drops it in templates. */
static void dynamic_shared(struct source *s, int i, int external, int in_function)
{
    int end = end_of_declaration(s, i), bracket = i;
    while (bracket < end && !is(s, bracket, "[")) {
        int skip = is(s, bracket, "(") && mate(s, bracket) > bracket; /* __align__(16) */
        bracket = (skip ? mate(s, bracket) : bracket) + 1;
    }
    if (end < 0 || bracket >= end || mate(s, bracket) < 0) {
        error_at(
            s, i,
            "extern __shared__ must declare an array without a size: "
            "extern __shared__ float name[];");
        return;
    }
    if (!in_function) {
        s->tokens[external].text = "extern";
        s->tokens[i].text = external < i ? "__thread" : "";
        if (external > i) s->tokens[external].text = "extern __thread";
        s->tokens[end].before = " __asm__(\"wbcpu_dynamic_shared\")";
        return;
    }
    int name = previous(s, bracket);
    erase(s, external, external + 1);
    erase(s, i, i + 1);
    int rows = is(s, next(s, mate(s, bracket)), "["); /* name[][33]: T (*name)[33] */
    s->tokens[name].before = rows ? "(*" : "*";
    s->tokens[name].after = rows ? ")" : NULL;
    erase(s, bracket, mate(s, bracket) + 1);
    char *text = text_of(s, name, name + 1);
    s->tokens[end].before =
        keep(s, format(" = (decltype(%s))wbcpu_dynamic_shared", text));
    free(text);
}

/* The next name that the declaration [*i, end) declares, or -1. *i moves past its comma. A
 * name in parentheses, as in (*p)[3], is not found. */
static int declared_name(const struct source *s, int *i, int end)
{
    int name = -1;
    for (; *i < end && !is(s, *i, ","); ++*i) {
        if (is(s, *i, "[") || is(s, *i, "(") || is(s, *i, "{")) {
            if (is(s, next(s, *i), "*") || is(s, next(s, *i), "&")) return -1;
            if (mate(s, *i) > *i) *i = mate(s, *i);
        } else if (
            is(s, *i, "<") && close_angle(s, *i) > *i && close_angle(s, *i) < end) {
            *i = close_angle(s, *i);
        } else if (token_in(s, *i, ATTRIBUTES) && mate(s, next(s, *i)) > *i) {
            *i = mate(s, next(s, *i));
        } else if (is_name(s, *i)) {
            name = *i;
        }
    }
    ++*i;
    return name;
}

/* Appends MACRO(name) for each array of the declaration [i, end). */
static void
append_each(struct buffer *to, const char *macro, const struct source *s, int i, int end)
{
    append_text(to, "");
    for (int name; i < end && (name = declared_name(s, &i, end)) >= 0;) {
        const struct token *t = &s->tokens[name];
        append_text(to, macro);
        append(to, t->start, (size_t)t->length);
        append_text(to, ")");
    }
}

/* Adds a statement, or at file scope a declaration, for each array of the declaration
 * [i, end): in the grader's builds it fills the array before the block uses it
 * (wbcpu/shared.h). Like nvcc, rejects a kernel with more than 48 KB of static shared
 * memory: a static_assert over the sum of this and all earlier declarations in scope. */
static void after_shared(struct source *s, int i, int end, struct scopes *in)
{
    struct scope *inner = &in->open[in->depth];
    struct buffer sizes = {0}, opened = {0};
    if (!inner->function) {
        append_each(&opened, " WBCPU_FILE_SHARED(", s, i, end);
        s->tokens[end].after = keep(s, opened.text);
        return;
    }
    append_each(&sizes, "+sizeof(", s, i, end);
    append_each(&opened, " WBCPU_SHARED(", s, i, end);
    char *earlier = inner->sum ? format("wbcpu_shared_%d", inner->sum) : format("0");
    inner->sum = ++in->sums;
    s->tokens[end].after = keep(
        s, format(
               " enum{wbcpu_shared_%d=%s%s}; static_assert(wbcpu_shared_%d <= 48*1024, "
               "\"more than 48 KB of static __shared__ memory in one kernel\");%s",
               inner->sum, earlier, sizes.text, inner->sum, opened.text));
    free(earlier);
    free(sizes.text);
    free(opened.text);
}

/* __shared__ alignas(16) float x[4]; does not compile: g++ wants alignas and
 * [[maybe_unused]] first. */
static void attributes_first(struct source *s, int i, int end)
{
    struct buffer first = {0};
    int start = declaration_start(s, i), before_type = 1;
    for (int k = start; k < end && !token_in(s, k, "struct class union enum");
         k = next(s, k)) {
        int close = is(s, k, "alignas") ? mate(s, next(s, k)) : mate(s, k);
        if (!is(s, k, "alignas") && !(before_type && run_of(s, k, '[', 2))) {
            before_type &= token_in(s, k, "__shared__ extern static const volatile");
            if (close > k) k = close;
            continue;
        }
        if (close < k || close >= end) break;
        char *attribute = text_of(s, k, close + 1);
        append_text(&first, attribute);
        append_text(&first, " ");
        free(attribute);
        erase(s, k, close + 1);
        k = close;
    }
    if (first.length) s->tokens[start].before = keep(s, first.text);
}

static void shared(struct source *s, int i, struct scopes *in)
{
    int external = specifier(s, i, "extern"), end = end_of_declaration(s, i);
    if (end >= 0) attributes_first(s, i, end);
    if (external >= 0) {
        dynamic_shared(s, i, external, in->open[in->depth].function);
        return;
    }
    int repeated = specifier(s, i, "static"); /* the macro __shared__ contains static */
    if (repeated >= 0) erase(s, repeated, repeated + 1);
    if (end < 0) return;
    for (int k = i; k < end; k++) {
        if (mate(s, k) > k) k = mate(s, k);
        if (is(s, k, "=")) {
            error_at(
                s, k,
                "a __shared__ variable cannot have an initial value: "
                "assign it in one thread, then call __syncthreads()");
            return;
        }
    }
    after_shared(s, i, end, in);
}

/* --- __launch_bounds__, __cluster_dims__ ---------------------------------------------- */

/* The first statement of such a kernel checks the launch: if (check(arguments)) return;
 * Inside the body, the arguments may name template parameters. A declaration without a
 * body needs no check. */
static void check_launch(struct source *s, int i, const char *check)
{
    int open = next(s, i), close = mate(s, open), k = close;
    if (!is(s, open, "(") || close < 0) return;
    if (s->tokens[close].start - s->tokens[open].start > MAX_LITERAL) {
        fail_at(
            s, i, "%.*s: its arguments have more than %d characters: shorten them",
            s->tokens[i].length, s->tokens[i].start, MAX_LITERAL);
        return;
    }
    for (int n = 0; n < MAX_TOKENS && k < s->count && !is(s, k, ";");
         n++, k = next(s, k)) {
        if (s->tokens[k].in_directive != s->tokens[i].in_directive) return;
        if (is(s, k, "#") && !is(s, k - 1, "#") && !is(s, k + 1, "#")) return;
        if (is(s, k, "{")) {
            char *arguments = text_of(s, open, close + 1);
            const char *before = s->tokens[k].after;
            s->tokens[k].after = keep(
                s,
                format("%s if (%s%s) return;", before ? before : "", check, arguments));
            free(arguments);
            return;
        }
        if (mate(s, k) > k) k = mate(s, k);
    }
}

/* --- __noinline__ --------------------------------------------------------------------- */

/* A macro of this name would break libstdc++. Within an attribute, the word is the name. */
static void no_inline(struct source *s, int i)
{
    int before = previous(s, i);
    int inside = is(s, before, "(") || is(s, before, ",") || is(s, before, ":");
    if (inside || is(s, i, "__noinline__"))
        s->tokens[i].text = inside ? "WBCPU_NOINLINE" : "__attribute__((WBCPU_NOINLINE))";
}

void rewrite_declarations(struct source *s)
{
    struct scopes in = {0};
    for (int i = 0; i < s->count && !given_up; i++) {
        if (s->tokens[i].kind == MARK) enter_or_leave(&in, s, i);
        if (!is_name(s, i)) continue;
        if (is(s, i, "__shared__"))
            shared(s, i, &in);
        else if (is(s, i, "__launch_bounds__"))
            check_launch(s, i, "wbcpu_too_many");
        else if (is(s, i, "__cluster_dims__"))
            check_launch(s, i, "wbcpu_needs_clusters");
        else if (is(s, i, "__noinline__") || is(s, i, "noinline"))
            no_inline(s, i);
        else if (
            is(s, i, "__constant__") &&
            (specifier(s, i, "static") >= 0 || specifier(s, i, "extern") >= 0))
            erase(s, i, i + 1);
    }
}
