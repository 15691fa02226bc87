/* sandbox.h - a lab's program runs fenced in: it reads its own file, the system's
 * libraries and what the driver of a card needs; it writes no file, starts no process and
 * reaches none. Landlock guards files, seccomp guards system calls; both hold before the
 * first instruction of the program, static constructors included. */
#ifndef SANDBOX_H
#define SANDBOX_H
#include <stddef.h>

struct sandbox {
    const char *program;         /* the one file that may be started */
    const char *const *readable; /* more files and folders to read, NULL ends; or NULL */
    int device;                  /* 1: it talks to a card: device nodes, /proc, /sys */
    int last_fd;                 /* descriptors above this one are closed */
    size_t memory;               /* bytes of private memory (CPU back end); 0: no limit */
};

/* What this kernel offers, for the report: "Landlock and seccomp", "seccomp only (...)",
 * "Landlock only (...)" or "off (...)". */
const char *sandbox_describe(void);

/* For the forked child: puts up the fences and becomes the program. Returns only when that
 * fails: -1, with errno set and *step (if not NULL) naming what failed. */
int sandbox_exec(
    const struct sandbox *box, char *const argv[], char *const envp[], const char **step);

#endif
