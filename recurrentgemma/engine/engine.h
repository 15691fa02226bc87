/* engine.h - what is inside of an rg_engine: for its own files, and for tests that watch
 * its decoder. Programs need recurrentgemma.h alone.
 *
 * The host keeps the account of every row. A row that has drawn goes on in each step
 * until it draws a stop token; a step of the batch still runs it then (the device puts
 * token 0 there). One step behind its end is right: it reads the stop token at its place.
 * Any further one spoils its states, and only rg_reset makes a new text of it.
 */
#ifndef ENGINE_H
#define ENGINE_H
#include "recurrentgemma.h"
#include "weights.h"

typedef struct engine_row {
    int *text; /* (context) all of its tokens */
    int have;  /* so many */
    int read;  /* of them are in its states; have - read: 0, or 1 that was drawn last */
    int drawn; /* the last ones, since rg_prefill */
    bool done;
    bool spoiled; /* stepped on behind its end */
} engine_row;

struct rg_engine {
    rg_settings set;
    rg_info info;
    griffin_config config;
    rg_weights weights;
    decoder d;
    wb_blas *blas;
    cudaStream_t stream;
    int B;
    engine_row *row;     /* (B) */
    int *texts;          /* (B,context) */
    int *stop;           /* (d.set.stops) tokens that end a row */
    int columns;         /* of h_out, drawn since rg_prefill */
    int *h_out;          /* (B,drawn) page-locked; rows that had ended leave gaps */
    cudaStream_t copies; /* of what is drawn, to h_out */
    cudaEvent_t drawn[2], here[2]; /* of even columns and of odd ones */
    /* scratch of rg_prefill and rg_score */
    const int **unread;        /* (B) */
    int *n, *base, *at, *idle; /* (B) */
    float *h_logits;           /* (d.set.score,V); made by the first rg_score */
};

/* engine_step.c. send: column 0 of what is drawn comes from rg_prefill, each step gives
 * another; enqueued behind it. take: waits for that and adds it to the rows; returns how
 * many go on. */
void engine_send(rg_engine *e, int column);
int engine_take(rg_engine *e, int column);

#endif
