/* Clusters: shared memory of other blocks, `__cluster_dims__`, three dimensions, launches. */
#include <cooperative_groups.h>
#include <cstdio>
#include <utility>
namespace cg = cooperative_groups;

static int failures;
static void expect(const char *what, long got, long want)
{
    if (got == want) return;
    printf("%s: %ld instead of %ld\n", what, got, want);
    failures++;
}

/* The bins of a histogram lie in the shared memory of all blocks of a cluster. */
__global__ void histogram(unsigned *bins, int count, const unsigned char *x, int n)
{
    extern __shared__ unsigned mine[];
    cg::cluster_group cluster = cg::this_cluster();
    int each = count / (int)cluster.num_blocks();
    for (int i = threadIdx.x; i < each; i += blockDim.x)
        mine[i] = 0;
    cluster.sync();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned *theirs = cluster.map_shared_rank(mine, x[i] / each);
        atomicAdd(&theirs[x[i] % each], 1u);
    }
    cluster.sync();
    for (int i = threadIdx.x; i < each; i += blockDim.x)
        atomicAdd(&bins[(int)cluster.block_rank() * each + i], mine[i]);
}

static void test_histogram()
{
    const int n = 10000, count = 256;
    unsigned *bins;
    unsigned char *x;
    cudaMallocManaged(&bins, count * sizeof *bins);
    cudaMallocManaged(&x, n);
    long want[count] = {0};
    for (int i = 0; i < n; i++)
        want[x[i] = (unsigned char)(i * i % 251)]++;
    for (unsigned size : {1u, 2u, 8u}) {
        cudaMemset(bins, 0, count * sizeof *bins);
        cudaLaunchConfig_t config = {};
        cudaLaunchAttribute attribute[1];
        config.gridDim = 16;
        config.blockDim = 64;
        config.dynamicSmemBytes = count / size * sizeof *bins;
        attribute[0].id = cudaLaunchAttributeClusterDimension;
        attribute[0].val.clusterDim.x = size;
        attribute[0].val.clusterDim.y = attribute[0].val.clusterDim.z = 1;
        config.attrs = attribute;
        config.numAttrs = 1;
        expect("launch", cudaLaunchKernelEx(&config, histogram, bins, count, x, n), 0);
        expect("histogram", cudaDeviceSynchronize(), 0);
        for (int i = 0; i < count; i++)
            expect("bin", bins[i], want[i]);
    }
}

struct seen {
    unsigned block, rank, blocks, threads, thread, x, y, z, tx, theirs, asked;
};
/* Each block reads what the next one of its cluster has written. */
template <int Y> __global__ void __cluster_dims__(2, Y, 1) in_three_dimensions(seen *all)
{
    __shared__ unsigned number;
    cg::cluster_group c = cg::this_cluster();
    unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    if (threadIdx.x == 0) number = 100 + block;
    auto token = c.barrier_arrive();
    c.barrier_wait(std::move(token));
    unsigned next = (c.block_rank() + 1) % c.num_blocks();
    unsigned *there = c.map_shared_rank(&number, (int)next);
    if (threadIdx.x == 3)
        all[block] = {block,
                      c.block_rank(),
                      c.num_blocks(),
                      c.num_threads(),
                      c.thread_rank(),
                      c.block_index().x,
                      c.block_index().y,
                      c.dim_blocks().y,
                      c.thread_index().x,
                      *there,
                      c.query_shared_rank(there)};
    c.sync();
}

static void test_dimensions()
{
    seen *all;
    const int gx = 4, gy = 4, gz = 2;
    cudaMallocManaged(&all, gx * gy * gz * sizeof *all);
    in_three_dimensions<2><<<dim3(gx, gy, gz), 32>>>(all);
    expect("three dimensions", cudaDeviceSynchronize(), 0);
    for (unsigned b = 0; b < gx * gy * gz; b++) {
        unsigned x = b % gx, y = b / gx % gy, rank = x % 2 + 2 * (y % 2);
        unsigned next = (rank + 1) % 4;
        unsigned theirs = b - x % 2 - gx * (y % 2) + next % 2 + gx * (next / 2);
        const seen &s = all[b];
        expect("block", s.block, b);
        expect("rank", s.rank, rank);
        expect("blocks of a cluster", s.blocks, 4);
        expect("threads of a cluster", s.threads, 128);
        expect("rank of a thread", s.thread, rank * 32 + 3);
        expect("x", s.x, x % 2);
        expect("y", s.y, y % 2);
        expect("height", s.z, 2);
        expect("x of a thread", s.tx, x % 2 * 32 + 3);
        expect("the next block's number", s.theirs, 100 + theirs);
        expect("its rank", s.asked, next);
    }
    /* not a multiple */
    in_three_dimensions<2><<<dim3(gx, 3, gz), 32>>>(all);
    cudaDeviceSynchronize();
    expect("not a multiple of the cluster", cudaGetLastError() != cudaSuccess, 1);
}

/* Without clusters, each block is a cluster of its own. */
__global__ void alone(int *out)
{
    __shared__ int x;
    if (threadIdx.x == 0) x = 7;
    cg::cluster_group c = cg::this_cluster();
    c.sync();
    if (threadIdx.x == 0) out[blockIdx.x] = *c.map_shared_rank(&x, 0) + (int)c.num_blocks();
}

static void test_alone()
{
    int *out;
    cudaMallocManaged(&out, 2 * sizeof *out);
    alone<<<2, 32>>>(out);
    expect("alone", cudaDeviceSynchronize(), 0);
    expect("without clusters", out[0] + out[1], 16);
    cudaLaunchConfig_t config = {};
    config.gridDim = 2;
    config.blockDim = 32;
    void *arguments[] = {&out};
    out[0] = out[1] = 0;
    expect("by address", cudaLaunchKernelExC(&config, (void *)alone, arguments), 0);
    cudaDeviceSynchronize();
    expect("launched by address", out[0] + out[1], 16);
}

// 16-byte compare-and-swap and exchange, which GPUs with clusters also have
struct __align__(16) both {
    long long count, sum;
};
__global__ void add_both(both *x)
{
#if __CUDA_ARCH__ >= 900 || __CUDACPU__
    both seen = {0, 0}, old;
    for (;; seen = old) {
        old = atomicCAS(x, seen, both{seen.count + 1, seen.sum + threadIdx.x});
        if (old.count == seen.count && old.sum == seen.sum) break;
    }
    old = atomicExch(x + 1, both{threadIdx.x, -(long long)threadIdx.x});
    if (old.count != -old.sum) atomicExch(x + 2, both{1, 1});
#endif
}
static void test_16_bytes()
{
    both *x;
    cudaMallocManaged(&x, 3 * sizeof *x);
    for (int i = 0; i < 3; i++) new (x + i) both{0, 0};
    add_both<<<4, 64>>>(x);
    cudaDeviceSynchronize();
    expect("16 bytes: additions", x[0].count == 256 && x[0].sum == 4 * 2016, 1);
    expect("16 bytes: exchanges", x[1].count == -x[1].sum && x[2].count == 0, 1);
}

int main()
{
    cudaDeviceProp p;
    cudaGetDeviceProperties(&p, 0);
    if (!p.clusterLaunch) return printf("this GPU has no clusters\n"), 0;
    test_histogram();
    test_dimensions();
    test_alone();
    test_16_bytes();
    printf(failures ? "%d FAILED\n" : "passed\n", failures);
    return failures != 0;
}
