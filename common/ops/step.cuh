/* step.cuh - what the kernels of a decode step's products share. */
#ifndef STEP_CUH
#define STEP_CUH
#include "elements.cuh"
#include "ops.h"

#define pack pack_two  // elements.cuh has another
#include "tensor_cores.cuh"
#undef pack

enum { WARPS = BLOCK / 32 };

struct step {
    int R, I, O;  // O: outputs after the activation
    float eps, offset;
};

static __device__ __forceinline__ float warp_sum(float v)
{
    for (int o = 16; o > 0; o >>= 1)
        v += __shfl_xor_sync(~0u, v, o);
    return v;
}

static __device__ float silu(float z)
{
    return z / (1.0f + expf(-z));
}
static __device__ float gelu(float z)  // the tanh form
{
    return 0.5f * z * (1.0f + tanhf(0.7978845608f * (z + 0.044715f * z * z * z)));
}
static __device__ float activated(int act, float z)
{
    return act == WB_SWIGLU ? silu(z) : gelu(z);
}

static inline int multiprocessors(void)
{
    int device = 0, count = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
    return count > 0 ? count : 1;
}

#endif
