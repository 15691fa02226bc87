/* tma.cuh - the tensor memory accelerator: one thread copies a whole tile.
 *
 *     make_tensor_map     host: describes a tensor in device memory and the tile to copy
 *     tma_load            starts a copy of one tile into shared memory; arrives on an
 *                         mbarrier as bytes
 *     tma_load_multicast  the same into several blocks of the cluster
 *     tma_store           starts a copy of one tile from shared to device memory
 *     tma_load_bytes, tma_store_bytes      contiguous bytes, without a tensor map
 *     tma_commit, tma_wait, tma_wait_read  the stores of this thread, in groups
 *
 * A tensor has 2 to 4 dimensions. Dimension 0 is contiguous; sizes, strides and
 * coordinates are in elements and begin with it. A tile is a box of the tensor, named by
 * the coordinates of its first element, and lies in shared memory without gaps, dimension
 * 0 innermost. What is out of range of the tensor is loaded as zeros and not stored. Zeros
 * count as bytes, so a tile always has the same number. Coordinate 0 must be a multiple of
 * 16 bytes; coordinates of a load may be negative, those of a store may not. (Otherwise the
 * GPU stops with an illegal instruction.)
 *
 *     size[0] = 6
 *     +-----------------+           box {4, 3} at (4, 1) in shared memory:
 *     | .  .  .  .  .  .|                     a  b  0  0
 *     | .  .  .  .  a  b| 0  0                c  d  0  0
 *     | .  .  .  .  c  d| 0  0                0  0  0  0
 *     +-----------------+
 *       size[1] = 3       0  0
 *
 * Swizzle: the chunks of 16 bytes of a row lie in another order, so that 8 rows of one
 * column lie in different banks. A row of the box then has S bytes, and chunk c of row r
 * lies at chunk c ^ r % 8 if S is 128:
 *
 *     S = 128  row 0   0 1 2 3 4 5 6 7     S = 64   row 0, 1   0 1 2 3   (c ^ r / 2 % 4)
 *              row 1   1 0 3 2 5 4 7 6              row 2, 3   1 0 3 2
 *              row 2   2 3 0 1 6 7 4 5     S = 32   rows 0-3   0 1       (c ^ r / 4 % 2)
 *              ...                                  rows 4-7   1 0
 *
 * For rows of 128 and 64 bytes this is swizzle<D> of mma.cuh, and wgmma reads such tiles.
 * The tile begins at a multiple of 8 * S bytes (without swizzle: 128).
 *
 * Base addresses and strides are multiples of 16 bytes, box sizes at most 256. A thread
 * that writes a tile by ordinary stores calls fence_async before the barrier after which
 * tma_store reads it.
 */
#ifndef CUDA_TMA_CUH
#define CUDA_TMA_CUH
#include "cuda/mbarrier.cuh"

constexpr int TMA_DIMS = 4;
struct tma_tensor {
    int dims;                 // 2 to 4
    size_t size[TMA_DIMS];    // elements
    size_t stride[TMA_DIMS];  // elements; stride[0] is 1
    unsigned box[TMA_DIMS];   // elements of a tile, at most 256
    int swizzle;              // 128, 64, 32 bytes, or 0
};

/* Whether the hardware can copy such tiles */
template <typename E> static bool is_tma_tensor(const E *base, const tma_tensor &t)
{
    size_t row = t.box[0] * sizeof(E);
    bool right = t.dims >= 2 && t.dims <= TMA_DIMS && base && is_aligned(16, base);
    right = right && row % 16 == 0 && (!t.swizzle || row == (size_t)t.swizzle);
    for (int i = 0; right && i < t.dims; i++)
        right = t.size[i] >= 1 && t.size[i] <= (size_t)1 << 32 && t.box[i] >= 1 &&
                t.box[i] <= 256 &&
                (i == 0 || (t.stride[i] * sizeof(E) % 16 == 0 &&
                            t.stride[i] * sizeof(E) < (size_t)1 << 40));
    return right;
}

#ifndef __CUDACPU__
#include <cuda.h>

/* A kernel's parameter is  const __grid_constant__ tensor_map map , and &map is passed to
 * the functions below. */
typedef CUtensorMap tensor_map;

/* The driver's function. Found at run time, because programs do not link with libcuda,
 * which a machine without a GPU lacks. NULL: not available */
