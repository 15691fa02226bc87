// float_sum.cu - one thread adds the whole row in a float. The largest term comes first, so
// it drops every later one that is less than half an ulp of the sum.
// fails: few_aligned,long
// passes: many
// says: a single float accumulator is not enough
#include "softmax.h"

static __global__ void softmax(float *out, const float *x, int R, int N, float scale)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= R) return;
    x += (size_t)row * N, out += (size_t)row * N;
    float m = -INFINITY, sum = 0.0f;
    for (int j = 0; j < N; j++)
        m = fmaxf(m, x[j] * scale);
    for (int j = 0; j < N; j++)
        sum += expf(x[j] * scale - m);
    for (int j = 0; j < N; j++)
        out[j] = expf(x[j] * scale - m) / sum;
}

size_t softmax_forward_workspace_f32(int, int)
{
    return 0;
}

wb_status softmax_forward_f32(
    float *out, const float *x, int R, int N, float scale, void *, size_t, cudaStream_t s)
{
    if (R < 0 || N < 1) return WB_BAD_SHAPE;
    if (R == 0) return WB_OK;
    softmax<<<(R + 127) / 128, 128, 0, s>>>(out, x, R, N, scale);
    return wb_launched();
}
