/* tensor_cores.cuh - the four instructions a fast matrix kernel is made of. Given.
 *
 *     multiply_add<E>   one warp: C (16,8) += A (16,16) B (16,8), sums in float
 *     load_matrices     one warp: four 8x8 matrices of 16-bit elements into registers
 *     copy_async        one thread: 16 bytes from device to shared memory, in the background
 *     exp2_approximate  one thread: 2^x in one instruction
 *
 * A matrix is spread over the 32 lanes of the warp; these layouts are the machine's
 * (PTX manual, mma.m16n8k16), and unlike those of nvcuda::wmma they may be relied on.
 * A register holds two elements, the one of the lower column (B: row) in its lower half.
 * With  r = lane/4  and  c = 2*(lane%4):
 *
 *     A (16,16)              B (16,8)                   C (16,8), float
 *     a[0]  row r    col c   b0  rows c, c+1     col r  c[0] c[1]  row r    cols c, c+1
 *     a[1]  row r+8  col c   b1  rows c+8, c+9   col r  c[2] c[3]  row r+8  cols c, c+1
 *     a[2]  row r    col c+8
 *     a[3]  row r+8  col c+8
 *
 *          one 8x8 matrix, the lane that holds each pair:    0  0  1  1  2  2  3  3
 *          (A and C; B has it transposed)                    4  4  5  5  6  6  7  7
 *                                                            8  8  9  9 10 10 11 11  ...
 *
 * Two things follow that attention lives on. Row sums and maxima of C are those of four
 * neighbouring lanes. And two neighbouring C, rounded and packed, are an A:
 *     a = { pack(c[0],c[1]), pack(c[2],c[3]) of columns 0-7, the same of columns 8-15 }
 * so P = softmax(Q K^T) goes into P V without leaving its registers.
 *
 * load_matrices: lane l names row l%8 of matrix l/8 (8 elements, on 16 bytes), and r[m]
 * receives this lane's pair of matrix m: of row lane/4, columns c and c+1; _transposed: of
 * column lane/4, rows c and c+1. Hence from a row-major tile in shared memory
 *     A        load_matrices             matrices in the order of a[0..3]
 *     B        load_matrices_transposed  of the tile that has B's rows as rows (V in P V)
 *     B        load_matrices             of the tile that has B's columns as rows (K in Q K^T)
 * The eight rows of a matrix should lie in eight different groups of four banks: else the
 * load takes several turns.
 *
 * All lanes of the warp must call multiply_add and load_matrices together. On the CPU back
 * end the same functions exchange fragments of the same layout through the warp.
 */
#ifndef TENSOR_CORES_CUH
#define TENSOR_CORES_CUH
#include "wb.h"

/* Two floats, rounded: low goes to the lower half, the lower column. */
template <typename E> static __device__ inline unsigned pack(float low, float high);
template <> inline __device__ unsigned pack<wb_f16>(float low, float high)
{
    __half2 h = __floats2half2_rn(low, high);
    return *(unsigned *)&h;
}
template <> inline __device__ unsigned pack<wb_bf16>(float low, float high)
{
    __nv_bfloat162 h = __floats2bfloat162_rn(low, high);
    return *(unsigned *)&h;
}

#ifndef __CUDACPU__ /* ---- a card of compute capability 8.0 or later ------------------ */

/* Where PTX wants it: the 32-bit address of something in shared memory. */
static __device__ inline unsigned shared_address(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

template <typename E>
static __device__ inline void
multiply_add(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1);
#define MULTIPLY_ADD(E, name)                                                            \
    template <>                                                                          \
    inline __device__ void multiply_add<E>(                                              \
        float(&c)[4], const unsigned(&a)[4], unsigned b0, unsigned b1)                   \
    {                                                                                    \
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." name "." name ".f32 "      \
                     "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"             \
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                    \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));    \
    }
MULTIPLY_ADD(wb_f16, "f16")
MULTIPLY_ADD(wb_bf16, "bf16")
#undef MULTIPLY_ADD

static __device__ inline void load_matrices(unsigned (&r)[4], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row))
                 : "memory");
}
static __device__ inline void load_matrices_transposed(unsigned (&r)[4], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row))
                 : "memory");
}

/* Begins a copy of 16 bytes past the L1, or of 16 zero bytes if !valid (`from` is then not
 * read, but must be an address of device memory). A thread's copies since its last
 * copy_commit form a group; copy_wait<N> waits until no more than its N last groups are
 * under way. What other threads copied is there after a __syncthreads behind the wait. */
