// handshakes.cu - correct: blocks and warps that synchronize through atomics,
// __threadfence and volatile flags. A tool that knows only barriers reports races here;
// they are false.
#include <cuda/atomic>

#include "../cases.h"

// The last block to finish adds the sums of all blocks.
__global__ void last_block(float *out, float *partial, unsigned *finished)
{
    __shared__ bool last;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    partial[i] = (float)i;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last = atomicAdd(finished, 1) == gridDim.x - 1;
    __syncthreads();
    if (!last) return;
    __threadfence();
    float sum = 0;
    for (unsigned b = 0; b < gridDim.x; b++)
        sum += partial[b * blockDim.x + threadIdx.x];
    out[threadIdx.x] = sum;
    if (threadIdx.x == 0) *finished = 0;  // for the next launch
}
CASE(last_block)
{
    float *out = zeros<float>(64), *partial = unwritten<float>(8 * 64);
    unsigned *finished = zeros<unsigned>(1);
    for (int run = 0; run < 2; run++)
        last_block<<<8, 64>>>(out, partial, finished);
    return differs(out, 64, [](int i) { return 8 * i + 64 * 28; });
}

// atomicInc wraps to 0. One thread per block takes part.
__global__ void last_block_inc(int *out, int *partial, unsigned *finished)
{
    if (threadIdx.x != 0) return;
    partial[blockIdx.x] = 3 * blockIdx.x;
    __threadfence();
    if (atomicInc(finished, gridDim.x - 1) != gridDim.x - 1) return;
    __threadfence();
    int sum = 0;
    for (unsigned b = 0; b < gridDim.x; b++)
        sum += ((volatile int *)partial)[b];
    *out += sum;
}
CASE(last_block_inc)
{
    int *out = zeros<int>(1), *partial = unwritten<int>(10);
    unsigned *finished = zeros<unsigned>(1);
    for (int run = 0; run < 3; run++)
        last_block_inc<<<10, 32>>>(out, partial, finished);
    return differs(out, 1, [](int) { return 3 * 135; });
}

// Decoupled look-back: a scan in one pass. Blocks take numbers when they start, so a
// block waits only for blocks that run. State and value share 64 bits.
__global__ void
look_back(int *y, const int *x, unsigned long long *state, unsigned *tickets)
{
    __shared__ int s[32], before;
    __shared__ unsigned ticket;
    int t = threadIdx.x;
    if (t == 0) ticket = atomicAdd(tickets, 1);
    __syncthreads();
    int v = x[ticket * 32 + t];
    for (int d = 1; d < 32; d *= 2) {
        int left = __shfl_up_sync(0xffffffff, v, d);
        if (t >= d) v += left;
    }
    s[t] = v;
    __syncthreads();
    if (t == 0) {
        unsigned long long sum = s[31];  // state 1: of the block; 2: of all up to it
        atomicExch(&state[ticket], (ticket ? 1ull : 2ull) << 32 | sum);
        int all = 0;
        for (int b = (int)ticket - 1; b >= 0; b--) {
            unsigned long long seen;
            do
                seen = atomicAdd(&state[b], 0ull);
            while (seen >> 32 == 0);
            all += (int)seen;
            if (seen >> 32 == 2) break;
        }
        if (ticket) atomicExch(&state[ticket], 2ull << 32 | (all + sum));
        before = all;
    }
    __syncthreads();
    y[ticket * 32 + t] = before + s[t];
}
CASE(look_back)
{
    int *y = zeros<int>(320), *x = counting<int>(320);
    look_back<<<10, 32>>>(y, x, zeros<unsigned long long>(10), zeros<unsigned>(1));
    return differs(y, 320, [](int i) { return i * (i + 1) / 2; });
}

// Value and flag are separate: a __threadfence between, on both sides.
__global__ void chain(int *value, volatile int *flag, unsigned *tickets)
{
    if (threadIdx.x != 0) return;
    unsigned b = atomicAdd(tickets, 1);
    int sum = 0;
    if (b > 0) {
        while (flag[b - 1] == 0)
            continue;
        __threadfence();
        sum = ((volatile int *)value)[b - 1];
    }
    value[b] = sum + b;
    __threadfence();
    flag[b] = 1;
}
CASE(flag_and_value)
{
    int *value = unwritten<int>(12);
    chain<<<12, 32>>>(value, zeros<int>(12), zeros<unsigned>(1));
    return differs(value, 12, [](int b) { return b * (b + 1) / 2; });
}

__global__ void spin_lock(int *lock, int *count)
{
    if (threadIdx.x != 0) return;
    while (atomicCAS(lock, 0, 1) != 0)
        continue;
    __threadfence();
    *(volatile int *)count = *(volatile int *)count + 1;
    __threadfence();
    atomicExch(lock, 0);
}
CASE(spin_lock)
{
    int *count = zeros<int>(1);
    spin_lock<<<20, 32>>>(zeros<int>(1), count);
    return differs(count, 1, [](int) { return 20; });
}

