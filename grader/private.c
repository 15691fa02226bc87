/* private.c - this run's own folder, removed when the run ends. After SIGKILL, the next
 * run removes it. */
#define _GNU_SOURCE
#include "private.h"

#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char *folder; /* NULL: none was needed */
static pid_t owner;  /* a forked child must not remove it */
static volatile pid_t writer;

struct entry { /* as getdents64 writes it */
    uint64_t inode;
    int64_t next;
    unsigned short bytes;
    unsigned char type;
    char name[];
};

static void remove_below(int parent, const char *name, int depth)
{
    char buffer[2048] __attribute__((aligned(8)));
    long n;
    if (unlinkat(parent, name, 0) == 0 || depth == 0) return;
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return;
    /* from the start each time, since removing changes what follows */
    for (long removed = 1; removed;) {
        removed = 0;
        lseek(fd, 0, SEEK_SET);
        while ((n = syscall(SYS_getdents64, fd, buffer, sizeof buffer)) > 0) {
            for (long at = 0; at < n;) {
                const struct entry *e = (const struct entry *)(buffer + at);
                at += e->bytes;
                if (!strcmp(e->name, ".") || !strcmp(e->name, "..")) continue;
                remove_below(fd, e->name, depth - 1);
                removed += faccessat(fd, e->name, F_OK, AT_SYMLINK_NOFOLLOW) != 0;
            }
        }
    }
    close(fd);
    unlinkat(parent, name, AT_REMOVEDIR);
}

void remove_all(int parent, const char *name)
{
    remove_below(parent, name, 32);
}

static void remove_folder(void)
{
    if (!folder || owner != getpid()) return;
    if (writer) {
        kill(writer, SIGKILL);
        while (waitpid(writer, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    remove_all(AT_FDCWD, folder);
}

static void ended_by(int number)
{
    remove_folder();
    signal(number, SIG_DFL);
    raise(number); /* delivered when this handler returns */
}

static const char *temporary(void)
{
    const char *t = getenv("TMPDIR");
    return t && *t ? t : "/tmp";
}

const char *private_folder(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    if (folder) return folder;
    char *name = text_of("%s/warpbook-%d-XXXXXX", temporary(), (int)getpid());
    struct sigaction action = {.sa_handler = ended_by};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaddset(&action.sa_mask, signals[i]);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction before;
        sigaction(signals[i], NULL, &before);
        if (before.sa_handler != SIG_IGN) sigaction(signals[i], &action, NULL);
    }
    owner = getpid();
    if (!mkdtemp(name)) fatal(EXIT_BROKEN, "cannot make %s: %s", name, strerror(errno));
    folder = name;
    atexit(remove_folder);
    return folder;
}

void private_writer(pid_t pid)
{
    writer = pid;
}

void private_remove_leftovers(void)
{
    glob_t found;
    char *pattern = text_of("%s/warpbook-[0-9]*-*", temporary());
    if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++) {
            struct stat st;
            const char *path = found.gl_pathv[i];
            long pid = strtol(strrchr(path, '/') + strlen("/warpbook-"), NULL, 10);
            if (pid > 0 && kill((pid_t)pid, 0) != 0 && errno == ESRCH &&
                lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == getuid())
                remove_all(AT_FDCWD, path);
        }
        globfree(&found);
    }
    free(pattern);
}
