/* test_sample.c - what the contract of lab 07 promises of sample beyond the graded cases:
 * statuses, frequencies, and rows of every length and shape against a sort in double.
 */
// links: solutions/lab07_kvcache.o
#include "device.h"

#include <stdio.h>
#include <stdlib.h>

#include "kvcache.h"

/* --- one call ----------------------------------------------------------------------- */

struct settings {
    float softcap, penalty, temperature, top_p;
    int top_k;
};

/* Tokens of B sequences with the same seed and positions 0, 1, ... */
static void
sample(int *token, const float *logits, uint64_t seed, int B, int V, struct settings how)
{
    uint64_t *seeds = malloc((size_t)B * sizeof *seeds);
    int *pos = malloc((size_t)B * sizeof *pos);
    for (int b = 0; b < B; b++)
        seeds[b] = seed, pos[b] = b;
    size_t space = sample_workspace_f32(B, V);
    int *token_ = device(NULL, (size_t)B * sizeof *token, 0);
    float *logits_ = device(logits, (size_t)B * V * sizeof *logits, 0);
    uint64_t *seeds_ = device(seeds, (size_t)B * sizeof *seeds, 0);
    int *pos_ = device(pos, (size_t)B * sizeof *pos, 0);
    void *workspace = device(NULL, space, 0);
    cr_assert(
        sample_f32(
            token_, NULL, logits_, seeds_, pos_, B, V, V, how.softcap, how.penalty,
            how.temperature, how.top_k, how.top_p, workspace, space, NULL) == WB_OK);
    back(token, token_, (size_t)B * sizeof *token);
    release(token_, 0), release(logits_, 0), release(seeds_, 0), release(pos_, 0);
    release(workspace, 0), free(seeds), free(pos);
}

/* --- statuses ----------------------------------------------------------------------- */

static wb_status status(int B, int V, int ld, struct settings how, int null, size_t less)
{
    char *some = device(NULL, 1 << 20, 0);
    cr_assert(cudaMemset(some, 0, 1 << 20) == cudaSuccess);
    char *p[4];
    for (int i = 0; i < 4; i++)
        p[i] = i == null ? NULL : some + (i << 17);
    size_t space = sample_workspace_f32(B, V);
    wb_status s = sample_f32(
        (int *)p[0], NULL, (float *)p[1], (uint64_t *)p[2], (int *)p[3], B, V, ld,
        how.softcap, how.penalty, how.temperature, how.top_k, how.top_p, some + (1 << 19),
        space - less, NULL);
    release(some, 0);
    return s;
}

