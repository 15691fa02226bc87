// host_order.cu - more mistakes of host code: data that nothing has written, work that is
// not waited for, memory that is freed in the wrong way.
#include "../cases.h"

enum { N = 1000, BLOCKS = 4, THREADS = 256, BYTES = N * sizeof(float) };

__global__ void fill(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = 1;
}
static cudaStream_t non_blocking_stream(void)
{
    cudaStream_t s;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    return s;
}

// --- uninitialized ---------------------------------------------------------------------

// The grid is one block too small.
CASE(copy_of_unwritten_tail)
{
    float host[N], *x = unwritten<float>(N);
    fill<<<N / THREADS, THREADS>>>(x, N);
    // BUG copy_of_unwritten_tail uninitialized
    cudaMemcpy(host, x, BYTES, cudaMemcpyDeviceToHost);
    return 0;
}
// A copy within the device passes on what nothing has written.
CASE(copy_of_unwritten_copy)
{
    float host[N], *x = unwritten<float>(N), *y = zeros<float>(N);
    fill<<<1, 1>>>(x, 1);
    cudaMemcpy(y, x, BYTES, cudaMemcpyDeviceToDevice);
    // BUG copy_of_unwritten_copy uninitialized
    cudaMemcpy(host, y, BYTES, cudaMemcpyDeviceToHost);
    return 0;
}
// A graph launch copies to pinned memory what no node has written.
CASE(copy_in_graph)
{
    float *x = unwritten<float>(N), *host = NULL;
    cudaStream_t s = non_blocking_stream();
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaMallocHost(&host, BYTES);
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    cudaMemcpyAsync(host, x, BYTES, cudaMemcpyDeviceToHost, s);
    cudaStreamEndCapture(s, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphLaunch(exec, s);  // BUG copy_in_graph uninitialized
    cudaStreamSynchronize(s);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(s);
    return cudaFreeHost(host);
}

// --- stream-race -----------------------------------------------------------------------

// cudaMemset returns before the device memory is set, and s does not wait for it.
CASE(memset_then_other_stream)
{
    float *x = unwritten<float>(N);
    cudaStream_t s = non_blocking_stream();
    cudaMemset(x, 0, BYTES);                // BUG memset_then_other_stream stream-race
    fill<<<BLOCKS, THREADS, 0, s>>>(x, N);  // BUG memset_then_other_stream stream-race
    cudaDeviceSynchronize();
    return cudaStreamDestroy(s);
}
// cudaMemcpy waits for the default stream, which does not wait for s.
CASE(copy_does_not_wait)
{
    float host[N], *x = zeros<float>(N);
    cudaStream_t s = non_blocking_stream();
    cudaDeviceSynchronize();
    fill<<<BLOCKS, THREADS, 0, s>>>(x, N);  // BUG copy_does_not_wait stream-race
    // BUG copy_does_not_wait stream-race
    cudaMemcpy(host, x, BYTES, cudaMemcpyDeviceToHost);
    cudaDeviceSynchronize();
    return cudaStreamDestroy(s);
}
// The library copies, not the program's own loop.
CASE(memcpy_into_pinned)
{
    float values[N] = {0}, *x = unwritten<float>(N), *host = NULL;
    cudaStream_t s = non_blocking_stream();
    cudaMallocHost(&host, BYTES);
    memset(host, 0, BYTES);
    // BUG memcpy_into_pinned stream-race
    cudaMemcpyAsync(x, host, BYTES, cudaMemcpyHostToDevice, s);
    memcpy(host, values, BYTES);  // BUG memcpy_into_pinned stream-race
    cudaDeviceSynchronize();
    cudaStreamDestroy(s);
    return cudaFreeHost(host);
}
static void set_first(void *p)
{
    *(float *)p = 5;  // BUG host_function_and_host stream-race
}
CASE(host_function_and_host)
{
    float *host = NULL;
    cudaStream_t s = non_blocking_stream();
    cudaMallocHost(&host, BYTES);
    host[0] = 0;
    cudaLaunchHostFunc(s, set_first, host);  // BUG host_function_and_host stream-race
    float first = host[0];                   // BUG host_function_and_host stream-race
    cudaDeviceSynchronize();
    cudaStreamDestroy(s);
    return cudaFreeHost(host) || first == -1;
}
// The event that the host waits for was recorded before the copy.
CASE(one_event_too_early)
{
    float *x = unwritten<float>(N), *host = NULL;
    cudaStream_t s = non_blocking_stream();
    cudaEvent_t done;
    cudaEventCreate(&done);
    cudaMallocHost(&host, BYTES);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < N; i++)
            host[i] = i;  // BUG one_event_too_early stream-race
        cudaEventRecord(done, s);
        // BUG one_event_too_early stream-race
        cudaMemcpyAsync(x, host, BYTES, cudaMemcpyHostToDevice, s);
        cudaEventSynchronize(done);
    }
    cudaDeviceSynchronize();
    cudaEventDestroy(done);
    cudaStreamDestroy(s);
    return cudaFreeHost(host);
}

// --- memory ----------------------------------------------------------------------------

CASE(pinned_too_small)
{
    float *x = zeros<float>(N), *host = NULL;
    cudaMallocHost(&host, N);
    cudaMemcpy(host, x, BYTES, cudaMemcpyDeviceToHost);  // BUG pinned_too_small copy-size
    return cudaFreeHost(host);
}
CASE(freed_async_twice)
{
    float *x = NULL;
    cudaMallocAsync(&x, BYTES, 0);
    cudaFreeAsync(x, 0);
    cudaFreeAsync(x, 0);  // BUG freed_async_twice double-free
    return 0;
}
CASE(managed_freed_twice)
{
    float *x = NULL;
    cudaMallocManaged(&x, BYTES);
    cudaFree(x);
    cudaFree(x);  // BUG managed_freed_twice double-free
    return 0;
}
static float table[16];
CASE(freed_array)
{
    cudaFree(table);  // BUG freed_array invalid-free
    return 0;
}
CASE(copied_after_async_free)
{
    float host[N], *x = NULL;
    cudaMallocAsync(&x, BYTES, 0);
    cudaMemsetAsync(x, 0, BYTES, 0);
    cudaFreeAsync(x, 0);
    // BUG copied_after_async_free use-after-free
    cudaMemcpy(host, x, BYTES, cudaMemcpyDeviceToHost);
    return 0;
}
CASE(pinned_leak)
{
    float *host = NULL;
    cudaMallocHost(&host, BYTES);  // BUG pinned_leak leak
    host[0] = 1;
    return 0;
}
CASE(printed_device_text)
{
    char *x = zeros<char>(64);
    printf("%s\n", x);  // BUG printed_device_text device-pointer
    return 0;
}
