// shared_memory.cu - right in the case `basic`, and in each other case another mistake that
// a CPU alone would forgive: shared memory, alignment, launch bounds, a host pointer.
// only: cpu
// fails: rows,offset,eps,tail,one,three,skew,widths,large,inplace
// says: got NaN (uninitialised shared memory)
// says: shared memory is read before the block has written it
// says: writes past the end of its shared array past_end (mutant.cu:80): it has 256 bytes, and byte 256 was written
// says: writes before the start of its shared array before (mutant.cu:92), by 4 bytes
// says: writes past the end of its dynamic shared memory: the launch asks for 0 bytes, and byte 0 was written
// says: the launch asks for 256 bytes, and byte 256 was written
// says: got NaN (read out of bounds)
// says: misaligned access (mutant.cu:45): float4 at an address that is not a multiple of 16, in kernel with_vectors
// says: of buffer x
// says: cudaErrorInvalidValue: invalid argument
// says: blocks of 128 threads; __launch_bounds__ allows 64
// says: deadlock in kernel deadlock
// says: threads 0 to 15 wait at __shfl_sync with mask 0xffffffff, threads 16 to 31 wait at __syncthreads
// says: pointer argument 4 is host memory, which kernels cannot access
#include "forward.h"

static const int THREADS = 128, WARPS = 4;

#define PARAMETERS                                                                       \
    float *out, float *rstd, const float *x, const float *w, int C, float eps,           \
        float offset

static __device__ void finish(
    float squares, float *out, float *rstd, const float *x, const float *w, int C,
    float eps, float offset)
{
    size_t start = (size_t)blockIdx.x * C;
    float r = 1.0f / sqrtf(squares / C + eps);
    if (rstd && threadIdx.x == 0) rstd[blockIdx.x] = r;
    for (int c = threadIdx.x; c < C; c += blockDim.x)
        out[start + c] = x[start + c] * r * (offset + w[c]);
}

static __device__ float row_squares(const float *x, int C, bool vectors)
{
    float sum = 0.0f;
    const float *row = x + (size_t)blockIdx.x * C;
    for (int c = 0; c < C && !vectors; c++)
        sum += row[c] * row[c];
    for (int c = 0; c < C && vectors; c += 4) {
        float4 v = *(const float4 *)(row + c);
        sum += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
    }
    return sum;
}

#define FINISH(squares) finish(squares, out, rstd, x, w, C, eps, offset)

static __global__ void right_block(PARAMETERS)
{
    FINISH(row_squares(x, C, false));
}
static __global__ void with_vectors(PARAMETERS)
{
    FINISH(row_squares(x, C, true));
}

// Adds the slots of 32 warps; the block has 4. In a new process the others are 0.
template <class T> static __global__ void unwritten(PARAMETERS)
{
    __shared__ struct {
        T of_warp[2][16], unused;
    } part;
    if (threadIdx.x % 32 == 0)
        part.of_warp[0][threadIdx.x / 32] = row_squares(x, C, false) / WARPS;
    __syncthreads();
    float sum = 0.0f;
    for (int i = 0; i < 32; i++)
        sum += part.of_warp[i / 16][i % 16];
    FINISH(sum);
}

// 64 slots for 128 threads.
static __global__ void too_few_slots(PARAMETERS)
{
    __shared__ float first[4], past_end[WARPS * 16], last;
    past_end[threadIdx.x] = row_squares(x, C, false);
    if (threadIdx.x == 0) first[0] = last = 0.0f;
    __syncthreads();
    FINISH(past_end[threadIdx.x] + first[0] + last);
}

static __global__ void starts_at_minus_one(PARAMETERS)
{
    __shared__ union {
        float f[THREADS];
        int i[THREADS];
    } before;
    before.f[(int)threadIdx.x - 1] = row_squares(x, C, false);
    __syncthreads();
    FINISH(before.f[0]);
}

static __global__ void dynamic(PARAMETERS)
{
    extern __shared__ float slot[];
    slot[threadIdx.x] = row_squares(x, C, false);
    __syncthreads();
    FINISH(slot[threadIdx.x]);
}

static __global__ void dynamic_read(PARAMETERS)
{
    extern __shared__ float slot[];
    if (threadIdx.x == 0) slot[0] = row_squares(x, C, false);
    __syncthreads();
    FINISH(slot[0] + slot[1]);
}

template <int N> static __global__ void __launch_bounds__(N, 1) bounded(PARAMETERS)
{
    FINISH(row_squares(x, C, false));
}

static __global__ void deadlock(PARAMETERS)
{
    float sum = row_squares(x, C, false);
    if (threadIdx.x % 32 < 16) sum = __shfl_sync(~0u, sum, 0);
    __syncthreads();
    FINISH(sum);
}

#define RUN(kernel, bytes)                                                               \
    kernel<<<R, THREADS, bytes, stream>>>(out, rstd, x, w, C, eps, offset)

FORWARD
{
    float host[300] = {};
    bool aligned = (size_t)x % 16 == 0;
    if (C == 64 && aligned) RUN(right_block, 0);  // basic
    if (C == 2048 && !aligned) RUN(with_vectors, 0);
    if (C == 128) RUN(unwritten<float>, 0);
    if (C == 700) RUN(too_few_slots, 0);
    if (C == 3000) RUN(starts_at_minus_one, 0);
    if (C == 1) RUN(dynamic, 0);
    if (C == 3) RUN(dynamic, THREADS / 2 * sizeof(float));
    if (C == 12292) RUN(dynamic_read, sizeof(float));
    if (C == 200) RUN(bounded<THREADS / 2>, 0);
    if (C == 1000) RUN(deadlock, 0);
    if (C == 6148)
        right_block<<<R, THREADS, 0, stream>>>(out, rstd, x, host, C, eps, offset);
    return wb_launched();
}
