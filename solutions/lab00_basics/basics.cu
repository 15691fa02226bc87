/* basics.cu - lab 00: CUDA for C programmers. The contract is basics.h.
 *
 * Ten parts, each a kernel and the function that launches it:
 *
 * 00.1  hello            00.6   coalesced accesses
 * 00.2  index, guard     00.7   shared memory
 * 00.3  two dimensions   00.8   a sum by a block
 * 00.4  grid-stride      00.9   a sum by a warp
 * 00.5  host code        00.10  reading a report
 */
#include "basics.h"

constexpr int THREADS = 256;  // per block, unless the function gets another number

/* --- 00.1 hello ---------------------------------------------------------------------
 * Every thread of a launch runs the whole kernel. Only these variables tell the threads
 * apart:
 *     threadIdx.x   the thread's number in its block, 0 .. blockDim.x - 1
 *     blockIdx.x    the block's number in the grid, 0 .. gridDim.x - 1
 */
__global__ void hello_kernel(float *out)
{
    // BEGIN SOLUTION 00.1 (about 2 lines)
    //> // TODO(00.1): write 10000 * block + thread to this thread's element of out. The
    //> // elements of block b begin at b * blockDim.x. About 2 lines.
    int i = blockIdx.x * blockDim.x + threadIdx.x;  // [0, blocks * threads)
    out[i] = 10000 * blockIdx.x + threadIdx.x;
    // END SOLUTION
}

wb_status hello_f32(float *out, int blocks, int threads, cudaStream_t stream)
{
    if (blocks < 0 || threads < 0) return WB_BAD_SHAPE;
    if (blocks == 0 || threads == 0) return WB_OK;
    // BEGIN SOLUTION 00.1 (about 2 lines)
    //> // TODO(00.1): launch it: kernel<<<blocks, threads, 0, stream>>>(arguments). The
    //> // call returns immediately; the kernel runs later. Then return wb_launched(),
    //> // which asks whether the launch was possible. About 2 lines.
    //> return WB_TODO;
    hello_kernel<<<blocks, threads, 0, stream>>>(out);
    return wb_launched();
    // END SOLUTION
}

/* --- 00.2 index and guard ------------------------------------------------------------
 * One thread per element. A grid has whole blocks, so there are often more threads than
 * elements: with N = 1000 and 256 threads per block, 4 blocks have 1024 threads.
 */
__global__ void add_kernel(float *out, const float *a, const float *b, int N)
{
    // BEGIN SOLUTION 00.2 (about 3 lines)
    //> // TODO(00.2): the index as in 00.1. Threads with an index of N or more must not
    //> // touch the arrays: let them return (the guard). The others add. About 3 lines.
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N) return;
    out[i] = a[i] + b[i];
    // END SOLUTION
}

wb_status add_f32(float *out, const float *a, const float *b, int N, cudaStream_t stream)
{
    if (N < 0) return WB_BAD_SHAPE;
    if (N == 0) return WB_OK;
    // BEGIN SOLUTION 00.2 (about 3 lines)
    //> // TODO(00.2): how many blocks of THREADS threads cover N elements? N / THREADS
    //> // rounds down: round up. Then launch as in 00.1. About 3 lines.
    //> return WB_TODO;
    int blocks = (N + THREADS - 1) / THREADS;
    add_kernel<<<blocks, THREADS, 0, stream>>>(out, a, b, N);
    return wb_launched();
    // END SOLUTION
}

/* --- 00.3 two dimensions -------------------------------------------------------------
 * Blocks and grids may have two dimensions: threadIdx.y, blockIdx.y, ... belong to the
 * second one. Consecutive threads of a block differ in x, so let x be the column: then
 * neighbouring threads access neighbouring elements of a row.
 */
__global__ void outer_kernel(float *out, const float *a, const float *b, int R, int C)
{
    // BEGIN SOLUTION 00.3 (about 4 lines)
    //> // TODO(00.3): the column c from x, the row r from y; a guard for both; the product.
    //> // r * C may exceed 2^31, the limit of int: compute (size_t)r * C. About 4 lines.
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r >= R || c >= C) return;
    out[(size_t)r * C + c] = a[r] * b[c];
    // END SOLUTION
}

