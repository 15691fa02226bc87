/* process.c - starts and ends the child process.
 *
 * It has three descriptors (its output twice, and the socket), almost no environment, and
 * only the rights that sandbox.h leaves. Under a command (under.c) it runs without the
 * sandbox, because a sanitizer needs what the sandbox forbids.
 */
#define _GNU_SOURCE
#include "process.h"

#include "orphans.h"
#include "protocol.h"
#include "sandbox.h"
#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    POLL_MS = 20,
    MORE_TASKS = 300,    /* besides one thread for each core; the grader allows 256 */
    REPORT_SECONDS = 60, /* for what a sanitizer prints at its end */
};

double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* --- start -------------------------------------------------------------------------- */

static char *kept_environment[16];
static size_t kept; /* lines, without WBCPU_SMS and WBCPU_ARCH, which may follow */

/* The learner's code must not see the user's paths, access tokens and the like. */
static void make_environment(void)
{
    static const char *const keep[] = {"LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES",
                                       "WB_THREADS",      "WB_STACK_KB",
                                       "ASAN_OPTIONS",    "UBSAN_OPTIONS"};
    size_t n = 0;
    kept_environment[n++] = "PATH=/usr/bin:/bin";
    kept_environment[n++] = "LC_ALL=C";
    kept_environment[n++] = "WBCPU_HELPERS=0"; /* as many threads as WB_THREADS says */
    for (size_t i = 0; i < sizeof keep / sizeof *keep; i++)
        if (getenv(keep[i]))
            kept_environment[n++] = text_of("%s=%s", keep[i], getenv(keep[i]));
    kept = n;
}

/* A variable that a case sets; 0: the user's, if set. Returns the number of lines. */
static size_t add_setting(size_t n, const char *variable, int value, char line[64])
{
    const char *given = getenv(variable);
    if (!value && !given) return n;
    if (value)
        snprintf(line, 64, "%s=%d", variable, value);
    else
        snprintf(line, 64, "%s=%s", variable, given);
    kept_environment[n] = line;
    return n + 1;
}
static void set_device(const struct process *p)
{
    static char sms[64], arch[64];
    size_t n = add_setting(kept, "WBCPU_SMS", p->sms, sms);
    n = add_setting(n, "WBCPU_ARCH", p->arch, arch);
    kept_environment[n] = NULL;
}

/* In the forked child, up to the exec. */
static _Noreturn void
become(const struct process *p, int socket, int output, pid_t parent)
{
    struct sandbox box = {
        .program = p->program,
        .profile = p->device ? PROFILE_LAB_GPU : PROFILE_LAB,
        .last_fd = WIRE_FD,
        .partly = true,
        /* Mapped bytes; child.c watches the resident ones. */
        .memory = (p->maps ? 8192 : 4) * p->memory};
    char *argv[] = {p->program, NULL};
    const char *step = "";
    /* above the numbers that they get below, so that no dup2 closes one of them */
    int null = fcntl(open("/dev/null", O_RDWR | O_CLOEXEC), F_DUPFD_CLOEXEC, 10);
    socket = fcntl(socket, F_DUPFD_CLOEXEC, 10);
    output = fcntl(output, F_DUPFD_CLOEXEC, 10);
    for (int s = 1; s < NSIG; s++)
        signal(s, SIG_DFL);
    dup2(null, 0);
    dup2(output, 1);
    dup2(output, 2);
    dup2(socket, WIRE_FD);
    if (getppid() != parent) _exit(127);
    step = "enter its cgroup";
    bool entered = !p->cgroup.tasks[0] || cgroup_enter(&p->cgroup);
    if (p->under)
        under_exec(p->under, &step);
    else if (!entered && usage_unreadable())
        ; /* nothing would limit it */
    else
        sandbox_exec(&box, argv, kept_environment, &step);
    dprintf(2, "cannot %s: %s\n", step, strerror(errno));
    _exit(127);
}

/* If this account can make a cgroup, the kernel keeps limits that are a little above those
 * of the grader, which looks at the process only from time to time. A GPU driver's own
 * memory counts there too. */
static void limit_tasks(struct process *p)
{
    size_t memory = p->device ? 2 * p->memory : p->memory + p->memory / 8;
    if (!p->under) {
        int tasks = MORE_TASKS + (int)sysconf(_SC_NPROCESSORS_ONLN);
        cgroup_make(&p->cgroup, tasks, memory);
    }
}

void process_start(struct process *p)
{
    int pair[2], output[2];
    if (!kept_environment[0]) make_environment();
    set_device(p);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0 ||
        pipe2(output, O_CLOEXEC) != 0)
        fatal(EXIT_BROKEN, "cannot open a socket or pipe: %s", strerror(errno));
    fflush(NULL);
    pid_t parent = getpid();
    limit_tasks(p);
    p->hangs = false;
    p->pid = fork();
    if (p->pid < 0) fatal(EXIT_BROKEN, "cannot fork: %s", strerror(errno));
    if (p->pid == 0) become(p, pair[1], output[1], parent);
    close(pair[1]);
    close(output[1]);
    p->socket = pair[0], p->output = output[0];
    p->status = usage_open(p->pid);
    fcntl(p->socket, F_SETFL, O_NONBLOCK);
    fcntl(p->output, F_SETFL, O_NONBLOCK);
}

/* --- end ---------------------------------------------------------------------------- */

/* Reads what the command prints until it exits or the time is over. true: it has
 * exited. */
static bool read_report(struct process *p)
{
    siginfo_t info = {0};
    char part[1 << 14];
    double give_up = now() + REPORT_SECONDS;
    while (info.si_pid == 0 && now() < give_up) {
        struct pollfd fd = {p->output, POLLIN, 0};
        ssize_t n = 0;
        waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG | WNOWAIT);
        if (info.si_pid == 0) poll(&fd, 1, POLL_MS);
        while ((n = read(p->output, part, sizeof part)) > 0 && now() < give_up)
            under_heard(p->under, part, (size_t)n);
        if (n == 0) usleep(1000 * POLL_MS); /* closed: poll would return immediately */
    }
    return info.si_pid != 0;
}

void process_end(struct process *p)
{
    int status = 0;
    bool exited = true;
    if (!p->pid) return;
    if (p->under) {
        shutdown(p->socket, SHUT_RDWR); /* lets the harness return from main */
        exited = !p->hangs && read_report(p);
    }
    kill(-p->pid, SIGKILL);
    kill(p->pid, SIGKILL);
    while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
        ;
    kill_orphans();
    cgroup_remove(&p->cgroup);
    close(p->socket);
    close(p->output);
    if (p->status >= 0) close(p->status);
    p->pid = 0;
    if (p->under) under_ended(p->under, status, !exited);
}

bool process_exited(struct process *p, int *code, int *status)
{
    siginfo_t info = {0};
    if (p->under) read_report(p);
    double give_up = now() + 1;
    while (info.si_pid == 0 && now() < give_up) {
        waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG | WNOWAIT);
        if (info.si_pid == 0) usleep(1000);
    }
    *code = info.si_code, *status = info.si_status;
    return info.si_pid != 0;
}

bool process_usage(const struct process *p, struct usage *u)
{
    return usage_read(p->pid, p->status, &p->cgroup, u);
}

double process_cpu(const struct process *p)
{
    double seconds = 0;
    return usage_cpu(p->pid, &seconds) ? seconds : 0;
}
