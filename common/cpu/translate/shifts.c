/* shifts.c - shifts in device code, by an amount that is no number. A GPU shifts out all
 * bits if the amount is the width of the type or more; x86-64 uses the amount's low bits:
 *
 *     y = x << n;      ->   y = x << ::wbcpu::left << n;
 *     x >>= a + b;     ->   x >>= ::wbcpu::right >>= a + b;
 *
 * The operators keep their precedence, so no expression has to be understood; wbcpu/shifts.h
 * has what they do. The words are macros, so that a sanitizer can see the shifts as they are.
 *
 * What stays as it is: a shift in a macro, because an #if may use it; a bit-field as the left
 * operand, which would lose its promotion to int; and `s.x <<= n` if structs are packed,
 * because no reference can refer to such a member. */
#include "outline.h"

#include <string.h>

enum { MAX_STATEMENT = 400 }; /* tokens */

/* In the source or in a header that came before it */
static int packed, any_operands;

static const struct token *token_at(const struct outline *o, int i)
{
    return &o->s->tokens[o->token[i]];
}

static int is_mark(const struct outline *o, int i, const char *marks)
{
    return i >= 0 && i < o->count && token_at(o, i)->kind == MARK &&
           strchr(marks, *token_at(o, i)->start);
}

/* `unsigned a : 3, b : WIDTH - 3;`: enters a and b; the first ':' is at i. */
static void enter_bit_fields(const struct outline *o, int i)
{
    int name = i - 1, room = MAX_STATEMENT;
    while (word(o, i, ":") && !word(o, i + 1, ":") && named(o, name)) {
        while (--room > 0 && i < o->count && !is_mark(o, i, ",;={}?)"))
            i = word(o, i, "(") && other(o, i) > i ? other(o, i) + 1 : i + 1;
        if (!is_mark(o, i, ",;=")) return; /* another ':' */
        name_at(o, name, 1)->field = 1;
        while (--room > 0 && i < o->count && !is_mark(o, i, ",;{}"))
            i++; /* an initial value */
        if (!is_mark(o, i, ",")) return;
        name = i + 1, i += 2;
    }
}

/* `operator<<(T &&...)`: a template that would take the words as operands. */
static void look_for_exceptions(const struct outline *o)
{
    for (int i = 1; i < o->count; i++) {
        if (word(o, i + 1, ":") && named(o, i) && named(o, i - 1) &&
            !in_list(o, i - 1, "case return enum class struct"))
            enter_bit_fields(o, i + 1);
        if (!word(o, i - 1, "operator") || !is_mark(o, i, "<>") || !word(o, i + 2, "("))
            continue;
        for (int k = i + 2; k < other(o, i + 2); k++)
            any_operands |= run_of(o->s, o->token[k], '&', 2);
    }
    for (int i = 0; i < o->s->count; i++) {
        const struct token *t = &o->s->tokens[i];
        packed |=
            token_in(o->s, i, "packed __packed__") ||
            (t->kind == DIRECTIVE && memmem(t->start, (size_t)t->length, "pack", 4));
    }
}

/* The last token of the operand that ends at i, without its brackets. */
static int operand_end(const struct outline *o, int i)
{
    while (word(o, i, ")") && other(o, i) > 0 && !named(o, other(o, i) - 1))
        i--;
    return i;
}
static int is_bit_field(const struct outline *o, int i)
{
    const struct name *n = named(o, i) ? name_at(o, i, 0) : NULL;
    return n && n->field;
}
static int is_member(const struct outline *o, int i)
{
    while (word(o, i, "]") && other(o, i) > 0)
        i = other(o, i) - 1;
    return word(o, i - 1, ".") || (word(o, i - 1, ">") && word(o, i - 2, "-"));
}

/* 1 if the amount at i is a number and nothing else. */
static int is_number(const struct outline *o, int i)
{
    return i < o->count && token_at(o, i)->kind == NUMBER && !is_mark(o, i + 1, "*/%+-.");
}

/* 1 if the >> at i may be the end of A<B<c>>: two < are before it. Or, with streams, if
 * strings are near the operator at i. */
static int is_something_else(const struct outline *o, int i, int right, int streams)
{
    int open = 0, n = 0;
    for (int k = i - 1; k >= 0 && !is_mark(o, k, ";{}(["); k--) {
        if (++n == MAX_STATEMENT) return 1;
        if (is_mark(o, k, ")]") && (k = other(o, k)) < 0) return 1;
        open += word(o, k, "<") && !word(o, k - 1, "<") && !word(o, k + 1, "<");
        if (streams && (token_at(o, k)->kind == STRING || word(o, k, "std"))) return 1;
    }
    for (int k = i; streams && k < o->count && !word(o, k, ";"); k++) {
        if (++n == MAX_STATEMENT || token_at(o, k)->kind == STRING) return 1;
        if (word(o, k, "std") || word(o, k, "endl")) return 1;
    }
    return right && open > 1;
}

static void rewrite_body(struct source *s, const struct outline *o, int body, int streams)
{
    for (int i = body + 1, end = other(o, body); i + 2 < end; i++) {
        int left = word(o, i, "<"), right = word(o, i, ">"), at = o->token[i];
        if ((!left && !right) || !run_of(s, at, left ? '<' : '>', 2)) continue;
        int last = i + 1, by = run_of(s, at + 2, '=', 1), operand = operand_end(o, i - 1);
        while (word(o, last + 1, left ? "<" : ">"))
            last++;
        if (last == i + 1 && !word(o, i - 1, "operator") && !word(o, i - 1, ".") &&
            !word(o, last + 1 + by, ".") && !is_number(o, last + 1 + by) &&
            !is_something_else(o, i, right, streams) && !is_bit_field(o, operand) &&
            !(by && packed && is_member(o, operand)))
            s->tokens[o->token[last + by]].shift =
                by ? (left ? " WBCPU_LEFT_BY " : " WBCPU_RIGHT_BY ")
                   : (left ? " WBCPU_LEFT " : " WBCPU_RIGHT ");
        i = last;
    }
}

void rewrite_shifts(struct source *s, const struct outline *o)
{
    look_for_exceptions(o);
    if (any_operands) return;
    for (int i = 0; i < o->function_count; i++) {
        const struct function *f = &o->functions[i];
        if (f->space & (DEVICE_FUNCTION | KERNEL))
            rewrite_body(s, o, f->body, f->space & HOST_FUNCTION);
    }
    for (int i = 0; i < o->count; i++) { /* lambdas */
        if (!word(o, i, "__device__") ||
            !word(o, i - 1 - word(o, i - 1, "__host__"), "]"))
            continue;
        int k = i + 1;
        while (k < o->count && !is_mark(o, k, "{;}"))
            k = word(o, k, "(") && other(o, k) > k ? other(o, k) + 1 : k + 1;
        if (word(o, k, "{") && other(o, k) > k)
            rewrite_body(s, o, k, word(o, i - 1, "__host__"));
    }
}