wb_status
outer_f32(float *out, const float *a, const float *b, int R, int C, cudaStream_t stream)
{
    if (R < 0 || C < 0) return WB_BAD_SHAPE;
    if (R == 0 || C == 0) return WB_OK;
    // BEGIN SOLUTION 00.3 (about 4 lines)
    //> // TODO(00.3): blocks of 32 x 8 threads: dim3 block(32, 8). How many of them cover C
    //> // columns in x and R rows in y? dim3 grid(..., ...). Launch <<<grid, block, 0,
    //> // stream>>>. About 4 lines.
    //> return WB_TODO;
    dim3 block(32, 8);
    dim3 grid((C + 31) / 32, (R + 7) / 8);
    outer_kernel<<<grid, block, 0, stream>>>(out, a, b, R, C);
    return wb_launched();
    // END SOLUTION
}

/* --- 00.4 grid-stride loop -----------------------------------------------------------
 * A kernel need not have a thread for every element. Here the caller chooses the grid. If
 * it has n threads in all, thread i takes the elements i, i + n, i + 2n, ...
 */
__global__ void saxpy_kernel(float *y, const float *x, float a, int N)
{
    // BEGIN SOLUTION 00.4 (about 4 lines)
    //> // TODO(00.4): a loop that starts at the index of 00.1 and steps by the number of
    //> // threads in the grid: gridDim.x blocks of blockDim.x threads. About 4 lines.
    int first = blockIdx.x * blockDim.x + threadIdx.x;
    int step = gridDim.x * blockDim.x;  // threads in the grid
    for (int i = first; i < N; i += step)
        y[i] = a * x[i] + y[i];
    // END SOLUTION
}

wb_status saxpy_f32(
    float *y, const float *x, int N, float a, int blocks, int threads,
    cudaStream_t stream)
{
    if (N < 0 || blocks < 1 || threads < 1) return WB_BAD_SHAPE;
    if (N == 0) return WB_OK;
    // BEGIN SOLUTION 00.4 (about 2 lines)
    //> // TODO(00.4): launch it with the caller's blocks and threads. About 2 lines.
    //> return WB_TODO;
    saxpy_kernel<<<blocks, threads, 0, stream>>>(y, x, a, N);
    return wb_launched();
    // END SOLUTION
}

/* --- 00.5 host code ------------------------------------------------------------------
 * Host and device have separate memories. A kernel cannot use a pointer from malloc, and
 * host code cannot use one from cudaMalloc. So a program copies its data to the device,
 * launches, and copies the result back. Every call returns a cudaError_t; cudaSuccess is
 * 0. A launch returns nothing: cudaGetLastError() tells whether it failed.
 */
__global__ void scale_kernel(float *out, const float *x, float a, int N)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) out[i] = a * x[i];
}

wb_status scale_f32(float *host_out, const float *host_x, int N, float a, int threads)
{
    if (N < 0 || threads < 1) return WB_BAD_SHAPE;
    if (N == 0) return WB_OK;
    // BEGIN SOLUTION 00.5 (about 12 lines)
    //> // TODO(00.5): float *x = NULL, *out = NULL for the device, and five steps. Do each
    //> // of the first four only if nothing has failed so far.
    //> //   1. cudaMalloc(&x, bytes), and the same for out
    //> //   2. copy host_x to x: cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice)
    //> //   3. launch scale_kernel with `threads` threads per block; cudaGetLastError()
    //> //   4. copy out to host_out: cudaMemcpyDeviceToHost. This call waits for the kernel.
    //> //   5. cudaFree both, whatever has happened; cudaFree(NULL) does nothing
    //> // Return WB_BAD_CUDA if a call has failed, otherwise WB_OK. About 12 lines.
    //> return WB_TODO;
    size_t bytes = N * sizeof(float);
    float *x = NULL, *out = NULL;  // in device memory
    cudaError_t error = cudaMalloc(&x, bytes);
    if (!error) error = cudaMalloc(&out, bytes);
    if (!error) error = cudaMemcpy(x, host_x, bytes, cudaMemcpyHostToDevice);
    if (!error) {
        scale_kernel<<<(N + threads - 1) / threads, threads>>>(out, x, a, N);
        error = cudaGetLastError();
    }
    if (!error) error = cudaMemcpy(host_out, out, bytes, cudaMemcpyDeviceToHost);
    cudaFree(x);
    cudaFree(out);
    return error ? WB_BAD_CUDA : WB_OK;
    // END SOLUTION
}

