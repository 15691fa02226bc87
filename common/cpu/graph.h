/* graph.h - graphs and their nodes; internal to the library. */
#ifndef WBCPU_GRAPH_H
#define WBCPU_GRAPH_H

#include "stream.h"

#include <memory>
#include <vector>

namespace wbcpu
{
/* One piece of recorded work */
struct node {
    void (*run)(void *);
    void (*destroy)(void *);
    void *work;
    node(void (*r)(void *), void (*d)(void *), void *w) : run(r), destroy(d), work(w) {}
    node(const node &) = delete;
    node &operator=(const node &) = delete;
    ~node()
    {
        destroy(work);
    }
};
typedef std::vector<std::shared_ptr<node>> node_list; /* in the order of recording */

/* dynamic.cpp: work that the running kernel enqueues */
void record_child(cudaStream_t stream, std::shared_ptr<node> work);
}  // namespace wbcpu

/* A node that the program added, with all the work that it recorded */
struct CUgraphNode_st {
    int type;
    wbcpu::node_list work;
    std::vector<CUgraphNode_st *> after;
    int number; /* in its graph */
};
struct CUgraph_st {
    std::vector<std::unique_ptr<CUgraphNode_st>> nodes;
    wbcpu::node_list captured; /* before them */
};
struct CUgraphExec_st {
    /* What was captured, then the nodes in order. A launch that waits in a queue shares
     * them, so an update changes a copy. */
    std::shared_ptr<const std::vector<wbcpu::node_list>> parts;
    std::vector<size_t> place; /* of each node of the graph in `parts` */
};

namespace wbcpu
{
/* The nodes in an order that the dependencies allow; false: they form a cycle. */
bool arrange(const CUgraph_st *graph, CUgraphExec_st *exec);
void run_parts(const std::vector<node_list> &parts);
}  // namespace wbcpu
#endif
