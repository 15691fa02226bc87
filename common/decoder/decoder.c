/* decoder.c - see decoder.h: what is sent to the device, and the graph of a step. */
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

/* --- reading ------------------------------------------------------------------------ */

static int longest(const decoder *d, const int *n)
{
    int most = 0;
    for (int b = 0; b < d->B; b++)
        if (n[b] > most) most = n[b];
    return most;
}

void decoder_begin(decoder *d, const int *const *tokens, const int *n, const int *base)
{
    size_t bytes = (size_t)d->B * sizeof(int);
    d->fresh = true;
    for (int b = 0; b < d->B; b++) {
        if (n[b] == 0) continue;
        if (base[b]) d->fresh = false;
        CUDA_CHECK(cudaMemcpyAsync(
            d->prompt + (size_t)b * d->P, tokens[b], (size_t)n[b] * sizeof(int),
            cudaMemcpyHostToDevice, d->stream));
    }
    CUDA_CHECK(cudaMemcpyAsync(d->base, base, bytes, cudaMemcpyHostToDevice, d->stream));
    decoder_upload(d, d->n, n, bytes);
}

void decoder_chunk(decoder *d, int t0, int T)
{
    bool every_row = d->every_row || d->watch;
    d->calls->read(d, t0, T, d->fresh && t0 == 0, every_row);
    d->unfinished = !every_row;
}

void decoder_read(decoder *d, const int *const *tokens, const int *n, const int *base)
{
    int most = longest(d, n);
    decoder_begin(d, tokens, n, base);
    for (int t0 = 0; t0 < most; t0 += d->T)
        decoder_chunk(d, t0, most - t0 < d->T ? most - t0 : d->T);
}

void decoder_norm(decoder *d, int T)
{
    d->calls->norm(d, T);
}

void decoder_logits(decoder *d, int r0, int rows)
{
    d->calls->logits(d, r0, rows);
}

/* --- writing ------------------------------------------------------------------------ */

void decoder_choose(decoder *d)
{
    if (d->unfinished) d->calls->finish(d);
    d->unfinished = false;
    d->calls->choose(d);
}

// The first step calls the kernels one by one (libraries make what they need then), the
// second is recorded.
void decoder_step(decoder *d)
{
    cudaStream_t s = d->stream;
    if (d->set.graph && d->steps == 1) {
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

void decoder_place(decoder *d, const int *at)
{
    decoder_upload(d, d->cur, at, (size_t)d->B * sizeof *at);
}

void decoder_start(decoder *d, const int *done)
{
    size_t bytes = (size_t)d->B * sizeof(int);
    CUDA_CHECK(cudaMemsetAsync(d->drawn, 0, bytes, d->stream));
    if (done)
        decoder_upload(d, d->done, done, bytes);
    else
        CUDA_CHECK(cudaMemsetAsync(d->done, 0, bytes, d->stream));
}

int decoder_mark(decoder *d, const int *const *tokens, const int *count, wb_error *err)
{
    if (!d->seen) return 0;
    size_t V = (size_t)d->config.V;
    uint8_t *seen = calloc((size_t)d->B, V);
    if (!seen) return error_set(err, "no memory to note %d tokens", d->config.V);
    for (int b = 0; b < d->B; b++)
        for (int i = 0; i < count[b]; i++)
            seen[(size_t)b * V + (size_t)tokens[b][i]] = 1;
    decoder_upload(d, d->seen, seen, (size_t)d->B * V);
    free(seen);
    return 0;
}
