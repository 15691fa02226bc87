/* intruder.c - tries one thing that the sandbox must forbid. It prints "held: ERROR"
 * (exit 0) or "GOT THROUGH" (exit 1). `intruder works` checks that a lab can still work.
 *     intruder ATTACK [FILE or process id] */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define IS(name) (strcmp(what, name) == 0)
enum { UNKNOWN = -1000 }; /* no attack of this group */

static int early_errno = -1; /* of the fork before main */

__attribute__((constructor)) static void before_main(void)
{
    long child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    early_errno = child < 0 ? errno : 0;
    if (child == 0) _exit(0);
}

static long read_some(const char *path, int flags)
{
    char byte;
    int fd = open(path, flags);
    return fd < 0 ? -1 : read(fd, &byte, 1);
}

static long read_process(pid_t pid, const char *file)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, file);
    return read_some(path, O_RDONLY);
}

static long open_descriptors(void) /* other than stdin, stdout and stderr */
{
    for (int fd = 3; fd < 4096; fd++)
        if (fcntl(fd, F_GETFD) >= 0) return fd;
    return errno = EBADF, -1;
}

static long exec_again(void) /* starts a program through an open descriptor */
{
    char *none[] = {NULL};
    int fd = open("/proc/self/exe", O_PATH);
    if (fd < 0) fd = open("/usr/lib/os-release", O_RDONLY);
    if (dup2(fd, 1000) < 0) return -1;
    return syscall(SYS_execveat, 1000, "", none, none, AT_EMPTY_PATH);
}

#ifdef __x86_64__
#define LOADER "/lib64/ld-linux-x86-64.so.2"
#else
#define LOADER "/lib/ld-linux-aarch64.so.1"
#endif
static long exec_path(void) /* an absolute path: the descriptor does not matter */
{
    char *none[] = {NULL};
    return syscall(SYS_execveat, 1000, LOADER, none, none, AT_EMPTY_PATH);
}

/* The socket has an abstract name, like the one that CUDA's driver binds. */
static long connect_to_itself(void)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "warpbook-%d", (int)getpid());
    int server = socket(AF_UNIX, SOCK_STREAM, 0);
    int client = socket(AF_UNIX, SOCK_STREAM, 0);
    if (bind(server, (struct sockaddr *)&name, sizeof name)) return -1;
    if (listen(server, 1)) return -1;
    return connect(client, (struct sockaddr *)&name, sizeof name);
}

static long grow(size_t step)
{
    for (size_t total = 0; total < (size_t)1 << 36; total += step) {
        int access = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS;
        char *p = mmap(NULL, step, access, flags, -1, 0);
        if (p == MAP_FAILED) return -1;
        for (size_t i = 0; i < step; i += 4096)
            p[i] = 1;
    }
    return 0;
}

/* --- threads and memory that are not counted as private memory ---------------------- */

static void *thread_sleeps(void *unused)
{
    pause();
    return unused;
}

/* Does not end when no more can be made: what counts threads has to stop it. */
static _Noreturn void make_threads(int n)
{
    pthread_attr_t small;
    pthread_t thread;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 16 << 10);
    for (int i = 0; i < n; i++)
        if (pthread_create(&thread, &small, thread_sleeps, NULL) != 0) break;
    for (;;)
        pause();
}

static long count_threads(int n) /* fails if n of them are not to be had */
{
    pthread_t thread;
    for (int i = 0; i < n; i++)
        if ((errno = pthread_create(&thread, NULL, thread_sleeps, NULL))) return -1;
    return 0;
}

/* Reading pages that were never written costs only page tables: here 64 MB of them. */
static _Noreturn void fill_page_tables(void)
{
    const size_t size = (size_t)32 << 30, step = 2 << 20;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    volatile char *p = mmap(NULL, size, PROT_READ, flags, -1, 0);
    if (p == MAP_FAILED) exit(2);
    madvise((void *)p, size, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < size; i += step)
        (void)p[i];
    for (;;)
        pause();
}

/* The process goes on without its first thread, whose memory the kernel shows as none. */
static void *second_thread(void *unused)
{
    (void)unused;
    fill_page_tables();
}
static _Noreturn void end_first_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, second_thread, NULL) != 0) exit(2);
    for (;;)
        syscall(SYS_exit, 0);
}

/* Three processes, each with half of what one may have: only a cgroup counts the sum. */
static long three_processes(size_t bytes)
{
    int full[2], status;
    char byte = 1;
    if (pipe(full) != 0) exit(2);
    fcntl(full[0], F_SETFL, O_NONBLOCK);
    for (int i = 0; i < 3; i++)
        if (fork() == 0) {
            char *p = malloc(bytes);
            for (size_t at = 0; p && at < bytes; at += 4096)
                p[at] = 1;
            if (!p || write(full[1], &byte, 1) != 1) exit(1);
            for (;;)
                pause();
        }
    for (int n = 0; n < 3; usleep(1000)) {
        if (read(full[0], &byte, 1) == 1) n++;
        if (waitpid(-1, &status, WNOHANG) > 0 && WIFSIGNALED(status))
            return errno = ENOMEM, -1;
    }
    return 0;
}

