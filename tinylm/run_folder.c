/* run_folder.c - see run_folder.h. */
#include "run_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { PATH_ROOM = PATH_MAX + 320 };

// What a run consists of: two folders of checkpoints, and two files of its curve.
static const char *const parts[] = {"best", "last", "train.csv", "train.tfevents"};
enum { CHECKPOINTS = 2, PARTS = sizeof parts / sizeof *parts };
static const char *const checkpoint_files[] = {
    "model.safetensors",      "training.safetensors", "config.json",
    "generation_config.json", "tokenizer.json",       "tokenizer_config.json"};
enum { CHECKPOINT_FILES = sizeof checkpoint_files / sizeof *checkpoint_files };

int run_folder_lock(const char *folder, wb_error *err)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return error_set(err, "%s: %s", folder, strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return 0;
    close(fd);
    return error_set(
        err,
        "%s: another training is running in this folder: wait for it, or give another "
        "--out",
        folder);
}

bool run_folder_holds_run(const char *folder)
{
    char best[PATH_ROOM], last[PATH_ROOM];
    snprintf(best, sizeof best, "%s/best/model.safetensors", folder);
    snprintf(last, sizeof last, "%s/last/training.safetensors", folder);
    return access(best, F_OK) == 0 || access(last, F_OK) == 0;
}

// Removes only files that a run writes; a folder with others stays, and moving over it
// fails.
static void remove_run(const char *folder)
{
    char path[2 * PATH_ROOM];
    for (int i = 0; i < CHECKPOINTS; i++) {
        for (int k = 0; k < CHECKPOINT_FILES; k++) {
            snprintf(
                path, sizeof path, "%s/%s/%s", folder, parts[i], checkpoint_files[k]);
            unlink(path);
        }
        snprintf(path, sizeof path, "%s/%s", folder, parts[i]);
        rmdir(path);
    }
    for (int i = CHECKPOINTS; i < PARTS; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, parts[i]);
        unlink(path);
    }
}

int run_folder_clear(const char *folder, wb_error *err)
{
    char previous[PATH_ROOM], from[PATH_ROOM], to[2 * PATH_ROOM];
    if (!run_folder_holds_run(folder)) return 0;
    snprintf(previous, sizeof previous, "%s/previous", folder);
    if (folder_make(previous, err)) return -1;
    remove_run(previous);
    for (int i = 0; i < PARTS; i++) {
        snprintf(from, sizeof from, "%s/%s", folder, parts[i]);
        snprintf(to, sizeof to, "%s/%s", previous, parts[i]);
        if (rename(from, to) != 0 && errno != ENOENT)
            return error_set(
                err, "%s: cannot move to %s: %s: remove the latter", from, previous,
                strerror(errno));
    }
    return 0;
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
