/* commands.c - what the commands share. */
#include "commands.h"

#include <stdlib.h>

int complain(const wb_error *err, int status)
{
    fprintf(stderr, "tinylm: %s\n", err->text);
    return status;
}

char *read_text(const char *path, size_t *bytes, wb_error *err)
{
    char *text = file_read(path, (size_t)1 << 31, bytes, err);
    if (!text || *bytes > 0) return text;
    free(text);
    error_set(err, "%s: is empty: give a text file", path);
    return NULL;
}

size_t validation_start(size_t n)
{
    return (size_t)(0.9 * (double)n);
}
