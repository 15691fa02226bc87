/* commands.h - what the program does: train, eval, generate. Each returns the exit status;
 * what goes wrong is one line on stderr, and 1. */
#ifndef COMMANDS_H
#define COMMANDS_H
#include "options.h"

#include <stdio.h>

int train_main(int argc, char **argv);
int eval_main(const options *o);
int generate_main(const options *o);

/* "tinylm: sentence" on stderr; returns 1. */
int complain(const wb_error *err);

/* The whole text of a file, which must not be empty. NULL: see err. */
char *read_text(const char *path, size_t *bytes, wb_error *err);
/* The tenth at the end of n tokens is never learnt from: where it starts. */
size_t held_out_start(size_t n);

#endif
