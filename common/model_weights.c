/* model_weights.c - see model_weights.h. */
#include "model_weights.h"

#include <stddef.h>

#define OF_MODEL(field) offsetof(model_weights, field)
#define OF_LAYER(field) offsetof(layer_weights, field)

static const size_t offsets[WEIGHT_SLOTS] = {
    [WEIGHT_EMBEDDING] = OF_MODEL(embedding),
    [WEIGHT_HEAD] = OF_MODEL(head),
    [WEIGHT_FINAL_NORM] = OF_MODEL(final_norm),
    [WEIGHT_NORM1] = OF_LAYER(norm1),
    [WEIGHT_NORM2] = OF_LAYER(norm2),
    [WEIGHT_GATE_UP] = OF_LAYER(gate_up),
    [WEIGHT_GATE_UP_BIAS] = OF_LAYER(gate_up_bias),
    [WEIGHT_DOWN] = OF_LAYER(down),
    [WEIGHT_DOWN_BIAS] = OF_LAYER(down_bias),
    [WEIGHT_OUT] = OF_LAYER(out),
    [WEIGHT_OUT_BIAS] = OF_LAYER(out_bias),
    [WEIGHT_QKV] = OF_LAYER(qkv),
    [WEIGHT_XY] = OF_LAYER(xy),
    [WEIGHT_XY_BIAS] = OF_LAYER(xy_bias),
    [WEIGHT_CONV] = OF_LAYER(conv),
    [WEIGHT_CONV_BIAS] = OF_LAYER(conv_bias),
    [WEIGHT_GATE_X] = OF_LAYER(gate_x),
    [WEIGHT_GATE_X_BIAS] = OF_LAYER(gate_x_bias),
    [WEIGHT_GATE_A] = OF_LAYER(gate_a),
    [WEIGHT_GATE_A_BIAS] = OF_LAYER(gate_a_bias),
    [WEIGHT_A_PARAM] = OF_LAYER(a_param)};

void **weight_at(model_weights *w, int layer, weight_slot slot)
{
    char *owner = slot < WEIGHT_NORM1 ? (char *)w : (char *)&w->layer[layer];
    return (void **)(owner + offsets[slot]);
}
