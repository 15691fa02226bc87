/* child.h - the lab executable as a child process: runs one case, returns what came
 * back. */
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
    struct wire_result head;
    size_t size;          /* of bytes */
    unsigned char *bytes; /* every buffer with its red zones; NULL after a CUDA error */
    bool as_first;        /* the same bits as the first result: bytes is not kept */
};

enum ending { RAN, CRASHED, ENDED, TIMED_OUT, FLOODED, TOO_MUCH_MEMORY, BROKE };

struct run {
    enum ending ending;
    char text[512]; /* why it ended, unless RAN */
    struct result *result;
    size_t results;
    char *output; /* what the learner's code printed, the first OUTPUT_KEPT bytes */
    size_t output_bytes;
    double seconds;
};

enum { OUTPUT_KEPT = 16 << 10 }; /* bytes of the learner's output that are kept */

struct child;
struct child_limits {
    double seconds; /* per case */
    size_t memory;  /* resident bytes; 0: no limit */
};

struct child *child_new(
    const char *program, bool device, struct child_limits limits, struct under *under);
/* Runs one case. Starts the program if it is not running; it stops after any ending other
 * than RAN. */
void child_case(
    struct child *c, const struct graded_case *g, const struct case_data *d,
    uint32_t orders, struct run *run);
void child_free(struct child *c);
void run_free(struct run *run);

#endif
