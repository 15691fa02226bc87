/* decoder.c - a decoder's passes by themselves, at the shape of RecurrentGemma 2B in bf16:
 * no model folder, weights from a fixed seed.
 *
 *     build/cuda/bench/decoder/decoder [step ROWS CONTEXT | read ROWS TOKENS CHUNK]...
 *
 * With NO_GRAPH=1 in the environment everything runs once, launch by launch, as a profiler
 * wants it.
 *
 * step: ms of a step of the graph, median of runs of 50, behind CONTEXT tokens read; and the
 * bytes of weights, states and keys that it must read at least. read: ms of a prompt of
 * TOKENS in each row, and FLOPs of its products.
 */
#include "decoder.h"
#include "file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS = 7, STEPS = 50, SEED = 20240607 };

static const decoder_config shape = {
    .dtype = WB_BF16,
    .layers = 26,
    .C = 2560,
    .H = 10,
    .K = 1,
    .D = 256,
    .F = 7680,
    .V = 256000,
    .table = 256000,
    .N = 128,
    .window = 2048,
    .Cr = 2560,
    .taps = 4,
    .act = WB_GEGLU,
    .eps = 1e-6f,
    .offset = 1,
    .scale = 0.0625f,
    .emb_scale = 50.5f,
    .softcap = 30,
    .rope_base = 10000};

static size_t weight_bytes;
static char *pool; /* weights are handed out of it */

// `n` elements; NULL while they are only counted.
static const void *give(size_t n)
{
    void *p = pool ? pool + weight_bytes : NULL;
    weight_bytes += (2 * n + 255) / 256 * 256;
    return p;
}

static decoder_layer make_layer(int l)
{
    size_t C = 2560, F = 7680, Cr = 2560, D = 256, H = 10, M = Cr / H;
    decoder_layer y = {.recurrent = l % 3 != 2};
    y.n1 = give(C), y.n2 = give(C);
    y.wgu = give(2 * F * C), y.bgu = give(2 * F);
    y.wd = give(C * F), y.bd = give(C);
    y.wo = give(C * C), y.bo = give(C);
    if (!y.recurrent) {
        y.wqkv = give((H + 2) * D * C);
        return y;
    }
    y.wxy = give(2 * Cr * C), y.bxy = give(2 * Cr);
    y.cw = give(4 * Cr), y.cb = give(Cr);
    y.wx = give(H * M * M), y.bx = give(Cr), y.wa = give(H * M * M), y.ba = give(Cr);
    y.ap = give(Cr);
    return y;
}

static decoder_weights make_weights(decoder_layer *layer)
{
    weight_bytes = 0;
    decoder_weights w = {.layer = layer};
    w.emb = w.head = give((size_t)shape.V * shape.C);
    w.nf = give((size_t)shape.C);
    for (int l = 0; l < shape.layers; l++)
        layer[l] = make_layer(l);
    return w;
}

// Numbers of about 0.02 everywhere: 16 MB of them, again and again.
static void fill(void)
{
    enum { PIECE = 16 << 20 };
    uint16_t *h = malloc(PIECE);
    if (!h) exit(1);
    for (uint32_t i = 0; i < PIECE / 8; i++) {
        uint32_t r[4];
        wb_random(r, SEED, i, 0, 0, 0);
        for (int k = 0; k < 4; k++) {
            float x = 0.04f * ((float)r[k] * 0x1p-31f - 1);
            uint32_t bits;
            memcpy(&bits, &x, 4);
            h[4 * i + k] = (uint16_t)(bits >> 16);
        }
    }
    for (size_t at = 0; at < weight_bytes; at += PIECE) {
        size_t left = weight_bytes - at;
        CUDA_CHECK(cudaMemcpy(
            pool + at, h, left < PIECE ? left : PIECE, cudaMemcpyHostToDevice));
    }
    free(h);
}

static double by_size(double *ms, int n)  // the median
{
    for (int i = 1; i < n; i++)
        for (int j = i; j > 0 && ms[j] < ms[j - 1]; j--) {
            double t = ms[j];
            ms[j] = ms[j - 1], ms[j - 1] = t;
        }
    return ms[n / 2];
}

typedef struct bench {
    decoder d;
    decoder_weights w;
    wb_blas *blas;
    cudaStream_t stream;
    cudaEvent_t from, to;
} bench;

static void open_decoder(bench *z, int B, int T, int positions)
{
    wb_error err;
    decoder_settings set = {
        .B = B,
        .T = T,
        .P = positions,
        .positions = positions,
        .drawn = RUNS * STEPS + 10,
        .continues = T < positions,
        .by_position = true,
        .graph = getenv("NO_GRAPH") == NULL,
        .top_p = 1,
        .penalty = 1};
    if (decoder_create(&z->d, &shape, &z->w, &set, z->blas, z->stream, &err)) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
}

