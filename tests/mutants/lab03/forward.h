/* forward.h - a correct rmsnorm_forward_f32. Each mutant changes one thing in it. */
#include "rmsnorm.h"

static __global__ void right(
    float *out, float *rstd, const float *x, const float *w, int C, float eps,
    float offset)
{
    const float *xr = x + (size_t)blockIdx.x * C;
    float squares = 0.0f;
    for (int c = 0; c < C; c++)
        squares += xr[c] * xr[c];
    float r = 1.0f / sqrtf(squares / C + eps);
    if (rstd) rstd[blockIdx.x] = r;
    for (int c = 0; c < C; c++)
        out[(size_t)blockIdx.x * C + c] = xr[c] * r * (offset + w[c]);
}

/* Every output element i becomes `value`, an expression of i and of the arguments. */
#define FILL_KERNEL(value)                                                               \
    static __global__ void fill(                                                         \
        float *out, float *rstd, const float *x, const float *w, int C)                  \
    {                                                                                    \
        (void)x, (void)w;                                                                \
        if (rstd) rstd[blockIdx.x] = 1.0f;                                               \
        for (size_t i = (size_t)blockIdx.x * C; i < (size_t)(blockIdx.x + 1) * C; i++)   \
            out[i] = value;                                                              \
    }

#define FORWARD                                                                          \
    wb_status rmsnorm_forward_f32(                                                       \
        float *out, float *rstd, const float *x, const float *w, int R, int C,           \
        float eps, float offset, cudaStream_t stream)
#define RIGHT right<<<R, 1, 0, stream>>>(out, rstd, x, w, C, eps, offset)
#define FILL fill<<<R, 1, 0, stream>>>(out, rstd, x, w, C)
