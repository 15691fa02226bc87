/* process.h - starts and ends the child process, inside the sandbox or under a
 * command. */
#ifndef PROCESS_H
#define PROCESS_H
#include "under.h"
#include "usage.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct process {
    char *program;
    bool device;          /* it uses a GPU */
    size_t memory;        /* limit of resident bytes; 0: none */
    bool maps;            /* it reserves much more memory than it uses: check mode */
    int sms;              /* multiprocessors of the CPU back end; 0: the default */
    int arch;             /* the GPU that it emulates: 90; 0: the default */
    struct under *under;  /* the command that it runs under, or NULL */
    struct cgroup cgroup; /* that it is in, if one can be made here */
    pid_t pid;            /* 0: not running */
    bool hangs;           /* it would not end without a signal */
    int socket, output;   /* our ends; non-blocking */
    int status;           /* /proc/PID/status, open; -1: there is none */
};

double now(void); /* seconds of a monotonic clock */
void process_start(struct process *p);
void process_end(struct process *p); /* no effect if it is not running */
/* Waits up to a second (under a command: until it has printed its report) for the process
 * to exit. Fills *code and *status as waitid does. false: it is still running. */
bool process_exited(struct process *p, int *code, int *status);
bool process_usage(const struct process *p, struct usage *u); /* false: unknown */
double process_cpu(const struct process *p); /* CPU seconds so far; 0: unknown */

#endif
