/* blocks_statements.c - reads the declarations and statements of a kernel. */
#include "blocks.h"

#include <string.h>

/* --- declarations ------------------------------------------------------------------- */

/* [n] or [], after a name; the number of them in v */
static int read_dimensions(struct kernel *k, struct variable *v)
{
    int open_ended = 0;
    v->sizes = k->at;
    while (accept(k, "[")) {
        v->indices++;
        open_ended |= is(k->s, k->at, "]");
        if (!is(k->s, k->at, "]") && !read_value(k)) return 0;
        if (!accept(k, "]")) return 0;
    }
    v->sizes_end = open_ended ? v->sizes : k->at;
    return 1;
}

/* {1, {2, 3}} */
static int read_braces(struct kernel *k)
{
    if (k->depth == MAX_DEPTH || !accept(k, "{")) return 0;
    k->depth++;
    while (!is(k->s, k->at, "}")) {
        if (!(is(k->s, k->at, "{") ? read_braces(k) : read_value(k))) return 0;
        if (!accept(k, ",") && !is(k->s, k->at, "}")) return 0;
    }
    k->depth--;
    return accept(k, "}");
}

/* *name[n] = value, or name{value} */
static int read_declarator(
    struct kernel *k, enum variable_kind kind, int type, int type_end, int builtin)
{
    const struct source *s = k->s;
    int stars = 0, fixed = 0, named = k->named;
    for (; is(s, k->at, "*") || token_in(s, k->at, "const __restrict__ __restrict");
         k->at = next(s, k->at)) {
        stars += is(s, k->at, "*");
        fixed |= is(s, k->at, "const");
    }
    for (int i = type; i < type_end; i = next(s, i))
        fixed |= is(s, i, "constexpr");
    if (!add_variable(k, kind, k->at)) return 0;
    struct variable *v = &k->variables[k->variable_count - 1];
    k->at = next(s, k->at);
    v->type = type, v->type_end = type_end;
    v->stars = stars, v->builtin = builtin;
    if (!read_dimensions(k, v)) return 0;
    v->storable =
        (builtin || named) && !fixed && !(v->indices && v->sizes == v->sizes_end);
    k->named = named;
    int number = builtin && !stars && !v->indices;
    if (!(number && is(s, k->at, "{")) && !accept(k, "=")) return 1;
    int value = k->at, id = k->variable_count - 1;
    int ok = is(s, k->at, "{") ? read_braces(k) : read_value(k);
    int inside = next(s, value), close = mate(s, value);
    int braces = number && is(s, value, "{") && inside != close;
    k->variables[id].value = braces ? inside : value;
    k->variables[id].value_end = braces ? close : k->at;
    k->named = named; /* of the next declarator */
    return ok;
}

/* type *name = value, ...; */
int read_declaration(struct kernel *k, enum variable_kind kind)
{
    int type = k->at, builtin;
    if (!read_type(k, &builtin)) return 0;
    int type_end = k->at;
    do
        if (!read_declarator(k, kind, type, type_end, builtin)) return 0;
    while (accept(k, ","));
    return accept(k, ";");
}

/* __shared__ float a[4], b; extern __shared__ float c[]; */
int read_shared(struct kernel *k)
{
    const struct source *s = k->s;
    int builtin;
    accept(k, "volatile");
    int dynamic = accept(k, "extern");
    int typed = is_type(k, k->at); /* extern float __shared__ s[]; */
    if (typed && !read_type(k, &builtin)) return 0;
    if (!accept(k, "__shared__")) return 0;
    if (!dynamic) accept(k, "extern");
    accept(k, "volatile"); /* only this block's threads access it */
    if (!typed && !read_type(k, &builtin)) return 0;
    do {
        if (!add_variable(k, SHARED, k->at)) return 0;
        struct variable *v = &k->variables[k->variable_count - 1];
        v->builtin = builtin;
        k->at = next(s, k->at);
        if (!read_dimensions(k, v)) return 0;
    } while (accept(k, ","));
    return accept(k, ";");
}

/* 1 for a statement like the second line here, which all threads must reach:
 *
 *     int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
 *     x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y; */
