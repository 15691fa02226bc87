/* sandboxed.c - runs a command in the sandbox of sandbox.h: a compiler on sources that are
 * not trusted, or a program for the tests. `sandboxed --help` describes the command line.
 *
 * The first process waits for a second one. The second one starts the command, stops it
 * at the limits, and kills all processes that are left.
 */
#define _GNU_SOURCE
#include "orphans.h"
#include "sandbox.h"
#include "usage.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    STOPPED = 124,
    FAILED = 125,
    MAX_PATHS = 250,
    MAX_THREADS = 256, /* of a lab's program; checked from time to time */
    MAX_TASKS = 300,   /* processes and threads, in a cgroup */
    POLL_MS = 20,
};

static const char help[] =
    "sandboxed [OPTION]... COMMAND ARGUMENT...   runs COMMAND in a sandbox\n"
    "sandboxed --describe                        what this kernel offers; exit code 0: all\n"
    "\n"
    "Without --compiler or --gpu, COMMAND is treated like a lab's program on the CPU\n"
    "back end. It has an empty input, the caller's output, and no other descriptor.\n"
    "  --compiler     a compiler, linker or binutils program: it may read the system's\n"
    "                 headers and libraries and start the system's programs. It may\n"
    "                 not change file modes, so a linked program is not executable\n"
    "  --gpu          a program that uses a GPU driver\n"
    "  --read PATH    COMMAND may also read this file or folder. A compiler may start\n"
    "                 programs in the folder that contains it: /opt/gcc for\n"
    "                 /opt/gcc/bin/g++\n"
    "  --write PATH   with --compiler: it may write there; the first is its TMPDIR\n"
    "  --memory MB    address space of each process with --compiler, otherwise private\n"
    "                 memory [4096]\n"
    "  --cpu S        CPU seconds of each process [120]\n"
    "  --seconds S    time for everything [300]\n"
    "  --file MB      the largest file [512]\n"
    "  --no-sandbox   run COMMAND even if the kernel lacks Landlock or seccomp\n"
    "  --learn        for developers: permit the system calls that would be refused,\n"
    "                 print their numbers and arguments, to extend grader/seccomp.c\n"
    "Exit code: that of COMMAND, 128 + N if signal N ended it, 124 if it was stopped at\n"
    "a limit, 125 if it could not be run.\n";

static _Noreturn void __attribute__((format(printf, 1, 2))) stop(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fprintf(stderr, "sandboxed: ");
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
    exit(FAILED);
}

/* --- the command line --------------------------------------------------------------- */

struct options {
    struct sandbox box;
    const char *readable[MAX_PATHS + 1], *writable[MAX_PATHS + 1];
    int reads, writes;
    double seconds;
    struct cgroup cgroup;
    char program[PATH_MAX];
    char **argv;
};

static double number(const char *option, const char *text)
{
    char *end = NULL;
    double value = text ? strtod(text, &end) : 0;
    if (!text || *end || !(value > 0) || !(value < 1e9))
        stop("%s needs a number above 0", option);
    return value;
}

/* Without symbolic links: restrict_files compares paths. */
static const char *existing(const char *option, const char *path)
{
    char *real = path ? realpath(path, NULL) : NULL;
    if (!path) stop("%s needs a path", option);
    if (!real) stop("%s %s: %s", option, path, strerror(errno));
    return real;
}

static void parse(struct options *o, char **argv)
{
    const size_t mb = 1 << 20;
    struct sandbox *box = &o->box;
    for (; *argv && (*argv)[0] == '-'; argv++) {
        const char *option = *argv, *value = argv[1];
#define IS(name) (strcmp(option, name) == 0)
        if (IS("--compiler"))
            box->profile = PROFILE_COMPILER;
        else if (IS("--gpu"))
            box->profile = PROFILE_LAB_GPU;
        else if (IS("--no-sandbox"))
            box->partly = true;
        else if (IS("--learn"))
            box->learn = true;
        else if (IS("--help"))
            fputs(help, stdout), exit(0);
        else if (IS("--describe"))
            puts(sandbox_describe()), exit(!sandbox_complete());
        else {
            if (IS("--read") && o->reads < MAX_PATHS)
                o->readable[o->reads++] = existing(option, value);
            else if (IS("--write") && o->writes < MAX_PATHS)
                o->writable[o->writes++] = existing(option, value);
            else if (IS("--memory"))
                box->memory = (size_t)number(option, value) * mb;
            else if (IS("--file"))
                box->largest_file = (size_t)number(option, value) * mb;
            else if (IS("--cpu"))
                box->cpu_seconds = (unsigned)number(option, value);
            else if (IS("--seconds"))
                o->seconds = number(option, value);
            else
                stop(
                    "%s: unknown option, or too many paths; see sandboxed --help",
                    option);
            argv++;
        }
    }
    if (!*argv) stop("name the command to run; see sandboxed --help");
    if (o->writes && box->profile != PROFILE_COMPILER) stop("--write needs --compiler");
    o->argv = argv;
}

