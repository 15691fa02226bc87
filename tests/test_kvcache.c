/* test_kvcache.c - what the contract of lab 07 promises beyond the graded cases:
 * statuses, the workspace, a sequence decoded token by token against attention over all
 * of it, and a step that is captured once and replayed as positions grow. sample:
 * test_sample.c.
 */
// links: solutions/lab07_kvcache.o
#include "device.h"

#include <stdlib.h>

#include "kvcache.h"

/* --- statuses ----------------------------------------------------------------------- */

static int *zeros;

static void alloc_zeros(void)
{
    alloc_scratch();
    zeros = (int *)scratch + SCRATCH_BYTES / 8;
}

TestSuite(kvcache_status, .init = alloc_zeros, .fini = free_scratch);

static wb_status append(int B, int T, int S, int K, int D, int ld)
{
    return kv_append_f32(
        scratch, scratch + 8192, scratch + 16384, scratch + 24576, zeros, NULL, B, T, S,
        K, D, ld, NULL);
}

static wb_status unroll(int B, int T, int S, int K, int D, int ld)
{
    return kv_unroll_f32(
        scratch, scratch + 8192, scratch + 16384, scratch + 24576, scratch + 32768,
        scratch + 40960, zeros, B, T, S, K, D, ld, NULL);
}

struct sizes {
    int B, S, H, K, D, N, ldq, ldkv;
};
static const struct sizes small = {2, 8, 4, 2, 16, 8, 64, 32};

static wb_status decode_at(struct sizes z, float *const p[7], size_t space)
{
    return attention_decode_f32(
        p[0], p[1], p[2], p[3], p[4], p[5], NULL, (int *)p[6], z.B, z.S, z.H, z.K, z.D,
        z.N, z.ldq, z.ldkv, 0.25f, scratch + 65536, space, NULL);
}

static wb_status decode(struct sizes z)
{
    float *p[7] = {scratch,         scratch + 4096,  scratch + 8192, scratch + 16384,
                   scratch + 20480, scratch + 24576, (float *)zeros};
    return decode_at(z, p, SCRATCH_BYTES / 4);
}

Test(kvcache_status, tokens)
{
    cr_expect(append(2, 3, 8, 2, 16, 32) == WB_OK);
    cr_expect(unroll(2, 3, 8, 2, 16, 32) == WB_OK);
    static const struct {
        int B, T, S, K, D, ld;
        wb_status status;
    } bad[] = {
        {-1, 3, 8, 2, 16, 32, WB_BAD_SHAPE},  {2, -3, 8, 2, 16, 32, WB_BAD_SHAPE},
        {2, 3, 0, 2, 16, 32, WB_BAD_SHAPE},   {2, 3, 8, 0, 16, 32, WB_BAD_SHAPE},
        {2, 3, 8, 2, 16, 31, WB_BAD_SHAPE},   {2, 3, 8, 2, 8, 32, WB_UNSUPPORTED},
        {2, 3, 8, 2, 20, 40, WB_UNSUPPORTED}, {2, 3, 8, 1, 264, 264, WB_UNSUPPORTED},
        {2, 3, 8, 2, 16, 33, WB_BAD_ALIGN},   {0, 3, 8, 2, 16, 32, WB_OK},
        {2, 0, 8, 2, 16, 32, WB_OK},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cr_expect(
            append(bad[i].B, bad[i].T, bad[i].S, bad[i].K, bad[i].D, bad[i].ld) ==
                bad[i].status,
            "kv_append, row %zu", i);
        cr_expect(
            unroll(bad[i].B, bad[i].T, bad[i].S, bad[i].K, bad[i].D, bad[i].ld) ==
                bad[i].status,
            "kv_unroll, row %zu", i);
    }
}

Test(kvcache_status, pointers_of_tokens)
{
    for (int i = 0; i < 6; i++) {
        float *p[6] = {scratch,         scratch + 4096,  scratch + 8192,
                       scratch + 12288, scratch + 16384, scratch + 20480};
        for (int off = 0; off < 2; off++) {
            p[i] = off ? p[i] + 1 : NULL;
            wb_status status = off ? WB_BAD_ALIGN : WB_BAD_SHAPE;
            if (i < 4)
                cr_expect(
                    kv_append_f32(
                        p[0], p[1], p[2], p[3], NULL, NULL, 2, 3, 8, 2, 16, 32, NULL) ==
                    status);
            cr_expect(
                kv_unroll_f32(
                    p[0], p[1], p[2], p[3], p[4], p[5], zeros, 2, 3, 8, 2, 16, 32,
                    NULL) == status);
            p[i] = scratch + 4096 * i;
        }
    }
    cr_expect(
        kv_unroll_f32(
            scratch, scratch + 4096, scratch + 8192, scratch + 12288, scratch + 16384,
            scratch + 20480, NULL, 2, 3, 8, 2, 16, 32, NULL) == WB_BAD_SHAPE,
        "kv_unroll wants pos");
}

