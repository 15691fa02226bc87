// host_order.cu - correct: host code and streams that depend on the exact order of work.
#include "../cases.h"

#include "cuda/pdl.cuh"

enum { N = 1000, BLOCKS = 4, THREADS = 256, BYTES = N * sizeof(float) };

__global__ void add(float *x, int n, float a)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += a;
}
__global__ void count(int *n)
{
    atomicAdd(n, 1);
}
static cudaStream_t non_blocking_stream(void)
{
    cudaStream_t s;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    return s;
}

// A copy from pageable memory has read its source when the call returns.
CASE(pageable_source)
{
    float host[N], *x = unwritten<float>(N);
    cudaStream_t s = non_blocking_stream();
    for (int i = 0; i < N; i++)
        host[i] = i;
    cudaMemcpyAsync(x, host, BYTES, cudaMemcpyHostToDevice, s);
    memset(host, 0, BYTES);
    cudaMemcpyAsync(host, x, BYTES, cudaMemcpyDeviceToHost, s);
    int wrong = host[N - 1] != N - 1;  // a copy to pageable memory has finished
    cudaStreamDestroy(s);
    return wrong;
}
static float static_source[N], static_target[N];
CASE(static_arrays)
{
    float *x = unwritten<float>(N);
    static_source[N - 1] = 3;
    cudaMemcpyAsync(x, static_source, BYTES, cudaMemcpyHostToDevice, 0);
    static_source[N - 1] = 0;
    cudaMemcpyAsync(static_target, x, BYTES, cudaMemcpyDeviceToHost, 0);
    return static_target[N - 1] != 3;
}
// The host fills one half of a pinned buffer while the other half is copied.
CASE(two_halves)
{
    float *x = zeros<float>(2 * N), *host = NULL;
    cudaStream_t s = non_blocking_stream();
    cudaEvent_t done[2];
    cudaMallocHost(&host, 2 * BYTES);
    for (int i = 0; i < 2; i++)
        cudaEventCreateWithFlags(&done[i], cudaEventDisableTiming);
    cudaDeviceSynchronize();
    for (int round = 0; round < 6; round++) {
        int h = round % 2;
        if (round >= 2) cudaEventSynchronize(done[h]);
        for (int i = 0; i < N; i++)
            host[h * N + i] = round;
        cudaMemcpyAsync(x + h * N, host + h * N, BYTES, cudaMemcpyHostToDevice, s);
        cudaEventRecord(done[h], s);
    }
    cudaStreamSynchronize(s);
    for (int i = 0; i < 2; i++)
        cudaEventDestroy(done[i]);
    cudaStreamDestroy(s);
    cudaFreeHost(host);
    return differs(x, 2 * N, [](int i) { return i < N ? 4 : 5; });
}
// Streams and events are destroyed before their work has finished.
CASE(destroyed_early)
{
    float *x = zeros<float>(N);
    cudaStream_t a = non_blocking_stream(), b = non_blocking_stream();
    cudaEvent_t ready;
    cudaEventCreate(&ready);
    cudaDeviceSynchronize();
    add<<<BLOCKS, THREADS, 0, a>>>(x, N, 1);
    cudaEventRecord(ready, a);
    cudaStreamWaitEvent(b, ready, 0);
    cudaEventDestroy(ready);
    cudaStreamDestroy(a);
    add<<<BLOCKS, THREADS, 0, b>>>(x, N, 1);
    cudaStreamDestroy(b);
    cudaDeviceSynchronize();
    return differs(x, N, [](int) { return 2; });
}
CASE(many_launches)
{
    float *x = zeros<float>(N);
    cudaStream_t s = non_blocking_stream();
    cudaDeviceSynchronize();
    for (int i = 0; i < 3000; i++)
        add<<<1, 32, 0, s>>>(x, 32, 1);
    cudaStreamSynchronize(s);
    cudaStreamDestroy(s);
    return differs(x, 32, [](int) { return 3000; });
}
CASE(atomics_of_two_streams)
{
    int *n = zeros<int>(1);
    cudaStream_t a = non_blocking_stream(), b = non_blocking_stream();
    cudaDeviceSynchronize();
    count<<<4, 64, 0, a>>>(n);
    count<<<4, 64, 0, b>>>(n);
    cudaDeviceSynchronize();
    cudaStreamDestroy(a);
    cudaStreamDestroy(b);
    return differs(n, 1, [](int) { return 512; });
}
// The copies on the default stream wait for a stream that is not non-blocking.
CASE(legacy_order)
{
    float *x = zeros<float>(N), first = -1;
    cudaStream_t a, b;
    cudaStreamCreate(&a);
    cudaStreamCreate(&b);
    add<<<BLOCKS, THREADS, 0, a>>>(x, N, 1);
    add<<<BLOCKS, THREADS>>>(x, N, 2);
    add<<<BLOCKS, THREADS, 0, b>>>(x, N, 4);
    cudaMemcpy(&first, x, sizeof first, cudaMemcpyDeviceToHost);
    cudaStreamDestroy(a);
    cudaStreamDestroy(b);
    return first != 7;
}
// The host writes one half of managed memory while a kernel writes the other.
CASE(managed_halves)
{
    float *x = NULL;
    cudaMallocManaged(&x, 2 * BYTES);
    memset(x, 0, 2 * BYTES);
    add<<<BLOCKS, THREADS>>>(x, N, 1);
    for (int i = N; i < 2 * N; i++)
        x[i] = 2;
    cudaDeviceSynchronize();
    int wrong = x[0] != 1 || x[2 * N - 1] != 2;
    return cudaFree(x) || wrong;
}
CASE(forked_graph)
{
    float *x = zeros<float>(N), *y = zeros<float>(N);
    cudaStream_t a = non_blocking_stream(), b = non_blocking_stream();
    cudaEvent_t fork, join;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaEventCreate(&fork);
    cudaEventCreate(&join);
    cudaDeviceSynchronize();
    cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal);
    cudaEventRecord(fork, a);
    cudaStreamWaitEvent(b, fork, 0);
    add<<<BLOCKS, THREADS, 0, a>>>(x, N, 1);
    add<<<BLOCKS, THREADS, 0, b>>>(y, N, 2);
    cudaEventRecord(join, b);
    cudaStreamWaitEvent(a, join, 0);
    cudaStreamEndCapture(a, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    for (int i = 0; i < 3; i++)
        cudaGraphLaunch(exec, a);
    cudaStreamSynchronize(a);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    cudaEventDestroy(fork);
    cudaEventDestroy(join);
    cudaStreamDestroy(a);
    cudaStreamDestroy(b);
    return differs(x, N, [](int) { return 3; }) || differs(y, N, [](int) { return 6; });
}
// Nothing writes the padding of a struct, nor the end of a row with a pitch.
struct particle {
    int id;
    double mass;
};
__global__ void fill(particle *p)
{
    p[threadIdx.x].id = threadIdx.x;
    p[threadIdx.x].mass = 1;
}
CASE(padding_copied_back)
{
    particle host[32], *p = NULL;
    cudaMalloc(&p, sizeof host);
    fill<<<1, 32>>>(p);
    cudaMemcpy(host, p, sizeof host, cudaMemcpyDeviceToHost);
    return cudaFree(p) || host[31].id != 31;
}

