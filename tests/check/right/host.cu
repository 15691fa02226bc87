// host.cu - correct: streams and events, pinned and managed memory, memory that is used
// again, graphs, copies.
#include "../cases.h"

enum { N = 1000, BLOCKS = 4, THREADS = 256, BYTES = N * sizeof(float) };

__global__ void produce(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = (float)i;
}
__global__ void consume(float *y, const float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}
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
static void destroy_streams(two_streams s)
{
    cudaStreamDestroy(s.a);
    cudaStreamDestroy(s.b);
    cudaEventDestroy(s.ready);
}
static float twice(int i)
{
    return 2.0f * i;
}

// Arrays of the file: one of the device, and one of the host that is mapped for it.
__device__ float of_device[N];
static float of_host[N];
CASE(arrays_of_the_file)
{
    float *x = NULL, *y = zeros<float>(N);
    cudaGetSymbolAddress((void **)&x, of_device);
    produce<<<BLOCKS, THREADS>>>(x, N);
    cudaHostRegister(of_host, sizeof of_host, cudaHostRegisterMapped);
    cudaMemcpy(of_host, x, sizeof of_host, cudaMemcpyDeviceToHost);
    cudaHostGetDevicePointer((void **)&x, of_host, 0);
    consume<<<BLOCKS, THREADS>>>(y, x, N);
    cudaDeviceSynchronize();
    cudaHostUnregister(of_host);
    return differs(y, N, twice);
}

CASE(event_between_streams)
{
    float *x = zeros<float>(N), *y = zeros<float>(N);
    two_streams s = create_streams();
    cudaDeviceSynchronize();
    produce<<<BLOCKS, THREADS, 0, s.a>>>(x, N);
    cudaEventRecord(s.ready, s.a);
    cudaStreamWaitEvent(s.b, s.ready, 0);
    consume<<<BLOCKS, THREADS, 0, s.b>>>(y, x, N);
    cudaStreamSynchronize(s.b);
    destroy_streams(s);
    return differs(y, N, twice);
}
// There and back, twice: the event is recorded again each time.
CASE(ping_pong)
{
    float *x = counting<float>(N), *y = zeros<float>(N);
    two_streams s = create_streams();
    cudaDeviceSynchronize();
    for (int round = 0; round < 2; round++) {
        consume<<<BLOCKS, THREADS, 0, s.a>>>(y, x, N);
        cudaEventRecord(s.ready, s.a);
        cudaStreamWaitEvent(s.b, s.ready, 0);
        consume<<<BLOCKS, THREADS, 0, s.b>>>(x, y, N);
        cudaEventRecord(s.ready, s.b);
        cudaStreamWaitEvent(s.a, s.ready, 0);
    }
    cudaStreamSynchronize(s.a);
    destroy_streams(s);
    return differs(x, N, [](int i) { return 16 * i; });
}
// Each stream has its half of the buffers.
CASE(halves_in_two_streams)
{
    float *x = zeros<float>(N), *y = zeros<float>(N);
    two_streams s = create_streams();
    cudaDeviceSynchronize();
    for (int k = 0; k < 2; k++) {
        cudaStream_t stream = k ? s.b : s.a;
        float *from = x + k * N / 2;
        produce<<<BLOCKS, THREADS, 0, stream>>>(from, N / 2);
        consume<<<BLOCKS, THREADS, 0, stream>>>(y + k * N / 2, from, N / 2);
    }
    cudaDeviceSynchronize();
    destroy_streams(s);
    return differs(y, N, [](int i) { return 2 * (i % (N / 2)); });
}
// Two streams read what was written before both.
CASE(two_readers)
{
    float *x = zeros<float>(N), *y = zeros<float>(N), *z = zeros<float>(N);
    two_streams s = create_streams();
    cudaDeviceSynchronize();
    produce<<<BLOCKS, THREADS, 0, s.a>>>(x, N);
    cudaEventRecord(s.ready, s.a);
    cudaStreamWaitEvent(s.b, s.ready, 0);
    consume<<<BLOCKS, THREADS, 0, s.a>>>(y, x, N);
    consume<<<BLOCKS, THREADS, 0, s.b>>>(z, x, N);
    cudaDeviceSynchronize();
    destroy_streams(s);
    return differs(y, N, twice) || differs(z, N, twice);
}
// The default stream waits for ordinary streams, and they wait for it.
CASE(default_stream)
{
    float *x = unwritten<float>(N), *y = unwritten<float>(N);
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    cudaMemsetAsync(x, 0, BYTES);
    produce<<<BLOCKS, THREADS, 0, stream>>>(x, N);
    consume<<<BLOCKS, THREADS>>>(y, x, N);
    int wrong = differs(y, N, twice);
    cudaStreamDestroy(stream);
    return wrong;
}

