/* blocks.h - kernels whose threads can run as loops: the part of CUDA C++ that is understood.
 *
 * A kernel is parsed with the grammar below and the scopes of its names. Whatever is not in
 * it (references, lambdas, classes, volatile, shuffles, goto, switch, strings, macros other
 * than numbers, calls of the source's own functions, ...) leaves the kernel as it is.
 *
 *     kernel       template <...>  __global__ void name(type *name, ...) { item... }
 *     item         statement | declaration | shared | __syncthreads();
 *                  | for (type i = v; v; v) { item... }    with a barrier in it
 *     statement    { } ; if for while do break continue return, declaration, value
 *     declaration  type *name[n] = value or { }, ...
 *     shared       __shared__ or extern __shared__ type name[n], ...
 *     value        operators, casts, indices, members, mathematical functions, atomics
 *     type         words and templates' types: a closed list; no class of the source
 *
 * Three rules make the loops right. A thread never waits for another one: the grammar has
 * no function that waits, and the result of an atomic function in a loop must be unused.
 * Nothing points to a thread's own variable: & takes the address of memory alone, and an
 * array is used with all its indices. So each assignment names what it changes.
 * Names from outside of the kernel have plain types, which the C++ compiler checks
 * (is_plain in wbcpu/blocks.h); otherwise the kernel runs as it was. */
#ifndef BLOCKS_H
#define BLOCKS_H

#include "tokens.h"

/* A longer kernel is left as it is. */
enum {
    MAX_KERNEL = 4000 /* tokens */,
    MAX_VARIABLES = 120,
    MAX_GLOBALS = 40,
    MAX_ITEMS = 160,
    MAX_PHASES = 62,
    MAX_DEPTH = 60 /* of values in values, statements in statements */
};

/* What a value or statement does */
enum effects {
    READS = 1,    /* memory */
    CHANGES = 2,  /* a variable or memory */
    THREAD = 4,   /* depends on threadIdx */
    CALLS = 8,    /* a function */
    DIVIDES = 16, /* and may divide by zero */
    RETURNS = 32
};

enum item_kind {
    CODE,        /* a statement without a barrier */
    DECLARATION, /* of variables of each thread */
    FOR_BLOCK,   /* of __shared__ arrays, or of variables that are equal in all threads */
    BARRIER,
    LOOP,     /* for (...) { with a barrier in it */
    LOOP_END, /* } */
};

struct item {
    enum item_kind kind;
    int first, end;   /* tokens; of a LOOP those of `for (...)` */
    unsigned effects; /* of a DECLARATION: of its initial values */
    int phase;        /* of CODE and DECLARATION: from one barrier to the next */
    int depth;        /* loops around it */
    int again;        /* a DECLARATION that each phase can repeat: it reads no memory */
};

enum variable_kind {
    PARAMETER,
    COUNTER, /* of a LOOP */
    SHARED,
    LOCAL, /* declared by an item */
    INNER  /* declared in a statement: lives in one phase */
};

struct variable {
    enum variable_kind kind;
    int name;                  /* its token */
    int item;                  /* of a LOCAL: the DECLARATION or FOR_BLOCK */
    int type, type_end, stars; /* of a LOCAL */
    int builtin;               /* its type is a number or a pointer to one */
    int storable;              /* in an array of that type */
    int indices;               /* of an array */
    int valued;                /* has an initial value */
    int modified;              /* outside of its declaration */
    unsigned long long phases; /* where it is used */
    int kept;                  /* from one phase to another: in an array */
};

/* A name from outside of the kernel; the C++ compiler checks its type. */
struct global {
    int name;     /* a token */
    int constant; /* the kernel is right only if it is a constant */
};

struct kernel {
    struct source *s;
    int head;      /* the '<' of template <...>, or -1 */
    int open;      /* the '(' of its parameters */
    int body, end; /* its braces */
    struct item items[MAX_ITEMS];
    struct variable variables[MAX_VARIABLES];
    struct global globals[MAX_GLOBALS];
    int item_count, variable_count, global_count, phases;
    unsigned long long repeated; /* the phases in loops */

    /* While it is read: */
    int at;                     /* the next token */
    unsigned effects;           /* so far, of this item */
    int changes;                /* number of assignments */
    int loops;                  /* statements for, while, do around it */
    int statement;              /* first token of the innermost statement */
    int depth;                  /* against overflow of the stack */
    int visible[MAX_VARIABLES]; /* the variables in scope */
    int visible_count;

    /* For each token of the kernel: 1 + a variable, -1 - a global, or 0 */
    short meaning[MAX_KERNEL];
    char own[MAX_KERNEL]; /* 1: an atomic function on this block's shared memory */
};

/* --- blocks_read.c ------------------------------------------------------------------ */

/* Reads the kernel whose `__global__` is token i. Returns 0 unless all of it is understood
 * and its threads can run as loops. */
int read_kernel(struct kernel *k, struct source *s, int i);

/* The functions below read at k->at and move it. 0: the kernel is not understood. */

/* --- blocks_items.c ----------------------------------------------------------------- */

int read_items(struct kernel *k, int end, int depth); /* up to the brace `end` */

/* --- blocks_statements.c ------------------------------------------------------------ */

int read_declaration(struct kernel *k, enum variable_kind kind);
int read_shared(struct kernel *k);
int read_statement(struct kernel *k);
int accept_unroll(struct kernel *k); /* #pragma unroll, or nothing */

/* --- blocks_values.c ---------------------------------------------------------------- */

int read_values(struct kernel *k); /* separated by commas */
int read_value(struct kernel *k);  /* or an assignment */

/* --- blocks_types.c ----------------------------------------------------------------- */

/* The template's parameters: 'T': a type, 'N': a number, 0: another name */
int template_parameter(const struct kernel *k, int i);
int is_known_template(const struct kernel *k); /* of types and numbers alone */
int is_type(struct kernel *k, int i);
int read_type(struct kernel *k, int *builtin); /* const float */
int read_pointer_type(struct kernel *k);       /* const float * */

/* --- blocks_names.c ----------------------------------------------------------------- */

int accept(struct kernel *k, const char *text);        /* a token */
int is_mark(const struct kernel *k, const char *mark); /* <<= is several tokens */
int accept_marks(struct kernel *k, const char *mark);
/* Makes a name visible: 0 if that is impossible, or if an item would hide another name. */
int add_variable(struct kernel *k, enum variable_kind kind, int name);
int find_variable(
    const struct kernel *k, int i); /* the visible one of that name, or -1 */
struct variable *variable_at(struct kernel *k, int i); /* that token i means, or NULL */
int add_global(struct kernel *k, int i);               /* its index, or -1 */

/* --- blocks_words.c ----------------------------------------------------------------- */

void index_names(const struct source *s);                      /* before the others */
int token_in(const struct source *s, int i, const char *list); /* words between blanks */
int is_free(
    const struct source *s, int i); /* a variable of the kernel can have the name */
int is_macro(const struct source *s, int i);
int is_number(
    const struct source *s, int i);         /* a number, a constant, a macro of numbers */
int is_pure(const struct source *s, int i); /* a function of its arguments alone */
int is_atomic(const struct source *s, int i);
int is_global(const struct source *s, int i); /* a variable outside of functions */
int is_constant_global(const struct source *s, int i);
int is_index(const struct source *s, int i);   /* threadIdx, blockDim, ... */
int is_builtin(const struct source *s, int i); /* a type of C, const, constexpr */
int is_class(const struct source *s, int i);   /* float4, half, ... */
int has_operators(void); /* the source's own: then numbers are the only types */

#endif
