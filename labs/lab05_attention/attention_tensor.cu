/* attention_tensor.cu - lab 05, parts 05.6 and 05.8: attention forward, f16 and bf16.
 * attention.h is the specification; contract.cuh has the launchers that call `forward`.
 */
#include "contract.cuh"
#include "tiles.cuh"

#include "cuda/device.cuh"

#include <float.h>
#include <mma.h>

using namespace nvcuda;

/* 05.6 in five steps: the kernel of part 05.2, whose two GEMMs move to tensor cores, one
 * in step 3 and one in step 5. The guide, "On tensor cores", shows the calls. All values
 * must be right after each step: grade it with `-k f16`, then with `-k 05.6`. The cases
 * `tensor_scores` and `tensor_values` tell whether steps 3 and 5 use tensor cores. */
constexpr int BM = 64;  // queries of a block, a thread each; a warp has 32
constexpr int BN = 16;  // keys of a tile
constexpr int MAX_D = 256;
constexpr int PAD = 8;  // after each row, 16 bytes: the next row starts in other banks

/* From step 2 on, in dynamic shared memory */
template <typename E> struct block_tiles {
    E q[BM][MAX_D + PAD], k[BN][MAX_D + PAD], v[BN][MAX_D + PAD];
    E p[BM][BN + PAD];
    float s[BM][BN + PAD / 2];
};

template <typename E> static __global__ void online_kernel(forward_call<E> c)
{
    (void)c;
    // TODO(05.6, step 1): copy the body of online_kernel from attention.cu, with groups,
    // window and documents. Put (float) before each E that it reads, and E(...) around
    // each value that it writes to out. Delete the marked line in `forward`. No new
    // lines.

    // TODO(05.6, step 2): tiles of E instead of floats. Declare before the loop
    //     extern __shared__ uint4 smem[];
    //     block_tiles<E> &tile = *(block_tiles<E> *)smem;
    // and copy the block's queries to tile.q. In the loop, copy keys and values to tile.k
    // and tile.v. Write zeros to the rows from T or S on, and to the channels from D to
    // the next multiple of 16. About 12 lines, and `smem_bytes` in `forward`.

    // TODO(05.6, step 3): after the copy, each warp computes Q K^T of its 32 queries, 16 at
    // a time, and stores it to tile.s. The scores of a thread are now scale times row
    // threadIdx.x of tile.s. About 14 lines.

    // TODO(05.6, step 4): each thread stores its row of p, as E, to tile.p, with zeros for
    // the keys that its query does not see. p V reads p there. About 4 lines.

    // TODO(05.6, step 5): for 16 channels at a time, each warp computes P V of its 32
    // queries and stores it to tile.s; o[d] of each thread becomes r o[d] plus its element
    // of tile.s. About 13 lines.
}

template <typename E> static size_t forward_workspace(sizes z)
{
    (void)z;
    return 0;
}

template <typename E> static wb_status forward(forward_call<E> c, cudaStream_t s)
{
    sizes z = c.z;
    size_t smem_bytes = 0;  // TODO(05.6, step 2): sizeof(block_tiles<E>)
    unsigned blocks = (z.T + BM - 1) / BM * z.H * z.B;
    return WB_TODO;  // TODO(05.6, step 1): delete this line
    allow_smem(online_kernel<E>, smem_bytes);
    online_kernel<<<blocks, BM, smem_bytes, s>>>(c);
    return wb_launched();
}

DEFINE_FORWARD(wb_f16, f16)
DEFINE_FORWARD(wb_bf16, bf16)
