/* graph_conditions.cpp - conditional nodes of graphs (wbcpu/graph_params.h). A node is
 * one piece of work, which runs its bodies. */
#include "graph.h"
#include "include/wbcpu/graph_params.h"

namespace wbcpu
{
struct condition_value {
    unsigned value, first;
    bool assigned; /* `first`, before each launch */
};
struct conditional {
    condition_value *decides;
    cudaGraphConditionalNodeType type;
    std::vector<cudaGraph_t> bodies;

    ~conditional()
    {
        for (cudaGraph_t body : bodies)
            cudaGraphDestroy(body);
        delete decides;
    }
    /* The program adds to the bodies after it has added the node. */
    void run_body(unsigned i) const
    {
        CUgraphExec_st exec;
        if (i < bodies.size() && arrange(bodies[i], &exec)) run_parts(*exec.parts);
    }
    void run() const
    {
        switch (type) {
        case cudaGraphCondTypeIf: run_body(decides->value ? 0 : 1); break;
        case cudaGraphCondTypeWhile:
            while (decides->value && !sticky_error())
                run_body(0);
            break;
        case cudaGraphCondTypeSwitch: run_body(decides->value); break;
        }
        if (decides->assigned) decides->value = decides->first; /* for the next launch */
    }
};

extern "C" cudaError_t wbcpu_make_condition(
    cudaGraphConditionalHandle *handle, unsigned value, bool assign_default)
{
    if (!handle) return fail(cudaErrorInvalidValue);
    *handle = (uintptr_t) new condition_value{value, value, assign_default};
    return cudaSuccess;
}
extern "C" void wbcpu_set_condition(cudaGraphConditionalHandle handle, unsigned value)
{
    __atomic_store_n(&((condition_value *)handle)->value, value, __ATOMIC_RELAXED);
}
extern "C" cudaError_t wbcpu_add_conditional(
    cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
    cudaConditionalNodeParams *params)
{
    if (!params->handle || !params->size) return fail(cudaErrorInvalidValue);
    if (cudaError_t e = add_node(
            node, graph, after, count, cudaGraphNodeTypeConditional,
            [](cudaStream_t) { return cudaSuccess; }))
        return e;
    conditional *c = new conditional{(condition_value *)params->handle, params->type, {}};
    for (unsigned i = 0; i < params->size; i++)
        c->bodies.push_back(new CUgraph_st);
    (*node)->work.push_back(std::make_shared<wbcpu::node>(
        [](void *w) { ((conditional *)w)->run(); },
        [](void *w) { delete (conditional *)w; }, c));
    params->phGraph_out = c->bodies.data();
    return cudaSuccess;
}
}  // namespace wbcpu