CASE(pinned_after_sync)
{
    float *x = unwritten<float>(N), *host = NULL;
    two_streams s = create_streams();
    cudaMallocHost(&host, BYTES);
    for (int i = 0; i < N; i++)
        host[i] = i;
    cudaMemcpyAsync(x, host, BYTES, cudaMemcpyHostToDevice, s.a);
    cudaStreamSynchronize(s.a);
    host[0] = -1;
    cudaMemcpyAsync(host, x, BYTES, cudaMemcpyDeviceToHost, s.a);
    cudaStreamSynchronize(s.a);
    int wrong = host[0] != 0 || host[N - 1] != N - 1;
    destroy_streams(s);
    return cudaFreeHost(host) || wrong;
}
CASE(pinned_after_event)
{
    float *x = zeros<float>(N), *host = NULL;
    two_streams s = create_streams();
    cudaMallocHost(&host, BYTES);
    cudaDeviceSynchronize();
    produce<<<BLOCKS, THREADS, 0, s.a>>>(x, N);
    cudaMemcpyAsync(host, x, BYTES, cudaMemcpyDeviceToHost, s.a);
    cudaEventRecord(s.ready, s.a);
    while (cudaEventQuery(s.ready) == cudaErrorNotReady)
        continue;
    int wrong = host[N - 1] != N - 1;
    destroy_streams(s);
    return cudaFreeHost(host) || wrong;
}
// A host function runs in the order of its stream.
static void add_one(void *p)
{
    *(float *)p += 1;
}
CASE(host_function)
{
    float *x = counting<float>(N), *host = NULL;
    two_streams s = create_streams();
    cudaMallocHost(&host, BYTES);
    cudaDeviceSynchronize();
    cudaMemcpyAsync(host, x, BYTES, cudaMemcpyDeviceToHost, s.a);
    cudaLaunchHostFunc(s.a, add_one, host);
    cudaMemcpyAsync(x, host, BYTES, cudaMemcpyHostToDevice, s.a);
    cudaStreamSynchronize(s.a);
    destroy_streams(s);
    return cudaFreeHost(host) || differs(x, 2, [](int) { return 1; });
}
CASE(managed_after_sync)
{
    float *x = NULL, *y = NULL;
    cudaMallocManaged(&x, BYTES);
    cudaMallocManaged(&y, BYTES);
    for (int i = 0; i < N; i++)
        x[i] = i;
    consume<<<BLOCKS, THREADS>>>(y, x, N);
    cudaDeviceSynchronize();
    int wrong = y[N - 1] != twice(N - 1);
    x[0] = 5;  // the kernel has finished
    return cudaFree(x) || cudaFree(y) || wrong;
}
CASE(mapped_after_sync)
{
    float *host = NULL, *x = NULL;
    cudaHostAlloc(&host, BYTES, cudaHostAllocMapped);
    cudaHostGetDevicePointer(&x, host, 0);
    produce<<<BLOCKS, THREADS>>>(x, N);
    cudaDeviceSynchronize();
    int wrong = host[N - 1] != N - 1;
    return cudaFreeHost(host) || wrong;
}

// --- allocation ------------------------------------------------------------------------