static long map(size_t size, int flags, int fd)
{
    int access = fd < 0 ? PROT_READ | PROT_WRITE : PROT_READ;
    void *p = mmap(NULL, size, access, flags, fd, 0);
    return p == MAP_FAILED ? -1 : 0;
}

static long memory_attack(const char *what)
{
    const size_t mb = 1 << 20;
    const int private = MAP_PRIVATE | MAP_ANONYMOUS;
    int id;
    if (IS("memory")) return grow(64 << 20);
    if (IS("threads")) make_threads(20000);
    if (IS("400-threads")) return count_threads(400);
    if (IS("three-processes")) return three_processes(150 * mb);
    if (IS("page-tables")) fill_page_tables();
    if (IS("first-thread")) end_first_thread();
    if (IS("memfd")) return syscall(SYS_memfd_create, "m", 0);
    if (IS("memfd-secret")) return syscall(447, 0);
    if (IS("shared-memory")) return map(mb, MAP_SHARED | MAP_ANONYMOUS, -1);
    if (IS("large-shared")) return map(mb << 10, MAP_SHARED | MAP_ANONYMOUS, -1);
    if (IS("shared-zeros")) return map(mb, MAP_SHARED, open("/dev/zero", O_RDONLY));
    if (IS("growing-stack")) return map(mb, private | MAP_GROWSDOWN, -1);
    if (IS("huge-pages")) return map(2 * mb, private | MAP_HUGETLB, -1);
    if (IS("lock-memory")) return mlockall(MCL_FUTURE);
    if (IS("shm"))
        return (id = shmget(IPC_PRIVATE, 4096, 0600)) < 0 ? -1
                                                          : (shmctl(id, IPC_RMID, 0), 0);
    if (IS("msg"))
        return (id = msgget(IPC_PRIVATE, 0600)) < 0 ? -1 : (msgctl(id, IPC_RMID, 0), 0);
    if (IS("sem"))
        return (id = semget(IPC_PRIVATE, 1, 0600)) < 0 ? -1
                                                       : (semctl(id, 0, IPC_RMID), 0);
    if (IS("mq")) {
        id = (int)syscall(SYS_mq_open, "warpbook", O_CREAT | O_RDWR, 0600, NULL);
        return id < 0 ? -1 : (syscall(SYS_mq_unlink, "warpbook"), 0);
    }
    return UNKNOWN;
}

/* --- files and descriptors ---------------------------------------------------------- */

static long file_attack(const char *what, const char *with)
{
    int fds[2];
    if (IS("read")) return read_some(with, O_RDONLY);
    if (IS("list")) return opendir(with) ? 0 : -1;
    if (IS("write")) return open(with, O_WRONLY | O_APPEND);
    if (IS("create")) return open(with, O_RDWR | O_CREAT, 0600);
    if (IS("unnamed")) return open(with, O_RDWR | O_TMPFILE, 0600);
    if (IS("truncate")) return truncate(with, 0);
    if (IS("truncate-by-open")) return open(with, O_RDONLY | O_TRUNC);
    if (IS("touch")) return utimensat(AT_FDCWD, with, NULL, 0);
    if (IS("chmod")) return chmod(with, 0777);
    if (IS("unlink")) return unlink(with);
    if (IS("rename")) return rename(with, "/tmp/renamed");
    if (IS("link")) return symlink("/", with);
    if (IS("fifo")) return mkfifo(with, 0600);
    if (IS("mkdir")) return mkdir(with, 0700);
    if (IS("list-xattr")) return listxattr(with, NULL, 0);
    if (IS("set-xattr")) return setxattr(with, "user.x", "1", 1, 0);
    if (IS("own-memory")) return open("/proc/self/mem", O_RDWR);
    if (IS("descriptors")) return open_descriptors();
    if (IS("environment")) return getenv("EXPECTED") ? 0 : (errno = ENOENT, -1);
    if (IS("pipe")) return pipe(fds);
    if (IS("eventfd")) return syscall(SYS_eventfd2, 0, 0);
    if (IS("inotify")) return syscall(SYS_inotify_init1, 0);
    if (IS("epoll")) return syscall(SYS_epoll_create1, 0);
    if (IS("timerfd")) return syscall(SYS_timerfd_create, 0, 0);
    if (IS("io_uring")) return syscall(425, 4, NULL);
    if (IS("socket")) return socket(AF_UNIX, SOCK_STREAM, 0);
    if (IS("internet")) return socket(AF_INET, SOCK_STREAM, 0);
    if (IS("connect")) return connect_to_itself();
    if (IS("terminal")) return open("/dev/tty", O_RDWR);
    return UNKNOWN;
}

