/* graph_nodes.cpp - graphs built node by node (wbcpu/graph_nodes.h). A node's work is what
 * its call enqueues on a stream that captures. */
#include "graph.h"

namespace wbcpu
{
static cudaError_t
record(node_list *work, cudaError_t (*enqueue)(void *, cudaStream_t), void *context)
{
    cudaStream_t stream;
    cudaGraph_t graph = nullptr;
    if (cudaError_t e = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking))
        return e;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
    cudaError_t e = enqueue(context, stream), end = cudaStreamEndCapture(stream, &graph);
    cudaStreamDestroy(stream);
    if (graph) *work = graph->captured;
    delete graph;
    return e ? e : end;
}

extern "C" cudaError_t wbcpu_add_node(
    cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
    cudaGraphNodeType type, cudaError_t (*enqueue)(void *, cudaStream_t), void *context)
{
    if (!node || !graph || (count && !after)) return fail(cudaErrorInvalidValue);
    std::unique_ptr<CUgraphNode_st> added(new CUgraphNode_st());
    if (cudaError_t e = record(&added->work, enqueue, context)) return fail(e);
    added->type = type;
    added->after.assign(after, after + count);
    added->number = (int)graph->nodes.size();
    *node = added.get();
    graph->nodes.push_back(std::move(added));
    return cudaSuccess;
}
extern "C" cudaError_t wbcpu_replace_node(
    cudaGraphExec_t exec, cudaGraphNode_t node,
    cudaError_t (*enqueue)(void *, cudaStream_t), void *context)
{
    if (!exec || !node || (size_t)node->number >= exec->place.size())
        return fail(cudaErrorInvalidValue);
    auto parts = std::make_shared<std::vector<node_list>>(*exec->parts);
    cudaError_t e =
        record(&(*parts)[exec->place[(size_t)node->number]], enqueue, context);
    exec->parts = parts;
    return fail(e);
}
extern "C" cudaError_t wbcpu_add_dependencies(
    const cudaGraphNode_t *from, const cudaGraphNode_t *to, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i]->after.push_back(from[i]);
    return cudaSuccess;
}
extern "C" cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType *type)
{
    *type = (cudaGraphNodeType)node->type;
    return cudaSuccess;
}

/* --- graphs ------------------------------------------------------------------------- */

bool arrange(const CUgraph_st *graph, CUgraphExec_st *exec)
{
    size_t n = graph->nodes.size(), placed = 0;
    auto parts = std::make_shared<std::vector<node_list>>(1, graph->captured);
    exec->place.assign(n, 0);
    while (placed < n) {
        size_t before = placed;
        for (const auto &node : graph->nodes) {
            bool ready = !exec->place[(size_t)node->number];
            for (const CUgraphNode_st *other : node->after)
                ready = ready && exec->place[(size_t)other->number];
            if (!ready) continue;
            exec->place[(size_t)node->number] = parts->size();
            parts->push_back(node->work);
            placed++;
        }
        if (placed == before) return false;
    }
    exec->parts = parts;
    return true;
}

extern "C" cudaError_t cudaGraphCreate(cudaGraph_t *graph, unsigned)
{
    *graph = new CUgraph_st;
    return cudaSuccess;
}
extern "C" cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    if (!graph) return fail(cudaErrorInvalidValue);
    delete graph;
    return cudaSuccess;
}
extern "C" cudaError_t cudaGraphClone(cudaGraph_t *clone, cudaGraph_t graph)
{
    if (!clone || !graph) return fail(cudaErrorInvalidValue);
    *clone = new CUgraph_st{{}, graph->captured};
    for (const auto &node : graph->nodes)
        (*clone)->nodes.emplace_back(new CUgraphNode_st(*node));
    for (const auto &node : (*clone)->nodes)
        for (CUgraphNode_st *&other : node->after)
            other = (*clone)->nodes[(size_t)other->number].get();
    return cudaSuccess;
}
/* Captured work has only a number of nodes. */
extern "C" cudaError_t
cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
    if (!graph || !count) return fail(cudaErrorInvalidValue);
    if (nodes && !graph->captured.empty()) return fail(cudaErrorNotSupported);
    for (size_t i = 0; nodes && i < *count && i < graph->nodes.size(); i++)
        nodes[i] = graph->nodes[i].get();
    *count = graph->captured.size() + graph->nodes.size();
    return cudaSuccess;
}
extern "C" cudaError_t
cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long)
{
    if (!exec || !graph) return fail(cudaErrorInvalidValue);
    std::unique_ptr<CUgraphExec_st> made(new CUgraphExec_st);
    if (!arrange(graph, made.get())) return fail(cudaErrorInvalidValue);
    *exec = made.release();
    return cudaSuccess;
}
extern "C" cudaError_t cudaGraphInstantiateWithFlags(
    cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
    return cudaGraphInstantiate(exec, graph, flags);
}
extern "C" cudaError_t wbcpu_update_graph(cudaGraphExec_t exec, cudaGraph_t graph)
{
    if (!exec || !graph) return fail(cudaErrorInvalidValue);
    return arrange(graph, exec) ? cudaSuccess : fail(cudaErrorInvalidValue);
}
}  // namespace wbcpu