CASE(stream_ordered)
{
    float *x = NULL, *y = zeros<float>(N);
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    for (int round = 0; round < 3; round++) {  // the same block, again and again
        cudaMallocAsync(&x, BYTES, stream);
        produce<<<BLOCKS, THREADS, 0, stream>>>(x, N);
        consume<<<BLOCKS, THREADS, 0, stream>>>(y, x, N);
        cudaFreeAsync(x, stream);
    }
    cudaStreamSynchronize(stream);
    cudaStreamDestroy(stream);
    return differs(y, N, twice);
}
CASE(used_again_after_free)
{
    float *y = zeros<float>(N);
    for (int round = 0; round < 3; round++) {
        float *x = NULL;
        cudaMalloc(&x, BYTES);
        produce<<<BLOCKS, THREADS>>>(x, N);
        consume<<<BLOCKS, THREADS>>>(y, x, N);
        cudaFree(x);  // waits for the kernels
    }
    return differs(y, N, twice);
}
// cudaFree(NULL) and copies of 0 bytes do nothing.
CASE(nothing)
{
    float *x = counting<float>(N);
    cudaMemcpy(x, &x, 0, cudaMemcpyHostToDevice);
    cudaMemset(x, 7, 0);
    return cudaFree(NULL) || differs(x, N, [](int i) { return i; });
}

// --- graphs ----------------------------------------------------------------------------

CASE(graph_replayed)
{
    float *x = zeros<float>(N), *y = unwritten<float>(N);
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamCreate(&stream);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    cudaMemsetAsync(y, 0, BYTES, stream);
    consume<<<BLOCKS, THREADS, 0, stream>>>(y, x, N);
    consume<<<BLOCKS, THREADS, 0, stream>>>(x, y, N);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    produce<<<BLOCKS, THREADS, 0, stream>>>(x, N);
    cudaGraphLaunch(exec, stream);
    cudaGraphLaunch(exec, stream);
    cudaStreamSynchronize(stream);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
    return differs(x, N, [](int i) { return 16 * i; });
}

// --- copies ----------------------------------------------------------------------------

CASE(rows_with_pitch)
{
    float host[4 * 20], back[4 * 20] = {0}, *x = NULL;
    size_t pitch = 0, row = 20 * sizeof *x;
    for (int i = 0; i < 80; i++)
        host[i] = i;
    cudaMallocPitch(&x, &pitch, row, 4);
    cudaMemcpy2D(x, pitch, host, row, row, 4, cudaMemcpyHostToDevice);
    for (int r = 0; r < 4; r++) {
        float *start = (float *)((char *)x + r * pitch);
        consume<<<1, 32>>>(start, start, 20);
    }
    cudaMemcpy2D(back, row, x, pitch, row, 4, cudaMemcpyDeviceToHost);
    return cudaFree(x) || back[79] != 158 || back[20] != 40;
}
CASE(parts_of_buffer)
{
    float *x = counting<float>(N), *y = unwritten<float>(N);
    size_t half = BYTES / 2;
    cudaMemcpy(y, x + N / 2, half, cudaMemcpyDeviceToDevice);
    cudaMemcpy(y + N / 2, x, half, cudaMemcpyDefault);
    return differs(y, N, [](int i) { return (i + N / 2) % N; });
}
__device__ float table[64];
__global__ void read_table(float *y)
{
    y[threadIdx.x] = table[threadIdx.x];
}
CASE(symbols)
{
    float host[32], *y = zeros<float>(64), *address = NULL;
    for (int i = 0; i < 32; i++)
        host[i] = i;
    cudaMemcpyToSymbol(table, host, sizeof host, sizeof host);
    cudaGetSymbolAddress((void **)&address, table);
    cudaMemset(address, 0, sizeof host);
    read_table<<<1, 64>>>(y);
    cudaMemcpyFromSymbol(host, table, sizeof host, sizeof host / 2);
    return host[20] != 4 || differs(y, 64, [](int i) { return i < 32 ? 0 : i - 32; });
}
CASE(bytes_by_memset)
{
    int *x = unwritten<int>(N);
    cudaMemset(x, 0xff, N * sizeof *x);
    return differs(x, N, [](int) { return -1; });
}
