/* build.c - what a lab's executable was built from, and whether that still holds. */
#include "build.h"

#include "sha256.h"
#include "util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
    json_object_foreach (files, path, hash) {
        if (sha256_file(path, hex) == 0 && !strcmp(hex, json_string_value(hash)))
            continue;
        fatal(
            EXIT_NOT_BUILT, "%s changed since %s was built: run `make %s`%s", path,
            lab->name, lab->name, again);
    }
}

void build_open(struct build *b, const char *folder, const struct lab *lab)
{
    memset(b, 0, sizeof *b);
    b->folder = text_of("%s", folder);
    b->program = text_of("%s/labs/%s", folder, lab->name);
    char *path = text_of("%s.json", b->program);
    if (access(b->program, X_OK) != 0 || access(path, R_OK) != 0)
        fatal(
            EXIT_NOT_BUILT, "%s is not built in %s: run `make %s`", lab->name, folder,
            lab->name);
    b->record = json_load_file(path, 0, NULL);
    b->backend = string_of(b->record, "backend");
    b->source = string_of(b->record, "source");
    b->own = json_is_true(json_object_get(b->record, "own"));
    check_fresh(b, lab);
    free(path);
}

bool build_lacks(const struct build *b, const char *function, const char *dtype)
{
    size_t i;
    json_t *name;
    char *full = text_of("%s_%s", function, dtype);
    bool lacks = false;
    json_array_foreach (json_object_get(b->record, "missing"), i, name)
        lacks |= !strcmp(json_string_value(name), full);
    free(full);
    return lacks;
}

void build_close(struct build *b)
{
    json_decref(b->record);
    free(b->folder);
    free(b->program);
    free(b->backend);
    free(b->source);
}
