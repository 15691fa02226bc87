/* spaces.c - refuses what nvcc refuses and g++ would accept, because here __device__ and
 * __global__ are empty macros: calls between host and device code, host variables in
 * device code, __shared__ in host code, kernels that return a value, exceptions.
 *
 * A name says which declarations it may mean. Only if all of them are of the wrong side is
 * the use an error. What is unsure is accepted: members, names in macros, names with a
 * local declaration, code in #if. */
#include "spaces.h"

#include <stdlib.h>

/* --- bodies ------------------------------------------------------------------------- */

/* The body of the lambda whose '[' is at i, or -1. Sets *space if it is annotated. */
static int lambda_body(const struct outline *o, int i, unsigned *space)
{
    int k = other(o, i) + 1, device = 0, host = 0;
    if ((named(o, i - 1) && !word(o, i - 1, "return")) || word(o, i - 1, ")") ||
        word(o, i - 1, "]"))
        return -1;
    for (int n = 0; n < 40 && k < o->count && !word(o, k, "{"); n++, k++) {
        if (word(o, k, ";") || word(o, k, ")") || word(o, k, "}") || word(o, k, "]"))
            return -1;
        device |= word(o, k, "__device__");
        host |= word(o, k, "__host__");
        if (other(o, k) > k) k = other(o, k);
    }
    if (!word(o, k, "{")) return -1;
    if (device) *space = host ? HOST_FUNCTION | DEVICE_FUNCTION : DEVICE_FUNCTION;
    return k;
}

static int is_macro_call(const struct outline *o, int i)
{
    return word(o, i + 1, "(") && may_be_macro(o->s, o->token[i]);
}

/* Checks the tokens between the braces. */
static void check_body(const struct body *b, int body)
{
    const struct outline *o = b->o;
    int end = other(o, body);
    for (int i = body + 1; i < end && !given_up; i++) {
        int inner = -1;
        struct body lambda = *b;
        if (word(o, i, "[")) inner = lambda_body(o, i, &lambda.space);
        if (inner > i && inner < end) {
            if (lambda.space == b->space) continue;
            check_body(&lambda, inner);
            i = other(o, inner);
        } else if (
            in_list(o, i, "struct class union") &&
            word(o, i + 1 + named(o, i + 1), "{")) {
            i = other(o, i + 1 + named(o, i + 1));
        } else if (in_list(o, i, "sizeof decltype noexcept alignof typeid")) {
            i = word(o, i + 1, "(") ? other(o, i + 1) : i + 1;
        } else if (!named(o, i)) {
            continue;
        } else if (is_macro_call(o, i)) {
            i = other(o, i + 1);
        } else if (o->depth[i] > o->depth[b->f->first]) {
            continue;
        } else if (b->space & (DEVICE_FUNCTION | KERNEL) && !(b->space & HOST_FUNCTION)) {
            check_device_use(b, i);
        } else {
            check_host_use(b, i);
        }
    }
}

/* --- variable-length arrays --------------------------------------------------------- */

/* g++ knows them. In the body of device code, its warning becomes an error. g++ reads the
 * bodies of a class's functions after the class: both pragmas lie between the braces. */
static void forbid_variable_arrays(struct source *s, int body, int end)
{
    struct token *after = &s->tokens[body + 1]; /* a blank: no other rule writes there */
    if (after->kind != BLANK || s->tokens[end].before) return;
    after->before = " _Pragma(\"GCC diagnostic push\")"
                    " _Pragma(\"GCC diagnostic error \\\"-Wvla\\\"\")";
    s->tokens[end].before = "_Pragma(\"GCC diagnostic pop\") ";
}

/* --- all functions ------------------------------------------------------------------ */

static void names_of(struct token_index *x, const struct outline *o)
{
    for (int i = 0; i < o->count; i++)
        if (named(o, i)) index_add(x, o->token[i]);
    index_sort(x, o->s);
}

/* A template is compiled if it is used: its name occurs again. */
static int is_used(
    const struct outline *o, const struct function *f, const struct token_index *names)
{
    int equal = 0;
    if (!f->is_template) return 1;
    if (f->name < 0) return 0;
    const struct token *t = &o->s->tokens[o->token[f->name]];
    index_find(names, o->s, t->start, t->length, &equal);
    return equal > 1;
}

/* Discarded branches of a template are not compiled. */
static int has_discarded(const struct outline *o, const struct function *f)
{
    for (int i = f->body; i < f->end; i++)
        if (word(o, i, "if") && word(o, i + 1, "constexpr")) return 1;
    return 0;
}

static void check_function(
    const struct outline *o, const struct function *f, const struct token_index *names)
{
    struct body b = {o, f, f->space};
    if (!f->space || o->depth[f->first] || !is_used(o, f, names)) return;
    if (f->space == KERNEL && f->returns && f->name >= 0)
        refuse_at(
            o->s, o->token[f->name],
            "a kernel must return void: write the results to an array");
    if (has_discarded(o, f)) return;
    if (f->is_template && f->space == (HOST_FUNCTION | DEVICE_FUNCTION)) return;
    find_locals(o, f);
    check_body(&b, f->body);
}

void check_spaces(struct source *s)
{
    struct outline o;
    struct token_index names = {0};
    make_outline(&o, s);
    name_architecture(s, &o);
    find_host_assembly(s, &o);
    rewrite_shifts(s, &o);
    static int lost;
    lost |= o.lost;
    names_of(&names, &o);
    for (int i = 0; i < o.function_count && !lost && !given_up; i++) {
        const struct function *f = &o.functions[i];
        check_function(&o, f, &names);
        if (f->space == KERNEL || f->space == DEVICE_FUNCTION)
            forbid_variable_arrays(s, o.token[f->body], o.token[f->end]);
    }
    free(names.tokens);
    free_outline(&o);
}
