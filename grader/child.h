/* child.h - the lab executable as a child process: asks it for one thing at a time. */
#ifndef CHILD_H
#define CHILD_H
#include "cases.h"
#include "data.h"
#include "protocol.h"
#include "under.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct result {
    bool present; /* it was asked for, and came back */
    struct wire_result head;
    unsigned char *bytes; /* every buffer with its red zones; NULL after a CUDA error */
    bool shared;          /* the bits of the call in the natural order: the same bytes */
    uint64_t order;       /* the seed of the thread order; 0: the natural order */
};

enum ending { RAN, CRASHED, ENDED, TIMED_OUT, FLOODED, TOO_MUCH_MEMORY, BROKE };

/* What came of one case. */
struct run {
    enum ending ending;
    char text[512]; /* why it ended, unless RAN */
    int orders;     /* asked for so many calls in other thread orders */
    bool host_code; /* not asked for a call in a graph */
    uint32_t first_shift,
        last_shift; /* the calls with an unaligned buffer: [first, last) */
    uint32_t call;  /* the last one that was asked for */
    struct result result[CALLS];
    uint64_t workspace; /* bytes that the workspace function asked for */
    char falls[256]; /* message if the workspace decreases for a larger size, or empty */
    char *output;    /* what the learner's code printed, the first OUTPUT_KEPT bytes */
    size_t output_bytes;
    size_t first_output;     /* bytes of it by the end of the first call */
    double started, seconds; /* wall clock */
    double cpu_seconds;      /* in processes that served this case before */
    char *report;            /* of check mode, as JSON; or NULL */
};

enum { OUTPUT_KEPT = 16 << 10 }; /* bytes of the learner's output that are kept */

struct child;
struct child_limits {
    double cpu_seconds, seconds; /* of a case: CPU time, wall clock */
    double deadline;             /* of the whole grade, as now(); 0: none */
    double whole_seconds;        /* what the deadline is, in words */
    size_t memory;               /* bytes; 0: no limit */
    int threads;                 /* 0: no limit */
    int idle_threads;            /* when a call has returned; 0: no limit */
    bool checked;  /* a program in check mode: it has a report, also after an error */
    bool believed; /* if it cannot begin, the exercise or the device is at fault */
};

struct child *child_new(
    const char *program, bool device, struct child_limits limits, struct under *under);
void child_free(struct child *c);

/* These return true, or false after any ending other than RAN; the program has then been
 * stopped. child_open starts it if it is not running. */
bool child_open(
    struct child *c, const struct graded_case *g, const struct case_data *d,
    struct run *run);
/* bytes: of each filled buffer. Stores run->result[which]. */
bool child_call(
    struct child *c, const struct case_data *d, struct wire_call call,
    const unsigned char *const bytes[], struct run *run);
/* Stores run->report. */
bool child_report(struct child *c, const struct case_data *d, struct run *run);
bool child_close(struct child *c, const struct case_data *d, struct run *run);
void child_stop(struct child *c);
/* CPU seconds that the open case has used so far */
double child_cpu(const struct child *c, const struct run *run);

void run_free(struct run *run);

#endif
