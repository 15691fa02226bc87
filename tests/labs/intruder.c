/* intruder.c - tries one thing that the sandbox must forbid. It prints "held: ERROR"
 * (exit 0) or "GOT THROUGH" (exit 1). `intruder works` checks that a lab can still work.
 *     intruder ATTACK [ARGUMENT] */
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
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int early_errno = -1; /* of the fork before main */

__attribute__((constructor)) static void before_main(void)
{
    long child = syscall(SYS_fork);
    early_errno = child < 0 ? errno : 0;
    if (child == 0) _exit(0);
}

static long read_some(const char *path, int flags)
{
    char byte;
    int fd = open(path, flags);
    return fd < 0 ? -1 : read(fd, &byte, 1);
}

static long read_parent(const char *file)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", getppid(), file);
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

static long attack(const char *what, const char *with)
{
    char *none[] = {NULL}, byte = 0;
    pid_t parent = getppid();
    struct iovec local = {&byte, 1}, remote = {(void *)with, 1};
    struct rlimit raised = {1 << 20, 1 << 20};
    struct clone_args flags = {.exit_signal = SIGCHLD};
    int fds[2] = {-1, -1};
#define IS(name) (strcmp(what, name) == 0)
    if (IS("before-main")) return errno = early_errno, early_errno == 0 ? 0 : -1;
    if (IS("read")) return read_some(with, O_RDONLY);
    if (IS("list")) return opendir(with) ? 0 : -1;
    if (IS("write")) return open(with, O_WRONLY | O_APPEND);
    if (IS("create")) return open(with, O_RDWR | O_CREAT, 0600);
    if (IS("truncate")) return truncate(with, 0);
    if (IS("chmod")) return chmod(with, 0777);
    if (IS("unlink")) return unlink(with);
    if (IS("rename")) return rename(with, "/tmp/renamed");
    if (IS("mkdir")) return mkdir(with, 0700);
    if (IS("parent-memory")) return read_parent("mem");
    if (IS("parent-environment")) return read_parent("environ");
    if (IS("parent-maps")) return read_parent("maps");
    if (IS("own-memory")) return open("/proc/self/mem", O_RDWR);
    if (IS("descriptors")) return open_descriptors();
    if (IS("environment")) return getenv("EXPECTED") ? 0 : (errno = ENOENT, -1);
    if (IS("kill")) return kill(parent, 0);
    if (IS("kill-group")) return kill(-getpgid(parent), 0);
    if (IS("tgkill")) return syscall(SYS_tgkill, parent, parent, 0);
    if (IS("signal-by-owner"))
        return pipe(fds) != 0 ? -1 : fcntl(fds[0], F_SETOWN, parent);
    if (IS("trace")) return ptrace(PTRACE_ATTACH, parent, 0, 0);
    if (IS("vm-read")) return process_vm_readv(parent, &local, 1, &remote, 1, 0);
    if (IS("pidfd")) return syscall(434, parent, 0);
    if (IS("fork")) return fork();
    if (IS("vfork"))
        return syscall(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, 0, 0, 0, 0);
    if (IS("clone3")) return syscall(435, &flags, sizeof flags);
    if (IS("exec")) return execve("/usr/lib64/ld-linux-x86-64.so.2", none, none);
    if (IS("exec-again")) return exec_again();
    if (IS("system")) return system("true") == 0 ? 0 : -1;
    if (IS("socket")) return socket(AF_UNIX, SOCK_STREAM, 0);
    if (IS("internet")) return socket(AF_INET, SOCK_STREAM, 0);
    if (IS("connect")) return connect_to_itself();
    if (IS("io_uring")) return syscall(425, 4, NULL);
    if (IS("outlive")) return prctl(PR_SET_PDEATHSIG, 0);
    if (IS("raise-limit")) return setrlimit(RLIMIT_NOFILE, &raised);
    if (IS("memory")) return grow(64 << 20);
    if (IS("terminal")) return open("/dev/tty", O_RDWR);
    printf("unknown attack %s\n", what);
    exit(2);
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
    int fd = open("/dev/urandom", O_RDONLY);
    return fd < 0 || puts("works") < 0;
}

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    if (strcmp(argv[1], "works") == 0) return works();
    if (strcmp(argv[1], "abort") == 0) abort();
    errno = 0;
    if (attack(argv[1], argc > 2 ? argv[2] : "") >= 0) return puts("GOT THROUGH"), 1;
    printf("held: %s\n", strerror(errno));
    return 0;
}
