/* file.h - reading a file whole, and writing one so that it is either there or not.
 *
 * Every function that can fail returns 0, or -1 with one sentence in the error that names
 * the file and the reason. Nothing is printed.
 */
#ifndef FILE_H
#define FILE_H
#include "wb_error.h"

#include <limits.h>
#include <stddef.h>

/* The whole file in malloc'ed memory, a 0 byte behind it. NULL: missing, not a regular
 * file, unreadable, larger than `limit` bytes, or a pointer of git-lfs. An empty file is no
 * error. */
char *file_read(const char *path, size_t limit, size_t *bytes, wb_error *err);

/* 0, or -1 with what to do: these are the three lines that a git clone without git-lfs
 * leaves in the place of a large file. */
int file_is_real(const char *path, const void *data, size_t bytes, wb_error *err);

/* Creates the folder and its parents where they are missing. */
int folder_make(const char *path, wb_error *err);

/* A file that appears under its name only when it is complete: it is written beside it as
 * PATH.tmp, brought to the disk, and renamed. After any error (full disk, short write,
 * folder without permission) or a kill the old file stands; PATH.tmp is removed, or, after
 * a kill, overwritten by the next write. One writer of a path at a time. */
typedef struct atomic_file {
    int fd; /* -1: not open */
    char path[PATH_MAX], temporary[PATH_MAX + 8];
} atomic_file;

int atomic_begin(atomic_file *f, const char *path, wb_error *err);
int atomic_write(atomic_file *f, const void *data, size_t bytes, wb_error *err);
/* At an offset from the file's start, whatever was written before; what lies between is 0. */
int atomic_write_at(
    atomic_file *f, size_t offset, const void *data, size_t bytes, wb_error *err);
int atomic_commit(atomic_file *f, wb_error *err);
void atomic_abort(atomic_file *f); /* does nothing after a commit or a failed begin */

/* begin, write, commit */
int file_write(const char *path, const void *data, size_t bytes, wb_error *err);

#endif
