/* cases.h - the labs, their cases (labs/labNN_op/cases) and their hints (hints.md). */
#ifndef CASES_H
#define CASES_H
#include "protocol.h"
#include "wb.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* bound=sectors<=1.1,reads(x)<=1.05: what check mode counts in one call must stay within
 * both. tensor>=1000 is a minimum: the count must reach it. Structure, not values. */
enum counted {
    NO_BOUND,
    READS,
    WRITES,
    SECTORS,
    REQUESTS,
    CONFLICTS,
    LAUNCHES,
    FLOAT_ATOMICS,
    BARRIERS,
    PER_WARP, /* loads and stores that a warp executes one after the other */
    TENSOR    /* multiply-adds on tensor cores: the only minimum */
};
struct bound {
    enum counted what;
    char buffer[MAX_NAME]; /* of READS and WRITES */
    double limit;          /* the most that is allowed; of TENSOR the least */
};
enum { MAX_BOUNDS = 2 };

enum { MAX_VARIANTS = 64, FLOAT_DTYPES = 3 };
extern const char
    *const float_dtypes[FLOAT_DTYPES]; /* f32, f16, bf16: suffixes of functions */

/* One line of a cases file: name part points function key=value... ; needs ; catches.
 * A value may have alternatives, as in C=31|32|33. Each choice of one per key is a variant
 * of the case: see case_variant. */
struct graded_case {
    char name[MAX_NAME + 16]; /* of a variant: case@12 */
    char part[16], function[MAX_NAME];
    char dtype[16]; /* one of float_dtypes; or alternatives, f16|bf16 */
    char **keys;    /* "C=31|32|33", NULL-terminated */
    int variants;   /* 1 without alternatives; at most MAX_VARIANTS */
    int variant;    /* 0: the first, or only one */
    int points;
    wb_status status; /* what the call must return: status=WB_BAD_SHAPE; default WB_OK */
    uint32_t workspace_less;  /* workspace_less=N: withhold N bytes; or =all */
    uint64_t workspace_below; /* workspace_below=N: the function must ask for fewer */
    bool larger;              /* asks the workspace function for larger sizes too */
    bool dry;                 /* dry=1: a real size; data only for filled integers */
    int sms;  /* sms=132: multiprocessors of the CPU back end's device; 0: the default */
    int arch; /* arch=90: the GPU that it emulates; 0: the default */
    bool off_each; /* off=each: also calls with each buffer in turn unaligned */
    struct bound bounds[MAX_BOUNDS + 1]; /* ends with NO_BOUND */
    char *catches;
    char **needs; /* names, NULL-terminated */
};

struct lab {
    char name[MAX_NAME]; /* lab03 */
    char folder[512];    /* labs/lab03_rmsnorm */
    struct graded_case *cases;
    size_t count;
};

/* Finds a lab by "lab03", "3" or "rmsnorm". Unknown name: fatal, with the list of
 * labs. */
void lab_find(struct lab *lab, const char *name);
/* 0, or -1 with "path:line: what is wrong" in error. */
int cases_read(struct lab *lab, const char *path, char *error, size_t error_bytes);
/* Sets v to variant k of c, in [0, c->variants). Its name, case@1 for the first of several,
 * is that of its data. words: what distinguishes it, "C=31 inplace=1", or "". */
void case_variant(
    struct graded_case *v, const struct graded_case *c, int k, char *words, size_t room);
/* Is this dtype the case's, or one of its alternatives? */
bool case_has_dtype(const struct graded_case *c, const char *dtype);
struct graded_case *case_find(const struct lab *lab, const char *name);
/* Does -k PATTERNS select this case? NULL selects every case. The name of a case selects
 * it alone; any other pattern all whose name contains or matches it, or whose part it is. */
bool case_matches(
    const struct lab *lab, const struct graded_case *c, const char *patterns);
bool part_exists(const struct lab *lab, const char *part);
/* One level (1, 2, ...) of a part's hints in folder/hints.md, or NULL if it has none.
 * Sets *levels to the number of levels. */
char *hint_read(const char *folder, const char *part, int level, int *levels);

#endif
