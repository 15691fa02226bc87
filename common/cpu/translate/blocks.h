/* blocks.h - kernels whose threads can run as loops: the part of CUDA C++ that is understood.
 *
 * A kernel is parsed with the grammar below and the scopes of its names. A kernel
 * with anything else (references, lambdas, classes, volatile, goto, switch, strings, ...)
 * stays as it is. Before that, the functions that wait are inlined and macros expanded
 * (blocks_flat.h).
 *
 *     kernel       template <...>  __global__ void name(type *name, ...) { item... }
 *     item         statement | declaration | shared | __syncthreads(); | __syncwarp();
 *                  | for (type i = v; v; v) { item... }    with one that waits in it
 *                  | while (value) { item... } | for (v; v; v) { item... }    likewise
 *                  | if (value) { item... } else { item... }    likewise
 *                  | name = value, ...;    of indices: new variables with these names
 *     statement    { } ; if for while do break continue return, declaration, value
 *     declaration  type *name[n] = value or { }, name{value}, ...
 *     shared       __shared__ or extern __shared__ type name[n], ...
 *     value        operators, casts, indices, members, mathematical functions, atomics;
 *                  in an item that is a value, a declaration or the head of an `if`, where
 *                  all threads come by: shuffles, votes, warp reductions
 *     type         words and templates' types: a closed list; no class of the source
 *
 * Three rules make the loops right. A thread never waits for another one, but at items that
 * all threads pass: and the result of an atomic function in a loop must be unused.
 * Nothing points to a thread's own variable: & takes the address of memory alone, and an
 * array is used with all its indices. So each assignment names what it changes.
 * Names from outside of the kernel have plain types, which the C++ compiler checks
 * (is_plain in wbcpu/blocks.h); otherwise the kernel runs as it was.
 *
 * The passes. Once for a source: blocks_functions.c enters its __device__ functions, and
 * index_names (blocks_words.c) looks for what concerns all kernels. Then, for each kernel
 * (rewrite_kernel in blocks_write.c):
 *
 *     1. read      blocks_items.c divides the body into items, and reads these with
 *                  blocks_statements.c, blocks_values.c, blocks_calls.c and blocks_types.c.
 *                  Each name gets a meaning (blocks_names.c, blocks_words.c).
 *     2. constants blocks_once.c: which variables are equal in all threads? blocks_read.c:
 *                  which loops and `if`s are, and which declarations can be repeated?
 *     3. shapes    blocks_shapes.c: which values are equal or neighbours in a row of 16
 *                  threads? Neighbours make loops that g++ vectorizes.
 *     4. strides   blocks_strides.c finds the loops in which threads take turns.
 *     5. order     blocks_order.c numbers the phases, from one barrier to the next, and
 *                  finds the variables that are kept between them.
 *     6. write     blocks_write.c the frame; blocks_phases.c, blocks_strides.c and
 *                  blocks_rows.c the phases; blocks_tokens.c the tokens in them.
 *
 * If 1 to 5 fail, blocks_flat.c makes a copy of the kernel, for which 1 to 6 run again: with
 * the functions that wait in place of their calls (blocks_inline.c, blocks_parameters.c),
 * without macros (blocks_macros.c) and cooperative groups (blocks_groups.c).
 * blocks_copy.c has its tokens. blocks_report.c says how it went.
 *
 * For example
 *                                                      item         phase
 *     __shared__ float s[256];                         FOR_BLOCK
 *     int t = threadIdx.x, i = blockIdx.x * 256 + t;   DECLARATION  0
 *     float v = x[i];                                  DECLARATION  0
 *     s[t] = v;                                        CODE         0
 *     __syncthreads();                                 BARRIER
 *     v += __shfl_xor_sync(~0u, s[255 - t], 1);        ARGUMENTS    1
 *                                                      CODE         2
 *     x[i] = v;                                        CODE         2
 *
 * t and i depend on nothing but indices: each phase computes them again. Both are ROW. So x
 * and s are accessed at neighbours in phase 0, whose threads run as a loop that g++
 * vectorizes. 255 - t is no such shape: the threads of phase 1 run one after another. They
 * give their arguments, and in phase 2 take the results. v reads memory, and is used in
 * phases 0 and 2: it is kept in an array. What is written:
 *
 *     if (begin_block()) {
 *         static __thread float kept_v[1024];
 *         __shared__ float s[256];
 *         for each row of 16 threads, for each of its threads {
 *             t and i; float v = x[i]; s[t] = v; kept_v[thread] = v;
 *         }
 *         for each thread { t; give(slot, ~0u, s[255 - t], 1); }
 *         exchange(slot);
 *         for each thread { i; float v = kept_v[thread]; v += take(slot); x[i] = v; }
 *         return;
 *     }
 *     ... the kernel as it was: for fibers */
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
    MAX_ARRAYS = 8, /* of threads, kept between phases */
    MAX_CALLS = 40, /* of warp collectives, and as many of functions */
    MAX_SLOTS = 4,  /* calls in one statement */
    MAX_DEPTH = 60  /* of values in values, statements in statements */
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

