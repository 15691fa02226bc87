/* file.c - see file.h. */
#include "file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int error_set(wb_error *err, const char *format, ...)
{
    if (!err) return -1;
    va_list args;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    for (char *c = err->text; *c; c++)  // a damaged file's names may hold any byte
        if ((unsigned char)*c < 32 || *c == 127) *c = ' ';
    return -1;
}

int file_check_lfs(const char *path, const void *data, size_t bytes, wb_error *err)
{
    static const char first[] = "version https://git-lfs.github.com/spec/";
    const size_t n = sizeof first - 1;
    if (bytes < n || memcmp(data, first, n) != 0) return 0;
    return error_set(
        err, "%s: is a Git LFS pointer, not the file: run `git lfs pull` or download it",
        path);
}

char *file_read(const char *path, size_t limit, size_t *bytes, wb_error *err)
{
    char *text = NULL;
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // do not block on a pipe
    if (fd < 0 || fstat(fd, &st) != 0) {
        error_set(err, "%s: %s", path, strerror(errno));
    } else if (!S_ISREG(st.st_mode)) {
        error_set(err, "%s: not a regular file", path);
    } else if ((size_t)st.st_size > limit) {
        error_set(
            err, "%s: %lld bytes, more than the limit of %zu", path,
            (long long)st.st_size, limit);
    } else if (!(text = malloc((size_t)st.st_size + 1))) {
        error_set(err, "%s: out of memory for %lld bytes", path, (long long)st.st_size);
    } else {
        size_t have = 0, want = (size_t)st.st_size;
        while (have < want) {
            ssize_t n = read(fd, text + have, want - have);
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) {
                error_set(
                    err, "%s: %s", path,
                    n ? strerror(errno) : "was truncated while being read");
                free(text);
                close(fd);
                return NULL;
            }
            have += (size_t)n;
        }
        text[have] = 0;
        if (bytes) *bytes = have;
        if (file_check_lfs(path, text, have, err)) {
            free(text);
            text = NULL;
        }
    }
    if (fd >= 0) close(fd);
    return text;
}

int file_read_optional(
    char **text, const char *path, size_t limit, size_t *bytes, wb_error *err)
{
    *text = NULL;
    if (access(path, F_OK) != 0 && errno == ENOENT) return 0;
    *text = file_read(path, limit, bytes, err);
    return *text ? 0 : -1;
}

char *file_read_open(int fd, const char *name, size_t limit, size_t *bytes, wb_error *err)
{
    size_t room = 1 << 16, have = 0;
    char *text = malloc(room);
    while (text) {
        ssize_t n = read(fd, text + have, room - have - 1);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) error_set(err, "%s: %s", name, strerror(errno));
        if (n == 0 && !file_check_lfs(name, text, have, err)) {
            text[have] = 0;
            if (bytes) *bytes = have;
            return text;
        }
        if (n > 0 && have + (size_t)n > limit)
            n = error_set(err, "%s: more than the limit of %zu bytes", name, limit);
        if (n <= 0) {
            free(text);
            return NULL;
        }
        have += (size_t)n;
        if (have + 1 < room) continue;
        char *more = realloc(text, room *= 2);
        if (!more) free(text);
        text = more;
    }
    error_set(err, "%s: out of memory for %zu bytes", name, room);
    return NULL;
}

char *file_read_any(const char *path, size_t limit, size_t *bytes, wb_error *err)
{
    struct stat st;
    bool streams = stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
    if (!streams) return file_read(path, limit, bytes, err);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        error_set(err, "%s: %s", path, strerror(errno));
        return NULL;
    }
    char *text = file_read_open(fd, path, limit, bytes, err);
    close(fd);
    return text;
}

int folder_make(const char *path, wb_error *err)
{
    char part[PATH_MAX];
    size_t n = strlen(path);
    if (n == 0 || n >= sizeof part)
        return error_set(err, "%s: the folder name is empty or too long", path);
    memcpy(part, path, n + 1);
    for (size_t i = 1; i <= n; i++) {
        if (part[i] != '/' && part[i] != 0) continue;
        char end = part[i];
        part[i] = 0;
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            return error_set(err, "%s: cannot create folder: %s", part, strerror(errno));
        part[i] = end;
    }
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
        return error_set(err, "%s: not a folder", path);
    return 0;
}

// Reports errno and removes the temporary file; the old file is intact.
static int give_up(atomic_file *f, const char *doing, wb_error *err)
{
    int reason = errno;
    bool full = reason == ENOSPC || reason == EDQUOT || reason == EFBIG;
    atomic_abort(f);
    return error_set(
        err, "%s: %s: %s%s", f->path, doing, strerror(reason),
        !full       ? ""
        : f->direct ? " (free some space, or write elsewhere)"
                    : " (the old file is untouched; free some space and try again)");
}

// N if the name is /dev/fd/N or /proc/self/fd/N, else -1.
static int descriptor_of(const char *name)
{
    char copy[PATH_MAX], folder[PATH_MAX], own[PATH_MAX], *end;
    const char *last = strrchr(name, '/');
    long n = last && isdigit((unsigned char)last[1]) ? strtol(last + 1, &end, 10) : -1;
    if (n < 0 || n > INT_MAX || *end) return -1;
    memcpy(copy, name, strlen(name) + 1);
    bool same = realpath(dirname(copy), folder) && realpath("/proc/self/fd", own) &&
                strcmp(folder, own) == 0;
    return same ? (int)n : -1;
}

