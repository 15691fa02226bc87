/* engine.c - one engine, several ways to the same tokens: chunks, steps, batches, graphs, and
 * several engines. TAP on stdout.
 *
 *     engine [FOLDER]     a model of 256 tokens; without one tests/recurrentgemma/tiny
 *
 * Here an engine is compared with itself; tests/test_recurrentgemma.c compares it with the
 * model.
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
            "logits in chunks of %d as in one of %d: off by %.1e", chunk[i], LONG, d);
        rg_close(e);
    }
}

// The logits of each step against those of one prefill of the same tokens.
static void steps_as_prefill(void)
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
    tap(d <= 1e-4, "logits of %d steps as of a prefill of the same tokens: off by %.1e",
        MORE, d);
    rg_close(e);
}

/* --- batches --------------------------------------------------------------------------- */

static void batch_as_alone(void)
{
    enum { B = 3 };
    const int *prompts[B] = {text, text + 7, text + 90}, count[B] = {1, LONG, 9};
    rg_settings s = greedy();
    s.temperature = 1, s.top_k = 50, s.repetition_penalty = 1.2f, s.chunk = 20,
    s.batch = B;
    rg_engine *all = open_with(s);
    sure(rg_prefill(all, prompts, count, &err));
    tap(sure(rg_step(all, MORE, &err)) == B, "%d sequences continue", B);
    for (int b = 0; b < B; b++) {
        rg_settings alone = s;
        alone.batch = 1, alone.seed = SEED + (uint64_t)b;
        rg_engine *one = open_with(alone);
        prefill(one, prompts[b], count[b]);
        for (int i = 0; i < MORE; i++)
            sure(rg_step(one, 1, &err));
        tap(rg_sampled(one, 0) == MORE + 1 && rg_sampled(all, b) == MORE + 1 &&
                memcmp(rg_tokens(one, 0), rg_tokens(all, b), (MORE + 1) * sizeof(int)) ==
                    0,
            "sequence %d of unequal prompts samples what it samples alone, step by step",
            b);
        rg_close(one);
    }
    tap(memcmp(rg_tokens(all, 0), rg_tokens(all, 1), MORE * sizeof(int)) != 0,
        "and not all the same");
    for (int b = 0; b < B; b++)
        rg_reset(all, b, SEED);
    all->d.set.score_rows =
        7;  // pieces that end within a sequence, as with a large vocabulary
    whole = (scores){0};
    sure(rg_score(all, prompts, count, keep, &whole, &err));
    double d = 0;
    for (int b = 0; b < B; b++) {
        rg_engine *one = open_with(greedy());
        score(one, prompts[b], count[b], &parts);
        d = fmax(d, farthest(parts.z[0][0], whole.z[b][0], (size_t)count[b] * V));
        rg_close(one);
    }
    tap(d <= 1e-4 && whole.calls == 1 + LONG + 9,
        "logits of unequal sequences in chunks as of each alone: off by %.1e", d);
    rg_close(all);
}

static void graph_as_calls(void)
{
    int sampled[2][MORE + 1];
    for (int i = 0; i < 2; i++) {
        rg_settings s = greedy();
        s.graph = i, s.temperature = 1.2f, s.top_p = 0.9f;
        rg_engine *e = open_with(s);
        prefill(e, text, 20);
        sure(rg_step(e, MORE, &err));
        memcpy(sampled[i], rg_tokens(e, 0), sizeof sampled[i]);
        rg_close(e);
    }
    tap(memcmp(sampled[0], sampled[1], sizeof *sampled) == 0,
        "steps as a graph sample what single launches sample");
}

static void two_engines(void)
{
    rg_settings s = greedy();
    s.temperature = 1;
    rg_engine *a = open_with(s), *b;
    prefill(a, text, 30);
    sure(rg_step(a, MORE, &err));
    int sampled[MORE + 1];
    memcpy(sampled, rg_tokens(a, 0), sizeof sampled);
    rg_reset(a, 0, SEED);
    rg_settings other = s;
    other.batch = 2, other.seed = 5;
    b = open_with(other);
    const int *prompts[] = {text, text + 50}, count[] = {LONG, 30};
    prefill(a, text, 30);
    sure(rg_prefill(b, prompts, count, &err));
    for (int i = 0; i < MORE; i++)
        sure(rg_step(a, 1, &err)), sure(rg_step(b, 1, &err));
    rg_close(b);
    tap(memcmp(sampled, rg_tokens(a, 0), sizeof sampled) == 0,
        "two engines, alternating, sample what each samples alone");
    rg_close(a);
}

// The sample that is taken back, as a prompt: everything continues as if it had stayed. A
// state saved without it fits an engine of a shorter context.
static void taken_back(void)
{
    int sampled[MORE + 1];
    rg_settings s = greedy();
    s.temperature = 1, s.whole_window = true, s.repetition_penalty = 1.1f,
    s.min_p = 0.02f;
    rg_engine *e = open_with(s), *other;
    prefill(e, text, 9);
    sure(rg_step(e, MORE, &err));
    memcpy(sampled, rg_tokens(e, 0), sizeof sampled);
    rg_reset(e, 0, SEED);
    prefill(e, text, 9);
    sure(rg_step(e, 1, &err));
    int last = rg_take_back(e, 0), again = rg_take_back(e, 0);
    tap(last == sampled[1] && again == -1 && rg_processed(e, 0) == 10 && rg_done(e, 0),
        "the newest sample can be taken back, once");
    size_t bytes = rg_state_bytes(e, 0);
    void *state = malloc(bytes);
    if (!state) exit(1);
    sure(rg_state_save(e, 0, state, &err));
    rg_settings narrow = s;
    narrow.context = 9 + MORE + 1;
    other = open_with(narrow);
    sure(rg_state_load(other, 0, state, bytes, &err));
    prefill(other, &last, 1);
    sure(rg_step(other, MORE - 2, &err));
    tap(memcmp(rg_tokens(other, 0), sampled + 2, (MORE - 1) * sizeof(int)) == 0,
        "the state without it continues in a shorter engine");
    s.dtype = RG_BF16;
    rg_engine *half = open_with(s);
    tap(rg_fingerprint(e) == rg_fingerprint(other) &&
            rg_fingerprint(e) != rg_fingerprint(half),
        "engines of one model and dtype have one fingerprint");
    free(state);
    rg_close(half), rg_close(other), rg_close(e);
}

int main(int argc, char **argv)
{
    begin_tests(argc, argv);
    chunks_agree();
    steps_as_prefill();
    batch_as_alone();
    graph_as_calls();
    two_engines();
    taken_back();
    return tap_done();
}
