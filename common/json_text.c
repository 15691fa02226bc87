/* json_text.c - see json_text.h. */
#include "json_text.h"
#include "file.h"

#include <jansson.h>
#include <stdlib.h>

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
