/* json_text.h - a file's text as JSON, in which no object has a key twice.
 *
 * Readers return NULL with one line in *err, which may be NULL. The caller frees the
 * value with json_decref. */
#ifndef JSON_TEXT_H
#define JSON_TEXT_H
#include "wb_error.h"

#include <stddef.h>

struct json_t;
/* name: of the file, for messages */
struct json_t *
json_parse(const char *text, size_t bytes, const char *name, wb_error *err);
/* A settings file, of at most 1 MiB */
struct json_t *json_read(const char *path, wb_error *err);

/* Writes FOLDER/NAME, unless it has this content already, and frees the value. root is
 * NULL if there was no memory for it. Returns -1 after an error. */
int json_save(const char *folder, const char *name, struct json_t *root, wb_error *err);

#endif
