/* mma.cuh - the instructions that a fast matrix kernel is made of.
 *
 *     mma<E>            one warp: C (16,8) += A (16,16) B (16,8), accumulated in float
 *     ldmatrix          one warp: four 8x8 matrices of 16-bit elements from shared memory
 *     cp_async          one thread: 16 bytes from device to shared memory, asynchronously
 *     swizzle<D>        where a chunk of 16 bytes lies in a tile: no bank conflicts
 *     has_mma<E>()      on the host: whether the code that runs has mma for E
 *
 * E is wb_f16 or wb_bf16. A matrix is spread over the 32 lanes of the warp. The layout is
 * that of the instruction (PTX manual, mma.m16n8k16); unlike that of nvcuda::wmma it is
 * documented, so kernels may rely on it. A register holds two elements, the one of the
 * lower column (B: row) in its lower half. With  r = lane/4  and  c = 2*(lane%4):
 *
 *     A (16,16)              B (16,8)                   C (16,8), float
 *     a[0]  row r    col c   b0  rows c, c+1     col r  c[0] c[1]  row r    cols c, c+1
 *     a[1]  row r+8  col c   b1  rows c+8, c+9   col r  c[2] c[3]  row r+8  cols c, c+1
 *     a[2]  row r    col c+8
 *     a[3]  row r+8  col c+8
 *
 *          which lane holds which pair of an 8x8 matrix:     0  0  1  1  2  2  3  3
 *          (A and C; B is transposed)                        4  4  5  5  6  6  7  7
 *                                                            8  8  9  9 10 10 11 11  ...
 *
 * Attention depends on two consequences. The sum or maximum of a row of C takes only four
 * neighbouring lanes. And two neighbouring C, rounded and packed, are an A:
 *     a = { pack2(c[0],c[1]), pack2(c[2],c[3]) of columns 0-7, the same of columns 8-15 }
 * so P = softmax(Q K^T) becomes an operand of P V without leaving its registers.
 *
 * ldmatrix: lane l passes the address of row l%8 of matrix l/8 (8 elements, a multiple of
 * 16 bytes), and r[m] receives this lane's pair of matrix m: row lane/4, columns c and
 * c+1. ldmatrix_trans: column lane/4, rows c and c+1. So, from a row-major tile in shared
 * memory,
 *     A        ldmatrix         matrices in the order of a[0..3]
 *     B        ldmatrix_trans   of a tile whose rows are B's rows (V in P V)
 *     B        ldmatrix         of a tile whose rows are B's columns (K in Q K^T)
 * The eight rows of a matrix should lie in eight different groups of four banks;
 * otherwise the load takes several passes.
 *
 * All lanes of a warp must call mma and ldmatrix together. On the CPU back end the same
 * functions exchange fragments of the same layout between the threads of a warp.
 *
 * Turing (sm_75) has no mma for bf16, no m16n8k16 and no cp.async: there mma<wb_f16> is
 * two m16n8k8, cp_async copies synchronously, and a launcher asks has_mma before it
 * chooses a kernel for bf16.
 */
#ifndef CUDA_MMA_CUH
#define CUDA_MMA_CUH
#include "cuda/device.cuh"
#include "cuda/vec.cuh"

/* Element number of 16-byte chunk `chunk` of row `row`, in a tile whose rows have D
 * elements of 16 bits. Without the xor, equal chunks of neighbouring rows would share
 * their banks. Rows of 64 bytes (D = 32) lie in pairs on one line of all 32 banks. */
template <int D> static __device__ __forceinline__ int swizzle(int row, int chunk)
{
    int phase = D == 32 ? row / 2 % 4 : row % 8;
    return row * D + (chunk ^ phase) * 8;
}

/* Host. false: take a kernel without tensor cores. So it is where waits are not cheap,
 * because there all lanes of a warp wait for one another at each mma. */
template <typename E> static inline bool has_mma(void);
template <> inline bool has_mma<wb_f16>(void)
{
    return code_arch() >= 75 && waits_are_cheap();
}
template <> inline bool has_mma<wb_bf16>(void)
{
    return code_arch() >= 80 && waits_are_cheap();
}

#ifndef __CUDACPU__

/* --- nvcc --------------------------------------------------------------------------- */

