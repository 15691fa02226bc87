/* step.cuh - what the matrix multiplies of a decode step share. */
#ifndef STEP_CUH
#define STEP_CUH
#include "cuda/mma.cuh"
#include "cuda/pdl.cuh"
#include "elements.cuh"
#include "ops.h"

enum { WARPS_PER_BLOCK = BLOCK_SIZE / 32 };

struct step_sizes {
    int R, I, O;  // O: outputs after the activation
    float eps, offset;
};

static __device__ __forceinline__ float warp_sum(float v)
{
    for (int offset = 16; offset > 0; offset >>= 1)
        v += __shfl_xor_sync(~0u, v, offset);
    return v;
}

static __device__ float silu(float z)
{
    return z / (1.0f + expf(-z));
}
static __device__ float gelu(float z)  // the tanh approximation
{
    return 0.5f * z * (1.0f + tanhf(0.7978845608f * (z + 0.044715f * z * z * z)));
}
static __device__ float activate(int act, float z)
{
    return act == WB_SWIGLU ? silu(z) : gelu(z);
}

#endif
