/* test_kvcache_decode.c - attention_decode of lab 07 where the graded cases cannot go: very
 * large caches, and a step that is captured once and replayed as positions grow.
 */
// links: solutions/lab07_kvcache.o
#include "device.h"

#include <stdlib.h>

#include "kvcache.h"

/* --- large caches ------------------------------------------------------------------- */

/* More parts than the second kernel handles at a time */
Test(kvcache_large, a_cache_of_140000_slots)
{
    enum { S = 140000, H = 2, D = 16 };
    size_t ring = (size_t)S * D * sizeof(float), space;
    float *k = malloc(ring), *v = malloc(ring), qkv[(H + 2) * D], got[H * D];
    double want[H * D] = {0};
    int pos = S + 1234;
    for (size_t i = 0; i < (size_t)S * D; i++)
        k[i] = noise(), v[i] = noise() + (float)(i / D) / S; /* not all parts are alike */
    for (int i = 0; i < (H + 2) * D; i++)
        qkv[i] = 2 * noise();
    for (int h = 0; h < H; h++) {
        double sum = 0;
        for (int j = 0; j <= S; j++) {
            const float *key = j < S ? k + (size_t)j * D : qkv + H * D;
            const float *value = j < S ? v + (size_t)j * D : qkv + (H + 1) * D;
            double s = 0;
            for (int d = 0; d < D; d++)
                s += 0.5 * qkv[h * D + d] * key[d];
            sum += exp(s);
            for (int d = 0; d < D; d++)
                want[h * D + d] += exp(s) * value[d];
        }
        for (int d = 0; d < D; d++)
            want[h * D + d] /= sum;
    }
    float *k_ = device(k, ring, 0), *v_ = device(v, ring, 0);
    float *x_ = device(qkv, sizeof qkv, 0), *out = device(NULL, sizeof got, 0);
    int *pos_ = device(&pos, sizeof pos, 0);
    space = attention_decode_workspace_f32(1, S, H, 1, D);
    void *workspace = device(NULL, space, 0);
    cr_assert(
        attention_decode_f32(
            out, k_, v_, x_, x_ + H * D, x_ + (H + 1) * D, NULL, pos_, 1, S, H, 1, D, 0,
            H * D, D, 0.5f, workspace, space, NULL) == WB_OK);
    back(got, out, sizeof got);
    close_to(got, want, H * D, 2e-5, "out");
    release(k_, 0), release(v_, 0), release(x_, 0), release(out, 0), release(pos_, 0);
    release(workspace, 0), free(k), free(v);
}

/* Enough sequences for parts of the maximum size, and a head dim that is not a multiple
 * of 16. Sequence 0 is compared with double, its copies with sequence 0. */
Test(kvcache_large, many_rows_of_wide_heads)
{
    enum { B = 140, S = 700, H = 3, D = 136 };
    size_t row = (size_t)S * D;
    uint16_t *k = malloc(2 * B * row), *v = malloc(2 * B * row);
    static uint16_t qkv[B][(H + 2) * D], got[B][H * D];
    float first[H * D];
    double want[H * D] = {0};
    int pos[B];
    for (size_t i = 0; i < row; i++)
        k[i] = to_bf16(noise()), v[i] = to_bf16(noise() + (float)(i / D) / S);
    for (int i = 0; i < (H + 2) * D; i++)
        qkv[0][i] = to_bf16(noise());
    for (int b = 0; b < B; b++) {
        pos[b] = S + 99;
        if (!b) continue;
        memcpy(k + b * row, k, 2 * row), memcpy(v + b * row, v, 2 * row);
        memcpy(qkv[b], qkv[0], sizeof *qkv);
    }
    for (int h = 0; h < H; h++) {
        double sum = 0;
        for (int j = 0; j <= S; j++) {
            const uint16_t *key = j < S ? k + (size_t)j * D : qkv[0] + H * D;
            const uint16_t *value = j < S ? v + (size_t)j * D : qkv[0] + (H + 1) * D;
            double s = 0;
            for (int d = 0; d < D; d++)
                s += 0.3 * (double)from_bf16(qkv[0][h * D + d]) * from_bf16(key[d]);
            sum += exp(s);
            for (int d = 0; d < D; d++)
                want[h * D + d] += exp(s) * from_bf16(value[d]);
        }
        for (int d = 0; d < D; d++)
            want[h * D + d] /= sum;
    }
    wb_bf16 *k_ = device(k, 2 * B * row, 0), *v_ = device(v, 2 * B * row, 0);
    wb_bf16 *x_ = device(qkv, sizeof qkv, 0), *out = device(NULL, sizeof got, 0);
    int *pos_ = device(pos, sizeof pos, 0), ld = (H + 2) * D;
    size_t space = attention_decode_workspace_bf16(B, S, H, 1, D);
    void *workspace = device(NULL, space, 0);
    cr_assert(
        attention_decode_bf16(
            out, k_, v_, x_, x_ + H * D, x_ + (H + 1) * D, NULL, pos_, B, S, H, 1, D, 0,
            ld, ld, 0.3f, workspace, space, NULL) == WB_OK);
    back(got, out, sizeof got);
    for (int i = 0; i < H * D; i++)
        first[i] = from_bf16(got[0][i]);
    close_to(first, want, H * D, 0.01, "out");
    for (int b = 1; b < B; b++)
        cr_assert(!memcmp(got[b], got[0], sizeof *got), "row %d", b);
    release(k_, 0), release(v_, 0), release(x_, 0), release(out, 0), release(pos_, 0);
    release(workspace, 0), free(k), free(v);
}

