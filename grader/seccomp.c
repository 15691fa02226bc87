/* seccomp.c - restricts the process to certain system calls by seccomp.
 *
 * A filter is a small program that the kernel runs at each system call. It sees the
 * number and the arguments of the call, but not memory. So a call that takes its options
 * through a pointer is allowed with all options, or not at all. All other calls fail.
 * `sandboxed --learn` (sandboxed.c) prints the calls that would be refused.
 */
#define _GNU_SOURCE
#include "seccomp.h"

#include "landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined __x86_64__
#define THIS_CPU AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define THIS_CPU AUDIT_ARCH_AARCH64
#endif

#ifdef THIS_CPU
/* --- the calls that are allowed with any arguments ---------------------------------- */

/* What the C and C++ libraries and the CPU back end use. The first ones are frequent. */
/* clang-format off */
static const uint16_t basic[] = {
    SYS_mprotect, SYS_futex, SYS_write, SYS_read, SYS_sysinfo, SYS_madvise, SYS_munmap,
    SYS_sched_yield, SYS_brk, SYS_mremap, SYS_clock_gettime,
    /* files, where Landlock permits */
    SYS_readv, SYS_writev, SYS_pread64, SYS_lseek, SYS_close, SYS_fstat, SYS_newfstatat,
    SYS_statx, SYS_faccessat, SYS_getdents64,
    /* itself: threads, signals, limits */
    SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack,
    SYS_restart_syscall, SYS_set_robust_list, SYS_set_tid_address, SYS_rseq, SYS_ppoll,
    SYS_getrusage, SYS_times, SYS_getrandom, SYS_getpid, SYS_gettid, SYS_getuid,
    SYS_geteuid, SYS_getgid, SYS_getegid, SYS_exit, SYS_exit_group,
    /* the machine and the time */
    SYS_uname, SYS_sched_getaffinity, SYS_getcpu, SYS_clock_getres, SYS_clock_nanosleep,
    SYS_nanosleep, SYS_gettimeofday,
#ifdef __x86_64__ /* other CPUs never had the older calls */
    SYS_stat, SYS_lstat, SYS_access, SYS_arch_prctl, SYS_getrlimit, SYS_pause, SYS_time
#endif
};

/* What compilers, linkers, binutils and a shell between them use too. No call leaves the
 * process group, so that killing the group ends them all. Landlock does not guard the
 * mode and the times of files, so none may be changed: a linked program is not
 * executable. */
static const uint16_t compiler[] = {
    SYS_execve, SYS_wait4, SYS_waitid, SYS_pipe2, SYS_dup, SYS_dup3, SYS_pselect6,
    SYS_readlinkat, SYS_unlinkat, SYS_renameat, SYS_renameat2, SYS_mkdirat, SYS_ftruncate,
    SYS_fallocate, SYS_fadvise64, SYS_pwrite64, SYS_copy_file_range, SYS_sendfile,
    SYS_flock, SYS_fsync, SYS_fdatasync, SYS_mmap, SYS_msync, SYS_getcwd, SYS_chdir,
    SYS_fchdir, SYS_umask, SYS_statfs, SYS_fstatfs, SYS_getppid, SYS_getpgid,
    SYS_getgroups, SYS_getresuid, SYS_getresgid, SYS_sched_get_priority_min,
    SYS_sched_get_priority_max, SYS_sched_getscheduler, SYS_sched_getparam,
#ifdef __x86_64__
    SYS_fork, SYS_vfork, SYS_pipe, SYS_dup2, SYS_readlink, SYS_creat, SYS_unlink,
    SYS_rename, SYS_mkdir, SYS_rmdir, SYS_poll, SYS_select, SYS_getpgrp, SYS_alarm
#endif
};

/* What CUDA's driver uses too. It opens its nodes for writing and maps them, so there
 * Landlock alone guards files. Its sockets are local, and connect stays refused. */
