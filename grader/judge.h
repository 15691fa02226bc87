/* judge.h - the verdict on one case, from what the child sent back. */
#ifndef JUDGE_H
#define JUDGE_H
#include "cases.h"
#include "child.h"
#include "data.h"
#include "findings.h"

#include <stdint.h>

enum verdict { PASSED, FAILED, SKIPPED, CRASH, TIMEOUT, BROKEN };

struct judgement {
    enum verdict verdict;
    int variant; /* of the case, if it has alternatives: the last one that was judged */
    struct findings findings;
    double seconds;
    uint64_t wrong;    /* elements */
    bool returned;     /* every call came back, with the expected status */
    bool mostly_wrong; /* more than half of an output */
    bool unwritten;    /* it returned WB_TODO */
    bool only_bound;   /* all is right, except that the case's bound does not hold */
};

void judge(
    struct judgement *j, const struct graded_case *g, const struct case_data *d,
    const struct run *run);
/* Of the first call alone: did it return what the case expects, with right values? */
bool first_call_right(
    struct findings *f, const struct graded_case *g, const struct case_data *d,
    const struct run *run);

#endif
