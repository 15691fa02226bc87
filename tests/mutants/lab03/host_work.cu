// host_work.cu - does the work on the host, and launches an empty kernel as a disguise.
// fails: basic
// says: host code accesses device memory
#include <math.h>

#include "forward.h"

static __global__ void idle() {}

FORWARD
{
    idle<<<1, 1, 0, stream>>>();
    for (int r = 0; r < R; r++) {
        float squares = 0.0f;
        for (int c = 0; c < C; c++)
            squares += x[(size_t)r * C + c] * x[(size_t)r * C + c];
        rstd[r] = 1.0f / sqrtf(squares / C + eps);
        for (int c = 0; c < C; c++)
            out[(size_t)r * C + c] = x[(size_t)r * C + c] * rstd[r] * (offset + w[c]);
    }
    return wb_launched();
}
