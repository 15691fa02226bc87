/* test_kvcache.c - what the contract of lab 07 promises beyond the graded cases: a sequence
 * decoded token by token against attention over all of it, and what kv_unroll gives back.
 * test_kvcache_status.c: statuses; test_kvcache_decode.c: large caches, captured steps.
 */
// links: solutions/lab07_kvcache.o
#include "device.h"

#include <stdlib.h>

#include "kvcache.h"

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
