/* blocks.cpp - the blocks that a worker runs, and in which order.
 *
 * A worker takes a chunk of consecutive blocks at a time. As on a GPU, blocks start in
 * order, but nothing is guaranteed about which blocks run at the same time.
 */
#include "check/host_hooks.h"
#include "include/wbcpu.h"
#include "scheduler.h"

namespace wbcpu
{
/* In a seeded order the i-th block to run is (stride * i + offset) mod blocks. */
static unsigned long long gcd(unsigned long long a, unsigned long long b)
{
    return b ? gcd(b, a % b) : a;
}
static void seed_order(job *j, uint64_t seed)
{
    j->seed = seed;
    unsigned long long n = j->blocks, x = seed * 0x9E3779B97F4A7C15u;
    j->offset = (x >> 17) % n;
    j->stride = (x >> 29) % n;
    while (gcd(j->stride, n) != 1)
        j->stride++;
}
static unsigned long long shuffled(const job *j, unsigned long long i)
{
    unsigned __int128 place = (unsigned __int128)j->stride * i + j->offset;
    return (unsigned long long)(place % j->blocks);
}

uint3 index_of(unsigned long long number, const dim3 &size)
{
    return uint3{
        (unsigned)(number % size.x), (unsigned)(number / size.x % size.y),
        (unsigned)(number / size.x / size.y)};
}
uint3 block_index(const wbcpu_launch &l, unsigned long long number)
{
    const dim3 &c = l.cluster;
    if (c.y * c.z == 1) return index_of(number, l.grid); /* in a row, as in the grid */
    const dim3 clusters(l.grid.x / c.x, l.grid.y / c.y, l.grid.z / c.z);
    uint3 first = index_of(number / l.cluster_blocks(), clusters);
    uint3 rank = index_of(number % l.cluster_blocks(), c);
    return uint3{
        first.x * c.x + rank.x, first.y * c.y + rank.y, first.z * c.z + rank.z};
}

bool next_block(worker *w)
{
    job *j = w->job;
    w->yields = 0;
    check::end_block(w);
    if (j->stopped) return false;
    if (w->async) async_block_ends(w);
    if (w->gang) {
        if (!next_of_gang(w)) return false;
    } else if (++w->block >= w->last_block) {
        if (w->last_block == j->blocks) return false;
        w->block =
            j->alone ? j->first : j->next.fetch_add(j->chunk, std::memory_order_relaxed);
        if (w->block >= j->blocks) return false;
        w->last_block = w->block + j->chunk < j->blocks ? w->block + j->chunk : j->blocks;
    }
    unsigned long long b = j->seed && !w->gang ? shuffled(j, w->block) : w->block;
    blockIdx = block_index(j->launch, b);
    threadIdx = uint3{0, 0, 0};
    w->thread = 0;
    w->sequential = true;
    w->whole_block = false;
    if (__builtin_expect(shared_poisoned, 0)) poison_shared(j);
    check::begin_block(w);
    if (check::enabled && w->gang && !begin_together(w)) return false;
    if (__builtin_expect(w->shuffled, 0)) begin_shuffled_block(w);
    return true;
}

void run_blocks_of(job *j, worker *w, unsigned long long from, unsigned long long to)
{
    wbcpu_self = w;
    const cudaError_t of_host = exchange_last_error(cudaSuccess);
    w->job = j;
    w->threads = j->threads;
    w->shuffled = j->seed != 0;
    w->atomics = 0;
    w->block = from - 1;
    w->last_block = to;
    blockDim = j->launch.block;
    gridDim = j->launch.grid;
    if (shared_poisoned) begin_shared(j);
    if (next_block(w)) wbcpu_switch(&w->host_stack, idle_fiber(w), 0);
    if (shared_poisoned && !j->stopped) check_shared(j);
    w->last_error = exchange_last_error(of_host);
    wbcpu_self = nullptr;
}
void continue_blocks(worker *w, void *stack)
{
    wbcpu_self = w;
    const cudaError_t of_host = exchange_last_error(w->last_error);
    w->yields = 0;
    threadIdx = blockIdx = uint3{0, 0, 0};
    blockDim = gridDim = dim3(1);
    wbcpu_switch(&w->host_stack, stack, 0);
    w->last_error = exchange_last_error(of_host);
    wbcpu_self = nullptr;
}
void run_blocks(void *context, worker *w)
{
    run_blocks_of(static_cast<job *>(context), w, 0, 0);
}
}  // namespace wbcpu
