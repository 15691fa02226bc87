/* sandbox.c - fences for a program that is not trusted: limits, Landlock, seccomp. */
#define _GNU_SOURCE
#include "sandbox.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The program is opened as this descriptor and started through it. No later descriptor can
 * have the number, which is above the limit that the program lives under, so "execveat of
 * this descriptor" lets in the first start and nothing after it. */
enum { PROGRAM_FD = 1000, MOST_FDS = 512 };
enum { MOST_OUTPUT = 64 << 20 }; /* bytes, where its output goes to a file */

/* --- Landlock: which files ---------------------------------------------------------------
 * Own definitions: the machine's headers may be older than its kernel. */

enum {
    LANDLOCK_CREATE = 444, /* system calls, the same number on every CPU */
    LANDLOCK_ADD = 445,
    LANDLOCK_RESTRICT = 446,
    LANDLOCK_VERSION = 1,
    LANDLOCK_BENEATH = 1,
};

enum file_access {
    EXECUTE = 1 << 0,
    WRITE_FILE = 1 << 1,
    READ_FILE = 1 << 2,
    READ_DIR = 1 << 3,
    TRUNCATE = 1 << 14,
    IOCTL_DEV = 1 << 15,
    OF_A_FILE = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV,
    READING = READ_FILE | READ_DIR,
    DEVICE = READING | WRITE_FILE | IOCTL_DEV,
};

struct landlock_rules {
    uint64_t files, net, scoped;
};
struct __attribute__((packed)) landlock_path {
    uint64_t allowed;
    int32_t fd;
};

static int landlock_version(void)
{
    return (int)syscall(LANDLOCK_CREATE, NULL, (size_t)0, LANDLOCK_VERSION);
}

/* Everything that this version can forbid is forbidden, unless a rule allows it. */
static struct landlock_rules landlock_all(int version)
{
    int bits = version >= 5 ? 16 : version >= 3 ? 15 : version == 2 ? 14 : 13;
    return (struct landlock_rules){
        .files = (1u << bits) - 1,
        .net = version >= 4 ? 3 : 0,    /* bind and connect by TCP */
        .scoped = version >= 6 ? 3 : 0, /* abstract sockets, signals to others */
    };
}

/* A path that is not there needs no rule. */
static int allow(int ruleset, const char *path, uint64_t access, uint64_t known)
{
    struct landlock_path rule = {.fd = open(path, O_PATH | O_CLOEXEC)};
    if (rule.fd < 0) return 0;
    struct stat st;
    if (fstat(rule.fd, &st) != 0) return -1;
    rule.allowed = access & known & (S_ISDIR(st.st_mode) ? ~0ull : OF_A_FILE);
    int rc = (int)syscall(LANDLOCK_ADD, ruleset, LANDLOCK_BENEATH, &rule, 0);
    close(rule.fd);
    return rc;
}

static int allow_device_nodes(int ruleset, uint64_t known)
{
    DIR *dev = opendir("/dev");
    if (!dev) return 0;
    int rc = 0;
    for (struct dirent *e; rc == 0 && (e = readdir(dev));) {
        char path[300];
        snprintf(path, sizeof path, "/dev/%s", e->d_name);
        if (strncmp(e->d_name, "nv", 2) == 0 || strcmp(e->d_name, "dxg") == 0)
            rc = allow(ruleset, path, DEVICE, known);
    }
    closedir(dev);
    return rc;
}

/* Folders of LD_LIBRARY_PATH: where a driver may be that is in none of the usual places. */
static int allow_library_path(int ruleset, char *const envp[], uint64_t known)
{
    static const char name[] = "LD_LIBRARY_PATH=";
    int rc = 0;
    for (; envp && *envp; envp++) {
        if (strncmp(*envp, name, sizeof name - 1) != 0) continue;
        for (const char *at = *envp + sizeof name - 1; rc == 0 && *at;) {
            char folder[4096];
            size_t n = strcspn(at, ":");
            if (n && n < sizeof folder) {
                memcpy(folder, at, n);
                folder[n] = 0;
                if (folder[0] == '/') rc = allow(ruleset, folder, READING, known);
            }
            at += n + (at[n] == ':');
        }
    }
    return rc;
}

