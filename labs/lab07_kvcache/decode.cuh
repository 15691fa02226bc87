/* decode.cuh - lab 07, parts 07.3 and 07.4: what the kernels of attention_decode share:
 * the arguments and, in the solution, how a call is split, rotation, and what a block
 * works on.
 */
#ifndef DECODE_CUH
#define DECODE_CUH
#include <math.h>

#include "kvcache.h"

/* The arguments, as in the header. */
template <typename E> struct token {
    E *out, *kcache, *vcache;
    const E *q, *k, *v;
    const float *cis;
    const int *pos;
    int B, S, H, K, D, N, ldq, ldkv;
    float scale;
};

#endif
