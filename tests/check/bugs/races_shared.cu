// races_shared.cu - accesses of several warps to shared memory without a barrier between.
#include "../cases.h"

__global__ void no_barrier_after_load(float *y, const float *x)
{
    __shared__ float s[128];
    int t = threadIdx.x;
    s[t] = x[t];        // BUG no_barrier_after_load race-shared
    y[t] = s[127 - t];  // BUG no_barrier_after_load race-shared
}
CASE(no_barrier_after_load)
{
    no_barrier_after_load<<<1, 128>>>(zeros<float>(128), counting<float>(128));
    return 0;
}

// The next tile is stored while slower warps still read this one.
__global__ void reuse_without_barrier(float *y, const float *x, int tiles)
{
    __shared__ float s[64];
    int t = threadIdx.x;
    float sum = 0;
    for (int k = 0; k < tiles; k++) {
        s[t] = x[k * 64 + t];  // BUG reuse_without_barrier race-shared
        __syncthreads();
        for (int i = 0; i < 64; i++)
            sum += s[i] * (float)(i ^ t);  // BUG reuse_without_barrier race-shared
    }
    y[t] = sum;
}
CASE(reuse_without_barrier)
{
    float *x = counting<float>(4 * 64), *y = zeros<float>(64);
    reuse_without_barrier<<<1, 64>>>(y, x, 4);
    return 0;
}

// Two buffers, and a barrier in every second step only
__global__ void double_buffer_short(float *y, const float *x, int tiles)
{
    __shared__ float s[2][64];
    int t = threadIdx.x;
    float sum = 0;
    s[0][t] = x[t];
    __syncthreads();
    for (int k = 0; k < tiles; k++) {
        int now = k % 2;
        // BUG double_buffer_short race-shared
        if (k + 1 < tiles) s[1 - now][t] = x[(k + 1) * 64 + t];
        sum += s[now][63 - t];  // BUG double_buffer_short race-shared
        if (now == 0) __syncthreads();
    }
    y[t] = sum;
}
CASE(double_buffer_short)
{
    float *x = counting<float>(5 * 64), *y = zeros<float>(64);
    double_buffer_short<<<1, 64>>>(y, x, 5);
    return 0;
}

// The barrier is at the end of a step, and none follows the store of the first tile.
__global__ void first_tile(float *y, const float *x, int tiles)
{
    __shared__ float s[2][64];
    int t = threadIdx.x;
    float sum = 0;
    s[0][t] = x[t];  // BUG first_tile_without_barrier race-shared
    for (int k = 0; k < tiles; k++) {
        if (k + 1 < tiles) s[(k + 1) % 2][t] = x[(k + 1) * 64 + t];
        sum += s[k % 2][63 - t];  // BUG first_tile_without_barrier race-shared
        __syncthreads();
    }
    y[t] = sum;
}
CASE(first_tile_without_barrier)
{
    float *x = counting<float>(4 * 64), *y = zeros<float>(64);
    first_tile<<<1, 64>>>(y, x, 4);
    return 0;
}

__global__ void tree_without_barrier(float *out, const float *x)
{
    __shared__ float s[256];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (int n = 128; n > 0; n /= 2)
        if (t < n) s[t] += s[t + n];  // BUG tree_without_barrier race-shared
    if (t == 0) *out = s[0];
}
CASE(tree_without_barrier)
{
    tree_without_barrier<<<1, 256>>>(zeros<float>(1), counting<float>(256));
    return 0;
}

__global__ void if_greater(int *out, const int *x)
{
    __shared__ int best;
    int v = x[threadIdx.x];
    if (threadIdx.x == 0) best = -1;
    __syncthreads();
    if (v > best) best = v;  // BUG if_greater race-shared
    __syncthreads();
    if (threadIdx.x == 0) *out = best;
}
CASE(if_greater)
{
    if_greater<<<1, 128>>>(zeros<int>(1), counting<int>(128));
    return 0;
}

__global__ void plain_bins(int *out, const int *x)
{
    __shared__ int bins[32];
    int t = threadIdx.x;
    if (t < 32) bins[t] = 0;
    __syncthreads();
    bins[x[t] % 32]++;  // BUG plain_bins race-shared
    __syncthreads();
    if (t < 32) out[t] = bins[t];
}
CASE(plain_bins)
{
    plain_bins<<<1, 128>>>(zeros<int>(32), counting<int>(128));
    return 0;
}

// Every thread reads its neighbour's slot and writes its own in the same phase.
__global__ void neighbour_in_place(float *y, const float *x)
{
    __shared__ float s[97];
    int t = threadIdx.x;
    s[t] = x[t];
    if (t == 0) s[96] = 0;
    __syncthreads();
    s[t] = 0.5f * (s[t] + s[t + 1]);  // BUG neighbour_in_place race-shared
    __syncthreads();
    y[t] = s[t];
}
CASE(neighbour_in_place)
{
    neighbour_in_place<<<1, 96>>>(zeros<float>(96), counting<float>(96));
    return 0;
}

