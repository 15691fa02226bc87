/* decoder.c - see decoder.h: transfers to the device, and the graph of a step. */
#include "decoder.h"

#include <stdlib.h>
#include <string.h>

void decoder_upload(decoder *d, void *device, const void *h, size_t bytes)
{
    CUDA_CHECK(cudaMemcpyAsync(device, h, bytes, cudaMemcpyHostToDevice, d->stream));
    CUDA_CHECK(cudaStreamSynchronize(d->stream));
}

void decoder_download(decoder *d, void *h, const void *device, size_t bytes)
{
    CUDA_CHECK(cudaMemcpyAsync(h, device, bytes, cudaMemcpyDeviceToHost, d->stream));
    CUDA_CHECK(cudaStreamSynchronize(d->stream));
}

/* --- prefill ------------------------------------------------------------------------ */

static int longest(const decoder *d, const int *count)
{
    int most = 0;
    for (int b = 0; b < d->batch; b++)
        if (count[b] > most) most = count[b];
    return most;
}

static void grow_for_prompts(decoder *d, const int *count, const int *base)
{
    int end = 0;
    for (int b = 0; b < d->batch; b++)
        if (count[b] > 0 && base[b] + count[b] > end) end = base[b] + count[b];
    CUDA_CHECK(decoder_grow_prompt(d, longest(d, count)));
    CUDA_CHECK(decoder_grow_rope(d, end));
}

void decoder_prefill_begin(
    decoder *d, const int *const *tokens, const int *count, const int *base)
{
    size_t bytes = (size_t)d->batch * sizeof(int);
    d->fresh = true;
    grow_for_prompts(d, count, base);
    size_t pitch = (size_t)d->prompt_room;
    for (int b = 0; b < d->batch; b++) {
        if (count[b] == 0) continue;
        if (base[b]) d->fresh = false;
        CUDA_CHECK(cudaMemcpyAsync(
            d->prompt + (size_t)b * pitch, tokens[b], (size_t)count[b] * sizeof(int),
            cudaMemcpyHostToDevice, d->stream));
    }
    CUDA_CHECK(cudaMemcpyAsync(d->base, base, bytes, cudaMemcpyHostToDevice, d->stream));
    decoder_upload(d, d->count, count, bytes);
}

void decoder_prefill_chunk(decoder *d, int t0, int T)
{
    bool every_token = d->every_token || d->watch;
    d->embedded = false;
    d->calls->prefill(d, t0, T, d->fresh && t0 == 0, every_token);
    d->unfinished = !every_token;
}

void decoder_prefill(
    decoder *d, const int *const *tokens, const int *count, const int *base)
{
    int most = longest(d, count);
    decoder_prefill_begin(d, tokens, count, base);
    for (int t0 = 0; t0 < most; t0 += d->chunk)
        decoder_prefill_chunk(d, t0, most - t0 < d->chunk ? most - t0 : d->chunk);
}

void decoder_norm(decoder *d, int T)
{
    d->calls->norm(d, T);
}

void decoder_logits(decoder *d, int r0, int rows)
{
    d->calls->logits(d, r0, rows);
}

/* --- decode ------------------------------------------------------------------------- */

void decoder_sample(decoder *d)
{
    if (d->unfinished) d->calls->finish(d);
    d->unfinished = false;
    d->calls->sample(d);
    d->embedded = true;
}

// n steps as one graph. Between two graphs the device waits for the next launch, and no
// kernel starts early.
static void record(decoder *d, cudaGraphExec_t *exec, int n)
{
    cudaGraph_t graph;
    CUDA_CHECK(cudaStreamBeginCapture(d->stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < n; i++)
        d->calls->step(d);
    CUDA_CHECK(cudaStreamEndCapture(d->stream, &graph));
    CUDA_CHECK(cudaGraphInstantiateWithFlags(exec, graph, 0));
    CUDA_CHECK(cudaGraphDestroy(graph));
}

// The first step launches the kernels one by one, because libraries allocate on first
// use. Then a step is a graph. Recording several steps takes longer than a short text, so
// they become a graph later. A RoPE table that has grown has another address: the graphs
// are recorded again.
void decoder_steps(decoder *d, int n)
{
    if (n > 0 && !d->embedded) d->calls->embed(d);
    d->embedded |= n > 0;
    while (n > 0) {
        bool graph = d->set.graph && d->steps > 0;
        bool several = graph && n >= STEPS_PER_GRAPH && d->steps >= STEPS_PER_GRAPH;
        int some = several ? STEPS_PER_GRAPH : 1;
        cudaGraphExec_t *exec = several ? &d->steps_graph : &d->step_graph;
        CUDA_CHECK(decoder_grow_rope(d, d->reached + some - 1));
        if (graph && !*exec) record(d, exec, some);
        if (graph)
            CUDA_CHECK(cudaGraphLaunch(*exec, d->stream));
        else
            d->calls->step(d);
        d->reached += some, d->steps += some, n -= some;
    }
}

void decoder_set_tokens(decoder *d, const int *tokens)
{
    d->embedded = false;
    decoder_upload(d, d->token, tokens, (size_t)d->batch * sizeof *tokens);
}

void decoder_forget_graphs(decoder *d)
{
    if (d->step_graph) CUDA_CHECK(cudaGraphExecDestroy(d->step_graph));
    if (d->steps_graph) CUDA_CHECK(cudaGraphExecDestroy(d->steps_graph));
    d->step_graph = d->steps_graph = NULL;
}

void decoder_set_positions(decoder *d, const int *at)
{
    d->reached = longest(d, at) + 2;  // decoder_sample adds 1 to at
    decoder_upload(d, d->position, at, (size_t)d->batch * sizeof *at);
}

void decoder_start(decoder *d, const int *done)
{
    size_t bytes = (size_t)d->batch * sizeof(int);
    CUDA_CHECK(cudaMemsetAsync(d->sampled_count, 0, bytes, d->stream));
    if (done)
        decoder_upload(d, d->done, done, bytes);
    else
        CUDA_CHECK(cudaMemsetAsync(d->done, 0, bytes, d->stream));
}

int decoder_mark_seen(
    decoder *d, const int *const *tokens, const int *count, wb_error *err)
{
    if (!d->seen) return 0;
    size_t V = (size_t)d->config.shape.vocab;
    uint8_t *seen = calloc((size_t)d->batch, V);
    if (!seen) return error_set(err, "no memory for the marks of %zu tokens", V);
    for (int b = 0; b < d->batch; b++)
        for (int i = 0; i < count[b]; i++)
            seen[(size_t)b * V + (size_t)tokens[b][i]] = 1;
    decoder_upload(d, d->seen, seen, (size_t)d->batch * V);
    free(seen);
    return 0;
}
