/* attention_tensor_backward.cu - lab 05: attention backward in f16 and bf16.
 * attention.h is the specification, contract.cuh what stands around this. */
#include "contract.cuh"
#include "tiles.cuh"

// BEGIN SOLUTION 05.7 (about 330 lines)
//> /* TODO(05.7): the two kernels of part 05.5 with their products on tensor cores: what is
//>  * p q in one is a row of 16 in the other. P and dS stay float until they are an operand.
//>  * A first version may be the one of part 05.5, as a template on the element type. */
//> template <typename E> static size_t backward_workspace(sizes z)
//> {
//>     (void)z;
//>     return 0;
//> }
//>
//> /* Measured on an H200. Short rows: what counts is many small blocks, that wait for their
 * first tiles at the same time. Long ones: that each fragment is used for 32 rows. */
template <typename E> static wb_status backward(backward_call<E> c, cudaStream_t s)
{
    const int D = c.z.D, SHORT = 1024;
    if (D <= 32) return launch<plan<32, 4, 2, 64, 32>, plan<32, 4, 2, 64, 32>>(c, s);
    if (D <= 64 && c.z.T <= SHORT)
        return launch<plan<64, 4, 1, 64, 32>, plan<64, 4, 1, 64, 32>>(c, s);
    if (D <= 64) return launch<plan<64, 4, 2, 64, 64>, plan<64, 8, 2, 64, 32>>(c, s);
    if (D <= 128) return launch<plan<128, 4, 2, 32, 32>, plan<128, 8, 1, 64, 64>>(c, s);
    return launch<plan<256, 8, 1, 32, 32>, plan<256, 8, 1, 32, 32, 2>>(c, s);
}
// END SOLUTION

DEFINE_BACKWARD(wb_f16, f16)
DEFINE_BACKWARD(wb_bf16, bf16)
