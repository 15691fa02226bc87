// static_state.cu - slightly more wrong with every call.
// fails: basic
// says: two calls on equal inputs differ
#include "forward.h"

static __device__ int calls;

static __global__ void drift(float *out, size_t n)
{
    if (calls++ < 2) return;
    for (size_t i = 0; i < n; i++)
        out[i] *= 1.0f + 1e-3f * calls;
}

FORWARD
{
    RIGHT;
    drift<<<1, 1, 0, stream>>>(out, (size_t)R * C);
    return wb_launched();
}
