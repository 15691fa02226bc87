/* usage.h - what a running process uses. */
#ifndef USAGE_H
#define USAGE_H
#include "cgroup.h"

#include <sys/types.h>

struct usage {
    size_t memory;      /* resident bytes, swapped ones and page tables */
    int threads;        /* of the process; without /proc: of all in its cgroup */
    double cpu_seconds; /* of all its threads */
};

/* Opens /proc/PID/status, to read it after every message; -1: there is none. */
int usage_open(pid_t pid);
/* false: it cannot be read. status: as usage_open returned it; g: the cgroup that the
 * process is in. */
bool usage_read(pid_t pid, int status, const struct cgroup *g, struct usage *u);
bool usage_cpu(pid_t pid, double *seconds); /* of all its threads; false: unknown */
/* NULL, or one line: why usage cannot be read on this computer. */
const char *usage_unreadable(void);

#endif
