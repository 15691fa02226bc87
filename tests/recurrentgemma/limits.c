/* limits.c - sequences that continue and end, what an engine refuses, and the memory it
 * allocates. TAP on stdout.
 *
 *     limits [FOLDER]     a model of 256 tokens; without one tests/recurrentgemma/tiny
 */
#include "engine.h"

/* --- device memory: the linker redirects these calls -------------------- */

static long allocations;
static size_t device_bytes;
extern cudaError_t __real_cudaMalloc(void **p, size_t n);
extern cudaError_t __real_cudaMallocHost(void **p, size_t n);

cudaError_t __wrap_cudaMalloc(void **p, size_t n)
{
    allocations++, device_bytes += n;
    return __real_cudaMalloc(p, n);
}

cudaError_t __wrap_cudaMallocHost(void **p, size_t n)
{
    allocations++;
    return __real_cudaMallocHost(p, n);
}

/* --- sequences that continue and end ------------------------------------------------------- */

// A prompt, some samples, a second prompt: as one prompt of the same tokens.
static void continues(void)
{
    int all[LONG + 11 + 23];
    rg_settings s = greedy();
    s.temperature = 1, s.repetition_penalty = 1.3f;
    rg_engine *e = open_with(s), *again = open_with(s);
    prefill(e, text, LONG);
    sure(rg_step(e, 10, &err));
    memcpy(all, text, LONG * sizeof *all);
    memcpy(all + LONG, rg_tokens(e, 0), 11 * sizeof *all);
    memcpy(all + LONG + 11, text + 100, 23 * sizeof *all);
    tap(rg_processed(e, 0) == LONG + 10 && rg_sampled(e, 0) == 11,
        "the newest token is not processed yet");
    prefill(e, text + 100, 23);
    tap(rg_processed(e, 0) == LONG + 11 + 23 && rg_sampled(e, 0) == 1,
        "and is processed before the next prompt");
    prefill(again, all, LONG + 11 + 23);
    sure(rg_step(e, 20, &err)), sure(rg_step(again, 20, &err));
    tap(memcmp(rg_tokens(e, 0), rg_tokens(again, 0), 21 * sizeof *all) == 0,
        "a sequence that continues samples what the whole sequence samples");
    rg_reset(e, 0, SEED), rg_reset(again, 0, SEED);
    prefill(e, text + 5, 1), prefill(again, text + 5, 1);
    sure(rg_step(e, 20, &err)), sure(rg_step(again, 20, &err));
    tap(memcmp(rg_tokens(e, 0), rg_tokens(again, 0), 21 * sizeof *all) == 0 &&
            rg_processed(e, 0) == 21,
        "after a reset nothing is left of it");
    rg_close(e), rg_close(again);
}

// The first of n tokens that does not come earlier among them, from `from` on.
static int new_at(const int *tokens, int n, int from)
{
    for (int i = from; i < n; i++) {
        bool seen = false;
        for (int j = 0; j < i; j++)
            seen |= tokens[j] == tokens[i];
        if (!seen) return i;
    }
    return -1;
}

static void ends(void)
{
    rg_settings s = greedy();
    s.temperature = 1, s.repetition_penalty = 1.2f;
    rg_engine *e = open_with(s);
    int sampled[MORE + 1], all[200];
    prefill(e, text, LONG);
    sure(rg_step(e, MORE, &err));
    memcpy(sampled, rg_tokens(e, 0), sizeof sampled);
    rg_close(e);
    int at = new_at(sampled, MORE, 6), last = new_at(sampled, MORE + 1, MORE);
    s.stop = &sampled[at], s.stop_count = 1;
    e = open_with(s);
    prefill(e, text, LONG);
    int going = sure(rg_step(e, MORE, &err));
    tap(going == 0 && rg_done(e, 0) && rg_sampled(e, 0) == at + 1 &&
            memcmp(sampled, rg_tokens(e, 0), (size_t)(at + 1) * sizeof(int)) == 0,
        "a sequence ends with its stop token, the %dth of %d", at + 1, MORE + 1);
    tap(e->d.steps == at + 1 && rg_processed(e, 0) == LONG + at + 1,
        "one step past its end was sent, which processed the stop token");
    tap(sure(rg_step(e, 5, &err)) == 0 && e->d.steps == at + 1, "no further ones are");
    prefill(e, text + 60, 9);
    memcpy(all, text, LONG * sizeof *all);
    memcpy(all + LONG, sampled, (size_t)(at + 1) * sizeof *all);
    memcpy(all + LONG + at + 1, text + 60, 9 * sizeof *all);
    rg_settings none = s;
    none.stop_count = 0;
    rg_engine *again = open_with(none);
    prefill(again, all, LONG + at + 1 + 9);
    sure(rg_step(again, 12, &err)), sure(rg_step(e, 12, &err));
    tap(rg_sampled(e, 0) > 1 &&
            memcmp(rg_tokens(e, 0), rg_tokens(again, 0), (size_t)rg_sampled(e, 0) * 4) ==
                0,
        "after its end the sequence continues as if it were one prompt");
    rg_close(again), rg_close(e);
    if (last < 0) return;
    s.stop = &sampled[last];  // ends with the last requested step: no step after it
    e = open_with(s);
    prefill(e, text, LONG);
    sure(rg_step(e, MORE, &err));
    tap(rg_done(e, 0) && rg_processed(e, 0) == LONG + MORE,
        "an end in the last step: not processed");
    rg_close(e);
}

