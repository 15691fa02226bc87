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

/* false: it cannot be read. g: the cgroup that the process is in. */
bool usage_read(pid_t pid, const struct cgroup *g, struct usage *u);
/* NULL, or one line: why usage cannot be read on this computer. */
const char *usage_unreadable(void);

#endif
