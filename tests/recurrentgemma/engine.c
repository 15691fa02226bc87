/* engine.c - one engine, several ways to the same tokens: chunks, steps, batches, graphs,
 * and engines side by side. TAP on stdout.
 *
 *     engine [FOLDER]     a model of 256 tokens; without one tests/recurrentgemma/tiny
 *
 * Here an engine is compared with itself; that its numbers are those of the model is for
 * tests/test_recurrentgemma.c.
 */
#include "engine.h"

static scores whole;

static void chunks_agree(void)
{
    static const int chunk[] = {1, 3, W - 1, W, W + 1};
    rg_engine *e = open_with(greedy());
    score(e, text, LONG, &whole);
    tap(whole.calls == LONG && rg_processed(e, 0) == LONG && rg_done(e, 0),
        "a score gives the logits of every token once");
    prefill(e, text + LONG, 1);
    int next = rg_tokens(e, 0)[0];
    rg_close(e);
    for (int i = 0; i < 5; i++) {
        rg_settings s = greedy();
        s.chunk = chunk[i];
        e = open_with(s);
        score(e, text, LONG, &parts);
        double d = farthest(parts.z[0][0], whole.z[0][0], (size_t)LONG * V);
        prefill(e, text + LONG, 1);
        tap(d <= 1e-4 && rg_tokens(e, 0)[0] == next,
            "logits in chunks of %d as of all %d at once: off by %.1e", chunk[i], LONG,
            d);
        rg_close(e);
    }
}

// The logits of each step beside those of its row when all is read at once.
static void steps_as_reading(void)
{
    static float stepped[MORE][V];
    int all[LONG + MORE];
    rg_engine *e = open_with(greedy());
    prefill(e, text, LONG);
    for (int i = 0; i < MORE; i++) {
        sure(rg_step(e, 1, &err));
        decoder_download(&e->d, stepped[i], e->d.logits, sizeof stepped[i]);
        float cap = e->d.config.shape.softcap;
        for (int v = 0; v < V && cap > 0; v++)
            stepped[i][v] = cap * tanhf(stepped[i][v] / cap);
    }
    memcpy(all, text, LONG * sizeof *all);
    memcpy(all + LONG, rg_tokens(e, 0), MORE * sizeof *all);
    rg_reset(e, 0, SEED);
    score(e, all, LONG + MORE, &whole);
    double d = farthest(stepped[0], whole.z[0][LONG], (size_t)MORE * V);
    tap(d <= 1e-4, "logits of %d steps as of reading the same tokens: off by %.1e", MORE,
        d);
    rg_close(e);
}

/* --- rows --------------------------------------------------------------------------- */

static void rows_as_alone(void)
{
    enum { B = 3 };
    const int *rows[B] = {text, text + 7, text + 90}, count[B] = {1, LONG, 9};
    rg_settings s = greedy();
    s.temperature = 1, s.top_k = 50, s.repetition_penalty = 1.2f, s.chunk = 20, s.batch = B;
    rg_engine *all = open_with(s);
    sure(rg_prefill(all, rows, count, &err));
    tap(sure(rg_step(all, MORE, &err)) == B, "%d rows go on", B);
    for (int b = 0; b < B; b++) {
        rg_settings alone = s;
        alone.batch = 1, alone.seed = SEED + (uint64_t)b;
        rg_engine *one = open_with(alone);
        prefill(one, rows[b], count[b]);
        for (int i = 0; i < MORE; i++)
            sure(rg_step(one, 1, &err));
        tap(rg_sampled(one, 0) == MORE + 1 && rg_sampled(all, b) == MORE + 1 &&
                memcmp(rg_tokens(one, 0), rg_tokens(all, b), (MORE + 1) * sizeof(int)) ==
                    0,
            "row %d of unequal prompts draws what it draws alone, step by step", b);
        rg_close(one);
    }
    tap(memcmp(rg_tokens(all, 0), rg_tokens(all, 1), MORE * sizeof(int)) != 0,
        "and not all the same");
    for (int b = 0; b < B; b++)
        rg_reset(all, b, SEED);
    all->d.set.score_rows = 7;  // pieces that end within a row, as with a large vocabulary
    whole = (scores){0};
    sure(rg_score(all, rows, count, keep, &whole, &err));
    double d = 0;
    for (int b = 0; b < B; b++) {
        rg_engine *one = open_with(greedy());
        score(one, rows[b], count[b], &parts);
        d = fmax(d, farthest(parts.z[0][0], whole.z[b][0], (size_t)count[b] * V));
        rg_close(one);
    }
    tap(d <= 1e-4 && whole.calls == 1 + LONG + 9,
        "logits of unequal rows in chunks as of each alone: off by %.1e", d);
    rg_close(all);
}

static void graph_as_calls(void)
{
    int drawn[2][MORE + 1];
    for (int i = 0; i < 2; i++) {
        rg_settings s = greedy();
        s.graph = i, s.temperature = 1.2f, s.top_p = 0.9f;
        rg_engine *e = open_with(s);
        prefill(e, text, 20);
        sure(rg_step(e, MORE, &err));
        memcpy(drawn[i], rg_tokens(e, 0), sizeof drawn[i]);
        rg_close(e);
    }
    tap(memcmp(drawn[0], drawn[1], sizeof *drawn) == 0,
        "steps as a graph draw what single launches draw");
}

static void side_by_side(void)
{
    rg_settings s = greedy();
    s.temperature = 1;
    rg_engine *a = open_with(s), *b;
    prefill(a, text, 30);
    sure(rg_step(a, MORE, &err));
    int drawn[MORE + 1];
    memcpy(drawn, rg_tokens(a, 0), sizeof drawn);
    rg_reset(a, 0, SEED);
    rg_settings other = s;
    other.batch = 2, other.seed = 5;
    b = open_with(other);
    const int *rows[] = {text, text + 50}, count[] = {LONG, 30};
    prefill(a, text, 30);
    sure(rg_prefill(b, rows, count, &err));
    for (int i = 0; i < MORE; i++)
        sure(rg_step(a, 1, &err)), sure(rg_step(b, 1, &err));
    rg_close(b);
    tap(memcmp(drawn, rg_tokens(a, 0), sizeof drawn) == 0,
        "an engine beside another, in turn, draws what it draws alone");
    rg_close(a);
}

int main(int argc, char **argv)
{
    begin_tests(argc, argv);
    chunks_agree();
    steps_as_reading();
    rows_as_alone();
    graph_as_calls();
    side_by_side();
    return tap_done();
}
