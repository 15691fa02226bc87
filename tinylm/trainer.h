/* trainer.h - training steps: which tokens, one graph, and the loss when it is asked for.
 *
 * trainer_step only enqueues: the host runs at most two steps ahead of the device, and
 * nothing is read back until trainer_read. The first step calls the kernels one by one
 * (libraries make what they need then), the second records the graph, and from then on a
 * step is one copy of tokens and one launch. Nothing is allocated after the second.
 */
#ifndef TRAINER_H
#define TRAINER_H
#include "model.h"

typedef struct trainer {
    model *m;
    model_recipe recipe;
    const int *text; /* (length) the part of the text that is learnt from */
    size_t length;
    uint64_t seed;
    uint32_t step; /* steps begun */
    bool use_graph;
    int *h_batch[2]; /* pinned: (2,accum,B,T) tokens, then targets, in turn */
    cudaEvent_t copied[2];
    int begun; /* steps of this process */
    cudaGraphExec_t graph;
    wb_train *h_train; /* pinned */
} trainer;

/* text: at least T + 2 tokens. step: 0, or what a checkpoint has. */
void trainer_open(
    trainer *t, model *m, const model_recipe *r, const int *text, size_t length,
    uint64_t seed, uint32_t step, bool use_graph);
void trainer_close(trainer *t);

void trainer_step(trainer *t);
/* Waits for the device and copies its state back. */
const wb_train *trainer_read(trainer *t);

/* Mean loss a token over all whole rows of T tokens in the text; B rows at a time. */
double evaluate_text(model *m, const int *text, size_t length);

#endif
