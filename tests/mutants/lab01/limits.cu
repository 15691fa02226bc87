// limits.cu - right for the shapes of a first test; each function has a limit of its own.
// fails: empty,many,back_empty,back_many,geglu_far,geglu_back_in,geglu_back_far
// fails: bf16,back_f16,geglu_f16,geglu_back_bf16
// says: the tail after the last multiple of 4096
#include "swiglu.h"

#include "cuda/vec.cuh"

static __device__ float sigmoid(float z)
{
    float e = expf(-fabsf(z));
    return (z < 0 ? e : 1.0f) / (1.0f + e);
}

/* act(z) and its derivative */
template <bool GELU> static __device__ float activation(float z, float *slope)
{
    float c = fminf(fmaxf(z, -16.0f), 16.0f), k = 2 * 0.7978845608f;
    float s = sigmoid(GELU ? k * c * (1 + 0.044715f * c * c) : z);
    *slope = s * (1 + (GELU ? k * c * (1 + 3 * 0.044715f * c * c) : z) * (1 - s));
    return z * s;
}

struct tensors {
    void *dgate, *dup, *out;
    const void *dout, *gate, *up;
    int R, F, ld;
};

/* V columns of one row, from column f */
template <bool GELU, int V, typename E>
static __device__ void columns(const tensors &t, size_t row, size_t f)
{
    float slope;
    size_t at = row * t.ld + f;
    vec<E, V> z = load_vec<V>((const E *)t.gate + at),
              u = load_vec<V>((const E *)t.up + at), d;
    if (t.dout) d = load_vec<V>((const E *)t.dout + row * t.F + f);
    for (int j = 0; j < V; j++) {
        float a = activation<GELU>((float)z[j], &slope);
        z[j] = E(slope * (float)(t.dout ? d[j] : u[j]) * (float)u[j]);
        u[j] = E(a * (float)(t.dout ? d[j] : u[j]));
    }
    if (t.dout) store_vec((E *)t.dgate + at, z), store_vec((E *)t.dup + at, u);
    if (!t.dout) store_vec((E *)t.out + row * t.F + f, u);
}

/* One block per row, one thread per V columns, without a loop; rows in y if BY_Y */
template <bool GELU, int V, bool BY_Y, typename E>
static __global__ void by_rows(tensors t)
{
    size_t f = (size_t)threadIdx.x * V;
    if (f < (size_t)t.F) columns<GELU, V, E>(t, BY_Y ? blockIdx.y : blockIdx.x, f);
}

/* As many threads as the grid has, and no loop */
template <bool GELU, typename E> static __global__ void by_elements(tensors t)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < (size_t)t.R * t.F) columns<GELU, 1, E>(t, i / t.F, i % t.F);
}

#define FORWARD(name, E, launch)                                                         \
    wb_status name(                                                                      \
        E *out, const E *gate, const E *up, int R, int F, int ld, cudaStream_t stream)   \
    {                                                                                    \
        tensors t = {NULL, NULL, out, NULL, gate, up, R, F, ld};                         \
        launch;                                                                          \
        return wb_launched();                                                            \
    }
#define BACKWARD(name, E, launch)                                                        \
    wb_status name(                                                                      \
        E *dgate, E *dup, const E *dout, const E *gate, const E *up, int R, int F,       \
        int ld, cudaStream_t stream)                                                     \
    {                                                                                    \
        tensors t = {dgate, dup, NULL, dout, gate, up, R, F, ld};                        \
        launch;                                                                          \
        return wb_launched();                                                            \
    }
#define LESS(n) ((n) < 1024 ? (n) : 1024)
#define BY_ROWS(GELU, V, E)                                                              \
    by_rows<GELU, V, false, E><<<R, LESS((F + V - 1) / V), 0, stream>>>(t)
#define BY_Y(GELU, E) by_rows<GELU, 1, true, E><<<dim3(1, R), LESS(F), 0, stream>>>(t)
#define BY_ELEMENTS(GELU, E)                                                             \
    by_elements<GELU, E><<<LESS((R * F + 255) / 256), 256, 0, stream>>>(t)

FORWARD(swiglu_forward_f32, float, BY_ELEMENTS(false, float))
BACKWARD(swiglu_backward_f32, float, BY_ELEMENTS(false, float))
FORWARD(geglu_forward_f32, float, if (F % 4) BY_ELEMENTS(true, float);
        else BY_ROWS(true, 4, float))
BACKWARD(geglu_backward_f32, float, BY_ROWS(true, 1, float))
FORWARD(swiglu_forward_f16, wb_f16, BY_ELEMENTS(false, wb_f16))
FORWARD(swiglu_forward_bf16, wb_bf16, BY_ROWS(false, 8, wb_bf16))
BACKWARD(swiglu_backward_f16, wb_f16, BY_ROWS(false, 8, wb_f16))
BACKWARD(swiglu_backward_bf16, wb_bf16, BY_ELEMENTS(false, wb_bf16))
FORWARD(geglu_forward_f16, wb_f16, BY_Y(true, wb_f16))
BACKWARD(geglu_backward_bf16, wb_bf16, BY_Y(true, wb_bf16))
