/* file.c - see file.h. */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
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
    atomic_abort(f);
    return error_set(
        err, "%s: %s: %s%s", f->path, doing, strerror(reason),
        reason == ENOSPC || reason == EDQUOT || reason == EFBIG
            ? " (the old file is untouched; free some space and try again)"
            : "");
}

int atomic_begin(atomic_file *f, const char *path, wb_error *err)
{
    f->fd = -1;
    size_t n = strlen(path);
    if (n == 0 || n >= sizeof f->path)
        return error_set(err, "'%.200s': the file name is empty or too long", path);
    memcpy(f->path, path, n + 1);
    snprintf(f->temporary, sizeof f->temporary, "%s.tmp", path);
    f->fd = open(f->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (f->fd < 0) return error_set(err, "%s: cannot write: %s", path, strerror(errno));
    return 0;
}

// offset -1: at the current position.
static int
write_all(atomic_file *f, off_t offset, const void *data, size_t bytes, wb_error *err)
{
    const char *p = data;
    while (bytes > 0) {  // a write may be partial
        ssize_t n = offset < 0 ? write(f->fd, p, bytes) : pwrite(f->fd, p, bytes, offset);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            if (n == 0) errno = ENOSPC;
            return give_up(f, "cannot write", err);
        }
        p += n;
        bytes -= (size_t)n;
        if (offset >= 0) offset += n;
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
    if (fsync(f->fd) != 0) return give_up(f, "cannot write", err);
    int fd = f->fd;
    f->fd = -1;
    if (close(fd) != 0 || rename(f->temporary, f->path) != 0) {
        int reason = errno;
        unlink(f->temporary);
        return error_set(err, "%s: cannot write: %s", f->path, strerror(reason));
    }
    char copy[PATH_MAX];
    memcpy(copy, f->path, sizeof copy);
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
    unlink(f->temporary);
    f->fd = -1;
}

int file_write(const char *path, const void *data, size_t bytes, wb_error *err)
{
    atomic_file f;
    if (atomic_begin(&f, path, err)) return -1;
    if (atomic_write(&f, data, bytes, err)) return -1;
    return atomic_commit(&f, err);
}