static int fence_files(const struct sandbox *box, char *const envp[])
{
    static const char *const libraries[] = {"/lib",       "/lib64",         "/usr/lib",
                                            "/usr/lib64", "/usr/local/lib", NULL};
    static const char *const facts[] = {
        "/etc/ld.so.cache",
        "/sys/devices/system/cpu",
        "/proc/cpuinfo",
        "/proc/meminfo",
        "/dev/zero",
        "/dev/urandom",
        NULL};
    static const char *const driver[] = {"/proc",
                                         "/sys",
                                         "/usr/local/cuda",
                                         "/usr/local/nvidia",
                                         "/usr/share/nvidia",
                                         "/etc/nvidia",
                                         NULL};
    int version = landlock_version();
    if (version < 1) return 0;
    struct landlock_rules all = landlock_all(version);
    size_t size = version >= 6 ? sizeof all : version >= 4 ? 16 : 8;
    int rules = (int)syscall(LANDLOCK_CREATE, &all, size, 0);
    if (rules < 0) return -1;
    int rc = allow(rules, box->program, EXECUTE | READ_FILE, all.files);
    for (int i = 0; rc == 0 && libraries[i]; i++) /* EXECUTE: the loader is one of them */
        rc = allow(rules, libraries[i], EXECUTE | READING, all.files);
    for (int i = 0; rc == 0 && facts[i]; i++)
        rc = allow(rules, facts[i], READING, all.files);
    for (int i = 0; rc == 0 && box->readable && box->readable[i]; i++)
        rc = allow(rules, box->readable[i], READING, all.files);
    if (rc == 0) rc = allow(rules, "/dev/null", READ_FILE | WRITE_FILE, all.files);
    for (int i = 0; rc == 0 && box->device && driver[i]; i++)
        rc = allow(rules, driver[i], READING, all.files);
    if (rc == 0 && box->device) rc = allow_device_nodes(rules, all.files);
    if (rc == 0 && box->device) /* the driver names its threads */
        rc = allow(rules, "/proc/self/task", READING | WRITE_FILE | TRUNCATE, all.files);
    if (rc == 0 && box->device) rc = allow_library_path(rules, envp, all.files);
    if (rc == 0) rc = (int)syscall(LANDLOCK_RESTRICT, rules, 0);
    close(rules);
    return rc;
}

/* --- seccomp: which system calls -----------------------------------------------------------
 * A small program that the kernel runs at each call. It sees numbers and arguments, never
 * memory, so calls that hide their arguments behind a pointer are refused whole. */

#if defined __x86_64__
#define THIS_CPU AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define THIS_CPU AUDIT_ARCH_AARCH64
#endif