// Two sequences; one ends early.
static void ends_in_a_batch(void)
{
    rg_settings s = greedy();
    s.temperature = 1, s.batch = 2;
    const int *prompts[] = {text, text + 50}, count[] = {LONG, 12};
    rg_engine *e = open_with(s);
    int sampled[2][MORE + 1], at = -1;
    sure(rg_prefill(e, prompts, count, &err));
    sure(rg_step(e, MORE, &err));
    for (int b = 0; b < 2; b++)
        memcpy(sampled[b], rg_tokens(e, b), sizeof sampled[b]);
    rg_close(e);
    for (int i = 3; i < 20 && at < 0; i++) {  // sequence 0 has it, sequence 1 does not
        bool other = new_at(sampled[0], i + 1, i) < 0;
        for (int j = 0; j <= MORE; j++)
            other |= sampled[1][j] == sampled[0][i];
        if (!other) at = i;
    }
    s.stop = &sampled[0][at], s.stop_count = 1;
    e = open_with(s);
    sure(rg_prefill(e, prompts, count, &err));
    int going = sure(rg_step(e, MORE, &err));
    tap(going == 1 && rg_done(e, 0) && !rg_done(e, 1) && rg_sampled(e, 0) == at + 1 &&
            rg_sampled(e, 1) == MORE + 1,
        "a sequence ends, the other continues");
    tap(memcmp(sampled[0], rg_tokens(e, 0), (size_t)(at + 1) * 4) == 0 &&
            memcmp(sampled[1], rg_tokens(e, 1), sizeof sampled[1]) == 0,
        "each samples what it sampled before");
    int read = rg_processed(e, 1), more[] = {2, 0};
    tap(rg_prefill(e, prompts, more, &err) < 0 && strstr(err.text, "rg_reset") &&
            rg_processed(e, 1) == read,
        "the sequence that was stepped past its end does not continue: %s", err.text);
    rg_reset(e, 0, SEED);
    int first[] = {LONG, 0};
    sure(rg_prefill(e, prompts, first, &err));
    tap(rg_done(e, 1) && rg_sampled(e, 1) == 0 && rg_processed(e, 1) == read,
        "a sequence without new tokens rests");
    int second[] = {0, 2};
    sure(rg_prefill(e, prompts, second, &err));
    tap(rg_done(e, 0) && rg_sampled(e, 1) == 1 && rg_processed(e, 1) == read + 3,
        "and continues, as there was no step in between");
    rg_reset(e, 0, SEED);
    sure(rg_prefill(e, prompts, first, &err));
    sure(rg_step(e, 3, &err));
    tap(memcmp(sampled[0], rg_tokens(e, 0), 4 * sizeof(int)) == 0,
        "after a reset the sequence starts over");
    rg_close(e);
}

/* --- limits ------------------------------------------------------------------------- */

static void refused(const char *what, rg_settings s, const char *words)
{
    rg_engine *e = rg_open(folder, &s, &err);
    tap(!e && strstr(err.text, words), "%s: %s", what, e ? "taken" : err.text);
    rg_close(e);
}

static void bad_settings(void)
{
    rg_settings s;
    s = greedy(), s.batch = 0, refused("no sequences", s, "batch");
    s = greedy(), s.context = 1, refused("a short context", s, "context");
    s = greedy(), s.chunk = 0, refused("empty chunks", s, "chunks");
    s = greedy(), s.max_new_tokens = 0, refused("no new tokens", s, "new tokens");
    s = greedy(), s.temperature = NAN, refused("temperature", s, "temperature");
    s = greedy(), s.top_p = 0, refused("top-p", s, "top-p");
    s = greedy(), s.min_p = 1.1f, refused("min-p", s, "min-p");
    s = greedy(), s.top_k = -1, refused("top-k", s, "top-k");
    s = greedy(), s.repetition_penalty = 0, refused("penalty", s, "penalty");
    s = greedy(), s.stop_count = 2, refused("stops without a list", s, "stop");
    s = greedy(), s.stop = text, s.stop_count = -1;
    refused("a list of stops whose length was forgotten", s, "say how many");
    s = greedy(), s.context = 2000000000, s.batch = 100, refused("too long", s, "");
    rg_engine *e = rg_open("/nowhere", &s, &err);
    tap(!e && strstr(err.text, "/nowhere"), "no folder: %s", err.text);
}

