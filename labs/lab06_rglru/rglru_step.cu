/* rglru_step.cu - lab 06.6: the recurrent block for one token. The contract is rglru.h. */
#include "fast_math.cuh"
#include "lanes.cuh"
#include "rglru.h"
#include "rglru_shared.cuh"

enum { MOST = 512 };  // the largest M

/* A block of M threads for each row b and block g of channels: thread j looks after
 * channel g*M + j. */
template <typename E>
static __global__ void step_rows(
    E *out, E *conv_state, float *state, const E *x, const E *y, const E *w,
    const E *bias, const E *wx, const E *bx, const E *wa, const E *ba, const E *a_param,
    const int *pos, int G, int M, int width, int ld)
{
    __shared__ float c[MOST];
    int g = blockIdx.x % G, j = threadIdx.x;  // [0, G), [0, M)
    size_t b = blockIdx.x / G;
    // TODO(06.6): c[j]: the convolution, from x and the slots of positions pos - 1,
    // pos - 2, ... of the ring; not before position 0. About 6 lines.
    // TODO(06.6): x into the slot of pos. Who else reads that slot? 1 line.
    // TODO(06.6): wait until c is complete. 1 line.
    // TODO(06.6): px and pa: two sums over the block's inputs. About 5 lines.
    // TODO(06.6): a and z as in 06.3, the new state, and out = state gelu(y). 8 lines.
}

template <typename E>
static wb_status step(
    E *out, E *conv_state, float *state, const E *x, const E *y, const E *w,
    const E *bias, const E *wx, const E *bx, const E *wa, const E *ba, const E *a_param,
    const int *pos, int B, int G, int M, int width, int ld, cudaStream_t stream)
{
    if (B < 0 || G < 0 || M < 1 || M > 512 || width < 2 || width > 8 ||
        ld < (long long)G * M)
        return WB_BAD_SHAPE;
    if (B == 0 || G == 0) return WB_OK;
    if (!out || !conv_state || !state || !x || !y || !w || !bias || !wx || !bx || !wa ||
        !ba || !a_param || !pos)
        return WB_BAD_SHAPE;
    // TODO(06.6): launch step_rows on the stream, B*G blocks of M threads, then return
    // wb_launched().
    (void)stream;
    return WB_TODO;
}

#define DEFINE(E, e)                                                                     \
    wb_status rglru_step_##e(                                                            \
        E *out, E *conv_state, float *state, const E *x, const E *y, const E *w,         \
        const E *bias, const E *wx, const E *bx, const E *wa, const E *ba,               \
        const E *a_param, const int *pos, int B, int G, int M, int width, int ld,        \
        cudaStream_t stream)                                                             \
    {                                                                                    \
        return step<E>(                                                                  \
            out, conv_state, state, x, y, w, bias, wx, bx, wa, ba, a_param, pos, B, G,   \
            M, width, ld, stream);                                                       \
    }
DEFINE(float, f32)
DEFINE(wb_f16, f16)
DEFINE(wb_bf16, bf16)
