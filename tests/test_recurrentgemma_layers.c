/* test_recurrentgemma_layers.c - the decoder under the engine, layer by layer, on the
 * tiny model: the residual stream after each layer within 5e-5, documents packed in one
 * sequence, and the logits of each single step, within 1e-4.
 */
#include "../recurrentgemma/engine/weights.h"
#include "decoder.h"
#include "recurrentgemma/tiny.h"

typedef struct run {
    griffin_config config;
    rg_weights weights;
    wb_blas *blas;
    cudaStream_t stream;  // not NULL: the default stream cannot be captured
    decoder d;
    int t0, seen;  // of the chunk; calls of the watch
} run;

static run *r;

static void start(void)
{
    tiny_open();
    wb_error err = {""};
    r = calloc(1, sizeof *r);
    cr_assert_eq(wb_blas_create(&r->blas), WB_OK);
    cr_assert(
        cudaStreamCreateWithFlags(&r->stream, cudaStreamNonBlocking) == cudaSuccess);
    cr_assert_eq(griffin_config_read(&r->config, TINY, &err), 0, "%s", err.text);
    cr_assert_eq(
        rg_weights_load(&r->weights, &r->config, TINY, false, WB_F32, r->stream, &err), 0,
        "%s", err.text);
}

static void end(void)
{
    decoder_destroy(&r->d);
    rg_weights_free(&r->weights);
    wb_blas_destroy(r->blas);
    cudaStreamDestroy(r->stream);
    free(r);
    tiny_close();
}

static void create(int chunk, bool graph)
{
    wb_error err = {""};
    const decoder_settings set = {
        .batch = 1,
        .chunk = chunk,
        .longest_prompt = LONG,
        .positions = LONG + GREEDY,
        .max_new_tokens = GREEDY,
        .score_rows = LONG,
        .graph = graph,
        .top_p = 1,
        .repetition_penalty = 1};
    const rg_weights *w = &r->weights;
    decoder_destroy(&r->d);
    cr_assert_eq(
        decoder_create(&r->d, &w->config, &w->at, &set, r->blas, r->stream, &err), 0,
        "%s", err.text);
}

TestSuite(layers, .init = start, .fini = end);

/* --- the residual stream ------------------------------------------------------------ */

static void compare(void *user, decoder *d, int layer, const void *x, int T)
{
    run *me = user;
    const float *want = expected("long.hidden");  // (layers+2,T,C)
    want += ((size_t)(layer + 1) * LONG + me->t0) * CHANNELS;
    cr_assert(cudaStreamSynchronize(r->stream) == cudaSuccess);
    char what[64];
    snprintf(what, sizeof what, "after layer %d, tokens from %d on", layer, me->t0);
    near(x, want, (size_t)T * CHANNELS, 5e-5, what);
    cr_assert_eq(d->config.shape.channels, CHANNELS);
    me->seen++;
}

Test(layers, hidden)
{
    static const int chunks[] = {LONG, 7, WINDOW, 1};
    const int n = LONG, base = 0, *ids = expected("long.input_ids");
    for (int i = 0; i < 4; i++) {
        create(chunks[i], false);
        r->d.watch = compare, r->d.watch_user = r, r->seen = 0;
        decoder_prefill_begin(&r->d, &ids, &n, &base);
        for (r->t0 = 0; r->t0 < LONG; r->t0 += chunks[i]) {
            int T = LONG - r->t0 < chunks[i] ? LONG - r->t0 : chunks[i];
            decoder_prefill_chunk(&r->d, r->t0, T);
            decoder_norm(&r->d, T);
        }
        int parts = (LONG + chunks[i] - 1) / chunks[i];
        cr_expect_eq(r->seen, parts * (LAYERS + 2), "%d looks", r->seen);
    }
}

/* --- documents in one sequence ------------------------------------------------------ */

static void reposition(void *user, decoder *d, int layer, const void *x, int T)
{
    (void)x;
    if (layer == -1) decoder_upload(d, d->chunk_position, user, (size_t)T * sizeof(int));
}

Test(layers, packed_documents)
{
    const int n = LONG, base = 0, *ids = expected("packed.input_ids");
    create(LONG, false);
    r->d.watch = reposition;
    r->d.watch_user = (void *)(uintptr_t)expected("packed.segment_pos");
    decoder_prefill(&r->d, &ids, &n, &base);
    decoder_norm(&r->d, LONG);
    decoder_logits(&r->d, 0, LONG);
    cr_assert(cudaStreamSynchronize(r->stream) == cudaSuccess);
    near(r->d.logits, expected("packed.logits"), LONG * VOCAB, 1e-4, "packed documents");
}

/* --- single steps ------------------------------------------------------------------- */

/* The logits of the newest sample, after the soft cap like those of the fixture. */
static void step_logits(const char *prompt, int i)
{
    char name[64];
    snprintf(name, sizeof name, "%s.greedy_logits", prompt);
    const float *want = (const float *)expected(name) + (size_t)i * VOCAB;
    float z[VOCAB], cap = r->d.config.shape.softcap;
    decoder_download(&r->d, z, r->d.logits, sizeof z);
    for (int v = 0; v < VOCAB; v++)
        z[v] = cap * tanhf(z[v] / cap);
    double d = farthest(z, want, VOCAB);
    cr_expect(d <= 1e-4, "%s: logits of token %d off by %g", prompt, i, d);
}

static void steps(const char *prompt, int n, bool graph)
{
    char name[64];
    snprintf(name, sizeof name, "%s.input_ids", prompt);
    const int base = 0, at = n - 1, *ids = expected(name);
    create(LONG, graph);
    decoder_prefill(&r->d, &ids, &n, &base);
    decoder_start(&r->d, NULL);
    decoder_set_positions(&r->d, &at);
    decoder_sample(&r->d);
    step_logits(prompt, 0);
    for (int i = 1; i < GREEDY; i++) {
        decoder_steps(&r->d, 1);
        step_logits(prompt, i);
    }
    int sampled[GREEDY];
    decoder_download(&r->d, sampled, r->d.sampled, sizeof sampled);
    snprintf(name, sizeof name, "%s.greedy", prompt);
    cr_expect_arr_eq(sampled, expected(name), sizeof sampled);
}

/* Of the CPU back end */
extern unsigned long long wbcpu_launch_count(void) __attribute__((weak));

/* Each layer has five: into the temporal block, the block, out of it, gate and up, down.
 * Then the logits, the sample, and what leads to the next step. */
Test(layers, kernels_of_a_step)
{
    const int base = 0, n = SHORT, at = n - 1, *ids = expected("short.input_ids");
    if (!wbcpu_launch_count) cr_skip_test("only the CPU back end counts kernels");
    create(SHORT, true);
    decoder_prefill(&r->d, &ids, &n, &base);
    decoder_start(&r->d, NULL);
    decoder_set_positions(&r->d, &at);
    decoder_sample(&r->d);
    for (int i = 1; i < 4; i++) {
        unsigned long long before = wbcpu_launch_count();
        decoder_steps(&r->d, 1);
        int kernels = (int)(wbcpu_launch_count() - before);
        int want = 5 * r->config.shape.layers + 3;
        cr_expect_eq(kernels, want, "step %d: %d kernels, not %d", i, kernels, want);
    }
}

Test(layers, logits_of_single_steps)
{
    for (int graph = 0; graph < 2; graph++) {
        steps("long", LONG, graph);
        steps("short", SHORT, graph);
    }
}
