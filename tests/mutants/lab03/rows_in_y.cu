// rows_in_y.cu - one row per block, in gridDim.y: at most 65,535.
// fails: real
// only: cpu
// says: 1 to 65535 in y and z
// says: or 65,535 rows
#include "forward.h"

static __global__ void rows(
    float *out, float *rstd, const float *x, const float *w, int C, float eps,
    float offset)
{
    size_t start = (size_t)blockIdx.y * C;
    float squares = 0.0f;
    for (int c = 0; c < C; c++)
        squares += x[start + c] * x[start + c];
    float r = 1.0f / sqrtf(squares / C + eps);
    if (rstd) rstd[blockIdx.y] = r;
    for (int c = 0; c < C; c++)
        out[start + c] = x[start + c] * r * (offset + w[c]);
}
FORWARD
{
    rows<<<dim3(1, R), 1, 0, stream>>>(out, rstd, x, w, C, eps, offset);
    return wb_launched();
}
