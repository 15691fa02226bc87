/* rg_tensors.h - the weights of a RecurrentGemma model: their names in files, their shapes,
 * the packed matrix that each is a part of, and what training starts from. */
#ifndef RG_TENSORS_H
#define RG_TENSORS_H
#include "rg_config.h"

/* A matrix that the kernels read. Tensors of one slot are neighbouring rows of it, in the
 * order of the table: q, k, v; x, y; gate, up. */
typedef enum rg_slot {
    RG_EMB,
    RG_HEAD,
    RG_NF, /* of the whole model: (V,C) (V,C) (C) */
    RG_N1,
    RG_N2, /* (C) norms before the temporal block, the MLP */
    RG_WGU,
    RG_BGU,
    RG_WD,
    RG_BD, /* (2F,C) (2F) (C,F) (C) */
    RG_WO,
    RG_BO,   /* (C,H*D) or (C,Cr); (C) */
    RG_WQKV, /* ((H+2K)D,C) */
    RG_WXY,
    RG_BXY,
    RG_CW,
    RG_CB, /* (2Cr,C) (2Cr) (Cr,taps) (Cr) */
    RG_WX,
    RG_BX,
    RG_WA,
    RG_BA, /* (H,M,M) (H,M), M = Cr/H: input, recurrence gate */
    RG_AP, /* (Cr) */
    RG_SLOTS
} rg_slot;

typedef enum rg_start { RG_ZEROS, RG_NORMAL, RG_RING } rg_start;

/* How the official torch checkpoint stores a tensor. */
typedef enum rg_official {
    RG_SAME,
    RG_TAPS_FIRST, /* (taps,Cr) for (Cr,1,taps) */
    RG_GATE,       /* number 0 of (2,C,F), for (F,C); of (2,1,1,F), for (F) */
    RG_UP,         /* number 1 of it */
} rg_official;

typedef struct rg_tensor {
    char name[96];     /* "model.layers.0.temporal_block.linear_x.weight" */
    char official[96]; /* "blocks.0.recurrent_block.linear_x.weight"; "": it has none */
    rg_official stored;
    rg_slot slot;
    int layer; /* -1: of the whole model */
    int ndim;
    size_t shape[3], count;
    /* what each size is: C hidden_size, R lru_width, E half of intermediate_size, V
     * vocab_size, H heads, M = R/H, Q = H*D, K = kv_heads*D, W conv1d_width, 1 */
    char letters[4];
    rg_start start;
    float deviation; /* of RG_NORMAL */
} rg_tensor;

/* All weights, malloc'ed, layer by layer; with an output matrix unless c->tied. NULL: no
 * memory. */
rg_tensor *rg_tensors(const rg_config *c, int *count);

/* The key of config.json behind a letter of rg_tensor.letters. */
const char *rg_letter_key(char letter);

#endif