// Replaces the name in f->target by what it links to, so that the link stays. A link to
// an open file, such as /dev/stdout, is not followed: the caller wants its descriptor,
// which knows where the next byte goes. *descriptor is -1 if the name is not such a link.
static int resolve_links(atomic_file *f, int *descriptor)
{
    enum { MOST_LINKS = 40 };
    for (int i = 0; i < MOST_LINKS; i++) {
        char to[PATH_MAX], copy[PATH_MAX];
        *descriptor = descriptor_of(f->target);
        ssize_t n = *descriptor < 0 ? readlink(f->target, to, sizeof to - 1) : -1;
        if (n < 0) return 0;  // no link, or no such file
        to[n] = 0;
        memcpy(copy, f->target, sizeof copy);
        const char *folder = to[0] == '/' ? "" : dirname(copy);
        n = snprintf(f->target, PATH_MAX, "%s%s%s", folder, *folder ? "/" : "", to);
        if (n >= PATH_MAX) return errno = ENAMETOOLONG, -1;
    }
    return errno = ELOOP, -1;
}

// A device, a pipe or a socket: a rename would replace it.
static bool is_special(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

/* --- temporary files ---------------------------------------------------------------- */

static atomic_file *volatile unfinished;  // a list of the files that have one

void atomic_remove_unfinished(void)
{
    for (const atomic_file *f = unfinished; f; f = f->next)
        unlink(f->temporary);
}

static void finished(const atomic_file *f)
{
    atomic_file *volatile *at = &unfinished;
    while (*at && *at != f)
        at = &(*at)->next;
    if (*at) *at = f->next;
}

// A name that no other writer has, not even one that was killed.
static int open_new_name(atomic_file *f)
{
    enum { MOST_NAMES = 1000 };
    for (int i = 0; i < MOST_NAMES; i++) {
        snprintf(
            f->temporary, sizeof f->temporary, "%s.%ld-%d.tmp", f->target, (long)getpid(),
            i);
        int fd = open(f->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST) return fd;
    }
    return -1;
}

// Blocks signals, so that none arrives between creating the file and listing it.
static int open_temporary(atomic_file *f)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int fd = open_new_name(f), reason = errno;
    if (fd >= 0) f->next = unfinished, unfinished = f;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = reason;
    return fd;
}

/* --- writing ------------------------------------------------------------------------ */

int atomic_begin(atomic_file *f, const char *path, wb_error *err)
{
    int descriptor;
    f->fd = -1;
    f->direct = f->ordered = false, f->at = 0, f->temporary[0] = 0;
    size_t n = strlen(path);
    if (n == 0 || n >= sizeof f->path)
        return error_set(err, "'%.200s': the file name is empty or too long", path);
    memcpy(f->path, path, n + 1);
    memcpy(f->target, path, n + 1);
    if (resolve_links(f, &descriptor) == 0) {
        f->ordered = descriptor >= 0;
        f->direct = f->ordered || is_special(path);
        f->fd = f->ordered  ? fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
                : f->direct ? open(path, O_WRONLY | O_CLOEXEC)
                            : open_temporary(f);
    }
    if (f->fd < 0) return error_set(err, "%s: cannot write: %s", path, strerror(errno));
    return 0;
}

static int out_of_order(atomic_file *f, wb_error *err)
{
    atomic_abort(f);
    return error_set(
        err, "%s: can only be written in order: give the name of a file", f->path);
}

// offset -1: at the current position.
static int
write_all(atomic_file *f, off_t offset, const void *data, size_t bytes, wb_error *err)
{
    const char *p = data;
    if (f->direct && offset == f->at) offset = -1;  // pipes have no other position
    if (f->ordered && offset >= 0) return out_of_order(f, err);
    while (bytes > 0) {  // a write may be partial
        ssize_t n = offset < 0 ? write(f->fd, p, bytes) : pwrite(f->fd, p, bytes, offset);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == ESPIPE) return out_of_order(f, err);
        if (n <= 0) {
            if (n == 0) errno = ENOSPC;
            return give_up(f, "cannot write", err);
        }
        p += n;
        bytes -= (size_t)n;
        if (offset >= 0)
            offset += n;
        else
            f->at += n;
    }
    return 0;
}

int atomic_write(atomic_file *f, const void *data, size_t bytes, wb_error *err)
{
    return write_all(f, -1, data, bytes, err);
}

int atomic_write_at(
    atomic_file *f, size_t offset, const void *data, size_t bytes, wb_error *err)
{
    return write_all(f, (off_t)offset, data, bytes, err);
}

int atomic_commit(atomic_file *f, wb_error *err)
{
    // The data must be on disk before the name refers to it.
    if (!f->direct && fsync(f->fd) != 0) return give_up(f, "cannot write", err);
    int fd = f->fd;
    f->fd = -1;
    if (close(fd) != 0 || (!f->direct && rename(f->temporary, f->target) != 0)) {
        int reason = errno;
        if (!f->direct) unlink(f->temporary);
        finished(f);
        return error_set(err, "%s: cannot write: %s", f->path, strerror(reason));
    }
    if (f->direct) return 0;
    finished(f);
    char copy[PATH_MAX];
    memcpy(copy, f->target, sizeof copy);
    int folder = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {  // sync the new name too; not every file system can
        fsync(folder);
        close(folder);
    }
    return 0;
}

void atomic_abort(atomic_file *f)
{
    if (f->fd < 0) return;
    close(f->fd);
    if (!f->direct) unlink(f->temporary);
    finished(f);
    f->fd = -1;
}

int file_write(const char *path, const void *data, size_t bytes, wb_error *err)
{
    atomic_file f;
    if (atomic_begin(&f, path, err)) return -1;
    if (atomic_write(&f, data, bytes, err)) return -1;
    return atomic_commit(&f, err);
}
