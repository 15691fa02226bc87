/* report.h - the results of one run: as text on the terminal, as JSON, as JUnit. */
#ifndef REPORT_H
#define REPORT_H
#include "build.h"
#include "cases.h"
#include "judge.h"
#include "under.h"
#include "util.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct report {
    const struct lab *lab;
    const struct build *build;
    struct judgement *judgement; /* one per case: lab->count */
    bool *selected;              /* by -k */
    uint64_t seed;
    bool random_seed;
    bool all;            /* no -k, no --first */
    bool first;          /* only the first variant of each case */
    bool stop, stopped;  /* at the first failure: if so, has there been one? */
    struct {
        size_t first; /* a case */
        int cases, points;
    } waiting; /* cases of one part that cannot be graded, for one line; 0: none */
    int score, of;       /* of the selected cases */
    const char *sandbox; /* what the kernel offers */
    struct under *under; /* the command that the program runs under, or NULL */
    const char *save;    /* folder for the outputs, or NULL */
    json_t *checks;      /* reports of check mode, by case; or NULL */
    bool unclean;        /* that command found something */
    bool colour;
};

/* Cases in a row that are skipped or not written yet get one line per part, which
 * report_waiting ends. */
void report_case(struct report *r, size_t i, const char *title);
void report_waiting(struct report *r);
/* What check mode says of a case that had this verdict before. */
void report_check(
    const struct report *r, size_t i, const char *title, enum verdict before);
void report_printed(const struct run *run); /* by the learner's code */
/* Which functions the code uses although the contract forbids it. true: there are some. */
bool report_breaches(const struct report *r);
void report_end(struct report *r); /* the score, and what to do next */
enum exit_code report_code(const struct report *r);
/* Fatal if what was printed did not reach its end, for example on a full disk. */
void report_flush(void);
json_t *findings_json(const struct findings *f); /* an array of lines */
void report_json(const struct report *r, const char *path);

#endif
