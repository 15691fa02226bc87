/* outline.c - finds the functions and variables that a source declares in namespaces and
 * classes. A declaration starts where the last one ends. Its tokens are read up to a ';' or
 * to the brace of a body; brackets are skipped whole. */
#include "outline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int word(const struct outline *o, int i, const char *text)
{
    return i >= 0 && i < o->count && is(o->s, o->token[i], text);
}
int named(const struct outline *o, int i)
{
    return i >= 0 && i < o->count && is_name(o->s, o->token[i]);
}
int other(const struct outline *o, int i)
{
    int m = i >= 0 && i < o->count ? mate(o->s, o->token[i]) : -1;
    return m < 0 ? -1 : o->place[m];
}
int past_angles(const struct outline *o, int i)
{
    int close = word(o, i, "<") ? close_angle(o->s, o->token[i]) : -1;
    int at = close < 0 ? -1 : o->place[close];
    return at < 0 ? i : at + 1;
}
int scope_mark(const struct outline *o, int i)
{
    return word(o, i, ":") && word(o, i + 1, ":") && o->token[i + 1] == o->token[i] + 1;
}

/* --- the tokens --------------------------------------------------------------------- */

/* 1 for the '#' of #if, #define, ... (but not for #include and others that are one token) */
static int starts_directive(const struct source *s, int i)
{
    int k = next(s, i);
    return is(s, i, "#") && !s->tokens[i].in_directive && k < s->count &&
           s->tokens[k].in_directive;
}

/* What follows the name in #define; of all but short ones, nothing. */
static void enter_macro(const struct source *s, int name, int guarded)
{
    enum { MAX_MACRO = 60 }; /* tokens */
    struct name *n = look_up(s->tokens[name].start, s->tokens[name].length, 1);
    int end = name + 1;
    while (end < s->count && end < name + MAX_MACRO && s->tokens[end].in_directive)
        end++;
    n->defined++;
    n->guarded = guarded;
    n->in = s, n->at = name;
    n->takes = is(s, name + 1, "(");
    free(n->macro);
    n->macro = end < name + MAX_MACRO ? text_of(s, name + 1, end) : NULL;
}

/* A macro may rename, declare or hide a function: its name, and the names in its text that
 * look declared, are unsure. Token i is the '#'. */
static void know_macro(const struct source *s, int i, int guarded)
{
    int define = next(s, i), name = next(s, define);
    if (is(s, define, "undef") && is_name(s, name))
        look_up(s->tokens[name].start, s->tokens[name].length, 1)->defined++;
    if (!is(s, define, "define") || !is_name(s, name)) return;
    enter_macro(s, name, guarded);
    for (int k = name; k < s->count && s->tokens[k].in_directive; k = next(s, k)) {
        const struct token *t = &s->tokens[k];
        int before = previous(s, k);
        if (t->kind == NAME &&
            (k == name || (is_name(s, before) && before != name) || is(s, before, "*") ||
             is(s, before, "&") || is(s, before, ">") || is(s, before, "#")))
            look_up(t->start, t->length, 1)->flags |= k == name ? MACRO | UNSURE : UNSURE;
    }
}

/* The #if that a whole header is in, to be read once, does not count. */
static int is_guarded(const struct source *s)
{
    int first = next(s, -1);
    return starts_directive(s, first) && is(s, next(s, first), "ifndef");
}

static void take_tokens(struct outline *o)
{
    const struct source *s = o->s;
    int depth = is_guarded(s) ? -1 : 0;
    for (int i = 0; i < s->count; i++) {
        const struct token *t = &s->tokens[i];
        int start = starts_directive(s, i), m = t->mate;
        int in_line = start || t->in_directive || t->kind == DIRECTIVE;
        o->place[i] = -1;
        if (start) {
            int k = next(s, i);
            if (is(s, k, "if") || is(s, k, "ifdef") || is(s, k, "ifndef")) depth++;
            if (is(s, k, "endif")) depth--;
            know_macro(s, i, depth > 0);
        }
        if (t->kind == MARK && !in_line && strchr("()[]{}", *t->start) &&
            (m < 0 || s->tokens[m].in_directive))
            o->lost = 1;
        if (in_line || t->kind == BLANK || t->kind == COMMENT) continue;
        o->place[i] = o->count;
        o->depth[o->count] = (unsigned short)(depth < 0 ? 0 : depth);
        o->token[o->count++] = i;
    }
}

