/* usage.c - what a child process uses, from /proc. */
#define _GNU_SOURCE
#include "usage.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

bool process_usage(const struct process *p, struct usage *u)
{
    char path[64], line[256];
    unsigned long kilobytes;
    clockid_t clock;
    struct timespec t;
    memset(u, 0, sizeof *u);
    snprintf(path, sizeof path, "/proc/%d/status", (int)p->pid);
    FILE *f = fopen(path, "re");
    if (!f) return false;
    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, "VmRSS: %lu kB", &kilobytes) == 1) u->memory = kilobytes << 10;
        sscanf(line, "Threads: %d", &u->threads);
    }
    fclose(f);
    if (clock_getcpuclockid(p->pid, &clock) != 0 || clock_gettime(clock, &t) != 0)
        return false;
    u->cpu_seconds = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
    return u->threads > 0;
}

const char *process_watchable(void)
{
    return access("/proc/self/status", R_OK) == 0
               ? NULL
               : "there is no /proc, so memory and threads cannot be counted";
}
