/* sandbox.h - runs a program that is not trusted, with limits, Landlock (files) and
 * seccomp (system calls). All of it is in place before the program's first instruction,
 * so static constructors are inside as well. There are three profiles:
 *
 *                     a lab's program    the same with a GPU    a compiler
 *   files to read     system libraries   and a driver's         libraries, headers,
 *                                                               programs of the system
 *   files to write    none               the GPU's device       below `writable`
 *                                        nodes
 *   modes, times      no                 no                     no
 *   starts programs   no                 no                     those of the system
 *   shared memory     no                 yes                    mappings
 *   sockets           no                 local, no connect      no
 *   memory            private memory     by the grader          address space
 *
 * In all of them: a new session, no terminal, no core files, no privileges, no signal to
 * and no look at other processes; it ends when its parent ends. */
#ifndef SANDBOX_H
#define SANDBOX_H
#include <stdbool.h>
#include <stddef.h>

enum profile { PROFILE_LAB, PROFILE_LAB_GPU, PROFILE_COMPILER };

struct sandbox {
    enum profile profile;
    const char *program;         /* a lab: the only file that may be started */
    const char *const *readable; /* more files and folders, NULL ends; or NULL. The one
                                    that holds `program` may also start programs */
    const char *const *writable; /* files and folders, for the compiler; or NULL */
    int last_fd;                 /* descriptors above this one are closed */
    size_t memory;               /* bytes, of each process; 0: no limit */
    size_t largest_file;         /* bytes that it may write to one file; 0: 64 MB */
    unsigned cpu_seconds;        /* of each process; 0: no limit */
    bool partly;                 /* true: use what this kernel offers; false: fail */
    bool learn;                  /* refused system calls are reported to a tracer */
};

/* What this kernel offers, for the report: "Landlock and seccomp", "seccomp only (...)",
 * "Landlock only (...)" or "off (...)". */
const char *sandbox_describe(void);
bool sandbox_complete(void); /* it offers both */

/* A home folder, and the folder of the calling program, must not lie in a folder that the
 * sandboxed program may read. Returns one line (static) that names one that does, or
 * NULL. */
const char *sandbox_exposes(const struct sandbox *box);

/* For the forked child: enters the sandbox and becomes the program. Returns only on
 * failure: -1, with errno set and *step (if not NULL) naming the step that failed. */
int sandbox_exec(
    const struct sandbox *box, char *const argv[], char *const envp[], const char **step);

#endif
