/* block_linear_tensor.cu - lab 06, part 06.7: the matrices of both gates in f16 and bf16,
 * on tensor cores. The contract is rglru.h. */
#include "cuda/mma.cuh"
#include "partial_sums.cuh"
#include "rglru_contract.cuh"

// TODO(06.7): the kernels of block_linear.cu, as templates, pass here too: copy them. On
// tensor cores (nvcuda::wmma, or cuda/mma.cuh) they are ten times as fast.

template <typename E>
static wb_status block_linear(
    E *px, E *pa, const E *c, const E *wx, const E *bx, const E *wa, const E *ba, int R,
    int G, int M, cudaStream_t stream)
{
    // TODO(06.7): launch both_gates, then return wb_launched().
    return WB_TODO;
}

/* Bytes of workspace of the backward pass */
template <typename E> static size_t block_linear_back_workspace(int R, int G, int M)
{
    // TODO(06.7): as in block_linear.cu.
    return 0;
}

template <typename E>
static wb_status block_linear_back(
    E *dc, float *dwx, float *dbx, float *dwa, float *dba, const E *dc_in, const E *dpx,
    const E *dpa, const E *c, const E *wx, const E *wa, int R, int G, int M,
    float *partial, cudaStream_t stream)
{
    // TODO(06.7): launch dc_each, and dw_each for each gate; return wb_launched().
    (void)partial;
    return WB_TODO;
}

DEFINE_BLOCK_LINEAR_FORWARD(wb_f16, f16)
DEFINE_BLOCK_LINEAR_FORWARD(wb_bf16, bf16)
DEFINE_BLOCK_LINEAR_BACKWARD(wb_f16, f16)
DEFINE_BLOCK_LINEAR_BACKWARD(wb_bf16, bf16)
