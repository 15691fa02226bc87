// whole_blocks.cu - kernels whose threads run as loops between barriers: the same bits as
// with a stack per thread, which a seeded order brings about. Only on the CPU back end.
#include "same.cuh"

#define ROUNDS (2 * 4)
__device__ int offset_of_all = 3;

__global__ void exits(float *y, const float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n - 5) return;
    for (int k = 0; k < 4; k++) {
        if (k == 3) break;
        y[i] += x[i] * k;
    }
    if (x[i] < 0) return;
    y[i] -= 1;
}
__global__ void own_parameters(float *y, const float *x, int n)
{
    y += threadIdx.x, x += threadIdx.x;
    n -= threadIdx.x;
    while (n > 0) {
        *y += *x * n;
        n -= blockDim.x;
    }
}
__global__ void scan(float *y, const float *x, int n)
{
    __shared__ float s[1024];
    const int t = threadIdx.x, first = blockIdx.x * blockDim.x;
    s[t] = first + t < n ? x[first + t] : 0;
    __syncthreads();
    for (unsigned d = 1; d < blockDim.x; d *= 2) {
        float v = 0;
        if (t >= (int)d) v = s[t - d];
        __syncthreads();
        s[t] += v;
        __syncthreads();
    }
    if (first + t < n) y[first + t] = s[t];
}
// Values of several types that live from one barrier to the next
__global__ void kept(float *y, const float *x, int n)
{
    extern __shared__ double d[];
    __shared__ int count;
    unsigned char byte = 200, t = threadIdx.x;
    const float *p = x + threadIdx.x, *q;
    double sum = p[0] * 3, unused = 1;
    bool last = threadIdx.x == blockDim.x - 1;
    int half = n / 2, i = threadIdx.x;
    q = p;
    byte += t;
    if (i == 0) count = 0;
    d[threadIdx.x] = sum;
    __syncthreads();
    byte++;
    q++;
    sum += d[(threadIdx.x + 1) % blockDim.x];
    int ticket = atomicAdd(&count, byte);
    sum += ticket * 0;
    {
        int i = 7, half = i;
        sum += i + half;
    }
    __syncthreads();
    if (last) sum += count;
    i += half;
    y[threadIdx.x + blockIdx.x * blockDim.x] = sum + byte + p[1] + (i & 31) + half + t;
}
// Memory that changes between a declaration and its uses
__shared__ int at_file_scope;
__global__ void changing(float *y, const float *x, int n)
{
    __shared__ int s;
    constexpr int size = sizeof(float) / 2;
    if (threadIdx.x == 0) s = 2, at_file_scope = 5;
    __syncthreads();
    int *p = &s, one = n && *p, two = (int)*p, four = s * 2, five = at_file_scope;
    int product = (n)*2, both = (one)&1;
    __syncthreads();
    if (threadIdx.x == 0) s = 0, at_file_scope = 7;
    __syncthreads();
    y[threadIdx.x] = one + 10 * two + 100 * four + 1000 * five + product + both + size;
}
// Loops in loops, declarations in them, and what each loop leaves for the next
__global__ void nested(float *y, const float *x, int n)
{
    __shared__ float a[16][65];
    int column = threadIdx.x, row = threadIdx.y;
    const int rounds = ROUNDS / 2;
    float sum = 0, factor = 1.5f;
    for (int k = 0; k < rounds; ++k) {
        int step = k * 16;
        __shared__ float b[64];
        a[row][column] = x[(step + row * 64 + column) % n];
        if (row == 0) b[column] = k;
        __syncthreads();
        float most = a[row][0];
#pragma unroll
        for (int c = 1; c < 64; c++) {
            if (c % 7 == 0) continue;
            most = fmaxf(most, a[row][c]);
        }
        for (int j = rounds; j > 0; j >>= 1) {
            float other = a[(row + j) % 4][column];
            __syncthreads();
            a[row][column] = other + j;
            most += other;
            __syncthreads();
        }
        sum += most * factor + b[63 - column];
        factor *= 0.5f;
        __syncthreads();
    }
    y[(blockIdx.x * blockDim.y + row) * 64 + column] = sum;
}
__global__ void bins(float *y, const float *x, int n)
{
    __shared__ unsigned mine[64], lowest;
    unsigned *all = (unsigned *)y;
    if (threadIdx.x < 64) mine[threadIdx.x] = 0;
    if (threadIdx.x == 0) lowest = 1000;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += gridDim.x * blockDim.x) {
        atomicAdd(&mine[(int)(x[i] * 32 + 32) & 63], 1u);
        atomicMin(&lowest, (unsigned)(x[i] * 10 + 20));
    }
    __syncthreads();
    if (threadIdx.x < 64) atomicAdd(&all[threadIdx.x], mine[threadIdx.x]);
    if (threadIdx.x == 0) atomicMax(all + 64, lowest);
}
// Shuffles and votes where all threads come by
__global__ void shuffled(float *y, const float *x, int n)
{
    int t = threadIdx.x, lane = t & 31, i = blockIdx.x * blockDim.x + t;
    const unsigned all = 0xffffffffu, half = lane < 16 ? 0xffffu : 0xffff0000u;
    float v = x[i], sum = v;
    double wide = v * 3;
    unsigned char byte = t * 7;
    for (int o = 16; o > 0; o >>= 1)
        sum += __shfl_xor_sync(all, sum, o);
    for (int o = 1; o < 32; o *= 2) {
        float before = __shfl_up_sync(all, v, o);
        if (lane >= o) v += before;
    }
    wide += __shfl_down_sync(all, wide, 3, 8) - __shfl_xor_sync(all, wide, 5, 4);
    byte += __shfl_sync(all, byte, lane * 3 + 1);
    float part = __shfl_sync(half, v, lane + 5), other = __shfl_sync(all, sum, 7);
    unsigned votes = __ballot_sync(half, byte > 100) + __any_sync(all, byte == 9);
    if (__all_sync(all, v > -50.0f)) votes += 9;
    votes += __reduce_add_sync(all, lane & 3);
    votes ^= __reduce_xor_sync(half, byte) + __popc(__ballot_sync(all, lane & 2));
    __syncwarp();
    y[i] = v + sum + wide + byte + part + other + (votes & 1023);
}
// Threads that exit before a barrier, in a loop, between shuffles
__global__ void exits_early(float *y, const float *x, int n)
{
    __shared__ float s[1024];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t] = x[i];
    if (t % 7 == 3) return;
    __syncthreads();
    y += i;
    for (int d = 1; d < 4; d++) {
        float v = s[(t + d) % blockDim.x];
        *y += v + __shfl_down_sync(0xffffffffu, v, d);
        if (t % 16 == d) return;
    }
    for (int k = t; k < 300; k += blockDim.x)
        *y += x[k];
    *y += __ballot_sync(0xffffffffu, t & 1) & 255;
}
// Rows and warps that skip an `if`; a loop with only a barrier and a return
__global__ void left_out(float *y, const float *x, int n)
{
    __shared__ float s[34][34], sums[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = x[i];
    s[threadIdx.x / 32][threadIdx.x % 32 + 1] = v;
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32][0] = x[i] * 2;
    __syncthreads();
    v += s[threadIdx.x / 32][threadIdx.x % 32];
    for (int o = 16; o > 0; o /= 2)
        v += __shfl_down_sync(0xffffffffu, v, o);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 32) {
        v = threadIdx.x * 32 < blockDim.x ? sums[threadIdx.x] : 0;
        for (int o = 16; o > 0; o /= 2)
            v += __shfl_down_sync(0xffffffffu, v, o);
        y[i] = v;
    } else {
        y[i] = __shfl_sync(0xffffffffu, v, 5);
    }
    if (threadIdx.x < 20) y[i] += __shfl_xor_sync(0xfffffu, v, 1);
    for (int k = 0; k < 3; k++) {
        __syncthreads();
        if (threadIdx.x % 16 == 0 || threadIdx.x / 64 == k) return;
    }
    y[i] += s[threadIdx.x / 32][threadIdx.x % 32 + 1] + threadIdx.x;
}
// Loops in which threads take turns, and such that look alike
__shared__ int count_of_strides;
__global__ void strides(float *y, const float *x, int n)
{
    const int t = threadIdx.x, all = blockDim.x * gridDim.x,
              first = blockIdx.x * blockDim.x;
    int twice = 2 * t, uses = 0, warp = t / 32, lane = t % 32;
    float sum = 0, *own = y + first;
    if (t == 0) count_of_strides = 0;
    __syncthreads();
    for (int i = first + t; i < n - 3; i += all)
        y[i] += x[i] * 2 + (i > 5 ? x[i - 5] : 0);
    for (size_t i = threadIdx.x; i <= 77; i += blockDim.x) {
        sum += x[i];
        uses++;
    }
    for (unsigned i = t; i < 500u; i += blockDim.x)
        sum += x[i - (i > 3 ? 3 : 0)];
    for (int i = twice; i < n / 8; i += 2 * blockDim.x)
        sum -= x[i];
    for (long i = lane + 64; i < 200; i += 32) {
        for (int k = 0; k < 3; k++)
            sum += x[i + k] * warp;
        atomicAdd(&count_of_strides, 1);
    }
    for (int i = t - 20; i < (int)blockDim.x; i += 16)
        if (i >= 0 && x[i] > 0) sum += i;
    __syncthreads();
    for (int k = 0; k < 3; k++) {
        for (int i = t; i < 40 * k; i += blockDim.x)
            uses += i;
        __syncthreads();
    }
    own[t] += sum + uses + count_of_strides;
}
// A row sum as in textbooks, with parameters that all threads change
__global__ void normalized(float *y, const float *x, int n)
{
    const int columns = 64, lane = threadIdx.x % 32, rows = blockDim.x / 32;
    int row = blockIdx.x * rows + threadIdx.x / 32;
    if (row * columns >= n) return;
    x += row * columns, y += row * columns;
    float most = -INFINITY, sum = 0;
    for (int c = lane; c < columns; c += 32)
        most = fmaxf(most, x[c]);
    for (int o = warpSize / 2; o > 0; o /= 2)
        most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, o));
    for (int c = lane; c < columns; c += 32)
        sum += y[c] = x[c] - most;
    for (int o = warpSize / 2; o > 0; o /= 2) {
        float t = __shfl_xor_sync(0xffffffffu, sum, o);
        sum += t;
    }
    for (int c = lane; c < columns; c += 32)
        y[c] /= sum;
}
// Names from outside have plain types, or the kernel runs with a stack per thread.
struct converts {
    int v;
    __device__ operator int() const
    {
        __syncthreads();
        return v;
    }
};
template <class T> __global__ void types(float *y, const float *x, T n)
{
    __shared__ T s[1024];
    int t = threadIdx.x;
    s[t].v = t;
    int one = n;
    y[t] = s[blockDim.x - 1 - t] + one;
}
static_assert(
    wbcpu::is_plain<const float *, true>() && !wbcpu::is_plain<volatile int *, true>());
