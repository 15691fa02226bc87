/* cluster.cu - cuda/cluster.cuh, multicast, st_async, named barriers, setmaxnreg,
 * elect_one. */
#include "hopper.h"

/* Each block adds up the values of all blocks of its cluster and writes to the next one. */
__global__ void exchange(int *out, int blocks)
{
    __shared__ int mine[32], from_left[32];
    extern __shared__ int dynamic[];
    int t = threadIdx.x, rank = cluster_rank(), sum = 0;
    mine[t] = (int)blockIdx.x * 100 + t;
    dynamic[t] = 2 * mine[t];
    cluster_sync();  // every block has written
    for (int r = 0; r < blocks; r++)
        sum += cluster_map(mine, r)[t] + *cluster_map(&dynamic[t], r);
    cluster_map(from_left, (rank + 1) % blocks)[t] = rank;
    cluster_sync();  // every block has read and written
    out[blockIdx.x * 32 + t] = sum * 10 + from_left[t];
}
static bool exchange_is_right(int blocks, int clusters)
{
    int count = blocks * clusters, *out = managed<int>((size_t)count * 32);
    launch_cluster(exchange, blocks, dim3(count), dim3(32), 128, 0, out, blocks);
    bool right = finished();
    for (int b = 0; b < count; b++)
        for (int t = 0; t < 32; t++) {
            int sum = 0;
            for (int r = 0; r < blocks; r++)
                sum += 3 * ((b / blocks * blocks + r) * 100 + t);
            int left = (b % blocks + blocks - 1) % blocks;
            right = right && out[b * 32 + t] == sum * 10 + left;
        }
    cudaFree(out);
    return right;
}

/* The barrier in two halves, with barriers of the block between them. `of_block` is declared
 * after the first half, so other blocks may write it before this one gets there. */
static __device__ int add_blocks(int own, int blocks)
{
    __shared__ int of_warp[2];
    int t = threadIdx.x;
    if (t % 32 == 0) of_warp[t / 32] = own;
    __syncthreads();  // both warps have written
    own = of_warp[0] + of_warp[1];
    cluster_wait();  // all blocks run
    __shared__ int of_block[8];
    if (t < blocks) cluster_map(of_block, t)[cluster_rank()] = own;
    cluster_arrive();
    __syncthreads();
    cluster_wait();  // every block has written
    int sum = 0;
    for (int r = 0; r < blocks; r++)
        sum += of_block[r];
    return sum;
}
__global__ void halves(int *out, int blocks)
{
    cluster_arrive();
    int t = threadIdx.x;
    out[blockIdx.x * 64 + t] = add_blocks((int)blockIdx.x * 100 + t / 32, blocks);
}
static bool halves_are_right(int blocks, int clusters)
{
    int count = blocks * clusters, *out = managed<int>((size_t)count * 64);
    launch_cluster(halves, blocks, dim3(count), dim3(64), 0, 0, out, blocks);
    bool right = finished();
    for (int i = 0; i < count * 64; i++) {
        int first = i / 64 / blocks * blocks;  // block of the cluster
        int all = blocks * (2 * first + blocks - 1);
        right = right && out[i] == all * 100 + blocks;
    }
    cudaFree(out);
    return right;
}

/* Block 0 arrives and ends; the others still wait for each other, twice. */
__global__ void leave(int *out)
{
    __shared__ int mine[32];
    int t = threadIdx.x, rank = cluster_rank();
    cluster_arrive();
    if (rank == 0) return;
    cluster_wait();
    mine[t] = 10 * rank + t;
    cluster_sync();
    out[blockIdx.x * 32 + t] = *cluster_map(&mine[t], rank % 3 + 1);
    cluster_sync();
}
static bool leave_is_right(void)
{
    int *out = managed<int>(8 * 32);
    launch_cluster(leave, 4, dim3(8), dim3(32), 0, 0, out);
    bool right = finished();
    for (int i = 0; i < 8 * 32; i++) {
        int rank = i / 32 % 4, from = rank % 3 + 1;
        right = right && out[i] == (rank ? 10 * from + i % 32 : 0);
    }
    cudaFree(out);
    return right;
}

/* Block r loads rows 8r to 8r + 7 of each tile into all blocks. A block may load the next
 * tile when every block has read this one: all arrive at each block's barrier. */
enum { ROWS = 16, COLS = 32, TILES = 3 };
__global__ void share(float *out, const __grid_constant__ tensor_map map)
{
    __shared__ __align__(1024) float tile[ROWS][COLS];
    __shared__ uint64_t full, empty;
    int t = threadIdx.x, rank = cluster_rank();
    float sum = 0.0f;
    if (t == 0) {
        mbarrier_init(&full, 1), mbarrier_init(&empty, 2);
        mbarrier_fence_init();
    }
    cluster_sync();  // the barriers of both blocks are ready
    for (int i = 0; i < TILES; i++) {
        if (t == 0) {
            mbarrier_wait(&empty, (i & 1) ^ 1);
            mbarrier_expect(&full, sizeof tile);
            tma_load_multicast(tile[8 * rank], &map, &full, 3, 0, i * ROWS + 8 * rank);
        }
        mbarrier_wait(&full, i & 1);
        for (int r = 0; r < ROWS; r++)
            sum += (float)(r + 1) * tile[r][t];
        __syncthreads();
        if (t < 2) mbarrier_arrive_remote(&empty, t);
    }
    out[blockIdx.x * 32 + t] = sum;
    cluster_sync();  // no block ends while another one still writes to it
}
static bool share_is_right(void)
{
    float *in = managed<float>(TILES * ROWS * COLS), *out = managed<float>(4 * 32);
    for (int i = 0; i < TILES * ROWS * COLS; i++)
        in[i] = (float)(i % 23);
    tensor_map map;
    bool right =
        make_tensor_map(&map, in, {2, {COLS, TILES * ROWS}, {1, COLS}, {COLS, 8}, 0});
    launch_cluster(share, 2, dim3(4), dim3(32), 0, 0, out, map);
    right = right && finished();
    for (int b = 0; b < 4; b++)
        for (int t = 0; t < 32; t++) {
            float sum = 0.0f;
            for (int r = 0; r < TILES * ROWS; r++)
                sum += (float)(r % ROWS + 1) * in[r * COLS + t];
            right = right && out[b * 32 + t] == sum;
        }
    cudaFree(in), cudaFree(out);
    return right;
}

