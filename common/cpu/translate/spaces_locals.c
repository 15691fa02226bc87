/* spaces_locals.c - the names that a function declares: they hide those of the file. */
#include "spaces.h"

#define KEYWORDS                                                                         \
    "return else do case goto throw sizeof new delete and or not if while for switch "   \
    "co_return co_yield"

int is_keyword(const struct outline *o, int i)
{
    return in_list(o, i, KEYWORDS);
}

static int functions_seen; /* the number of the function being checked */

int is_local(const struct outline *o, int i)
{
    const struct name *n = name_at(o, i, 0);
    return n && n->local == functions_seen;
}

/* Steps left over the words of a type, such as `const ns::T`, which ends at i. */
static int before_type(const struct outline *o, int i)
{
    for (int n = 0; n < 16; n++, i--) {
        if (scope_mark(o, i - 1))
            i--;
        else if (!named(o, i) || is_keyword(o, i))
            break;
    }
    return i;
}

/* Does the name at i look declared: float x, T *x, vec<E> x, auto [x, y], [x](...)? An
 * expression may look so too; then a wrong use is missed. inner: the bracket around it. */
static int is_declared(const struct outline *o, int i, int inner)
{
    int p = i - 1, q = p - 1;
    if (word(o, p, "{")) return word(o, q, "enum") || word(o, q - 1, "enum");
    if (named(o, p)) /* not the type in `const T *x` or `typename T` */
        return !is_keyword(o, p) && !in_list(o, p, "typename class") &&
               !named(o, i + 1) && !word(o, i + 1, "*") && !word(o, i + 1, "&") &&
               !word(o, i + 1, "<");
    if (word(o, inner, "[")) /* a capture; not an index */
        return !named(o, inner - 1) && !word(o, inner - 1, ")") &&
               !word(o, inner - 1, "]");
    if (word(o, p, ",")) return !word(o, inner, "(") || word(o, inner - 1, "for");
    if (word(o, p, ">")) {
        int open = open_angle(o->s, o->token[p]);
        return open >= 0 && o->place[open] > 0 && named(o, o->place[open] - 1);
    }
    while (word(o, p, "*") || word(o, p, "&") || word(o, p, "const"))
        p--;
    if (p == i - 1) return 0;
    if (word(o, p, "("))
        return word(o, i + 1, ")") && (word(o, i + 2, "(") || word(o, i + 2, "["));
    if (word(o, p, ",")) return !word(o, inner, "(");
    if (word(o, p, ">")) return open_angle(o->s, o->token[p]) >= 0;
    if (!named(o, p) || is_local(o, p)) return 0;
    p = before_type(o, p);
    return word(o, p, ";") || word(o, p, "{") || word(o, p, "}") || word(o, p, "(") ||
           word(o, p, ",") || word(o, p, ")") || word(o, p, "<") || word(o, p, ">");
}

void find_locals(const struct outline *o, const struct function *f)
{
    int open[MAX_NESTING + 1], depth = 0;
    open[0] = -1;
    functions_seen++;
    for (int i = f->first; i <= f->end; i++) {
        int m = other(o, i);
        if (m > i && depth < MAX_NESTING) open[++depth] = i;
        if (m >= 0 && m < i && depth) depth--;
        if (i != f->name && named(o, i) && is_declared(o, i, open[depth]))
            name_at(o, i, 1)->local = functions_seen;
    }
}
