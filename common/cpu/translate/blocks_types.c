/* blocks_types.c - the types that a kernel may use if its threads run as loops. */
#include "blocks.h"

/* --- the template's parameters ------------------------------------------------------ */

/* class T, int N, bool B, ...: the parameter that ends before i, and its kind; or 0 */
static int kind_of_parameter(const struct source *s, int first, int name)
{
    if (!is_free(s, name) || first >= name) return 0;
    if (token_in(s, first, "class typename")) return next(s, first) == name ? 'T' : 0;
    for (; first < name; first = next(s, first))
        if (!is_builtin(s, first) && !is_number_type(s, first)) return 0;
    return 'N';
}

/* The kind of the parameter that is called as the name at i; i < 0: 0 if all are known */
static int find_parameter(const struct kernel *k, int i)
{
    const struct source *s = k->s;
    if (k->head < 0) return i < 0;
    int close = close_angle(s, k->head), first = next(s, k->head);
    if (close < 0) return 0;
    if (first == close) return i < 0; /* template <> */
    for (int n = first; n <= close; n = next(s, n)) {
        if (!is(s, n, ",") && n != close) continue;
        int name = previous(s, find_outside(s, first, n, "=")); /* int N = 4 */
        int kind = kind_of_parameter(s, first, name);
        if (i < 0 && !kind) return 0;
        if (i >= 0 && same_text(s, i, name)) return kind;
        first = next(s, n);
    }
    return i < 0;
}

int template_parameter(const struct kernel *k, int i)
{
    return is_name(k->s, i) ? find_parameter(k, i) : 0;
}
int is_known_template(const struct kernel *k)
{
    return find_parameter(k, -1);
}

/* --- types -------------------------------------------------------------------------- */

int is_type(struct kernel *k, int i)
{
    const struct source *s = k->s;
    return is_builtin(s, i) || (is_class(s, i) && find_variable(k, i) < 0) ||
           is(s, i, "auto") || is(s, i, "void") || template_parameter(k, i) == 'T';
}

int read_type(struct kernel *k, int *builtin)
{
    const struct source *s = k->s;
    int words = 0, others = 0, classes = 0;
    for (; is_type(k, k->at); k->at = next(s, k->at)) {
        if (words && !is_builtin(s, k->at)) break; /* int half */
        int qualifier = token_in(s, k->at, "const constexpr");
        int named = is_class(s, k->at) || template_parameter(k, k->at) == 'T';
        if (named && add_global(k, k->at) < 0) return 0;
        if (!qualifier && !is_builtin(s, k->at) && !is_number_type(s, k->at))
            others++, classes += named;
        else
            words += !qualifier;
    }
    *builtin = words > 0 && !others;
    k->named = classes > 0;
    return (words > 0) != (others == 1) && others < 2;
}

int read_pointer_type(struct kernel *k)
{
    int builtin;
    if (!read_type(k, &builtin)) return 0;
    while (is(k->s, k->at, "*") || is(k->s, k->at, "const"))
        k->at = next(k->s, k->at);
    return 1;
}
