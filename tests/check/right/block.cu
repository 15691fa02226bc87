// block.cu - correct: barriers and shared memory.
#include "../cases.h"

__global__ void tree(float *out, const float *x)
{
    __shared__ float s[256];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (int n = 128; n > 0; n /= 2) {
        if (t < n) s[t] += s[t + n];
        __syncthreads();
    }
    if (t == 0) *out = s[0];
}
CASE(tree)
{
    float *out = zeros<float>(1);
    tree<<<1, 256>>>(out, counting<float>(256));
    return differs(out, 1, [](int) { return 255 * 128; });
}

// The barrier at the start protects the slots from the previous call.
__device__ int block_sum(int v, int *sums)
{
    v = __reduce_add_sync(0xffffffff, v);
    __syncthreads();
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = v;
    __syncthreads();
    return sums[0] + sums[1] + sums[2] + sums[3];
}
__global__ void sum_and_squares(int *y, const int *x)
{
    __shared__ int sums[4];
    int v = x[threadIdx.x], sum = block_sum(v, sums);
    y[threadIdx.x] = sum + block_sum(v * v, sums);
}
CASE(block_sum_twice)
{
    int *y = zeros<int>(128);
    sum_and_squares<<<1, 128>>>(y, counting<int>(128));
    return differs(y, 128, [](int) { return 8128 + 690880; });
}

// Each step reads one buffer and writes the other: one barrier per step.
__global__ void scan_two_buffers(int *y, const int *x)
{
    __shared__ int s[2][128];
    int t = threadIdx.x, now = 0;
    s[0][t] = x[t];
    for (int d = 1; d < 128; d *= 2) {
        __syncthreads();
        s[1 - now][t] = s[now][t] + (t >= d ? s[now][t - d] : 0);
        now = 1 - now;
    }
    y[t] = s[now][t];
}
CASE(scan_two_buffers)
{
    int *y = zeros<int>(128);
    scan_two_buffers<<<1, 128>>>(y, filled<int>(128, [](int) { return 1; }));
    return differs(y, 128, [](int i) { return i + 1; });
}

__global__ void scan_in_place(int *y, const int *x)
{
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (int d = 1; d < 128; d *= 2) {
        int left = t >= d ? s[t - d] : 0;
        __syncthreads();
        s[t] += left;
        __syncthreads();
    }
    y[t] = s[t];
}
CASE(scan_in_place)
{
    int *y = zeros<int>(128);
    scan_in_place<<<1, 128>>>(y, filled<int>(128, [](int) { return 1; }));
    return differs(y, 128, [](int i) { return i + 1; });
}

// Work-efficient: threads that have nothing to do go on to the barrier.
__global__ void scan_up_down(int *y, const int *x)
{
    __shared__ int s[64];
    int t = threadIdx.x;
    s[2 * t] = x[2 * t], s[2 * t + 1] = x[2 * t + 1];
    for (int d = 1; d < 64; d *= 2) {
        __syncthreads();
        int i = (2 * t + 2) * d - 1;
        if (i < 64) s[i] += s[i - d];
    }
    for (int d = 16; d > 0; d /= 2) {
        __syncthreads();
        int i = (2 * t + 3) * d - 1;
        if (i < 64) s[i] += s[i - d];
    }
    __syncthreads();
    y[2 * t] = s[2 * t], y[2 * t + 1] = s[2 * t + 1];
}
CASE(scan_up_down)
{
    int *y = zeros<int>(64);
    scan_up_down<<<1, 32>>>(y, counting<int>(64));
    return differs(y, 64, [](int i) { return i * (i + 1) / 2; });
}

__global__ void transpose(float *out, const float *in, int rows, int cols)
{
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int r = 0; r < 32; r += 8)
        if (x < cols && y + r < rows)
            tile[threadIdx.y + r][threadIdx.x] = in[(y + r) * cols + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
    for (int r = 0; r < 32; r += 8)
        if (x < rows && y + r < cols)
            out[(y + r) * rows + x] = tile[threadIdx.x][threadIdx.y + r];
}
CASE(transpose)
{
    float *in = counting<float>(40 * 70), *out = zeros<float>(70 * 40);
    transpose<<<dim3(3, 2), dim3(32, 8)>>>(out, in, 40, 70);
    return differs(out, 70 * 40, [](int i) { return i % 40 * 70 + i / 40; });
}

// Whole warps leave before the barrier of the others.
__global__ void warps_leave(int *y, int warps)
{
    __shared__ int s[128];
    int t = threadIdx.x;
    if (t / 32 >= warps) return;
    s[t] = t;
    __syncthreads();
    y[t] = s[warps * 32 - 1 - t];
}
CASE(warps_leave_before)
{
    int *y = zeros<int>(96);
    warps_leave<<<1, 128>>>(y, 3);
    return differs(y, 96, [](int i) { return 95 - i; });
}

