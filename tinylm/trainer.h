/* trainer.h - training steps: their tokens, their CUDA graph, and the loss on request.
 *
 * trainer_step only enqueues: the host runs at most two steps ahead of the device and
 * reads nothing back until trainer_read. The first step launches the kernels one by one,
 * because libraries allocate on first use; the second records the graph; after that a
 * step is one copy of tokens and one launch. Nothing is allocated after the second step.
 */
#ifndef TRAINER_H
#define TRAINER_H
#include "model.h"

typedef struct trainer {
    model *m;
    model_recipe recipe;
    const int *text; /* (length) the training part of the text */
    size_t length;
    uint64_t seed;
    uint32_t step; /* steps begun */
    bool use_graph;
    int *h_batch[2]; /* pinned, used alternately: (2,accum,B,T) tokens, then targets */
    cudaEvent_t copied[2];
    int begun; /* steps of this process */
    cudaGraphExec_t graph;
    wb_train *h_train; /* pinned */
} trainer;

/* text: at least T + 2 tokens. step: 0, or that of a checkpoint. */
void trainer_open(
    trainer *t, model *m, const model_recipe *r, const int *text, size_t length,
    uint64_t seed, uint32_t step, bool use_graph);
void trainer_close(trainer *t);

void trainer_step(trainer *t);
/* Waits for the device and copies its state back. */
const wb_train *trainer_read(trainer *t);

/* Mean loss per token over all complete sequences of T tokens of text, B at a time. All
 * ranks: they share the batches, and get the same result. */
double evaluate_text(model *m, const int *text, size_t length);

#endif