Test(kvcache_status, no_tokens_to_unroll)
{
    static const float nothing[4096]; /* of the first row's S slots */
    static float got[4096];
    cr_expect(unroll(2, 0, 8, 2, 16, 32) == WB_OK);
    back(got, scratch, sizeof got);
    cr_expect_arr_eq(got, nothing, sizeof got, "kall was written");
}

Test(kvcache_status, decode_sizes)
{
    cr_expect(decode(small) == WB_OK);
    static const struct {
        size_t field; /* of struct sizes, in ints */
        int value;
        wb_status status;
    } bad[] = {
        {0, -1, WB_BAD_SHAPE},  {0, 0, WB_OK},           {1, 0, WB_BAD_SHAPE},
        {2, 3, WB_BAD_SHAPE},   {2, 0, WB_BAD_SHAPE},    {3, 0, WB_BAD_SHAPE},
        {4, 8, WB_UNSUPPORTED}, {4, 12, WB_UNSUPPORTED}, {5, 7, WB_BAD_SHAPE},
        {5, -2, WB_BAD_SHAPE},  {5, 18, WB_BAD_SHAPE},   {6, 63, WB_BAD_SHAPE},
        {6, 66, WB_BAD_ALIGN},  {7, 31, WB_BAD_SHAPE},   {7, 33, WB_BAD_ALIGN},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct sizes z = small;
        ((int *)&z)[bad[i].field] = bad[i].value;
        cr_expect(
            decode(z) == bad[i].status, "row %zu: %s", i, wb_status_name(decode(z)));
    }
    struct sizes wide = {1, 8, 1, 1, 264, 8, 264, 264};
    cr_expect(decode(wide) == WB_UNSUPPORTED);
}

Test(kvcache_status, decode_pointers_and_space)
{
    for (int i = 0; i < 7; i++) {
        float *p[7] = {scratch,         scratch + 4096,  scratch + 8192, scratch + 16384,
                       scratch + 20480, scratch + 24576, (float *)zeros};
        float *keep = p[i];
        p[i] = NULL;
        cr_expect(
            decode_at(small, p, SCRATCH_BYTES / 4) == WB_BAD_SHAPE, "pointer %d is NULL",
            i);
        p[i] = keep + 1;
        if (i < 6)
            cr_expect(
                decode_at(small, p, SCRATCH_BYTES / 4) == WB_BAD_ALIGN, "pointer %d", i);
        p[i] = keep;
        size_t space = attention_decode_workspace_f32(2, 8, 4, 2, 16);
        cr_expect(decode_at(small, p, space) == WB_OK);
        cr_expect(decode_at(small, p, space - 1) == WB_NO_SPACE);
    }
}

Test(kvcache_status, an_error_of_the_device_is_reported)
{
    cr_assert(cudaSetDevice(99) != cudaSuccess);
    cr_expect(append(2, 3, 8, 2, 16, 32) == WB_BAD_CUDA);
    cr_expect(unroll(2, 3, 8, 2, 16, 32) == WB_BAD_CUDA);
    cr_expect(decode(small) == WB_BAD_CUDA);
    cudaGetLastError(); /* clears the error */
    cr_expect(decode(small) == WB_OK);
}

Test(kvcache_status, workspace_never_falls)
{
    static const int sizes[] = {1, 2, 3, 5, 8, 16, 63, 64, 65, 200, 256, 257, 1000, 4096};
    int n = sizeof sizes / sizeof *sizes;
    int base[5] = {2, 300, 8, 4, 64};
    for (int which = 0; which < 5; which++) {
        size_t before = 0, before_16 = 0;
        for (int i = 0; i < n; i++) {
            int z[5] = {base[0], base[1], base[2], base[3], base[4]};
            z[which] = which == 2 ? 4 * sizes[i] : sizes[i]; /* H: a multiple of K */
            if (which == 3 && 8 % sizes[i]) break;           /* K divides H */
            size_t here = attention_decode_workspace_f32(z[0], z[1], z[2], z[3], z[4]);
            size_t here_16 =
                attention_decode_workspace_bf16(z[0], z[1], z[2], z[3], z[4]);
            cr_expect(
                here >= before && here_16 >= before_16, "size %d: %d", which, z[which]);
            before = here, before_16 = here_16;
        }
    }
}

