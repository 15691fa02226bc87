// links: objects/tinylm/sampler.o
/* test_sampler.c - what the sampler may choose, and how often. */
#include "../tinylm/sampler.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { V = 6 };
static const float even[V] = {0.5f, 2, -1, 2, -3, 0};

// How often each token is drawn in n draws from these logits; nothing counts as seen.
static void count_draws(sampler *s, const float *logits, int n, int *counts)
{
    float copy[V];
    memset(counts, 0, V * sizeof *counts);
    for (int i = 0; i < n; i++) {
        memcpy(copy, logits, sizeof copy);
        memset(s->seen, 0, V * sizeof *s->seen);
        counts[sampler_choose(s, copy)]++;
    }
}

Test(sampler, greedy_takes_the_lowest_of_equals)
{
    sampler s;
    float logits[V];
    cr_assert(sampler_open(&s, V));
    s.temperature = 0;
    memcpy(logits, even, sizeof even);
    cr_expect_eq(sampler_choose(&s, logits), 1);
    sampler_close(&s);
}

Test(sampler, penalty_lowers_both_signs)
{
    sampler s;
    float logits[V] = {1, 2, -1, 1.5f, -3, -4};
    cr_assert(sampler_open(&s, V));
    s.temperature = 0, s.penalty = 2;
    sampler_see(&s, 1);
    sampler_see(&s, 2);
    sampler_see(&s, -1);
    sampler_see(&s, V);
    cr_expect_eq(sampler_choose(&s, logits), 3, "2 became 1, so 1.5 is the largest");
    cr_expect_float_eq(logits[1], 1, 1e-6);
    cr_expect_float_eq(logits[2], -2, 1e-6, "a negative logit must fall, not rise");
    cr_expect_float_eq(logits[4], -3, 1e-6, "not seen, not changed");
    cr_expect(s.seen[3], "the chosen token counts as seen");
    sampler_close(&s);
}

Test(sampler, draws_follow_the_softmax)
{
    sampler s;
    int counts[V], n = 20000;
    cr_assert(sampler_open(&s, V));
    s.temperature = 1.5, s.seed = 11;
    count_draws(&s, even, n, counts);
    double total = 0;
    for (int i = 0; i < V; i++)
        total += exp(even[i] / 1.5);
    for (int i = 0; i < V; i++) {
        double p = exp(even[i] / 1.5) / total, sigma = sqrt(n * p * (1 - p));
        cr_expect(
            fabs(counts[i] - n * p) < 4 * sigma, "token %d: %d of %.0f", i, counts[i],
            n * p);
    }
    sampler_close(&s);
}

Test(sampler, top_k_keeps_k)
{
    sampler s;
    int counts[V];
    cr_assert(sampler_open(&s, V));
    s.seed = 5, s.top_k = 3, s.temperature = 4;
    count_draws(&s, even, 3000, counts);
    cr_expect(counts[0] && counts[1] && counts[3], "all of the three are drawn");
    cr_expect(!counts[2] && !counts[4] && !counts[5]);
    s.top_k = 1;
    count_draws(&s, even, 100, counts);
    cr_expect_eq(counts[1], 100, "of equals the lowest token is the first");
    sampler_close(&s);
}

Test(sampler, top_p_keeps_the_fewest)
{
    sampler s;
    int counts[V];
    const float logits[V] = {logf(0.5f),  logf(0.3f),  logf(0.1f),
                             logf(0.06f), logf(0.03f), logf(0.01f)};
    cr_assert(sampler_open(&s, V));
    s.seed = 6, s.top_p = 0.75;
    count_draws(&s, logits, 4000, counts);
    cr_expect_eq(counts[0] + counts[1], 4000, "0.5 + 0.3 reach 0.75");
    cr_expect(
        abs(counts[0] - 2500) < 4 * 31, "%d: they keep their ratio 5 to 3", counts[0]);
    s.top_p = 0;
    count_draws(&s, logits, 100, counts);
    cr_expect_eq(counts[0], 100, "one token always stays");
    s.top_p = 1;
    count_draws(&s, logits, 4000, counts);
    cr_expect(counts[5] > 0, "1 keeps all");
    sampler_close(&s);
}

Test(sampler, equal_seeds_give_equal_draws)
{
    sampler s, t;
    int a[V], b[V];
    cr_assert(sampler_open(&s, V) && sampler_open(&t, V));
    s.seed = t.seed = 9;
    for (int i = 0; i < 50; i++) {
        count_draws(&s, even, 1, a);
        count_draws(&t, even, 1, b);
        cr_expect_arr_eq(a, b, sizeof a);
    }
    sampler_close(&s);
    sampler_close(&t);
}