int gives_new_values(const struct kernel *k)
{
    const struct source *s = k->s;
    int type = -1;
    for (int i = k->at;; i = next(s, i)) {
        int id = find_variable(k, i), equals = next(s, i);
        const struct variable *v = &k->variables[id < 0 ? 0 : id];
        if (id < 0 || v->kind != LOCAL || !v->builtin || v->stars || v->indices) return 0;
        if (!is(s, equals, "=") || run_of(s, equals, '=', 2)) return 0;
        if (type >= 0 && v->type != type) return 0;
        type = v->type;
        for (i = next(s, equals); !is(s, i, ";") && !is(s, i, ","); i = next(s, i)) {
            int other = find_variable(k, i);
            int plain = other >= 0 && k->variables[other].kind != SHARED &&
                        !k->variables[other].indices && !k->variables[other].stars;
            if (is_index(s, i))
                i = next(s, next(s, i));
            else if (
                !plain && !is_number(s, i) && template_parameter(k, i) != 'N' &&
                !token_in(s, i, "int unsigned size_t") &&
                (s->tokens[i].kind != MARK || !strchr("+-*()", *s->tokens[i].start) ||
                 run_of(s, i, *s->tokens[i].start, 2)))
                return 0;
        }
        if (is(s, i, ";")) return 1;
    }
}

int read_new_values(struct kernel *k)
{
    do {
        int name = k->at, value = next(k->s, next(k->s, name));
        k->at = value;
        if (!read_value(k) || !replace_variable(k, name)) return 0;
        struct variable *v = &k->variables[k->variable_count - 1];
        v->value = value, v->value_end = k->at;
    } while (accept(k, ","));
    return accept(k, ";");
}

/* --- statements --------------------------------------------------------------------- */

/* The statements of a block without barriers, up to its brace */
static int read_block(struct kernel *k)
{
    int visible = k->visible_count;
    k->conditional++; /* a collective would come before the statements */
    while (!is(k->s, k->at, "}"))
        if (!read_statement(k)) return 0;
    k->conditional--;
    k->visible_count = visible;
    return accept(k, "}");
}

/* (value) */
static int read_condition(struct kernel *k)
{
    return accept(k, "(") && read_values(k) && accept(k, ")");
}

static int read_if(struct kernel *k)
{
    if (!read_condition(k)) return 0;
    k->conditional++;
    int ok = read_statement(k) && (!accept(k, "else") || read_statement(k));
    k->conditional--;
    return ok;
}

static int read_value_before(struct kernel *k, const char *end)
{
    return (is(k->s, k->at, end) || read_values(k)) && accept(k, end);
}

/* (a; b; c) */
static int read_head(struct kernel *k)
{
    if (!accept(k, "(")) return 0;
    int ok = is_type(k, k->at) ? read_declaration(k, INNER) : read_value_before(k, ";");
    return ok && read_value_before(k, ";") && read_value_before(k, ")");
}

static int read_loop(struct kernel *k)
{
    int visible = k->visible_count, ok;
    k->loops++, k->conditional++;
    if (accept(k, "do"))
        ok = read_statement(k) && accept(k, "while") && read_condition(k) &&
             accept(k, ";");
    else if (accept(k, "for"))
        ok = read_head(k) && read_statement(k);
    else
        ok = accept(k, "while") && read_condition(k) && read_statement(k);
    k->loops--, k->conditional--;
    k->visible_count = visible;
    return ok;
}

int accept_unroll(struct kernel *k)
{
    const struct source *s = k->s;
    if (k->at >= s->count || s->tokens[k->at].kind != DIRECTIVE) return 1;
    const struct token *t = &s->tokens[k->at];
    k->at = next(s, k->at);
    return t->length >= 14 && memcmp(t->start, "#pragma unroll", 14) == 0;
}

static int read_plain_statement(struct kernel *k)
{
    const struct source *s = k->s;
    if (!accept_unroll(k)) return 0;
    if (accept(k, ";")) return 1;
    if (accept(k, "{")) return read_block(k);
    if (accept(k, "if")) return read_if(k);
    if (token_in(s, k->at, "for while do")) return read_loop(k);
    if (is(s, k->at, "break") || is(s, k->at, "continue")) {
        k->at = next(s, k->at);
        return k->loops && accept(k, ";"); /* else it would leave the loop over threads */
    }
    if (accept(k, "return")) {
        k->effects |= RETURNS;
        if (k->function && !is(s, k->at, ";") && !read_values(k)) return 0;
        return accept(k, ";");
    }
    if (is_type(k, k->at)) return read_declaration(k, INNER);
    k->statement = k->at;
    return read_values(k) && accept(k, ";");
}

int read_statement(struct kernel *k)
{
    if (k->depth == MAX_DEPTH) return 0;
    k->depth++;
    int ok = read_plain_statement(k);
    k->depth--;
    return ok;
}