Test(sample_status, sizes_and_settings)
{
    const struct settings plain = {0, 1, 1, 1, 0};
    cr_expect(status(2, 9, 9, plain, -1, 0) == WB_OK);
    cr_expect(status(0, 9, 9, plain, 0, 0) == WB_OK, "no rows: nothing is done");
    cr_expect(status(-1, 9, 9, plain, -1, 0) == WB_BAD_SHAPE);
    cr_expect(status(2, 0, 9, plain, -1, 0) == WB_BAD_SHAPE);
    cr_expect(status(2, 9, 8, plain, -1, 0) == WB_BAD_SHAPE);
    static const struct settings bad[] = {
        {-1, 1, 1, 1, 0},  {NAN, 1, 1, 1, 0}, {0, 0, 1, 1, 0}, {0, -1, 1, 1, 0},
        {0, 1, -1, 1, 0},  {0, 1, NAN, 1, 0}, {0, 1, 1, 0, 0}, {0, 1, 1, 1.1f, 0},
        {0, 1, 1, NAN, 0}, {0, 1, 1, 1, -1},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_expect(status(2, 9, 9, bad[i], -1, 0) == WB_BAD_SHAPE, "settings %zu", i);
}

Test(sample_status, pointers_and_space)
{
    const struct settings plain = {0, 1, 1, 1, 0};
    for (int i = 0; i < 4; i++)
        cr_expect(status(2, 9, 9, plain, i, 0) == WB_BAD_SHAPE, "pointer %d", i);
    if (sample_workspace_f32(1, 30000) > 0)
        cr_expect(status(1, 30000, 30000, plain, -1, 1) == WB_NO_SPACE);
    size_t before = 0;
    for (int V = 1; V < 1 << 20; V = V * 3 / 2 + 1) {
        size_t here = sample_workspace_f32(3, V);
        cr_expect(here >= before && here >= sample_workspace_f32(2, V), "V %d", V);
        before = here;
    }
}

/* --- frequencies -------------------------------------------------------------------- */

/* 20,000 samples of seed 42 against the softmax of the kept entries, within 4 sigma */
static void frequencies(struct settings how)
{
    enum { V = 7, SAMPLES = 20000 };
    static const float logits[V] = {0.3f, -1.0f, 2.0f, 1.9f, 0.0f, 1.9f, -3.0f};
    static const int order[V] = {2, 3, 5, 0, 4, 1, 6};
    float *all = malloc(sizeof logits * SAMPLES);
    int *token = malloc(sizeof(int) * SAMPLES), count[V] = {0};
    for (int i = 0; i < SAMPLES; i++)
        memcpy(all + i * V, logits, sizeof logits);
    sample(token, all, 42, SAMPLES, V, how);
    for (int i = 0; i < SAMPLES; i++) {
        cr_assert(token[i] >= 0 && token[i] < V);
        count[token[i]]++;
    }
    int kept = how.top_k ? how.top_k : V;
    double sum = 0, upto = 0, p[V] = {0};
    for (int i = 0; i < kept; i++)
        sum += p[order[i]] = exp(logits[order[i]] / how.temperature);
    for (int i = 0; i < kept; i++) {
        if (upto >= how.top_p * sum) p[order[i]] = 0;
        upto += p[order[i]];
    }
    for (int i = 0; i < V; i++) {
        double want = SAMPLES * p[i] / upto, sigma = sqrt(want * (1 - p[i] / upto));
        cr_expect(
            fabs(count[i] - want) <= 4 * sigma + 1e-6,
            "seed 42, temperature %g, top_k %d, top_p %g: token %d sampled %d times, not "
            "%.0f",
            (double)how.temperature, how.top_k, (double)how.top_p, i, count[i], want);
    }
    free(all), free(token);
}

Test(sample_frequencies, are_those_of_the_softmax_of_the_kept)
{
    frequencies((struct settings){0, 1, 1.0f, 1.0f, 0});
    frequencies((struct settings){0, 1, 0.7f, 1.0f, 3});
    frequencies((struct settings){0, 1, 1.3f, 0.8f, 0});
    frequencies((struct settings){0, 1, 1.0f, 0.5f, 2});
}

/* --- long rows ---------------------------------------------------------------------- */

struct entry {
    float z;
    int index;
};

static int larger_first(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    return x->z > y->z ? -1 : x->z < y->z ? 1 : x->index - y->index;
}

static double gumbel(uint64_t seed, int i, int pos)
{
    uint32_t r[4];
    wb_random(r, seed, (uint32_t)i / 4, (uint32_t)pos, 0, 0);
    return -log(-log1p(-(r[i % 4] + 0.5) * 0x1p-32));
}

/* Is `token` what the header asks for, within the precision of float? It must be kept if
 * top_p is slightly larger, and beat all that are kept if top_p is slightly smaller. */
static void judge_row(
    int token, const float *logits, uint64_t seed, int pos, int V, struct settings how)
{
    struct entry *e = malloc((size_t)V * sizeof *e);
    for (int i = 0; i < V; i++)
        e[i] = (struct entry){logits[i] / how.temperature, i};
    qsort(e, (size_t)V, sizeof *e, larger_first);
    int kept = how.top_k && how.top_k < V ? how.top_k : V;
    double sum = 0, upto = 0, best = -1e300, own = -1e300;
    for (int i = 0; i < kept; i++)
        sum += exp((double)e[i].z - e[0].z);
    for (int i = 0; i < kept; i++) {
        double noisy = e[i].z + gumbel(seed, e[i].index, pos);
        bool maybe = how.top_p == 1 || upto < (how.top_p + 1e-5) * sum;
        bool sure = how.top_p == 1 || upto < (how.top_p - 1e-5) * sum;
        if (e[i].index == token && maybe) own = noisy;
        if (sure) best = fmax(best, noisy);
        upto += exp((double)e[i].z - e[0].z);
    }
    cr_expect(
        own >= best - 1e-4, "V %d, temperature %g, top_k %d, top_p %g, pos %d: token %d",
        V, (double)how.temperature, how.top_k, (double)how.top_p, pos, token);
    free(e);
}

/* sd: of the logits; grid: logits are its multiples, 0: no grid */
static void long_case(int V, double sd, double grid, struct settings how)
{
    enum { B = 3 };
    float *logits = malloc((size_t)B * V * sizeof *logits);
    int token[B], again[B];
    for (int i = 0; i < B * V; i++) {
        double u = noise() + noise() + noise(); /* nearly normal */
        logits[i] = (float)(grid > 0 ? rint(sd * u / grid) * grid : sd * u);
    }
    sample(token, logits, 0x5eed, B, V, how);
    sample(again, logits, 0x5eed, B, V, how);
    cr_expect(!memcmp(token, again, sizeof token), "two runs differ");
    for (int b = 0; b < B; b++)
        judge_row(token[b], logits + (size_t)b * V, 0x5eed, b, V, how);
    free(logits);
}

Test(sample_long, every_length)
{
    static const int sizes[] = {1,    2,    31,   33,    511,   513,   2048,
                                8191, 8192, 8193, 10239, 10241, 32000, 65537};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        long_case(sizes[i], 2, 0, (struct settings){0, 1, 1.0f, 1.0f, 0});
        long_case(sizes[i], 2, 0, (struct settings){0, 1, 0.8f, 0.9f, 0});
        long_case(sizes[i], 2, 0, (struct settings){0, 1, 1.1f, 1.0f, 50});
        long_case(sizes[i], 2, 0, (struct settings){0, 1, 0.9f, 0.95f, 40});
    }
}

