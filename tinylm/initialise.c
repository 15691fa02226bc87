/* initialise.c - the weights that training starts from. */
#include "draw.h"
#include "model.h"
#include "tensors.h"

#include <stdio.h>
#include <stdlib.h>

void model_initialise(model *m, uint64_t seed)
{
    int count;
    model_tensor *all = model_tensors(&m->config, &count, NULL, NULL);
    float *w = calloc(m->parameters, sizeof *w);
    if (!w) {
        fprintf(stderr, "no memory for %zu weights\n", m->parameters);
        exit(1);
    }
    for (int i = 0; i < count; i++) {
        model_tensor *t = &all[i];
        float *out = w + t->offset;
        if (t->start == START_NORMAL)
            draw_normal(out, 0, t->count, t->deviation, seed, (uint32_t)i);
        if (t->start == START_RING) draw_ring(out, 0, t->count, seed, (uint32_t)i);
        for (size_t k = 0; t->start == START_ONES && k < t->count; k++)
            out[k] = 1;
    }
    model_set_weights(m, w);
    free(w);
    free(all);
}
