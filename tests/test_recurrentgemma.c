/* test_recurrentgemma.c - the engine, through its C API, against the tiny model's known
 * answers: logits within 1e-4 and every one of 40 greedy tokens, for any chunk size and
 * any neighbours in the batch, in both windows, as a graph and launch by launch.
 */
#include "../recurrentgemma/recurrentgemma.h"
#include "recurrentgemma/tiny.h"

static const double TOLERANCE = 1e-4;

TestSuite(engine, .init = tiny_open, .fini = tiny_close);

/* for `batch` sequences; the caller changes what it tests */
static rg_settings settings(int batch)
{
    rg_settings set = rg_defaults();
    set.dtype = RG_F32;
    set.batch = batch;
    set.context = 160;
    set.chunk = LONG;
    set.max_new_tokens = GREEDY;
    set.stop_count = 0;
    return set;
}

static rg_engine *opened(const rg_settings *set)
{
    wb_error err = {""};
    rg_engine *e = rg_open(TINY, set, &err);
    cr_assert_not_null(e, "%s", err.text);
    return e;
}

static void prefill(rg_engine *e, const int *const *ids, const int *count, int continuing)
{
    wb_error err = {""};
    int rc = rg_prefill(e, ids, count, &err);
    cr_assert_eq(
        rc, continuing, "%d sequences continue, not %d: %s", rc, continuing, err.text);
}

static void step(rg_engine *e, int n)
{
    wb_error err = {""};
    cr_assert(rg_step(e, n, &err) >= 0, "%s", err.text);
}

static void
sampled(const rg_engine *e, int sequence, const int *want, int n, const char *what)
{
    cr_assert_eq(
        rg_sampled(e, sequence), n, "%s: %d tokens, not %d", what,
        rg_sampled(e, sequence), n);
    for (int i = 0; i < n; i++)
        cr_assert_eq(
            rg_tokens(e, sequence)[i], want[i], "%s: token %d is %d, not %d", what, i,
            rg_tokens(e, sequence)[i], want[i]);
}

/* logits (sequences,n,VOCAB) of at most n tokens each */
typedef struct scores {
    float *logits;
    int n, calls;
} scores;

static int keep(void *user, int sequence, int at, const float *logits, int vocab)
{
    scores *s = user;
    cr_assert(vocab == VOCAB && at < s->n);
    memcpy(
        s->logits + ((size_t)sequence * s->n + at) * VOCAB, logits,
        VOCAB * sizeof(float));
    s->calls++;
    return 0;
}

static scores
score(rg_engine *e, int rows, const int *const *ids, const int *count, int n)
{
    scores s = {malloc((size_t)rows * n * VOCAB * sizeof(float)), n, 0};
    memset(s.logits, 0xFF, (size_t)rows * n * VOCAB * sizeof(float));
    wb_error err = {""};
    cr_assert(rg_score(e, ids, count, keep, &s, &err) >= 0, "%s", err.text);
    int all = 0;
    for (int b = 0; b < rows; b++)
        all += count[b];
    cr_assert_eq(s.calls, all, "%d logits of %d tokens", s.calls, all);
    return s;
}

static void
agree(const float *got, const float *want, int tokens, const char *what, int number)
{
    double d = farthest(got, want, (size_t)tokens * VOCAB);
    cr_expect(d <= TOLERANCE, "%s %d: logits off by %g", what, number, d);
}

/* --- one sequence ------------------------------------------------------------------- */

static const int chunks[] = {1, 3, WINDOW - 1, WINDOW, WINDOW + 1, LONG};
enum { CHUNKS = sizeof chunks / sizeof *chunks };

