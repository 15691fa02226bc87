/* sandbox.h - runs a lab's program in a sandbox. It may read its own file, the
 * system's libraries and what a GPU driver needs. It cannot write files, start
 * processes or reach other ones. Landlock guards files, seccomp guards system calls;
 * both are in place before the program's first instruction, so static constructors are
 * inside as well. */
#ifndef SANDBOX_H
#define SANDBOX_H
#include <stddef.h>

struct sandbox {
    const char *program;         /* the only file that may be started */
    const char *const *readable; /* more files and folders to read, NULL ends; or NULL */
    int device;                  /* 1: it uses a GPU: device nodes, /proc, /sys */
    int last_fd;                 /* descriptors above this one are closed */
    size_t memory;               /* bytes of private memory (CPU back end); 0: no limit */
};

/* What this kernel offers, for the report: "Landlock and seccomp", "seccomp only (...)",
 * "Landlock only (...)" or "off (...)". */
const char *sandbox_describe(void);

/* For the forked child: enters the sandbox and becomes the program. Returns only on
 * failure: -1, with errno set and *step (if not NULL) naming the step that failed. */
int sandbox_exec(
    const struct sandbox *box, char *const argv[], char *const envp[], const char **step);

#endif
