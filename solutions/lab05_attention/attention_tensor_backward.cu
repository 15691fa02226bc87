/* attention_tensor_backward.cu - lab 05, parts 05.7 and 05.8: attention backward, f16
 * and bf16. attention.h is the specification; contract.cuh has the launchers that call
 * `backward`.
 */
#include "contract.cuh"
#include "tiles.cuh"

// BEGIN SOLUTION 05.7 (about 330 lines)
//> /* TODO(05.7, step 6): copy the kernels and the launcher, and what they need, from
//>  * attention_backward.cu as it is after step 5. Put (float) before each E that they read,
//>  * and E(...) around each value that they write to dq, dk or dv. No new lines.
//>  *
//>  * Tensor cores earn no points here. Once the part passes, you can move the GEMMs to them
//>  * as in part 05.6; the last hint of 05.7 says how. */
//> template <typename E> static size_t backward_workspace(sizes z)
//> {
//>     (void)z;
//>     return 0;
//> }
//>
//> template <typename E> static wb_status backward(backward_call<E> c, cudaStream_t s)
//> {
//>     (void)c, (void)s;
//>     return WB_TODO;
//> }
/* On Hopper: attention_hopper_backward.cuh. Elsewhere two kernels, because each sum needs
 * an owner. Both compute P and dS again:
 *
 *     dq_kernel     a block owns rows      S  = Q K^T   dP  = dO V^T   dQ += dS K
 *                   and loops over keys    leaves delta in the workspace
 *     dkdv_kernel   a block owns keys      S' = K Q^T   dP' = V dO^T   dV += P' dO
 *                   and loops over rows                                dK += dS' Q
 *
 * A row is a token and a head of the group: row t H/K + m is token t of head g H/K + m.
 * So the owner of a key sums the heads of a group in its registers, in this order. A warp
 * owns 16 M rows (keys). The result of its first two GEMMs, rounded and packed, is the A
 * of the others and stays in registers (cuda/mma.cuh). Tiles of the other side alternate
 * between two stages: while one is in use, the next tile is copied into the other. */
#include "attention_hopper_backward.cuh"
#include "attention_tensor_dkdv.cuh"
#include "attention_tensor_dq.cuh"

/* Hopper. Up to 256 keys one block has all of them: dq needs no sums in the workspace. */
typedef backward_plan<64, 64, 256, 2> hopper_64_short;  // 227 KB
typedef backward_plan<64, 128, 128> hopper_64;          // 163 KB
typedef backward_plan<128, 64, 128> hopper_128;         // 163 KB
typedef backward_plan<256, 64, 64> hopper_256;          // 211 KB

template <typename E> static bool uses_hopper(sizes z)
{
    return has_wgmma<E>() && z.D > 32;
}

template <typename E> static wb_status backward_hopper(backward_call<E> c, cudaStream_t s)
{
    if (c.z.D > 128) return launch_hopper<hopper_256>(c, s);
    if (c.z.D > 64) return launch_hopper<hopper_128>(c, s);
    if (c.z.S > hopper_64_short::BN) return launch_hopper<hopper_64>(c, s);
    return launch_hopper<hopper_64_short>(c, s);
}

/* Where the tiles do not fit, tiled_backward runs: its workspace is the same. */
template <typename E> static size_t backward_workspace(sizes z)
{
    if (uses_hopper<E>(z)) return hopper_workspace_bytes(z);
    return (size_t)z.B * z.H * z.T * sizeof(float);  // delta
}

template <typename P, typename Kernel, typename Deltas, typename E>
static wb_status
run(Kernel kernel, int owned, Deltas deltas, const backward_call<E> &c, cudaStream_t s)
{
    size_t blocks = ((size_t)owned + P::BM - 1) / P::BM * c.z.B * c.z.K;
    if (blocks > INT_MAX) return WB_BAD_SHAPE;
    allow_smem(kernel, P::BYTES);
    kernel<<<(unsigned)blocks, P::THREADS, P::BYTES, s>>>(deltas, c);
    return wb_launched();
}

