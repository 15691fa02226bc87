/* engine.h - the internals of an rg_engine: for the files of this folder, and for tests
 * that watch its decoder. Only engine/, tests/ and bench/ may include it; programs need
 * recurrentgemma.h alone.
 *
 * The host keeps track of every sequence. A sequence that has sampled continues with each
 * step until it samples a stop token; later steps of the batch still run it (the device
 * gives it token 0). One step past its end is valid: it processes the stop token. Any
 * further step invalidates its states, and the slot is usable again only after rg_reset.
 */
#ifndef ENGINE_H
#define ENGINE_H
#include "recurrentgemma.h"
#include "weights.h"

typedef struct engine_sequence {
    int *tokens; /* (context) prompt and samples; of a loaded state see load_tokens */
    int length;    /* number of tokens */
    int processed; /* in its states: length, or length - 1 before a step reads the newest */
    int sampled;   /* the last ones, since rg_prefill */
    bool done;
    bool invalid; /* stepped past its end */
} engine_sequence;

struct rg_engine {
    rg_settings set;
    rg_info info;
    griffin_config config;
    rg_weights weights;
    uint64_t fingerprint; /* 0: rg_fingerprint has not computed it yet */
    decoder d;
    wb_blas *blas;
    cudaStream_t stream;
    int batch;                 /* B */
    engine_sequence *sequence; /* (B) */
    int *tokens;               /* (B,context) */
    int *stop;                 /* (d.set.stop_count) tokens that end a sequence */
    int columns;               /* of h_sampled, since rg_prefill */
    int *
        h_sampled; /* (B,max_new_tokens) page-locked; sequences that are done leave gaps */
    cudaStream_t copies;                /* of the samples, to h_sampled */
    cudaEvent_t sampled[2], arrived[2]; /* of even columns and of odd ones */
    /* scratch of rg_prefill and rg_score */
    const int **pending;           /* (B) tokens that are not processed yet */
    int *count, *base, *at, *idle; /* (B) */
    float *h_logits;               /* (d.set.score_rows,V); made by the first rg_score */
};

/* engine.c: rg_info after the decoder may have grown. */
void engine_count_bytes(rg_engine *e);

/* engine_step.c. Column 0 of the samples comes from rg_prefill; each step adds another.
 * send: enqueues the copy of a column to the host. take: waits for it and adds the tokens
 * to their sequences; returns how many continue. */
void engine_send(rg_engine *e, int column);
int engine_take(rg_engine *e, int column);

#endif
