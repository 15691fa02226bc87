/* tools.h - what the measurements of TinyLM as a whole share. Each writes a CSV that starts
 * with the machine's name; tools/plot_*.py draw them. A CSV that exists is added to, so one
 * plot can have the rows of several programs.
 */
#ifndef BENCH_TINYLM_TOOLS_H
#define BENCH_TINYLM_TOOLS_H
#include "../../tinylm/model.h"
#include "../../tinylm/options.h"
#include "machine.h"

#include <stdio.h>

typedef struct bench_args {
    options o;         /* of `tinylm train`: the model and the step */
    const char *csv;   /* --csv FILE */
    int runs, longest; /* --runs N (10), --longest N (4096) */
} bench_args;

/* The program's own flags and those of `tinylm train`. Errors end the program. */
void bench_read_args(bench_args *a, int argc, char **argv);
/* The model that they describe, with a vocabulary of 65, as TinyShakespeare has. */
void bench_config(const bench_args *a, model_config *c);
enum { BENCH_VOCAB = 65 };

/* Ready for lines of this head; a file with another head is an error. */
FILE *bench_csv(const char *path, const char *head);
void bench_close(FILE *f, const char *path);

/* "bench: sentence" on stderr, and the end. */
_Noreturn void bench_stop(const char *text);

#endif