/* --- 00.6 coalesced accesses ---------------------------------------------------------
 * The 32 threads of a warp execute a load together, and memory delivers data in sectors
 * of 32 bytes. If the 32 threads read 32 neighbouring floats, they need 4 sectors and use
 * every byte. If they read 32 floats that are a row apart, they need 32 sectors and use
 * an eighth of the bytes.
 */
__global__ void scale_rows_kernel(float *out, const float *x, const float *w, int C)
{
    // BEGIN SOLUTION 00.6 (about 4 lines)
    //> // TODO(00.6): block r computes row r. Its threads take the columns threadIdx.x,
    //> // threadIdx.x + blockDim.x, ...: a loop as in 00.4, but within the row, so that
    //> // neighbouring threads take neighbouring columns. About 4 lines.
    size_t row = (size_t)blockIdx.x * C;  // where the row begins
    float scale = w[blockIdx.x];
    for (int c = threadIdx.x; c < C; c += blockDim.x)
        out[row + c] = scale * x[row + c];
    // END SOLUTION
}

wb_status scale_rows_f32(
    float *out, const float *x, const float *w, int R, int C, cudaStream_t stream)
{
    if (R < 0 || C < 0) return WB_BAD_SHAPE;
    if (R == 0 || C == 0) return WB_OK;
    // BEGIN SOLUTION 00.6 (about 2 lines)
    //> // TODO(00.6): one block for each row. About 2 lines.
    //> return WB_TODO;
    scale_rows_kernel<<<R, THREADS, 0, stream>>>(out, x, w, C);
    return wb_launched();
    // END SOLUTION
}

/* --- 00.7 shared memory --------------------------------------------------------------
 * A __shared__ array belongs to the block: all of its threads read and write the same
 * one. Threads run in any order, so a thread that reads what another one writes must wait
 * for it: no thread passes __syncthreads() before all threads of the block have reached
 * it. So every thread must reach it: do not return before a barrier.
 */
__global__ void reverse_kernel(float *out, const float *x, int N)
{
    // BEGIN SOLUTION 00.7 (about 6 lines)
    //> // TODO(00.7): declare __shared__ float s[BASICS_GROUP]. The block's group begins at
    //> // element start = blockIdx.x * BASICS_GROUP and has n = min(BASICS_GROUP, N - start)
    //> // elements. Each thread t < n copies x[start + t] to s[t]; then a barrier; then each
    //> // thread t < n writes out[start + t]. Which element of s is it? About 6 lines.
    __shared__ float s[BASICS_GROUP];
    int t = threadIdx.x, start = blockIdx.x * BASICS_GROUP;
    int n = min(BASICS_GROUP, N - start);  // elements of this group
    if (t < n) s[t] = x[start + t];
    __syncthreads();  // another thread has loaded s[n - 1 - t]
    if (t < n) out[start + t] = s[n - 1 - t];
    // END SOLUTION
}

wb_status reverse_f32(float *out, const float *x, int N, cudaStream_t stream)
{
    if (N < 0) return WB_BAD_SHAPE;
    if (N == 0) return WB_OK;
    // BEGIN SOLUTION 00.7 (about 2 lines)
    //> // TODO(00.7): a block of BASICS_GROUP threads for each group. About 2 lines.
    //> return WB_TODO;
    int blocks = (N + BASICS_GROUP - 1) / BASICS_GROUP;
    reverse_kernel<<<blocks, BASICS_GROUP, 0, stream>>>(out, x, N);
    return wb_launched();
    // END SOLUTION
}

