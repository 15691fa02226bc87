/* json_text.c - see json_text.h. */
#include "json_text.h"
#include "file.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

json_t *json_parse(const char *text, size_t bytes, const char *name, wb_error *err)
{
    json_error_t je;
    json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &je);
    if (!root) error_set(err, "%s: not valid JSON: %s", name, je.text);
    return root;
}

json_t *json_read(const char *path, wb_error *err)
{
    size_t bytes;
    char *text = file_read(path, 1 << 20, &bytes, err);
    json_t *root = text ? json_parse(text, bytes, path, err) : NULL;
    free(text);
    return root;
}

int json_save(const char *folder, const char *name, json_t *root, wb_error *err)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    char *text = root ? json_dumps(root, JSON_INDENT(2) | JSON_PRESERVE_ORDER) : NULL;
    json_decref(root);
    if (!text) return error_set(err, "%s: no memory", path);
    size_t bytes = strlen(text);
    char *old = file_read(path, bytes, NULL, NULL);
    bool same = old && strcmp(old, text) == 0;
    int rc = same ? 0 : file_write(path, text, bytes, err);
    free(old);
    free(text);
    return rc;
}
