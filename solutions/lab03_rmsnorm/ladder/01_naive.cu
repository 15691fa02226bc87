/* 01_naive.cu - one thread per row, as the formula reads.
 *
 * Correct, but at a few per cent of the memory bandwidth. Neighbouring threads are C
 * elements apart, so each of a warp's 32 accesses needs a 32-byte sector of its own, and
 * uses 2 or 4 bytes of it before the cache evicts it. 4096 rows are 4096 threads; an H200
 * can run 270,000. dw has one thread per column: neighbouring threads read neighbouring
 * columns, but a sum over R rows is one long chain of dependent additions, and C threads
 * are few.
 */
// fails: coalesced,vectors,block,once,residual_once,back_coalesced,back_twice,back_once
#include "rmsnorm.h"

template <typename E>
static __global__ void forward_rows(
    E *out, E *sum, float *rstd, const E *x, const E *res, const E *w, int R, int C,
    float eps, float offset)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;  // [0, R)
    if (row >= R) return;
    size_t start = (size_t)row * C;
    if (res) {
        for (int c = 0; c < C; c++)  // rounded to E: what backward will see
            sum[start + c] = (E)((float)x[start + c] + (float)res[start + c]);
        x = sum;
    }
    float squares = 0.0f;
    for (int c = 0; c < C; c++)
        squares += (float)x[start + c] * (float)x[start + c];
    float r = 1.0f / sqrtf(squares / C + eps);
    if (rstd) rstd[row] = r;
    for (int c = 0; c < C; c++)
        out[start + c] = (E)((float)x[start + c] * r * (offset + (float)w[c]));
}

template <typename E>
static __global__ void dx_rows(
    E *dx, const E *dout, const E *x, const E *w, const float *rstd, const E *dres, int R,
    int C, float offset)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;  // [0, R)
    if (row >= R) return;
    size_t start = (size_t)row * C;
    float ux = 0.0f;
    for (int c = 0; c < C; c++)
        ux += (float)dout[start + c] * (offset + (float)w[c]) * (float)x[start + c];
    float r = rstd[row], mean = r * (ux / C);
    for (int c = 0; c < C; c++) {
        float u = (float)dout[start + c] * (offset + (float)w[c]);
        float through = dres ? (float)dres[start + c] : 0.0f;
        dx[start + c] = (E)(through + r * (u - (float)x[start + c] * r * mean));
    }
}

template <typename E>
static __global__ void
dw_columns(float *dw, const E *dout, const E *x, const float *rstd, int R, int C)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;  // [0, C)
    if (c >= C) return;
    float sum = 0.0f;
    for (int row = 0; row < R; row++)
        sum += (float)dout[(size_t)row * C + c] *
               ((float)x[(size_t)row * C + c] * rstd[row]);
    dw[c] += sum;
}

template <typename E>
static void forward(
    E *out, E *sum, float *rstd, const E *x, const E *res, const E *w, int R, int C,
    float eps, float offset, cudaStream_t stream)
{
    forward_rows<<<(R + 127) / 128, 128, 0, stream>>>(
        out, sum, rstd, x, res, w, R, C, eps, offset);
}

static size_t backward_workspace(int R, int C)
{
    (void)R, (void)C;
    return 0;
}

template <typename E>
static void backward(
    E *dx, float *dw, const E *dout, const E *x, const E *w, const float *rstd,
    const E *dres, int R, int C, float offset, float *, cudaStream_t stream)
{
    // dw first: dx may be dout
    dw_columns<<<(C + 127) / 128, 128, 0, stream>>>(dw, dout, x, rstd, R, C);
    dx_rows<<<(R + 127) / 128, 128, 0, stream>>>(
        dx, dout, x, w, rstd, dres, R, C, offset);
}

#include "contract.h"
