/* prefill.c - where the time of a prefill goes: all its kernels at the shape of
 * RecurrentGemma-2B, in their real order, so that the caches are in a realistic state.
 *
 *     make bench-prefill
 *
 * Weights are random, and all layers of a kind share one set. That does not make them
 * faster: the L2 cache has dropped the set before the next layer reads it. The prefill is
 * timed without events first, then with an event before each kernel. The ceilings are
 * measured in the same run (common/ceiling.c).
 */
#include "../kernels.h"
#include "attention.h"
#include "ceiling.h"
#include "cuda_check.h"
#include "kvcache.h"
#include "ops.h"
#include "parts.h"
#include "rglru.h"
#include "rmsnorm.h"
#include "rope.h"
#include "swiglu.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

typedef wb_bf16 bf;

/* --- sizes and memory --------------------------------------------------------------- */

struct shape {
    int layers, C, H, D, F, V, conv_width, window;
};
static const struct shape full = {26, 2560, 10, 256, 7680, 256000, 4, 2048};
static const struct shape tiny = {3, 64, 4, 16, 96, 256, 4, 8};

struct prefill {
    struct shape z;
    int B, T, tokens; /* T: per chunk; tokens: per prompt, a multiple of T */
    bf *x, *u, *xy, *c, *px, *pa, *h, *qkv, *att, *all_k, *all_v, *gu, *s, *end;
    bf *emb, *n, *wgu, *bgu, *wd, *bd, *wo, *bo, *wqkv, *wxy, *bxy, *cw, *cb, *wx, *bx;
    bf *ring_k, *ring_v, *conv;
    float *state, *cis;
    int *prompt, *count, *base, *tok, *pos, *len, *last;
    void *ws;
    size_t ws_bytes;
    wb_blas *blas;
};

