/* wgmma.cuh - a warpgroup multiplies tiles of shared memory.
 *
 *     wgmma<E>             four warps: D (64,N) += A (64,16) B (16,N), accumulated in float
 *     wgmma_tile<S>        descriptor of a tile in shared memory, with S bytes of swizzle
 *     wgmma_step           descriptor of the part so many bytes further on
 *     wgmma_fence          before the first wgmma with these accumulators, and after
 *                          registers that a wgmma uses were written
 *     wgmma_commit         the wgmma so far form a group
 *     wgmma_wait<G>        until at most G of the newest groups are unfinished
 *     compute_now          arithmetic that must not move to after a wait
 *
 * E is wb_f16 or wb_bf16, N is 16, 32, 64, 80, 96, 128, 192 or 256. All 128 threads of four
 * warps, the first a multiple of 4, call these functions together. wgmma only starts the
 * multiplication:
 *
 *     wgmma_fence(d);                      d: float[N / 2] per thread
 *     for (int k = 0; k < D; k += 16)
 *         wgmma<E>(d, wgmma_step(a, 2 * k), wgmma_step(b, 2 * k), k > 0);
 *     wgmma_commit();
 *     ...                                  anything that touches neither d nor the tiles
 *     wgmma_wait<0>(d);                    now d may be read and the tiles overwritten
 *
 * The last argument of wgmma is false where D = A B overwrites what d held. The registers
 * that wgmma_fence and wgmma_wait name are the ones that the compiler must not touch in
 * between. If it cannot keep them where they are (for example because their index is not
 * known at compile time) it waits after every wgmma and says so: warning C7510. Where
 * wgmma_fence is missing, ptxas adds it, and sometimes a wait: C7519 and C7517.
 *
 * Accumulators: warp w (0 to 3) holds rows 16w to 16w + 15. With  r = 16w + lane/4  and
 * c = 2*(lane%4), column block j of 8 columns lies as C of mma.cuh:
 *
 *     d[4j], d[4j + 1]          row r        columns 8j + c, 8j + c + 1
 *     d[4j + 2], d[4j + 3]      row r + 8    the same columns
 *
 * A may also come from registers: a[0..3] as A of mma.cuh, for this warp's 16 rows. So a
 * pair of column blocks of D, rounded and packed, is an A, as P in P V.
 *
 * Tiles in shared memory: rows of S = 128, 64 or 32 bytes, swizzled as tma_load does it
 * (tma.cuh). Eight rows are a group of 8 * S bytes, which begins at a multiple of them.
 *
 *     K_MAJOR: a row is one m or n, and k is contiguous     MN_MAJOR: a row is one k
 *              (Q, and K in Q K^T)                                    (V in P V)
 *
 *              k 0 ... 63 (S = 128)                         n 0 ... 63     n 64 ... 127
 *         n 0  |---------------|                       k 0  |-----------|  |-----------|
 *         ..   |    group 0    |                       ..   |  group 0  |  |           |
 *         n 7  |---------------|                       k 7  |-----------|  |-----------|
 *         n 8  |    group 1    |                       k 8  |  group 1  |  |           |
 *         ..        8 S bytes further                  ..        (leading bytes further)
 *
 * Either way groups follow one another. One wgmma reads 16 of k: in a K_MAJOR tile these
 * are 32 bytes of each row, so the next 16 begin 32 bytes further on; what is wider than
 * S bytes is another tile. In an MN_MAJOR tile they are two groups, so the next 16 begin
 * 16 * S bytes further on. If N is more than one row holds, the columns after it lie in a
 * tile that begins `leading` bytes further on (for a tile of K rows K * S).
 *
 * wgmma reads shared memory through the async proxy. What tma_load wrote is visible after
 * mbarrier_wait. What ordinary stores wrote is visible after fence_async, called by those
 * who wrote it, and a barrier after that.
 */
#ifndef CUDA_WGMMA_CUH
#define CUDA_WGMMA_CUH
#include "cuda/mbarrier.cuh"

enum wgmma_major { K_MAJOR, MN_MAJOR };

static __device__ __forceinline__ uint64_t wgmma_step(uint64_t tile, int bytes)
{
    return tile + (uint64_t)(bytes >> 4);
}

#ifndef __CUDACPU__

template <int S>
static __device__ __forceinline__ uint64_t wgmma_tile(const void *tile, int leading = 16)
{
    static_assert(S == 128 || S == 64 || S == 32, "bytes of swizzle");
    constexpr uint64_t mode = S == 128 ? 1 : S == 64 ? 2 : 3;
    return (smem_address(tile) & 0x3ffff) >> 4 | (uint64_t)(leading >> 4) << 16 |
           (uint64_t)(8 * S >> 4) << 32 | mode << 62;
}
/* The compiler takes these registers for written here. */
template <int R> static __device__ __forceinline__ void touch_registers(float (&d)[R])
{
#pragma unroll
    for (int i = 0; i < R; i++)
        asm volatile("" : "+f"(d[i])::"memory");
}
/* The compiler may move arithmetic from before a wgmma_wait to after it, where nothing
 * overlaps with it. But it does not move what a branch needs to after the branch. This one
 * is never taken: x is not negative. */