static_assert(wbcpu::is_plain<float4[3], true>() && !wbcpu::is_plain<float4[3], false>());
static_assert(
    !wbcpu::is_plain<converts, true>() && !wbcpu::is_plain<volatile int, true>());
static_assert(wbcpu::is_plain_constant<const int, true>());
static_assert(!wbcpu::is_plain_constant<int, true>());
// Assignments in all places, and declarations that need earlier ones
const int FOUR = 4;
__global__ void assigned(float *y, const float *x, int n)
{
    __shared__ int s[1024], sum;
    const int t = threadIdx.x, first = blockIdx.x * blockDim.x;
    const float *p = x + first + t;
    int a = t, b = (a++, a), c = b++ ? FOUR : N - N, d = 1;
    short small = t * 3;
    auto doubled = a * 2;
    (c) += doubled, ((d))++, --(d);
    if (t == 0) sum = 0x7ffffff0;
    s[t] = c + d;
    __syncthreads();
    int e = (s[blockDim.x - 1 - t] > 50) && (d = 7), half = e + small;
    atomicAdd(&sum, 3);
    while (c < 9 && (c += 2, small < 400))
        small += a;
    for (int a = 0, s = 3; a < s; a++)
        d += a;
    __syncthreads();
    y[first + t] = p[0] + a + b + c + d + e + half + small + (sum & 1023);
}
__device__ float polynomial(float a, float b, float &other)
{
    float p = a * b - 3;
    other = a - b;
    for (int k = 0; k < 3; k++)
        p = p * a + k;
    return a > 4 ? p : p + b;
}
// Rows of threads that run inner loops together, if they all come by
__global__ void rows(float *y, const float *x, int n)
{
    __shared__ float s[1024];
    const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t, width = n / 64;
    float sum = 1, all = 0;
    if (i >= n - 7) return;
    sum = 2;
    for (int k = 0; k < n / 128; k++) {
        const float a = x[k], b = x[i];
        float c;
        if (k % 3 == 1) sum -= b;
        for (int m = 2; m > 0; m--)
            sum += a * x[m * width] + b;
        sum += polynomial(a, b, c) + c;
    }
    s[t] = sum;
    __syncthreads();
    sum = sum + n, all = sum - 1;
    for (int k = 0; k < 16; k += 3)
        all += s[k];
    if (i < n / 2) {
        float twice = all, other;
        for (int k = 0; k < 0; k++)
            twice = 0;
        twice += polynomial(x[i], sum, other);
        {
            float more = twice;
            twice += more;
        }
        y[i] = twice + other;
    }
    if (t < 24) {
        const float last = x[i];
        for (int k = 0; k < 2; k++)
            y[i] += last + sum;
    }
}
// Indices that get new values: the translator makes new variables.
__global__ void replaced(float *y, const float *x, int n)
{
    __shared__ float s[1024];
    const int first = blockIdx.x * blockDim.x;
    int t = threadIdx.x, i = first + t, r = 3, uniform = 7;
    unsigned j = t;
    s[t] = x[i] + j + r;
    int twice = 2 * i + uniform; // of the old i
    __syncthreads();
    i = first + t, r = blockIdx.x + r;
    uniform = n - (int)blockDim.x;
    t = blockDim.x - 1 - t;
    float v = s[t] + twice;
    j = j + r;
    __syncthreads();
    s[i - first] += polynomial(v, i, v);
    for (int d = 1; d < 3; d++) {
        __syncthreads();
        v += s[t] + j;
        j = d;
        for (int t = 0; t < 2; t++)
            v += t * r;
    }
    t = threadIdx.x;
    if (t > 40) t = t - 1;
    __syncthreads();
    r = uniform - n, i = first + threadIdx.x;
    y[i] = v + s[t] + r + uniform + twice + (float)j + t;
}
// Loops with barriers that use variables declared before them
__global__ void halving(float *y, const float *x, int n)
{
    static_assert(sizeof(float) == 4, "of y");
    constexpr unsigned max_threads{1024};
    __shared__ float s[max_threads];
    int t{(int)threadIdx.x}, first = blockIdx.x * blockDim.x;
    const unsigned threads{blockDim.x};
    const int width = 2 * 3;
    float mine[width + 1] = {0};
    int i = threads / 2, stride, rounds;
    s[t] = x[first + t];
    __syncthreads();
    while (i != 0) {
        if (t < i) s[t] += s[t + i];
        __syncthreads();
        i /= 2;
        const int step = i;
        mine[i % width] += step + s[threads - 1];
        if (threads > 64) mine[width]++;
    }
    mine[0] += i;
    for (stride = 1, rounds = 0; stride < 16; stride *= 2) {
        float v = t >= stride ? s[t - stride] : 0;
        __syncthreads();
        s[t] += v + rounds;
        __syncthreads();
        ++rounds;
        if (rounds < 3) {
            s[t] += 1;
            __syncthreads();
            s[t] += 2;
            __syncthreads();
            rounds += 2;
        }
    }
    for (; i < 2; i++) {
        mine[i] += s[threads - 1 - t];
        __syncthreads();
    }
    y[first + t] = s[t] + stride + rounds + mine[0] + mine[1] + mine[width] + i;
}
// The first loop has another number of iterations in each thread; i and d of the second differ.
__global__ void own_rounds(float *y, const float *x, int n)
{
    int t = threadIdx.x, i = 0, d = 16;
    float v = x[t];
    while (i < t % 7)
        i++;
    if (t % 32 < 8) d = 8;
    while (i >= 0) {
        v += __shfl_xor_sync(~0u, v, d) * i;
        i -= 7;
    }
    y[blockIdx.x * blockDim.x + t] = v;
}
// threadIdx.x - 1 wraps around in thread 0.
__global__ void wrapping(float *y, const float *x, int n)
{
    __shared__ float s[1024];
    unsigned t = threadIdx.x, before = t - 1;
    const long wide = threadIdx.x - 1, zero = n - n;
    size_t i = blockIdx.x * blockDim.x + threadIdx.x;
    s[t] = x[i];
    __syncthreads();
    float v = (wide > 1024) + (before > 1024);
    if (t > 0)
        v += s[wide] + s[before] + s[t - 1] + s[(size_t)(t - 1)] + s[threadIdx.x - 1 + zero];
    y[i] = v;
}
__global__ void indices(float *y, const float *x, int n)
{
    int in_block = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    y[block * blockDim.x * blockDim.y * blockDim.z + in_block] = in_block + x[block];
}

