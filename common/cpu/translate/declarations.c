/* declarations.c - rewrites __shared__, __constant__, __noinline__ and inline PTX. */
#include "tokens.h"

#include <stdlib.h>
#include <string.h>

/* --- __shared__ --------------------------------------------------------------------- */

/* The specifier `word` next to the one at i (extern __shared__, __shared__ extern, static
 * volatile __shared__), or -1. */
static int specifier(const struct source *s, int i, const char *word)
{
    for (int k = previous(s, i); is_name(s, k); k = previous(s, k))
        if (is(s, k, word)) return k;
    for (int k = next(s, i); is_name(s, k); k = next(s, k))
        if (is(s, k, word)) return k;
    return -1;
}

/* 1 if token i is in a function body, not only in a namespace or extern "C". */
static int in_function(const struct source *s, int i)
{
    for (i--; i >= 0; i--) {
        if (is(s, i, "}") && mate(s, i) >= 0) {
            i = mate(s, i);
        } else if (is(s, i, "{")) {
            int a = previous(s, i), b = previous(s, a);
            while (is(s, a, ":") || (is_name(s, a) && is(s, previous(s, a), ":")))
                a = previous(s, a), b = previous(s, a); /* namespace a::b { */
            if (is(s, a, "namespace") || is(s, b, "namespace")) continue;
            if (a >= 0 && s->tokens[a].kind == STRING) continue;
            return 1;
        }
    }
    return 0;
}

static int end_of_declaration(const struct source *s, int i)
{
    for (; i < s->count && !is(s, i, ";") && !is(s, i, "{"); i++)
        if (mate(s, i) > i) i = mate(s, i);
    return is(s, i, ";") ? i : -1;
}

/* extern __shared__ T name[] names the dynamic shared memory. Inside a function it
 * becomes a pointer, T *name = ..., or T (*name)[33] = ... for T name[][33]. A
 * declaration with an assembler name would be simpler, but g++ drops it in templates. */
static void dynamic_shared(struct source *s, int i, int external)
{
    int end = end_of_declaration(s, i), bracket = i;
    while (bracket < end && !is(s, bracket, "[")) {
        if (is(s, bracket, "(")) bracket = mate(s, bracket); /* __align__(16) */
        bracket++;
    }
    if (end < 0 || bracket >= end || mate(s, bracket) < 0) {
        error_at(
            s, i,
            "extern __shared__ must declare an array without a size: "
            "extern __shared__ float name[];");
        return;
    }
    if (!in_function(s, i)) {
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
    s->tokens[end].before = format(" = (decltype(%s))wbcpu_dynamic_shared", text);
    free(text);
}

/* The innermost brace that encloses i, or -1. */
static int enclosing_brace(const struct source *s, int i)
{
    for (i--; i >= 0; i--) {
        if (is(s, i, "}") && mate(s, i) >= 0)
            i = mate(s, i);
        else if (is(s, i, "{"))
            return i;
    }
    return -1;
}

/* "+sizeof(a)+sizeof(b)" for the names that the declaration [i, end) declares. */
static char *sizes_of(const struct source *s, int i, int end)
{
    char *sum = format("%s", "");
    int name = -1;
    for (; i <= end; i++) {
        if (is(s, i, ",") || i == end) {
            if (name < 0) break;
            char *text = text_of(s, name, name + 1), *old = sum;
            sum = format("%s+sizeof(%s)", old, text);
            free(old);
            free(text);
            name = -1;
        } else if (is(s, i, "[") || is(s, i, "(") || is(s, i, "{")) {
            if (mate(s, i) > i) i = mate(s, i);
        } else if (is(s, i, "<") && close_angle(s, i) > i && close_angle(s, i) < end) {
            i = close_angle(s, i);
        } else if (is_name(s, i)) {
            name = i;
        }
    }
    return sum;
}

/* Like nvcc, rejects a kernel with more than 48 KB of static shared memory: adds a
 * static_assert over this and all earlier declarations in scope. */
static void check_static_size(struct source *s, int i, int end)
{
    int scope = enclosing_brace(s, i);
    if (scope < 0 || !in_function(s, i)) return;
    char *sum = sizes_of(s, i, end);
    for (int k = i - 1; k > 0; k--) {
        if (is(s, k, "}") && mate(s, k) >= 0) {
            k = mate(s, k); /* a closed scope, whose names are not visible */
        } else if (
            is(s, k, "__shared__") && in_function(s, k) &&
            specifier(s, k, "extern") < 0) {
            int stop = end_of_declaration(s, k);
            if (stop < 0 || stop >= i) continue;
            char *more = sizes_of(s, k, stop), *old = sum;
            sum = format("%s%s", old, more);
            free(old);
            free(more);
        } else if (is(s, k, "{") && !in_function(s, k)) {
            break; /* the function's own brace */
        }
    }
    s->tokens[end].after = format(
        " static_assert(0%s <= 48*1024, "
        "\"more than 48 KB of static __shared__ memory in one kernel\");",
        sum);
    free(sum);
}

static void shared(struct source *s, int i)
{
    int external = specifier(s, i, "extern");
    if (external >= 0) {
        dynamic_shared(s, i, external);
        return;
    }
    int repeated = specifier(s, i, "static"); /* the macro __shared__ contains static */
    if (repeated >= 0) erase(s, repeated, repeated + 1);
    int end = end_of_declaration(s, i);
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
    check_static_size(s, i, end);
}

/* --- assembly ----------------------------------------------------------------------- */

/* asm("...") is PTX, which cannot run here. It becomes a static_assert, an error only if
 * it is compiled. asm("") is a compiler barrier and stays. */
static void assembly(struct source *s, int i)
{
    int k = next(s, i), qualifier = -1;
    if (is(s, k, "volatile") || is(s, k, "__volatile__")) {
        qualifier = k;
        k = next(s, k);
    }
    if (!is(s, k, "(") || mate(s, k) < 0 || is(s, next(s, k), "\"\"")) return;
    s->tokens[i].text = "WBCPU_INLINE_PTX";
    if (qualifier >= 0) erase(s, qualifier, qualifier + 1);
}

void rewrite_declarations(struct source *s)
{
    for (int i = 0; i < s->count; i++) {
        if (!is_name(s, i)) continue;
        if (is(s, i, "__shared__"))
            shared(s, i);
        else if (is(s, i,
                    "__noinline__")) /* a macro of this name would break libstdc++ */
            s->tokens[i].text = "__attribute__((noinline))";
        else if (
            is(s, i, "__constant__") &&
            (specifier(s, i, "static") >= 0 || specifier(s, i, "extern") >= 0))
            erase(s, i, i + 1);
        else if (is(s, i, "asm") || is(s, i, "__asm__") || is(s, i, "__asm"))
            assembly(s, i);
    }
}