static void bad_tokens(void)
{
    rg_engine *e = open_with(greedy());
    static const int wrong[] = {3, V, 4}, negative[] = {-1};
    const int *prompts[] = {wrong};
    int n = 3;
    tap(rg_prefill(e, prompts, &n, &err) < 0 && strstr(err.text, "token 1 is 256"), "%s",
        err.text);
    prompts[0] = negative, n = 1;
    tap(rg_score(e, prompts, &n, keep, &parts, &err) < 0 && strstr(err.text, "-1"), "%s",
        err.text);
    prompts[0] = text, n = 160;
    tap(rg_prefill(e, prompts, &n, &err) < 0 && strstr(err.text, "context of 160"), "%s",
        err.text);
    tap(rg_processed(e, 0) == 0 && sure(rg_step(e, 3, &err)) == 0,
        "nothing was processed");
    n = 0;
    tap(rg_prefill(e, prompts, &n, &err) == 0 && rg_done(e, 0),
        "no tokens: nothing sampled");
    prefill(e, text, 150);
    tap(sure(rg_step(e, 100, &err)) == 1 && rg_sampled(e, 0) == 10,
        "steps up to the context");
    tap(rg_step(e, 1, &err) < 0 && strstr(err.text, "sequence 0 has 160 tokens"), "%s",
        err.text);
    rg_reset(e, 0, SEED);
    prefill(e, text, 3);
    tap(sure(rg_step(e, 100, &err)) == 0 && rg_sampled(e, 0) == 60 && rg_done(e, 0),
        "a sequence is done after max_new_tokens samples");
    prefill(e, text, 3);
    tap(rg_processed(e, 0) == 3 + 60 + 3, "and continues with the next prompt");
    parts = (scores){.end_at = 70};
    rg_reset(e, 0, SEED), n = 150;
    int rc = rg_score(e, prompts, &n, keep, &parts, &err);
    tap(rc < 0 && strcmp(err.text, "enough") == 0 && rg_processed(e, 0) == 128,
        "a sink ends a score: %d tokens were processed", rg_processed(e, 0));
    rg_close(e);
}

static void memory_stays(void)
{
    device_bytes = 0;
    rg_engine *e = open_with(greedy());
    size_t opened = device_bytes;
    prefill(e, text, LONG);
    long before = allocations;
    for (int i = 0; i < 4; i++) {
        sure(rg_step(e, 20, &err));
        rg_reset(e, 0, SEED);
        prefill(e, text, LONG + i);
    }
    tap(allocations == before && before > 0,
        "steps and prompts allocate nothing (%ld calls before)", before);
    const rg_info *i = rg_describe(e);
    size_t formula = decoder_cache_formula(&e->d.config, 1, e->d.slots);
    tap(i->cache_bytes >= formula &&
            i->cache_bytes < formula + 256 * 3 * (size_t)i->shape.layers,
        "states and rings take %zu bytes, as by formula %zu", i->cache_bytes, formula);
    tap(opened == i->weight_bytes + i->cache_bytes + i->buffer_bytes,
        "everything allocated on the device, %zu bytes, is in rg_info", opened);
    rg_close(e);
}

// A long context costs nothing until a sequence reaches it: the RoPE table and the prompt
// grow then, and the samples equal those with a table that is long from the start.
static void grows(void)
{
    enum { PROMPT = 4090, STEPS = 20, FAR = 9000 };
    static int tokens[FAR];
    for (int i = 0; i < FAR; i++)
        tokens[i] = text[i % 200];
    rg_settings s = greedy();
    s.chunk = 512, s.context = FAR, s.temperature = 1;
    rg_engine *e = open_with(s);
    s.context = 1 << 20;
    rg_engine *later = open_with(s);
    const rg_info *i = rg_describe(later);
    size_t opened = i->buffer_bytes;
    tap(opened == rg_describe(e)->buffer_bytes,
        "contexts of %d and %d tokens cost the same: %zu bytes", FAR, s.context, opened);
    prefill(e, tokens, FAR - 1);
    rg_reset(e, 0, SEED);
    prefill(later, tokens, PROMPT);
    tap(i->buffer_bytes == opened, "a prompt of %d tokens costs nothing more", PROMPT);
    prefill(e, tokens, PROMPT);
    sure(rg_step(e, STEPS, &err)), sure(rg_step(later, STEPS, &err));
    tap(i->buffer_bytes > opened && later->d.rope_room == 2 * 4096,
        "position 4096 doubles the table: %zu bytes", i->buffer_bytes);
    tap(rg_sampled(e, 0) == STEPS + 1 &&
            memcmp(rg_tokens(e, 0), rg_tokens(later, 0), (STEPS + 1) * sizeof *tokens) ==
                0,
        "the samples before and after it equal those with a table that is long from the "
        "start");
    rg_close(e), rg_close(later);
}

int main(int argc, char **argv)
{
    begin_tests(argc, argv);
    continues();
    ends();
    ends_in_a_batch();
    bad_settings();
    bad_tokens();
    memory_stays();
    grows();
    return tap_done();
}