// After each barrier half of the warps leave.
__global__ void fewer_and_fewer(int *y)
{
    __shared__ int s[256];
    int t = threadIdx.x;
    for (int n = 256; n >= 32; n /= 2) {
        if (t >= n) return;
        s[t] = n + t;
        __syncthreads();
        y[t] = s[n - 1 - t];
        __syncthreads();
    }
}
CASE(warps_leave_after)
{
    int *y = zeros<int>(256);
    fewer_and_fewer<<<1, 256>>>(y);
    return differs(y, 256, [](int i) {
        int n = i < 32 ? 32 : i < 64 ? 64 : i < 128 ? 128 : 256;
        return 2 * n - 1 - i;
    });
}

__global__ void predicates(int *y)
{
    int t = threadIdx.x;
    y[t] = __syncthreads_count(t % 3 == 0);
    y[t] += 1000 * (__syncthreads_or(t == 77) != 0);
    y[t] += 10000 * (__syncthreads_and(t < 127) != 0);
}
CASE(predicates)
{
    int *y = zeros<int>(128);
    predicates<<<1, 128>>>(y);
    return differs(y, 128, [](int) { return 1043; });
}

// __syncthreads_or is the barrier of the loop.
__global__ void until_sorted(int *y)
{
    __shared__ int s[64];
    int t = threadIdx.x, swapped = 1;
    s[t] = y[t];
    s[t + 32] = y[t + 32];
    __syncthreads();
    for (int phase = 0; swapped; phase++) {
        int i = 2 * t, now = 0;
        for (int odd = 0; odd < 2; odd++, i++) {
            if (i + 1 < 64 && s[i] > s[i + 1]) {
                int v = s[i];
                s[i] = s[i + 1], s[i + 1] = v, now = 1;
            }
            __syncthreads();
        }
        swapped = __syncthreads_or(now);
    }
    y[t] = s[t];
    y[t + 32] = s[t + 32];
}
CASE(odd_even_sort)
{
    int *y = filled<int>(64, [](int i) { return i * 29 % 64; });
    until_sorted<<<1, 32>>>(y);
    return differs(y, 64, [](int i) { return i; });
}

// The condition is the same for all threads of a block, but not for all blocks.
__global__ void some_blocks(int *y)
{
    __shared__ int s[64];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    if (blockIdx.x % 2) {
        s[t] = i;
        __syncthreads();
        y[i] = s[t ^ 63];
    } else {
        y[i] = i;
    }
}
CASE(barrier_in_some_blocks)
{
    int *y = zeros<int>(256);
    some_blocks<<<4, 64>>>(y);
    return differs(y, 256, [](int i) { return i / 64 % 2 ? i ^ 63 : i; });
}

// The number of steps comes from shared memory, so it is the same for all threads.
__global__ void steps_from_data(int *y, const int *steps)
{
    __shared__ int s[64], count;
    int t = threadIdx.x;
    if (t == 0) count = steps[blockIdx.x];
    s[t] = t;
    __syncthreads();
    for (int k = 0; k < count; k++) {
        int v = s[(t + 1) % 64];
        __syncthreads();
        s[t] = v;
        __syncthreads();
    }
    y[blockIdx.x * 64 + t] = s[t];
}
CASE(steps_from_data)
{
    int *y = zeros<int>(3 * 64);
    steps_from_data<<<3, 64>>>(y, counting<int>(3));
    return differs(y, 3 * 64, [](int i) { return (i % 64 + i / 64) % 64; });
}

// One storage for two phases, as in CUB: a barrier before it is used again
union storage {
    float values[64];
    int counts[2][32];
};
__global__ void two_phases(int *y, const float *x)
{
    __shared__ storage s;
    int t = threadIdx.x;
    s.values[t] = x[t];
    __syncthreads();
    float other = s.values[63 - t];
    __syncthreads();
    s.counts[t % 2][t / 2] = (int)other;
    __syncthreads();
    y[t] = s.counts[t / 32][t % 32];
}
CASE(union_of_storage)
{
    int *y = zeros<int>(64);
    two_phases<<<1, 64>>>(y, counting<float>(64));
    return differs(y, 64, [](int i) { return 63 - (i % 32 * 2 + i / 32); });
}

// The lanes' order comes from __syncwarp, that of the warps from the barrier.
__global__ void leaders(int *y, const int *x)
{
    __shared__ int s[128], total[4];
    int t = threadIdx.x, warp = t / 32;
    s[t] = x[t];
    __syncwarp();
    if (t % 32 == 0) {
        total[warp] = 0;
        for (int i = 0; i < 32; i++)
            total[warp] += s[t + i];
    }
    __syncthreads();
    y[t] = total[3 - warp] + s[127 - t];
}
CASE(warp_then_block)
{
    int *y = zeros<int>(128);
    leaders<<<1, 128>>>(y, counting<int>(128));
    return differs(y, 128, [](int i) { return 496 + 1024 * (3 - i / 32) + 127 - i; });
}

