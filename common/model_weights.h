/* model_weights.h - the weights of a model as the kernels read them: packed matrices, by
 * name and by slot. One table for TinyLM, the RecurrentGemma engine and the decoder.
 *
 * A slot that an architecture does not have is NULL. Every pointer is to device memory,
 * to elements of the model's dtype; TinyLM keeps the float gradients in a second
 * model_weights of the same layout.
 */
#ifndef MODEL_WEIGHTS_H
#define MODEL_WEIGHTS_H

typedef struct layer_weights {
    void *norm1, *norm2;          /* (C) before the temporal block, before the MLP */
    void *gate_up, *gate_up_bias; /* (2F,C) gate rows, then up rows; (2F) */
    void *down, *down_bias;       /* (C,F); (C) */
    void *out, *out_bias;         /* (C,H*D) or (C,Cr): end of the temporal block; (C) */
    void *qkv;                    /* ((H+2K)D,C) query, key, value rows */
    /* recurrent block; M = Cr/H */
    void *xy, *xy_bias;         /* (2Cr,C) x rows, then y rows; (2Cr) */
    void *conv, *conv_bias;     /* (Cr,conv_width); (Cr) */
    void *gate_x, *gate_x_bias; /* (H,M,M); (H,M) input gate */
    void *gate_a, *gate_a_bias; /* (H,M,M); (H,M) recurrence gate */
    void *a_param;              /* (Cr) */
} layer_weights;

typedef struct model_weights {
    layer_weights *layer; /* (layers), on the host */
    void *embedding;      /* (padded V,C) */
    void *head;           /* (padded V,C) output matrix; the embedding when tied */
    void *final_norm;     /* (C) */
} model_weights;

/* Tensors of one slot are neighbouring rows of one matrix, in the order of the tables of
 * tensors: q, k, v; x, y; gate, up. */
typedef enum weight_slot {
    /* of the whole model */
    WEIGHT_EMBEDDING,
    WEIGHT_HEAD,
    WEIGHT_FINAL_NORM,
    /* of a layer */
    WEIGHT_NORM1,
    WEIGHT_NORM2,
    WEIGHT_GATE_UP,
    WEIGHT_GATE_UP_BIAS,
    WEIGHT_DOWN,
    WEIGHT_DOWN_BIAS,
    WEIGHT_OUT,
    WEIGHT_OUT_BIAS,
    WEIGHT_QKV,
    WEIGHT_XY,
    WEIGHT_XY_BIAS,
    WEIGHT_CONV,
    WEIGHT_CONV_BIAS,
    WEIGHT_GATE_X,
    WEIGHT_GATE_X_BIAS,
    WEIGHT_GATE_A,
    WEIGHT_GATE_A_BIAS,
    WEIGHT_A_PARAM,
    WEIGHT_SLOTS
} weight_slot;

/* The pointer of a slot; layer is ignored for slots of the whole model. */
void **weight_at(model_weights *w, int layer, weight_slot slot);

/* What training starts from. */
typedef enum weight_start {
    START_ZEROS,
    START_ONES,
    START_NORMAL, /* with a deviation of its own */
    START_RING,   /* a_param: decays spread evenly over a ring, see draw.h */
} weight_start;

#endif