static void class_of_source()
{
    float *y;
    int right = 0;
    cudaMallocManaged(&y, 64 * sizeof *y);
    types<<<1, 64>>>(y, y, converts{2});
    cudaDeviceSynchronize();
    for (int i = 0; i < 64; i++)
        right += y[i] == 63 - i + 2;
    tap(right == 64, "a class whose conversion waits");
}

int main()
{
    for (unsigned threads : {1, 16, 48, 50, 256, 1024}) {
        same("threads that exit early", exits, (N + threads - 1) / threads, threads);
        same("parameters that a thread changes", own_parameters, 1, threads);
        same("a block scan", scan, N / threads, threads);
        same("variables from barrier to barrier", kept, 2, threads);
        same("new values of indices", replaced, N / threads, threads);
        same("loops with variables of the block", halving, N / threads, threads);
        if (threads % 32 == 0) same("loops of each thread", own_rounds, 2, threads);
        same("indices that wrap around", wrapping, N / threads, threads);
        same("assignments", assigned, 2, threads);
        same("memory that changes", changing, 1, threads);
        same("shuffles and votes", shuffled, 2, threads);
        same("threads that exit before a barrier", exits_early, 2, threads);
        if (threads % 32 == 0) same("warps that are left out", left_out, 2, threads);
        same("loops in which threads take turns", strides, 2, threads);
        same("rows of threads that run loops together", rows, N / threads, threads);
        if (threads % 32 == 0) same("rows of a warp", normalized, 2, threads);
        if (threads >= 64) same("a histogram", bins, 3, threads);
    }
    class_of_source();
    same("loops with barriers", nested, 2, dim3(64, 4));
    same("all indices", indices, dim3(2, 3, 1), dim3(16, 2, 3));
    same("all indices", indices, dim3(1, 1, 3), dim3(8, 4, 2));
    return tap_done();
}
