/* rglru_step.cu - lab 06, part 06.6: the recurrent block for one token. The contract is
 * rglru.h.
 */
#include "cuda/vec.cuh"
#include "gate_math.cuh"
#include "rglru_contract.cuh"

enum { MAX_M = 512 };

/* A block of M threads for each row b and block g of channels: thread j owns channel
 * g*M + j. */
template <typename E> static __global__ void step_rows(step_call<E> call)
{
    __shared__ float c[MAX_M];
    int g = blockIdx.x % call.G, j = threadIdx.x;  // [0, G), [0, M)
    size_t b = blockIdx.x / call.G;
    // TODO(06.6): c[j]: the convolution, from x and the slots of positions pos - 1,
    // pos - 2, ... of the ring; not before position 0. About 6 lines.
    // TODO(06.6): store x in the slot of pos. Who else reads that slot? 1 line.
    // TODO(06.6): wait until c is complete. 1 line.
    // TODO(06.6): px and pa: two sums over the block's inputs. About 5 lines.
    // TODO(06.6): a and z as in 06.3, the new state, and out = state gelu(y). 8 lines.
}

template <typename E> static wb_status rglru_step(step_call<E> call, cudaStream_t stream)
{
    // TODO(06.6): launch step_rows on the stream, B*G blocks of M threads, then return
    // wb_launched().
    (void)call, (void)stream;
    return WB_TODO;
}

DEFINE_RGLRU_STEP(float, f32)
DEFINE_RGLRU_STEP(wb_f16, f16)
DEFINE_RGLRU_STEP(wb_bf16, bf16)
