/* outline_declare.c - enters the functions and variables that a declaration declares, and
 * what the words before a name say of it. */
#include "outline.h"

#include <stdlib.h>

/* --- the words before a declared name ----------------------------------------------- */

/* What the tokens [first, name) say. */
struct specifiers {
    int types; /* 0: none; 2 or more: one of them may be a macro of attributes */
    int kernel, device, host, managed, is_constexpr, is_const, is_auto, is_void,
        is_builtin;
    int is_member;  /* or a friend */
    int for_both;   /* a macro says __host__ __device__; it is counted in types */
    int memory;     /* __constant__, __shared__, ... */
    int is_texture; /* texture<...> or surface<...> */
};

#define ATTRIBUTES                                                                       \
    "__launch_bounds__ __attribute__ __align__ alignas decltype noexcept __declspec "    \
    "throw explicit __cluster_dims__ __block_size__ __maxnreg__ requires _Pragma"
#define BUILTIN                                                                          \
    "void bool char short int long float double unsigned signed size_t auto int64_t "    \
    "uint64_t int32_t uint32_t half __half float2 float4"
#define STORAGE                                                                          \
    "static inline extern volatile __forceinline__ __noinline__ __inline__ "             \
    "__restrict__ __restrict virtual mutable register thread_local typename "            \
    "__grid_constant__ operator template"

int is_attribute(const struct outline *o, int i)
{
    return in_list(o, i, ATTRIBUTES);
}

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
        } else if (is_attribute(o, i)) {
            if (word(o, i, "decltype")) f.types++;
        } else if (in_list(o, i, BUILTIN)) {
            f.is_builtin = 1;
            if (word(o, i, "auto")) f.is_auto = 1;
            if (word(o, i, "void")) f.is_void = !word(o, i + 1, "*");
        } else if (!in_list(o, i, STORAGE)) {
            const struct name *n = name_at(o, i, 0);
            f.for_both |= n && n->for_both;
            f.types++;
            f.is_texture |= in_list(o, i, "texture surface") && word(o, i + 1, "<");
        }
    }
    f.types += f.is_builtin;
    return f;
}

/* --- functions ---------------------------------------------------------------------- */

static unsigned space_of(const struct specifiers *f)
{
    if (f->kernel) return KERNEL;
    if (f->device) return f->host ? HOST_FUNCTION | DEVICE_FUNCTION : DEVICE_FUNCTION;
    return f->types == 1 || f->host ? HOST_FUNCTION : 0;
}

void declare_function(struct outline *o, int first, int name, const struct enclosing *in)
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

void define_function(
    struct outline *o, int start, int first, int open, int name, int body,
    const struct enclosing *in)
{
    struct specifiers f = specifiers_of(o, first, name < 0 ? open : name);
    struct function new = {
        .first = start,
        .name = name,
        .body = body,
        .end = other(o, body),
        .space = space_of(&f),
        .is_template = in->in_template,
        .for_both = f.for_both,
        .returns = f.is_builtin && f.types == 1 && !f.is_void && !f.is_auto};
    add_function(o, &new);
}

/* --- variables ---------------------------------------------------------------------- */

/* `*name[n] = value`: what has been read of it */
struct declarator {
    int name;     /* or -1 */
    int array;    /* it has [n] */
    int pointer;  /* or a reference */
    int constant; /* after the last '*': const */
    int done;     /* what follows is its value */
};

static void declare_variable(
    struct outline *o, const struct declarator *d, const struct specifiers *f, int member)
{
    struct name *n = name_at(o, d->name, 1);
    int is_const = f->is_const || f->is_constexpr;
    int fixed = d->pointer ? d->constant : d->constant || is_const;
    if (member || o->s->in_braces || f->types != 1 || f->memory || f->device ||
        f->is_auto || f->is_member)
        n->flags |= UNSURE | (f->managed ? MANAGED_VARIABLE : 0) |
                    (f->device && !f->memory ? DEVICE_VARIABLE : 0);
    else if (d->array && is_const)
        n->flags |= HOST_ARRAY;
    else if (fixed || f->is_constexpr)
        n->flags |= UNSURE;
    else
        n->flags |= f->is_texture ? TEXTURE_REFERENCE : HOST_VARIABLE;
    if (!member)
        n->variable |=
            is_const && !f->memory && !f->device && !d->pointer ? FIXED : CHANGING;
}

void declare_variables(struct outline *o, int first, int end, int member)
{
    static const struct declarator none = {.name = -1};
    struct declarator d = none;
    struct specifiers f = {0}; /* the same for all of them */
    int known = 0;
    for (int i = first; i <= end; i++) {
        int last = i == end || word(o, i, ",");
        if (last && d.name >= 0) {
            if (!known++) f = specifiers_of(o, first, d.name);
            declare_variable(o, &d, &f, member);
            d = none;
        } else if (word(o, i, "=")) {
            d.done = 1;
        } else if (word(o, i, "[") || word(o, i, "(") || word(o, i, "{")) {
            if (word(o, i, "[") && !d.done) d.array = 1;
            if (word(o, i, "{") && d.name >= 0) d.done = 1;
            if (other(o, i) > i) i = other(o, i);
        } else if (word(o, i, "<") && !d.done) {
            int past = past_angles(o, i);
            if (past > i && past <= end) i = past - 1;
        } else if (d.done) {
            continue;
        } else if (word(o, i, "*")) {
            d.pointer = 1, d.constant = 0;
        } else if (word(o, i, "&")) {
            d.constant = d.pointer = 1;
        } else if (word(o, i, "const")) {
            d.constant = d.pointer;
        } else if (named(o, i)) {
            d.name = i;
        }
    }
}
