/* graph_nodes.h - graphs built node by node. A node's work is recorded when it is added;
 * cudaGraphInstantiate puts the nodes into an order that their dependencies allow. */
#ifndef WBCPU_GRAPH_NODES_H
#define WBCPU_GRAPH_NODES_H

#include "arrays.h"
#include "kernels.h"
#include "pools.h"

enum cudaGraphNodeType {
    cudaGraphNodeTypeKernel = 0,
    cudaGraphNodeTypeMemcpy = 1,
    cudaGraphNodeTypeMemset = 2,
    cudaGraphNodeTypeHost = 3,
    cudaGraphNodeTypeGraph = 4,
    cudaGraphNodeTypeEmpty = 5,
    cudaGraphNodeTypeWaitEvent = 6,
    cudaGraphNodeTypeEventRecord = 7,
    cudaGraphNodeTypeMemAlloc = 10,
    cudaGraphNodeTypeMemFree = 11,
    cudaGraphNodeTypeConditional = 13
};
struct cudaKernelNodeParams {
    void *func; /* (void *)kernel */
    dim3 gridDim, blockDim;
    unsigned sharedMemBytes;
    void **kernelParams;
    void **extra;
};
struct cudaMemsetParams {
    void *dst;
    size_t pitch;
    unsigned value, elementSize; /* 1, 2 or 4 bytes */
    size_t width, height;        /* elements, rows */
};
struct cudaHostNodeParams {
    cudaHostFn_t fn;
    void *userData;
};
struct cudaMemAllocNodeParams {
    cudaMemPoolProps poolProps;
    const cudaMemAccessDesc *accessDescs;
    size_t accessDescCount, bytesize;
    void *dptr; /* set by cudaGraphAddMemAllocNode */
};
enum cudaGraphExecUpdateResult {
    cudaGraphExecUpdateSuccess = 0,
    cudaGraphExecUpdateError = 1,
    cudaGraphExecUpdateErrorTopologyChanged = 2
};
struct cudaGraphExecUpdateResultInfo {
    cudaGraphExecUpdateResult result;
    cudaGraphNode_t errorNode, errorFromNode;
};
enum { cudaGraphInstantiateFlagAutoFreeOnLaunch = 1 };

extern "C" {
/* Adds a node; `record` enqueues its work on a stream. A NULL node changes nothing else. */
cudaError_t wbcpu_add_node(
    cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
    cudaGraphNodeType type, cudaError_t (*record)(void *context, cudaStream_t stream),
    void *context);
/* Replaces the work of a node in an instantiated graph. */
cudaError_t wbcpu_replace_node(
    cudaGraphExec_t exec, cudaGraphNode_t node,
    cudaError_t (*record)(void *context, cudaStream_t stream), void *context);
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType *type);
cudaError_t cudaGraphClone(cudaGraph_t *clone, cudaGraph_t graph);
cudaError_t wbcpu_add_dependencies(
    const cudaGraphNode_t *from, const cudaGraphNode_t *to, size_t count);
cudaError_t wbcpu_update_graph(cudaGraphExec_t exec, cudaGraph_t graph);
}

/* Templates: host code that uses no graph needs no library for them. */
#define WBCPU_CALL template <class = void> static inline cudaError_t
namespace wbcpu
{
inline size_t graph_bytes = 0; /* allocated by nodes */

/* Any callable work(stream). */
template <class Work>
static cudaError_t add_node(
    cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
    cudaGraphNodeType type, Work work)
{
    return wbcpu_add_node(
        node, graph, after, count, type,
        [](void *w, cudaStream_t s) { return (*static_cast<Work *>(w))(s); }, &work);
}
template <class Work>
static cudaError_t replace_node(cudaGraphExec_t exec, cudaGraphNode_t node, Work work)
{
    return wbcpu_replace_node(
        exec, node, [](void *w, cudaStream_t s) { return (*static_cast<Work *>(w))(s); },
        &work);
}
template <class Params> auto kernel_node(const Params *p)
{
    return [p](cudaStream_t s) {
        return cudaLaunchKernel(
            (const void *)p->func, p->gridDim, p->blockDim, p->kernelParams,
            p->sharedMemBytes, s);
    };
}
template <class Params> auto memset_node(const Params *p)
{
    cudaMemsetParams m = *p;
    return [m](cudaStream_t s) {
        if (m.elementSize == 1)
            return cudaMemset2DAsync(m.dst, m.pitch, (int)m.value, m.width, m.height, s);
        wbcpu_run_library(s, [m] {
            for (size_t y = 0; y < m.height; y++)
                for (size_t x = 0; x < m.width; x++)
                    memcpy(
                        (char *)m.dst + y * m.pitch + x * m.elementSize, &m.value,
                        m.elementSize);
        });
        return cudaSuccess;
    };
}
template <class Params> auto memcpy_node(const Params *p)
{
    cudaMemcpy3DParms m = *p;
    return [m](cudaStream_t s) { return cudaMemcpy3DAsync(&m, s); };
}
template <class Params> auto host_node(const Params *p)
{
    cudaHostNodeParams h = *p;
    return [h](cudaStream_t s) { return cudaLaunchHostFunc(s, h.fn, h.userData); };
}
}  // namespace wbcpu

#define WBCPU_NODE                                                                       \
    cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count
