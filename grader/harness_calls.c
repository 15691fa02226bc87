/* harness_calls.c - the kinds of calls: plain, captured in a graph, dry. */
#include "harness_calls.h"

#include "harness_backend.h"
#include "harness_buffers.h"
#include "harness_check.h"
#include "harness_dry.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

/* Kernels, and copies within device memory, which are work on the device as well */
static uint64_t launches(void)
{
#if CPU_BACKEND
    return wbcpu_launch_count() + wbcpu_copy_count();
#else
    return 0;
#endif
}

static void set_error(struct wire_result *r, cudaError_t error)
{
    const char *name = cudaGetErrorName(error);
    r->cuda_error = (int32_t)error;
    if (CPU_BACKEND && !strncmp(name, "unrecognized", 12))
        snprintf(
            r->cuda_message, sizeof r->cuda_message,
            "memory of the CPU back end is overwritten: an index far outside of a shared "
            "or local array?");
    else if (error != cudaSuccess)
        snprintf(
            r->cuda_message, sizeof r->cuda_message, "%s: %s", name,
            cudaGetErrorString(error));
}

/* Waits for all work, on whatever stream it was enqueued. */
static cudaError_t wait_for_all(struct call *c)
{
    c->in_launcher = 2;
    cudaError_t error = cudaDeviceSynchronize();
    c->in_launcher = 0;
    return error == cudaSuccess ? cudaGetLastError() : error;
}

static void plain_call(struct call *c, const struct adapter *a, struct wire_result *r)
{
    refill_buffers(c);
    cudaGetLastError(); /* clears errors of earlier calls */
    check_written_earlier(c, c->wire);
    uint64_t before = launches();
    c->in_launcher = 1;
    r->status = (int32_t)a->run(c);
    if (c->host_code)
        cudaGetLastError(); /* it has told in its status that a launch failed */
    set_error(r, wait_for_all(c));
    r->launches = CPU_BACKEND ? launches() - before : NOT_COUNTED;
}

/* Captures the call in a CUDA graph, refills the buffers, and replays the graph. Work on
 * another stream is not in the graph, so its results are lost. A launcher that does more
 * than enqueue work cannot be captured. */
static void captured_call(struct call *c, const struct adapter *a, struct wire_result *r)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    size_t nodes = 0;
    refill_buffers(c);
    cudaGetLastError();
    cuda(
        cudaStreamBeginCapture(c->stream, cudaStreamCaptureModeThreadLocal),
        "cannot begin to capture a graph");
    c->in_launcher = 1;
    r->status = (int32_t)a->run(c);
    c->in_launcher = 0;
    cudaError_t error = cudaStreamEndCapture(c->stream, &graph);
    if (error == cudaSuccess) error = wait_for_all(c);
    if (error == cudaSuccess) error = cudaGraphGetNodes(graph, NULL, &nodes);
    if (error == cudaSuccess) error = cudaGraphInstantiate(&exec, graph, 0);
    if (error == cudaSuccess) {
        refill_buffers(c);
        error = cudaGraphLaunch(exec, c->stream);
    }
    if (error == cudaSuccess) error = wait_for_all(c);
    if (exec) cudaGraphExecDestroy(exec);
    if (graph) cudaGraphDestroy(graph);
    set_error(r, error);
    r->captured = (uint32_t)nodes;
    r->launches = NOT_COUNTED;
}

/* If some blocks of each kernel leave the end of an output unwritten, all of them run:
 * only what none of them writes is unwritten. If that takes too long, the blocks that ran
 * may show that they are too few. */
static void dry_call(struct call *c, const struct adapter *a, struct wire_result *r)
{
    unsigned char *start[MAX_BUFFERS];
    uint64_t before = launches();
    if (!dry_possible()) {
        r->unwritten = DRY_SKIPPED;
        return;
    }
    for (uint32_t i = 0; i < c->wire->buffers; i++)
        start[i] = c->base[i] + RED_ZONE;
    dry_fill(c->wire, start, c->inputs);
    dry_mark(c->wire, start);
    cudaGetLastError();
    for (int search = 0; search < 2; search++) {
        c->in_launcher = 1;
        r->status = (int32_t)a->run(c);
        set_error(r, wait_for_all(c));
        r->unwritten = r->status || r->cuda_error ? 0 : dry_unwritten();
        if (!r->unwritten || search || dry_complete() < 0 || !dry_search()) break;
    }
    if (r->unwritten && dry_complete() <= 0) {
        const struct wire_arg *arg = &c->wire->arg[r->unwritten - 1];
        if (!dry_short(c->wire->buffer[arg->buffer].bytes)) r->unwritten = 0;
    }
    r->launches = CPU_BACKEND ? launches() - before : NOT_COUNTED;
}

void make_call(struct call *c, const struct adapter *a, const struct wire_call *w)
{
    struct wire_result r = {.which = w->which};
    uint32_t b = w->which >= CALL_SHIFTED ? shifted_buffer(w->which) : MAX_BUFFERS;
    int shifted = b < c->wire->buffers;
    uint32_t bytes = shifted ? shifted_bytes(w->which, c->wire->buffer[b].element) : 0;
#if CPU_BACKEND
    wbcpu_set_shuffle(w->order);
#endif
    if (shifted) c->base[b] += bytes;
    if (c->wire->dry)
        dry_call(c, a, &r);
    else if (w->which == CALL_CAPTURED)
        captured_call(c, a, &r);
    else
        plain_call(c, a, &r);
    fflush(NULL); /* output of the kernels belongs to this case */
    send_result(c, &r);
    if (shifted) c->base[b] -= bytes;
}