Test(engine, logits_of_every_chunk_size_and_both_windows)
{
    const int *ids = expected("long.input_ids"), count = LONG;
    for (int hf = 0; hf < 2; hf++)
        for (int c = 0; c < CHUNKS; c++) {
            rg_settings set = settings(1);
            set.chunk = chunks[c], set.hf_window = hf;
            rg_engine *e = opened(&set);
            scores s = score(e, 1, &ids, &count, LONG);
            const char *want = hf ? "long.logits_hfwin" : "long.logits";
            agree(s.logits, expected(want), LONG, want, chunks[c]);
            free(s.logits), rg_close(e);
        }
}

static void
greedy(const rg_settings *set, const char *prompt, const char *suffix, int each)
{
    char name[64];
    snprintf(name, sizeof name, "%s.input_ids", prompt);
    const int *ids = expected(name), count = prompt[0] == 'l' ? LONG : SHORT;
    snprintf(name, sizeof name, "%s.greedy%s", prompt, suffix);
    rg_engine *e = opened(set);
    prefill(e, &ids, &count, 1);
    for (int samples = 1; samples < GREEDY; samples += each)
        step(e, each);
    sampled(e, 0, expected(name), GREEDY, name);
    rg_close(e);
}

Test(engine, greedy_tokens)
{
    for (int hf = 0; hf < 2; hf++)
        for (int graph = 0; graph < 2; graph++) {
            rg_settings set = settings(1);
            set.hf_window = hf, set.graph = graph;
            greedy(&set, "long", hf ? "_hfwin" : "", 7);
            greedy(&set, "short", hf ? "_hfwin" : "", GREEDY);
        }
}

Test(engine, greedy_tokens_after_every_chunk_size)
{
    for (int c = 0; c < CHUNKS; c++) {
        rg_settings set = settings(1);
        set.chunk = chunks[c];
        greedy(&set, "long", "", 16);
        greedy(&set, "short", "", 1);
    }
}

/* Logits of the generated sequences: those that each step sampled from. */
Test(engine, logits_of_the_samples)
{
    int ids[LONG + GREEDY], count = LONG + GREEDY - 1;
    const int *row = ids;
    memcpy(ids, expected("long.input_ids"), LONG * sizeof *ids);
    memcpy(ids + LONG, expected("long.greedy"), GREEDY * sizeof *ids);
    rg_settings set = settings(1);
    rg_engine *e = opened(&set);
    scores s = score(e, 1, &row, &count, count);
    agree(
        s.logits + (LONG - 1) * VOCAB, expected("long.greedy_logits"), GREEDY, "sampled",
        0);
    free(s.logits), rg_close(e);
}

/* --- a batch ------------------------------------------------------------------------ */

enum { SEQUENCES = 4 };
static const int lengths[SEQUENCES] = {LONG, SHORT, 1, WINDOW + 1};

static void unequal(const int **ids)
{
    const int *text = expected("long.input_ids");
    ids[0] = text, ids[1] = expected("short.input_ids"), ids[2] = text + 9, ids[3] = text;
}

static void sequence_alone(const int *ids, int count, int *samples, scores *s)
{
    rg_settings set = settings(1);
    rg_engine *e = opened(&set);
    prefill(e, &ids, &count, 1);
    step(e, GREEDY);
    memcpy(samples, rg_tokens(e, 0), GREEDY * sizeof *samples);
    rg_reset(e, 0, 1);
    *s = score(e, 1, &ids, &count, LONG);
    rg_close(e);
}

Test(engine, unequal_prompts_as_each_alone)
{
    const int *ids[SEQUENCES];
    unequal(ids);
    int samples[SEQUENCES][GREEDY];
    scores alone[SEQUENCES];
    for (int b = 0; b < SEQUENCES; b++)
        sequence_alone(ids[b], lengths[b], samples[b], &alone[b]);
    for (int chunk = 7; chunk <= LONG; chunk += LONG - 7) {
        rg_settings set = settings(SEQUENCES);
        set.chunk = chunk;
        rg_engine *e = opened(&set);
        prefill(e, ids, lengths, SEQUENCES);
        step(e, GREEDY);
        for (int b = 0; b < SEQUENCES; b++)
            sampled(e, b, samples[b], GREEDY, "sequence of a batch"), rg_reset(e, b, 1);
        scores s = score(e, SEQUENCES, ids, lengths, LONG);
        for (int b = 0; b < SEQUENCES; b++)
            agree(
                s.logits + (size_t)b * LONG * VOCAB, alone[b].logits, lengths[b], "row",
                b);
        free(s.logits), rg_close(e);
    }
    for (int b = 0; b < SEQUENCES; b++)
        free(alone[b].logits);
}

