/* seccomp.c - restricts the process to certain system calls by seccomp.
 *
 * A filter is a small program that the kernel runs at each system call. It sees numbers
 * and arguments, but not memory. So a call whose arguments are in memory is
 * refused altogether.
 */
#define _GNU_SOURCE
#include "seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined __x86_64__
#define THIS_CPU AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define THIS_CPU AUDIT_ARCH_AARCH64
#endif

#ifdef THIS_CPU
enum { MAX_STEPS = 700 };
struct filter {
    struct sock_filter step[MAX_STEPS];
    int n;
};

static void add(struct filter *f, int code, uint32_t k, int yes, int no)
{
    f->step[f->n++] = (struct sock_filter){
        .code = (uint16_t)code, .jt = (uint8_t)yes, .jf = (uint8_t)no, .k = k};
}

static void answer(struct filter *f, uint32_t what)
{
    add(f, BPF_RET | BPF_K, what, 0, 0);
}
static void permit(struct filter *f)
{
    answer(f, SECCOMP_RET_ALLOW);
}
static void refuse(struct filter *f)
{
    answer(f, SECCOMP_RET_ERRNO | EPERM);
}

static void load(struct filter *f, size_t offset)
{
    add(f, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

/* Loads the low (half = 0) or high (half = 1) 32 bits of an argument; both CPUs are
 * little-endian. */
static void load_arg(struct filter *f, int arg, int half)
{
    load(f, offsetof(struct seccomp_data, args) + 8 * (size_t)arg + 4 * (size_t)half);
}

static void load_call(struct filter *f)
{
    load(f, offsetof(struct seccomp_data, nr));
}

/* Skips `steps` steps unless the loaded value equals k, or has one of the bits of k. */
static void unless_equal(struct filter *f, uint32_t k, int steps)
{
    add(f, BPF_JMP | BPF_JEQ | BPF_K, k, 0, steps);
}
static void unless_bits(struct filter *f, uint32_t k, int steps)
{
    add(f, BPF_JMP | BPF_JSET | BPF_K, k, 0, steps);
}

static void refuse_call(struct filter *f, uint32_t call)
{
    unless_equal(f, call, 1);
    refuse(f);
}

/* Pretends that the call does not exist, so that the C library falls back to another. */
static void hide_call(struct filter *f, uint32_t call)
{
    unless_equal(f, call, 1);
    answer(f, SECCOMP_RET_ERRNO | ENOSYS);
}

static void permit_if_equal(struct filter *f, uint32_t call, int arg, uint32_t value)
{
    unless_equal(f, call, 4);
    load_arg(f, arg, 0);
    unless_equal(f, value, 1);
    permit(f);
    refuse(f);
}

static void refuse_if_equal(struct filter *f, uint32_t call, int arg, uint32_t value)
{
    unless_equal(f, call, 4);
    load_arg(f, arg, 0);
    unless_equal(f, value, 1);
    refuse(f);
    load_call(f); /* other values: continue with the next rule */
}

static void refuse_if_bits(struct filter *f, uint32_t call, int arg, uint32_t bits)
{
    unless_equal(f, call, 4);
    load_arg(f, arg, 0);
    unless_bits(f, bits, 1);
    refuse(f);
    load_call(f);
}

static const uint16_t refused[] = {
#ifdef __x86_64__
    SYS_fork,
    SYS_vfork,
    SYS_creat,
    SYS_unlink,
    SYS_rename,
    SYS_link,
    SYS_symlink,
    SYS_mkdir,
    SYS_rmdir,
    SYS_mknod,
    SYS_chmod,
    SYS_chown,
    SYS_lchown,
    SYS_utime,
    SYS_utimes,
    SYS_futimesat,
    SYS_modify_ldt,
    SYS_ioperm,
    SYS_iopl,
#endif
    /* processes */
    SYS_execve,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_kcmp,
    SYS_tkill,
    SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo,
    SYS_setpriority,
    SYS_ioprio_set,
    SYS_setrlimit,
    SYS_migrate_pages,
    424 /* pidfd_send_signal */,
    434 /* pidfd_open */,
    438 /* pidfd_getfd */,
    440 /* process_madvise */,
    448 /* process_mrelease */,
    /* the network and other ways to reach processes */
    SYS_socket,
    SYS_socketpair,
    SYS_bind,
    SYS_connect,
    SYS_listen,
    SYS_accept,
    SYS_accept4,
    SYS_shmget,
    SYS_shmat,
    SYS_msgget,
    SYS_semget,
    SYS_mq_open,
    /* files; for open see make_filter */
    SYS_unlinkat,
    SYS_renameat,
    SYS_renameat2,
    SYS_linkat,
    SYS_symlinkat,
    SYS_mkdirat,
    SYS_mknodat,
    SYS_fchmod,
    SYS_fchmodat,
    452 /* fchmodat2 */,
    SYS_fchown,
    SYS_fchownat,
    SYS_utimensat,
    SYS_truncate,
    SYS_setxattr,
    SYS_lsetxattr,
    SYS_fsetxattr,
    SYS_removexattr,
    SYS_lremovexattr,
    SYS_fremovexattr,
    SYS_open_by_handle_at,
    /* ways around a filter, and administration */
    425 /* io_uring_setup */,
    426 /* io_uring_enter */,
    427 /* io_uring_register */,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_unshare,
    SYS_setns,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_personality,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_reboot,
};

/* CUDA's driver insists on binding an abstract socket, after it unlinks a path that never
 * exists. Landlock prevents sockets in folders, and connect stays refused. */
static void permit_driver(struct filter *f)
{
#ifdef __x86_64__
    unless_equal(f, SYS_unlink, 1);
    answer(f, SECCOMP_RET_ERRNO | ENOENT);
#endif
    unless_equal(f, SYS_unlinkat, 1);
    answer(f, SECCOMP_RET_ERRNO | ENOENT);
    permit_if_equal(f, SYS_socket, 0, 1 /* AF_UNIX */);
    unless_equal(f, SYS_bind, 1);
    permit(f);
    unless_equal(f, SYS_listen, 1);
    permit(f);
}

static void make_filter(struct filter *f, int device)
{
    uint32_t self = (uint32_t)getpid(); /* the program keeps this id */
    load(f, offsetof(struct seccomp_data, arch));
    add(f, BPF_JMP | BPF_JEQ | BPF_K, THIS_CPU, 1, 0);
    answer(f, SECCOMP_RET_KILL_PROCESS);
    load_call(f);
#ifdef __x86_64__
    add(f, BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1); /* x32 repeats the calls */
    refuse(f);
#endif
    if (device) permit_driver(f);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        refuse_call(f, refused[i]);

    /* Threads are allowed, processes are not. The flags of clone3 are in memory, which a
     * filter cannot see; those of clone are in an argument. */
    hide_call(f, 435 /* clone3 */);
    unless_equal(f, SYS_clone, 4);
    load_arg(f, 0, 0);
    unless_bits(f, CLONE_THREAD, 1);
    permit(f);
    refuse(f);
    permit_if_equal(f, SYS_execveat, 0, PROGRAM_FD);

    /* Signals only to itself, which abort() needs; none through a descriptor's owner. */
    permit_if_equal(f, SYS_kill, 0, self);
    permit_if_equal(f, SYS_tgkill, 0, self);
    refuse_if_equal(f, SYS_fcntl, 1, F_SETOWN);
    refuse_if_equal(f, SYS_fcntl, 1, F_SETOWN_EX);
    refuse_if_equal(f, SYS_fcntl, 1, F_SETSIG);
    refuse_if_equal(f, SYS_ioctl, 1, 0x8901 /* FIOSETOWN */);
    refuse_if_equal(f, SYS_ioctl, 1, 0x5412 /* TIOCSTI: fakes terminal input */);
    refuse_if_equal(f, SYS_prctl, 0, PR_SET_PDEATHSIG); /* it must end with the grader */

    /* Limits may be read, but not set. */
    unless_equal(f, SYS_prlimit64, 6);
    load_arg(f, 2, 0);
    unless_equal(f, 0, 3);
    load_arg(f, 2, 1);
    unless_equal(f, 0, 1);
    permit(f);
    refuse(f);

    /* A GPU driver opens its nodes for writing: there Landlock alone guards files. */
    if (!device) {
        hide_call(f, 437 /* openat2 */);
#ifdef __x86_64__
        refuse_if_bits(f, SYS_open, 1, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC);
#endif
        refuse_if_bits(f, SYS_openat, 2, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC);
    }
    permit(f);
}

int restrict_calls(int device)
{
    static struct filter f;
    f.n = 0;
    make_filter(&f, device);
    struct sock_fprog program = {.len = (unsigned short)f.n, .filter = f.step};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int seccomp_available(void)
{
    uint32_t action = SECCOMP_RET_KILL_PROCESS;
    return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}
#else
int restrict_calls(int device)
{
    (void)device;
    return 0;
}
int seccomp_available(void)
{
    return 0;
}
#endif
