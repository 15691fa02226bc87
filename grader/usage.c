/* usage.c - what a running process uses: from /proc, or from its cgroup. */
#define _GNU_SOURCE
#include "usage.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Page tables count: reading a large mapping that was never written needs no other
 * memory. true: it has memory, so it has not ended. */
static bool read_status(int file, struct usage *u)
{
    static const char *const sizes[] = {"\nVmRSS:", "\nVmSwap:", "\nVmPTE:"};
    char text[1 << 14];
    bool alive = false;
    ssize_t bytes = file < 0 ? 0 : pread(file, text, sizeof text - 1, 0);
    text[bytes > 0 ? bytes : 0] = 0;
    const char *at = strstr(text, "\nThreads:");
    u->threads = at ? atoi(strchr(at, ':') + 1) : 0;
    u->memory = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if ((at = strstr(text, sizes[i])))
            u->memory += strtoul(strchr(at, ':') + 1, NULL, 10) << 10, alive = true;
    return alive;
}

static int open_status(const char *path)
{
    return open(path, O_RDONLY | O_CLOEXEC);
}

int usage_open(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    return open_status(path);
}

/* The first thread speaks for all, unless it alone has ended: then any other does. */
static bool read_process(pid_t pid, int status, struct usage *u)
{
    char path[64];
    bool alive = read_status(status, u);
    if (alive || u->threads < 2) return u->threads > 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    for (struct dirent *e; tasks && !alive && (e = readdir(tasks));) {
        snprintf(path, sizeof path, "/proc/%d/task/%.20s/status", (int)pid, e->d_name);
        if (e->d_name[0] == '.') continue;
        int file = open_status(path);
        alive = read_status(file, u);
        if (file >= 0) close(file);
    }
    if (tasks) closedir(tasks);
    if (!alive) u->threads = 1; /* it is ending */
    return true;
}

bool usage_cpu(pid_t pid, double *seconds)
{
    clockid_t clock;
    struct timespec t;
    if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t)) return false;
    *seconds = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
    return true;
}

bool usage_read(pid_t pid, int status, const struct cgroup *g, struct usage *u)
{
    size_t tasks;
    if (!read_process(pid, status, u)) {
        if (!cgroup_read(g, &tasks, &u->memory)) return false;
        u->threads = (int)tasks;
    }
    return usage_cpu(pid, &u->cpu_seconds);
}

const char *usage_unreadable(void)
{
    struct usage u;
    struct cgroup g;
    int status = usage_open(getpid());
    bool readable = read_process(getpid(), status, &u);
    if (status >= 0) close(status);
    if (readable) return NULL;
    if (cgroup_make(&g, 1, 0)) {
        cgroup_remove(&g);
        return NULL;
    }
    return "memory and threads cannot be limited here: /proc is not mounted, and this "
           "account cannot make a cgroup";
}