/* A plan for each kernel */
template <typename Q, typename KV, typename E>
static wb_status launch(const backward_call<E> &c, cudaStream_t s)
{
    size_t rows = (size_t)c.z.T * (c.z.H / c.z.K);
    if (rows > INT_MAX / 2) return WB_BAD_SHAPE;
    float *deltas = (float *)c.workspace;
    wb_status status = run<Q>(dq_kernel<Q, E>, (int)rows, deltas, c, s);
    if (status != WB_OK) return status;
    return run<KV>(dkdv_kernel<KV, E>, c.z.S, (const float *)deltas, c, s);
}

/* Shared memory limits per block: 64 KB (sm_75), 99 KB (sm_86, 89, 120), 163 KB (sm_80),
 * 227 KB (sm_90, 100). Chosen by measurements on an H200. For short sequences small
 * blocks are fastest: many wait for their first tiles at the same time. For long ones
 * each fragment should be used for 32 rows. */
typedef plan<32, 4, 2, 64, 32> plan_32;                   // 36 KB
typedef plan<64, 4, 1, 64, 32> plan_64_small;             // 51 KB
typedef plan<64, 4, 2, 64, 64> plan_64_dq;                // 68 KB
typedef plan<64, 8, 2, 64, 32> plan_64_dkdv;              // 102 KB
typedef plan<128, 4, 1, 16, 16> plan_128_small;           // 50 KB
typedef plan<128, 4, 2, 32, 32> plan_128_dq;              // 99 KB
typedef plan<128, 8, 1, 64, 64> plan_128_dkdv;            // 134 KB
typedef plan<256, 4, 1, 16, 16> plan_256_dq_small;        // 98 KB
typedef plan<256, 8, 1, 32, 32> plan_256_dq;              // 195 KB
typedef plan<256, 2, 1, 32, 16, 2> plan_256_dkdv_small;   // 83 KB
typedef plan<256, 8, 1, 32, 16, 2> plan_256_dkdv_medium;  // 138 KB
typedef plan<256, 8, 2, 64, 16, 4> plan_256_dkdv;         // 211 KB

template <typename... P> static bool fit(void)
{
    int limit = max_smem_per_block();
    return ((P::BYTES <= limit) && ...);
}

template <typename E> static wb_status backward(backward_call<E> c, cudaStream_t s)
{
    const int D = c.z.D, SHORT = 1024;
    if (!has_mma<E>()) return tiled_backward(c, s);
    if (uses_hopper<E>(c.z)) {
        wb_status status = backward_hopper(c, s);
        if (status != WB_UNSUPPORTED) return status;
    }
    if (D <= 32) return launch<plan_32, plan_32>(c, s);
    if (D <= 64) {
        if (c.z.T > SHORT && fit<plan_64_dq, plan_64_dkdv>())
            return launch<plan_64_dq, plan_64_dkdv>(c, s);
        return launch<plan_64_small, plan_64_small>(c, s);
    }
    if (D <= 128) {
        if (fit<plan_128_dq, plan_128_dkdv>())
            return launch<plan_128_dq, plan_128_dkdv>(c, s);
        if (fit<plan_128_dq>()) return launch<plan_128_dq, plan_128_small>(c, s);
        return launch<plan_128_small, plan_128_small>(c, s);
    }
    if (fit<plan_256_dq, plan_256_dkdv>())
        return launch<plan_256_dq, plan_256_dkdv>(c, s);
    if (fit<plan_256_dq_small, plan_256_dkdv_medium>())
        return launch<plan_256_dq_small, plan_256_dkdv_medium>(c, s);
    if (fit<plan_256_dq_small, plan_256_dkdv_small>())
        return launch<plan_256_dq_small, plan_256_dkdv_small>(c, s);
    return tiled_backward(c, s);
}
// END SOLUTION

DEFINE_BACKWARD(wb_f16, f16)
DEFINE_BACKWARD(wb_bf16, bf16)
