/* commands.h - the commands of the program: train, eval, generate. Each returns the exit
 * status; an error is one line on stderr, and 1, or 2 for a wrong option. */
#ifndef COMMANDS_H
#define COMMANDS_H
#include "options.h"

#include <stdio.h>

enum { FAILED = 1, WRONG_OPTION = 2 };

int train_main(int argc, char **argv);
int eval_main(const options *o);
int generate_main(const options *o);

/* "tinylm: sentence" on stderr; returns the status. */
int complain(const wb_error *err, int status);
/* -1 if anything printed so far cannot be written, as to a full disk. */
int flush_output(wb_error *err);

/* The whole text of a file or pipe, which must not be empty. NULL: see err. */
char *read_text(const char *path, size_t *bytes, wb_error *err);
/* The last tenth of n tokens is for validation only: where it starts. */
size_t validation_start(size_t n);

#endif
