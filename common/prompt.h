/* prompt.h - the one prompt of --prompt and --prompt-file. */
#ifndef PROMPT_H
#define PROMPT_H
#include "generation_options.h"

/* The prompt's text, malloc'ed, and its source for messages: "--prompt", "stdin" or the
 * file's name. It comes from stdin if --prompt is "-", or neither option is given. One
 * newline at the end of stdin or a file is not part of it. NULL: see err. */
char *
prompt_read(const generation_options *o, const char **from, size_t *bytes, wb_error *err);

#endif
