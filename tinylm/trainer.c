/* trainer.c - see trainer.h. */
#include "trainer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void trainer_open(
    trainer *t, model *m, const model_recipe *r, const int *text, size_t length,
    uint64_t seed, uint32_t step, bool use_graph)
{
    *t = (trainer){
        .m = m,
        .recipe = *r,
        .text = text,
        .length = length,
        .seed = seed,
        .step = step,
        .use_graph = use_graph};
    size_t bytes = 2 * sizeof(int) * (size_t)r->accum * m->rows;
    for (int i = 0; i < 2; i++) {
        CUDA_CHECK(cudaMallocHost((void **)&t->h_batch[i], bytes));
        CUDA_CHECK(cudaEventCreateWithFlags(&t->copied[i], cudaEventDisableTiming));
    }
    CUDA_CHECK(cudaMallocHost((void **)&t->h_train, sizeof *t->h_train));
    if (step == 0) {
        *t->h_train = (wb_train){.seed = seed, .loss_scale = r->loss_scale};
        model_upload(m, m->train, t->h_train, sizeof *t->h_train);
    }
}

void trainer_close(trainer *t)
{
    CUDA_CHECK(cudaStreamSynchronize(t->m->stream));
    if (t->graph) CUDA_CHECK(cudaGraphExecDestroy(t->graph));
    for (int i = 0; i < 2; i++) {
        CUDA_CHECK(cudaFreeHost(t->h_batch[i]));
        CUDA_CHECK(cudaEventDestroy(t->copied[i]));
    }
    CUDA_CHECK(cudaFreeHost(t->h_train));
    *t = (trainer){0};
}

// Sequences start anywhere in the text, uniformly. The choice depends only on seed and
// step, so resuming needs no generator state. Each rank takes its rows of a micro-batch.
static void choose_batch(const trainer *t, int *token)
{
    int T = t->m->length, B = t->m->batch, sequences = t->recipe.accum * B;
    int ranks = t->m->ranks->size, rank = t->m->ranks->rank;
    int *target = token + (size_t)sequences * T;
    uint64_t places = t->length - (size_t)T - 1;
    for (int i = 0; i < sequences; i++) {
        uint32_t r[4], row = (uint32_t)((i / B * ranks + rank) * B + i % B);
        wb_random(r, t->seed, t->step, row, 0, 0xda7a);
        uint64_t n = (uint64_t)r[0] << 32 | r[1];
        const int *from = t->text + n % places;
        memcpy(token + (size_t)i * T, from, (size_t)T * sizeof *token);
        memcpy(target + (size_t)i * T, from + 1, (size_t)T * sizeof *target);
    }
}

static void send_batch(trainer *t)
{
    int slot = t->begun % 2;
    size_t n = (size_t)t->recipe.accum * t->m->rows;
    if (t->begun >= 2)  // the copy of two steps ago may still read this buffer
        CUDA_CHECK(cudaEventSynchronize(t->copied[slot]));
    choose_batch(t, t->h_batch[slot]);
    CUDA_CHECK(cudaMemcpyAsync(
        t->m->token, t->h_batch[slot], n * sizeof(int), cudaMemcpyHostToDevice,
        t->m->stream));
    CUDA_CHECK(cudaMemcpyAsync(
        t->m->target, t->h_batch[slot] + n, n * sizeof(int), cudaMemcpyHostToDevice,
        t->m->stream));
    CUDA_CHECK(cudaEventRecord(t->copied[slot], t->m->stream));
}

static void capture(trainer *t)
{
    cudaGraph_t graph;
    model *m = t->m;
    CUDA_CHECK(cudaStreamBeginCapture(m->stream, cudaStreamCaptureModeThreadLocal));
    m->calls->step(m, &t->recipe);
    CUDA_CHECK(cudaStreamEndCapture(m->stream, &graph));
    CUDA_CHECK(cudaGraphInstantiateWithFlags(&t->graph, graph, 0));
    CUDA_CHECK(cudaGraphDestroy(graph));
}

void trainer_step(trainer *t)
{
    send_batch(t);
    if (t->use_graph && t->begun == 1) capture(t);
    if (t->graph)
        CUDA_CHECK(cudaGraphLaunch(t->graph, t->m->stream));
    else
        t->m->calls->step(t->m, &t->recipe);
    t->begun++;
    t->step++;
}

const wb_train *trainer_read(trainer *t)
{
    model_download(t->m, t->h_train, t->m->train, sizeof *t->h_train);
    return t->h_train;
}

double evaluate_text(model *m, const int *text, size_t length)
{
    size_t B = (size_t)m->batch, T = (size_t)m->length, sequences = (length - 1) / T;
    size_t step = B * (size_t)m->ranks->size, first = B * (size_t)m->ranks->rank;
    size_t bytes = (size_t)m->rows * sizeof(int);
    int *h = malloc(2 * bytes), *target = h + m->rows;
    float loss = 0;
    double total = 0;
    if (!h) {
        fprintf(
            stderr, "out of memory: %zu bytes for the tokens of a batch\n", 2 * bytes);
        exit(1);
    }
    if (sequences == 0) {
        fprintf(
            stderr,
            "the validation text has %zu tokens, the context %zu: give a longer text\n",
            length, T);
        exit(1);
    }
    for (size_t i = first; i < sequences; i += step) {
        size_t n = sequences - i < B ? sequences - i : B;
        memset(h, 0, bytes);
        memset(target, 0xff, bytes);  // -1, ignored, where the last batch is not full
        memcpy(h, text + i * T, n * T * sizeof(int));
        memcpy(target, text + i * T + 1, n * T * sizeof(int));
        model_upload(m, m->token, h, bytes);
        model_upload(m, m->target, target, bytes);
        CUDA_CHECK(cudaMemsetAsync(m->eval_loss, 0, sizeof(float), m->stream));
        m->calls->evaluate(m);
        model_download(m, &loss, m->eval_loss, sizeof loss);
        total += loss;
    }
    free(h);
    return ranks_sum(m->ranks, total) / (double)(sequences * T);
}
