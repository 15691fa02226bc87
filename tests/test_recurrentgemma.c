/* test_recurrentgemma.c - the engine, through its C API, against the tiny model's known
 * answers: logits within 1e-4 and every one of 40 greedy tokens, however a prompt is cut into
 * chunks, whoever stands beside a row, in both windows, as a graph and launch by launch.
 */
#include "../recurrentgemma/recurrentgemma.h"
#include "recurrentgemma/tiny.h"

static const double TOLERANCE = 1e-4;

TestSuite(engine, .init = tiny_open, .fini = tiny_close);

/* for `batch` rows; the caller changes what it tests */
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

static void read_rows(rg_engine *e, const int *const *ids, const int *count, int go_on)
{
    wb_error err = {""};
    int rc = rg_prefill(e, ids, count, &err);
    cr_assert_eq(rc, go_on, "%d rows go on, not %d: %s", rc, go_on, err.text);
}

static void step(rg_engine *e, int n)
{
    wb_error err = {""};
    cr_assert(rg_step(e, n, &err) >= 0, "%s", err.text);
}

static void drew(const rg_engine *e, int row, const int *want, int n, const char *what)
{
    cr_assert_eq(rg_sampled(e, row), n, "%s: %d tokens, not %d", what, rg_sampled(e, row), n);
    for (int i = 0; i < n; i++)
        cr_assert_eq(
            rg_tokens(e, row)[i], want[i], "%s: token %d is %d, not %d", what, i,
            rg_tokens(e, row)[i], want[i]);
}

/* logits (rows,n,VOCAB) of rows of at most n tokens */
typedef struct scores {
    float *logits;
    int n, calls;
} scores;

