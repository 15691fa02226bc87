/* blocks.h - a kernel that blocks_read.c has understood, for blocks_write.c. */
#ifndef BLOCKS_H
#define BLOCKS_H

#include "tokens.h"

/* A longer kernel runs as fibers. */
enum {
    MAX_KERNEL = 4000 /* tokens */,
    MAX_VARIABLES = 48,
    MAX_ITEMS = 160,
    MAX_PHASES = 62
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
    int first, end; /* tokens; of a LOOP those of `for (...)` */
    int phase;      /* of CODE and DECLARATION: from one barrier to the next */
    int depth;      /* loops around it */
    int again;      /* a DECLARATION that each phase can repeat: it reads no memory */
};

enum variable_kind { PARAMETER, COUNTER, SHARED, LOCAL };

struct variable {
    enum variable_kind kind;
    int name;                  /* its token */
    int item;                  /* of a LOCAL: the DECLARATION or FOR_BLOCK */
    int from, to;              /* its scope, in tokens */
    int modified;              /* outside of its declaration */
    int type, type_end, stars; /* of a LOCAL; type < 0: unknown */
    unsigned long long phases; /* where its name appears */
    int kept;                  /* from one phase to another: in an array */
};

struct kernel {
    struct source *s;
    int open;      /* the '(' of its parameters */
    int body, end; /* its braces */
    struct item items[MAX_ITEMS];
    struct variable variables[MAX_VARIABLES];
    int item_count, variable_count, phases;
    int barriers;  /* not yet read */
    int addresses; /* of variables of a thread are taken */
};

/* Reads the kernel whose `__global__` is token i. Returns 0 unless all of it is understood
 * and its threads can run as loops. */
int read_kernel(struct kernel *k, struct source *s, int i);

/* The variable that the name at i means, or NULL: none of the kernel's */
const struct variable *variable_at(const struct kernel *k, int i);
/* 1 if the name at i is not that of a member: a.x, a->x */
int stands_alone(const struct source *s, int i);
int token_in(const struct source *s, int i, const char *list); /* words between blanks */

/* plain.c: 1 if each token of [first, end) is of a kind that is known to need no other
 * thread: no call of an unknown function, no macro that may hide anything. */
int is_plain(const struct source *s, int first, int end);
void index_macros(const struct source *s); /* before that */
int is_atomic(const struct source *s, int i);
int is_type(const struct source *s, int i);
int is_assigned(const struct source *s, int i); /* or its address taken; i: a name */

#endif