/* --- a sequence, token by token ----------------------------------------------------- */

enum { TOKENS = 150, HEADS = 4, GROUPS = 2, CHANNELS = 24, ROTATED = 16 };
enum { WQ = HEADS * CHANNELS, WK = GROUPS * CHANNELS };

/* One sequence: q, k and v before rotation, and the table of rotations */
struct text {
    float q[TOKENS][WQ], k[TOKENS][WK], v[TOKENS][WK], cis[TOKENS][ROTATED / 2][2];
    float rotated_k[TOKENS][WK];
};

static void rotate(float *to, const float *from, const float cis[][2], int heads)
{
    memcpy(to, from, (size_t)heads * CHANNELS * sizeof *to);
    for (int h = 0; h < heads; h++)
        for (int i = 0; i < ROTATED / 2; i++) {
            const float *x = from + h * CHANNELS + i;
            float *y = to + h * CHANNELS + i, c = cis[i][0], s = cis[i][1];
            y[0] = x[0] * c - x[ROTATED / 2] * s;
            y[ROTATED / 2] = x[ROTATED / 2] * c + x[0] * s;
        }
}

static struct text *make_text(void)
{
    struct text *x = malloc(sizeof *x);
    float *all = (float *)x;
    for (size_t i = 0; i < offsetof(struct text, cis) / sizeof *all; i++)
        all[i] = 1.5f * noise();
    for (int t = 0; t < TOKENS; t++) {
        for (int i = 0; i < ROTATED / 2; i++) {
            double a = t * pow(10000, -2.0 * i / ROTATED);
            x->cis[t][i][0] = (float)cos(a), x->cis[t][i][1] = (float)sin(a);
        }
        rotate(x->rotated_k[t], x->k[t], x->cis[t], GROUPS);
    }
    return x;
}

/* Attention of token t over positions max(0, t - S) .. t, in double. */
static void truth_of(double out[WQ], const struct text *x, int t, int S, float scale)
{
    float q[WQ];
    double s[TOKENS], most, sum;
    int first = t > S ? t - S : 0;
    rotate(q, x->q[t], x->cis[t], HEADS);
    for (int h = 0; h < HEADS; h++) {
        int at = h / (HEADS / GROUPS) * CHANNELS;
        most = -1e300, sum = 0;
        for (int j = first; j <= t; j++) {
            s[j] = 0;
            for (int d = 0; d < CHANNELS; d++)
                s[j] += (double)scale * q[h * CHANNELS + d] * x->rotated_k[j][at + d];
            most = fmax(most, s[j]);
        }
        for (int d = 0; d < CHANNELS; d++)
            out[h * CHANNELS + d] = 0;
        for (int j = first; j <= t; j++) {
            double e = exp(s[j] - most);
            sum += e;
            for (int d = 0; d < CHANNELS; d++)
                out[h * CHANNELS + d] += e * x->v[j][at + d];
        }
        for (int d = 0; d < CHANNELS; d++)
            out[h * CHANNELS + d] /= sum;
    }
}

/* The same text twice, the second sequence `ahead` tokens further on. Prompts of `prompt`
 * and prompt + ahead tokens are appended in chunks; then both are decoded one token at a
 * time. */
