/* step.c - the decode step of RecurrentGemma-2B: each kernel in a CUDA graph that runs it
 * with the weights of every layer, then the whole step as a graph. Each time is compared
 * with the bytes that must be read. Weights are random, bf16, and different in all 26
 * layers. The CPU back end runs a smaller model of the same structure.
 *
 *     make bench-step
 */
#include "../kernels.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

#include "kvcache.h"
#include "ops.h"
#include "rglru.h"

enum { CONV_WIDTH = 4, MAX_LAYERS = 26, MAX_BATCH = 64, MAX_POSITIONS = 4096 };
static const enum bench_type TYPE = BENCH_BF16;
static const float EPS = 1e-6f, OFFSET = 1.0f, SOFTCAP = 30.0f;

static struct sizes {
    int layers, C, H, D, F, V, S;  // the recurrent width is C; one key head
} size;

struct layer {
    int recurrent;
    wb_bf16 *in, *out, *gate_up, *down;
    wb_bf16 *wx, *wa, *conv_state, *keys, *values;
    float *state;
};

static struct model {
    struct layer layer[MAX_LAYERS];
    wb_bf16 *emb, *vector;  // vector: norms, biases, filters, a_param; for all layers
    float *cis;
    double bytes;  // of all weights
} model;

static struct step {
    int B;
    wb_bf16 *x, *proj, *g, *s;
    float *logits;
    int *token, *pos, *done, *count, *text;
    uint64_t *seed;
    void *ws;
    size_t ws_bytes;
    wb_blas *blas;
    cudaStream_t stream;
    float temperature, top_p;
    int top_k;
} now;

static void check(cudaError_t e, const char *what)
{
    if (e == cudaSuccess) return;
    fprintf(stderr, "bench: %s: %s\n", what, cudaGetErrorString(e));
    exit(1);
}

/* --- the calls of a step ------------------------------------------------------------ */

static void linear(
    wb_bf16 *out, const wb_bf16 *x, const wb_bf16 *w, const wb_bf16 *norm,
    const wb_bf16 *res, int I, int O, int act)
{
    WB_CHECK(linear_step_bf16(
        out, x, w, model.vector, norm, res, now.B, I, O, act, EPS, OFFSET, now.blas,
        now.stream));
}
static void in(const struct layer *y)
{
    int O = y->recurrent ? 2 * size.C : (size.H + 2) * size.D;
    linear(now.proj, now.x, y->in, model.vector, NULL, size.C, O, WB_LINEAR);
}
static void recurrence(const struct layer *y)
{
    const wb_bf16 *v = model.vector;
    WB_CHECK(rglru_step_bf16(
        now.g, y->conv_state, y->state, now.proj, now.proj + size.C, v, v, y->wx, v,
        y->wa, v, v, now.pos, now.B, size.H, size.C / size.H, CONV_WIDTH, 2 * size.C,
        now.stream));
}
static void attention(const struct layer *y)
{
    int HD = size.H * size.D, W = HD + 2 * size.D;
    WB_CHECK(attention_decode_bf16(
        now.g, y->keys, y->values, now.proj, now.proj + HD, now.proj + HD + size.D,
        model.cis, now.pos, now.B, size.S, size.H, 1, size.D, size.D / 2, W, W, 0.0625f,
        now.ws, now.ws_bytes, now.stream));
}
static void out(const struct layer *y)
{
    linear(now.x, now.g, y->out, NULL, now.x, size.C, size.C, WB_LINEAR);
}
static void gate_up(const struct layer *y)
{
    linear(now.s, now.x, y->gate_up, model.vector, NULL, size.C, size.F, WB_GEGLU);
}
static void down(const struct layer *y)
{
    linear(now.x, now.s, y->down, NULL, now.x, size.F, size.C, WB_LINEAR);
}
static void head(void)
{
    WB_CHECK(logits_step_bf16(
        now.logits, now.x, model.emb, model.vector, now.B, size.C, size.V, EPS, OFFSET,
        now.blas, now.stream));
}
static void sample_token(void)
{
    WB_CHECK(sample_f32(
        now.token, NULL, now.logits, now.seed, now.pos, now.B, size.V, size.V, SOFTCAP,
        1.0f, now.temperature, now.top_k, now.top_p, now.ws, now.ws_bytes, now.stream));
}
static void advance(void)
{
    WB_CHECK(generate_advance_bf16(
        now.x, model.emb, now.token, now.pos, now.done, now.count, now.text, NULL, now.B,
        0, 0, size.C, 50.5f, now.stream));
}