static const uint16_t driver[] = {
    SYS_mmap, SYS_readlinkat, SYS_getcwd, SYS_statfs, SYS_fstatfs,
    SYS_pwrite64, SYS_ftruncate, SYS_fallocate, SYS_fadvise64, SYS_flock, SYS_fsync,
    SYS_umask, SYS_dup, SYS_dup3, SYS_pipe2, SYS_pselect6, SYS_eventfd2,
    SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_pwait, SYS_timerfd_create,
    SYS_timerfd_settime, SYS_timerfd_gettime, SYS_memfd_create, SYS_bind, SYS_listen,
    SYS_shutdown, SYS_getsockname, SYS_getpeername, SYS_getsockopt, SYS_setsockopt,
    SYS_sendto, SYS_recvfrom, SYS_recvmsg, SYS_mlock, SYS_munlock, SYS_mlock2, SYS_msync,
    SYS_mincore, SYS_mbind, SYS_get_mempolicy, SYS_set_mempolicy, SYS_membarrier,
    SYS_getppid, SYS_getpgid, SYS_getresuid, SYS_getresgid, SYS_getgroups, SYS_capget,
    SYS_rt_sigtimedwait, SYS_rt_sigpending, SYS_get_robust_list,
    SYS_sched_get_priority_min, SYS_sched_get_priority_max, SYS_sched_getscheduler,
    SYS_sched_getparam,
#ifdef __x86_64__
    SYS_readlink, SYS_dup2, SYS_pipe, SYS_poll, SYS_select, SYS_epoll_create,
    SYS_epoll_wait, SYS_eventfd, SYS_getpgrp
#endif
};
/* clang-format on */

/* --- the filter's steps ------------------------------------------------------------- */

