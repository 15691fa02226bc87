// caches.cu - keeps its first result and returns it again for the same pointer.
// fails: basic
// says: something kept between calls
#include "forward.h"

static __device__ float kept[1 << 18];
static const float *known;

static __global__ void keep(const float *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        kept[i] = out[i];
}

static __global__ void replay(float *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = kept[i];
}

FORWARD
{
    size_t n = (size_t)R * C;
    if (x == known) {
        replay<<<1, 1, 0, stream>>>(out, n);
        return wb_launched();
    }
    RIGHT;
    keep<<<1, 1, 0, stream>>>(out, n);
    known = x;
    return wb_launched();
}