static inline decltype(&cuTensorMapEncodeTiled) tensor_map_encoder(void)
{
    static void *found = [] {
        void *f = NULL;
        cudaDriverEntryPointQueryResult result;
#if CUDART_VERSION >= 12050
        cudaError_t e = cudaGetDriverEntryPointByVersion(
            "cuTensorMapEncodeTiled", &f, 12000, cudaEnableDefault, &result);
#else
        cudaError_t e = cudaGetDriverEntryPoint(
            "cuTensorMapEncodeTiled", &f, cudaEnableDefault, &result);
#endif
        return e == cudaSuccess && result == cudaDriverEntryPointSuccess ? f : NULL;
    }();
    return (decltype(&cuTensorMapEncodeTiled))found;
}

template <typename E>
constexpr CUtensorMapDataType tensor_map_type =
    std::is_same<E, float>::value    ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32
    : std::is_same<E, wb_f16>::value ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
                                     : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;

/* false: the tensor cannot be described (see above), or this driver has no TMA. Launchers
 * may call it under stream capture. */
template <typename E>
static bool make_tensor_map(tensor_map *map, const E *base, const tma_tensor &t)
{
    auto encode = tensor_map_encoder();
    if (!encode || !is_tma_tensor(base, t)) return false;
    cuuint64_t size[TMA_DIMS],
        bytes[TMA_DIMS];  // bytes[i]: the stride of dimension i + 1
    cuuint32_t step[TMA_DIMS];
    for (int i = 0; i < t.dims; i++) {
        size[i] = t.size[i], step[i] = 1;
        if (i > 0) bytes[i - 1] = t.stride[i] * sizeof(E);
    }
    CUtensorMapSwizzle swizzle = t.swizzle == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
                                 : t.swizzle == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                                 : t.swizzle == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                                                   : CU_TENSOR_MAP_SWIZZLE_NONE;
    return encode(
               map, tensor_map_type<E>, (cuuint32_t)t.dims, (void *)base, size, bytes,
               t.box, step, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
               CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

/* Loads the map itself early. */
static __device__ __forceinline__ void tma_prefetch(const tensor_map *map)
{
    PTX_SM90A("prefetch.tensormap [%0];" : : "l"(map) : "memory");
}

/* coord: 2 to 4 of them, dimension 0 first */
#define TMA_LOAD(dims, coords, ...)                                                      \
    PTX_SM90A("cp.async.bulk.tensor." dims "d.shared::cluster.global.mbarrier::"         \
              "complete_tx::bytes [%0], [%1, {" coords "}], [%2];"                       \
              :                                                                          \
              : "r"(smem_address(smem)), "l"(map), "r"(smem_address(b)), __VA_ARGS__     \
              : "memory")
template <typename... C>
static __device__ __forceinline__ void
tma_load(void *smem, const tensor_map *map, uint64_t *b, C... coord)
{
    static_assert(sizeof...(C) >= 2 && sizeof...(C) <= 4, "2 to 4 coordinates");
    const int c[] = {(int)coord...};
    if constexpr (sizeof...(C) == 2)
        TMA_LOAD("2", "%3, %4", "r"(c[0]), "r"(c[1]));
    else if constexpr (sizeof...(C) == 3)
        TMA_LOAD("3", "%3, %4, %5", "r"(c[0]), "r"(c[1]), "r"(c[2]));
    else
        TMA_LOAD("4", "%3, %4, %5, %6", "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
}
#undef TMA_LOAD

/* Into every block of the cluster whose bit of `blocks` is set, in each at the place of
 * smem, with its bytes counted on the barrier in the place of b */
#define TMA_MULTICAST(dims, coords, ...)                                                 \
    PTX_SM90A("cp.async.bulk.tensor." dims "d.shared::cluster.global.mbarrier::"         \
              "complete_tx::bytes.multicast::cluster [%0], [%1, {" coords                \
              "}], [%2], %3;"                                                            \
              :                                                                          \
              : "r"(smem_address(smem)), "l"(map), "r"(smem_address(b)),                 \
                "h"((unsigned short)blocks), __VA_ARGS__                                 \
              : "memory")
template <typename... C>
static __device__ __forceinline__ void tma_load_multicast(
    void *smem, const tensor_map *map, uint64_t *b, unsigned blocks, C... coord)
{
    static_assert(sizeof...(C) >= 2 && sizeof...(C) <= 4, "2 to 4 coordinates");
    const int c[] = {(int)coord...};
    if constexpr (sizeof...(C) == 2)
        TMA_MULTICAST("2", "%4, %5", "r"(c[0]), "r"(c[1]));
    else if constexpr (sizeof...(C) == 3)
        TMA_MULTICAST("3", "%4, %5, %6", "r"(c[0]), "r"(c[1]), "r"(c[2]));
    else
        TMA_MULTICAST("4", "%4, %5, %6, %7", "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
}
#undef TMA_MULTICAST

#define TMA_STORE(dims, coords, ...)                                                     \
    PTX_SM90A("cp.async.bulk.tensor." dims "d.global.shared::cta.bulk_group "            \
              "[%0, {" coords "}], [%1];"                                                \
              :                                                                          \
              : "l"(map), "r"(smem_address(smem)), __VA_ARGS__                           \
              : "memory")
template <typename... C>
static __device__ __forceinline__ void
tma_store(const tensor_map *map, const void *smem, C... coord)
{
    static_assert(sizeof...(C) >= 2 && sizeof...(C) <= 4, "2 to 4 coordinates");
    const int c[] = {(int)coord...};
    if constexpr (sizeof...(C) == 2)
        TMA_STORE("2", "%2, %3", "r"(c[0]), "r"(c[1]));
    else if constexpr (sizeof...(C) == 3)
        TMA_STORE("3", "%2, %3, %4", "r"(c[0]), "r"(c[1]), "r"(c[2]));
    else
        TMA_STORE("4", "%2, %3, %4, %5", "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
}
#undef TMA_STORE

/* Addresses and bytes are multiples of 16. */
static __device__ __forceinline__ void
tma_load_bytes(void *smem, const void *gmem, int bytes, uint64_t *b)
{
    PTX_SM90A("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
              "[%0], [%1], %2, [%3];"
              :
              : "r"(smem_address(smem)), "l"(gmem), "r"(bytes), "r"(smem_address(b))
              : "memory");
}
static __device__ __forceinline__ void
tma_store_bytes(void *gmem, const void *smem, int bytes)
{
    PTX_SM90A("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
              :
              : "l"(gmem), "r"(smem_address(smem)), "r"(bytes)
              : "memory");
}

/* The stores of a thread since its last tma_commit form a group. tma_wait<N> waits until
 * at most N of its newest groups are unfinished; tma_wait_read<N> until all but those
 * have read their tile, which may then be overwritten. */
static __device__ __forceinline__ void tma_commit(void)
{
    PTX_SM90A("cp.async.bulk.commit_group;" ::: "memory");
}
template <int N> static __device__ __forceinline__ void tma_wait(void)
{
    PTX_SM90A("cp.async.bulk.wait_group %0;" : : "n"(N) : "memory");
}
template <int N> static __device__ __forceinline__ void tma_wait_read(void)
{
    PTX_SM90A("cp.async.bulk.wait_group.read %0;" : : "n"(N) : "memory");
}
#else
template <typename E>
static bool make_tensor_map(tensor_map *map, const E *base, const tma_tensor &t)
{
    *map = {};
    if (!is_tma_tensor(base, t)) return false;
    *map = {(char *)base, t.dims, (int)sizeof(E), t.swizzle, {}, {}, {}};
    for (int i = 0; i < t.dims; i++) {
        map->box[i] = t.box[i];
        map->size[i] = t.size[i];
        map->stride[i] = t.stride[i] * sizeof(E);
    }
    return true;
}
WBCPU_INLINE void tma_prefetch(const tensor_map *) {}

template <typename... C>
WBCPU_INLINE void tma_load(void *smem, const tensor_map *map, uint64_t *b, C... coord)
{
    const int c[] = {(int)coord...};
    wbcpu_tma_load(smem, map, b, 0, c, sizeof...(C));
}
template <typename... C>
WBCPU_INLINE void tma_load_multicast(
    void *smem, const tensor_map *map, uint64_t *b, unsigned blocks, C... coord)
{
    const int c[] = {(int)coord...};
    wbcpu_tma_load(smem, map, b, blocks, c, sizeof...(C));
}
template <typename... C>
WBCPU_INLINE void tma_store(const tensor_map *map, const void *smem, C... coord)
{
    const int c[] = {(int)coord...};
    wbcpu_tma_store(map, smem, c, sizeof...(C));
}
WBCPU_INLINE void tma_load_bytes(void *smem, const void *gmem, int bytes, uint64_t *b)
{
    wbcpu_tma_load_bytes(smem, gmem, bytes, b);
}
WBCPU_INLINE void tma_store_bytes(void *gmem, const void *smem, int bytes)
{
    wbcpu_tma_store_bytes(gmem, smem, bytes);
}
WBCPU_INLINE void tma_commit(void)
{
    wbcpu_tma_commit();
}
template <int N> WBCPU_INLINE void tma_wait(void)
{
    wbcpu_tma_wait(N);
}
template <int N> WBCPU_INLINE void tma_wait_read(void)
{
    wbcpu_tma_wait(N);
}
#endif
#endif
