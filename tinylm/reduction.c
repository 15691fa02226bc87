/* reduction.c - see reduction.h. */
#include "reduction.h"

#include "arena.h"
#include "tensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- buckets ------------------------------------------------------------------------ */

// Where the matrices of each layer start in the flat buffers: start (layers).
static void layer_starts(const model_config *c, size_t *start)
{
    int count;
    model_tensor *all = model_tensors(c, &count, NULL, NULL);
    for (int l = 0; l < c->shape.layers; l++)
        start[l] = SIZE_MAX;
    for (int i = 0; i < count; i++) {
        const model_tensor *t = &all[i];
        if (t->layer < 0 || !t->decayed) continue;
        if (t->offset < start[t->layer]) start[t->layer] = t->offset;
    }
    free(all);
}

static void add(reduction *r, size_t from, size_t end, int layer)
{
    if (from < end) r->bucket[r->count++] = (bucket){from, end - from, layer};
}

static int make_buckets(const model *m, reduction *r, size_t bytes, wb_error *err)
{
    int layers = m->config.shape.layers;
    size_t end = m->decayed, *start = malloc((size_t)layers * sizeof *start);
    r->bucket = malloc(((size_t)layers + 2) * sizeof *r->bucket);
    if (!start || !r->bucket) {
        free(start);
        return error_set(err, "no memory for the buckets of %d layers", layers);
    }
    layer_starts(&m->config, start);
    for (int l = layers - 1; l >= 0; l--) {
        if ((end - start[l]) * sizeof(float) < bytes) continue;
        add(r, start[l], end, l);
        end = start[l];
    }
    add(r, 0, end, -1);  // the embedding, which the backward pass reaches last
    add(r, m->decayed, m->parameters, -1);
    free(start);
    return 0;
}

static size_t largest(const reduction *r)
{
    size_t n = 0;
    for (int i = 0; i < r->count; i++)
        if (r->bucket[i].n > n) n = r->bucket[i].n;
    return n;
}

static int allocate(const model *m, reduction *r, wb_error *err)
{
    bool rounds = r->dtype == WB_BF16;
    size_t size = (size_t)m->ranks->size, n = rounds ? largest(r) : 0;
    arena a = {.element = sizeof *r->sent};
    for (int pass = 0; pass < 2; pass++) {
        r->sent = take_elements(&a, n);
        r->summed = take_elements(&a, n / size);
        r->norms = take_floats(&a, size);
        if (pass == 0 && cudaMalloc(&r->memory, a.used) != cudaSuccess) {
            cudaGetLastError();
            return error_set(
                err,
                "no device memory for %.1f MB of gradients to send: use a smaller "
                "--bucket or --batch",
                (double)a.used / 1e6);
        }
        a = (arena){.base = r->memory, .element = a.element};
    }
    return 0;
}

int reduction_open(model *m, wb_dtype dtype, size_t bytes, wb_error *err)
{
    if (m->ranks->size == 1) return 0;
    reduction *r = m->reduction = calloc(1, sizeof *r);
    if (!r) return error_set(err, "no memory");
    r->dtype = dtype;
    if (make_buckets(m, r, bytes, err) || allocate(m, r, err)) return -1;
    // Of the highest priority: a sum that all ranks wait for starts before other kernels.
    int least, greatest;
    CUDA_CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    CUDA_CHECK(cudaStreamCreateWithPriority(&r->stream, cudaStreamNonBlocking, greatest));
    CUDA_CHECK(cudaEventCreateWithFlags(&r->ready, cudaEventDisableTiming));
    CUDA_CHECK(cudaEventCreateWithFlags(&r->done, cudaEventDisableTiming));
    return 0;
}

void reduction_close(model *m)
{
    reduction *r = m->reduction;
    if (!r) return;
    if (r->stream) {
        CUDA_CHECK(cudaStreamSynchronize(r->stream));
        CUDA_CHECK(cudaStreamDestroy(r->stream));
        CUDA_CHECK(cudaEventDestroy(r->ready));
        CUDA_CHECK(cudaEventDestroy(r->done));
    }
    if (r->memory) CUDA_CHECK(cudaFree(r->memory));
    free(r->bucket);
    free(r);
    m->reduction = NULL;
}

/* --- within a step ------------------------------------------------------------------ */

static void fork_stream(model *m)
{
    CUDA_CHECK(cudaEventRecord(m->reduction->ready, m->stream));
    CUDA_CHECK(cudaStreamWaitEvent(m->reduction->stream, m->reduction->ready, 0));
}

static void sum_whole(model *m, reduction *r, const bucket *b)
{
    float *grad = m->grad + b->from;
    if (r->dtype == WB_F32) {
        ranks_all_reduce(m->ranks, grad, b->n, WB_F32, r->stream);
        return;
    }
    WB_CHECK(cast_bf16(r->sent, grad, b->n, r->stream));
    ranks_all_reduce(m->ranks, r->sent, b->n, WB_BF16, r->stream);
    WB_CHECK(widen_bf16(grad, r->sent, b->n, r->stream));
}

