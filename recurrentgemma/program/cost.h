/* cost.h - the least that prefill and a step can cost, from the model's sizes: the lower
 * bounds that --bench prints next to its times. */
#ifndef COST_H
#define COST_H
#include "recurrentgemma.h"

/* FLOPs (two for a multiply-add) to prefill `count` tokens of each of B sequences from
 * their start and to sample a token of each: GEMMs, scores within the window,
 * convolution. Only the newest token needs the last layer's MLP. Activations, norms and
 * the recurrence itself are thousands of times less and not counted. */
double cost_prompt_flops(const rg_info *i, int B, long count);

/* Bytes that a step must move when each of B sequences holds `held` tokens: every weight
 * once (B rows of an embedding that is not the output matrix), the keys and values in the
 * window, the states read and written, and the logits written and read. */
double cost_step_bytes(const rg_info *i, int B, double held);

#endif