static int keep(void *user, int row, int at, const float *logits, int vocab)
{
    scores *s = user;
    cr_assert(vocab == VOCAB && at < s->n);
    memcpy(s->logits + ((size_t)row * s->n + at) * VOCAB, logits, VOCAB * sizeof(float));
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

/* --- one row ------------------------------------------------------------------------ */

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
    read_rows(e, &ids, &count, 1);
    for (int drawn = 1; drawn < GREEDY; drawn += each)
        step(e, each);
    drew(e, 0, expected(name), GREEDY, name);
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

Test(engine, greedy_tokens_behind_every_chunk_size)
{
    for (int c = 0; c < CHUNKS; c++) {
        rg_settings set = settings(1);
        set.chunk = chunks[c];
        greedy(&set, "long", "", 16);
        greedy(&set, "short", "", 1);
    }
}

/* Logits of the texts that decoding wrote: what each step drew from. */
Test(engine, logits_of_what_was_drawn)
{
    int ids[LONG + GREEDY], count = LONG + GREEDY - 1;
    const int *row = ids;
    memcpy(ids, expected("long.input_ids"), LONG * sizeof *ids);
    memcpy(ids + LONG, expected("long.greedy"), GREEDY * sizeof *ids);
    rg_settings set = settings(1);
    rg_engine *e = opened(&set);
    scores s = score(e, 1, &row, &count, count);
    agree(
        s.logits + (LONG - 1) * VOCAB, expected("long.greedy_logits"), GREEDY, "drawn",
        0);
    free(s.logits), rg_close(e);
}

/* --- rows side by side -------------------------------------------------------------- */

enum { ROWS = 4 };
static const int lengths[ROWS] = {LONG, SHORT, 1, WINDOW + 1};

static void unequal(const int **ids)
{
    const int *text = expected("long.input_ids");
    ids[0] = text, ids[1] = expected("short.input_ids"), ids[2] = text + 9, ids[3] = text;
}

static void row_alone(const int *ids, int count, int *drawn, scores *s)
{
    rg_settings set = settings(1);
    rg_engine *e = opened(&set);
    read_rows(e, &ids, &count, 1);
    step(e, GREEDY);
    memcpy(drawn, rg_tokens(e, 0), GREEDY * sizeof *drawn);
    rg_reset(e, 0, 1);
    *s = score(e, 1, &ids, &count, LONG);
    rg_close(e);
}

Test(engine, unequal_prompts_as_each_alone)
{
    const int *ids[ROWS];
    unequal(ids);
    int drawn[ROWS][GREEDY];
    scores alone[ROWS];
    for (int b = 0; b < ROWS; b++)
        row_alone(ids[b], lengths[b], drawn[b], &alone[b]);
    for (int chunk = 7; chunk <= LONG; chunk += LONG - 7) {
        rg_settings set = settings(ROWS);
        set.chunk = chunk;
        rg_engine *e = opened(&set);
        read_rows(e, ids, lengths, ROWS);
        step(e, GREEDY);
        for (int b = 0; b < ROWS; b++)
            drew(e, b, drawn[b], GREEDY, "row of a batch"), rg_reset(e, b, 1);
        scores s = score(e, ROWS, ids, lengths, LONG);
        for (int b = 0; b < ROWS; b++)
            agree(
                s.logits + (size_t)b * LONG * VOCAB, alone[b].logits, lengths[b], "row",
                b);
        free(s.logits), rg_close(e);
    }
    for (int b = 0; b < ROWS; b++)
        free(alone[b].logits);
}

Test(engine, a_row_ends_at_its_own_stop_token)
{
    const int *ids[2] = {expected("long.input_ids"), expected("short.input_ids")};
    const int count[2] = {LONG, SHORT}, *text = expected("long.greedy"), stop = text[8];
    int first = 0; /* the stop token's first place */
    while (text[first] != stop)
        first++;
    const int *other = expected("short.greedy");
    for (int i = 0; i < GREEDY; i++)
        cr_assert_neq(other[i], stop, "this test wants a token that only one text has");
    rg_settings set = settings(2);
    set.stop = &stop, set.stop_count = 1;
    rg_engine *e = opened(&set);
    read_rows(e, ids, count, 2);
    step(e, GREEDY);
    drew(e, 0, text, first + 1, "the row with the stop token");
    drew(e, 1, other, GREEDY, "its neighbour");
    cr_expect(rg_done(e, 0) && rg_done(e, 1));
    rg_close(e);
}

/* --- a row that goes on ------------------------------------------------------------- */

/* Row 0 of two: `first` tokens read, `turn` drawn, the rest of the long prompt read, GREEDY
 * drawn. Row 1 has only the first turn. */
static void two_turns(rg_engine *e, int first, int turn, int *drawn)
{
    const int *text = expected("long.input_ids"), *ids[2] = {text, text + 20};
    read_rows(e, ids, (int[]){first, 11}, 2);
    if (turn > 1) step(e, turn - 1);
    memcpy(drawn, rg_tokens(e, 0), (size_t)turn * sizeof *drawn);
    ids[0] = text + first;
    read_rows(e, ids, (int[]){LONG - first, 0}, 1);
    cr_expect_eq(rg_processed(e, 0), LONG + turn);
    cr_expect(rg_done(e, 1));
    step(e, GREEDY);
}

static void one_shot(int first, int turn, const int *drawn, const rg_engine *turns)
{
    const int *text = expected("long.input_ids");
    int all[LONG + GREEDY], count = LONG + turn;
    const int *ids = all;
    memcpy(all, text, (size_t)first * sizeof *all);
    memcpy(all + first, drawn, (size_t)turn * sizeof *all);
    memcpy(all + first + turn, text + first, (size_t)(LONG - first) * sizeof *all);
    rg_settings set = settings(1);
    set.chunk = LONG + GREEDY;
    rg_engine *e = opened(&set);
    read_rows(e, &ids, &count, 1);
    step(e, GREEDY);
    drew(turns, 0, rg_tokens(e, 0), GREEDY, "a second turn");
    rg_close(e);
}

Test(engine, a_second_turn_as_one_prompt)
{
    static const int cuts[][3] = {{20, 6, LONG}, {3, 1, 5}, {44, 9, 45}, {16, 17, 16}};
    for (int i = 0; i < 4; i++) {
        int first = cuts[i][0], turn = cuts[i][1], drawn[GREEDY];
        rg_settings set = settings(2);
        set.chunk = cuts[i][2];
        rg_engine *e = opened(&set);
        two_turns(e, first, turn, drawn);
        one_shot(first, turn, drawn, e);
        rg_reset(e, 0, 1), rg_reset(e, 1, 1);
        two_turns(e, first, turn, drawn); /* an old text leaves nothing behind */
        one_shot(first, turn, drawn, e);
        rg_close(e);
    }
}