static void sum_part(model *m, reduction *r, const bucket *b)
{
    size_t size = (size_t)m->ranks->size, n = b->n / size;
    float *grad = m->grad + b->from, *part = m->shard_grad + b->from / size;
    if (r->dtype == WB_F32) {
        ranks_reduce_scatter(m->ranks, part, grad, n, WB_F32, r->stream);
        return;
    }
    WB_CHECK(cast_bf16(r->sent, grad, b->n, r->stream));
    ranks_reduce_scatter(m->ranks, r->summed, r->sent, n, WB_BF16, r->stream);
    WB_CHECK(widen_bf16(part, r->summed, n, r->stream));
}

void reduction_layer(model *m, int layer)
{
    reduction *r = m->reduction;
    if (!r || r->enqueued == r->count || r->bucket[r->enqueued].layer < layer) return;
    fork_stream(m);
    for (; r->enqueued < r->count; r->enqueued++) {
        const bucket *b = &r->bucket[r->enqueued];
        if (b->layer < layer) return;
        if (m->sharded)
            sum_part(m, r, b);
        else
            sum_whole(m, r, b);
    }
}

void reduction_join(model *m)
{
    reduction *r = m->reduction;
    if (!r) return;
    CUDA_CHECK(cudaEventRecord(r->done, r->stream));
    CUDA_CHECK(cudaStreamWaitEvent(m->stream, r->done, 0));
    r->enqueued = 0;
}

void reduction_norm(model *m)
{
    const ranks *k = m->ranks;
    float *norms = m->reduction->norms;
    CUDA_CHECK(cudaMemcpyAsync(
        norms + k->rank, &m->train->grad_norm, sizeof *norms, cudaMemcpyDeviceToDevice,
        m->stream));
    ranks_all_gather(k, norms, 1, WB_F32, m->stream);
    WB_CHECK(gradnorm_join(m->train, norms, k->size, m->stream));
}

void reduction_gather(model *m, const bucket *b)
{
    wb_dtype e = m->config.dtype;
    char *weights = (char *)m->param + b->from * wb_dtype_size(e);
    fork_stream(m);
    ranks_all_gather(
        m->ranks, weights, b->n / (size_t)m->ranks->size, e, m->reduction->stream);
}

/* --- between steps ------------------------------------------------------------------ */

void reduction_keep(const model *m, float *parts, const float *all)
{
    size_t size = (size_t)m->ranks->size, rank = (size_t)m->ranks->rank;
    const bucket whole = {0, m->parameters, 0};
    const bucket *buckets = m->sharded ? m->reduction->bucket : &whole;
    int count = m->sharded ? m->reduction->count : 1;
    if (!m->sharded) size = 1, rank = 0;
    for (int i = 0; i < count; i++) {
        const bucket *b = &buckets[i];
        size_t n = b->n / size;
        CUDA_CHECK(cudaMemcpyAsync(
            parts + b->from / size, all + b->from + rank * n, n * sizeof *parts,
            cudaMemcpyDeviceToDevice, m->stream));
    }
}

// The gradients are 0 between two steps: their buffer holds all of h meanwhile.
void reduction_upload(const model *m, float *parts, const float *h)
{
    size_t bytes = m->parameters * sizeof *h;
    model_upload(m, m->grad, h, bytes);
    reduction_keep(m, parts, m->grad);
    CUDA_CHECK(cudaMemsetAsync(m->grad, 0, bytes, m->stream));
    CUDA_CHECK(cudaStreamSynchronize(m->stream));
}

static float *host_floats(size_t n)
{
    float *h = malloc(n * sizeof *h);
    if (h) return h;
    fprintf(stderr, "no memory for %zu weights\n", n);
    exit(1);
}

void reduction_download(const model *m, float *h, const float *parts)
{
    size_t N = m->parameters, size = (size_t)m->ranks->size, owned = N / size;
    if (!m->sharded) {
        model_download(m, h, parts, N * sizeof *h);
        return;
    }
    float *mine = host_floats(owned), *all = host_floats(m->ranks->rank ? 1 : N);
    model_download(m, mine, parts, owned * sizeof *mine);
    ranks_gather(m->ranks, all, mine, owned * sizeof *mine);
    for (int i = 0; i < m->reduction->count && !m->ranks->rank; i++) {
        const bucket *b = &m->reduction->bucket[i];
        size_t n = b->n / size;
        for (size_t k = 0; k < size; k++)
            memcpy(h + b->from + k * n, all + k * owned + b->from / size, n * sizeof *h);
    }
    free(mine);
    free(all);
}
