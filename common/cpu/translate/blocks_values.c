/* blocks_values.c - reads values: what they do, and which variables they change. */
#include "blocks.h"

#include <string.h>

/* What an assignment to a value would change */
enum place { NOTHING, MEMORY, VARIABLE };
struct value {
    enum place place;
    int variable; /* of a VARIABLE, or the shared array that holds the MEMORY; or -1 */
    int indices;  /* of a VARIABLE that is an array: those that are missing */
};
static const struct value RESULT = {NOTHING, -1, 0};

/* --- names -------------------------------------------------------------------------- */

static int read_variable(struct kernel *k, struct value *v)
{
    int id = find_variable(k, k->at);
    if (id < 0) return 0;
    k->meaning[k->at - k->body] = (short)(id + 1);
    k->at = next(k->s, k->at);
    *v = (struct value){VARIABLE, id, k->variables[id].indices};
    if (k->variables[id].kind == SHARED) {
        v->place = MEMORY;
        k->effects |= READS;
    }
    return 1;
}

static int read_global(struct kernel *k, struct value *v)
{
    int n = is_global(k->s, k->at) ? add_global(k, k->at) : -1;
    if (n < 0) return 0;
    k->meaning[k->at - k->body] = (short)(-1 - n);
    k->at = next(k->s, k->at);
    *v = (struct value){MEMORY, -1, 0};
    return 1;
}

void change_variable(struct kernel *k, int id)
{
    int item = k->item_count ? k->item_count - 1 : 0;
    k->effects |= CHANGES;
    k->changes++;
    k->variables[id].modified++;
    k->variables[id].in_items[item / 8] |= (unsigned char)(1 << item % 8);
}

/* Something is assigned to v. */
static int change(struct kernel *k, const struct value *v)
{
    if (v->place == VARIABLE) {
        change_variable(k, v->variable);
        return 1;
    }
    k->effects |= CHANGES;
    k->changes++;
    return v->place != NOTHING;
}

/* --- values ------------------------------------------------------------------------- */

static int read_unary(struct kernel *k, struct value *v);
static int read_assignment(struct kernel *k, struct value *v);

/* a, b: the value of one alone is what can be assigned to. */
static int read_list(struct kernel *k, struct value *v)
{
    if (!read_assignment(k, v)) return 0;
    if (!is(k->s, k->at, ",")) return 1;
    k->conditional++; /* a collective would come before what is left of the comma */
    while (accept(k, ",")) {
        if (!read_assignment(k, v)) return 0;
        *v = RESULT;
    }
    k->conditional--;
    return 1;
}

/* (type) a, static_cast<type>(a), type(a), sizeof(type), sizeof(a) */
static int read_cast(struct kernel *k, struct value *v)
{
    int size = accept(k, "sizeof");
    if (size && !is(k->s, k->at, "(")) return 0;
    if (accept(k, "static_cast") || accept(k, "reinterpret_cast")) {
        if (!accept(k, "<") || !read_pointer_type(k) || !accept(k, ">")) return 0;
    } else if (is_type(k, k->at)) {
        if (!read_pointer_type(k)) return 0;
    } else if (is_type(k, next(k->s, k->at))) {
        if (!accept(k, "(") || !read_pointer_type(k) || !accept(k, ")")) return 0;
        int ok = size || read_unary(k, v);
        *v = RESULT;
        return ok;
    }
    int ok = accept(k, "(") && read_list(k, v) && accept(k, ")");
    *v = RESULT;
    return ok;
}

static int read_primary(struct kernel *k, struct value *v)
{
    const struct source *s = k->s;
    int i = k->at, n = next(s, i);
    *v = RESULT;
    if (is_macro(s, i) && !is_number(s, i)) return 0;
    if (token_in(s, i, "sizeof static_cast reinterpret_cast") || is_type(k, i) ||
        (is(s, i, "(") && is_type(k, n)))
        return read_cast(k, v);
    if (accept(k, "(")) return read_list(k, v) && accept(k, ")");
    if (is_index(s, i)) {
        if (is(s, i, "threadIdx")) k->effects |= THREAD;
        k->at = next(s, next(s, n));
        return is(s, n, ".") && token_in(s, next(s, n), "x y z");
    }
    if (i < s->count && s->tokens[i].kind != NAME && s->tokens[i].kind != NUMBER)
        return 0;
    if (is_collective(s, i) && is(s, n, "(")) return read_collective(k);
    if (function_at(s, i) && (is(s, n, "(") || is(s, n, "<")))
        return find_variable(k, i) < 0 && !template_parameter(k, i) && read_own_call(k);
    if (is_name(s, i) && is(s, n, "("))
        return !read_variable(k, v) && !template_parameter(k, i) &&
               (is_pure(s, i) || is_atomic(s, i)) && read_call(k);
    if (is_name(s, i) && read_variable(k, v)) return 1;
    if (template_parameter(k, i) == 'N' || is_number(s, i)) {
        k->at = n;
        return 1;
    }
    return read_global(k, v);
}

