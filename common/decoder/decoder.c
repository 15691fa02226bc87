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
}

// The first step launches the kernels one by one, because libraries allocate on first
// use; the second is recorded. A RoPE table that has grown has another address, so the
// step is recorded again.
void decoder_step(decoder *d)
{
    cudaStream_t s = d->stream;
    CUDA_CHECK(decoder_grow_rope(d, d->reached++));
    if (d->set.graph && d->steps > 0 && !d->step_graph) {
        cudaGraph_t graph;
        CUDA_CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
        d->calls->step(d);
        CUDA_CHECK(cudaStreamEndCapture(s, &graph));
        CUDA_CHECK(cudaGraphInstantiateWithFlags(&d->step_graph, graph, 0));
        CUDA_CHECK(cudaGraphDestroy(graph));
    }
    if (d->step_graph)
        CUDA_CHECK(cudaGraphLaunch(d->step_graph, s));
    else
        d->calls->step(d);
    d->steps++;
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