/* --- the words before a declared name ----------------------------------------------- */

/* What the tokens [first, name) say. */
struct specifiers {
    int types; /* 0: none; 2 or more: one of them may be a macro of attributes */
    int kernel, device, host, managed, is_constexpr, is_const, is_auto, is_void,
        is_builtin;
    int is_member; /* or a friend */
    int memory;    /* __constant__, __shared__, ... */
};

#define ATTRIBUTES                                                                       \
    "__launch_bounds__ __attribute__ __align__ alignas decltype noexcept __declspec "    \
    "throw explicit __cluster_dims__ __block_size__ __maxnreg__ requires"
#define BUILTIN                                                                          \
    "void bool char short int long float double unsigned signed size_t auto int64_t "    \
    "uint64_t int32_t uint32_t half __half float2 float4"
#define STORAGE                                                                          \
    "static inline extern volatile __forceinline__ __noinline__ __inline__ "             \
    "__restrict__ __restrict virtual mutable register thread_local typename "            \
    "__grid_constant__ operator template"

static struct specifiers specifiers_of(const struct outline *o, int first, int name)
{
    struct specifiers f = {0};
    for (int i = first; i < name; i++) {
        if (word(o, i, "(") || word(o, i, "[") || word(o, i, "{")) {
            if (other(o, i) > i) i = other(o, i);
        } else if (word(o, i, "<")) {
            int past = past_angles(o, i);
            if (past > i && past <= name) i = past - 1;
        } else if (scope_mark(o, i)) {
            if (i > first && named(o, i - 1)) f.types--; /* ns::type is one */
            i++;
            if (i + 1 == name) f.is_member = 1;
        } else if (!named(o, i)) {
            continue;
        } else if (word(o, i, "__global__")) {
            f.kernel = 1;
        } else if (word(o, i, "__device__")) {
            f.device = 1;
        } else if (word(o, i, "__host__")) {
            f.host = 1;
        } else if (word(o, i, "constexpr") || word(o, i, "consteval")) {
            f.is_constexpr = 1;
        } else if (word(o, i, "const")) {
            f.is_const = 1;
        } else if (word(o, i, "friend")) {
            f.is_member = 1;
        } else if (in_list(o, i, "__constant__ __shared__")) {
            f.memory = 1;
        } else if (word(o, i, "__managed__")) {
            f.device = f.managed = 1;
        } else if (in_list(o, i, "struct class union enum")) {
            if (named(o, i + 1) && i + 1 < name) i++;
            f.types++;
        } else if (in_list(o, i, ATTRIBUTES)) {
            if (word(o, i, "decltype")) f.types++;
        } else if (in_list(o, i, BUILTIN)) {
            f.is_builtin = 1;
            if (word(o, i, "auto")) f.is_auto = 1;
            if (word(o, i, "void")) f.is_void = !word(o, i + 1, "*");
        } else if (!in_list(o, i, STORAGE)) {
            f.types++;
        }
    }
    f.types += f.is_builtin;
    return f;
}

/* --- declarations ------------------------------------------------------------------- */

/* Where a declaration is: in a class, in a template of a class. */
struct scope {
    int member, in_template;
};

static unsigned space_of(const struct specifiers *f)
{
    if (f->kernel) return KERNEL;
    if (f->device) return f->host ? HOST_FUNCTION | DEVICE_FUNCTION : DEVICE_FUNCTION;
    return f->types == 1 || f->host ? HOST_FUNCTION : 0;
}

/* Enters the function whose parameters follow `name`; -1: an operator. */
static void
declare_function(struct outline *o, int first, int name, const struct scope *in)
{
    if (name < 0) return;
    struct specifiers f = specifiers_of(o, first, name);
    struct name *n = name_at(o, name, 1);
    n->flags |= space_of(&f);
    if (f.is_constexpr) n->flags |= CONSTEXPR;
    if (f.types != 1 || f.is_member || in->member || o->s->in_braces) n->flags |= UNSURE;
}

static void add_function(struct outline *o, const struct function *f)
{
    if (o->function_count == o->function_room) {
        o->function_room = o->function_room ? 2 * o->function_room : 64;
        o->functions = check_alloc(
            realloc(o->functions, (size_t)o->function_room * sizeof *o->functions));
    }
    o->functions[o->function_count++] = *f;
}

