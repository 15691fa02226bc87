/* architecture.c - __CUDA_ARCH__. nvcc compiles a source twice: for the device, where the
 * macro has a value, and for the host, where it has none. Here one pass serves both: it
 * becomes WBCPU_CUDA_ARCH, which has a value, except in functions that the host can call.
 * These take the path that is written for the host. */
#include "outline.h"

void name_architecture(struct source *s, const struct outline *o)
{
    int k = 0; /* the first function that does not end before token i */
    for (int i = 0; i < s->count; i++) {
        if (!is(s, i, "__CUDA_ARCH__")) continue;
        while (k < o->function_count && o->token[o->functions[k].end] < i)
            k++;
        const struct function *f = &o->functions[k];
        int inside = k < o->function_count && o->token[f->body] < i;
        if (!inside || !(f->space & HOST_FUNCTION)) s->tokens[i].text = "WBCPU_CUDA_ARCH";
    }
}