Test(engine, a_sequence_ends_at_its_own_stop_token)
{
    const int *ids[2] = {expected("long.input_ids"), expected("short.input_ids")};
    const int count[2] = {LONG, SHORT}, *text = expected("long.greedy"), stop = text[8];
    int first = 0; /* the stop token's first place */
    while (text[first] != stop)
        first++;
    const int *other = expected("short.greedy");
    for (int i = 0; i < GREEDY; i++)
        cr_assert_neq(
            other[i], stop, "this test needs a token that only one sequence has");
    rg_settings set = settings(2);
    set.stop = &stop, set.stop_count = 1;
    rg_engine *e = opened(&set);
    prefill(e, ids, count, 2);
    step(e, GREEDY);
    sampled(e, 0, text, first + 1, "the sequence with the stop token");
    sampled(e, 1, other, GREEDY, "its neighbour");
    cr_expect(rg_done(e, 0) && rg_done(e, 1));
    rg_close(e);
}

/* --- a sequence that continues ------------------------------------------------------ */

/* Sequence 0 of two: prefill `first` tokens, sample `turn`, prefill the rest of the long
 * prompt, sample GREEDY. Sequence 1 has only the first turn. */
static void two_turns(rg_engine *e, int first, int turn, int *samples)
{
    const int *text = expected("long.input_ids"), *ids[2] = {text, text + 20};
    prefill(e, ids, (int[]){first, 11}, 2);
    if (turn > 1) step(e, turn - 1);
    memcpy(samples, rg_tokens(e, 0), (size_t)turn * sizeof *samples);
    ids[0] = text + first;
    prefill(e, ids, (int[]){LONG - first, 0}, 1);
    cr_expect_eq(rg_processed(e, 0), LONG + turn);
    cr_expect(rg_done(e, 1));
    step(e, GREEDY);
}

static void one_shot(int first, int turn, const int *samples, const rg_engine *turns)
{
    const int *text = expected("long.input_ids");
    int all[LONG + GREEDY], count = LONG + turn;
    const int *ids = all;
    memcpy(all, text, (size_t)first * sizeof *all);
    memcpy(all + first, samples, (size_t)turn * sizeof *all);
    memcpy(all + first + turn, text + first, (size_t)(LONG - first) * sizeof *all);
    rg_settings set = settings(1);
    set.chunk = LONG + GREEDY;
    rg_engine *e = opened(&set);
    prefill(e, &ids, &count, 1);
    step(e, GREEDY);
    sampled(turns, 0, rg_tokens(e, 0), GREEDY, "a second turn");
    rg_close(e);
}

Test(engine, a_second_turn_as_one_prompt)
{
    static const int cuts[][3] = {{20, 6, LONG}, {3, 1, 5}, {44, 9, 45}, {16, 17, 16}};
    for (int i = 0; i < 4; i++) {
        int first = cuts[i][0], turn = cuts[i][1], samples[GREEDY];
        rg_settings set = settings(2);
        set.chunk = cuts[i][2];
        rg_engine *e = opened(&set);
        two_turns(e, first, turn, samples);
        one_shot(first, turn, samples, e);
        rg_reset(e, 0, 1), rg_reset(e, 1, 1);
        two_turns(e, first, turn, samples); /* nothing is left of the old sequence */
        one_shot(first, turn, samples, e);
        rg_close(e);
    }
}