/* The transpose reads rows and writes columns: one of the two would be strided. With a
 * tile in shared memory, a warp reads a row of x and later writes a row of out; the
 * strided access is the one to shared memory, which has no sectors.
 *
 * Shared memory has 32 banks: float k lies in bank k % 32, and a bank serves one address
 * at a time. In a tile of 32 x 32, a column lies in a single bank. With rows of 33
 * floats, its elements lie in 32 different banks.
 */
enum { TILE = 32 };

// BEGIN SOLUTION 00.7 (about 12 lines)
//> __global__ void transpose_kernel(float *out, const float *x, int R, int C)
//> {
//>     // TODO(00.7): a tile with padded rows: __shared__ float tile[TILE][TILE + 1].
//>     // Load: c from blockIdx.x, r from blockIdx.y, as in 00.3 (blocks of TILE x TILE);
//>     // with the guard, tile[threadIdx.y][threadIdx.x] = x[...]. About 4 lines.
//>     // TODO(00.7): a barrier. Then the block writes its tile, transposed, to out, whose
//>     // rows are columns of x: row blockIdx.x * TILE + threadIdx.y, column
//>     // blockIdx.y * TILE + threadIdx.x. Which element of the tile is that? 5 lines.
//> }
__global__ void transpose_kernel(float *out, const float *x, int R, int C)
{
    __shared__ float tile[TILE][TILE + 1];  // padded: a column lies in 32 banks
    int c = blockIdx.x * TILE + threadIdx.x, r = blockIdx.y * TILE + threadIdx.y;
    if (r < R && c < C) tile[threadIdx.y][threadIdx.x] = x[(size_t)r * C + c];
    __syncthreads();  // the tile is loaded

    c = blockIdx.x * TILE + threadIdx.y;  // a row of out
    r = blockIdx.y * TILE + threadIdx.x;
    if (r < R && c < C) out[(size_t)c * R + r] = tile[threadIdx.x][threadIdx.y];
}
// END SOLUTION

wb_status transpose_f32(float *out, const float *x, int R, int C, cudaStream_t stream)
{
    if (R < 0 || C < 0) return WB_BAD_SHAPE;
    if (R == 0 || C == 0) return WB_OK;
    // BEGIN SOLUTION 00.7 (about 3 lines)
    //> // TODO(00.7): a block of TILE x TILE threads for each tile. About 3 lines.
    //> return WB_TODO;
    dim3 grid((C + TILE - 1) / TILE, (R + TILE - 1) / TILE);
    transpose_kernel<<<grid, dim3(TILE, TILE), 0, stream>>>(out, x, R, C);
    return wb_launched();
    // END SOLUTION
}

/* --- 00.8 a sum by a block -----------------------------------------------------------
 * Each thread first sums every THREADS-th column on its own. Then the block adds its
 * partial sums as a tree: in each step the lower half of the threads adds what the upper
 * half has, until s[0] holds everything:
 *
 *     s[t] += s[t + 128]  for t < 128
 *     s[t] += s[t +  64]  for t <  64      ... 8 steps for 256 partial sums
 */
__global__ void sum_rows_kernel(float *out, const float *x, int C)
{
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int c = t; c < C; c += THREADS)
        sum += x[(size_t)blockIdx.x * C + c];
    // BEGIN SOLUTION 00.8 (about 7 lines)
    //> // TODO(00.8): a shared array s of THREADS floats; store the partial sum in it; then
    //> // the steps of the tree. Each step reads what other threads wrote in the previous
    //> // one, so a barrier comes first, outside of any `if`. At the end one thread writes
    //> // out[blockIdx.x]. About 7 lines.
    __shared__ float s[THREADS];
    s[t] = sum;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();  // s is written
        if (t < half) s[t] += s[t + half];
    }
    if (t == 0) out[blockIdx.x] = s[0];  // thread 0 itself wrote it last
    // END SOLUTION
}

wb_status sum_rows_f32(float *out, const float *x, int R, int C, cudaStream_t stream)
{
    if (R < 0 || C < 0) return WB_BAD_SHAPE;
    if (R == 0) return WB_OK;
    // BEGIN SOLUTION 00.8 (about 2 lines)
    //> // TODO(00.8): one block for each row. About 2 lines.
    //> return WB_TODO;
    sum_rows_kernel<<<R, THREADS, 0, stream>>>(out, x, C);
    return wb_launched();
    // END SOLUTION
}

