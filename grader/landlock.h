/* landlock.h - restricts the process to certain files. */
#ifndef LANDLOCK_H
#define LANDLOCK_H

int landlock_version(void); /* of the kernel; below 1: not available */
/* Leaves the program itself, system libraries, and the files and folders in `readable`
 * (NULL-terminated, or NULL); with `device` what a GPU driver needs too. Returns 0, also
 * without Landlock, or -1 with errno set. */
int restrict_files(
    const char *program, const char *const *readable, int device, char *const envp[]);

#endif
