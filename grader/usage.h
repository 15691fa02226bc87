/* usage.h - what a child process uses: memory, threads, CPU time. */
#ifndef USAGE_H
#define USAGE_H
#include "process.h"

struct usage {
    size_t memory; /* resident bytes */
    int threads;
    double cpu_seconds;
};
/* false: it cannot be read, for example because the process has ended */
bool process_usage(const struct process *p, struct usage *u);
/* NULL, or why limits cannot be enforced here */
const char *process_watchable(void);

#endif
