/* build.c - what a lab's executable was built from, and whether that still holds. */
#include "build.h"

#include "sha256.h"
#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static char *string_of(json_t *record, const char *key)
{
    const char *s = json_string_value(json_object_get(record, key));
    return text_of("%s", s ? s : "");
}

/* The files that the executable was built from must not have changed since. */
static void check_fresh(const struct build *b, const struct lab *lab)
{
    const char *path;
    char hex[65];
    json_t *hash, *files = json_object_get(b->record, "files");
    const char *again = b->own ? "" : " with the same FILE= or FROM=";
    if (!json_object_size(files))
        fatal(
            EXIT_NOT_BUILT, "%s.json names no files: run `make %s` again", b->program,
            lab->name);
    json_object_foreach(files, path, hash) {
        if (json_is_string(hash) && sha256_file(path, hex) == 0 &&
            !strcmp(hex, json_string_value(hash)))
            continue;
        fatal(
            EXIT_NOT_BUILT, "%s changed since %s was built: run `make %s`%s", path,
            lab->name, lab->name, again);
    }
}

/* tools/lab.py holds this lock while it builds; several ./grade may hold it together. */
static int take_lock(const char *folder, const struct lab *lab)
{
    char *path = text_of("%s/labs/%s.lock", folder, lab->name);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    for (int tenths = 0; fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0; tenths++) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            fatal(EXIT_NOT_BUILT, "cannot lock %s: %s", path, strerror(errno));
        if (tenths == 10)
            fprintf(stderr, "grade: %s is being built: waiting for it\n", lab->name);
        usleep(100000);
    }
    free(path);
    return fd; /* -1: it was never built; the hash is checked in any case */
}

static void
check_program(const struct build *b, const char *key, const char *path, const char *when)
{
    char hex[65];
    const char *name = strrchr(b->program, '/') + 1;
    json_t *hash = json_object_get(b->record, key);
    if (json_is_string(hash) && sha256_file(path, hex) == 0 &&
        !strcmp(hex, json_string_value(hash)))
        return;
    fatal(EXIT_NOT_BUILT, "%s %s: run `make %s` again", path, when, name);
}

void build_check(const struct build *b, const char *when)
{
    char *checked = text_of("%s.check", b->program);
    check_program(b, "program", b->program, when);
    if (b->checked) check_program(b, "check", checked, when);
    free(checked);
}

void build_open(struct build *b, const char *folder, const struct lab *lab)
{
    memset(b, 0, sizeof *b);
    b->folder = text_of("%s", folder);
    b->program = text_of("%s/labs/%s", folder, lab->name);
    b->lock = take_lock(folder, lab);
    char *path = text_of("%s.json", b->program);
    if (access(b->program, X_OK) != 0 || access(path, R_OK) != 0)
        fatal(
            EXIT_NOT_BUILT,
            "%s is not built in %s, or its last build failed: run `make %s`", lab->name,
            folder, lab->name);
    b->record = json_load_file(path, 0, NULL);
    if (!json_is_object(b->record))
        fatal(EXIT_NOT_BUILT, "%s is damaged: run `make %s` again", path, lab->name);
    b->backend = string_of(b->record, "backend");
    b->source = string_of(b->record, "source");
    clean_text(b->source);
    b->checked = json_is_string(json_object_get(b->record, "check"));
    b->own = json_is_true(json_object_get(b->record, "own"));
    b->trusted = b->own || json_is_true(json_object_get(b->record, "trusted"));
    check_fresh(b, lab);
    build_check(b, "is not what was built");
    free(path);
}

bool build_lacks(const struct build *b, const char *function, const char *dtype)
{
    size_t i;
    json_t *name;
    char *full = text_of("%s_%s", function, dtype);
    bool lacks = false;
    json_array_foreach(json_object_get(b->record, "missing"), i, name)
        lacks |= json_is_string(name) && !strcmp(json_string_value(name), full);
    free(full);
    return lacks;
}

void build_close(struct build *b)
{
    json_decref(b->record);
    if (b->lock >= 0) close(b->lock);
    free(b->folder);
    free(b->program);
    free(b->backend);
    free(b->source);
}