/* The member at k->at, which is no function */
static int read_member(struct kernel *k)
{
    const struct source *s = k->s;
    int i = k->at;
    k->at = next(s, i);
    return is_name(s, i) && !is_macro(s, i) && !is(s, k->at, "(");
}

/* a[i], a.x, a->x, a++ */
static int read_suffixes(struct kernel *k, struct value *v)
{
    for (;;) {
        if (accept(k, "[")) {
            if (v->place == VARIABLE && v->indices)
                v->indices--;
            else
                *v = (struct value){MEMORY, v->place == MEMORY ? v->variable : -1, 0};
            k->effects |= READS;
            if (!read_list(k, &(struct value){0}) || !accept(k, "]")) return 0;
        } else if (accept(k, ".")) {
            if (!read_member(k)) return 0;
        } else if (accept_marks(k, "->")) {
            *v = (struct value){MEMORY, -1, 0};
            k->effects |= READS;
            if (!read_member(k)) return 0;
        } else if (accept_marks(k, "++") || accept_marks(k, "--")) {
            if (!change(k, v)) return 0;
            *v = RESULT;
        } else {
            break;
        }
    }
    /* The address of a thread's array. A function's own may be anywhere. */
    return v->place != VARIABLE || !v->indices || k->function;
}

static int read_unary(struct kernel *k, struct value *v)
{
    if (k->depth == MAX_DEPTH) return 0;
    k->depth++;
    int ok;
    if (accept_marks(k, "++") || accept_marks(k, "--")) {
        ok = read_unary(k, v) && change(k, v);
        *v = RESULT;
    } else if (!is_mark(k, "&&") && accept(k, "&")) {
        ok = read_unary(k, v) && (v->place == MEMORY || (k->function && v->place));
        *v = RESULT;
    } else if (accept(k, "*")) {
        ok = read_unary(k, v);
        k->effects |= READS;
        *v = (struct value){MEMORY, -1, 0};
    } else if (accept(k, "+") || accept(k, "-") || accept(k, "!") || accept(k, "~")) {
        ok = read_unary(k, v);
        *v = RESULT;
    } else {
        ok = read_primary(k, v) && read_suffixes(k, v);
    }
    k->depth--;
    return ok;
}

/* Moves k->at past an operator with two operands: 'b' a binary one, '&' one that may skip
 * the second, '=' an assignment, '?', 0: none. */
static int read_operator(struct kernel *k)
{
    static const char *const assignments[] = {
        "<<=", ">>=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^="};
    static const char *const binary[] = {"<<", ">>", "==", "!=", "<=", ">=", "+", "-",
                                         "*",  "/",  "%",  "&",  "|",  "^",  "<", ">"};
    if (is_mark(k, "/") || is_mark(k, "%")) k->effects |= DIVIDES;
    for (size_t n = 0; n < sizeof assignments / sizeof *assignments; n++)
        if (accept_marks(k, assignments[n])) return '=';
    if (accept_marks(k, "&&") || accept_marks(k, "||")) return '&';
    for (size_t n = 0; n < sizeof binary / sizeof *binary; n++)
        if (accept_marks(k, binary[n])) return 'b';
    return accept_marks(k, "=") ? '=' : accept_marks(k, "?") ? '?' : 0;
}

static int read_operands(struct kernel *k, struct value *v)
{
    int operands = 1;
    if (!read_unary(k, v)) return 0;
    for (int c; (c = read_operator(k)); operands++) {
        if (c == '&' || c == '?') k->conditional++;
        if (c == '=') {
            int ok = operands == 1 && change(k, v) && read_assignment(k, v);
            *v = RESULT;
            return ok;
        }
        if (c == '?') {
            int ok = read_list(k, v) && accept(k, ":") && read_assignment(k, v);
            *v = RESULT;
            return ok;
        }
        if (!read_unary(k, v)) return 0;
        *v = RESULT;
    }
    return 1;
}

static int read_assignment(struct kernel *k, struct value *v)
{
    if (k->depth == MAX_DEPTH) return 0;
    int conditional = k->conditional;
    k->depth++;
    int ok = read_operands(k, v);
    k->depth--;
    k->conditional = conditional;
    return ok;
}

int read_values(struct kernel *k)
{
    return read_list(k, &(struct value){0});
}
int read_value(struct kernel *k)
{
    return read_assignment(k, &(struct value){0});
}
int read_place(struct kernel *k)
{
    struct value v = {0};
    return read_assignment(k, &v) && change(k, &v);
}