/* How a value differs between the 16 threads of a row */
enum shape {
    ANY,
    EQUAL,
    EQUAL_16S,  /* equal, and a multiple of 16 */
    NEIGHBOURS, /* v, v + 1, v + 2, ... */
    ROW         /* neighbours, and v is a multiple of 16 */
};

enum item_kind {
    CODE,        /* a statement without a barrier */
    DECLARATION, /* of variables of each thread */
    ARGUMENTS,   /* of the warp collectives in the next item, which takes the results */
    FOR_BLOCK,   /* of __shared__ arrays, or of variables that are equal in all threads */
    UPDATE,      /* changes a variable of a FOR_BLOCK */
    BARRIER,
    LOOP,     /* for or while (...) { with a barrier in it */
    LOOP_END, /* } */
    IF,       /* (value) of an `if` in which threads wait */
    ELSE,
    IF_END,
};

/* for (type counter = v; counter < v; counter += v) statement, whose threads can take
 * turns: each runs one round. Then they access neighbouring elements one after another. */
struct stride {
    int counter; /* 1 + the variable, or 0: another statement */
    int first;   /* the token after the first `;` */
    int close;   /* the ')' */
};

struct item {
    enum item_kind kind;
    int first, end;   /* tokens; of a LOOP its head */
    unsigned effects; /* of a DECLARATION: of its initial values */
    int phase;  /* of CODE, DECLARATION and ARGUMENTS: from one barrier to the next */
    int depth;  /* loops around it */
    int again;  /* a DECLARATION that each phase can repeat: it reads no memory */
    int by_row; /* and once for each row: the shapes of its variables are known */
    int update; /* a CODE that only changes one variable */
    struct stride stride; /* of a CODE that is a loop in which threads take turns */
    int statement;        /* of ARGUMENTS and the next item: 1 + their number, else 0 */
    /* Of an IF whose value differs from thread to thread, and its ELSE and IF_END: the
     * others are left out until then. */
    int by_thread;
    int must_come; /* they wait later, so a warp that needs them here waits forever */
    int of;        /* of an IF: its IF_END; of an ELSE or IF_END: the IF */
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
    int sizes, sizes_end;      /* its [n][m] */
    int value, value_end;      /* the tokens of its initial value, or 0 */
    enum shape shape;
    int modified;                          /* how often, outside of its declaration */
    unsigned long long changes;            /* the phases that modify it */
    unsigned char in_items[MAX_ITEMS / 8]; /* a bit for each item that modifies it */
    unsigned long long phases;             /* where it is used */
    int kept;                              /* from one phase to another: in an array */
    int once;    /* of a LOCAL: equal in all threads of the block */
    int renamed; /* it replaces an earlier variable of that name */
};

static inline int is_modified_in(const struct variable *v, int item)
{
    return v->in_items[item / 8] >> item % 8 & 1;
}

/* A name from outside of the kernel; the C++ compiler checks its type. */
struct global {
    int name;     /* a token */
    int constant; /* the kernel is right only if it is a constant */
};