#ifdef THIS_CPU
enum { MOST_STEPS = 700 };
struct filter {
    struct sock_filter step[MOST_STEPS];
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

/* The low or (half = 1) high 32 bits of an argument; both CPUs are little-endian. */
static void load_arg(struct filter *f, int arg, int half)
{
    load(f, offsetof(struct seccomp_data, args) + 8 * (size_t)arg + 4 * (size_t)half);
}

static void load_call(struct filter *f)
{
    load(f, offsetof(struct seccomp_data, nr));
}

/* Skips `steps` steps unless the loaded value is k, or has a bit of k. */
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

/* The C library has another way when a call is not there at all. */
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
    load_call(f); /* other values: on to the next rule */
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
    /* the network, and what other processes can be reached through */
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
    /* files; opening is below */
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
    /* ways around a filter, and the kernel's own affairs */
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

/* CUDA's driver binds a socket of the abstract kind, which it will not do without, after
 * clearing a path that is never there. Landlock keeps sockets out of folders; connecting
 * stays refused. */
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

static void make_filter(struct filter *f, const struct sandbox *box)
{
    uint32_t self = (uint32_t)getpid(); /* stays the program's own */
    load(f, offsetof(struct seccomp_data, arch));
    add(f, BPF_JMP | BPF_JEQ | BPF_K, THIS_CPU, 1, 0);
    answer(f, SECCOMP_RET_KILL_PROCESS);
    load_call(f);
#ifdef __x86_64__
    add(f, BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1); /* x32: the same calls again */
    refuse(f);
#endif
    if (box->device) permit_driver(f);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        refuse_call(f, refused[i]);

    /* Threads yes, processes no. clone3 keeps its flags in memory; clone does not. */
    hide_call(f, 435 /* clone3 */);
    unless_equal(f, SYS_clone, 4);
    load_arg(f, 0, 0);
    unless_bits(f, CLONE_THREAD, 1);
    permit(f);
    refuse(f);
    permit_if_equal(f, SYS_execveat, 0, PROGRAM_FD);

    /* Signals to itself: abort() ends by one. Not by way of a descriptor's owner either. */
    permit_if_equal(f, SYS_kill, 0, self);
    permit_if_equal(f, SYS_tgkill, 0, self);
    refuse_if_equal(f, SYS_fcntl, 1, F_SETOWN);
    refuse_if_equal(f, SYS_fcntl, 1, F_SETOWN_EX);
    refuse_if_equal(f, SYS_fcntl, 1, F_SETSIG);
    refuse_if_equal(f, SYS_ioctl, 1, 0x8901 /* FIOSETOWN */);
    refuse_if_equal(f, SYS_ioctl, 1, 0x5412 /* TIOCSTI: types into the terminal */);
    refuse_if_equal(f, SYS_prctl, 0, PR_SET_PDEATHSIG); /* dies with the grader */

    /* Limits may be asked for, not set. */
    unless_equal(f, SYS_prlimit64, 6);
    load_arg(f, 2, 0);
    unless_equal(f, 0, 3);
    load_arg(f, 2, 1);
    unless_equal(f, 0, 1);
    permit(f);
    refuse(f);

    if (!box->device) { /* a card's driver opens its nodes for writing: Landlock's part */
        hide_call(f, 437 /* openat2 */);
#ifdef __x86_64__
        refuse_if_bits(f, SYS_open, 1, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC);
#endif
        refuse_if_bits(f, SYS_openat, 2, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC);
    }
    permit(f);
}

static int fence_calls(const struct sandbox *box)
{
    static struct filter f;
    f.n = 0;
    make_filter(&f, box);
    struct sock_fprog program = {.len = (unsigned short)f.n, .filter = f.step};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int seccomp_there(void)
{
    uint32_t action = SECCOMP_RET_KILL_PROCESS;
    return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}
#else
static int fence_calls(const struct sandbox *box)
{
    return box ? 0 : -1;
}
static int seccomp_there(void)
{
    return 0;
}
#endif

/* --- both, and the limits -------------------------------------------------------------------- */

const char *sandbox_describe(void)
{
    int files = landlock_version() >= 1, calls = seccomp_there();
    if (files && calls) return "Landlock and seccomp";
    if (calls) return "seccomp only (this kernel has no Landlock: files can be read)";
    if (files) return "Landlock only (no seccomp here: processes can be started)";
    return "off (this kernel has neither Landlock nor seccomp)";
}

static int limit(int what, rlim_t most)
{
    struct rlimit now;
    if (getrlimit(what, &now) != 0) return -1;
    if (now.rlim_max != RLIM_INFINITY && most > now.rlim_max) most = now.rlim_max;
    return setrlimit(what, &(struct rlimit){most, most});
}

/* Opens the program as PROGRAM_FD and closes every other descriptor that is not passed on. */
static int take_program(const struct sandbox *box)
{
    struct rlimit fds;
    if (getrlimit(RLIMIT_NOFILE, &fds) != 0) return -1;
    if (fds.rlim_cur <= PROGRAM_FD) {
        fds.rlim_cur = PROGRAM_FD + 1;
        if (setrlimit(RLIMIT_NOFILE, &fds) != 0) return -1;
    }
    int fd = open(box->program, O_PATH | O_CLOEXEC);
    if (fd < 0 || dup3(fd, PROGRAM_FD, O_CLOEXEC) < 0) return -1;
    enum { CLOSE_RANGE = 436 };
    if (syscall(CLOSE_RANGE, box->last_fd + 1, PROGRAM_FD - 1, 0) == 0)
        return (int)syscall(CLOSE_RANGE, PROGRAM_FD + 1, ~0u, 0);
    for (int i = box->last_fd + 1; i < 65536; i++) /* kernels before 5.9 */
        if (i != PROGRAM_FD) close(i);
    return 0;
}

static int set_limits(const struct sandbox *box)
{
    if (limit(RLIMIT_NOFILE, MOST_FDS) != 0 || limit(RLIMIT_CORE, 0) != 0) return -1;
    if (box->device) return 0; /* a driver maps far more than it uses */
    if (box->memory && limit(RLIMIT_DATA, box->memory) != 0) return -1;
    return limit(RLIMIT_FSIZE, MOST_OUTPUT);
}

int sandbox_exec(
    const struct sandbox *box, char *const argv[], char *const envp[], const char **step)
{
    const char *unused;
    if (!step) step = &unused;
    setsid(); /* no terminal */
    *step = "tie its life to the grader's";
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return -1;
    *step = "open the program";
    if (take_program(box) != 0) return -1;
    *step = "set its limits";
    if (set_limits(box) != 0) return -1;
    for (int cap = 0; cap < 64; cap++)
        prctl(PR_CAPBSET_DROP, cap); /* where it is root */
    *step = "give up privileges";
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
    *step = "fence in its files";
    if (fence_files(box, envp) != 0) return -1;
    *step = "fence in its system calls";
    if (seccomp_there() && fence_calls(box) != 0) return -1;
    *step = "start the program";
    return (int)syscall(SYS_execveat, PROGRAM_FD, "", argv, envp, AT_EMPTY_PATH);
}
