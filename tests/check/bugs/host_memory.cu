// host_memory.cu - kernels that use host memory, host code that uses device memory, and
// memory that is used after it was freed, freed twice, freed wrongly or never freed.
#include "../cases.h"

__global__ void add_one(float *x, int n)
{
    int i = threadIdx.x;
    // BUG malloc_in_kernel host-pointer, stack_in_kernel host-pointer
    // BUG global_array host-pointer
    // BUG after_free use-after-free
    // BUG after_free_async use-after-free, after_reuse use-after-free
    if (i < n) x[i] += 1;
}

// --- host-pointer ----------------------------------------------------------------------

CASE(malloc_in_kernel)
{
    float *x = (float *)calloc(64, sizeof *x);
    add_one<<<1, 64>>>(x, 64);
    cudaDeviceSynchronize();
    free(x);
    return 0;
}
CASE(stack_in_kernel)
{
    float x[64] = {0};
    add_one<<<1, 64>>>(x, 64);
    cudaDeviceSynchronize();
    return x[0] == 5;
}
static float table[64];
CASE(global_array)
{
    add_one<<<1, 64>>>(table, 64);
    cudaDeviceSynchronize();
    return table[0] == 5;
}
struct matrix {
    float *data;
    int rows, cols;
};
__global__ void trace(float *out, matrix m)
{
    int i = threadIdx.x;
    // BUG host_field host-pointer
    if (i < m.rows) atomicAdd(out, m.data[i * m.cols + i]);
}
CASE(host_field)
{
    matrix m = {(float *)calloc(16, sizeof(float)), 4, 4};
    trace<<<1, 32>>>(zeros<float>(1), m);
    cudaDeviceSynchronize();
    free(m.data);
    return 0;
}

// The struct was copied to the device, the memory it points to was not.
__global__ void trace_of(float *out, const matrix *m)
{
    int i = threadIdx.x;
    // BUG shallow_copy host-pointer
    if (i < m->rows) atomicAdd(out, m->data[i * m->cols + i]);
}
CASE(shallow_copy)
{
    matrix m = {(float *)calloc(16, sizeof(float)), 4, 4}, *copy = zeros<matrix>(1);
    cudaMemcpy(copy, &m, sizeof m, cudaMemcpyHostToDevice);
    trace_of<<<1, 32>>>(zeros<float>(1), copy);
    cudaDeviceSynchronize();
    free(m.data);
    return 0;
}

// --- device-pointer --------------------------------------------------------------------

CASE(host_reads_result)
{
    float *x = zeros<float>(64);
    add_one<<<1, 64>>>(x, 64);
    cudaDeviceSynchronize();
    return x[0] != 1;  // BUG host_reads_result device-pointer
}
CASE(host_fills_buffer)
{
    int *x = unwritten<int>(64);
    for (int i = 0; i < 64; i++)
        x[i] = i;  // BUG host_fills_buffer device-pointer
    return 0;
}
CASE(memcpy_of_libc)
{
    float host[64], *x = counting<float>(64);
    memcpy(host, x, sizeof host);  // BUG memcpy_of_libc device-pointer
    return host[5] != 5;
}
CASE(host_reads_field)
{
    matrix *m = zeros<matrix>(1);
    int rows = m->rows;  // BUG host_reads_field device-pointer
    return rows;
}

// --- use-after-free --------------------------------------------------------------------

CASE(after_free)
{
    float *x = NULL;
    cudaMalloc(&x, 256);
    cudaMemset(x, 0, 256);
    cudaFree(x);
    add_one<<<1, 64>>>(x, 64);
    return 0;
}
CASE(after_free_async)
{
    float *x = NULL;
    cudaMallocAsync(&x, 256, 0);
    cudaMemsetAsync(x, 0, 256, 0);
    cudaFreeAsync(x, 0);
    add_one<<<1, 64>>>(x, 64);
    return 0;
}
// The old pointer probably points into the new buffer.
CASE(after_reuse)
{
    float *x = NULL;
    cudaMalloc(&x, 256);
    cudaMemset(x, 0, 256);
    cudaFree(x);
    zeros<float>(64);
    add_one<<<1, 64>>>(x, 64);
    return 0;
}
CASE(copy_after_free)
{
    float host[64] = {0}, *x = NULL;
    cudaMalloc(&x, sizeof host);
    cudaFree(x);
    // BUG copy_after_free use-after-free
    cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice);
    return 0;
}

// --- double-free, invalid-free ---------------------------------------------------------

CASE(freed_twice)
{
    float *x = NULL;
    cudaMalloc(&x, 256);
    cudaFree(x);
    cudaFree(x);  // BUG freed_twice double-free
    return 0;
}
CASE(freed_by_two_owners)
{
    matrix a = {NULL, 8, 8}, b;
    cudaMalloc(&a.data, 256);
    b = a;
    cudaFree(a.data);
    cudaFree(b.data);  // BUG freed_by_two_owners double-free
    return 0;
}
CASE(freed_by_graph)
{
    float *x = NULL;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamCreate(&stream);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    cudaMallocAsync(&x, 256, stream);
    cudaMemsetAsync(x, 0, 256, stream);
    cudaFreeAsync(x, stream);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&exec, graph, NULL, NULL, 0);
    cudaGraphLaunch(exec, stream);
    cudaStreamSynchronize(stream);
    cudaFree(x);  // BUG freed_by_graph double-free
    cudaGetLastError();
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
    return 0;
}
CASE(freed_inside)
{
    float *x = NULL;
    cudaMalloc(&x, 256);
    cudaFree(x + 16);  // BUG freed_inside invalid-free
    cudaFree(x);
    return 0;
}
CASE(freed_malloc)
{
    float *x = (float *)malloc(256);
    cudaFree(x);  // BUG freed_malloc invalid-free
    free(x);
    return 0;
}
CASE(pinned_as_device)
{
    float *x = NULL;
    cudaMallocHost(&x, 256);
    cudaFree(x);  // BUG pinned_as_device invalid-free
    cudaFreeHost(x);
    return 0;
}
CASE(device_as_pinned)
{
    float *x = NULL;
    cudaMalloc(&x, 256);
    cudaFreeHost(x);  // BUG device_as_pinned invalid-free
    cudaFree(x);
    return 0;
}

// --- leak ------------------------------------------------------------------------------

CASE(never_freed)
{
    float *x = NULL;
    cudaMalloc(&x, 256);  // BUG never_freed leak
    cudaMemset(x, 0, 256);
    add_one<<<1, 64>>>(x, 64);
    return 0;
}
CASE(freed_once_of_four)
{
    float *x = NULL;
    for (int step = 0; step < 4; step++)
        cudaMalloc(&x, 256);  // BUG freed_once_of_four leak
    cudaFree(x);
    return 0;
}
static int two_buffers(size_t second)
{
    float *x = NULL, *y = NULL;
    if (cudaMalloc(&x, 256) != cudaSuccess) return 1;  // BUG leak_on_error leak
    if (cudaMalloc(&y, second) != cudaSuccess) return 1;
    cudaFree(x);
    cudaFree(y);
    return 0;
}
CASE(leak_on_error)
{
    return two_buffers((size_t)1 << 60) == 0;
}
CASE(leak_of_async)
{
    float *x = NULL;
    cudaMallocAsync(&x, 256, 0);  // BUG leak_of_async leak
    cudaMemsetAsync(x, 0, 256, 0);
    return 0;
}