WBCPU_CALL cudaGraphAddKernelNode(WBCPU_NODE, const cudaKernelNodeParams *p)
{
    return wbcpu::add_node(
        node, graph, after, count, cudaGraphNodeTypeKernel, wbcpu::kernel_node(p));
}
WBCPU_CALL cudaGraphAddMemcpyNode(WBCPU_NODE, const cudaMemcpy3DParms *p)
{
    return wbcpu::add_node(
        node, graph, after, count, cudaGraphNodeTypeMemcpy, wbcpu::memcpy_node(p));
}
WBCPU_CALL cudaGraphAddMemcpyNode1D(
    WBCPU_NODE, void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
    return wbcpu::add_node(
        node, graph, after, count, cudaGraphNodeTypeMemcpy,
        [=](cudaStream_t s) { return cudaMemcpyAsync(to, from, bytes, kind, s); });
}
WBCPU_CALL cudaGraphAddMemsetNode(WBCPU_NODE, const cudaMemsetParams *p)
{
    return wbcpu::add_node(
        node, graph, after, count, cudaGraphNodeTypeMemset, wbcpu::memset_node(p));
}
WBCPU_CALL cudaGraphAddHostNode(WBCPU_NODE, const cudaHostNodeParams *p)
{
    return wbcpu::add_node(
        node, graph, after, count, cudaGraphNodeTypeHost, wbcpu::host_node(p));
}
WBCPU_CALL cudaGraphAddChildGraphNode(WBCPU_NODE, cudaGraph_t child)
{
    cudaGraphExec_t exec; /* the child's work as it is now */
    if (cudaError_t e = cudaGraphInstantiate(&exec, child, 0ull)) return e;
    cudaError_t e = wbcpu::add_node(
        node, graph, after, count, cudaGraphNodeTypeGraph,
        [=](cudaStream_t s) { return cudaGraphLaunch(exec, s); });
    cudaGraphExecDestroy(exec);
    return e;
}
WBCPU_CALL cudaGraphAddEmptyNode(WBCPU_NODE)
{
    return wbcpu::add_node(
        node, graph, after, count, cudaGraphNodeTypeEmpty,
        [](cudaStream_t) { return cudaSuccess; });
}
WBCPU_CALL cudaGraphAddEventRecordNode(WBCPU_NODE, cudaEvent_t)
{
    return cudaGraphAddEmptyNode(node, graph, after, count);
}
WBCPU_CALL cudaGraphAddEventWaitNode(WBCPU_NODE, cudaEvent_t)
{
    return cudaGraphAddEmptyNode(node, graph, after, count);
}
WBCPU_CALL cudaGraphAddMemAllocNode(WBCPU_NODE, cudaMemAllocNodeParams *p)
{
    wbcpu::graph_bytes += p->bytesize;
    return wbcpu::add_node(
        node, graph, after, count, cudaGraphNodeTypeMemAlloc,
        [=](cudaStream_t s) { return cudaMallocAsync(&p->dptr, p->bytesize, s); });
}
WBCPU_CALL cudaGraphAddMemFreeNode(WBCPU_NODE, void *memory)
{
    return wbcpu::add_node(
        node, graph, after, count, cudaGraphNodeTypeMemFree,
        [=](cudaStream_t s) { return cudaFreeAsync(memory, s); });
}
#undef WBCPU_NODE

WBCPU_CALL cudaGraphExecKernelNodeSetParams(
    cudaGraphExec_t exec, cudaGraphNode_t node, const cudaKernelNodeParams *p)
{
    return wbcpu::replace_node(exec, node, wbcpu::kernel_node(p));
}
WBCPU_CALL cudaGraphExecMemcpyNodeSetParams(
    cudaGraphExec_t exec, cudaGraphNode_t node, const cudaMemcpy3DParms *p)
{
    return wbcpu::replace_node(exec, node, wbcpu::memcpy_node(p));
}
WBCPU_CALL cudaGraphExecMemsetNodeSetParams(
    cudaGraphExec_t exec, cudaGraphNode_t node, const cudaMemsetParams *p)
{
    return wbcpu::replace_node(exec, node, wbcpu::memset_node(p));
}
WBCPU_CALL cudaGraphExecHostNodeSetParams(
    cudaGraphExec_t exec, cudaGraphNode_t node, const cudaHostNodeParams *p)
{
    return wbcpu::replace_node(exec, node, wbcpu::host_node(p));
}
WBCPU_CALL cudaGraphAddDependencies(
    cudaGraph_t, const cudaGraphNode_t *from, const cudaGraphNode_t *to, size_t count)
{
    return wbcpu_add_dependencies(from, to, count);
}
struct cudaGraphEdgeData {
    unsigned char from_port, to_port, type, reserved[5];
};
WBCPU_CALL cudaGraphAddDependencies(
    cudaGraph_t, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
    const cudaGraphEdgeData *, size_t count)
{
    return wbcpu_add_dependencies(from, to, count);
}
WBCPU_CALL cudaGraphExecUpdate(
    cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *info)
{
    cudaError_t e = wbcpu_update_graph(exec, graph);
    if (info) *info = {e ? cudaGraphExecUpdateError : cudaGraphExecUpdateSuccess, 0, 0};
    return e;
}
WBCPU_CALL cudaGraphExecUpdate( /* as before toolkit 12 */
    cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphNode_t *, cudaGraphExecUpdateResult *result)
{
    cudaError_t e = wbcpu_update_graph(exec, graph);
    *result = e ? cudaGraphExecUpdateError : cudaGraphExecUpdateSuccess;
    return e;
}
WBCPU_CALL cudaDeviceGraphMemTrim(int)
{
    return cudaSuccess;
}
#undef WBCPU_CALL

#endif
