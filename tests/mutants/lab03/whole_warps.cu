// whole_warps.cu - computes only a multiple of 32 columns: the tail of a row is missing.
// fails: tail
// says: columns 992..999, the tail after the last multiple of 32
#include "forward.h"

static __global__ void whole_warps(
    float *out, float *rstd, const float *x, const float *w, int C, float eps,
    float offset)
{
    size_t start = (size_t)blockIdx.x * C;
    float squares = 0.0f;
    for (int c = 0; c < C; c++)
        squares += x[start + c] * x[start + c];
    float r = 1.0f / sqrtf(squares / C + eps);
    if (rstd) rstd[blockIdx.x] = r;
    for (int c = 0; c < C / 32 * 32; c++)
        out[start + c] = x[start + c] * r * (offset + w[c]);
}

FORWARD
{
    whole_warps<<<R, 1, 0, stream>>>(out, rstd, x, w, C, eps, offset);
    return wb_launched();
}
