/* file.h - read a whole file; write a file so that it appears complete or not at all.
 *
 * Functions that can fail return 0, or -1 with one line in *err that names the file and
 * the reason. They print nothing. err may be NULL.
 */
#ifndef FILE_H
#define FILE_H
#include "wb_error.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Returns the whole file in malloc'ed memory, followed by a 0 byte; *bytes (may be NULL)
 * is its size without that byte. Returns NULL if the file is missing, not a regular file,
 * unreadable, larger than `limit` bytes or a Git LFS pointer. An empty file is valid. */
char *file_read(const char *path, size_t limit, size_t *bytes, wb_error *err);

/* The same for a file that may be missing: that is no error, and *text is NULL. Returns
 * -1 after any other error. */
int file_read_optional(
    char **text, const char *path, size_t limit, size_t *bytes, wb_error *err);

/* file_read for a file that only has to be readable to its end, such as a pipe. */
char *file_read_any(const char *path, size_t limit, size_t *bytes, wb_error *err);
/* From an open file; name is for messages. */
char *
file_read_open(int fd, const char *name, size_t limit, size_t *bytes, wb_error *err);

/* Returns -1 if data (bytes) is a Git LFS pointer: the three lines that `git clone`
 * without Git LFS leaves in place of a large file. `path` is for the message. */
int file_check_lfs(const char *path, const void *data, size_t bytes, wb_error *err);

/* Creates the folder and its missing parents. */
int folder_make(const char *path, wb_error *err);

/* A file that appears under its name only once it is complete: it is written to
 * PATH.PID-N.tmp, a name that no other writer has, synced to disk and renamed. After an
 * error (full disk, short write, no permission) or a kill, the old file is intact. An
 * error also removes the temporary file. A symbolic link stays: what it links to is
 * written. What is not a regular file (a device, a pipe) is written directly. So is an
 * open descriptor of this process (/dev/stdout, /dev/fd/N), from its current position. */
typedef struct atomic_file {
    int fd;                /* -1: not open */
    bool direct;           /* no temporary file */
    bool ordered;          /* a descriptor: can only be written in order */
    off_t at;              /* direct: bytes written so far */
    char path[PATH_MAX];   /* as given */
    char target[PATH_MAX]; /* without links in its last part */
    char temporary[PATH_MAX + 40];
    struct atomic_file *next; /* in the list of files with a temporary file */
} atomic_file;

/* Opens the temporary file. After an error of any of these calls the write is aborted.
 * *f must not be moved until the write has ended. Only one thread at a time may begin or
 * end a write. */
int atomic_begin(atomic_file *f, const char *path, wb_error *err);
/* Appends after the last atomic_write. */
int atomic_write(atomic_file *f, const void *data, size_t bytes, wb_error *err);
/* Writes at an offset in bytes from the start of the file. Gaps read as 0. A pipe and
 * a descriptor take only the offset after the last write. */
int atomic_write_at(
    atomic_file *f, size_t offset, const void *data, size_t bytes, wb_error *err);
/* Syncs, closes and renames. */
int atomic_commit(atomic_file *f, wb_error *err);
/* Closes and removes the temporary file. Does nothing after a commit or an error. */
void atomic_abort(atomic_file *f);
/* Removes the temporary files of all unfinished writes: for a signal handler that ends
 * the process. */
void atomic_remove_unfinished(void);

/* begin, write, commit */
int file_write(const char *path, const void *data, size_t bytes, wb_error *err);

#endif