enum { MAX_STEPS = 1000 };
struct filter {
    struct sock_filter step[MAX_STEPS];
    int n;
    bool learn;
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
static void refuse_with(struct filter *f, uint32_t error)
{
    answer(f, (f->learn ? SECCOMP_RET_TRACE : SECCOMP_RET_ERRNO) | error);
}
static void refuse(struct filter *f)
{
    refuse_with(f, EPERM);
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

/* The steps between begin and end run for this call only, and end with an answer. */
static int begin(struct filter *f, uint32_t call)
{
    add(f, BPF_JMP | BPF_JEQ | BPF_K, call, 0, 0);
    return f->n - 1;
}
static void end(struct filter *f, int at)
{
    f->step[at].jf = (uint8_t)(f->n - at - 1);
}

static void permit_if_equal(struct filter *f, uint32_t k)
{
    add(f, BPF_JMP | BPF_JEQ | BPF_K, k, 0, 1);
    permit(f);
}
static void refuse_if_bits(struct filter *f, uint32_t k)
{
    add(f, BPF_JMP | BPF_JSET | BPF_K, k, 0, 1);
    refuse(f);
}

static void permit_call(struct filter *f, uint32_t call)
{
    int at = begin(f, call);
    permit(f);
    end(f, at);
}
static void permit_calls(struct filter *f, const uint16_t *calls, size_t n)
{
    for (size_t i = 0; i < n; i++)
        permit_call(f, calls[i]);
}
#define PERMIT(f, calls) permit_calls(f, calls, sizeof calls / sizeof *calls)

static void answer_call(struct filter *f, uint32_t call, uint32_t what)
{
    int at = begin(f, call);
    answer(f, what);
    end(f, at);
}

static void
permit_values(struct filter *f, uint32_t call, int arg, const uint32_t *values, size_t n)
{
    int at = begin(f, call);
    load_arg(f, arg, 0);
    for (size_t i = 0; i < n; i++)
        permit_if_equal(f, values[i]);
    refuse(f);
    end(f, at);
}
/* Permits the call if an argument has one of the values. */
#define PERMIT_IF(f, call, arg, ...)                                                     \
    permit_values(                                                                       \
        f, call, arg, (const uint32_t[]){__VA_ARGS__},                                   \
        sizeof(const uint32_t[]){__VA_ARGS__} / sizeof(uint32_t))

static void permit_without(struct filter *f, uint32_t call, int arg, uint32_t bits)
{
    int at = begin(f, call);
    load_arg(f, arg, 0);
    refuse_if_bits(f, bits);
    permit(f);
    end(f, at);
}

/* --- the calls whose arguments decide ----------------------------------------------- */

enum {
    TERMINAL_GET = 0x5401,
    TERMINAL_SIZE = 0x5413
}; /* isatty; the width of messages */

static void permit_lab(struct filter *f, uint32_t self)
{
    int at = begin(f, SYS_clone); /* threads, no processes */
    load_arg(f, 0, 0);
    add(f, BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1);
    permit(f);
    refuse(f);
    end(f, at);
    uint64_t empty = (uint64_t)(uintptr_t)start_path();
    at = begin(f, SYS_execveat); /* see start_path */
    for (int half = 0; half < 2; half++) {
        load_arg(f, 1, half);
        add(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(empty >> 32 * half), 1, 0);
        refuse(f);
    }
    permit(f);
    end(f, at);
    PERMIT_IF(f, SYS_kill, 0, self); /* abort */
    PERMIT_IF(f, SYS_tgkill, 0, self);
    at = begin(f, SYS_prlimit64); /* its own limits, only to read */
    load_arg(f, 2, 0);
    add(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
    refuse(f);
    load_arg(f, 2, 1);
    add(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
    refuse(f);
    load_arg(f, 0, 0);
    permit_if_equal(f, 0);
    permit_if_equal(f, self);
    refuse(f);
    end(f, at);
}

/* No shared memory, which RLIMIT_DATA does not count; nor stacks that grow, nor huge
 * pages, which are not counted either. */
static void permit_cpu_lab(struct filter *f)
{
    const uint32_t writing = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;
    permit_without(f, SYS_mmap, 3, MAP_SHARED | MAP_GROWSDOWN | MAP_HUGETLB);
    permit_without(f, SYS_openat, 2, writing);
#ifdef SYS_open
    permit_without(f, SYS_open, 1, writing);
#endif
    PERMIT_IF(f, SYS_fcntl, 1, F_GETFD, F_SETFD, F_GETFL);
    PERMIT_IF(f, SYS_ioctl, 1, TERMINAL_GET);
}

/* Opening a file may truncate it, which the first versions of Landlock forbid only where
 * it is opened for writing. */
static void permit_open(struct filter *f, uint32_t call, int arg)
{
    int at = begin(f, call);
    load_arg(f, arg, 0);
    add(f, BPF_ALU | BPF_AND | BPF_K, O_ACCMODE | O_TRUNC, 0, 0);
    add(f, BPF_JMP | BPF_JEQ | BPF_K, O_RDONLY | O_TRUNC, 0, 1);
    refuse(f);
    permit(f);
    end(f, at);
}
static void permit_opens(struct filter *f)
{
    permit_open(f, SYS_openat, 2);
#ifdef SYS_open
    permit_open(f, SYS_open, 1);
#endif
}

/* The driver binds an abstract socket, after it unlinks a path that never exists. */
static void permit_driver(struct filter *f, uint32_t self)
{
#ifdef SYS_unlink
    answer_call(f, SYS_unlink, SECCOMP_RET_ERRNO | ENOENT);
#endif
    answer_call(f, SYS_unlinkat, SECCOMP_RET_ERRNO | ENOENT);
    PERMIT_IF(f, SYS_socket, 0, 1 /* AF_UNIX */);
    PERMIT_IF(f, SYS_socketpair, 0, 1);
    PERMIT_IF(f, SYS_sched_setaffinity, 0, 0, self);
    PERMIT_IF(
        f, SYS_fcntl, 1, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD, F_DUPFD_CLOEXEC,
        F_SETLK, F_GETLK, F_ADD_SEALS, F_GET_SEALS);
    int at = begin(f, SYS_ioctl);
    load_arg(f, 1, 0);
    add(f, BPF_JMP | BPF_JEQ | BPF_K, 0x5412 /* TIOCSTI: fakes input */, 1, 0);
    add(f, BPF_JMP | BPF_JEQ | BPF_K, 0x8901 /* FIOSETOWN: sends signals */, 0, 1);
    refuse(f);
    permit(f);
    end(f, at);
    permit_opens(f);
    PERMIT(f, driver);
}

/* Allows processes, but no namespaces, and no child that its parent does not wait for.
 * The ids of its processes are not known in advance, so signals are allowed only where
 * Landlock confines them to the sandbox. */
static void permit_compiler(struct filter *f)
{
    permit_without(
        f, SYS_clone, 0,
        CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
            CLONE_NEWPID | CLONE_NEWNET | CLONE_PARENT | CLONE_UNTRACED);
    PERMIT_IF(f, SYS_prlimit64, 0, 0); /* a larger stack; no limit can be raised */
    PERMIT_IF(
        f, SYS_fcntl, 1, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD, F_DUPFD_CLOEXEC,
        F_SETLK, F_SETLKW, F_GETLK);
    PERMIT_IF(f, SYS_ioctl, 1, TERMINAL_GET, TERMINAL_SIZE);
    if (landlock_version() >= 6) {
        permit_without(f, SYS_kill, 0, 1u << 31); /* groups and all */
        permit_call(f, SYS_tgkill);
    }
    permit_opens(f);
    PERMIT(f, compiler);
}

static void make_filter(struct filter *f, enum profile profile)
{
    uint32_t self = (uint32_t)getpid(); /* a lab's program keeps this id */
    load(f, offsetof(struct seccomp_data, arch));
    add(f, BPF_JMP | BPF_JEQ | BPF_K, THIS_CPU, 1, 0);
    answer(f, SECCOMP_RET_KILL_PROCESS);
    load(f, offsetof(struct seccomp_data, nr));
#ifdef __x86_64__
    add(f, BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1); /* x32 repeats the calls */
    refuse(f);
#endif
    PERMIT(f, basic);
    PERMIT_IF(f, SYS_prctl, 0, PR_SET_NAME);
    if (profile == PROFILE_COMPILER)
        permit_compiler(f);
    else
        permit_lab(f, self);
    if (profile == PROFILE_LAB) permit_cpu_lab(f);
    if (profile == PROFILE_LAB_GPU) permit_driver(f, self);
    /* clone3 (435) and openat2 (437) have their flags in memory; the C library falls back
     * to clone and openat. */
    add(f, BPF_JMP | BPF_JGT | BPF_K, 434, 0, 1);
    refuse_with(f, ENOSYS);
    refuse(f);
}

const char *start_path(void)
{
    static const char *path;
    const size_t page = 65536; /* of any kernel */
    uint64_t place = 0;
    if (path || getrandom(&place, sizeof place, 0) != sizeof place) return path;
    char *at = mmap(
        (void *)(uintptr_t)(place >> 18 & ~(page - 1)), page, PROT_READ,
        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); /* zeros; elsewhere if that is taken */
    if (at != MAP_FAILED) path = at + place % page;
    return path;
}

int restrict_calls(const struct sandbox *box)
{
    static struct filter f;
    if (!start_path()) return -1;
    f.n = 0, f.learn = box->learn;
    make_filter(&f, box->profile);
    struct sock_fprog program = {.len = (unsigned short)f.n, .filter = f.step};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

bool seccomp_available(void)
{
    uint32_t action = SECCOMP_RET_KILL_PROCESS;
    return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}
#else
const char *start_path(void)
{
    return "";
}
int restrict_calls(const struct sandbox *box)
{
    (void)box;
    return 0;
}
bool seccomp_available(void)
{
    return false;
}
#endif
