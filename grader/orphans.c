/* orphans.c - ends the processes that a program left behind.
 *
 * When a process is killed, its children become ours, so this repeats until none is left.
 * waitpid tells whether any child is left. /proc lists them; without /proc, every process
 * id is tried.
 */
#define _GNU_SOURCE
#include "orphans.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void end(pid_t child)
{
    kill(child, SIGKILL);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
}

static bool end_listed(void)
{
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *f = fopen(path, "re");
    if (!f) return false;
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    bool any = false;
    for (char *next = text, *stop; *next; next = stop) {
        long pid = strtol(next, &stop, 10);
        if (stop == next) break;
        if (pid > 0) end((pid_t)pid), any = true;
    }
    return any;
}

static void end_every(void)
{
    enum { LAST_PID = 1 << 22 };
    siginfo_t info;
    for (int pid = 2; pid <= LAST_PID; pid++)
        if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0)
            end(pid); /* it is a child of ours */
}

void kill_orphans(void)
{
    for (;;) {
        pid_t reaped = waitpid(-1, NULL, WNOHANG);
        if (reaped < 0 && errno == ECHILD) return;
        if (reaped == 0 && !end_listed()) end_every();
    }
}