/* --- graphs of these calls ---------------------------------------------------------- */

static int is_recurrent(const struct layer *y)
{
    return y->recurrent;
}
static int is_attention(const struct layer *y)
{
    return !y->recurrent;
}
static int is_any(const struct layer *y)
{
    (void)y;
    return 1;
}

static void whole_step(void)
{
    for (int l = 0; l < size.layers; l++) {
        const struct layer *y = &model.layer[l];
        in(y);
        if (y->recurrent)
            recurrence(y);
        else
            attention(y);
        out(y), gate_up(y), down(y);
    }
    head(), sample_token(), advance();
}

static wb_status replay(const void *context)
{
    cudaError_t e = cudaGraphLaunch((cudaGraphExec_t)context, NULL);
    return e == cudaSuccess ? WB_OK : WB_BAD_CUDA;
}

static cudaGraphExec_t end_capture(void)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    check(cudaStreamEndCapture(now.stream, &graph), "cudaStreamEndCapture");
    check(cudaGraphInstantiate(&exec, graph, 0), "cudaGraphInstantiate");
    check(cudaGraphDestroy(graph), "cudaGraphDestroy");
    return exec;
}

static void begin_capture(void)
{
    check(
        cudaStreamBeginCapture(now.stream, cudaStreamCaptureModeThreadLocal),
        "cudaStreamBeginCapture");
}

static void report_row(const char *name, double bytes)
{
    cudaGraphExec_t exec = end_capture();
    char shape[32];
    snprintf(shape, sizeof shape, "B%d", now.B);
    bench_row(name, TYPE, shape, bytes, replay, exec);
    check(cudaGraphExecDestroy(exec), "cudaGraphExecDestroy");
}

/* One call for each layer that has it, one after the other. */
static void row_of_layers(
    const char *what, void (*call)(const struct layer *),
    int (*has)(const struct layer *), double bytes)
{
    char name[32];
    int n = 0;
    begin_capture();
    for (int l = 0; l < size.layers; l++)
        if (has(&model.layer[l])) call(&model.layer[l]), n++;
    snprintf(name, sizeof name, "%s x%d", what, n);
    report_row(name, n * bytes);
}

static void row_of(const char *name, void (*call)(void), double bytes)
{
    begin_capture();
    call();
    report_row(name, bytes);
}

static void parts(void)
{
    double C = size.C, D = size.D, e = 2, B = now.B;
    row_of_layers("in, recurrent", in, is_recurrent, e * C * 2 * C);
    row_of_layers(
        "rglru_step", recurrence, is_recurrent,
        e * 2 * C * C / size.H + B * C * (8 + 2 * (CONV_WIDTH + 4)));
    row_of_layers("in, attention", in, is_attention, e * C * (size.H + 2) * D);
    row_of_layers("attention_decode", attention, is_attention, e * B * 2 * size.S * D);
    row_of_layers("out", out, is_any, e * C * C);
    row_of_layers("gate and up", gate_up, is_any, e * C * 2 * size.F);
    row_of_layers("down", down, is_any, e * C * size.F);
    row_of("logits_step", head, e * C * size.V + 4 * B * size.V);
    row_of("sample", sample_token, 4 * B * size.V);
    row_of("generate_advance", advance, B * (4 * 4 + 2 * e * C));
}

/* --- the model ---------------------------------------------------------------------- */

static wb_bf16 *take_weights(wb_bf16 **from, size_t n)
{
    wb_bf16 *p = *from;
    *from += n, model.bytes += 2.0 * (double)n;
    return p;
}

