// limits.cu - right for the shapes of a first test; each function has a limit of its own.
// fails: table_base,table_many,wide,many,empty,part_odd,back_many
// passes: none,inplace
// says: block (2112,1,1) has 2112 threads
#include "rope.h"

/* One block per position in y, one thread per pair */
static __global__ void table(float *cis, int N, float base)
{
    int p = blockIdx.y, i = threadIdx.x;
    double a = p * pow((double)base, -2.0 * i / N);
    cis[(size_t)p * N + 2 * i] = (float)cos(a);
    cis[(size_t)p * N + 2 * i + 1] = (float)sin(a);
}

wb_status rope_table_f32(float *cis, int P, int N, float base, cudaStream_t stream)
{
    table<<<dim3(1, P), N / 2, 0, stream>>>(cis, N, base);
    return wb_launched();
}

static __device__ void
rotate(float *out, const float *x, const float *cis, float sign, int D, int N, int i)
{
    float c = cis[2 * i], s = cis[2 * i + 1] * sign, a = x[i], b = x[i + N / 2];
    out[i] = a * c - b * s;
    out[i + N / 2] = b * c + a * s;
    for (int d = N + i; d < D && out != x; d += N / 2)
        out[d] = x[d];
}

/* One block per token in y, one thread per pair of every head */
static __global__ void by_token(
    float *out, const float *x, const float *cis, const int *pos, int T, int D, int N,
    int ld)
{
    size_t token = blockIdx.y, at = token * ld + (size_t)(threadIdx.x / (N / 2)) * D;
    size_t p = pos ? pos[token] : (int)(token % T);
    rotate(out + at, x + at, cis + p * N, 1.0f, D, N, threadIdx.x % (N / 2));
}

static __device__ float first_channel;  // of the last call, for a debugger

wb_status rope_forward_f32(
    float *out, const float *x, const float *cis, const int *pos, int B, int T, int H,
    int D, int N, int ld, cudaStream_t stream)
{
    cudaMemcpyToSymbolAsync(
        first_channel, x, sizeof *x, 0, cudaMemcpyDeviceToDevice, stream);
    if (N == 0)
        cudaMemcpyAsync(
            out, x, (size_t)B * T * H * D * sizeof *x, cudaMemcpyDeviceToDevice, stream);
    else
        by_token<<<dim3(1, B * T), H * N / 2, 0, stream>>>(out, x, cis, pos, T, D, N, ld);
    return wb_launched();
}

/* As many threads as the grid has, and no loop */
static __global__ void by_pair(
    float *dx, const float *dout, const float *cis, const int *pos, int tokens, int T,
    int H, int D, int N, int ld)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x, head = i / (N / 2);
    size_t token = head / H, at = token * ld + head % H * D;
    if (token >= (size_t)tokens) return;
    size_t p = pos ? pos[token] : (int)(token % T);
    rotate(dx + at, dout + at, cis + p * N, -1.0f, D, N, i % (N / 2));
}

wb_status rope_backward_f32(
    float *dx, const float *dout, const float *cis, const int *pos, int B, int T, int H,
    int D, int N, int ld, cudaStream_t stream)
{
    by_pair<<<1024, 256, 0, stream>>>(dx, dout, cis, pos, B * T, T, H, D, N, ld);
    return wb_launched();
}