static __device__ inline void copy_async(void *shared, const void *from, bool valid)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(shared_address(shared)), "l"(from), "r"(valid ? 16 : 0)
                 : "memory");
}
static __device__ inline void copy_commit(void)
{
    asm volatile("cp.async.commit_group;" : : : "memory");
}
template <int N> static __device__ inline void copy_wait(void)
{
    asm volatile("cp.async.wait_group %0;" : : "n"(N) : "memory");
}

/* Errs by 2 ulp; what is below 2^-126 becomes 0. exp2f takes four instructions more. */
static __device__ inline float exp2_approximate(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

#else /* ---- the CPU back end --------------------------------------------------------- */
#include <string.h>

/* What a lane brings to a meeting of the warp: pointers to its registers. The lane that
 * comes last does the work of all. */
struct warp_operands {
    float *c;
    const unsigned *a, *b;
    unsigned *r;
    const void *row;
};
static inline void meet(warp_operands mine, wbcpu_together work)
{
    wbcpu_collective(WBCPU_OP_CALL, ~0u, (uint64_t)(uintptr_t)&mine, (uint64_t)work);
}

static inline void widen_all(float *out, const uint16_t *in, int n, wb_f16)
{
    for (int i = 0; i < n; i++)
        out[i] = wbcpu::half_to_float_soft(in[i]);
}
static inline void widen_all(float *out, const uint16_t *in, int n, wb_bf16)
{
    for (int i = 0; i < n; i++)
        out[i] = __uint_as_float((unsigned)in[i] << 16);
}

template <typename E> void multiply_together(uint64_t value[32], unsigned)
{
    uint16_t raw_a[16][16], raw_b[8][16];  // b by columns
    float a[16][16], b[8][16], rows_b[16][8], c[16][8];
    for (int lane = 0; lane < 32; lane++) {
        const warp_operands *w = (const warp_operands *)value[lane];
        int row = lane / 4, col = lane % 4 * 2;
        for (int i = 0; i < 4; i++)
            memcpy(&raw_a[row + i % 2 * 8][col + i / 2 * 8], &w->a[i], 4);
        for (int i = 0; i < 2; i++) {
            memcpy(&raw_b[row][col + i * 8], &w->b[i], 4);
            memcpy(&c[row + i * 8][col], &w->c[2 * i], 8);
        }
    }
    widen_all(&a[0][0], &raw_a[0][0], 256, E());
    widen_all(&b[0][0], &raw_b[0][0], 128, E());
    for (int k = 0; k < 16; k++)
        for (int n = 0; n < 8; n++)
            rows_b[k][n] = b[n][k];
    for (int m = 0; m < 16; m++)
        for (int k = 0; k < 16; k++)
            for (int n = 0; n < 8; n++)
                c[m][n] += a[m][k] * rows_b[k][n];
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < 2; i++)
            memcpy(
                &((const warp_operands *)value[lane])->c[2 * i],
                &c[lane / 4 + i * 8][lane % 4 * 2], 8);
}
template <typename E>
static inline void
multiply_add(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1)
{
    unsigned b[2] = {b0, b1};
    meet({c, a, b, NULL, NULL}, multiply_together<E>);
}

template <bool TRANSPOSED> void load_together(uint64_t value[32], unsigned)
{
    for (int lane = 0; lane < 32; lane++)
        for (int m = 0; m < 4; m++) {
            int row = lane / 4, col = lane % 4 * 2;
            uint16_t two[2];
            for (int i = 0; i < 2; i++) {
                int named = TRANSPOSED ? col + i : row;
                auto w = (const warp_operands *)value[8 * m + named];
                two[i] = ((const uint16_t *)w->row)[TRANSPOSED ? row : col + i];
            }
            memcpy(&((const warp_operands *)value[lane])->r[m], two, 4);
        }
}
static inline void load_matrices(unsigned (&r)[4], const void *row)
{
    meet({NULL, NULL, NULL, r, row}, load_together<false>);
}
static inline void load_matrices_transposed(unsigned (&r)[4], const void *row)
{
    meet({NULL, NULL, NULL, r, row}, load_together<true>);
}

static inline void copy_async(void *shared, const void *from, bool valid)
{
    if (valid)
        memcpy(shared, from, 16);
    else
        memset(shared, 0, 16);
}
static inline void copy_commit(void) {}
template <int N> static inline void copy_wait(void) {}

static inline float exp2_approximate(float x)
{
    return exp2f(x);
}
#endif
#endif