static void read_rows(bench *z, const int *tokens, int n)
{
    int B = z->d.B, *count = calloc((size_t)B, sizeof(int));
    int *zero = calloc((size_t)B, sizeof(int));
    const int **rows = calloc((size_t)B, sizeof *rows);
    if (!count || !zero || !rows) exit(1);
    for (int b = 0; b < B; b++)
        rows[b] = tokens + b, count[b] = n;
    decoder_read(&z->d, rows, count, zero);
    decoder_start(&z->d, NULL);
    for (int b = 0; b < B; b++)
        count[b] = n - 1;
    decoder_place(&z->d, count);
    decoder_choose(&z->d);
    free(count), free(zero), free(rows);
}

static double between(bench *z)
{
    float ms;
    CUDA_CHECK(cudaEventRecord(z->to, z->stream));
    CUDA_CHECK(cudaEventSynchronize(z->to));
    CUDA_CHECK(cudaEventElapsedTime(&ms, z->from, z->to));
    return (double)ms;
}

static void time_steps(bench *z, const int *tokens, int B, int context)
{
    double ms[RUNS], keys = context < 2048 ? context : 2048;
    int runs = RUNS, steps = STEPS;
    open_decoder(z, B, context < 512 ? context : 512, context + RUNS * STEPS + 10);
    read_rows(z, tokens, context);
    if (!z->d.set.graph) runs = steps = 1;  // for a profiler
    for (int i = 0; i < 5 && z->d.set.graph; i++)
        decoder_step(&z->d);
    for (int i = 0; i < runs; i++) {
        CUDA_CHECK(cudaEventRecord(z->from, z->stream));
        for (int k = 0; k < steps; k++)
            decoder_step(&z->d);
        ms[i] = between(z) / steps;
    }
    double bytes = (double)weight_bytes + B * (keys * 8 * 2 * 512 + 18 * 2560 * (8 + 10));
    printf(
        "step, %2d rows behind %d tokens: %.3f ms; %.2f GB to read: %.0f GB/s\n", B,
        context, by_size(ms, runs), bytes * 1e-9, bytes * 1e-6 / by_size(ms, runs));
    decoder_destroy(&z->d);
}

static void time_reading(bench *z, const int *tokens, int B, int T, int chunk)
{
    double ms[RUNS];
    open_decoder(z, B, chunk, T + 2);
    if (z->d.set.graph) read_rows(z, tokens, T);
    int runs = z->d.set.graph ? 5 : 1;  // without a graph: for a profiler
    for (int i = 0; i < runs; i++) {
        CUDA_CHECK(cudaEventRecord(z->from, z->stream));
        read_rows(z, tokens, T);
        ms[i] = between(z);
    }
    double flops = 2.0 * ((double)weight_bytes / 2 - 256000.0 * 2560) * B * T;
    printf(
        "read, %d rows of %d in chunks of %d: %.2f ms, first token too; products "
        "%.0f TFLOP/s\n",
        B, T, chunk, by_size(ms, runs), flops * 1e-9 / by_size(ms, runs));
    decoder_destroy(&z->d);
}

int main(int argc, char **argv)
{
    static decoder_layer layer[26];
    bench z;
    int *tokens = malloc(70000 * sizeof *tokens);
    make_weights(layer);
    CUDA_CHECK(cudaMalloc((void **)&pool, weight_bytes));
    z.w = make_weights(layer);
    fill();
    for (int i = 0; i < 70000; i++)
        tokens[i] = (int)((unsigned)i * 2654435761u % 256000u);
    CUDA_CHECK(cudaStreamCreateWithFlags(&z.stream, cudaStreamNonBlocking));
    CUDA_CHECK(cudaEventCreate(&z.from));
    CUDA_CHECK(cudaEventCreate(&z.to));
    WB_CHECK(wb_blas_create(&z.blas));
    for (int i = 1; i < argc;) {
        if (strcmp(argv[i], "step") == 0 && i + 2 < argc) {
            time_steps(&z, tokens, atoi(argv[i + 1]), atoi(argv[i + 2]));
            i += 3;
        } else if (strcmp(argv[i], "read") == 0 && i + 3 < argc) {
            time_reading(
                &z, tokens, atoi(argv[i + 1]), atoi(argv[i + 2]), atoi(argv[i + 3]));
            i += 4;
        } else {
            fprintf(stderr, "usage: [step ROWS CONTEXT | read ROWS TOKENS CHUNK]...\n");
            return 1;
        }
    }
    return 0;
}