/* A warp collective */
struct call {
    int name, close;      /* tokens */
    int value, value_end; /* its second argument */
    int statement, slot;  /* which one of the statement */
};

struct kernel {
    struct source *s;
    int head;      /* the '<' of template <...>, or -1 */
    int open;      /* the '(' of its parameters */
    int body, end; /* its braces */
    struct item items[MAX_ITEMS];
    struct variable variables[MAX_VARIABLES];
    struct global globals[MAX_GLOBALS];
    struct call calls[MAX_CALLS];
    int item_count, variable_count, global_count, call_count, phases;
    int statements;              /* with calls */
    unsigned long long repeated; /* the phases in loops */
    unsigned long long strides;  /* the phases that are loops with strides */
    unsigned long long rows;     /* the phases in which rows run statement by statement */
    int own_calls[MAX_CALLS]; /* of the source's functions: the tokens of their names */
    int own_call_count;
    int function; /* it is no kernel, but a function that is read to see if it waits */
    int parallel; /* writing: threads of the phase may run at the same time */
    int by_lane;  /* writing: variables are in arrays of a row (blocks_rows.c) */
    int exits;    /* threads exit in other phases than the last one */
    unsigned long long gone; /* the phases before which threads may have exited */

    /* While it is read: */
    int at;                     /* the next token */
    const char *why;            /* it was refused, or NULL: `at` is not understood */
    unsigned effects;           /* so far, of this item */
    int changes;                /* number of assignments */
    int loops;                  /* statements for, while, do around it */
    int conditional;            /* > 0: not all threads may come by */
    int statement;              /* first token of the innermost statement */
    int named;                  /* the last type is a class or a template's parameter */
    int depth;                  /* against overflow of the stack */
    int visible[MAX_VARIABLES]; /* the variables in scope */
    int visible_count;

    /* For each token of the kernel: 1 + a variable, -1 - a global, or 0 */
    short meaning[MAX_KERNEL];
    char own[MAX_KERNEL]; /* 1: an atomic function on this block's shared memory */
};

/* --- blocks_read.c ------------------------------------------------------------------ */

/* Finds its brackets. */
int find_kernel(struct kernel *k, struct source *s, int i);
/* Reads the kernel whose `__global__` is token i. Returns 0 unless all of it is understood
 * and its threads can run as loops. */
int read_kernel(struct kernel *k, struct source *s, int i);

/* A __device__ function with a body */
struct device_function {
    struct source *s;
    int start;      /* of its declaration */
    int head;       /* the '<' of template <...>, or -1 */
    int name, open; /* the name and the '(' of its parameters */
    int body, end;  /* its braces */
    int before;     /* another function of its name, or -1 */
    enum { UNREAD, BEING_READ, RUNS, WAITS } verdict;
    /* If it never waits: */
    unsigned effects;
    unsigned by_reference, pointers; /* a bit for each parameter */
    int returns_pointer;
    char *globals[MAX_GLOBALS]; /* names from outside of it */
    int global_count;
};
/* Reads it: 0 if it may wait, or is not understood. */
int read_function(struct kernel *k, struct device_function *d);

/* 1 if the tokens are numbers and values that are equal in all threads and never change. */
int is_fixed(struct kernel *k, int first, int end);

/* --- blocks_once.c ------------------------------------------------------------------ */

int is_uniform(struct kernel *k, int n);
/* Finds the variables that are `once`, and the items that are an UPDATE. */
void find_once(struct kernel *k);

/* --- blocks_order.c ----------------------------------------------------------------- */

/* strides: 1: loops with strides are phases of their own. 0: it cannot be done */
int arrange(struct kernel *k, int strides);

/* --- blocks_shapes.c ---------------------------------------------------------------- */

enum shape shape_of(struct kernel *k, int first, int end);
void find_shapes(struct kernel *k);
/* 1 if the threads of a phase can run at the same time and access neighbouring elements */
int is_parallel(struct kernel *k, int phase);

/* --- blocks_strides.c --------------------------------------------------------------- */

void find_strides(struct kernel *k);

/* The functions read_... and accept_... below read at k->at and move it. 0: the kernel is not
 * understood. */

