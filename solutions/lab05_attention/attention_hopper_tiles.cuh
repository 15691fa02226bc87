// BEGIN SOLUTION 05.6 (about 120 lines)
/* attention_hopper_tiles.cuh - lab 05, part 05.6: shared memory, rows and GEMMs of the
 * kernel for Hopper (attention_hopper.cuh).
 */
#ifndef ATTENTION_HOPPER_TILES_CUH
#define ATTENTION_HOPPER_TILES_CUH
#include "attention_hopper_parts.cuh"
#include "attention_tensor_softmax.cuh"

/* Head dims up to D are padded to D, with zeros. Each of CONSUMERS warpgroups owns 64 rows.
 * BLOCKS: that share a multiprocessor. ALL_TILES: see hopper_grid */
template <int D_, int CONSUMERS_, int BN_, int BLOCKS_, bool ALL_TILES_ = false>
struct hopper_plan {
    static const bool ALL_TILES = ALL_TILES_;
    static const int D = D_, CONSUMERS = CONSUMERS_, BN = BN_, BLOCKS = BLOCKS_;
    static const int M = 1;  // 16 rows a warp, for the functions of the softmax
    static const int BM = CONSUMERS * 64, CONSUMER_THREADS = CONSUMERS * WARPGROUP;
    // a block that is alone moves registers to its consumers, which takes a whole
    // warpgroup as the producer; only one thread of it works
    static const int THREADS = CONSUMER_THREADS + (BLOCKS == 1 ? WARPGROUP : WARP);
    static const int Q_STAGES = D > 128 ? 1 : 2;  // D = 256: no room for another
};

/* What the producer and the consumers share. Each stage has two barriers: copied (full),
 * read (empty). */
template <typename P, typename E> struct alignas(1024) shared_tiles {
    E q[P::Q_STAGES][P::BM * P::D], k[STAGES][P::BN * P::D], v[STAGES][P::BN * P::D];
    uint64_t q_full[P::Q_STAGES], q_empty[P::Q_STAGES];
    uint64_t k_full[STAGES], k_empty[STAGES], v_full[STAGES], v_empty[STAGES];
};

/* --- work --------------------------------------------------------------------------- */

/* How rows and sequences (b, g) become blocks: blockIdx.x and z name the sequence, y the
 * rows. As many sequences as the L2 cache can keep K and V of are neighbours in x. So they
 * run at the same time, first the rows that see the most keys. Where short sequences fill
 * the GPU once (ALL_TILES), each has one block for all tiles of rows, which loads the next
 * tile while it computes. The first rows then come first: they need few keys, so each next
 * tile loads some more. */
struct hopper_grid {
    dim3 blocks;
    int tiles;  // of rows
    int rows;   // of a tile: as many as fit
    int heads;  // of a token in Q's tensor map: those of a group
};

/* What a block works on: rows of sequence b and key head g, and the tiles of keys that
 * they see, from the last to the first: the masked ones come first. */
struct hopper_work {
    int b, g, first_row, last_key, kv_tiles;
};

template <typename P>
static __device__ __forceinline__ hopper_work
hopper_work_of(const sizes &z, int rows, const int *pos, int tile)
{
    int sequence = blockIdx.z * gridDim.x + blockIdx.x;
    int b = sequence / z.K, g = sequence % z.K;
    int first_row = tile * rows;
    int first = row_info_of(pos, z, b, g, first_row).first;
    int last = row_info_of(pos, z, b, g, first_row + rows - 1).last;
    return {b, g, first_row, last / P::BN * P::BN, last / P::BN + 1 - first / P::BN};
}

/* Zeros in the rows of Q that no copy writes, where a block has fewer than BM */
template <typename P, typename E>
static __device__ __forceinline__ void clear_rows(E *q, int rows)
{
    const int CHUNKS = PART / CHUNK;
    for (int part = 0; part < P::D / PART; part++) {
        uint4 *to = (uint4 *)(q + part * P::BM * PART);
        for (int i = rows * CHUNKS + threadIdx.x; i < P::BM * CHUNKS;
             i += P::CONSUMER_THREADS)
            to[i] = make_uint4(0, 0, 0, 0);
    }
    fence_async();  // visible to wgmma
}

/* --- GEMMs -------------------------------------------------------------------------- */

/* The registers of a fragment in the order of wgmma */
template <int N8>
static __device__ __forceinline__ float (&flat(float (&c)[1][N8][4]))[N8 * 4]
{
    return reinterpret_cast<float(&)[N8 * 4]>(c);
}

/* Starts S (64,BN) = Q K^T, for 64 rows of Q. */
template <typename P, typename E>
static __device__ __forceinline__ void
start_qk(float (&s)[1][P::BN / 8][4], const E *q, const E *k)
{
    wgmma_fence(flat(s));
    start_abt<E, P::D, P::BM, P::BN>(flat(s), q, k);
}

/* Starts O (64,D) += P V. */
template <typename P, typename E>
static __device__ __forceinline__ void
start_pv(float (&o)[1][P::D / 8][4], const unsigned (&p)[P::BN / MMA_K][4], const E *v)
{
    wgmma_fence(flat(o));
    start_ab<E, P::BN>(flat(o), p, v);
}

/* --- results ------------------------------------------------------------------------ */

/* Row `half` of this lane's two, from the registers: 64 bytes at a time */
template <typename P, typename E>
static __device__ __forceinline__ void
store_row(E *out, const float (&o)[P::D / 8][4], int half, bool valid, int D)
{
    int lane = threadIdx.x % 4;
#pragma unroll
    for (int n = 0; n < P::D / 8; n += 4) {
        unsigned w[4];
#pragma unroll
        for (int i = 0; i < 4; i++)
            w[i] = pack2<E>(o[n + i][2 * half], o[n + i][2 * half + 1]);
        transpose_quad(w);
        if (valid && (n + lane) * CHUNK < D)
            *(uint4 *)(out + (n + lane) * CHUNK) = make_uint4(w[0], w[1], w[2], w[3]);
    }
}
#endif
// END SOLUTION