/* The 32-bit address in shared memory that PTX expects */
static __device__ __forceinline__ unsigned smem_address(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
template <typename E>
static __device__ __forceinline__ void
mma(float (&)[4], const unsigned (&)[4], unsigned, unsigned)
{
    __trap();  // has_mma<E>() is false
}
template <>
__device__ __forceinline__ void
mma<wb_f16>(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1)
{
    unsigned b[2] = {b0, b1};
#pragma unroll
    for (int k = 0; k < 2; k++)  // columns 8k to 8k + 7 of A, the same rows of B
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
                     "{%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                     : "r"(a[2 * k]), "r"(a[2 * k + 1]), "r"(b[k]));
}
#else
template <typename E>
static __device__ __forceinline__ void
mma(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1);
#define MMA(E, name)                                                                     \
    template <>                                                                          \
    __device__ __forceinline__ void mma<E>(                                              \
        float(&c)[4], const unsigned(&a)[4], unsigned b0, unsigned b1)                   \
    {                                                                                    \
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." name "." name ".f32 "      \
                     "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"             \
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                    \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));    \
    }
MMA(wb_f16, "f16")
MMA(wb_bf16, "bf16")
#undef MMA
#endif

static __device__ __forceinline__ void ldmatrix(unsigned (&r)[4], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(smem_address(row))
                 : "memory");
}
static __device__ __forceinline__ void ldmatrix_trans(unsigned (&r)[4], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(smem_address(row))
                 : "memory");
}

/* Starts a copy of 16 bytes that bypasses the L1 cache. With !valid it writes 16 zero
 * bytes and does not read gmem, which must still be an address of device memory. The
 * copies of a thread since its last cp_async_commit form a group; cp_async_wait<N> waits
 * until at most N of its newest groups are unfinished. What other threads copied is
 * visible after a __syncthreads that follows the wait. */
static __device__ __forceinline__ void cp_async(void *smem, const void *gmem, bool valid)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    *(uint4 *)smem = valid ? *(const uint4 *)gmem : make_uint4(0, 0, 0, 0);
#else
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(smem_address(smem)), "l"(gmem), "r"(valid ? 16 : 0)
                 : "memory");
#endif
}
static __device__ __forceinline__ void cp_async_commit(void)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" : : : "memory");
#endif
}
template <int N> static __device__ __forceinline__ void cp_async_wait(void)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" : : "n"(N) : "memory");
#endif
}

#else

/* --- the CPU back end --------------------------------------------------------------- */

#include "wbcpu/mma.h"

WBCPU_INLINE wbcpu_together mma_of_warp(wb_f16)
{
    return wbcpu_mma_f16;
}
WBCPU_INLINE wbcpu_together mma_of_warp(wb_bf16)
{
    return wbcpu_mma_bf16;
}
template <typename E>
WBCPU_INLINE void mma(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1)
{
    unsigned b[2] = {b0, b1};
    wbcpu_mma_lane own = {c, a, b};
    wbcpu_run_together(~0u, &own, mma_of_warp(E()));
}

WBCPU_INLINE void load_matrices(unsigned *r, const void *row, bool transposed)
{
    wbcpu_matrix_lane own = {r, row, 4, transposed};
    wbcpu_check_row(row);
    wbcpu_run_together(~0u, &own, wbcpu_load_matrices);
}
WBCPU_INLINE void ldmatrix(unsigned (&r)[4], const void *row)
{
    load_matrices(r, row, false);
}
WBCPU_INLINE void ldmatrix_trans(unsigned (&r)[4], const void *row)
{
    load_matrices(r, row, true);
}

WBCPU_INLINE void cp_async(void *smem, const void *gmem, bool valid)
{
    // references to vectors of 16 bytes: a misaligned address stops the kernel, as on a GPU
    vec<float, 4> &to = *(vec<float, 4> *)smem;
    const vec<float, 4> &from = valid ? *(const vec<float, 4> *)gmem : to;
    wbcpu_copy_async(&to, &from, 16, valid ? 0 : 16);
}
WBCPU_INLINE void cp_async_commit(void)
{
    wbcpu_copy_commit();
}
template <int N> WBCPU_INLINE void cp_async_wait(void)
{
    wbcpu_copy_wait(N);
}
#endif
#endif
