/* hopper.h - the library's half of the twins of cuda/hopper.cuh. They do nothing earlier
 * than a GPU has to: a tile that TMA copies arrives when no thread can continue without
 * it, a store reads shared memory when its thread waits for it, and wgmma multiplies
 * when its warp waits. A program that uses data too early gets wrong data.
 */
#ifndef WBCPU_HOPPER_H
#define WBCPU_HOPPER_H

#include "execution.h"

enum { WBCPU_TENSOR_DIMS = 4 };

/* The tensor map of this back end */
struct alignas(16) tensor_map {
    char *base;
    int dims;    /* 0: never filled */
    int element; /* bytes */
    int swizzle; /* 128, 64, 32 bytes or 0 */
    unsigned box[WBCPU_TENSOR_DIMS];
    size_t size[WBCPU_TENSOR_DIMS];
    size_t stride[WBCPU_TENSOR_DIMS]; /* bytes */
};

/* The running thread's part of one wgmma: m64nNk16. */
struct wbcpu_wgmma {
    float *d;          /* n / 2 */
    const unsigned *a; /* 4 registers, or NULL: tile_a */
    uint64_t tile_a, tile_b;
    int n;
    bool bf16, a_by_k, b_by_k; /* by k: K-major */
    bool accumulate;
};

/* A tile's descriptor: address / 16 (48 bits; 64-bit Arm needs 44), leading / 16 (14
 * bits), the GPU's code of the swizzle (2 bits). On a GPU the address has 14 bits; a
 * stride fills the rest. */
constexpr int WBCPU_TILE_LEADING = 48, WBCPU_TILE_MODE = 62;

extern "C" {
/* Waits until the current phase has another parity. */
void wbcpu_mbarrier_park(uint64_t *barrier, int parity);
[[noreturn]] void wbcpu_mbarrier_misused(const char *what);
void wbcpu_named_barrier(int id, int threads, bool wait);
/* The barrier of a tile of 64, 128, 256 or 512 threads (cooperative groups) */
void wbcpu_tile_barrier(int tile, int threads);

/* blocks: bit r: into the block of rank r; 0: only into this one */
void wbcpu_tma_load(
    void *smem, const tensor_map *map, uint64_t *barrier, unsigned blocks,
    const int *coordinates, int dims);
void wbcpu_tma_store(
    const tensor_map *map, const void *smem, const int *coordinates, int dims);
void wbcpu_tma_load_bytes(void *smem, const void *gmem, int bytes, uint64_t *barrier);
void wbcpu_tma_store_bytes(void *gmem, const void *smem, int bytes);
void wbcpu_tma_commit(void);
void wbcpu_tma_wait(int newest); /* of the running thread's groups */
void wbcpu_fence_async(void);

/* wbcpu_together: value[l] is lane l's wbcpu_wgmma, or for finish the number of groups
 * that may remain */
void wbcpu_wgmma_start(uint64_t value[32], unsigned lanes);
void wbcpu_wgmma_finish(uint64_t value[32], unsigned lanes);
void wbcpu_wgmma_fence(void);
void wbcpu_wgmma_commit(void);

int wbcpu_cluster_rank(void);
void wbcpu_cluster_dims(dim3 *blocks); /* in each dimension */
void wbcpu_cluster_arrive(void);
void wbcpu_cluster_wait(void);
void *wbcpu_cluster_map(void *p, int rank);
unsigned wbcpu_cluster_rank_of(const void *p); /* whose shared memory this is */
void wbcpu_cluster_touched(void); /* another block may be able to continue */
void wbcpu_cluster_sent(void);    /* the same, and st_async needs a cluster */
}

#endif