Test(sample_long, rows_that_are_nearly_flat)
{
    for (int V = 7000; V <= 30000; V += 23000) {
        long_case(V, 1e-3, 0, (struct settings){0, 1, 1.0f, 0.5f, 0});
        long_case(V, 1e-3, 0, (struct settings){0, 1, 1.0f, 1.0f, V / 2});
        long_case(V, 1e-3, 0, (struct settings){0, 1, 1.0f, 0.7f, V - 1});
        long_case(
            V, 0, 0, (struct settings){0, 1, 1.0f, 0.3f, V / 3}); /* all are equal */
    }
}

Test(sample_long, rows_of_equal_values_and_of_far_ones)
{
    for (int V = 5000; V <= 20000; V += 15000) {
        long_case(V, 2, 0.5, (struct settings){0, 1, 1.0f, 0.8f, 0});
        long_case(V, 2, 0.5, (struct settings){0, 1, 1.0f, 1.0f, 100});
        long_case(V, 2, 0.5, (struct settings){0, 1, 1.0f, 0.6f, 300});
        long_case(V, 300, 0, (struct settings){0, 1, 1.0f, 0.999f, 0});
        long_case(V, 300, 0, (struct settings){0, 1, 0.01f, 1.0f, 1000});
        long_case(V, 300, 0, (struct settings){0, 1, 1.0f, 0.9f, V - 5});
        long_case(V, 12, 0, (struct settings){0, 1, 1.0f, 0.9f, V - 5});
        long_case(V, 12, 0, (struct settings){0, 1, 2.0f, 0.99f, V / 2});
        long_case(V, 3, 0, (struct settings){0, 1, 1.0f, 1.0f, 1});
        long_case(V, 3, 0, (struct settings){0, 1, 1.0f, 1e-6f, 0});
    }
}

/* A token depends only on its own sequence: logits, seed, position. This holds for large
 * batches too, whose rows are split in another way. */
