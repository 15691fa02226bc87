/* sandbox.c - runs a program that is not trusted, with limits, Landlock and seccomp. */
#define _GNU_SOURCE
#include "sandbox.h"

#include "landlock.h"
#include "seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LARGEST_FILE = 64 << 20 }; /* bytes, if the output of a lab goes to a file */

const char *sandbox_describe(void)
{
    bool files = landlock_version() >= 1, calls = seccomp_available();
    if (files && calls) return "Landlock and seccomp";
    if (calls)
        return "seccomp only (no Landlock in this kernel or container: files can be read)";
    if (files)
        return "Landlock only (no seccomp in this kernel or container: processes can be "
               "started)";
    return "off (neither Landlock nor seccomp in this kernel or container)";
}

bool sandbox_complete(void)
{
    return landlock_version() >= 1 && seccomp_available();
}

/* --- folders that must not be readable ---------------------------------------------- */

/* Is the folder `inner` the folder `outer`, or in it? Both without symbolic links. */
static bool beneath(const char *inner, const char *outer)
{
    size_t n = strlen(outer);
    if (n && outer[n - 1] == '/') n--; /* the root */
    return strncmp(inner, outer, n) == 0 && (inner[n] == '/' || !inner[n]);
}

static const char *exposed(const struct sandbox *box, const char *what, const char *path)
{
    static char line[2 * PATH_MAX + 100];
    char inner[PATH_MAX], outer[PATH_MAX];
    if (!path || !realpath(path, inner)) return NULL;
    const char *const *lists[] = {box->readable, box->writable, readable_folders(box)};
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++)
        for (const char *const *folder = lists[l]; folder && *folder; folder++) {
            if (!realpath(*folder, outer) || !beneath(inner, outer)) continue;
            snprintf(
                line, sizeof line, "%s %s lies in %s, which the program may read", what,
                inner, *folder);
            return line;
        }
    return NULL;
}

const char *sandbox_exposes(const struct sandbox *box)
{
    char own[PATH_MAX];
    const char *self = (const char *)getauxval(AT_EXECFN), *found = NULL;
    if (self && realpath(self, own)) {
        *strrchr(own, '/') = 0;
        found = exposed(box, "the folder", own[0] ? own : "/");
    }
    if (!found) found = exposed(box, "the home folder", getenv("HOME"));
    FILE *accounts = found ? NULL : fopen("/etc/passwd", "re");
    for (struct passwd *p; accounts && !found && (p = fgetpwent(accounts));)
        if (p->pw_uid == 0 || p->pw_uid == getuid() || /* not those of services */
            (p->pw_uid >= 1000 && p->pw_uid < 65534))
            found = exposed(box, "the home folder", p->pw_dir);
    if (accounts) fclose(accounts);
    return found;
}

/* --- entering the sandbox ----------------------------------------------------------- */

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
    /* A compiler's limit is on addresses, so that shared mappings count too. The CPU back
     * end reserves addresses that it never uses, and a GPU driver maps more still. */
    int memory = box->profile == PROFILE_COMPILER ? RLIMIT_AS : RLIMIT_DATA;
    if (limit(RLIMIT_NOFILE, MAX_FDS) != 0 || limit(RLIMIT_CORE, 0) != 0) return -1;
    if (box->cpu_seconds && limit(RLIMIT_CPU, box->cpu_seconds) != 0) return -1;
    if (box->profile == PROFILE_LAB_GPU) return 0;
    if (box->memory && limit(memory, box->memory) != 0) return -1;
    return limit(RLIMIT_FSIZE, box->largest_file ? box->largest_file : LARGEST_FILE);
}

int sandbox_exec(
    const struct sandbox *box, char *const argv[], char *const envp[], const char **step)
{
    const char *unused;
    if (!step) step = &unused;
    setsid(); /* no terminal */
    *step = "make it end with its parent";
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
    if (landlock_version() >= 1 ? restrict_files(box, envp) != 0 : !box->partly)
        return -1;
    *step = "restrict its system calls";
    if (seccomp_available() ? restrict_calls(box) != 0 : !box->partly) return -1;
    *step = "start the program";
    if (box->profile == PROFILE_COMPILER) return execve(box->program, argv, envp);
    return (int)syscall(
        SYS_execveat, PROGRAM_FD, start_path(), argv, envp, AT_EMPTY_PATH);
}