static void text_case(int S, int prompt, int chunk, int ahead)
{
    enum { B = 2 };
    const float scale = 0.4f;
    struct text *x = make_text();
    size_t ring = (size_t)S * WK * sizeof(float);
    char *kcache = device(NULL, B * ring, 0), *vcache = device(NULL, B * ring, 0);
    float *k = device(x->rotated_k, sizeof x->k, 0), *v = device(x->v, sizeof x->v, 0);
    float *cis = device(x->cis, sizeof x->cis, 0);
    for (int b = 0; b < B; b++)
        for (int t = 0, n = prompt + b * ahead; t < n; t += chunk) {
            int T = n - t < chunk ? n - t : chunk, p[TOKENS];
            for (int i = 0; i < T; i++)
                p[i] = t + i;
            int *pos = device(p, T * sizeof *p, 0);
            cr_assert(
                kv_append_f32(
                    (float *)(kcache + b * ring), (float *)(vcache + b * ring),
                    k + t * WK, v + t * WK, pos, NULL, 1, T, S, GROUPS, CHANNELS, WK,
                    NULL) == WB_OK);
            release(pos, 0);
        }
    size_t space = attention_decode_workspace_f32(B, S, HEADS, GROUPS, CHANNELS);
    float *out = device(NULL, B * WQ * sizeof *out, 0),
          *workspace = device(NULL, space, 0);
    float got[B * WQ], qs[B * WQ], ks[B * WK], vs[B * WK];
    for (int t = prompt; t + ahead < TOKENS; t++) {
        int p[B] = {t, t + ahead};
        for (int b = 0; b < B; b++) {
            memcpy(qs + b * WQ, x->q[p[b]], sizeof x->q[0]);
            memcpy(ks + b * WK, x->k[p[b]], sizeof x->k[0]);
            memcpy(vs + b * WK, x->v[p[b]], sizeof x->v[0]);
        }
        float *q_ = device(qs, sizeof qs, 0), *k_ = device(ks, sizeof ks, 0);
        float *v_ = device(vs, sizeof vs, 0);
        int *pos = device(p, sizeof p, 0);
        cr_assert(
            attention_decode_f32(
                out, (float *)kcache, (float *)vcache, q_, k_, v_, cis, pos, B, S, HEADS,
                GROUPS, CHANNELS, ROTATED, WQ, WK, scale, workspace, space,
                NULL) == WB_OK);
        back(got, out, sizeof got);
        for (int b = 0; b < B; b++) {
            double want[WQ];
            truth_of(want, x, p[b], S, scale);
            close_to(got + b * WQ, want, WQ, 2e-5, "out");
        }
        release(q_, 0), release(k_, 0), release(v_, 0), release(pos, 0);
    }
    release(kcache, 0), release(vcache, 0), release(k, 0), release(v, 0);
    release(cis, 0), release(out, 0), release(workspace, 0), free(x);
}

Test(kvcache_text, token_by_token_is_attention_over_all_of_it)
{
    text_case(TOKENS, 0, 1, 0);
    text_case(37, 0, 1, 3); /* the ring wraps four times */
    text_case(1, 0, 1, 1);
}

Test(kvcache_text, a_prompt_longer_than_the_ring_then_tokens)
{
    text_case(37, 100, 100, 13);
    text_case(37, 38, 38, 5);
    text_case(37, 37, 37, 0);
}

Test(kvcache_text, a_prompt_in_chunks_then_tokens)
{
    text_case(37, 90, 7, 20);
    text_case(37, 111, 37, 2);
    text_case(64, 100, 50, 1);
}

/* --- a very long cache -------------------------------------------------------------- */

/* More parts than the second kernel handles at a time */
Test(kvcache_text, a_cache_of_140000_slots)
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
Test(kvcache_text, many_rows_of_wide_heads)
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

/* --- unrolled ----------------------------------------------------------------------- */

Test(kvcache_unroll, what_was_appended_comes_back_in_order)
{
    enum { S = 13, T = 5, D = 16 };
    for (int start = 0; start < 40; start++) {
        float k[40 + T][D], all[S + T][D];
        int p[40 + T];
        for (int t = 0; t < 40 + T; t++) {
            p[t] = t;
            for (int d = 0; d < D; d++)
                k[t][d] = (float)(100 * t + d + 1);
        }
        float *k_ = device(k, sizeof k, 0), *ring = device(NULL, S * sizeof k[0], 0);
        float *ring_v = device(NULL, S * sizeof k[0], 0);
        float *kall = device(NULL, sizeof all, 0), *vall = device(NULL, sizeof all, 0);
        int *pos = device(p, sizeof p, 0);
        cr_assert(
            kv_append_f32(ring, ring_v, k_, k_, pos, NULL, 1, start, S, 1, D, D, NULL) ==
            WB_OK);
        cr_assert(
            kv_unroll_f32(
                kall, vall, ring, ring_v, k_ + start * D, k_ + start * D, pos + start, 1,
                T, S, 1, D, D, NULL) == WB_OK);
        for (int which = 0; which < 2; which++) {
            back(all, which ? vall : kall, sizeof all);
            for (int r = 0; r < S + T; r++)
                for (int d = 0; d < D; d++) {
                    int t = start - S + r;
                    float want = t < 0 ? 0.0f : k[t][d];
                    cr_assert(all[r][d] == want, "start %d, row %d", start, r);
                }
        }
        release(k_, 0), release(ring, 0), release(ring_v, 0), release(kall, 0);
        release(vall, 0), release(pos, 0);
    }
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