static bf *elements(size_t n)
{
    return bench_tensor(BENCH_BF16, n);
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static void make_weights(struct prefill *r)
{
    const struct shape *z = &r->z;
    size_t C = z->C, F = z->F, W = (size_t)(z->H + 2) * z->D;
    r->emb = elements(z->V * C), r->n = elements(C);
    r->wgu = elements(2 * F * C), r->bgu = elements(2 * F);
    r->wd = elements(C * F), r->bd = elements(C), r->wo = elements(C * C);
    r->bo = elements(C), r->wqkv = elements(W * C), r->wxy = elements(2 * C * C);
    r->bxy = elements(2 * C), r->cw = elements(C * z->conv_width), r->cb = elements(C);
    r->wx = elements(C * C / z->H), r->bx = elements(C);
}

static void make_activations(struct prefill *r)
{
    const struct shape *z = &r->z;
    size_t B = r->B, R = B * r->T, C = z->C, W = (size_t)(z->H + 2) * z->D;
    size_t all = B * (z->window + r->T) * z->D, ring = B * z->window * z->D;
    r->x = elements(R * C), r->u = elements(R * C), r->xy = elements(R * 2 * C);
    r->c = elements(R * C), r->px = elements(R * C), r->pa = elements(R * C);
    r->h = elements(R * C), r->qkv = elements(R * W), r->att = elements(R * C);
    r->all_k = elements(all), r->all_v = elements(all);
    r->ring_k = elements(ring), r->ring_v = elements(ring);
    r->gu = elements(R * 2 * z->F), r->s = elements(R * z->F), r->end = elements(B * C);
    r->conv = elements(B * z->conv_width * C), r->state = bench_tensor(BENCH_F32, B * C);
    r->cis = bench_bytes(sizeof(float) * r->tokens * z->D / 2);
    WB_CHECK(rope_table_f32(r->cis, r->tokens, z->D / 2, 10000.0f, NULL));
    r->ws_bytes = larger(
        larger(
            attention_forward_workspace_bf16(r->B, r->T, r->T, z->H, 1, z->D),
            attention_forward_workspace_bf16(
                r->B, r->T, z->window + r->T, z->H, 1, z->D)),
        rglru_forward_workspace_bf16(r->B, r->T, z->C));
    r->ws = bench_bytes(r->ws_bytes);
}

/* n ints on the device: (first + i * step) mod `below` */
static int *ints(size_t n, unsigned first, unsigned step, unsigned below)
{
    int *host = malloc(n * sizeof *host), *p = bench_bytes(n * sizeof *p);
    for (size_t i = 0; i < n; i++)
        host[i] = (int)((first + (unsigned)i * step) % below);
    CUDA_CHECK(cudaMemcpy(p, host, n * sizeof *p, cudaMemcpyHostToDevice));
    free(host);
    return p;
}

static void make_counts(struct prefill *r)
{
    unsigned B = r->B, R = B * r->T, V = r->z.V, n = r->tokens;
    r->prompt = ints((size_t)B * n, 1, 7919, V);
    r->count = ints(B, n, 0, n + 1), r->base = ints(B, 0, 0, 1);
    r->tok = ints(R, 0, 0, 1), r->pos = ints(R, 0, 0, 1);
    r->len = ints(B, 0, 0, 1), r->last = ints(B, 0, 0, 1);
}

/* --- the kernels, as a decoder calls them ------------------------------------------- */

static void gemm(
    const struct prefill *r, const char *name, bf *y, const bf *x, const bf *w,
    const bf *bias, int R, int I, int O)
{
    part(name, 2.0 * R * I * O, 0);
    WB_CHECK(matmul_forward_bf16(y, x, w, bias, NULL, R, I, O, r->blas, NULL));
}

static void recurrent(const struct prefill *r)
{
    const struct shape *z = &r->z;
    int B = r->B, T = r->T, R = B * T, C = z->C, M = C / z->H;
    double tensor = 2.0 * R * C;
    gemm(r, "GEMM xy", r->xy, r->u, r->wxy, r->bxy, R, C, 2 * C);
    part("conv1d_forward", 0, 2 * tensor);
    WB_CHECK(conv1d_forward_bf16(
        r->c, r->conv, r->xy, r->cw, r->cb, r->pos, r->len, B, T, C, z->conv_width, 2 * C,
        NULL));
    part("block_linear_forward", 4.0 * R * C * M, 0);
    WB_CHECK(block_linear_forward_bf16(
        r->px, r->pa, r->c, r->wx, r->bx, r->wx, r->bx, R, z->H, M, NULL));
    part("rglru_forward", 0, 5 * tensor);
    WB_CHECK(rglru_forward_bf16(
        r->h, NULL, r->state, r->c, r->px, r->pa, r->xy + C, r->cb, r->pos, r->len, B, T,
        C, 2 * C, r->ws, r->ws_bytes, NULL));
}

// (query, key) pairs of one head and sequence in the chunk that starts at t0
static double pairs(const struct prefill *r, int t0)
{
    double sum = 0;
    for (int t = t0; t < t0 + r->T; t++)
        sum += (t < r->z.window ? t : r->z.window) + 1.0;
    return sum;
}

static void attention(const struct prefill *r, int t0)
{
    const struct shape *z = &r->z;
    int B = r->B, T = r->T, H = z->H, D = z->D, S = z->window, W = (H + 2) * D;
    bf *q = r->qkv, *k = q + H * D, *v = k + D;
    double flops = 4.0 * pairs(r, t0) * B * H * D, row = 2.0 * B * D;
    float scale = 0.0625f;
    gemm(r, "GEMM qkv", q, r->u, r->wqkv, NULL, B * T, z->C, W);
    part("rope_forward", 0, row * T * (H + 1));
    WB_CHECK(rope_forward_bf16(q, q, r->cis, r->pos, B, T, H + 1, D, D / 2, W, NULL));
    if (t0 > 0) {
        part("kv_unroll", 0, 4 * row * (S + T));
        WB_CHECK(kv_unroll_bf16(
            r->all_k, r->all_v, r->ring_k, r->ring_v, k, v, r->pos, B, T, S, 1, D, W,
            NULL));
        part("attention_forward", flops, 0);
        WB_CHECK(attention_forward_bf16(
            r->att, NULL, q, r->all_k, r->all_v, r->pos, B, T, S + T, H, 1, D, W, D, S,
            scale, r->ws, r->ws_bytes, NULL));
    } else {
        part("attention_forward", flops, 0);
        WB_CHECK(attention_forward_bf16(
            r->att, NULL, q, k, v, r->pos, B, T, T, H, 1, D, W, W, S, scale, r->ws,
            r->ws_bytes, NULL));
    }
    part("kv_append", 0, 4 * row * (T < S ? T : S));
    WB_CHECK(kv_append_bf16(
        r->ring_k, r->ring_v, k, v, r->pos, r->len, B, T, S, 1, D, W, NULL));
}

/* Writes the next GEMM's input to u. If `branch` is set, u holds a branch, which is first
 * added to the residual stream x. */
static void norm(const struct prefill *r, int R, int branch)
{
    const struct shape *z = &r->z;
    part(branch ? "rmsnorm_residual" : "rmsnorm", 0, (branch ? 8.0 : 4.0) * R * z->C);
    if (branch)
        WB_CHECK(rmsnorm_residual_forward_bf16(
            r->u, r->x, NULL, r->u, r->x, r->n, R, z->C, 1e-6f, 1.0f, NULL));
    else
        WB_CHECK(
            rmsnorm_forward_bf16(r->u, NULL, r->x, r->n, R, z->C, 1e-6f, 1.0f, NULL));
}

static void prefill_chunk(const struct prefill *r, int t0)
{
    const struct shape *z = &r->z;
    int B = r->B, T = r->T, R = B * T, C = z->C, F = z->F;
    part("prompt_chunk", 0, 8.0 * R);
    WB_CHECK(prompt_chunk(
        r->tok, r->pos, r->len, r->last, NULL, r->prompt, r->count, r->base, B, T,
        r->tokens, z->V, t0, NULL));
    part("embedding_forward", 0, 4.0 * R * C);
    WB_CHECK(embedding_forward_bf16(r->x, r->emb, r->tok, R, C, z->V, 50.5f, NULL));
    for (int l = 0; l < z->layers; l++) {
        norm(r, R, l > 0);
        if (l % 3 == 2)
            attention(r, t0);
        else
            recurrent(r);
        const bf *branch = l % 3 == 2 ? r->att : r->h;
        if (l == z->layers - 1) {  // from here on only the last tokens are needed
            part("gather_rows", 0, 4.0 * B * C);
            WB_CHECK(gather_rows_bf16(r->end, r->x, r->last, B, C, NULL));
            part("gather_rows", 0, 4.0 * B * C);
            WB_CHECK(gather_rows_bf16(r->end, branch, r->last, B, C, NULL));
            return;
        }
        gemm(r, "GEMM o", r->u, branch, r->wo, r->bo, R, C, C);
        norm(r, R, 1);
        gemm(r, "GEMM gate, up", r->gu, r->u, r->wgu, r->bgu, R, C, 2 * F);
        part("geglu_forward", 0, 6.0 * R * F);
        WB_CHECK(geglu_forward_bf16(r->s, r->gu, r->gu + F, R, F, 2 * F, NULL));
        gemm(r, "GEMM down", r->u, r->s, r->wd, r->bd, R, F, C);
    }
}

static void prefill(const struct prefill *r)
{
    for (int t0 = 0; t0 < r->tokens; t0 += r->T)
        prefill_chunk(r, t0);
}

/* --- report ------------------------------------------------------------------------- */

enum { RUNS = 5 };

// Median of RUNS runs in ms, after one warm-up run.
static double median_ms(const struct prefill *r)
{
    double ms[RUNS];
    cudaEvent_t start, stop;
    CUDA_CHECK(cudaEventCreate(&start)), CUDA_CHECK(cudaEventCreate(&stop));
    for (int i = -1; i < RUNS; i++) {
        float one = 0;
        CUDA_CHECK(cudaEventRecord(start, NULL));
        prefill(r);
        CUDA_CHECK(cudaEventRecord(stop, NULL));
        CUDA_CHECK(cudaEventSynchronize(stop));
        CUDA_CHECK(cudaEventElapsedTime(&one, start, stop));
        if (i >= 0) ms[i] = one;
    }
    CUDA_CHECK(cudaEventDestroy(start)), CUDA_CHECK(cudaEventDestroy(stop));
    return median_of(ms, RUNS);
}

static void report(struct shape z, int B, int tokens, int T, int details)
{
    struct prefill r = {.z = z, .B = B, .T = T, .tokens = tokens};
    make_weights(&r), make_activations(&r), make_counts(&r);
    WB_CHECK(wb_blas_create(&r.blas));
    double ms = median_ms(&r);
    printf(
        "%d x %d tokens in chunks of %d: %.2f ms, %.0f tokens/s\n", B, tokens, T, ms,
        B * tokens / ms * 1e3);
    if (details) parts_begin();
    for (int i = 0; details && i < RUNS; i++)
        prefill(&r), parts_add();
    if (details) parts_print(RUNS);
    fflush(stdout);
    wb_blas_destroy(r.blas);
    bench_free_all();
}

void bench_op(void)
{
    parts_ceilings();
    if (!bench_on_gpu) {
        report(tiny, 2, 32, 32, 1), report(tiny, 2, 32, 16, 1);
        return;
    }
    report(full, 2, 4096, 4096, 1);
    report(full, 2, 4096, 2048, 1);
    report(full, 2, 4096, 1024, 0);
    report(full, 1, 4096, 4096, 0);
    report(full, 1, 4096, 2048, 0);
    report(full, 1, 4096, 1024, 0);
}