static bool runs(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* The full path of the command, as a shell finds it. */
static void find_program(struct options *o)
{
    const char *name = o->argv[0], *at = getenv("PATH");
    char folder[PATH_MAX], real[PATH_MAX];
    if (strchr(name, '/')) {
        folder[0] = 0;
        if (name[0] != '/' && !getcwd(folder, sizeof folder)) stop("no current folder");
        snprintf(o->program, sizeof o->program, "%s/%s", folder, name + (!*folder));
        if (!realpath(o->program, real)) stop("cannot open the program %s", name);
        return;
    }
    for (size_t n; at && *at; at += n + (at[n] == ':')) {
        n = strcspn(at, ":");
        if (at[0] != '/') continue;
        int length = snprintf(o->program, sizeof o->program, "%.*s/%s", (int)n, at, name);
        if (length < (int)sizeof o->program && runs(o->program)) return;
    }
    stop("cannot open the program %s: it is not in PATH", name);
}

/* --- the child ---------------------------------------------------------------------- */

/* Nothing of the caller's environment, except what a driver needs. */
static char **make_environment(const struct options *o)
{
    static const char *const keep[] = {"LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES"};
    static char *list[8], text[8][PATH_MAX + 64];
    const char *slash = strrchr(o->program, '/');
    int n = 0;
    snprintf(
        text[n++], sizeof text[0], "PATH=%.*s:/usr/bin:/bin", (int)(slash - o->program),
        o->program);
    snprintf(text[n++], sizeof text[0], "LC_ALL=C");
    snprintf(text[n++], sizeof text[0], "CCACHE_DISABLE=1"); /* g++ may be ccache */
    if (o->writes) snprintf(text[n++], sizeof text[0], "TMPDIR=%s", o->writable[0]);
    for (size_t i = 0; i < 2 && o->box.profile == PROFILE_LAB_GPU; i++)
        if (getenv(keep[i]))
            snprintf(text[n++], sizeof text[0], "%s=%s", keep[i], getenv(keep[i]));
    for (int i = 0; i < n; i++)
        list[i] = text[i];
    return list;
}

static _Noreturn void become(const struct options *o, pid_t parent, int ready)
{
    const char *step = "";
    char byte;
    sigset_t none;
    sigemptyset(&none);
    for (int s = 1; s < NSIG; s++)
        signal(s, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    while (read(ready, &byte, 1) < 0 && errno == EINTR)
        ; /* waits for the parent, which with --learn traces this process first */
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd <= 2; fd++) /* stdin always, the others if they are closed */
        if (fd == 0 || fcntl(fd, F_GETFD) < 0) dup2(null, fd);
    if (getppid() != parent) _exit(FAILED);
    if (o->cgroup.tasks[0] && !cgroup_enter(&o->cgroup)) _exit(FAILED);
    sandbox_exec(&o->box, o->argv, make_environment(o), &step);
    dprintf(2, "sandboxed: cannot %s %s: %s\n", step, o->argv[0], strerror(errno));
    _exit(FAILED);
}

/* --- --learn ------------------------------------------------------------------------ */

/* The filter stops the child at each call that it would refuse. Prints each call's number
 * three times at most, and lets it continue. */
static void continue_traced(pid_t pid, int status)
{
    static unsigned char seen[1024];
    struct __ptrace_syscall_info info;
    int event = status >> 8, pass = WSTOPSIG(status);
    if (event == (SIGTRAP | PTRACE_EVENT_SECCOMP << 8)) {
        ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof info, &info);
        unsigned long long call = info.seccomp.nr, *arg = (void *)info.seccomp.args;
        if (seen[call % sizeof seen]++ < 3)
            fprintf(
                stderr,
                "sandboxed: would refuse system call %llu (%#llx, %#llx, %#llx, "
                "%#llx)\n",
                call, arg[0], arg[1], arg[2], arg[3]);
        else
            seen[call % sizeof seen] = 3;
    }
    if (status >> 16) pass = 0; /* an event, no signal */
    ptrace(PTRACE_CONT, pid, NULL, pass);
}

static void trace(pid_t child)
{
    long follow = PTRACE_O_TRACESECCOMP | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
                  PTRACE_O_TRACEVFORK | PTRACE_O_EXITKILL;
    if (ptrace(PTRACE_SEIZE, child, NULL, follow) != 0)
        stop("--learn cannot trace the command: %s", strerror(errno));
}

/* --- the supervisor ----------------------------------------------------------------- */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Has the command ended? It stays unreaped, so that its number, and that of its group,
 * cannot belong to others yet. Reaps what else has ended. */
