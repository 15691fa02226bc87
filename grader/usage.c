/* usage.c - what a running process uses: from /proc, or from its cgroup. */
#define _GNU_SOURCE
#include "usage.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Page tables count: reading a large mapping that was never written needs no other
 * memory. */
static bool read_status(pid_t pid, struct usage *u)
{
    static const char *const sizes[] = {"VmRSS:", "VmSwap:", "VmPTE:"};
    char path[64], line[256], name[64];
    size_t value;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *f = fopen(path, "re");
    if (!f) return false;
    u->threads = 0, u->memory = 0;
    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, "%63s %zu", name, &value) != 2) continue;
        if (!strcmp(name, "Threads:")) u->threads = (int)value;
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            if (!strcmp(name, sizes[i])) u->memory += value << 10;
    }
    fclose(f);
    return u->threads > 0;
}

bool usage_read(pid_t pid, const struct cgroup *g, struct usage *u)
{
    clockid_t clock;
    struct timespec t;
    size_t tasks;
    if (!read_status(pid, u)) {
        if (!cgroup_read(g, &tasks, &u->memory)) return false;
        u->threads = (int)tasks;
    }
    if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t)) return false;
    u->cpu_seconds = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
    return true;
}

const char *usage_unreadable(void)
{
    struct usage u;
    struct cgroup g;
    if (read_status(getpid(), &u)) return NULL;
    if (cgroup_make(&g, 1, 0)) {
        cgroup_remove(&g);
        return NULL;
    }
    return "memory and threads cannot be limited here: /proc is not mounted, and this "
           "account cannot make a cgroup";
}