// --- programmatic dependent launch -----------------------------------------------------

__global__ void writes(float *x)
{
    pdl_trigger();
    pdl_wait();
    x[threadIdx.x] += 1;
}
__global__ void reads_after_barrier(float *y, const float *x)
{
    pdl_trigger();
    if (threadIdx.x == 0) pdl_wait();
    __syncthreads();
    y[threadIdx.x] = x[threadIdx.x];
}
__global__ void reads_at_once(float *y, const float *x)
{
    y[threadIdx.x] = x[threadIdx.x];
    pdl_wait();
}
CASE(pdl_waits)
{
    float *x = zeros<float>(THREADS), *y = zeros<float>(THREADS);
    for (int i = 0; i < 3; i++) {
        launch_pdl(writes, 1, THREADS, 0, 0, x);
        launch_pdl(reads_after_barrier, 1, THREADS, 0, 0, y, (const float *)x);
    }
    return differs(y, THREADS, [](int) { return 3; });
}
// The previous kernel has finished: the host has waited for it, or a copy lies between.
CASE(pdl_without_overlap)
{
    float *x = zeros<float>(THREADS), *y = zeros<float>(THREADS), *z = zeros<float>(1);
    launch_pdl(writes, 1, THREADS, 0, 0, x);
    cudaDeviceSynchronize();
    launch_pdl(reads_at_once, 1, THREADS, 0, 0, y, (const float *)x);
    launch_pdl(writes, 1, THREADS, 0, 0, x);
    cudaMemsetAsync(z, 0, sizeof *z, 0);
    launch_pdl(reads_at_once, 1, THREADS, 0, 0, y, (const float *)x);
    return differs(y, THREADS, [](int) { return 2; });
}