static void define_function(
    struct outline *o, int start, int first, int open, int name, int body,
    const struct scope *in)
{
    struct specifiers f = specifiers_of(o, first, name < 0 ? open : name);
    struct function new = {
        .first = start,
        .name = name,
        .body = body,
        .end = other(o, body),
        .space = space_of(&f),
        .is_template = in->in_template,
        .returns = f.is_builtin && f.types == 1 && !f.is_void && !f.is_auto};
    add_function(o, &new);
}

/* The variables that [first, end) declares. */
static void declare_variables(struct outline *o, int first, int end, int member)
{
    int name = -1, array = 0, pointer = 0, constant = 0, done = 0, known = 0;
    struct specifiers f = {0};
    for (int i = first; i <= end; i++) {
        int last = i == end || word(o, i, ",");
        if (last && name >= 0) {
            if (!known++) f = specifiers_of(o, first, name);
            struct name *n = name_at(o, name, 1);
            int fixed = pointer ? constant : constant || f.is_constexpr || f.is_const;
            if (member || o->s->in_braces || f.types != 1 || f.memory || f.device ||
                f.is_auto || f.is_member)
                n->flags |= UNSURE | (f.managed ? MANAGED_VARIABLE : 0) |
                            (f.device && !f.memory ? DEVICE_VARIABLE : 0);
            else if (array && (f.is_constexpr || f.is_const))
                n->flags |= HOST_ARRAY;
            else
                n->flags |= fixed || f.is_constexpr ? UNSURE : HOST_VARIABLE;
            if (!member)
                n->variable |=
                    (f.is_const || f.is_constexpr) && !f.memory && !f.device && !pointer
                        ? FIXED
                        : CHANGING;
            name = -1, array = pointer = constant = done = 0;
        } else if (word(o, i, "=")) {
            done = 1;
        } else if (word(o, i, "[") || word(o, i, "(") || word(o, i, "{")) {
            if (word(o, i, "[") && !done) array = 1;
            if (word(o, i, "{") && name >= 0) done = 1;
            if (other(o, i) > i) i = other(o, i);
        } else if (word(o, i, "<") && !done) {
            int past = past_angles(o, i);
            if (past > i && past <= end) i = past - 1;
        } else if (done) {
            continue;
        } else if (word(o, i, "*")) {
            pointer = 1, constant = 0;
        } else if (word(o, i, "&")) {
            constant = pointer = 1;
        } else if (word(o, i, "const")) {
            constant = pointer;
        } else if (named(o, i)) {
            name = i;
        }
    }
}

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
    if (!named(o, k) || k < first || in_list(o, k, ATTRIBUTES)) return 0;
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

static void read_scope(struct outline *o, int i, int to, struct scope in);

/* namespace a::b { }; namespace c = d; is skipped. */
static int read_namespace(struct outline *o, int i, int to, struct scope in)
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
static void read_record(struct outline *o, int keyword, int brace, struct scope in)
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

/* Reads the declaration at i and returns what follows it. */
static int read_declaration(struct outline *o, int i, int to, struct scope in)
{
    int first = i, open = -1, name = -1, value = 0, record = -1, k;
    struct scope inner = {1, in.in_template};
    while (word(o, first, "template") && word(o, first + 1, "<")) {
        int past = past_angles(o, first + 1);
        if (past == first + 1) o->lost = 1; /* longer than close_angle looks */
        if (past > first + 3) inner.in_template = 1;
        first = past;
    }
    k = first + word(o, first, "inline");
    if (word(o, k, "namespace")) return read_namespace(o, k + 1, to, in);
    if (word(o, k, "extern") && word(o, k + 2, "{") && other(o, k + 2) >= 0) {
        read_scope(o, k + 3, other(o, k + 2), in); /* extern "C" { } */
        return other(o, k + 2) + 1;
    }
    if (in_list(o, k, "public private protected") && word(o, k + 1, ":")) return k + 2;
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

static void read_scope(struct outline *o, int i, int to, struct scope in)
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
    read_scope(o, 0, o->count, (struct scope){0, 0});
}

void free_outline(struct outline *o)
{
    free(o->token);
    free(o->place);
    free(o->depth);
    free(o->functions);
}
