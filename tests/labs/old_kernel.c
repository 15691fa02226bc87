/* old_kernel.c - runs a command as on a kernel without Landlock, without seccomp, or
 * without both.
 *     old_kernel landlock|seccomp|both COMMAND ARGUMENT... */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LANDLOCK_CREATE = 444 };

int main(int argc, char **argv)
{
    if (argc < 3) return 2;
    int landlock = strcmp(argv[1], "seccomp") != 0;
    int seccomp = strcmp(argv[1], "landlock") != 0;
    struct sock_filter step[] = {
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr)},
        {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, LANDLOCK_CREATE},
        {BPF_RET | BPF_K, 0, 0,
         landlock ? SECCOMP_RET_ERRNO | ENOSYS : SECCOMP_RET_ALLOW},
        {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_seccomp},
        {BPF_RET | BPF_K, 0, 0, seccomp ? SECCOMP_RET_ERRNO | ENOSYS : SECCOMP_RET_ALLOW},
        {BPF_JMP | BPF_JEQ | BPF_K, 0, 3, SYS_prctl},
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, args)},
        {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, PR_SET_SECCOMP},
        {BPF_RET | BPF_K, 0, 0, seccomp ? SECCOMP_RET_ERRNO | EINVAL : SECCOMP_RET_ALLOW},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
    struct sock_fprog filter = {sizeof step / sizeof *step, step};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        return puts("this kernel has no seccomp to pretend with"), 2;
    execvp(argv[2], argv + 2);
    return perror(argv[2]), 127;
}
