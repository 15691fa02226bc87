// BEGIN SOLUTION 05.6 (about 120 lines)
/* attention_hopper_tiles.cuh - lab 05, part 05.6: shared memory, rows and GEMMs of the
 * kernel for Hopper (attention_hopper.cuh).
 */
#ifndef ATTENTION_HOPPER_TILES_CUH
#define ATTENTION_HOPPER_TILES_CUH
#include "attention_hopper_parts.cuh"
#include "attention_tensor_softmax.cuh"

/* Head dims up to D are padded to D, with zeros. Each of CONSUMERS warpgroups owns 64 rows.
 * BLOCKS: that share a multiprocessor. */
template <int D_, int CONSUMERS_, int BN_, int BLOCKS_> struct hopper_plan {
    static const int D = D_, CONSUMERS = CONSUMERS_, BN = BN_, BLOCKS = BLOCKS_;
    static const int M = 1;  // 16 rows a warp, for the functions of the softmax
    static const int BM = CONSUMERS * 64, CONSUMER_THREADS = CONSUMERS * WARPGROUP;
    // a block that is alone moves registers to its consumers, which takes a whole
    // warpgroup as the producer; only one thread of it works
    static const int THREADS = CONSUMER_THREADS + (BLOCKS == 1 ? WARPGROUP : WARP);
};

/* What the producer and the consumers share. Each stage has two barriers: copied (full),
 * read (empty). */
template <typename P, typename E> struct alignas(1024) shared_tiles {
    E q[P::BM * P::D], k[STAGES][P::BN * P::D], v[STAGES][P::BN * P::D];
    uint64_t q_full;
    uint64_t k_full[STAGES], k_empty[STAGES], v_full[STAGES], v_empty[STAGES];
};

/* Where tile i of the keys is in the ring of stages; parity flips each time around. */
struct place {
    int stage, parity;
};
static __device__ __forceinline__ place place_of(int i)
{
    return {i % STAGES, i / STAGES & 1};
}

/* --- work --------------------------------------------------------------------------- */

/* How rows and sequences (b, g) become blocks: blockIdx.x and z name the sequence, y the
 * rows. As many sequences as the L2 cache can keep K and V of are neighbours in x. So they
 * run at the same time, first the rows that see the most keys. */
struct hopper_grid {
    dim3 blocks;
    int rows;   // of a block: as many as fit
    int heads;  // of a token in Q's tensor map: those of a group
};

/* What a block works on: rows of sequence b and key head g, and the tiles of keys that
 * they see, from the last to the first: the masked ones come first. */
struct hopper_work {
    int b, g, first_row, last_key, kv_tiles;
};

template <typename P>
static __device__ __forceinline__ hopper_work
hopper_work_of(const sizes &z, int rows, const int *pos)
{
    int sequence = blockIdx.z * gridDim.x + blockIdx.x;
    int b = sequence / z.K, g = sequence % z.K;
    if (b >= z.B) return {b, g, 0, 0, 0};  // the last z may have fewer
    int first_row = (gridDim.y - 1 - blockIdx.y) * rows;
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
#pragma unroll
    for (int d = 0; d < P::D; d += MMA_K) {
        uint64_t a = wgmma_tile<ROW_BYTES>(q + d / PART * P::BM * PART);
        uint64_t b = wgmma_tile<ROW_BYTES>(k + d / PART * P::BN * PART);
        int bytes = d % PART * 2;
        wgmma<E>(flat(s), wgmma_step(a, bytes), wgmma_step(b, bytes), d > 0);
    }
    wgmma_commit();
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