// Every lane takes the lock: it is released in the branch that has taken it, which works
// since Volta.
__global__ void lock_per_lane(int *lock, int *count)
{
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            __threadfence();
            *(volatile int *)count = *(volatile int *)count + 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}
CASE(lock_per_lane)
{
    int *count = zeros<int>(1);
    lock_per_lane<<<2, 64>>>(zeros<int>(1), count);
    return differs(count, 1, [](int) { return 128; });
}

__global__ void ticket_lock(unsigned *next, unsigned *serving, int *order)
{
    if (threadIdx.x != 0) return;
    unsigned mine = atomicAdd(next, 1);
    while (atomicAdd(serving, 0) != mine)
        continue;
    __threadfence();
    int last = *(volatile int *)order;
    *(volatile int *)order = last + 2;
    __threadfence();
    atomicAdd(serving, 1);
}
CASE(ticket_lock)
{
    int *order = zeros<int>(1);
    ticket_lock<<<16, 32>>>(zeros<unsigned>(1), zeros<unsigned>(1), order);
    return differs(order, 1, [](int) { return 32; });
}

__global__ void float_max(int *bits, const float *x)
{
    float v = x[blockIdx.x * blockDim.x + threadIdx.x];
    int seen = atomicAdd(bits, 0);
    while (v > __int_as_float(seen)) {
        int old = atomicCAS(bits, seen, __float_as_int(v));
        if (old == seen) break;
        seen = old;
    }
}
CASE(float_max)
{
    int *bits = zeros<int>(1);
    float *x = filled<float>(256, [](int i) { return i * 37 % 256; });
    float_max<<<4, 64>>>(bits, x);
    return differs((float *)bits, 1, [](int) { return 255; });
}

// Persistent blocks take items from a counter until none is left.
__global__ void work_queue(int *y, const int *x, int *next, int n)
{
    __shared__ int item;
    for (;;) {
        if (threadIdx.x == 0) item = atomicAdd(next, 1);
        __syncthreads();
        int mine = item;
        __syncthreads();
        if (mine >= n) return;
        y[mine * 32 + threadIdx.x] = 3 * x[mine * 32 + threadIdx.x];
    }
}
CASE(work_queue)
{
    int *y = zeros<int>(320);
    work_queue<<<3, 32>>>(y, counting<int>(320), zeros<int>(1), 10);
    return differs(y, 320, [](int i) { return 3 * i; });
}

// One warp produces, the other polls. racecheck is expected to report s: it does not know
// that the flag orders the accesses.
__global__ void warp_to_warp(int *y)
{
    __shared__ int s[32];
    __shared__ int ready;
    int t = threadIdx.x;
    if (t == 0) ready = 0;
    __syncthreads();
    if (t < 32) {
        s[t] = 5 * t;
        __threadfence_block();
        __syncwarp();
        if (t == 0) atomicExch(&ready, 1);
    } else {
        while (atomicAdd(&ready, 0) == 0)
            continue;
        __threadfence_block();
        y[t - 32] = s[63 - t];
    }
}
CASE(warp_to_warp)
{
    int *y = zeros<int>(32);
    warp_to_warp<<<1, 64>>>(y);
    return differs(y, 32, [](int i) { return 5 * (31 - i); });
}

// The thread that sets the bit first writes the parent: each vertex has one writer.
__global__ void visit(unsigned *visited, int *parent, const int *from, const int *to)
{
    int e = blockIdx.x * blockDim.x + threadIdx.x, v = to[e];
    unsigned bit = 1u << v % 32;
    if (!(atomicOr(&visited[v / 32], bit) & bit)) parent[v] = from[e] % 4;
}
CASE(first_visit)
{
    unsigned *visited = zeros<unsigned>(2);
    int *parent = zeros<int>(64);
    int *to = filled<int>(256, [](int e) { return e % 64; }), *from = counting<int>(256);
    visit<<<4, 64>>>(visited, parent, from, to);
    return differs(parent, 64, [](int v) { return v % 4; });
}

// A linked list: the node belongs to its thread until the head names it, and is read by
// the next kernel.
__global__ void push(int *head, int *next)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    next[node] = atomicExch(head, node);
}
__global__ void length_of(int *length, const int *head, const int *next)
{
    int n = 0;
    for (int node = *head; node >= 0; node = next[node])
        n++;
    *length = n;
}
CASE(linked_list)
{
    int *head = filled<int>(1, [](int) { return -1; }), *next = unwritten<int>(96);
    int *length = zeros<int>(1);
    push<<<3, 32>>>(head, next);
    length_of<<<1, 1>>>(length, head, next);
    return differs(length, 1, [](int) { return 96; });
}

// Atomics of several sizes next to each other
struct totals {
    unsigned count;
    float sum;
    unsigned long long squares;
    int least, most;
};
__global__ void all_totals(totals *s, const int *x)
{
    int v = x[blockIdx.x * blockDim.x + threadIdx.x];
    atomicAdd(&s->count, 1);
    atomicAdd(&s->sum, (float)v);
    atomicAdd(&s->squares, (unsigned long long)(v * v));
    atomicMin(&s->least, v);
    atomicMax(&s->most, v);
}
CASE(atomics_of_sizes)
{
    totals *s = zeros<totals>(1), got;
    all_totals<<<2, 64>>>(s, counting<int>(128));
    cudaMemcpy(&got, s, sizeof got, cudaMemcpyDeviceToHost);
    return got.count != 128 || got.sum != 8128 || got.squares != 690880 ||
           got.least != 0 || got.most != 127;
}

