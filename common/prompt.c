/* prompt.c - see prompt.h. */
#include "prompt.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_BYTES = 1 << 30 };

char *
prompt_read(const generation_options *o, const char **from, size_t *bytes, wb_error *err)
{
    char *text;
    if (o->prompt && strcmp(o->prompt, "-") != 0) {
        *from = "--prompt", *bytes = strlen(o->prompt);
        text = strdup(o->prompt);
        if (!text) error_set(err, "--prompt: no memory for %zu bytes", *bytes);
        return text;
    }
    if (o->prompt_file) {
        *from = o->prompt_file;
        text = file_read_any(o->prompt_file, MAX_BYTES, bytes, err);
    } else {
        *from = "stdin";
        if (isatty(STDIN_FILENO))
            fprintf(stderr, "Enter the prompt, then Ctrl-D (--help lists other ways):\n");
        text = file_read_open(STDIN_FILENO, *from, MAX_BYTES, bytes, err);
    }
    if (text && *bytes > 0 && text[*bytes - 1] == '\n') text[--*bytes] = 0;
    return text;
}