Test(sample_long, rows_do_not_depend_on_their_neighbours)
{
    enum { B = 450, V = 9000, ALONE = 3 };
    const struct settings how = {0, 1, 1.2f, 0.9f, 500};
    float *logits = malloc((size_t)B * V * sizeof *logits);
    int together[B], alone[ALONE];
    for (int i = 0; i < V; i++)
        logits[i] = 2 * noise();
    for (int b = 1; b < B; b++)
        memcpy(logits + (size_t)b * V, logits, V * sizeof *logits);
    sample(together, logits, 7, B, V, how);
    for (int n = 1; n <= ALONE; n++) {
        sample(alone, logits, 7, n, V, how);
        cr_expect(!memcmp(alone, together, n * sizeof *alone), "%d rows of %d", n, B);
    }
    free(logits);
}

/* --- values that are not finite ----------------------------------------------------- */

/* Samples from a row of 0.5 that has `value` at the entries first, first + step, ... */
static int sample_with(float value, int V, int first, int step, struct settings how)
{
    float *logits = malloc((size_t)V * sizeof *logits);
    int token;
    for (int i = 0; i < V; i++)
        logits[i] = i >= first && (i - first) % step == 0 ? value : 0.5f;
    sample(&token, logits, 11, 1, V, how);
    free(logits);
    return token;
}

Test(sample_not_finite, the_token_is_always_an_index)
{
    static const int sizes[] = {65, 5000, 30000};
    static const struct settings ways[] = {
        {0, 1, 1, 1, 50},
        {0, 1, 1, 0.9f, 0},
        {0, 1, 1, 0.9f, 50},
        {0, 1, 1, 1, 0},
        {0, 1, 0, 1, 0}};
    for (int i = 0; i < 3; i++) {
        int V = sizes[i], at = V - 7;
        for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
            struct settings how = ways[k];
            cr_expect(sample_with(INFINITY, V, at, V, how) == at, "V %d, one inf", V);
            int token = sample_with(-INFINITY, V, 1, 1, how);
            cr_expect(token == 0, "V %d, all but one -inf: %d", V, token);
            token = sample_with(-INFINITY, V, 0, 2, how);
            cr_expect(token > 0 && token % 2 == 1, "V %d, half -inf: %d", V, token);
            token = sample_with(-INFINITY, V, 0, 1, how);
            cr_expect(token >= 0 && token < V, "V %d, all -inf: %d", V, token);
            token = sample_with(NAN, V, at, V, how);
            cr_expect(token >= 0 && token < V, "V %d, one NaN: %d", V, token);
            token = sample_with(-NAN, V, 0, 1, how);
            cr_expect(token >= 0 && token < V, "V %d, all NaN: %d", V, token);
            if (how.temperature > 0) how.temperature = 1e-38f; /* z is infinite */
            token = sample_with(50, V, at, V, how);
            cr_expect(token >= 0 && token < V, "V %d, cold: %d", V, token);
            if (how.temperature > 0) how.temperature = 1e-40f; /* so is 1 / temperature */
            token = sample_with(0, V, 0, 3, how);
            cr_expect(token >= 0 && token < V, "V %d, colder: %d", V, token);
        }
    }
}

/* The reciprocals of 1e-40 and 1e-45 overflow to infinity. */
Test(sample_not_finite, tiny_settings_do_not_make_nan_of_0)
{
    static const float logits[4] = {-1, -2, 0, -3};
    static const struct settings tiny[] = {{0, 1, 1e-40f, 1, 0}, {0, 1, 1e-45f, 1, 0}};
    for (int i = 0; i < 2; i++) {
        int token = -1;
        sample(&token, logits, 5, 1, 4, tiny[i]);
        cr_expect(token == 2, "temperature %g: token %d", tiny[i].temperature, token);
    }
    static const float low[3] = {0, 1, -1}; /* every z is 0 or 1e-45 times a sign */
    int token = -1;
    sample(&token, low, 5, 1, 3, (struct settings){1e-45f, 1, 0, 1, 0});
    cr_expect(token == 1, "softcap 1e-45: token %d", token);
}
