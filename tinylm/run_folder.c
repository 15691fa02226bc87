/* run_folder.c - see run_folder.h. */
#include "run_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_ROOM = PATH_MAX + 320 };

// What a run consists of: two folders of checkpoints, and two files of its curve.
static const char *const parts[] = {"best", "last", "train.csv", "train.tfevents"};
enum { CHECKPOINTS = 2, PARTS = sizeof parts / sizeof *parts };
static const char *const checkpoint_files[] = {
    "model.safetensors",      "training.safetensors", "config.json",
    "generation_config.json", "tokenizer.json",       "tokenizer_config.json"};
enum { CHECKPOINT_FILES = sizeof checkpoint_files / sizeof *checkpoint_files };

// The errors of file systems that have no locks.
static bool has_no_locks(int reason)
{
    return reason == ENOSYS || reason == EOPNOTSUPP || reason == ENOLCK ||
           reason == EBADF;
}

// The descriptor that holds the lock; -1: an error.
static int lock(const char *folder, wb_error *err)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return error_set(err, "%s: %s", folder, strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 || has_no_locks(errno)) return fd;
    int reason = errno;
    close(fd);
    if (reason != EWOULDBLOCK)
        return error_set(err, "%s: cannot lock it: %s", folder, strerror(reason));
    return error_set(
        err,
        "%s: another training is running in this folder: wait for it, or give another "
        "--out",
        folder);
}

int run_folder_lock(const char *folder, wb_error *err)
{
    return lock(folder, err) < 0 ? -1 : 0;
}

static bool has(const char *folder, const char *part)
{
    char path[PATH_ROOM];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", folder, part);
    return lstat(path, &st) == 0;
}

// Does it have any of the first n parts?
static bool has_any(const char *folder, int n)
{
    for (int i = 0; i < n; i++)
        if (has(folder, parts[i])) return true;
    return false;
}

bool run_folder_holds_run(const char *folder)
{
    return has_any(folder, PARTS);
}

// Removes only files that a run writes.
static int remove_part(const char *folder, int i, wb_error *err)
{
    char path[PATH_ROOM], file[2 * PATH_ROOM];
    bool checkpoint = i < CHECKPOINTS;
    snprintf(path, sizeof path, "%s/%s", folder, parts[i]);
    for (int k = 0; k < CHECKPOINT_FILES && checkpoint; k++) {
        snprintf(file, sizeof file, "%s/%s", path, checkpoint_files[k]);
        unlink(file);
    }
    if ((checkpoint ? rmdir(path) : unlink(path)) == 0 || errno == ENOENT) return 0;
    return error_set(
        err, "%s: cannot remove it: %s: move it elsewhere", path, strerror(errno));
}

// Of two runs one must go: that in previous/, unless the newer one has no checkpoint yet.
// But if no part is in both folders, an earlier move was killed halfway: then previous/
// holds the other parts of this run, which stay.
static int make_room(const char *folder, const char *previous, wb_error *err)
{
    bool two_runs = false;
    for (int i = 0; i < PARTS; i++)
        two_runs |= has(folder, parts[i]) && has(previous, parts[i]);
    const char *loses = has_any(folder, CHECKPOINTS) ? previous : folder;
    for (int i = 0; i < PARTS && two_runs; i++)
        if (remove_part(loses, i, err)) return -1;
    return 0;
}

static int move_run(const char *folder, const char *previous, wb_error *err)
{
    char from[PATH_ROOM], to[2 * PATH_ROOM];
    for (int i = 0; i < PARTS; i++) {
        snprintf(from, sizeof from, "%s/%s", folder, parts[i]);
        snprintf(to, sizeof to, "%s/%s", previous, parts[i]);
        if (rename(from, to) != 0 && errno != ENOENT)
            return error_set(
                err, "%s: cannot move it to %s: %s", from, previous, strerror(errno));
    }
    return 0;
}

int run_folder_clear(const char *folder, wb_error *err)
{
    char previous[PATH_MAX];
    if (!run_folder_holds_run(folder)) return 0;
    snprintf(previous, sizeof previous, "%s/previous", folder);
    if (folder_make(previous, err)) return -1;
    int locked = lock(previous, err);  // a training may have resumed that run
    if (locked < 0) return -1;
    run_folder_tidy(previous);
    int rc = make_room(folder, previous, err);
    if (!rc) rc = move_run(folder, previous, err);
    close(locked);
    return rc;
}

static void remove_temporaries(const char *folder)
{
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        char path[PATH_ROOM];
        size_t n = strlen(e->d_name);
        if (n < 4 || strcmp(e->d_name + n - 4, ".tmp") != 0) continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        unlink(path);
    }
    if (dir) closedir(dir);
}

void run_folder_tidy(const char *folder)
{
    char path[PATH_ROOM];
    remove_temporaries(folder);
    for (int i = 0; i < CHECKPOINTS; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, parts[i]);
        remove_temporaries(path);
    }
}
