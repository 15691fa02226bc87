// changes_input.cu - correct, but changes x.
// fails: basic
// says: changes its input x
#include "forward.h"

static __global__ void spoil(float *x)
{
    x[0] += 1.0f;
}

FORWARD
{
    RIGHT;
    spoil<<<1, 1, 0, stream>>>((float *)x);
    return wb_launched();
}