/* Every block sends to all blocks, round after round. Two sets of boxes take turns: a block
 * that has all of a round may send the next one, and none is two rounds ahead. */
enum { ROUNDS = 5 };
__global__ void send(float2 *out, int blocks)
{
    __shared__ float2 box[2][8];
    __shared__ uint64_t received[2];
    int t = threadIdx.x, rank = cluster_rank();
    if (t < 2) mbarrier_init(&received[t], 1);
    mbarrier_fence_init();
    cluster_sync();  // the barriers of all blocks are ready
    float2 sum = {};
    for (int i = 0; i < ROUNDS; i++) {
        int set = i & 1;
        float2 mine = make_float2((float)(blockIdx.x + i), sum.x);
        if (t < blocks) st_async(&box[set][rank], mine, &received[set], t);
        if (t == 0) mbarrier_expect(&received[set], blocks * 8);
        mbarrier_wait(&received[set], i >> 1 & 1);
        for (int r = 0; r < blocks; r++)
            sum.x += (float)(r + 1) * box[set][r].x, sum.y += box[set][r].y;
        __syncthreads();  // all threads have read the boxes
    }
    if (t == 0) out[blockIdx.x] = sum;
    cluster_sync();  // no block ends while another one still sends to it
}
static bool send_is_right(int blocks, int clusters)
{
    int count = blocks * clusters;
    float2 *out = managed<float2>((size_t)count);
    launch_cluster(send, blocks, dim3(count), dim3(64), 0, 0, out, blocks);
    bool right = finished();
    for (int b = 0; b < count; b++) {
        float x = 0.0f, y = 0.0f;
        for (int i = 0; i < ROUNDS; i++) {
            y += (float)blocks * x;
            for (int r = 0; r < blocks; r++)
                x += (float)((r + 1) * (b / blocks * blocks + r + i));
        }
        right = right && out[b].x == x && out[b].y == y;
    }
    cudaFree(out);
    return right;
}

/* Warps 0 and 1 wait for warp 2 at barrier 1; warps 0 and 1 alone meet at barrier 2. */
__global__ void named(int *out)
{
    __shared__ int data[32], sums[64];
    int t = threadIdx.x;
    if (t >= 64) {
        data[t - 64] = t;
        named_barrier_arrive(1, 96);
        return;
    }
    named_barrier_sync(1, 96);
    sums[t] = data[t % 32] + data[(t + 1) % 32];
    named_barrier_sync(2, 64);
    out[t] = sums[63 - t];
}
static bool named_is_right(void)
{
    int *out = managed<int>(64);
    named<<<1, 96>>>(out);
    bool right = finished();
    for (int t = 0; t < 64; t++) {
        int s = (63 - t) % 32;
        right = right && out[t] == 64 + s + 64 + (s + 1) % 32;
    }
    cudaFree(out);
    return right;
}

/* One warpgroup gives registers to the other; one thread of each warp is elected. */
__global__ void __launch_bounds__(256, 1) unequal(int *out)
{
    __shared__ int elected[8];
    if (threadIdx.x < 128)
        setmaxnreg_dec<40>();
    else
        setmaxnreg_inc<232>();
    if (threadIdx.x % 32 == 0) elected[threadIdx.x / 32] = 0;
    __syncwarp();
    bool me = elect_one();
    if (me) elected[threadIdx.x / 32] += 1;
    __syncwarp();
    out[threadIdx.x] = elected[threadIdx.x / 32] * 2 + __popc(__ballot_sync(~0u, me));
}
static bool unequal_is_right(void)
{
    int *out = managed<int>(256);
    unequal<<<1, 256>>>(out);
    bool right = finished();
    for (int t = 0; t < 256; t++)
        right = right && out[t] == 3;
    cudaFree(out);
    return right;
}

int main(void)
{
    if (!can_run()) return 0;
    for (int blocks : {1, 2, 4, 8, 16})
        tap(exchange_is_right(blocks, 5), "clusters of %d: remote shared memory", blocks);
    for (int blocks : {1, 2, 4, 8})
        tap(halves_are_right(blocks, 3), "clusters of %d: arrive, then wait", blocks);
    tap(leave_is_right(), "clusters of 4: a block that arrives and ends");
    tap(share_is_right(), "clusters of 2: multicast, remote arrivals");
    for (int blocks : {2, 8})
        tap(send_is_right(blocks, 3), "clusters of %d: st_async", blocks);
    tap(named_is_right(), "named barriers");
    tap(unequal_is_right(), "setmaxnreg and elect_one");
    return tap_done();
}