/* --- other processes, and its own limits -------------------------------------------- */

static long schedule_attack(const char *what, pid_t pid)
{
    struct sched_param zero = {0};
    uint32_t attributes[12] = {sizeof attributes};
    struct rlimit lowered = {64, 64};
    cpu_set_t cpus;
    sched_getaffinity(0, sizeof cpus, &cpus);
    if (IS("schedule")) return sched_setscheduler(pid, SCHED_OTHER, &zero);
    if (IS("batch")) return sched_setscheduler(0, SCHED_BATCH, &zero);
    if (IS("attributes")) return syscall(SYS_sched_setattr, pid, attributes, 0);
    if (IS("affinity")) return sched_setaffinity(pid, sizeof cpus, &cpus);
    if (IS("priority")) return setpriority(PRIO_PROCESS, (id_t)pid, 10);
    if (IS("own-priority")) return setpriority(PRIO_PROCESS, 0, 10);
    if (IS("io-priority")) return syscall(SYS_ioprio_set, 1, pid, 2 << 13 | 4);
    if (IS("set-limit")) return setrlimit(RLIMIT_NOFILE, &lowered);
    if (IS("limit-of")) return prlimit(pid, RLIMIT_NOFILE, NULL, &lowered);
    if (IS("outlive")) return prctl(PR_SET_PDEATHSIG, 0);
    if (IS("subreaper")) return prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (IS("traceable")) return prctl(PR_SET_DUMPABLE, 1);
    return UNKNOWN;
}

static long process_attack(const char *what, pid_t pid)
{
    char *none[] = {NULL}, byte = 0;
    struct iovec local = {&byte, 1}, remote = {none, 1};
    struct clone_args flags = {.exit_signal = SIGCHLD};
    if (IS("before-main")) return errno = early_errno, early_errno == 0 ? 0 : -1;
    if (IS("memory-of")) return read_process(pid, "mem");
    if (IS("environment-of")) return read_process(pid, "environ");
    if (IS("maps-of")) return read_process(pid, "maps");
    if (IS("kill")) return kill(pid, 0);
    if (IS("kill-group")) return kill(-pid, 0);
    if (IS("kill-all")) return kill(-1, 0);
    if (IS("tgkill")) return syscall(SYS_tgkill, pid, pid, 0);
    if (IS("signal-by-owner")) return fcntl(1, F_SETOWN, pid);
    if (IS("trace")) return ptrace(PTRACE_SEIZE, pid, 0, 0);
    if (IS("vm-read")) return process_vm_readv(pid, &local, 1, &remote, 1, 0);
    if (IS("pidfd")) return syscall(434, pid, 0);
    if (IS("fork")) return fork();
    if (IS("vfork"))
        return syscall(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, 0, 0, 0, 0);
    if (IS("clone3")) return syscall(435, &flags, sizeof flags);
    if (IS("namespace")) return syscall(SYS_unshare, CLONE_NEWUSER);
    if (IS("exec")) return execve("/usr" LOADER, none, none);
    if (IS("exec-again")) return exec_again();
    if (IS("exec-path")) return exec_path();
    if (IS("system")) return system("true") == 0 ? 0 : -1;
    if (IS("new-call")) return syscall(1000);
    return schedule_attack(what, pid);
}

static void *thread_main(void *arg)
{
    *(int *)arg = 1;
    return NULL;
}

static int works(void)
{
    int ran = 0;
    pthread_t thread;
    if (pthread_create(&thread, NULL, thread_main, &ran) != 0)
        return puts("cannot create a thread"), 1;
    pthread_join(thread, NULL);
    struct rlimit limit;
    void *memory = malloc(1 << 26);
    if (!ran || !memory || getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1;
    if (sysconf(_SC_NPROCESSORS_ONLN) < 1) return puts("cannot count the CPUs"), 1;
    if (pthread_setname_np(pthread_self(), "lab") != 0) return 1;
    int fd = open("/dev/urandom", O_RDONLY);
    return fd < 0 || puts("works") < 0;
}

int main(int argc, char **argv)
{
    const char *with = argc > 2 ? argv[2] : "";
    if (argc < 2) return 2;
    if (strcmp(argv[1], "works") == 0) return works();
    if (strcmp(argv[1], "abort") == 0) abort();
    errno = 0;
    long result = memory_attack(argv[1]);
    if (result == UNKNOWN) result = file_attack(argv[1], with);
    if (result == UNKNOWN) result = process_attack(argv[1], (pid_t)atol(with));
    if (result == UNKNOWN) return printf("unknown attack %s\n", argv[1]), 2;
    if (result >= 0) return puts("GOT THROUGH"), 1;
    printf("held: %s\n", strerror(errno));
    return 0;
}
