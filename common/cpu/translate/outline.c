/* outline.c - finds the functions and variables that a source declares in namespaces and
 * classes. A declaration starts where the last one ends. Its tokens are read up to a ';' or
 * to the brace of a body; brackets are skipped whole. */
#include "outline.h"

#include <stdlib.h>

/* --- parts of a declaration --------------------------------------------------------- */

/* 1 if the '(' at i holds a function's parameters. Sets *name, to -1 for an operator. */
static int is_parameters(const struct outline *o, int first, int i, int *name)
{
    int close = other(o, i), after = close + 1;
    if (!(word(o, after, "{") || word(o, after, ";") || word(o, after, "=") ||
          (word(o, after, ":") && !scope_mark(o, after)) || word(o, after, "&") ||
          (word(o, after, "-") && word(o, after + 1, ">")) ||
          in_list(
              o, after, "const noexcept override final volatile throw __attribute__")))
        return 0;
    for (int k = i - 1; k >= first && k > i - 8; k--)
        if (word(o, k, "operator")) {
            *name = -1;
            return k != i - 1 || !word(o, after, "(");
        }
    int k = i - 1;
    if (word(o, k, ">") && open_angle(o->s, o->token[k]) >= 0) /* f<float>(...) */
        k = o->place[open_angle(o->s, o->token[k])] - 1;
    if (!named(o, k) || k < first || is_attribute(o, k)) return 0;
    *name = word(o, k - 1, "~") ? -1 : k;
    return 1;
}

/* The body's brace after the ':' of a constructor: a(1), b{2} { */
static int after_initializers(const struct outline *o, int i, int to)
{
    while (i < to && !word(o, i, ";")) {
        while (i < to && !word(o, i, "(") && !word(o, i, "{") && !word(o, i, ";"))
            i++;
        if (word(o, i, ";") || other(o, i) < i) break;
        i = other(o, i) + 1;
        if (word(o, i, "{")) return i;
    }
    return i;
}

/* --- declarations ------------------------------------------------------------------- */

static void read_scope(struct outline *o, int i, int to, struct enclosing in);

/* namespace a::b { }; namespace c = d; is skipped. */
static int read_namespace(struct outline *o, int i, int to, struct enclosing in)
{
    int k = i;
    while (k < to && !word(o, k, "{") && !word(o, k, ";") && !word(o, k, "="))
        k++;
    for (int n = i; n < k && word(o, k, "{"); n++)
        if (named(o, n)) name_at(o, n, 1)->flags |= NAMESPACE;
    if (word(o, k, "{")) {
        read_scope(o, k + 1, other(o, k), in);
        return other(o, k) + 1;
    }
    while (k < to && !word(o, k, ";"))
        k++;
    return k + 1;
}

/* using namespace x: if x is not declared here, it may have any function. */
static void read_using(const struct outline *o, int i)
{
    if (!word(o, i + 1, "namespace") || !named(o, i + 2)) return;
    const struct name *n = name_at(o, i + 2, 0);
    if (!(n && n->flags & NAMESPACE) &&
        !in_list(o, i + 2, "std cooperative_groups cg nvcuda wmma"))
        unread_header();
}

/* A class's members, or the values of an enum. */
static void read_record(struct outline *o, int keyword, int brace, struct enclosing in)
{
    if (!word(o, keyword, "enum")) {
        read_scope(o, brace + 1, other(o, brace), in);
        return;
    }
    for (int i = brace; i < other(o, brace); i++)
        if (named(o, i + 1) && (i == brace || word(o, i, ",")))
            name_at(o, i + 1, 1)->variable |= FIXED;
}

/* typedef unsigned int uint; typedef float4 data; using real = float; */
static void read_alias(struct outline *o, int i, int end)
{
    int is_typedef = word(o, i, "typedef"), numbers = 1;
    int name = is_typedef ? end - 1 : i + 1;
    int first = is_typedef ? i + 1 : i + 3, last = is_typedef ? end - 1 : end;
    if (!named(o, name) || first >= last || (!is_typedef && !word(o, i + 2, "="))) return;
    for (int n = first; n < last; n++) {
        if (!named(o, n)) return;
        numbers &=
            in_list(o, n, "char short int long float double unsigned signed bool const");
    }
    if (!numbers && last - first > 1) return;
    name_at(o, name, 1)->alias = numbers ? NUMBER_TYPE : OTHER_TYPE;
}

