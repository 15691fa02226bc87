/* seccomp.h - restricts the process to certain system calls. */
#ifndef SECCOMP_H
#define SECCOMP_H
#include "sandbox.h"

/* The program is opened as this descriptor and started through it. The number is above
 * the limit that the program runs under, so no later descriptor can have it. */
enum { PROGRAM_FD = 1000, MAX_FDS = 512 };

/* The empty path for execveat, at a random address. The filter allows execveat with this
 * pointer only, so the program can be started, but cannot start another one: it cannot
 * guess the address. A check of the descriptor would not be enough, because execveat
 * ignores it if the path is absolute. Returns NULL, with errno set, on failure. */
const char *start_path(void);

bool seccomp_available(void);
/* Leaves the calls that programs of this profile use. Others fail: EPERM, or ENOSYS for
 * calls newer than pidfd_open (434), so that the C library falls back to an older one.
 * Returns 0, or -1 with errno set. */
int restrict_calls(const struct sandbox *box);

#endif
