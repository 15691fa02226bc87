/* commands.c - what the commands share. */
#include "commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int complain(const wb_error *err, int status)
{
    fprintf(stderr, "tinylm: %s\n", err->text);
    return status;
}

int flush_output(wb_error *err)
{
    static int reason;  // of the first failure: later writes may succeed
    if (fflush(stdout) && !reason) reason = errno;
    if (!reason && ferror(stdout)) reason = EIO;
    if (!reason) return 0;
    return error_set(
        err, "stdout: cannot write: %s%s", strerror(reason),
        reason == ENOSPC ? " (free some space, or write elsewhere)" : "");
}

char *read_text(const char *path, size_t *bytes, wb_error *err)
{
    char *text = file_read_any(path, (size_t)1 << 31, bytes, err);
    if (!text || *bytes > 0) return text;
    free(text);
    error_set(err, "%s: is empty: give a text file", path);
    return NULL;
}

size_t validation_start(size_t n)
{
    return (size_t)(0.9 * (double)n);
}
