// runtime.cu - the runtime API: memory, copies, errors, limits, events, graphs.
#include <cuda_runtime.h>
#include <stdint.h>
#include <string.h>

#include "../tap.h"

__global__ void add(int *x, int a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += a;
}
__global__ void use_shared(int *x, int n)
{
    extern __shared__ int s[];
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        s[i] = i;
    __syncthreads();
    if (threadIdx.x == 0) x[0] = s[n - 1];
}
__device__ int symbol[4] = {1, 2, 3, 4};

static void memory(void)
{
    char *p[8], *again;
    int aligned = 1;
    for (int i = 0; i < 8; i++) {
        cudaMalloc(&p[i], 1000 + i);
        aligned &= (uintptr_t)p[i] % 256 == 0;
    }
    tap(aligned, "cudaMalloc aligns to 256 bytes");
    for (int i = 0; i < 8; i++)
        cudaFree(p[i]);
    cudaMalloc(&again, 1 << 20);
    tap(cudaMemset(again, 0x5a, 1 << 20) == cudaSuccess, "cudaMemset");
    char h[64] = "", row[16];
    cudaMemcpy(h, again + (1 << 20) - 64, 64, cudaMemcpyDeviceToHost);
    tap(h[0] == 0x5a && h[63] == 0x5a, "cudaMemcpy to the host");
    for (int i = 0; i < 16; i++)
        row[i] = (char)i;
    cudaMemset(again, 0, 4096);
    cudaMemcpy2D(again, 100, row, 4, 4, 4, cudaMemcpyHostToDevice);
    cudaMemcpy2D(h, 8, again, 100, 4, 4, cudaMemcpyDeviceToHost);
    tap(h[0] == 0 && h[8 * 3 + 2] == 14, "cudaMemcpy2D");
    cudaMemset2D(again, 100, 7, 4, 2);
    cudaMemcpy(h, again + 100, 8, cudaMemcpyDefault);
    tap(h[3] == 7 && h[4] == 0, "cudaMemset2D");
    char *pinned;
    cudaMallocHost((void **)&pinned, 64);
    cudaMemcpyAsync(pinned, again, 64, cudaMemcpyDeviceToHost, 0);
    cudaStreamSynchronize(0);
    tap(pinned[0] == 7, "cudaMallocHost, cudaMemcpyAsync");
    cudaFreeHost(pinned);
    cudaFree(again);
    tap(cudaFree(NULL) == cudaSuccess, "cudaFree of NULL");
    int *s, out[4] = {9, 8, 7, 6};
    cudaMemcpyToSymbol(symbol, out, 8, 4);
    cudaGetSymbolAddress((void **)&s, symbol);
    add<<<1, 4>>>(s, 10, 4);
    cudaMemcpyFromSymbol(out, symbol, sizeof out);
    tap(out[0] == 11 && out[1] == 19 && out[2] == 18 && out[3] == 14, "symbols");
    tap(cudaMemcpyToSymbol(symbol, out, 8, 12) == cudaErrorInvalidValue &&
            cudaMemcpyFromSymbol(out, symbol, 20) == cudaErrorInvalidValue,
        "copies past the end of a symbol");
    tap(cudaMemcpyToSymbol("symbol", out, 4) == cudaErrorInvalidSymbol &&
            cudaMemcpyToSymbol(out, out, 4) == cudaErrorInvalidSymbol,
        "names and local variables are not symbols");
    cudaGetLastError();
    size_t size = 0, free = 0, total = 0;
    cudaGetSymbolSize(&size, symbol);
    tap(size == 16, "cudaGetSymbolSize");
    cudaMemGetInfo(&free, &total);
    tap(free > 0 && free <= total, "cudaMemGetInfo");
    cudaPointerAttributes a;
    cudaMalloc(&s, 64);
    cudaPointerGetAttributes(&a, s);
    tap(a.type == cudaMemoryTypeDevice, "cudaPointerGetAttributes");
    cudaFree(s);
    cudaMallocAsync(&s, 64, 0);
    tap(cudaFreeAsync(s, 0) == cudaSuccess, "cudaMallocAsync, cudaFreeAsync");
    cudaDeviceSynchronize();
}