static bool ended(pid_t child)
{
    const int any = WEXITED | WSTOPPED | WNOHANG | __WALL;
    siginfo_t info;
    for (;;) {
        int status = 0;
        info.si_pid = 0;
        if (waitid(P_ALL, 0, &info, any | WNOWAIT) != 0 || !info.si_pid) return false;
        bool lives = info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED;
        if (info.si_pid == child && !lives) return true;
        waitpid(info.si_pid, &status, WNOHANG | __WALL);
        if (WIFSTOPPED(status)) continue_traced(info.si_pid, status);
    }
}

/* Why the command must be stopped now; NULL: it may go on. usage: /proc/PID/status */
static const char *
over_limit(const struct options *o, pid_t child, int usage, double last)
{
    static char why[64];
    struct usage u = {0};
    bool lab = o->box.profile != PROFILE_COMPILER; /* one process */
    if (now() >= last)
        snprintf(why, sizeof why, "stopped after %g s", o->seconds);
    else if (!lab || !usage_read(child, usage, &o->cgroup, &u))
        return NULL;
    else if (u.threads > MAX_THREADS)
        snprintf(why, sizeof why, "stopped: more than %d threads", MAX_THREADS);
    else if (u.memory > o->box.memory)
        snprintf(why, sizeof why, "stopped: more than %zu MB", o->box.memory >> 20);
    else
        return NULL;
    return why;
}

static int supervise(struct options *o, pid_t child, const sigset_t *signals)
{
    const struct timespec wait = {0, POLL_MS * 1000000};
    double last = now() + o->seconds;
    int status = 0, code = -1, usage = usage_open(child);
    while (code < 0 && !ended(child)) {
        int number = sigtimedwait(signals, NULL, &wait);
        const char *why = over_limit(o, child, usage, last);
        if (why) fprintf(stderr, "sandboxed: %s\n", why);
        if (why)
            code = STOPPED;
        else if (number > 0 && number != SIGCHLD)
            code = 128 + number;
    }
    if (usage >= 0) close(usage);
    kill(-child, SIGKILL); /* its process group */
    kill(child, SIGKILL);
    while (waitpid(child, &status, __WALL) < 0 && errno == EINTR)
        ;
    kill_orphans(); /* what has left the group */
    cgroup_remove(&o->cgroup);
    if (code >= 0) return code;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* The command's parent. A signal makes this process end everything. It also gets a signal
 * if the first process, which the user started, is killed. */
static int guard(struct options *o, const sigset_t *signals, pid_t caller)
{
    int ready[2];
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || getppid() != caller) return FAILED;
    if (pipe2(ready, O_CLOEXEC) != 0) stop("cannot open a pipe: %s", strerror(errno));
    cgroup_make(&o->cgroup, MAX_TASKS, o->box.memory + o->box.memory / 8);
    pid_t parent = getpid(), child = fork();
    if (child < 0) stop("cannot fork: %s", strerror(errno));
    if (child == 0) {
        close(ready[1]);
        become(o, parent, ready[0]);
    }
    if (o->box.learn) trace(child);
    close(ready[0]);
    close(ready[1]);
    return supervise(o, child, signals);
}

/* Waits for the guard, and passes signals on to it. */
static int wait_for(pid_t child, const sigset_t *signals)
{
    int status, number;
    while (waitpid(child, &status, WNOHANG) == 0)
        if (sigwait(signals, &number) == 0 && number != SIGCHLD) kill(child, number);
    kill_orphans(); /* if it was killed */
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
    static struct options o = {.seconds = 300};
    sigset_t signals;
    (void)argc;
    o.box = (struct sandbox){
        .last_fd = 2,
        .memory = (size_t)4 << 30,
        .largest_file = 512 << 20,
        .cpu_seconds = 120};
    parse(&o, argv + 1);
    find_program(&o);
    o.box.program = o.argv[0] = o.program;
    o.box.readable = o.readable, o.box.writable = o.writable;
    const char *problem = sandbox_exposes(&o.box);
    if (problem) stop("%s", problem);
    if (!sandbox_complete() && !o.box.partly)
        stop(
            "the sandbox is %s; --no-sandbox runs the command all the same",
            sandbox_describe());
    problem = usage_unreadable();
    if (problem && !o.box.partly && o.box.profile != PROFILE_COMPILER)
        stop("%s", problem);
    sigemptyset(&signals);
    for (size_t i = 0; i < 4; i++)
        sigaddset(&signals, (int[]){SIGCHLD, SIGINT, SIGTERM, SIGHUP}[i]);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t caller = getpid(), child = fork();
    if (child < 0) stop("cannot fork: %s", strerror(errno));
    return child ? wait_for(child, &signals) : guard(&o, &signals, caller);
}
