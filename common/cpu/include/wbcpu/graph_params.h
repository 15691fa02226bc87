/* graph_params.h - nodes by cudaGraphNodeParams, conditional nodes, and capture into an
 * existing graph. */
#ifndef WBCPU_GRAPH_PARAMS_H
#define WBCPU_GRAPH_PARAMS_H

#include "graph_nodes.h"

/* A condition belongs to one conditional node. A kernel before the node, or in its body,
 * sets it. */
typedef unsigned long long cudaGraphConditionalHandle;
enum { cudaGraphCondAssignDefault = 1 };
enum cudaGraphConditionalNodeType {
    cudaGraphCondTypeIf = 0,     /* body 0 if the value is not 0, otherwise body 1, if any */
    cudaGraphCondTypeWhile = 1,  /* body 0 while it is not 0 */
    cudaGraphCondTypeSwitch = 2  /* body `value`, if any */
};
struct cudaConditionalNodeParams {
    cudaGraphConditionalHandle handle;
    cudaGraphConditionalNodeType type;
    unsigned size;            /* bodies */
    cudaGraph_t *phGraph_out; /* (size) set by cudaGraphAddNode: empty graphs */
};
struct cudaMemcpyNodeParams {
    int flags, reserved[3];
    cudaMemcpy3DParms copyParams;
};
struct cudaChildGraphNodeParams {
    cudaGraph_t graph;
};
struct cudaMemFreeNodeParams {
    void *dptr;
};
struct cudaGraphNodeParams {
    cudaGraphNodeType type;
    int reserved0[3];
    union {
        long long reserved1[29];
        cudaKernelNodeParams kernel;
        cudaMemcpyNodeParams memcpy;
        cudaMemsetParams memset;
        cudaHostNodeParams host;
        cudaChildGraphNodeParams graph;
        cudaMemAllocNodeParams alloc;
        cudaMemFreeNodeParams free;
        cudaConditionalNodeParams conditional;
    };
    long long reserved2;
};

extern "C" {
cudaError_t wbcpu_make_condition(
    cudaGraphConditionalHandle *handle, unsigned value, bool assign_default);
void wbcpu_set_condition(cudaGraphConditionalHandle handle, unsigned value);
cudaError_t wbcpu_add_conditional(
    cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
    cudaConditionalNodeParams *params);
cudaError_t wbcpu_capture_to(
    cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
    cudaStreamCaptureMode mode);
cudaError_t wbcpu_capture_info(
    cudaStream_t stream, cudaStreamCaptureStatus *status, cudaGraph_t *graph,
    const cudaGraphNode_t **after, size_t *count);
cudaError_t wbcpu_capture_after(
    cudaStream_t stream, const cudaGraphNode_t *after, size_t count, unsigned flags);
}

/* Device function */
WBCPU_INLINE void cudaGraphSetConditional(cudaGraphConditionalHandle handle, unsigned value)
{
    wbcpu_set_condition(handle, value);
}

#define WBCPU_CALL template <class = void> static inline cudaError_t
/* With cudaGraphCondAssignDefault, each launch begins with `value`. */
WBCPU_CALL cudaGraphConditionalHandleCreate(
    cudaGraphConditionalHandle *handle, cudaGraph_t, unsigned value = 0, unsigned flags = 0)
{
    return wbcpu_make_condition(handle, value, flags & cudaGraphCondAssignDefault);
}
WBCPU_CALL cudaGraphAddNode(
    cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
    cudaGraphNodeParams *p)
{
    switch (p->type) {
    case cudaGraphNodeTypeKernel:
        return cudaGraphAddKernelNode(node, graph, after, count, &p->kernel);
    case cudaGraphNodeTypeMemcpy:
        return cudaGraphAddMemcpyNode(node, graph, after, count, &p->memcpy.copyParams);
    case cudaGraphNodeTypeMemset:
        return cudaGraphAddMemsetNode(node, graph, after, count, &p->memset);
    case cudaGraphNodeTypeHost:
        return cudaGraphAddHostNode(node, graph, after, count, &p->host);
    case cudaGraphNodeTypeGraph:
        return cudaGraphAddChildGraphNode(node, graph, after, count, p->graph.graph);
    case cudaGraphNodeTypeEmpty: return cudaGraphAddEmptyNode(node, graph, after, count);
    case cudaGraphNodeTypeMemAlloc:
        return cudaGraphAddMemAllocNode(node, graph, after, count, &p->alloc);
    case cudaGraphNodeTypeMemFree:
        return cudaGraphAddMemFreeNode(node, graph, after, count, p->free.dptr);
    case cudaGraphNodeTypeConditional:
        return wbcpu_add_conditional(node, graph, after, count, &p->conditional);
    default: return cudaErrorNotSupported;
    }
}
/* The form since CUDA 13, with edge data, which is ignored. */
WBCPU_CALL cudaGraphAddNode(
    cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
    const cudaGraphEdgeData *, size_t count, cudaGraphNodeParams *p)
{
    return cudaGraphAddNode(node, graph, after, count, p);
}
WBCPU_CALL cudaStreamBeginCaptureToGraph(
    cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *after,
    const cudaGraphEdgeData *, size_t count, cudaStreamCaptureMode mode)
{
    return wbcpu_capture_to(stream, graph, after, count, mode);
}
/* after: the nodes that the next work of a capturing stream depends on */
WBCPU_CALL cudaStreamGetCaptureInfo(
    cudaStream_t stream, cudaStreamCaptureStatus *status, unsigned long long *id = nullptr,
    cudaGraph_t *graph = nullptr, const cudaGraphNode_t **after = nullptr,
    const cudaGraphEdgeData **edges = nullptr, size_t *count = nullptr)
{
    if (id) *id = (unsigned long long)(uintptr_t)stream;
    if (edges) *edges = nullptr;
    return wbcpu_capture_info(stream, status, graph, after, count);
}
enum { cudaStreamAddCaptureDependencies = 0, cudaStreamSetCaptureDependencies = 1 };
WBCPU_CALL cudaStreamUpdateCaptureDependencies(
    cudaStream_t stream, cudaGraphNode_t *after, const cudaGraphEdgeData *, size_t count,
    unsigned flags = 0)
{
    return wbcpu_capture_after(stream, after, count, flags);
}

/* --- memory of graphs: allocated when a node is added ------------------------------- */

enum cudaGraphMemAttributeType {
    cudaGraphMemAttrUsedMemCurrent = 0,
    cudaGraphMemAttrUsedMemHigh = 1,
    cudaGraphMemAttrReservedMemCurrent = 2,
    cudaGraphMemAttrReservedMemHigh = 3
};
WBCPU_CALL cudaDeviceGetGraphMemAttribute(int, cudaGraphMemAttributeType, void *bytes)
{
    *(unsigned long long *)bytes = wbcpu::graph_bytes;
    return cudaSuccess;
}
/* Would lower the high-water marks, which are the current values here. */
WBCPU_CALL cudaDeviceSetGraphMemAttribute(int, cudaGraphMemAttributeType, void *)
{
    return cudaSuccess;
}
#undef WBCPU_CALL
#endif
