/* run.h - a run of `tinylm train`: from its options to a trainer, from its first step or
 * its last checkpoint. */
#ifndef RUN_H
#define RUN_H
#include "checkpoint.h"
#include "commands.h"
#include "corpus.h"
#include "curve.h"
#include "progress.h"
#include "trainer.h"

typedef struct run {
    options o;
    ranks ranks;
    corpus text;
    model m;
    model_recipe recipe;
    trainer t;
    run_state state;
    float *scratch; /* 3 N, for checkpoints */
    curve curve;
    progress bar;
    double loss, val; /* last known; NaN: none */
    uint32_t val_step;
    double since; /* clock at the last line of the CSV */
    uint32_t since_step;
    wb_error err;
    int status;    /* of the program after an error */
    bool replaces; /* another run, which is now in previous/ */
    int vocab;     /* of the model of --init-from; 0: that of the tokenizer */
} run;

/* r->ranks is open. What every rank does for itself; it changes no file. -1: r->err, and
 * r->status. */
int run_open(run *r, int argc, char **argv);
/* All ranks have opened, and read what they need of the folder: rank 0 prepares it. */
int run_begin(run *r);
/* The model, the text and the ranks, as the run starts. */
int run_print(run *r);

#endif