/* --- 00.9 a sum by a warp ------------------------------------------------------------
 * 32 consecutive threads of a block are a warp, and a thread's number in its warp is its
 * lane. The lanes of a warp can read each other's variables without shared memory and
 * without a barrier: __shfl_down_sync(mask, v, d) returns the v of lane + d. The mask has
 * a bit for each lane that takes part; all of these lanes must execute the call.
 */
__global__ void sum_rows_warp_kernel(float *out, const float *x, int R, int C)
{
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int row = blockIdx.x * (THREADS / 32) + warp;
    if (row >= R) return;  // the whole warp: its lanes have the same row
    float sum = 0.0f;
    for (int c = lane; c < C; c += 32)
        sum += x[(size_t)row * C + c];
    // BEGIN SOLUTION 00.9 (about 3 lines)
    //> // TODO(00.9): the tree of 00.8 with shuffles: for d = 16, 8, 4, 2, 1, add the sum of
    //> // lane + d. All 32 lanes take part: mask 0xffffffff. Afterwards lane 0 has the
    //> // whole sum. It alone writes out[row]. About 3 lines.
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, d);
    if (lane == 0) out[row] = sum;  // the other lanes have parts of it
    // END SOLUTION
}

wb_status sum_rows_warp_f32(float *out, const float *x, int R, int C, cudaStream_t stream)
{
    if (R < 0 || C < 0) return WB_BAD_SHAPE;
    if (R == 0) return WB_OK;
    // BEGIN SOLUTION 00.9 (about 3 lines)
    //> // TODO(00.9): a warp per row. A block has THREADS / 32 warps. About 3 lines.
    //> return WB_TODO;
    int rows = THREADS / 32;  // per block
    sum_rows_warp_kernel<<<(R + rows - 1) / rows, THREADS, 0, stream>>>(out, x, R, C);
    return wb_launched();
    // END SOLUTION
}

/* --- 00.10 reading a report ----------------------------------------------------------
 * Each thread needs three elements, and its neighbours need two of them, too. So the
 * block loads its elements into shared memory once, with one more at either end:
 *
 *     s[0]    s[1]  s[2]  ...  s[THREADS]    s[THREADS + 1]
 *     x[i-1]  its own THREADS elements       the element after them
 */
// BEGIN SOLUTION 00.10 (2 changes)
//> // TODO(00.10): this kernel is complete, but it has two mistakes. Do not search for them:
//> // run `./grade lab00 -k smooth` and let the report lead you to the lines.
//> __global__ void smooth_kernel(float *out, const float *x, int N)
//> {
//>     __shared__ float s[THREADS + 2];
//>     int t = threadIdx.x, i = blockIdx.x * THREADS + t;
//>     s[t + 1] = i < N ? x[i] : 0.0f;
//>     if (t == 0) s[0] = x[i - 1];
//>     if (t == THREADS - 1) s[THREADS + 1] = i + 1 < N ? x[i + 1] : 0.0f;
//>     if (i < N) out[i] = (s[t] + s[t + 1] + s[t + 2]) / 3.0f;
//> }
__global__ void smooth_kernel(float *out, const float *x, int N)
{
    __shared__ float s[THREADS + 2];
    int t = threadIdx.x, i = blockIdx.x * THREADS + t;
    s[t + 1] = i < N ? x[i] : 0.0f;
    if (t == 0) s[0] = i > 0 ? x[i - 1] : 0.0f;
    if (t == THREADS - 1) s[THREADS + 1] = i + 1 < N ? x[i + 1] : 0.0f;
    __syncthreads();  // neighbours have loaded s[t] and s[t + 2]
    if (i < N) out[i] = (s[t] + s[t + 1] + s[t + 2]) / 3.0f;
}
// END SOLUTION

wb_status smooth_f32(float *out, const float *x, int N, cudaStream_t stream)
{
    if (N < 0) return WB_BAD_SHAPE;
    if (N == 0) return WB_OK;
    smooth_kernel<<<(N + THREADS - 1) / THREADS, THREADS, 0, stream>>>(out, x, N);
    return wb_launched();
}