/* --- blocks_items.c ----------------------------------------------------------------- */

int read_items(struct kernel *k, int end, int depth); /* up to the brace `end` */

/* 1 if no rule of the translator has changed the tokens. */
int is_untouched(const struct source *s, int first, int end);
const struct call *call_at(const struct kernel *k, int i); /* around token i, or NULL */
int end_of(const struct source *s, int i, int depth); /* last token of the statement at i */

/* --- blocks_statements.c ------------------------------------------------------------ */

int read_declaration(struct kernel *k, enum variable_kind kind);
int read_shared(struct kernel *k);
int gives_new_values(const struct kernel *k); /* name = value, ...; of indices alone */
int read_new_values(struct kernel *k);
int read_statement(struct kernel *k);
int accept_unroll(struct kernel *k); /* #pragma unroll, or nothing */

/* --- blocks_values.c ---------------------------------------------------------------- */

int read_values(struct kernel *k); /* separated by commas */
int read_value(struct kernel *k);  /* or an assignment */

int read_place(struct kernel *k); /* a variable or memory that a function changes */
void change_variable(struct kernel *k, int id);

/* --- blocks_functions.c ------------------------------------------------------------- */

/* Enters the functions of a source, which must live as long as the program. Returns their
 * number. */
int find_functions(struct source *s);
/* The last function that the name at i can mean, or NULL */
struct device_function *function_at(const struct source *s, int i);
int is_overloaded(const struct device_function *d);
int never_waits(struct device_function *d);
int read_own_call(struct kernel *k);

/* --- blocks_calls.c ----------------------------------------------------------------- */

int read_call(struct kernel *k);       /* of a function of values, or an atomic one */
int read_collective(struct kernel *k); /* __shfl_xor_sync(mask, value, offset) */

/* --- blocks_types.c ----------------------------------------------------------------- */

/* The template's parameters: 'T': a type, 'N': a number, 0: another name */
int template_parameter(const struct kernel *k, int i);
int is_known_template(const struct kernel *k); /* of types and numbers alone */
int is_type(struct kernel *k, int i);
int read_type(struct kernel *k, int *builtin); /* const float; k->named: a class */
int read_pointer_type(struct kernel *k);       /* const float * */

/* --- blocks_names.c ----------------------------------------------------------------- */

int accept(struct kernel *k, const char *text);        /* a token */
int is_mark(const struct kernel *k, const char *mark); /* <<= is several tokens */
int accept_marks(struct kernel *k, const char *mark);
/* Makes a name visible: 0 if that is impossible, or if an item would hide another name. */
int add_variable(struct kernel *k, enum variable_kind kind, int name);
int replace_variable(struct kernel *k, int name); /* by a new one of this item */
int find_variable(
    const struct kernel *k, int i); /* the visible one of that name, or -1 */
struct variable *variable_at(struct kernel *k, int i); /* that token i means, or NULL */
int add_global(struct kernel *k, int i);               /* its index, or -1 */

/* --- blocks_words.c ----------------------------------------------------------------- */

void index_names(const struct source *s); /* before the others */
int last_include(void);                   /* of the source */
int is_free(
    const struct source *s, int i); /* a variable of the kernel can have the name */
int is_macro(const struct source *s, int i);
int is_number(
    const struct source *s, int i);         /* a number, a constant, a macro of numbers */
int is_pure(const struct source *s, int i); /* a function of its arguments alone */
int is_atomic(const struct source *s, int i);
int is_collective(const struct source *s, int i); /* of a warp, with a value */
int is_global(const struct source *s, int i);     /* a variable outside of functions */
int is_constant_global(const struct source *s, int i);
int is_index(const struct source *s, int i);       /* threadIdx, blockDim, ... */
int is_builtin(const struct source *s, int i);     /* a type of C, const, constexpr */
int is_class(const struct source *s, int i);       /* float4, half, a typedef, ... */
int is_number_type(const struct source *s, int i); /* of these, one of numbers */
int has_operators(void); /* the source's own: then numbers are the only types */

#endif
