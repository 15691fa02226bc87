// half_sum.cu - sums the squares in half precision.
// fails: tail
// says: is a sum or an intermediate value in half precision?
#include "forward.h"

static __global__ void half_sum(
    float *out, float *rstd, const float *x, const float *w, int C, float eps,
    float offset)
{
    size_t start = (size_t)blockIdx.x * C;
    __half squares = __float2half(0.0f);
    for (int c = 0; c < C; c++)
        squares = __hadd(squares, __float2half(x[start + c] * x[start + c]));
    float r = 1.0f / sqrtf(__half2float(squares) / C + eps);
    if (rstd) rstd[blockIdx.x] = r;
    for (int c = 0; c < C; c++)
        out[start + c] = x[start + c] * r * (offset + w[c]);
}

FORWARD
{
    half_sum<<<R, 1, 0, stream>>>(out, rstd, x, w, C, eps, offset);
    return wb_launched();
}
