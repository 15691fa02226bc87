/* tensors.h - the weights of a RecurrentGemma model: their names in files, their shapes,
 * the packed matrix that each is a part of, and what training starts from. */
#ifndef GRIFFIN_TENSORS_H
#define GRIFFIN_TENSORS_H
#include "config.h"

/* A matrix that the kernels read. Tensors of one slot are neighbouring rows of it, in the
 * order of the table: q, k, v; x, y; gate, up. */
typedef enum griffin_slot {
    GRIFFIN_EMB,
    GRIFFIN_HEAD,
    GRIFFIN_NF, /* of the whole model: (V,C) (V,C) (C) */
    GRIFFIN_N1,
    GRIFFIN_N2, /* (C) norms before the temporal block, the MLP */
    GRIFFIN_WGU,
    GRIFFIN_BGU,
    GRIFFIN_WD,
    GRIFFIN_BD, /* (2F,C) (2F) (C,F) (C) */
    GRIFFIN_WO,
    GRIFFIN_BO,   /* (C,H*D) or (C,Cr); (C) */
    GRIFFIN_WQKV, /* ((H+2K)D,C) */
    GRIFFIN_WXY,
    GRIFFIN_BXY,
    GRIFFIN_CW,
    GRIFFIN_CB, /* (2Cr,C) (2Cr) (Cr,taps) (Cr) */
    GRIFFIN_WX,
    GRIFFIN_BX,
    GRIFFIN_WA,
    GRIFFIN_BA, /* (H,M,M) (H,M), M = Cr/H: input, recurrence gate */
    GRIFFIN_AP, /* (Cr) */
    GRIFFIN_SLOTS
} griffin_slot;

typedef enum griffin_start { GRIFFIN_ZEROS, GRIFFIN_NORMAL, GRIFFIN_RING } griffin_start;

/* How the official torch checkpoint stores a tensor. */
typedef enum griffin_official {
    GRIFFIN_SAME,
    GRIFFIN_TAPS_FIRST, /* (taps,Cr) for (Cr,1,taps) */
    GRIFFIN_GATE,       /* number 0 of (2,C,F), for (F,C); of (2,1,1,F), for (F) */
    GRIFFIN_UP,         /* number 1 of it */
} griffin_official;

typedef struct griffin_tensor {
    char name[96];     /* "model.layers.0.temporal_block.linear_x.weight" */
    char official[96]; /* "blocks.0.recurrent_block.linear_x.weight"; "": it has none */
    griffin_official stored;
    griffin_slot slot;
    int layer; /* -1: of the whole model */
    int ndim;
    size_t shape[3], count;
    /* what each size is: C hidden_size, R lru_width, E half of intermediate_size, V
     * vocab_size, H heads, M = R/H, Q = H*D, K = kv_heads*D, W conv1d_width, 1 */
    char letters[4];
    griffin_start start;
    float deviation; /* of GRIFFIN_NORMAL */
} griffin_tensor;

/* All weights, malloc'ed, layer by layer; with an output matrix unless c->tied. NULL: no
 * memory. */
griffin_tensor *griffin_tensors(const griffin_config *c, int *count);

/* The key of config.json behind a letter of griffin_tensor.letters. */
const char *griffin_letter_key(char letter);

#endif
