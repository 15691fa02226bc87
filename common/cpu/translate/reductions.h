/* reductions.h - shared by the files that rewrite warp reductions; see reductions.c. */
#ifndef WBCPU_REDUCTIONS_H
#define WBCPU_REDUCTIONS_H

#include "tokens.h"

/* In compact text these stand for the loop's offset, the variable and the shuffle. */
#define OFFSET "\1"
#define VALUE "\2"
#define OTHER "\3"

struct reduction {
    char *value; /* "v", "sum[i]" */
    char *mask;
    char *combine; /* compact: VALUE "+=" OTHER */
    char *type;    /* of the shuffled value, "auto" for that of the variable */
    int down;      /* else xor */
    int width;     /* the fourth argument, by default 32 */
    int variable;  /* its first token */
    int end;       /* its last ';' */
};

/* --- comparing code (reductions_compare.c); the texts are the caller's to free ------- */

/* The source text of [first, end) without comments and blanks (except one between two
 * words), with `name` replaced by `mark` and tokens [a, b) by `part`; so that "o > 0" and
 * "o>0" compare equal. */
char *compact(
    const struct source *s, int first, int end, const char *name, const char *mark, int a,
    int b, const char *part);
char *plain(const struct source *s, int first, int end); /* the same, nothing replaced */
int one_of(const char *text, const char *const *list);   /* the list ends with NULL */
/* The first token of [first, end) with this text, or -1. */
int find(const struct source *s, int first, int end, const char *text);

/* Before value_at() and constant(): notes the constants that the source defines. */
void find_constants(const struct source *s);
/* 16, 32/2, warpSize/2, WARP>>1, (WARP/2): its value, or -1. */
int constant(const struct source *s, const char *text);

/* --- the body of the loop (reductions_read.c) ----------------------------------------- */

/* Fills r from the statement [first, semicolon), or that one and the next before `past`, or
 * returns 0. Then free_reduction(), also after 0. */
int read_reduction(
    const struct source *s, int first, int semicolon, int past, const char *offset,
    struct reduction *r);
void free_reduction(struct reduction *r);
/* Several statements in a loop are independent if none uses another's variable. */
int are_independent(
    const struct source *s, const struct reduction *r, const int *starts, int count);

#endif
