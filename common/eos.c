/* eos.c - see eos.h. */
#include "eos.h"
#include "json_text.h"

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

int eos_from_json(eos_tokens *t, struct json_t *root, const char *name, wb_error *err)
{
    json_t *j = json_object_get(root, "eos_token_id");
    bool list = json_is_array(j);
    size_t n = list ? json_array_size(j) : j && !json_is_null(j);
    *t = (eos_tokens){0};
    if (n > MAX_EOS)
        return error_set(
            err, "%s: eos_token_id lists %zu tokens: up to %d are supported", name, n,
            MAX_EOS);
    for (size_t i = 0; i < n; i++) {
        json_t *id = list ? json_array_get(j, i) : j;
        json_int_t value = json_integer_value(id);
        if (!json_is_integer(id) || value < 0 || value >= MAX_TOKEN_ID)
            return error_set(
                err, "%s: eos_token_id is not a token id or a list of them", name);
        t->id[t->count++] = (int)value;
    }
    return 0;
}

int eos_of_generation(eos_tokens *t, const char *folder, wb_error *err)
{
    char path[PATH_MAX + 32];
    eos_tokens found = {0};
    snprintf(path, sizeof path, "%s/generation_config.json", folder);
    if (access(path, F_OK) != 0) return 0;
    json_t *root = json_read(path, err);
    if (!root) return -1;
    int rc = json_is_object(root) ? eos_from_json(&found, root, path, err)
                                  : error_set(err, "%s: not a JSON object", path);
    if (!rc && found.count > 0) *t = found;
    json_decref(root);
    return rc;
}
