/* kvcache.c - rows of lab 07's benchmark. Bytes: for attention_decode the cache, almost
 * all that it reads; for sample the logits. */
#include "kvcache.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels.h"

struct cache {
    enum bench_type E;
    int B, T, S, H, K, D;
    void *out, *kcache, *vcache, *kall, *vall, *qkv, *workspace;
    int *pos;
    size_t workspace_bytes;
};

static char *part(const struct cache *c, int heads) /* of the packed q, k, v */
{
    return (char *)c->qkv + (size_t)heads * c->D * bench_type_size[c->E];
}

static int width(const struct cache *c)
{
    return (c->H + 2 * c->K) * c->D;
}

static wb_status append(const void *context)
{
    const struct cache *c = context;
    return BENCH_CALL(
        c->E, kv_append, c->kcache, c->vcache, (void *)part(c, c->H),
        (void *)part(c, c->H + c->K), c->pos, NULL, c->B, c->T, c->S, c->K, c->D,
        width(c), NULL);
}

static wb_status unroll(const void *context)
{
    const struct cache *c = context;
    return BENCH_CALL(
        c->E, kv_unroll, c->kall, c->vall, c->kcache, c->vcache, (void *)part(c, c->H),
        (void *)part(c, c->H + c->K), c->pos, c->B, c->T, c->S, c->K, c->D, width(c),
        NULL);
}

static wb_status decode(const void *context)
{
    const struct cache *c = context;
    return BENCH_CALL(
        c->E, attention_decode, c->out, c->kcache, c->vcache, c->qkv,
        (void *)part(c, c->H), (void *)part(c, c->H + c->K), NULL, c->pos, c->B, c->S,
        c->H, c->K, c->D, 0, width(c), width(c), 0.0625f, c->workspace,
        c->workspace_bytes, NULL);
}

/* n ints: first + i % period */
static int *counting(int n, int period, int first)
{
    int *h = malloc((size_t)n * sizeof *h), *d = bench_bytes((size_t)n * sizeof *h);
    for (int i = 0; i < n; i++)
        h[i] = first + i % period;
    if (!h ||
        cudaMemcpy(d, h, (size_t)n * sizeof *h, cudaMemcpyHostToDevice) != cudaSuccess) {
        fprintf(stderr, "bench: cannot copy positions to the device\n");
        exit(1);
    }
    free(h);
    return d;
}

static void copies(enum bench_type E, int B, int T, int S, int K, int D)
{
    struct cache c = {.E = E, .B = B, .T = T, .S = S, .K = K, .D = D};
    size_t ring = (size_t)B * S * K * D, chunk = (size_t)B * T * K * D;
    char shape[64];
    snprintf(shape, sizeof shape, "B%d T%d S%d K%d d%d", B, T, S, K, D);
    c.kcache = bench_tensor(E, ring), c.vcache = bench_tensor(E, ring);
    c.kall = bench_tensor(E, ring + chunk), c.vall = bench_tensor(E, ring + chunk);
    c.qkv = bench_tensor(E, 2 * chunk), c.pos = counting(B * T, T, S + S / 2);
    double e = (double)bench_type_size[E], kept = T < S ? chunk : ring;
    bench_row("kv_append", E, shape, 4 * kept * e, append, &c);
    bench_row("kv_unroll", E, shape, 4 * e * (double)(ring + chunk), unroll, &c);
    bench_free_all();
}

static void steps(enum bench_type E, int B, int S, int H, int K, int D)
{
    struct cache c = {.E = E, .B = B, .T = 1, .S = S, .H = H, .K = K, .D = D};
    size_t ring = (size_t)B * S * K * D;
    char shape[64];
    snprintf(shape, sizeof shape, "B%d H%d K%d S%d d%d", B, H, K, S, D);
    c.kcache = bench_tensor(E, ring), c.vcache = bench_tensor(E, ring);
    c.qkv = bench_tensor(E, (size_t)B * width(&c));
    c.out = bench_tensor(E, (size_t)B * H * D), c.pos = counting(B, 7, 2 * S);
    c.workspace_bytes = BENCH_CALL(E, attention_decode_workspace, B, S, H, K, D);
    c.workspace = bench_bytes(c.workspace_bytes);
    bench_row(
        "attention_decode", E, shape, 2.0 * (double)ring * bench_type_size[E], decode,
        &c);
    bench_free_all();
}

struct sampling {
    int B, V, top_k;
    float temperature, top_p;
    int *token, *pos;
    float *logits;
    uint64_t *seed;
    void *workspace;
    size_t workspace_bytes;
};

static wb_status sample(const void *context)
{
    const struct sampling *d = context;
    return sample_f32(
        d->token, NULL, d->logits, d->seed, d->pos, d->B, d->V, d->V, 30.0f, 1.0f,
        d->temperature, d->top_k, d->top_p, d->workspace, d->workspace_bytes, NULL);
}

static void samples(int B, int V)
{
    static const struct {
        const char *name;
        float temperature, top_p;
        int top_k;
    } how[] = {
        {"sample best", 0, 1, 0},
        {"sample all", 1, 1, 0},
        {"sample top_k 40", 0.1f, 1, 40},
        {"sample top_k 50 top_p 0.9", 0.1f, 0.9f, 50},
        {"sample top_p 0.9", 0.1f, 0.9f, 0},
    };
    struct sampling d = {.B = B, .V = V};
    char shape[32];
    snprintf(shape, sizeof shape, "B%d V%d", B, V);
    d.token = bench_bytes((size_t)B * sizeof *d.token), d.pos = counting(B, 7, 100);
    d.logits = bench_tensor(BENCH_F32, (size_t)B * V);
    d.seed = (uint64_t *)counting(2 * B, 2 * B, 1);
    d.workspace_bytes = sample_workspace_f32(B, V);
    d.workspace = bench_bytes(d.workspace_bytes);
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        d.temperature = how[i].temperature, d.top_p = how[i].top_p,
        d.top_k = how[i].top_k;
        bench_row(how[i].name, BENCH_F32, shape, 4.0 * B * V, sample, &d);
    }
    bench_free_all();
}

void bench_op(void)
{
    if (!bench_on_gpu) {
        steps(BENCH_F32, 1, 256, 4, 4, 32);
        steps(BENCH_F32, 4, 256, 4, 1, 64);
        steps(BENCH_BF16, 1, 256, 4, 1, 64);
        copies(BENCH_F32, 1, 128, 256, 4, 32);
        samples(1, 65), samples(1, 32000);
        if (bench_once) samples(1, 131072); /* blocks that share a row */
        return;
    }
    steps(BENCH_BF16, 64, 2048, 10, 1, 256);
    steps(BENCH_BF16, 32, 8192, 32, 8, 128);
    steps(BENCH_BF16, 32, 2048, 10, 1, 256);
    steps(BENCH_BF16, 1, 2048, 10, 1, 256);
    steps(BENCH_BF16, 16, 4096, 32, 8, 128);
    steps(BENCH_BF16, 16, 1024, 16, 16, 64);
    steps(BENCH_BF16, 1, 256, 6, 6, 64), steps(BENCH_BF16, 1, 128, 6, 1, 64);  // TinyLM
    steps(BENCH_F32, 16, 1024, 16, 16, 64);
    steps(BENCH_F32, 32, 2048, 10, 1, 256);
    copies(BENCH_BF16, 32, 2048, 2048, 1, 256);
    samples(1, 256000), samples(8, 256000), samples(32, 256000), samples(64, 256000);
    samples(1, 65);
}
