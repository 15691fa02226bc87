/* landlock.h - restricts the process to certain files. */
#ifndef LANDLOCK_H
#define LANDLOCK_H
#include "sandbox.h"

int landlock_version(void); /* of the kernel; below 1: not available */
/* Denies access to all files except those that sandbox.h lists for the profile,
 * `readable` and `writable`. envp: the program's environment. Returns 0, or -1 with errno
 * set. */
int restrict_files(const struct sandbox *box, char *const envp[]);
/* The system's folders that the profile may read, NULL ends. */
const char *const *readable_folders(const struct sandbox *box);

#endif
