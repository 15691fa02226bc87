/* cost.h - what a prompt and a step cost at least, by the model's sizes: the floors that
 * --bench prints beside its times. */
#ifndef COST_H
#define COST_H
#include "recurrentgemma.h"

/* FLOPs (two a multiply and add) to read `count` tokens of each of B rows from their start,
 * and to draw a token of each: products, scores within the window, convolution. The last
 * layer's MLP is needed behind the newest token alone. Activations, norms and the recurrence
 * itself are thousands of times less and not counted. */
double cost_prompt_flops(const rg_info *i, int B, long count);

/* Bytes that a step moves at least, when each of B rows holds `held` tokens: every weight
 * once (of an embedding that is not the output matrix, B rows), the keys and values in the
 * window, the states read and written, and the logits written and read. */
double cost_step_bytes(const rg_info *i, int B, double held);

#endif