/* --- a captured step ---------------------------------------------------------------- */

/* One step in bf16: its cache lies at `ring`, pos and everything else is shared. */
struct step {
    wb_bf16 *out, *ring, *qkv;
    float *cis, *workspace;
    int *pos;
    size_t space;
};

enum { SB = 3, SS = 70, SH = 6, SK = 2, SD = 32, SW = (SH + 2 * SK) * SD };

static void enqueue(const struct step *s, cudaStream_t stream)
{
    cr_assert(
        attention_decode_bf16(
            s->out, s->ring, s->ring + SB * SS * SK * SD, s->qkv, s->qkv + SH * SD,
            s->qkv + (SH + SK) * SD, s->cis, s->pos, SB, SS, SH, SK, SD, SD, SW, SW, 0.3f,
            s->workspace, s->space, stream) == WB_OK);
}

Test(kvcache_graph, a_captured_step_stays_right_as_positions_grow)
{
    enum { STEPS = 160 };
    static float cis[STEPS + 50][SD / 2][2];
    static uint16_t qkv[SB * SW], eager[SB * SH * SD], replayed[SB * SH * SD];
    for (int t = 0; t < STEPS + 50; t++)
        for (int i = 0; i < SD / 2; i++)
            cis[t][i][0] = cosf(t * 0.1f * i), cis[t][i][1] = sinf(t * 0.1f * i);
    size_t ring = 2 * SB * SS * SK * SD * sizeof(uint16_t);
    struct step a = {.space = attention_decode_workspace_bf16(SB, SS, SH, SK, SD)}, b;
    a.out = device(NULL, sizeof eager, 0), a.ring = device(NULL, ring, 0);
    a.qkv = device(NULL, sizeof qkv, 0), a.cis = device(cis, sizeof cis, 0);
    a.workspace = device(NULL, a.space, 0), a.pos = device(NULL, SB * sizeof(int), 0);
    b = a, b.ring = device(NULL, ring, 0);
    cr_assert(cudaMemset(a.ring, 0, ring) == cudaSuccess); /* two sequences start late */
    cr_assert(cudaMemset(b.ring, 0, ring) == cudaSuccess);

    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cr_assert(cudaStreamCreate(&stream) == cudaSuccess);
    cr_assert(
        cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    enqueue(&b, stream);
    cr_assert(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
    cr_assert(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
    for (int t = 0; t < STEPS; t++) {
        int pos[SB] = {t, t + 40, t / 2};
        for (int i = 0; i < SB * SW; i++)
            qkv[i] = to_bf16(noise());
        cr_assert(
            cudaMemcpy(a.pos, pos, sizeof pos, cudaMemcpyHostToDevice) == cudaSuccess);
        cr_assert(
            cudaMemcpy(a.qkv, qkv, sizeof qkv, cudaMemcpyHostToDevice) == cudaSuccess);
        enqueue(&a, NULL);
        back(eager, a.out, sizeof eager);
        cr_assert(cudaMemset(a.out, 0, sizeof eager) == cudaSuccess);
        cr_assert(cudaDeviceSynchronize() == cudaSuccess);
        cr_assert(cudaGraphLaunch(exec, stream) == cudaSuccess);
        cr_assert(cudaStreamSynchronize(stream) == cudaSuccess);
        back(replayed, b.out, sizeof replayed);
        cr_assert(!memcmp(eager, replayed, sizeof eager), "out differs at step %d", t);
    }
    uint16_t *x = malloc(ring), *y = malloc(ring);
    back(x, a.ring, ring), back(y, b.ring, ring);
    cr_expect(!memcmp(x, y, ring), "the rings differ");
    cudaGraphExecDestroy(exec), cudaGraphDestroy(graph), cudaStreamDestroy(stream);
    free(x), free(y), release(b.ring, 0);
    release(a.out, 0), release(a.ring, 0), release(a.qkv, 0), release(a.cis, 0);
    release(a.workspace, 0), release(a.pos, 0);
}
