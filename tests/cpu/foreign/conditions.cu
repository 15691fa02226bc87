/* Conditional graph nodes: if and else, while, switch; capture into an existing graph. */
#include <cstdio>

__global__ void decide(int *x, cudaGraphConditionalHandle handle)
{
    cudaGraphSetConditional(handle, (unsigned)x[0]);
}
__global__ void add(int *x, int what)
{
    x[1] += what;
}
__global__ void count_down(int *x, cudaGraphConditionalHandle handle)
{
    x[1]++;
    cudaGraphSetConditional(handle, --x[0] > 0);
}

static cudaGraphNode_t
add_kernel(cudaGraph_t graph, const cudaGraphNode_t *after, void *kernel, void **arguments)
{
    cudaGraphNode_t node;
    cudaGraphNodeParams p = {cudaGraphNodeTypeKernel};
    p.kernel.func = kernel;
    p.kernel.gridDim = p.kernel.blockDim = dim3(1);
    p.kernel.kernelParams = arguments;
    if (cudaGraphAddNode(&node, graph, after, NULL, after ? 1 : 0, &p)) return NULL;
    return node;
}
static cudaGraphNode_t add_condition(
    cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
    cudaGraphConditionalHandle handle, cudaGraphConditionalNodeType type, unsigned size,
    cudaGraph_t **bodies)
{
    cudaGraphNode_t node;
    cudaGraphNodeParams p = {cudaGraphNodeTypeConditional};
    p.conditional.handle = handle;
    p.conditional.type = type;
    p.conditional.size = size;
    if (cudaGraphAddNode(&node, graph, after, NULL, count, &p)) return NULL;
    *bodies = p.conditional.phGraph_out;
    return node;
}
static int launch(cudaGraphExec_t exec, int *x, int first)
{
    x[0] = first, x[1] = 0;
    cudaGraphLaunch(exec, 0);
    cudaDeviceSynchronize();
    return x[1];
}

/* x[1] = 10 if x[0] is 0, 11 if it is 1; 0 for a larger value of a switch, 11 otherwise. */
static int choices(int *x, cudaGraphConditionalNodeType type)
{
    int ten = 10, eleven = 11;
    cudaGraph_t graph, *bodies;
    cudaGraphConditionalHandle handle;
    cudaGraphExec_t exec;
    cudaGraphCreate(&graph, 0);
    cudaGraphConditionalHandleCreate(&handle, graph);
    void *arguments[] = {&x, &handle}, *add_ten[] = {&x, &ten}, *add_eleven[] = {&x, &eleven};
    cudaGraphNode_t deciding = add_kernel(graph, NULL, (void *)decide, arguments);
    if (!add_condition(graph, &deciding, 1, handle, type, 2, &bodies)) return 1;
    bool is_switch = type == cudaGraphCondTypeSwitch;
    add_kernel(bodies[is_switch ? 0 : 1], NULL, (void *)add, add_ten);
    add_kernel(bodies[is_switch ? 1 : 0], NULL, (void *)add, add_eleven);
    if (cudaGraphInstantiate(&exec, graph, NULL, NULL, 0)) return 2;
    cudaGraphDestroy(graph);
    if (launch(exec, x, 0) != 10 || launch(exec, x, 1) != 11) return 3;
    if (launch(exec, x, 7) != (is_switch ? 0 : 11)) return 4;
    return cudaGraphExecDestroy(exec);
}

/* Captured: x[1] += 100, then do { x[1]++ } while (--x[0] > 0), then x[1] += 1000. */
static int loops(int *x)
{
    cudaStream_t stream;
    cudaStreamCaptureStatus status;
    cudaGraph_t graph, *bodies;
    cudaGraphConditionalHandle handle;
    cudaGraphExec_t exec;
    const cudaGraphNode_t *after;
    size_t count;
    cudaStreamCreate(&stream);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    add<<<1, 1, 0, stream>>>(x, 100);
    if (cudaStreamGetCaptureInfo(stream, &status, NULL, &graph, &after, NULL, &count)) return 1;
    if (status != cudaStreamCaptureStatusActive || count != 1) return 2;
    cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault);
    cudaGraphNode_t loop =
        add_condition(graph, after, count, handle, cudaGraphCondTypeWhile, 1, &bodies);
    cudaStreamUpdateCaptureDependencies(
        stream, &loop, NULL, 1, cudaStreamSetCaptureDependencies);
    add<<<1, 1, 0, stream>>>(x, 1000);
    if (cudaStreamEndCapture(stream, &graph)) return 3;
    cudaStreamBeginCaptureToGraph(
        stream, bodies[0], NULL, NULL, 0, cudaStreamCaptureModeGlobal);
    count_down<<<1, 1, 0, stream>>>(x, handle);
    if (cudaStreamEndCapture(stream, NULL)) return 4;
    if (cudaGraphInstantiate(&exec, graph, NULL, NULL, 0)) return 5;
    if (launch(exec, x, 5) != 1105 || launch(exec, x, 0) != 1101) return 6;
    return cudaStreamDestroy(stream);
}

int main()
{
    int *x;
    cudaMallocManaged(&x, 2 * sizeof *x);
    int i = choices(x, cudaGraphCondTypeIf), s = choices(x, cudaGraphCondTypeSwitch);
    int l = loops(x);
    if (i || s || l) printf("if: %d, switch: %d, while: %d\n", i, s, l);
    return i || s || l;
}