static void expect(const char *what, cudaError_t want)
{
    cudaDeviceSynchronize();
    cudaError_t peek = cudaPeekAtLastError(), got = cudaGetLastError(),
                then = cudaGetLastError();
    tap(peek == got && got == want && then == cudaSuccess, "%s: %s", what,
        cudaGetErrorName(got));
}

// Toolkits before 13 return cudaErrorInvalidConfiguration for an invalid grid or block.
static void expect_bad_shape(const char *what)
{
    if (cudaPeekAtLastError() == cudaErrorInvalidConfiguration)
        expect(what, cudaErrorInvalidConfiguration);
    else
        expect(what, cudaErrorInvalidValue);
}

static void errors(void)
{
    int *x, *huge = NULL;
    cudaMalloc(&x, 4096);
    add<<<1, 1025>>>(x, 1, 1);
    expect_bad_shape("a block of 1025 threads");
    add<<<1, dim3(1, 1, 65)>>>(x, 1, 1);
    expect_bad_shape("a block with z = 65");
    add<<<0, 32>>>(x, 1, 1);
    expect_bad_shape("a grid of 0 blocks");
    add<<<dim3(1, 65536), 32>>>(x, 1, 1);
    expect_bad_shape("a grid with y = 65536");
    use_shared<<<1, 32, 48 * 1024 + 4>>>(x, 4);
    expect("more than 48 KB of dynamic shared memory", cudaErrorInvalidValue);
    int optin = 0, h = 0;
    cudaDeviceGetAttribute(&optin, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0);
    cudaError_t e = cudaFuncSetAttribute(
        use_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, optin);
    use_shared<<<1, 32, optin>>>(x, optin / 4);
    cudaMemcpy(&h, x, 4, cudaMemcpyDeviceToHost);
    tap(e == cudaSuccess && h == optin / 4 - 1, "%d bytes after cudaFuncSetAttribute",
        optin);
    e = cudaFuncSetAttribute(
        use_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, optin + 4);
    tap(e == cudaErrorInvalidValue, "cudaFuncSetAttribute with 4 bytes more: %s",
        cudaGetErrorName(e));
    expect("the same as the last error", cudaErrorInvalidValue);
    use_shared<<<1, 32, optin + 4>>>(x, optin / 4);
    expect("a launch with 4 bytes more", cudaErrorInvalidValue);
    tap(cudaMalloc(&huge, (size_t)1 << 50) == cudaErrorMemoryAllocation && !huge,
        "cudaMalloc of 1 PB");
    expect("the same as the last error", cudaErrorMemoryAllocation);
    tap(cudaMemcpy(&h, x, 4, (cudaMemcpyKind)9) == cudaErrorInvalidMemcpyDirection,
        "cudaMemcpy with kind 9");
    tap(cudaMemcpy(x, &h, 4, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue,
        "cudaMemcpy with swapped pointers");
    tap(cudaMemcpy(&h, x, 4, cudaMemcpyDeviceToDevice) == cudaErrorInvalidValue &&
            cudaMemcpy(x, &h, 4, cudaMemcpyDeviceToDevice) == cudaErrorInvalidValue,
        "pageable memory as device memory");
    tap(!cudaMemcpy(&h, x, 4, cudaMemcpyHostToHost) &&
            !cudaMemcpy(x, x, 4, cudaMemcpyDeviceToHost),
        "device memory where the kind says host");
    cudaGetLastError();
    tap(cudaSetDevice(99) == cudaErrorInvalidDevice, "cudaSetDevice(99)");
    cudaGetLastError();
    tap(!strcmp(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory"),
        "cudaGetErrorString");
    add<<<1, 32>>>(x, 1, 1);
    expect("a good launch afterwards", cudaSuccess);
    cudaFree(x);
}

static void devices(void)
{
    int n = 0, warp = 0, optin = 0;
    cudaDeviceProp p;
    cudaGetDeviceCount(&n);
    tap(n >= 1 && cudaGetDeviceProperties(&p, 0) == cudaSuccess, "a device: %s", p.name);
    tap(p.warpSize == 32 && p.maxThreadsPerBlock == 1024 &&
            p.sharedMemPerBlock == 48 * 1024,
        "its limits");
    cudaDeviceGetAttribute(&warp, cudaDevAttrWarpSize, 0);
    cudaDeviceGetAttribute(&optin, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0);
    tap(warp == 32 && optin >= 64 * 1024 && (size_t)optin == p.sharedMemPerBlockOptin,
        "cudaDeviceGetAttribute");
    cudaFuncAttributes f;
    cudaError_t e = cudaFuncGetAttributes(&f, add);
    int capability = 10 * p.major + p.minor;
    tap(e == cudaSuccess && f.maxThreadsPerBlock > 0 && f.numRegs > 0 &&
            f.binaryVersion > 0 && f.binaryVersion <= capability && f.ptxVersion > 0,
        "cudaFuncGetAttributes: sm_%d on a device of capability %d", f.binaryVersion,
        capability);
    int blocks = 0;
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 256, 0);
    tap(blocks >= 1, "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
}

static void events(void)
{
    cudaEvent_t a, b, no_time;
    cudaEventCreate(&a);
    cudaEventCreate(&b);
    cudaEventCreateWithFlags(&no_time, cudaEventDisableTiming);
    float ms = -1;
    tap(cudaEventElapsedTime(&ms, a, b) != cudaSuccess,
        "no elapsed time before cudaEventRecord");
    cudaGetLastError();
    cudaEventRecord(a);
    cudaEventRecord(b, 0);
    cudaEventRecord(no_time);
    cudaEventSynchronize(b);
    tap(cudaEventElapsedTime(&ms, a, b) == cudaSuccess && ms >= 0,
        "cudaEventElapsedTime");
    tap(cudaEventElapsedTime(&ms, a, no_time) != cudaSuccess,
        "no elapsed time with cudaEventDisableTiming");
    cudaGetLastError();
    cudaEventDestroy(a);
    cudaEventDestroy(b);
    cudaEventDestroy(no_time);
}

/* --- graphs ------------------------------------------------------------------------- */

static void count_call(void *n)
{
    ++*(int *)n;
}

static void graphs(void)
{
    const int N = 1000;
    int *x, *y, host[4] = {0}, called = 0;
    cudaMalloc(&x, N * sizeof *x);
    cudaMalloc(&y, N * sizeof *y);
    cudaMemset(x, 0, N * sizeof *x);
    cudaMemset(y, 0, N * sizeof *y);
    cudaStream_t s, side;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
    cudaEvent_t fork, join;
    cudaEventCreateWithFlags(&fork, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&join, cudaEventDisableTiming);

    cudaStreamCaptureStatus status;
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    cudaStreamIsCapturing(s, &status);
    tap(status == cudaStreamCaptureStatusActive, "the stream is capturing");
    int a = 5;
    add<<<(N + 127) / 128, 128, 0, s>>>(x, a, N);
    a = 100;  // the graph has a copy of the 5
    cudaEventRecord(fork, s);
    cudaStreamWaitEvent(side, fork, 0);
    cudaMemsetAsync(y, 0, 4, side);
    add<<<1, 1, 0, side>>>(y, 3, 1);
    cudaEventRecord(join, side);
    cudaStreamWaitEvent(s, join, 0);
    cudaMemcpyAsync(y + 1, x + 1, 2 * sizeof *y, cudaMemcpyDeviceToDevice, s);
    cudaLaunchHostFunc(s, count_call, &called);
    cudaGraph_t graph = NULL;
    cudaError_t e = cudaStreamEndCapture(s, &graph);
    tap(e == cudaSuccess && graph, "cudaStreamEndCapture: %s", cudaGetErrorString(e));
    size_t nodes = 0;
    cudaGraphGetNodes(graph, NULL, &nodes);
    tap(nodes == 5, "the graph has %zu nodes, expected 5", nodes);
    cudaMemcpy(host, x, sizeof *x, cudaMemcpyDeviceToHost);
    tap(host[0] == 0 && called == 0, "captured work does not run");
    cudaStreamIsCapturing(s, &status);
    tap(status == cudaStreamCaptureStatusNone, "the capture has ended");

    cudaGraphExec_t exec = NULL;
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphDestroy(graph);
    for (int i = 0; i < 3; i++)
        cudaGraphLaunch(exec, s);
    cudaStreamSynchronize(s);
    cudaMemcpy(host, y, sizeof host, cudaMemcpyDeviceToHost);
    tap(host[0] == 3 && host[1] == 15 && host[2] == 15 && host[3] == 0, "three replays");
    tap(called == 3, "a host function in a graph");
    cudaMemcpy(host, x + N - 1, sizeof *x, cudaMemcpyDeviceToHost);
    tap(host[0] == 15, "every block of the replayed launch");

    // Calls that cannot be captured invalidate the capture.
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    int *z = NULL;
    e = cudaStreamSynchronize(s);
    tap(e == cudaErrorStreamCaptureUnsupported, "no synchronization while capturing: %s",
        cudaGetErrorName(e));
    e = cudaStreamEndCapture(s, &graph);
    tap(e == cudaErrorStreamCaptureInvalidated && !graph,
        "it invalidates the capture: %s", cudaGetErrorName(e));
    cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed);
    e = cudaMalloc(&z, 64);
    tap(e == cudaSuccess && z, "cudaMalloc in a relaxed capture");
    cudaStreamEndCapture(s, &graph);
    cudaGraphDestroy(graph);
    cudaFree(z);
    e = cudaStreamBeginCapture(0, cudaStreamCaptureModeGlobal);
    tap(e == cudaErrorStreamCaptureUnsupported, "the default stream cannot be captured");
    e = cudaStreamEndCapture(s, &graph);
    tap(e != cudaSuccess, "cudaStreamEndCapture without a capture");
    cudaGetLastError();
    add<<<1, 1, 0, s>>>(x, 1, 1);
    cudaStreamSynchronize(s);
    cudaMemcpy(host, x, sizeof *x, cudaMemcpyDeviceToHost);
    tap(host[0] == 16, "the stream works again");
    // A stream that has joined again may go before the capture ends.
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    cudaEventRecord(fork, s);
    cudaStreamWaitEvent(side, fork, 0);
    add<<<1, 1, 0, side>>>(x, 1, 1);
    cudaEventRecord(join, side);
    cudaStreamWaitEvent(s, join, 0);
    e = cudaStreamDestroy(side);
    tap(e == cudaSuccess, "a joined stream is destroyed: %s", cudaGetErrorName(e));
    e = cudaStreamEndCapture(s, &graph);
    cudaGraphGetNodes(graph, NULL, &nodes);
    tap(e == cudaSuccess && nodes == 1, "its work is captured: %zu nodes", nodes);
    cudaGraphDestroy(graph);
    cudaGraphExecDestroy(exec);
    cudaEventDestroy(fork);
    cudaEventDestroy(join);
    cudaStreamDestroy(s);
    cudaFree(x);
    cudaFree(y);
}

int main()
{
    memory();
    errors();
    devices();
    events();
    graphs();
    tap(cudaGetLastError() == cudaSuccess, "no pending error");
    return tap_done();
}
