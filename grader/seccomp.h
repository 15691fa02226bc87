/* seccomp.h - restricts the process to certain system calls. */
#ifndef SECCOMP_H
#define SECCOMP_H
#include "sandbox.h"

/* The program is opened as this descriptor and started through it. The number is above
 * the limit that the program runs under, so no later descriptor can have it: the
 * filter allows "execveat of this descriptor", which permits the first start and
 * nothing after it. */
enum { PROGRAM_FD = 1000, MAX_FDS = 512 };

bool seccomp_available(void);
/* Leaves the calls that programs of this profile use. Others fail: EPERM, or ENOSYS for
 * calls newer than pidfd_open (434), so that the C library falls back to an older one.
 * Returns 0, or -1 with errno set. */
int restrict_calls(const struct sandbox *box);

#endif