static void make_model(void)
{
    size_t C = size.C, F = size.F, V = size.V, W = (size.H + 2) * size.D, M = C / size.H;
    size_t common = C * C + 3 * C * F;  // weights of a layer of either kind
    size_t recurrent = 2 * C * C + 2 * C * M, attention = C * W;
    int L = size.layers, A = L / 3;
    wb_bf16 *all =
        bench_tensor(TYPE, V * C + L * common + (L - A) * recurrent + A * attention);
    model.emb = take_weights(&all, V * C);
    model.vector = bench_tensor(TYPE, 4 * (size_t)(2 * F + C));
    model.cis = bench_tensor(BENCH_F32, (size_t)MAX_POSITIONS * size.D);
    wb_bf16 *ring = bench_tensor(TYPE, (size_t)A * MAX_BATCH * size.S * size.D * 2);
    wb_bf16 *conv = bench_tensor(TYPE, (size_t)(L - A) * MAX_BATCH * CONV_WIDTH * C);
    float *state = bench_tensor(BENCH_F32, (size_t)(L - A) * MAX_BATCH * C);
    for (int l = 0; l < L; l++) {
        struct layer *y = &model.layer[l];
        y->recurrent = l % 3 != 2;
        y->in = take_weights(&all, y->recurrent ? 2 * C * C : C * W);
        y->out = take_weights(&all, C * C);
        y->gate_up = take_weights(&all, 2 * C * F), y->down = take_weights(&all, C * F);
        if (y->recurrent) {
            y->wx = take_weights(&all, C * M), y->wa = take_weights(&all, C * M);
            y->conv_state = conv, y->state = state;
            conv += MAX_BATCH * CONV_WIDTH * C, state += MAX_BATCH * C;
        } else {
            y->keys = ring, y->values = ring + MAX_BATCH * (size_t)size.S * size.D;
            ring += 2 * MAX_BATCH * (size_t)size.S * size.D;
        }
    }
}

static int *ints(int n, int value)
{
    int *h = malloc((size_t)n * sizeof *h), *d = bench_bytes((size_t)n * sizeof *h);
    for (int i = 0; h && i < n; i++)
        h[i] = value;
    if (!h) exit(1);
    check(cudaMemcpy(d, h, (size_t)n * sizeof *h, cudaMemcpyHostToDevice), "cudaMemcpy");
    free(h);
    return d;
}

static void make_step(void)
{
    now.x = bench_tensor(TYPE, (size_t)MAX_BATCH * size.C);
    now.g = bench_tensor(TYPE, (size_t)MAX_BATCH * size.C);
    now.proj = bench_tensor(TYPE, (size_t)MAX_BATCH * (2 * size.C + 2 * size.D));
    now.s = bench_tensor(TYPE, (size_t)MAX_BATCH * size.F);
    now.logits = bench_tensor(BENCH_F32, (size_t)MAX_BATCH * size.V);
    now.token = ints(MAX_BATCH, 1), now.pos = ints(MAX_BATCH, size.S + 100);
    now.done = ints(MAX_BATCH, 1), now.count = ints(MAX_BATCH, 0),
    now.text = ints(MAX_BATCH, 0);
    now.seed = bench_bytes(MAX_BATCH * sizeof *now.seed);
    check(cudaMemset(now.seed, 1, MAX_BATCH * sizeof *now.seed), "cudaMemset");
    now.ws_bytes = sample_workspace_f32(MAX_BATCH, size.V);
    size_t attention_bytes =
        attention_decode_workspace_bf16(MAX_BATCH, size.S, size.H, 1, size.D);
    if (now.ws_bytes < attention_bytes) now.ws_bytes = attention_bytes;
    now.ws = bench_bytes(now.ws_bytes);
    WB_CHECK(wb_blas_create(&now.blas));
    check(cudaStreamCreate(&now.stream), "cudaStreamCreate");
}

void bench_op(void)
{
    static const struct sizes small = {3, 128, 2, 64, 384, 1000, 64},
                              real = {26, 2560, 10, 256, 7680, 256000, 2048};
    size = bench_on_gpu ? real : small;
    make_model();
    make_step();
    static const int batches[] = {1, 2, 4, 8, 16, 32, 64};
    for (int i = 0; i < (bench_on_gpu ? 7 : 2); i++) {
        now.B = batches[i], now.temperature = 0, now.top_k = 0, now.top_p = 1;
        if (now.B != 4 && now.B != 2 && now.B != 16) parts();
        double kv = (double)(size.layers / 3) * now.B * 4 * size.S * size.D;
        row_of("step, best", whole_step, model.bytes + kv);
        now.temperature = 0.8f, now.top_k = 40, now.top_p = 0.95f;
        row_of("step, top_k 40 top_p .95", whole_step, model.bytes + kv);
        row_of("sample, top_k 40 top_p .95", sample_token, 4.0 * now.B * size.V);
    }
    wb_blas_destroy(now.blas);
    check(cudaStreamDestroy(now.stream), "cudaStreamDestroy");
    bench_free_all();
}