/* template <class T> template <...> at i: what follows. Sets *has_parameters. */
static int past_templates(struct outline *o, int i, int *has_parameters)
{
    while (word(o, i, "template") && word(o, i + 1, "<")) {
        int past = past_angles(o, i + 1);
        if (past == i + 1) o->lost = 1; /* longer than close_angle looks */
        if (past > i + 3) *has_parameters = 1;
        i = past;
    }
    return i;
}

/* A namespace, extern "C" { } or `public:` at i: reads it and returns what follows; or -1 */
static int read_enclosing(struct outline *o, int i, int to, struct enclosing in)
{
    int k = i + word(o, i, "inline");
    if (word(o, k, "namespace")) return read_namespace(o, k + 1, to, in);
    if (word(o, k, "extern") && word(o, k + 2, "{") && other(o, k + 2) >= 0) {
        read_scope(o, k + 3, other(o, k + 2), in);
        return other(o, k + 2) + 1;
    }
    if (in_list(o, k, "public private protected") && word(o, k + 1, ":")) return k + 2;
    return -1;
}

/* Reads the declaration at i and returns what follows it. */
static int read_declaration(struct outline *o, int i, int to, struct enclosing in)
{
    int open = -1, name = -1, value = 0, record = -1;
    struct enclosing inner = {1, in.in_template};
    int first = past_templates(o, i, &inner.in_template);
    int after = read_enclosing(o, first, to, in);
    if (after >= 0) return after;
    int k = first + word(o, first, "inline");
    if (word(o, k, "using")) read_using(o, k);
    int quiet = in_list(o, k, "using typedef static_assert template asm __asm__");
    for (k = first; k < to && !word(o, k, ";"); k++) {
        if (word(o, k, "(") || word(o, k, "[")) {
            if (open < 0 && !value && !quiet && word(o, k, "(") &&
                is_parameters(o, first, k, &name))
                open = k;
            k = other(o, k);
        } else if (word(o, k, "<") && !value && named(o, k - 1)) {
            int past = word(o, k - 1, "operator") ? k : past_angles(o, k);
            if (past > k && past < to) k = past - 1;
        } else if (
            word(o, k, "=") && !word(o, k - 1, "operator") &&
            !word(o, k - 2, "operator")) {
            value = 1;
        } else if (open < 0 && in_list(o, k, "struct class union enum")) {
            record = k;
        } else if (scope_mark(o, k)) {
            k++;
        } else if (word(o, k, ":") && open >= 0 && !value) {
            k = after_initializers(o, k, to) - 1;
        } else if (word(o, k, "{") && open >= 0 && !value) {
            declare_function(o, first, name, &in);
            define_function(o, i, first, open, name, k, &inner);
            return other(o, k) + 1;
        } else if (word(o, k, "{")) {
            if (record >= 0 && !value && !quiet) read_record(o, record, k, inner);
            k = other(o, k);
        }
    }
    if (in_list(o, first, "typedef using")) read_alias(o, first, k);
    if (open >= 0)
        declare_function(o, first, name, &in);
    else if (record < 0 && !quiet)
        declare_variables(o, first, k, in.member);
    return k + 1;
}

static void read_scope(struct outline *o, int i, int to, struct enclosing in)
{
    while (i < to && !o->lost)
        i = word(o, i, ";") ? i + 1 : read_declaration(o, i, to, in);
}

void make_outline(struct outline *o, const struct source *s)
{
    size_t n = (size_t)s->count + 1;
    *o = (struct outline){.s = s};
    o->token = check_alloc(malloc(n * sizeof *o->token));
    o->place = check_alloc(malloc(n * sizeof *o->place));
    o->depth = check_alloc(malloc(n * sizeof *o->depth));
    take_tokens(o);
    read_scope(o, 0, o->count, (struct enclosing){0, 0});
}

void free_outline(struct outline *o)
{
    free(o->token);
    free(o->place);
    free(o->depth);
    free(o->functions);
}
