/* blocks_flat.h - a kernel without calls of functions that wait, and without cooperative
 * groups (blocks_flat.c). */
#ifndef BLOCKS_FLAT_H
#define BLOCKS_FLAT_H

#include "blocks.h"

enum {
    MAX_FLAT = MAX_KERNEL + 1000, /* tokens of the copy */
    MAX_BINDINGS = 24,
    MAX_GROUPS = 8,
    GRID = -1, /* as the number of a group's lanes */
    MAX_TYPED = 100,
    MAX_RESULTS = 8,
    MAX_IMPORTS = 24,
    MAX_SHARED = 16,
    MAX_EXPANSIONS = 500,
    MAX_INLINED = 8 /* functions in functions */
};

struct scope;
/* A parameter of a function, which the tokens [first, end) of its caller replace. */
struct binding {
    int name;
    int first, end;
    struct scope *where; /* what their names mean */
    int is_type;
    int as_is; /* a macro's parameter: inserted without parentheses */
};
/* A variable, its type and its stars; an array counts as a pointer. shared: 1 if it is the
 * kernel's, or the number of the declaration in a function */
struct typed {
    int name, type, type_end, stars, shared, array;
};
/* A call that stands before the statement, and the number of its result; 0: void */
struct result {
    int call, close, number;
};
/* The kernel, or a call of a function. */
struct scope {
    int number; /* of the call; 0: the kernel */
    int depth;
    int changes; /* the function has parameters by reference */
    struct scope *caller;
    struct binding bindings[MAX_BINDINGS];
    struct {
        int name, lanes; /* 0: the block; GRID */
    } groups[MAX_GROUPS];
    struct typed typed[MAX_TYPED];
    struct result results[MAX_RESULTS];
    int binding_count, group_count, typed_count, result_count;
};

struct flat {
    struct source *s;
    int at;      /* the kernel's `__global__` */
    int number;  /* of calls so far */
    int changed; /* it differs from the kernel */
    int in_lockstep;  /* it has statements that need lanes in lockstep (lockstep.c) */
    int was_volatile; /* only they may access what was volatile */
    int failed, depth;
    int macros;             /* in macros */
    int expansions;         /* of macros so far */
    int line;               /* of all tokens that are put; 0: their own */
    int own_line;           /* of new ones */
    int top;                /* where the kernel's statements begin */
    int shared[MAX_SHARED]; /* declarations in functions, moved there */
    int shared_count;
    struct {
        const struct device_function *d;
        int shift;
    } imports[MAX_IMPORTS]; /* functions of headers, at the end of the source */
    int import_count;
    struct token *tokens; /* the copy */
    int count;
};

/* --- blocks_copy.c ------------------------------------------------------------------ */

int is_member(const struct source *s, int i); /* a.x, a->x, a::x */
/* 1 if the name in an inlined function is one of its variables. */
int is_own_name(const struct source *s, int i);
void give_up(struct flat *f);
void put(struct flat *f, int i);
/* Separated by blanks; a leading one counts. */
void put_words(struct flat *f, const char *words);
void put_number(struct flat *f, const char *pattern, int number);
/* Each call has its own variables, except the shared ones. */
void put_own_name(struct flat *f, const struct scope *c, int i);
void bind(struct flat *f, struct scope *c, struct binding b);
const struct typed *find_typed(struct flat *f, const struct scope *c, int i);
const struct binding *find_binding(struct flat *f, const struct scope *c, int i);
/* Appends tokens to the source, after the kernel's copy; returns the first. */
int append_to_source(struct flat *f, const struct token *tokens, int count);
int shift_of(struct flat *f, const struct device_function *d);

/* --- blocks_flat.c ------------------------------------------------------------------ */

/* Appends a copy of the kernel whose `__global__` is token i. Returns its `__global__`, or
 * -1 if a copy would be the same or is impossible. Afterwards set s->count to what it was. */
int flatten(struct source *s, const struct kernel *k, int i);

struct scope *new_scope(struct flat *f, struct scope *caller); /* of a call */
void flat_tokens(struct flat *f, int i, int end, struct scope *c);
void flat_statements(struct flat *f, int i, int end, struct scope *c);
/* Writes the functions that [i, end) calls and that wait, before its statement. */
void hoist(struct flat *f, int i, int end, struct scope *c);

/* --- blocks_macros.c ---------------------------------------------------------------- */

/* If the name at i is a call of a macro, puts its replacement; returns what follows. */
int flat_macro(struct flat *f, int i, struct scope *c);

/* --- blocks_inline.c ---------------------------------------------------------------- */

/* Writes the function whose call is [i, mate(open)]. Returns the number of its result. */
int flat_call(
    struct flat *f, struct device_function *d, int i, int open, struct scope *c);

/* --- blocks_parameters.c ------------------------------------------------------------ */

/* type *name, type &name, type name[] */
struct parameter {
    int type, type_end, name, stars, reference, is_const, is_volatile;
};

struct parameter parameter_at(const struct source *s, int first, int end);
/* 1 if the function may change its parameter `name`. */
int is_changed(const struct source *s, int name, int body, int end);
/* 1 if the function whose '(' is at `open` may change one of its arguments. */
int has_references(const struct source *s, int open);

/* The variable that an argument is, through the parameters of the callers: its type. Sets
 * *where to the scope of the type's names. */
const struct typed *
type_of(struct flat *f, int first, int end, struct scope *c, struct scope **where);
/* The words of two types without const and the like */
int same_type(const struct source *s, int a, int a_end, int b, int b_end);

/* The functions below bind parameters of the template whose '<' is at `head`. */
/* Binds those of template <class T, int N> to <float, 3> at `angle`, if that is a '<'. */
void bind_template(
    struct flat *f, int head, int angle, struct scope *c, struct scope *in);
/* Is the name at i a parameter of the template that has no argument yet? */
int is_open_type(struct flat *f, int head, int i, const struct scope *in);
/* Binds the type T of the parameter `T v` or `T *v` to that of the argument, if known. */
void deduce(
    struct flat *f, const struct parameter *p, int first, int end, struct scope *c,
    struct scope *in);

/* --- blocks_groups.c ---------------------------------------------------------------- */

/* If the name at i begins a use of a group, puts its replacement; returns what follows. */
int flat_group(struct flat *f, int i, struct scope *c);
/* 1 if the statement declares a group. */
int flat_group_declaration(struct flat *f, int i, int end, struct scope *c);
/* The ')' of cg::reduce(tile, v, cg::plus<float>()) at i, or 0 */
int is_group_reduction(struct flat *f, int i, struct scope *c);
int flat_reduction(struct flat *f, int i, struct scope *c);
/* The group in the argument [first, end): its index, or -1 */
int group_of(struct flat *f, int first, int end, const struct scope *c);
void add_group(struct flat *f, struct scope *c, int name, int lanes);

#endif