// Divergent, but every slot has one writer, and the barrier comes before the reads.
__global__ void even_and_odd(int *y)
{
    __shared__ int s[128];
    int t = threadIdx.x;
    if (t % 2)
        s[t / 2] = t;
    else
        s[64 + t / 2] = t;
    __syncthreads();
    y[t] = s[t];
}
CASE(divergent_disjoint)
{
    int *y = zeros<int>(128);
    even_and_odd<<<1, 128>>>(y);
    return differs(y, 128, [](int i) { return i < 64 ? 2 * i + 1 : 2 * (i - 64); });
}

__global__ void histogram(int *bins, const int *x)
{
    __shared__ int own[16];
    int t = threadIdx.x;
    if (t < 16) own[t] = 0;
    __syncthreads();
    atomicAdd(&own[x[blockIdx.x * blockDim.x + t]], 1);
    __syncthreads();
    if (t < 16) atomicAdd(&bins[t], own[t]);
}
CASE(shared_histogram)
{
    int *bins = zeros<int>(16);
    histogram<<<4, 64>>>(bins, filled<int>(256, [](int i) { return i * 7 % 16; }));
    return differs(bins, 16, [](int) { return 16; });
}

// Rounds of a flag with three barriers: set, read, clear
__global__ void rounds_of_flag(int *y, const int *x)
{
    __shared__ int best;
    int t = threadIdx.x, v = x[t], sum = 0;
    for (int k = 1; k <= 3; k++) {
        if (t == 0) best = -1;
        __syncthreads();
        atomicMax(&best, v * k % 64);
        __syncthreads();
        sum += best;
        __syncthreads();
    }
    y[t] = sum;
}
CASE(flag_in_rounds)
{
    int *y = zeros<int>(64);
    rounds_of_flag<<<1, 64>>>(y, counting<int>(64));
    return differs(y, 64, [](int) { return 63 + 62 + 63; });
}

__global__ void matmul(float *c, const float *a, const float *b, int n)
{
    __shared__ float as[8][8], bs[8][8];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * 8 + y, col = blockIdx.x * 8 + x;
    float sum = 0;
    for (int k = 0; k < n; k += 8) {
        as[y][x] = row < n && k + x < n ? a[row * n + k + x] : 0;
        bs[y][x] = k + y < n && col < n ? b[(k + y) * n + col] : 0;
        __syncthreads();
        for (int i = 0; i < 8; i++)
            sum += as[y][i] * bs[i][x];
        __syncthreads();
    }
    if (row < n && col < n) c[row * n + col] = sum;
}
CASE(matmul)
{
    float *a = counting<float>(20 * 20), *c = zeros<float>(20 * 20);
    float *one = filled<float>(20 * 20, [](int i) { return i / 20 == i % 20; });
    matmul<<<dim3(3, 3), dim3(8, 8)>>>(c, a, one, 20);
    return differs(c, 20 * 20, [](int i) { return i; });
}

// Two buffers and one barrier per step: who stores tile k + 2 has passed the barrier of
// step k + 1, which all threads reach after their reads of step k.
__global__ void two_buffers(float *y, const float *x, int tiles)
{
    __shared__ float s[2][64];
    int t = threadIdx.x;
    float sum = 0;
    for (int k = 0; k < tiles; k++) {
        s[k % 2][t] = x[k * 64 + t];
        __syncthreads();
        sum += s[k % 2][63 - t];
    }
    y[t] = sum;
}
CASE(two_buffers)
{
    float *y = zeros<float>(64);
    two_buffers<<<1, 64>>>(y, counting<float>(5 * 64), 5);
    return differs(y, 64, [](int i) { return 640 + 5 * (63 - i); });
}

__global__ void dynamic_rows(float *y, const float *x)
{
    extern __shared__ float rows[][33];
    int t = threadIdx.x;
    for (int r = 0; r < 4; r++)
        rows[r][t] = x[r * 32 + t];
    __syncthreads();
    for (int r = 0; r < 4; r++)
        y[r * 32 + t] = rows[3 - r][31 - t];
}
CASE(dynamic_rows)
{
    float *y = zeros<float>(128);
    dynamic_rows<<<1, 32, 4 * 33 * sizeof(float)>>>(y, counting<float>(128));
    return differs(y, 128, [](int i) { return 127 - i; });
}

// All of the dynamic memory is used, in two arrays of different types.
__global__ void two_arrays(double *y, const float *x, int n)
{
    extern __shared__ double sums[];
    float *values = (float *)(sums + n);
    int t = threadIdx.x;
    values[t] = x[t];
    __syncthreads();
    sums[t] = values[t] + values[(t + 1) % n];
    __syncthreads();
    y[t] = sums[(t + 1) % n];
}
CASE(two_dynamic_arrays)
{
    double *y = zeros<double>(64);
    two_arrays<<<1, 64, 64 * 12>>>(y, counting<float>(64), 64);
    return differs(y, 64, [](int i) { return (i + 1) % 64 + (i + 2) % 64; });
}