// The last block adds up what all have left in __device__ variables.
__device__ float partial_sums[16];
__device__ unsigned blocks_done;
__device__ bool is_last[16];
__global__ void total_by_last_block(float *total, const float *x)
{
    float sum = x[blockIdx.x * 32 + threadIdx.x];
    for (int d = 16; d; d /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, d);
    if (threadIdx.x == 0) {
        partial_sums[blockIdx.x] = sum;
        __threadfence();
        is_last[blockIdx.x] = atomicInc(&blocks_done, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!is_last[blockIdx.x]) return;
    __threadfence();
    if (threadIdx.x != 0) return;
    *total = 0;
    for (unsigned b = 0; b < gridDim.x; b++)
        *total += partial_sums[b];
}
CASE(last_block_adds_variables)
{
    float *total = zeros<float>(1), *x = counting<float>(16 * 32);
    total_by_last_block<<<16, 32>>>(total, x);
    total_by_last_block<<<16, 32>>>(total, x);
    return differs(total, 1, [](int) { return 511 * 512 / 2; });
}

// Every thread adds to managed memory with atomics; the host reads the sums afterwards.
__managed__ int managed_total;
__global__ void add_to_managed(int *bins)
{
    atomicAdd(&managed_total, 1);
    atomicAdd(&bins[threadIdx.x % 4], 1);
}
CASE(atomics_in_managed_memory)
{
    int *bins;
    cudaMallocManaged((void **)&bins, 4 * sizeof *bins);
    memset(bins, 0, 4 * sizeof *bins);
    add_to_managed<<<4, 32>>>(bins);
    cudaDeviceSynchronize();
    int wrong = managed_total != 128;
    for (int i = 0; i < 4; i++)
        wrong |= bins[i] != 32;
    cudaFree(bins);
    return wrong;
}

// A volatile read, while other lanes of the warp already compare and swap
__global__ void halves_by_cas(unsigned *word)
{
    unsigned add = threadIdx.x % 2 ? 0x10000u : 1u;
    unsigned old = *(volatile unsigned *)word, seen;
    do {
        seen = old;
        old = atomicCAS(word, seen, seen + add);
    } while (old != seen);
}
CASE(halves_by_cas)
{
    unsigned *word = zeros<unsigned>(1);
    halves_by_cas<<<3, 64>>>(word);
    return differs(word, 1, [](int) { return 96u * 0x10001u; });
}

// The usual way to add doubles where atomicAdd could not: atomicCAS notices if the plain read
// found an old value.
__global__ void add_doubles(unsigned long long *sum)
{
    unsigned long long old = *sum, seen;
    do {
        seen = old;
        double next = __longlong_as_double((long long)seen) + 0.5;
        old = atomicCAS(sum, seen, (unsigned long long)__double_as_longlong(next));
    } while (old != seen);
}
CASE(plain_read_before_cas)
{
    unsigned long long *sum = zeros<unsigned long long>(1);
    add_doubles<<<3, 64>>>(sum);
    return differs((double *)sum, 1, [](int) { return 96.0; });
}

// Release and acquire instead of __threadfence: they cover what the warp did before its
// __syncwarp().
__global__ void released(int *y, int *data, int *flag)
{
    cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        data[t] = t;
        __syncwarp();
        if (t == 0) ready.store(1, cuda::memory_order_release);
    } else {
        if (t == 0)
            while (!ready.load(cuda::memory_order_acquire)) {}
        __syncwarp();
        y[t] = data[31 - t];
    }
}
CASE(released)
{
    int *y = zeros<int>(32);
    released<<<2, 32>>>(y, unwritten<int>(32), zeros<int>(1));
    return differs(y, 32, [](int i) { return 31 - i; });
}

// The last block again: the counter is updated with acquire and release.
__global__ void last_block_acq_rel(float *y, float *partial, unsigned *count)
{
    __shared__ bool last;
    int t = threadIdx.x, threads = blockDim.x;
    partial[blockIdx.x * threads + t] = 1;
    __syncthreads();
    if (t == 0) {
        cuda::atomic_ref<unsigned, cuda::thread_scope_device> finished(*count);
        last = finished.fetch_add(1, cuda::memory_order_acq_rel) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    float sum = 0;
    for (unsigned b = 0; b < gridDim.x; b++)
        sum += partial[b * threads + t];
    y[t] = sum;
}
CASE(last_block_acq_rel)
{
    float *y = zeros<float>(64);
    last_block_acq_rel<<<4, 64>>>(y, unwritten<float>(4 * 64), zeros<unsigned>(1));
    return differs(y, 64, [](int) { return 4; });
}
