// streams.cu - work in several streams, or on the host, that nothing puts in order. The
// calls on both sides are marked, and the accesses of the kernels.
#include "../cases.h"

__global__ void produce(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    // BUG other_stream stream-race, event_of_wrong_stream stream-race
    // BUG event_before_work stream-race, event_not_waited_for stream-race
    // BUG non_blocking stream-race, managed_without_sync stream-race
    // BUG mapped_without_sync stream-race, waits_in_first stream-race
    // BUG copy_in_other_stream stream-race, freed_in_other_stream stream-race
    if (i < n) x[i] = (float)i;
}
__global__ void consume(float *y, const float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    // BUG other_stream stream-race, event_of_wrong_stream stream-race
    // BUG event_before_work stream-race, event_not_waited_for stream-race
    // BUG non_blocking stream-race, overwritten_while_read stream-race
    // BUG waits_in_first stream-race
    if (i < n) y[i] = 2 * x[i];
}

enum { N = 1000, BLOCKS = 4, THREADS = 256 };
struct two_streams {
    cudaStream_t a, b;
    cudaEvent_t ready;
};
static two_streams create_streams(void)
{
    two_streams s;
    cudaStreamCreateWithFlags(&s.a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&s.b, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&s.ready, cudaEventDisableTiming);
    return s;
}
static int destroy_streams(two_streams s)
{
    cudaDeviceSynchronize();
    cudaStreamDestroy(s.a);
    cudaStreamDestroy(s.b);
    cudaEventDestroy(s.ready);
    return 0;
}

CASE(other_stream)
{
    float *x = zeros<float>(N), *y = zeros<float>(N);
    two_streams s = create_streams();
    cudaDeviceSynchronize();
    produce<<<BLOCKS, THREADS, 0, s.a>>>(x, N);     // BUG other_stream stream-race
    consume<<<BLOCKS, THREADS, 0, s.b>>>(y, x, N);  // BUG other_stream stream-race
    return destroy_streams(s);
}
// The event is recorded in the stream that waits for it.
CASE(event_of_wrong_stream)
{
    float *x = zeros<float>(N), *y = zeros<float>(N);
    two_streams s = create_streams();
    cudaDeviceSynchronize();
    produce<<<BLOCKS, THREADS, 0, s.a>>>(x, N);  // BUG event_of_wrong_stream stream-race
    cudaEventRecord(s.ready, s.b);
    cudaStreamWaitEvent(s.b, s.ready, 0);
    // BUG event_of_wrong_stream stream-race
    consume<<<BLOCKS, THREADS, 0, s.b>>>(y, x, N);
    return destroy_streams(s);
}
CASE(event_before_work)
{
    float *x = zeros<float>(N), *y = zeros<float>(N);
    two_streams s = create_streams();
    cudaDeviceSynchronize();
    cudaEventRecord(s.ready, s.a);
    produce<<<BLOCKS, THREADS, 0, s.a>>>(x, N);  // BUG event_before_work stream-race
    cudaStreamWaitEvent(s.b, s.ready, 0);
    consume<<<BLOCKS, THREADS, 0, s.b>>>(y, x, N);  // BUG event_before_work stream-race
    return destroy_streams(s);
}
CASE(event_not_waited_for)
{
    float *x = zeros<float>(N), *y = zeros<float>(N);
    two_streams s = create_streams();
    cudaDeviceSynchronize();
    produce<<<BLOCKS, THREADS, 0, s.a>>>(x, N);  // BUG event_not_waited_for stream-race
    cudaEventRecord(s.ready, s.a);
    // BUG event_not_waited_for stream-race
    consume<<<BLOCKS, THREADS, 0, s.b>>>(y, x, N);
    return destroy_streams(s);
}
// The wait is in the stream that is waited for.
CASE(waits_in_first)
{
    float *x = zeros<float>(N), *y = zeros<float>(N);
    two_streams s = create_streams();
    cudaDeviceSynchronize();
    produce<<<BLOCKS, THREADS, 0, s.a>>>(x, N);  // BUG waits_in_first stream-race
    cudaEventRecord(s.ready, s.a);
    cudaStreamWaitEvent(s.a, s.ready, 0);
    consume<<<BLOCKS, THREADS, 0, s.b>>>(y, x, N);  // BUG waits_in_first stream-race
    return destroy_streams(s);
}
// The default stream does not wait for a stream with cudaStreamNonBlocking.
CASE(non_blocking)
{
    float *x = zeros<float>(N), *y = zeros<float>(N);
    two_streams s = create_streams();
    cudaDeviceSynchronize();
    produce<<<BLOCKS, THREADS, 0, s.a>>>(x, N);  // BUG non_blocking stream-race
    consume<<<BLOCKS, THREADS>>>(y, x, N);       // BUG non_blocking stream-race
    return destroy_streams(s);
}
// The first stream overwrites what the second still reads.
CASE(overwritten_while_read)
{
    float *x = zeros<float>(N), *y = zeros<float>(N);
    two_streams s = create_streams();
    cudaDeviceSynchronize();
    // BUG overwritten_while_read stream-race
    consume<<<BLOCKS, THREADS, 0, s.b>>>(y, x, N);
    cudaMemsetAsync(x, 0, N * sizeof *x, s.a);  // BUG overwritten_while_read stream-race
    return destroy_streams(s);
}
CASE(copy_in_other_stream)
{
    float *x = zeros<float>(N), *host = NULL;
    size_t bytes = N * sizeof *x;
    two_streams s = create_streams();
    cudaMallocHost(&host, bytes);
    cudaDeviceSynchronize();
    produce<<<BLOCKS, THREADS, 0, s.a>>>(x, N);  // BUG copy_in_other_stream stream-race
    // BUG copy_in_other_stream stream-race
    cudaMemcpyAsync(host, x, bytes, cudaMemcpyDeviceToHost, s.b);
    destroy_streams(s);
    return cudaFreeHost(host);
}
CASE(freed_in_other_stream)
{
    float *x = NULL;
    two_streams s = create_streams();
    cudaMallocAsync(&x, N * sizeof *x, s.a);
    produce<<<BLOCKS, THREADS, 0, s.a>>>(x, N);  // BUG freed_in_other_stream stream-race
    cudaFreeAsync(x, s.b);                       // BUG freed_in_other_stream stream-race
    return destroy_streams(s);
}

