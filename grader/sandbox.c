/* sandbox.c - runs a program that is not trusted, with limits, Landlock and seccomp. */
#define _GNU_SOURCE
#include "sandbox.h"

#include "landlock.h"
#include "seccomp.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAX_OUTPUT = 64 << 20 }; /* bytes, if its output goes to a file */

const char *sandbox_describe(void)
{
    int files = landlock_version() >= 1, calls = seccomp_available();
    if (files && calls) return "Landlock and seccomp";
    if (calls) return "seccomp only (this kernel has no Landlock: files can be read)";
    if (files)
        return "Landlock only (this kernel has no seccomp: processes can be started)";
    return "off (this kernel has neither Landlock nor seccomp)";
}

static int limit(int what, rlim_t most)
{
    struct rlimit now;
    if (getrlimit(what, &now) != 0) return -1;
    if (now.rlim_max != RLIM_INFINITY && most > now.rlim_max) most = now.rlim_max;
    return setrlimit(what, &(struct rlimit){most, most});
}

/* Opens the program as PROGRAM_FD and closes all descriptors that are not passed on. */
static int take_program(const struct sandbox *box)
{
    struct rlimit fds;
    if (getrlimit(RLIMIT_NOFILE, &fds) != 0) return -1;
    if (fds.rlim_cur <= PROGRAM_FD) {
        fds.rlim_cur = PROGRAM_FD + 1;
        if (setrlimit(RLIMIT_NOFILE, &fds) != 0) return -1;
    }
    int fd = open(box->program, O_PATH | O_CLOEXEC);
    if (fd < 0 || dup3(fd, PROGRAM_FD, O_CLOEXEC) < 0) return -1;
    enum { CLOSE_RANGE = 436 };
    if (syscall(CLOSE_RANGE, box->last_fd + 1, PROGRAM_FD - 1, 0) == 0)
        return (int)syscall(CLOSE_RANGE, PROGRAM_FD + 1, ~0u, 0);
    for (int i = box->last_fd + 1; i < 65536; i++) /* kernels before 5.9 */
        if (i != PROGRAM_FD) close(i);
    return 0;
}

static int set_limits(const struct sandbox *box)
{
    if (limit(RLIMIT_NOFILE, MAX_FDS) != 0 || limit(RLIMIT_CORE, 0) != 0) return -1;
    if (box->device) return 0; /* a GPU driver maps far more than it uses */
    if (box->memory && limit(RLIMIT_DATA, box->memory) != 0) return -1;
    return limit(RLIMIT_FSIZE, MAX_OUTPUT);
}

int sandbox_exec(
    const struct sandbox *box, char *const argv[], char *const envp[], const char **step)
{
    const char *unused;
    if (!step) step = &unused;
    setsid(); /* no terminal */
    *step = "make it end with the grader";
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return -1;
    *step = "open the program";
    if (take_program(box) != 0) return -1;
    *step = "set its limits";
    if (set_limits(box) != 0) return -1;
    for (int cap = 0; cap < 64; cap++)
        prctl(PR_CAPBSET_DROP, cap); /* in case it is root */
    *step = "give up privileges";
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
    *step = "restrict its files";
    if (restrict_files(box->program, box->readable, box->device, envp) != 0) return -1;
    *step = "restrict its system calls";
    if (seccomp_available() && restrict_calls(box->device) != 0) return -1;
    *step = "start the program";
    return (int)syscall(SYS_execveat, PROGRAM_FD, "", argv, envp, AT_EMPTY_PATH);
}
