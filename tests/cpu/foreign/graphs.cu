/* Graphs built by node, changed, cloned; their memory; memory pools; launch by address. */
#include <cstdio>

__global__ void add(int n, int *x, int what)
{
    int i = threadIdx.x;
    if (i < n) x[i] += what;
}
template <class T> __global__ void scale(T *x, T by)
{
    x[threadIdx.x] *= by;
}
static void count(void *calls)
{
    ++*(int *)calls;
}

/* A captured graph with memory of its own */
static int captured_memory(cudaStream_t stream)
{
    int h[8] = {}, *x, one = 8;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    if (cudaMallocAsync(&x, sizeof h, stream)) return 1;
    cudaMemsetAsync(x, 0, sizeof h, stream);
    add<<<1, 8, 0, stream>>>(8, x, one);
    cudaMemcpyAsync(h, x, sizeof h, cudaMemcpyDeviceToHost, stream);
    if (cudaFreeAsync(x, stream) || cudaStreamEndCapture(stream, &graph)) return 2;
    if (cudaGraphInstantiate(&exec, graph, NULL, NULL, 0)) return 3;
    for (int launch = 0; launch < 2; launch++) {
        h[5] = 0;
        cudaGraphLaunch(exec, stream);
        cudaStreamSynchronize(stream);
        if (h[5] != 8) return 4;
    }
    return 0;
}

/* Memory that one graph allocates, and that is freed outside of it */
static int memory_freed_outside(cudaStream_t stream)
{
    cudaGraph_t graph, freeing;
    cudaGraphExec_t exec, exec_freeing;
    cudaGraphNode_t allocate, set, release;
    cudaMemAllocNodeParams memory = {};
    memory.bytesize = 64;
    memory.poolProps.allocType = cudaMemAllocationTypePinned;
    memory.poolProps.location.type = cudaMemLocationTypeDevice;
    cudaGraphCreate(&graph, 0);
    cudaGraphAddMemAllocNode(&allocate, graph, NULL, 0, &memory);
    cudaMemsetParams seven = {};
    seven.dst = memory.dptr;
    seven.elementSize = 1;
    seven.value = 7;
    seven.width = 64, seven.height = 1;
    cudaGraphAddMemsetNode(&set, graph, &allocate, 1, &seven);
    cudaGraphInstantiate(&exec, graph, NULL, NULL, 0);
    cudaGraphDestroy(graph);
    cudaGraphCreate(&freeing, 0);
    cudaGraphAddMemFreeNode(&release, freeing, NULL, 0, memory.dptr);
    cudaGraphInstantiate(&exec_freeing, freeing, NULL, NULL, 0);
    cudaGraphDestroy(freeing);

    for (int launch = 0; launch < 4; launch++) {
        char c = 0;
        if (cudaGraphLaunch(exec, stream)) return 6;
        cudaMemcpyAsync(&c, memory.dptr, 1, cudaMemcpyDeviceToHost, stream);
        cudaStreamSynchronize(stream);
        if (c != 7) return 7;
        if (launch == 3) break;
        if (launch == 0 ? cudaFree(memory.dptr)
            : launch == 1 ? cudaFreeAsync(memory.dptr, stream)
                          : cudaGraphLaunch(exec_freeing, stream))
            return 8;
    }
    cudaGraphExecDestroy(exec); /* what is in use stays */
    cudaGraphExecDestroy(exec_freeing);
    cudaStreamSynchronize(stream);
    return cudaFree(memory.dptr) ? 9 : 0;
}

int main()
{
    enum { N = 32 };
    int h[N], calls = 0, n = N, one = 1, three = 3, *x;
    cudaStream_t stream;
    cudaMemPool_t pool;
    unsigned long long keep = ~0ull;
    cudaStreamCreate(&stream);
    cudaDeviceGetDefaultMemPool(&pool, 0);
    cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep);
    if (cudaMallocFromPoolAsync(&x, sizeof h, pool, stream)) return 1;

    cudaGraph_t graph;
    cudaGraphNode_t zero, adding, scaling, counting, copying;
    cudaGraphCreate(&graph, 0);
    void *scale_arguments[] = {&x, &three}, *add_arguments[] = {&n, &x, &one};
    cudaKernelNodeParams kernel = {};
    kernel.gridDim = dim3(1);
    kernel.blockDim = dim3(N);
    kernel.func = (void *)scale<int>;
    kernel.kernelParams = scale_arguments;
    cudaGraphAddKernelNode(&scaling, graph, NULL, 0, &kernel);
    kernel.func = (void *)add;
    kernel.kernelParams = add_arguments;
    cudaGraphAddKernelNode(&adding, graph, NULL, 0, &kernel);
    cudaMemsetParams set = {};
    set.dst = x;
    set.elementSize = 4;
    set.value = 5;
    set.width = N;
    set.height = 1;
    cudaGraphAddMemsetNode(&zero, graph, NULL, 0, &set);
    cudaGraphAddDependencies(graph, &zero, &adding, NULL, 1);
    cudaGraphAddDependencies(graph, &adding, &scaling, NULL, 1);
    cudaHostNodeParams host = {count, &calls};
    cudaGraphAddHostNode(&counting, graph, &scaling, 1, &host);
    cudaGraphAddMemcpyNode1D(
        &copying, graph, &counting, 1, h, x, sizeof h, cudaMemcpyDeviceToHost);

    size_t nodes = 0;
    cudaGraphExec_t exec;
    cudaGraph_t clone;
    cudaGraphGetNodes(graph, NULL, &nodes);
    cudaGraphClone(&clone, graph);
    cudaGraphDestroy(graph);
    if (nodes != 5 || cudaGraphInstantiate(&exec, clone, NULL, NULL, 0)) return 2;
    cudaGraphLaunch(exec, stream);
    cudaStreamSynchronize(stream);
    if (h[7] != 18 || calls != 1) return 3;
    one = 2; /* a node has copies of its arguments */
    cudaGraphLaunch(exec, stream);
    cudaStreamSynchronize(stream);
    if (h[7] != 18 || calls != 2) return 4;

    void *kernel_address = (void *)add;
    if (cudaLaunchKernel(kernel_address, 1, N, add_arguments, 0, stream)) return 5;
    cudaMemcpy(h, x, sizeof h, cudaMemcpyDeviceToHost);
    cudaFreeAsync(x, stream);
    if (h[31] != 20) return 10;
    int wrong = captured_memory(stream);
    return wrong ? wrong : memory_freed_outside(stream);
}