// One barrier per step does not separate the reads of a step from its writes.
__global__ void scan_one_barrier(int *y, const int *x)
{
    __shared__ int s[256];
    int t = threadIdx.x;
    s[t] = x[t];
    for (int d = 1; d < 256; d *= 2) {
        __syncthreads();
        if (t >= d) s[t] += s[t - d];  // BUG scan_one_barrier race-shared
    }
    __syncthreads();
    y[t] = s[t];
}
CASE(scan_one_barrier)
{
    scan_one_barrier<<<1, 256>>>(zeros<int>(256), counting<int>(256));
    return 0;
}

// Called twice: the second call writes slots that slower warps still read in the first.
__device__ int block_sum(int v, int *sums)
{
    v = __reduce_add_sync(0xffffffff, v);
    // BUG block_sum_twice race-shared
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = v;
    __syncthreads();
    return sums[0] + sums[1] + sums[2] + sums[3];  // BUG block_sum_twice race-shared
}
__global__ void sum_and_squares(int *y, const int *x)
{
    __shared__ int sums[4];
    int v = x[threadIdx.x], sum = block_sum(v, sums);
    y[threadIdx.x] = sum + block_sum(v * v, sums);
}
CASE(block_sum_twice)
{
    sum_and_squares<<<1, 128>>>(zeros<int>(128), counting<int>(128));
    return 0;
}

__global__ void mean_by_thread_0(float *y, const float *x)
{
    __shared__ float mean;
    int t = threadIdx.x;
    if (t == 0) {
        float sum = 0;
        for (int i = 0; i < 64; i++)
            sum += x[i];
        mean = sum / 64;  // BUG mean_by_thread_0 race-shared
    }
    y[t] = x[t] - mean;  // BUG mean_by_thread_0 race-shared
}
CASE(mean_by_thread_0)
{
    mean_by_thread_0<<<1, 64>>>(zeros<float>(64), counting<float>(64));
    return 0;
}

// Thread 0 clears the flag for the next round; a slow warp may not have read it yet.
__global__ void flag_reset(int *rounds, const int *x)
{
    __shared__ int changed;
    int v = x[threadIdx.x], n = 0;
    bool again = true;
    while (again) {
        if (threadIdx.x == 0) changed = 0;  // BUG flag_reset_early race-shared
        __syncthreads();
        if (v > n) atomicExch(&changed, 1);
        __syncthreads();
        again = changed;  // BUG flag_reset_early race-shared
        n++;
    }
    if (threadIdx.x == 0) *rounds = n;
}
CASE(flag_reset_early)
{
    flag_reset<<<1, 64>>>(zeros<int>(1), filled<int>(64, [](int i) { return i % 5; }));
    return 0;
}

__global__ void transpose_tile(float *out, const float *in)
{
    __shared__ float tile[32][33];
    int x = threadIdx.x, y = threadIdx.y;
    for (int r = y; r < 32; r += 8)
        tile[r][x] = in[r * 32 + x];  // BUG transpose_without_barrier race-shared
    for (int r = y; r < 32; r += 8)
        out[r * 32 + x] = tile[x][r];  // BUG transpose_without_barrier race-shared
}
CASE(transpose_without_barrier)
{
    float *in = counting<float>(1024), *out = zeros<float>(1024);
    transpose_tile<<<1, dim3(32, 8)>>>(out, in);
    return 0;
}

// Bytes written by four threads of another warp are read as one word
__global__ void bytes_then_word(unsigned *out)
{
    __shared__ __align__(4) unsigned char flag[128];
    int t = threadIdx.x;
    flag[t] = t;  // BUG bytes_then_word race-shared
    // BUG bytes_then_word race-shared
    if (t >= 96) out[t - 96] = ((unsigned *)flag)[t - 96];
}
CASE(bytes_then_word)
{
    bytes_then_word<<<1, 128>>>(zeros<unsigned>(32));
    return 0;
}

// The second array begins n bytes after the first, which has n floats
__global__ void arrays_overlap(float *out, const float *x, int n)
{
    extern __shared__ char raw[];
    float *value = (float *)raw;
    int *index = (int *)(raw + n), t = threadIdx.x;
    value[t] = x[t];  // BUG arrays_overlap race-shared
    index[t] = t;     // BUG arrays_overlap race-shared
    __syncthreads();
    out[index[n - 1 - t] % n] = value[t];
}
CASE(arrays_overlap)
{
    arrays_overlap<<<1, 64, 512>>>(zeros<float>(64), counting<float>(64), 64);
    return 0;
}