// --- a stream and the host -------------------------------------------------------------

CASE(pinned_without_sync)
{
    float *x = counting<float>(N), *host = NULL, last;
    size_t bytes = N * sizeof *x;
    two_streams s = create_streams();
    cudaMallocHost(&host, bytes);
    memset(host, 0, bytes);
    cudaDeviceSynchronize();
    // BUG pinned_without_sync stream-race
    cudaMemcpyAsync(host, x, bytes, cudaMemcpyDeviceToHost, s.a);
    last = host[N - 1];  // BUG pinned_without_sync stream-race
    destroy_streams(s);
    return cudaFreeHost(host) || last == -1;
}
CASE(sync_of_wrong_stream)
{
    float *x = counting<float>(N), *host = NULL, last;
    size_t bytes = N * sizeof *x;
    two_streams s = create_streams();
    cudaMallocHost(&host, bytes);
    memset(host, 0, bytes);
    cudaDeviceSynchronize();
    // BUG sync_of_wrong_stream stream-race
    cudaMemcpyAsync(host, x, bytes, cudaMemcpyDeviceToHost, s.a);
    cudaStreamSynchronize(s.b);
    last = host[N - 1];  // BUG sync_of_wrong_stream stream-race
    destroy_streams(s);
    return cudaFreeHost(host) || last == -1;
}
// The next batch is written to the pinned buffer before the copy of the first has run.
CASE(source_overwritten)
{
    float *x = zeros<float>(N), *host = NULL;
    size_t bytes = N * sizeof *x;
    two_streams s = create_streams();
    cudaMallocHost(&host, bytes);
    memset(host, 0, bytes);
    cudaDeviceSynchronize();
    // BUG source_overwritten stream-race
    cudaMemcpyAsync(x, host, bytes, cudaMemcpyHostToDevice, s.a);
    for (int i = 0; i < N; i++)
        host[i] = 1;  // BUG source_overwritten stream-race
    destroy_streams(s);
    return cudaFreeHost(host);
}
// cudaEventQuery says whether the copy has finished; it does not wait.
CASE(query_does_not_wait)
{
    float *x = counting<float>(N), *host = NULL, last;
    size_t bytes = N * sizeof *x;
    two_streams s = create_streams();
    cudaMallocHost(&host, bytes);
    memset(host, 0, bytes);
    cudaDeviceSynchronize();
    // BUG query_does_not_wait stream-race
    cudaMemcpyAsync(host, x, bytes, cudaMemcpyDeviceToHost, s.a);
    cudaEventRecord(s.ready, s.a);
    cudaEventQuery(s.ready);
    last = host[N - 1];  // BUG query_does_not_wait stream-race
    destroy_streams(s);
    return cudaFreeHost(host) || last == -1;
}
CASE(managed_without_sync)
{
    float *x = NULL, last;
    cudaMallocManaged(&x, N * sizeof *x);
    produce<<<BLOCKS, THREADS>>>(x, N);  // BUG managed_without_sync stream-race
    last = x[N - 1];                     // BUG managed_without_sync stream-race
    cudaDeviceSynchronize();
    return cudaFree(x) || last == -1;
}
CASE(mapped_without_sync)
{
    float *host = NULL, *x = NULL, last;
    cudaHostAlloc(&host, N * sizeof *host, cudaHostAllocMapped);
    memset(host, 0, N * sizeof *host);
    cudaHostGetDevicePointer(&x, host, 0);
    produce<<<BLOCKS, THREADS>>>(x, N);  // BUG mapped_without_sync stream-race
    last = host[N - 1];                  // BUG mapped_without_sync stream-race
    cudaDeviceSynchronize();
    return cudaFreeHost(host) || last == -1;
}

__constant__ float factor[4];
__global__ void scaled(float *x)
{
    // BUG constant_changed_in_flight stream-race
    x[threadIdx.x] *= factor[threadIdx.x % 4];
}
CASE(constant_changed_in_flight)
{
    float f[4] = {1, 2, 3, 4};
    float *x = counting<float>(32);
    cudaStream_t a, b;
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    cudaMemcpyToSymbol(factor, f, sizeof f);
    cudaDeviceSynchronize();
    scaled<<<1, 32, 0, a>>>(x);
    // BUG constant_changed_in_flight stream-race
    cudaMemcpyToSymbolAsync(factor, f, sizeof f, 0, cudaMemcpyHostToDevice, b);
    cudaDeviceSynchronize();
    cudaStreamDestroy(a), cudaStreamDestroy(b);
    return 0;
}
