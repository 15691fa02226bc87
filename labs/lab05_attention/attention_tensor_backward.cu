/* attention_tensor_backward.cu - lab 05, parts 05.7 and 05.8: attention backward, f16
 * and bf16. attention.h is the specification; contract.cuh has the launchers that call
 * `backward`.
 */
#include "contract.cuh"
#include "tiles.cuh"

/* TODO(05.7): the two kernels of part 05.5 with their GEMMs on tensor cores: p q
 * there is a row of 16 here. P and dS stay float until they become an operand. A
 * first version can be the one of part 05.5, as a template on the element type. */
template <typename E> static size_t backward_workspace(sizes z)
{
    (void)z;
    return 0;
}

template <typename E> static wb_status backward(backward_call<E> c, cudaStream_t s)
{
    (void)c, (void)s;
    return WB_TODO;
}

DEFINE_BACKWARD(wb_f16, f16)
DEFINE_BACKWARD(wb_bf16, bf16)