static __device__ __forceinline__ void compute_now(float x)
{
    PTX_SM90A("{\n"
              ".reg .pred p;\n"
              "setp.lt.f32 p, %0, 0f00000000;\n"
              "@!p bra on;\n"
              "wgmma.wait_group.sync.aligned 0;\n"
              "exit;\n"
              "on:\n"
              "}"
              :
              : "f"(x)
              : "memory");
}
template <int... R> static __device__ __forceinline__ void wgmma_fence(float (&...d)[R])
{
    (touch_registers(d), ...);
    PTX_SM90A("wgmma.fence.sync.aligned;" ::: "memory");
}
static __device__ __forceinline__ void wgmma_commit(void)
{
    PTX_SM90A("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int G, int... R>
static __device__ __forceinline__ void wgmma_wait(float (&...d)[R])
{
    PTX_SM90A("wgmma.wait_group.sync.aligned %0;" : : "n"(G) : "memory");
    (touch_registers(d), ...);
}

/* The N / 2 accumulators as text and as operands, 8 at a time */
#define D8(i)                                                                            \
    "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]),          \
        "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
// clang-format off
#define TEXT_16 "%0,%1,%2,%3,%4,%5,%6,%7"
#define TEXT_32 TEXT_16 "," "%8,%9,%10,%11,%12,%13,%14,%15"
#define TEXT_48 TEXT_32 "," "%16,%17,%18,%19,%20,%21,%22,%23"
#define TEXT_64 TEXT_48 "," "%24,%25,%26,%27,%28,%29,%30,%31"
#define TEXT_80 TEXT_64 "," "%32,%33,%34,%35,%36,%37,%38,%39"
#define TEXT_96 TEXT_80 "," "%40,%41,%42,%43,%44,%45,%46,%47"
#define TEXT_112 TEXT_96 "," "%48,%49,%50,%51,%52,%53,%54,%55"
#define TEXT_128 TEXT_112 "," "%56,%57,%58,%59,%60,%61,%62,%63"
#define TEXT_144 TEXT_128 "," "%64,%65,%66,%67,%68,%69,%70,%71"
#define TEXT_160 TEXT_144 "," "%72,%73,%74,%75,%76,%77,%78,%79"
#define TEXT_176 TEXT_160 "," "%80,%81,%82,%83,%84,%85,%86,%87"
#define TEXT_192 TEXT_176 "," "%88,%89,%90,%91,%92,%93,%94,%95"
#define TEXT_208 TEXT_192 "," "%96,%97,%98,%99,%100,%101,%102,%103"
#define TEXT_224 TEXT_208 "," "%104,%105,%106,%107,%108,%109,%110,%111"
#define TEXT_240 TEXT_224 "," "%112,%113,%114,%115,%116,%117,%118,%119"
#define TEXT_256 TEXT_240 "," "%120,%121,%122,%123,%124,%125,%126,%127"
#define OPERANDS_16 D8(0)
#define OPERANDS_32 OPERANDS_16, D8(8)
#define OPERANDS_48 OPERANDS_32, D8(16)
#define OPERANDS_64 OPERANDS_48, D8(24)
#define OPERANDS_80 OPERANDS_64, D8(32)
#define OPERANDS_96 OPERANDS_80, D8(40)
#define OPERANDS_112 OPERANDS_96, D8(48)
#define OPERANDS_128 OPERANDS_112, D8(56)
#define OPERANDS_144 OPERANDS_128, D8(64)
#define OPERANDS_160 OPERANDS_144, D8(72)
#define OPERANDS_176 OPERANDS_160, D8(80)
#define OPERANDS_192 OPERANDS_176, D8(88)
#define OPERANDS_208 OPERANDS_192, D8(96)
#define OPERANDS_224 OPERANDS_208, D8(104)
#define OPERANDS_240 OPERANDS_224, D8(112)
#define OPERANDS_256 OPERANDS_240, D8(120)
// clang-format on
/* x(N, the numbers of the operands after the accumulators) */
#define WGMMA_SHAPES(x)                                                                  \
    x(16, 8, 9, 10, 11, 12, 13, 14) x(32, 16, 17, 18, 19, 20, 21, 22)                    \
        x(64, 32, 33, 34, 35, 36, 37, 38) x(80, 40, 41, 42, 43, 44, 45, 46)              \
            x(96, 48, 49, 50, 51, 52, 53, 54) x(128, 64, 65, 66, 67, 68, 69, 70)         \
                x(192, 96, 97, 98, 99, 100, 101, 102)                                    \
                    x(256, 128, 129, 130, 131, 132, 133, 134)

#define WGMMA_SHARED(N, type, a_, b_, accumulate_, a_major, b_major)                     \
    PTX_SM90A(                                                                           \
        "{\n"                                                                            \
        ".reg .pred p;\n"                                                                \
        "setp.ne.b32 p, %" #accumulate_ ", 0;\n"                                         \
        "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." type "." type " {" TEXT_##N    \
        "}, %" #a_ ", %" #b_ ", p, 1, 1, %" #a_major ", %" #b_major ";\n}"               \
        : OPERANDS_##N                                                                   \
        : "l"(a), "l"(b), "r"((int)accumulate), "n"((int)A_MAJOR), "n"((int)B_MAJOR))
#define WGMMA_REGISTERS(N, type, a0, a1, a2, a3, b_, accumulate_, b_major)               \
    PTX_SM90A("{\n"                                                                      \
              ".reg .pred p;\n"                                                          \
              "setp.ne.b32 p, %" #accumulate_ ", 0;\n"                                   \
              "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." type "." type            \
              " {" TEXT_##N "}, {%" #a0 ", %" #a1 ", %" #a2 ", %" #a3 "}, %" #b_         \
                            ", p, 1, 1, %" #b_major ";\n}"                               \
              : OPERANDS_##N                                                             \
              : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b),                      \
                "r"((int)accumulate), "n"((int)B_MAJOR))

/* A and B from shared memory: descriptors */
template <typename E, wgmma_major A_MAJOR = K_MAJOR, wgmma_major B_MAJOR = K_MAJOR, int R>
static __device__ __forceinline__ void
wgmma(float (&d)[R], uint64_t a, uint64_t b, bool accumulate)
{
    constexpr bool BF16 = std::is_same<E, wb_bf16>::value;
#define SHAPE(N, i0, i1, i2, i3, i4, i5, i6)                                             \
    if constexpr (2 * R == N && BF16) WGMMA_SHARED(N, "bf16", i0, i1, i2, i3, i4);       \
    if constexpr (2 * R == N && !BF16) WGMMA_SHARED(N, "f16", i0, i1, i2, i3, i4);
    WGMMA_SHAPES(SHAPE)
#undef SHAPE
}
/* A from registers */
template <typename E, wgmma_major B_MAJOR = K_MAJOR, int R>
static __device__ __forceinline__ void
wgmma(float (&d)[R], const unsigned (&a)[4], uint64_t b, bool accumulate)
{
    constexpr bool BF16 = std::is_same<E, wb_bf16>::value;
#define SHAPE(N, i0, i1, i2, i3, i4, i5, i6)                                             \
    if constexpr (2 * R == N && BF16)                                                    \
        WGMMA_REGISTERS(N, "bf16", i0, i1, i2, i3, i4, i5, i6);                          \
    if constexpr (2 * R == N && !BF16)                                                   \
        WGMMA_REGISTERS(N, "f16", i0, i1, i2, i3, i4, i5, i6);
    WGMMA_SHAPES(SHAPE)
#undef SHAPE
}
#else
template <int S> WBCPU_INLINE uint64_t wgmma_tile(const void *tile, int leading = 16)
{
    static_assert(S == 128 || S == 64 || S == 32, "bytes of swizzle");
    constexpr uint64_t mode = S == 128 ? 1 : S == 64 ? 2 : 3;
    return (uint64_t)(uintptr_t)tile >> 4 |
           (uint64_t)(leading >> 4 & 0x3fff) << WBCPU_TILE_LEADING |
           mode << WBCPU_TILE_MODE;
}

template <int... R> WBCPU_INLINE void wgmma_fence([[maybe_unused]] float (&...d)[R])
{
    wbcpu_wgmma_fence();
}
WBCPU_INLINE void wgmma_commit(void)
{
    wbcpu_wgmma_commit();
}
template <int G, int... R> WBCPU_INLINE void wgmma_wait([[maybe_unused]] float (&...d)[R])
{
    wbcpu_wgmma_reads(G);
    wbcpu_collective(WBCPU_OP_CALL, ~0u, G, (uint64_t)wbcpu_wgmma_finish);
}

WBCPU_INLINE void compute_now(float) {}

WBCPU_INLINE void start_wgmma(wbcpu_wgmma own)
{
    wbcpu_run_together(~0u, &own, wbcpu_wgmma_start);
}
template <typename E, wgmma_major A_MAJOR = K_MAJOR, wgmma_major B_MAJOR = K_MAJOR, int R>
WBCPU_INLINE void wgmma(float (&d)[R], uint64_t a, uint64_t b, bool accumulate)
{
    start_wgmma(
        {d, NULL, a, b, 2 * R, std::is_same<E, wb_bf16>::value, A_MAJOR == K_MAJOR,
         B_MAJOR == K_MAJOR, accumulate});
}
template <typename E, wgmma_major B_MAJOR = K_MAJOR, int R>
WBCPU_INLINE void
wgmma(float (&d)[R], const unsigned (&a)[4], uint64_t b, bool accumulate)
{
    start_wgmma(
        {d, a, 0, b, 2 * R, std::is_same<E, wb_bf16>::value, true, B_MAJOR == K_MAJOR,
         accumulate});
}
#endif
#endif
