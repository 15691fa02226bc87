/* seccomp.h - restricts the process to certain system calls. */
#ifndef SECCOMP_H
#define SECCOMP_H

/* The program is opened as this descriptor and started through it. The number is above
 * the limit that the program runs under, so no later descriptor can have it: the
 * filter allows "execveat of this descriptor", which permits the first start and
 * nothing after it. */
enum { PROGRAM_FD = 1000, MAX_FDS = 512 };

int seccomp_available(void);
/* device: the program uses a GPU. Returns 0, or -1 with errno set. */
int restrict_calls(int device);

#endif
