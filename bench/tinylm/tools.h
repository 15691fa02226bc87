/* tools.h - shared by the measurements of TinyLM as a whole. Each writes a CSV that
 * starts with the machine's name; tools/plot_*.py plot them. An existing CSV is appended
 * to, so one plot can have the rows of several programs.
 */
#ifndef BENCH_TINYLM_TOOLS_H
#define BENCH_TINYLM_TOOLS_H
#include "../../tinylm/model.h"
#include "../../tinylm/options.h"
#include "../../tinylm/trainer.h"
#include "machine.h"

#include <stdio.h>

typedef struct bench_args {
    options o;         /* of `tinylm train`: the model and the step */
    const char *csv;   /* --csv FILE, or NULL */
    int runs, longest; /* --runs N (10), --longest N (4096) */
} bench_args;

/* The program's own flags and those of `tinylm train`. Errors end the program. */
void bench_read_args(bench_args *a, int argc, char **argv);
/* The model that they describe, with the vocabulary of TinyShakespeare, 65. */
void bench_config(const bench_args *a, model_config *c);
enum { BENCH_VOCAB = 65 };

/* Creates that model with random weights, and a trainer for it on a made-up text. Each of
 * several ranks gets its rows of the batch. */
void bench_trainer(trainer *t, model *m, const bench_args *a, const ranks *r);
/* Wall-clock time of one step, from an idle device to an idle device. */
double bench_step_ms(trainer *t);
/* The median of n measurements, which it sorts. */
double bench_median(double *x, int n);

/* Opens it for lines under this head; a file with another head is an error. */
FILE *bench_csv(const char *path, const char *head);
void bench_close(FILE *f, const char *path);

/* "bench: sentence" on stderr; ends the program. */
_Noreturn void bench_stop(const char *text);

#endif
