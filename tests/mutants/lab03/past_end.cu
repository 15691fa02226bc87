// past_end.cu - writes one element past the end.
// fails: basic
// says: writes past the end of out
#include "forward.h"

static __global__ void one_more(float *out, size_t n)
{
    out[n] = 0.0f;
}

FORWARD
{
    RIGHT;
    one_more<<<1, 1, 0, stream>>>(out, (size_t)R * C);
    return wb_launched();
}
