// int_index.cu - right for every size whose elements an int can count.
// fails: real
// only: cpu
// says: compute offsets in size_t, not int
#include "forward.h"

static __global__ void rows(
    float *out, float *rstd, const float *x, const float *w, int C, float eps,
    float offset)
{
    int start = blockIdx.x * C;
    float squares = 0.0f;
    for (int c = 0; c < C; c++)
        squares += x[start + c] * x[start + c];
    float r = 1.0f / sqrtf(squares / C + eps);
    if (rstd) rstd[blockIdx.x] = r;
    for (int c = 0; c < C; c++)
        out[start + c] = x[start + c] * r * (offset + w[c]);
}
FORWARD
{
    rows<<<R, 1, 0, stream>>>(out, rstd, x, w, C, eps, offset);
    return wb_launched();
}
