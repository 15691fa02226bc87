/* graph.cpp - CUDA graphs by stream capture: work enqueued on a capturing stream is
 * recorded with a copy of its arguments, and cudaGraphLaunch replays it in order. */
#include "graph.h"

#include "check/host_hooks.h"
#include "paused.h"

#include <algorithm>

namespace wbcpu
{
struct capture {
    node_list nodes;
    cudaGraph_t graph = nullptr;        /* takes the nodes once the program asks for it */
    std::vector<cudaGraphNode_t> after; /* its nodes that the next work depends on */
    cudaStream_t origin;
    cudaStreamCaptureMode mode;
    bool broken = false;
    std::vector<cudaStream_t> streams; /* the origin, and those joined by an event */
};
}  // namespace wbcpu

namespace wbcpu
{
/* The active captures of this host thread. Its calls are checked while it captures, as in
 * CUDA's default capture mode. */
static thread_local std::vector<capture *> captures;

static bool is_default(cudaStream_t s)
{
    return s <= cudaStreamFireAndForget; /* no object, but a name */
}
capture *capture_of(cudaStream_t stream)
{
    return is_default(stream) ? nullptr : stream->capture;
}

cudaError_t not_while_capturing()
{
    cudaError_t e = cudaSuccess;
    for (capture *c : captures)
        if (c->mode != cudaStreamCaptureModeRelaxed) {
            c->broken = true;
            e = cudaErrorStreamCaptureUnsupported;
        }
    return e;
}

cudaError_t stream_error(cudaStream_t stream)
{
    if (capture *c = capture_of(stream))
        return c->broken ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
    if (stream && stream != cudaStreamLegacy) return cudaSuccess;
    for (capture *c : captures)
        if (!(c->origin->flags & cudaStreamNonBlocking)) {
            c->broken = true;
            return cudaErrorStreamCaptureImplicit;
        }
    return cudaSuccess;
}

void join_capture(cudaStream_t stream, capture *c)
{
    if (is_default(stream) || stream->capture) return;
    stream->capture = c;
    c->streams.push_back(stream);
}

bool leave_capture(cudaStream_t stream)
{
    capture *c = capture_of(stream);
    if (!c) return true;
    if (c->origin == stream) return false;
    c->streams.erase(std::find(c->streams.begin(), c->streams.end(), stream));
    stream->capture = nullptr;
    return true;
}

extern "C" bool wbcpu_defers(cudaStream_t stream)
{
    return wbcpu_self || capture_of(stream) || must_queue() || check::queues();
}
extern "C" void wbcpu_record_work(
    cudaStream_t stream, void (*run)(void *), void (*destroy)(void *), void *work)
{
    if (wbcpu_self)
        record_child(stream, std::make_shared<node>(run, destroy, work));
    else if (capture *c = capture_of(stream))
        c->nodes.push_back(std::make_shared<node>(run, destroy, work));
    else if (check::enabled)
        check::enqueue(stream, run, destroy, work);
    else
        run_after_paused(stream, run, destroy, work);
}

extern "C" cudaError_t
cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode)
{
    if (is_default(stream)) return fail(cudaErrorStreamCaptureUnsupported);
    if (stream->capture) return fail(cudaErrorIllegalState);
    capture *c = new capture;
    c->origin = stream;
    c->mode = mode;
    c->streams.push_back(stream);
    stream->capture = c;
    captures.push_back(c);
    return cudaSuccess;
}

/* With a graph: what was captured since the last call becomes a node of it. */
static void flush(capture *c)
{
    if (!c->graph || c->nodes.empty()) return;
    CUgraphNode_st *node = new CUgraphNode_st{
        cudaGraphNodeTypeKernel, std::move(c->nodes), c->after,
        (int)c->graph->nodes.size()};
    c->graph->nodes.emplace_back(node);
    c->nodes.clear();
    c->after = {node};
}

extern "C" cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    if (graph) *graph = nullptr;
    capture *c = capture_of(stream);
    if (!c) return fail(cudaErrorIllegalState);
    if (!graph && !c->graph) return fail(cudaErrorInvalidValue);
    if (c->origin != stream) return fail(cudaErrorStreamCaptureUnmatched);
    for (size_t i = 0; i < captures.size(); i++)
        if (captures[i] == c) captures.erase(captures.begin() + (long)i);
    for (cudaStream_t s : c->streams)
        s->capture = nullptr;
    cudaError_t e = c->broken ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
    flush(c);
    if (graph) *graph = e ? nullptr : c->graph ? c->graph : new CUgraph_st{{}, c->nodes};
    delete c;
    return fail(e);
}

/* --- capture into a graph ------------------------------------------------------------- */

extern "C" cudaError_t wbcpu_capture_to(
    cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
    cudaStreamCaptureMode mode)
{
    if (!graph || (count && !after)) return fail(cudaErrorInvalidValue);
    if (cudaError_t e = cudaStreamBeginCapture(stream, mode)) return e;
    stream->capture->graph = graph;
    stream->capture->after.assign(after, after + count);
    return cudaSuccess;
}
extern "C" cudaError_t wbcpu_capture_info(
    cudaStream_t stream, cudaStreamCaptureStatus *status, cudaGraph_t *graph,
    const cudaGraphNode_t **after, size_t *count)
{
    if (cudaError_t e = cudaStreamIsCapturing(stream, status)) return e;
    capture *c = capture_of(stream);
    if (c && !c->graph && (graph || after)) c->graph = new CUgraph_st;
    if (c) flush(c);
    if (graph) *graph = c ? c->graph : nullptr;
    if (after) *after = c ? c->after.data() : nullptr;
    if (count) *count = c ? c->after.size() : 0;
    return cudaSuccess;
}
extern "C" cudaError_t wbcpu_capture_after(
    cudaStream_t stream, const cudaGraphNode_t *after, size_t count, unsigned flags)
{
    capture *c = capture_of(stream);
    if (!c || !c->graph) return fail(cudaErrorIllegalState);
    flush(c);
    if (flags) c->after.clear(); /* cudaStreamSetCaptureDependencies */
    c->after.insert(c->after.end(), after, after + count);
    return cudaSuccess;
}

extern "C" cudaError_t
cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus *status)
{
    if (!status) return fail(cudaErrorInvalidValue);
    capture *c = capture_of(stream);
    *status = !c          ? cudaStreamCaptureStatusNone
              : c->broken ? cudaStreamCaptureStatusInvalidated
                          : cudaStreamCaptureStatusActive;
    return cudaSuccess;
}

extern "C" cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t)
{
    return exec ? cudaSuccess : fail(cudaErrorInvalidValue);
}
void run_parts(const std::vector<node_list> &parts)
{
    for (const node_list &part : parts)
        for (const std::shared_ptr<node> &n : part)
            n->run(n->work);
}
extern "C" cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    if (!exec) return fail(cudaErrorInvalidValue);
    if (cudaError_t e = stream_error(stream)) return fail(e);
    auto run = [parts = exec->parts] { run_parts(*parts); };
    if (!wbcpu_record(stream, run)) run();
    return sticky_error();
}
extern "C" cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    if (!exec) return fail(cudaErrorInvalidValue);
    delete exec;
    return cudaSuccess;
}
}  // namespace wbcpu
