/* outline.h - the functions of a source, and what is known of the names that the source
 * and its headers declare. This is no parser of C++: what it does not understand has no
 * function and an unsure name, and nothing is said about either. */
#ifndef OUTLINE_H
#define OUTLINE_H

#include "tokens.h"

/* --- outline.c ---------------------------------------------------------------------- */

/* A function with a body. Its members are indices of outline.token. */
struct function {
    int first;       /* the declaration's first token */
    int name;        /* or -1: an operator */
    int body, end;   /* the braces */
    unsigned space;  /* HOST_FUNCTION, DEVICE_FUNCTION, both, KERNEL; 0: unsure */
    int is_template; /* or a member of one: compiled only if it is used */
    int returns;     /* of a kernel: 1 if its type is surely not void */
    int for_both; /* a macro makes it __host__ __device__; `space` may lack one of these */
};

/* A source without blanks, comments and preprocessor lines. */
struct outline {
    const struct source *s;
    int *token;            /* count indices of tokens of s */
    int *place;            /* of each token of s: its index in `token`, or -1 */
    unsigned short *depth; /* in how many #if each of `token` is */
    int count;
    int lost; /* brackets do not match, so scopes are not known */
    struct function *functions;
    int function_count, function_room;
};

/* Enters the names of the declarations with know(). */
void make_outline(struct outline *o, const struct source *s);
void free_outline(struct outline *o);

/* --- outline_tokens.c --------------------------------------------------------------- */

/* Fills token, place, depth and count, and enters the macros. */
void take_tokens(struct outline *o);

/* As those of tokens.h, for indices of outline.token. */
int word(const struct outline *o, int i, const char *text);
int named(const struct outline *o, int i);
int other(const struct outline *o, int i);       /* the matching bracket, or -1 */
int past_angles(const struct outline *o, int i); /* after the '>' of the '<' at i, or i */
int scope_mark(const struct outline *o, int i);  /* :: at i and i + 1 */

/* --- outline_declare.c -------------------------------------------------------------- */

/* Where a declaration is: in a class, in a template of a class. */
struct enclosing {
    int member, in_template;
};

/* Enters the function whose declaration begins at `first`, and whose parameters follow
 * `name`; -1: an operator. */
void declare_function(struct outline *o, int first, int name, const struct enclosing *in);
/* Enters its body. start: `first`, or the template<...> before it; open: its '(' */
void define_function(
    struct outline *o, int start, int first, int open, int name, int body,
    const struct enclosing *in);
/* Enters the variables that [first, end) declares. member: of a class */
void declare_variables(struct outline *o, int first, int end, int member);
/* 1 if the word says something of a declared name, but is no type: alignas, noexcept, ... */
int is_attribute(const struct outline *o, int i);

/* --- architecture.c ----------------------------------------------------------------- */

/* Marks the bodies that write_versions writes twice. */
void name_architecture(struct source *s, const struct outline *o);

/* --- assembly.c --------------------------------------------------------------------- */

/* Marks the asm statements of host functions: the host compiler gets them unchanged. */
void find_host_assembly(struct source *s, const struct outline *o);

/* --- shifts.c ----------------------------------------------------------------------- */

void rewrite_shifts(struct source *s, const struct outline *o);

/* --- known.c ------------------------------------------------------------------------ */

enum {
    HOST_FUNCTION = 1,
    DEVICE_FUNCTION = 2,
    KERNEL = 4,
    HOST_VARIABLE = 8, /* of the file or a namespace; a constant scalar is none */
    HOST_ARRAY = 16,   /* const or constexpr */
    NAMESPACE = 32,
    CONSTEXPR = 64, /* with HOST_FUNCTION */
    MACRO = 128,
    UNSURE = 256,          /* a member, a type, or something not understood */
    DEVICE_VARIABLE = 512, /* with UNSURE; global memory: __device__, not __constant__ */
    MANAGED_VARIABLE = 1024,  /* with DEVICE_VARIABLE */
    TEXTURE_REFERENCE = 2048, /* texture<...> or surface<...>, as before CUDA 12 */
};

enum { FIXED = 1, CHANGING = 2 }; /* FIXED: it looks like a constant */

enum { NUMBER_TYPE = 1, OTHER_TYPE = 2 };

/* A name with all that its declarations say. */
struct name {
    char *text;
    int length;
    unsigned flags;
    int local;    /* the last function that declares a local variable of this name */
    int listed;   /* by list_variables */
    int variable; /* outside of functions: FIXED or CHANGING; FIXED also: of an enum */
    int defined;  /* #define and #undef lines */
    int field;    /* a bit-field has this name (shifts.c) */
    int takes;    /* the last #define has parameters, */
    int guarded;  /* and is in an #if */
    int for_both; /* a #define without parameters says __host__ and __device__ */
    int at;       /* its token */
    const struct source *in;
    char *macro; /* it: what follows the name, or NULL if that is long */
    int alias;   /* of a type: NUMBER_TYPE, or OTHER_TYPE that the compiler checks */
    int body;    /* 1 + a function with this name (blocks_functions.c), or 0 */
    int bodies;  /* how many there are */
};

/* The entry of a name; with add, a new one if there is none yet. */
struct name *look_up(const char *text, int length, int add);
struct name *name_at(const struct outline *o, int i, int add);
/* 1 if a list of words separated by blanks contains the token. */
int in_list(const struct outline *o, int i, const char *list);

#endif
