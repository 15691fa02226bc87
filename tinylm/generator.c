/* generator.c - see generator.h: when each token is processed and sampled. */
#include "generator.h"

#include <string.h>

/* --- prefill ------------------------------------------------------------------------ */

// Processes `count[b]` tokens of each sequence from its `first`, as a new document; 0
// leaves that sequence as it is.
static void prefill(generator *g, const int *count)
{
    for (int b = 0; b < g->batch; b++)
        g->visible[b] = g->tokens[b] + g->first[b];
    decoder_prefill(&g->d, g->visible, count, g->zero);
}

// The position of the next token, `back` before the number of those processed. A sequence
// that is done stays at position 0, which every table has.
static void send_positions(generator *g, int back)
{
    for (int b = 0; b < g->batch; b++)
        g->h_scratch[b] = g->done[b] ? 0 : g->processed[b] - back;
    decoder_set_positions(&g->d, g->h_scratch);
}

// Once the model cannot see the whole sequence any more, it sees only the newer half.
// Returns the number of visible tokens.
static int slide(generator *g, int b)
{
    int context = g->m->config.shape.context, visible = g->count[b] - g->first[b];
    if (g->slides && visible > context) {
        visible = context > 1 ? context / 2 : 1;
        g->first[b] = g->count[b] - visible;
    }
    return visible;
}

// Everything that the model sees of each sequence, and the next token of each.
static void prefill_and_sample(generator *g)
{
    for (int b = 0; b < g->batch; b++)
        g->processed[b] = g->done[b] ? 0 : slide(g, b);
    prefill(g, g->processed);
    send_positions(g, 1);  // decoder_sample adds 1
    decoder_sample(&g->d);
}

static bool is_stop(const generator *g, int token)
{
    for (int i = 0; i < g->set.stop_count; i++)
        if (g->set.stop[i] == token) return true;
    return false;
}

// Appends n sampled tokens, up to and including a stop token.
static void add_sampled(generator *g, int b, const int *sampled, int n)
{
    for (int i = 0; i < n && !g->done[b]; i++) {
        g->tokens[b][g->count[b]++] = sampled[i];
        if (!is_stop(g, sampled[i])) continue;
        g->done[b] = g->ended = true;
        g->processed[b] = 0;
        g->continuing--;
    }
}

// Waits for the device and copies n new tokens of each sequence from column `first` on.
static void fetch_sampled(generator *g, int first, int n)
{
    size_t bytes = (size_t)n * sizeof(int);
    size_t pitch = (size_t)g->set.max_new_tokens * sizeof(int);
    CUDA_CHECK(cudaMemcpy2DAsync(
        g->h_scratch, bytes, g->d.sampled + first, pitch, bytes, (size_t)g->batch,
        cudaMemcpyDeviceToHost, g->m->stream));
    CUDA_CHECK(cudaStreamSynchronize(g->m->stream));
    for (int b = 0; b < g->batch; b++)
        add_sampled(g, b, g->h_scratch + (size_t)b * n, n);
}

/* --- decode ------------------------------------------------------------------------- */

static int check_prompts(const generator *g, const int *length, wb_error *err)
{
    for (int b = 0; b < g->batch; b++)
        if (length[b] < 1 || length[b] > g->set.longest_prompt)
            return error_set(
                err, "prompt %d has %d tokens, not 1 to %d", b, length[b],
                g->set.longest_prompt);
    return 0;
}

int generator_start(
    generator *g, const int *const *prompt, const int *length, const uint64_t *seed,
    wb_error *err)
{
    size_t B = (size_t)g->batch;
    if (check_prompts(g, length, err)) return -1;
    for (size_t b = 0; b < B; b++) {
        memcpy(g->tokens[b], prompt[b], (size_t)length[b] * sizeof(int));
        g->count[b] = length[b], g->first[b] = 0, g->done[b] = false;
    }
    g->continuing = g->batch, g->ended = false;
    decoder_upload(&g->d, g->d.seed, seed, B * sizeof *seed);
    decoder_start(&g->d, NULL);
    if (decoder_mark_seen(&g->d, (const int *const *)g->tokens, g->count, err)) return -1;
    prefill_and_sample(g);
    fetch_sampled(g, 0, 1);
    g->sampled = 1;
    return 0;
}

// In sequences that are full, all visible tokens but the newest are processed again; the
// next step processes the newest, as in all other sequences.
static void slide_full(generator *g)
{
    bool any = false;
    for (int b = 0; b < g->batch; b++) {
        int visible = g->done[b] ? 0 : slide(g, b) - 1;
        bool full = visible != g->processed[b];
        g->again[b] = full ? visible : 0;
        g->processed[b] = visible;
        any |= full;
    }
    if (any) prefill(g, g->again);
    if (any || g->ended) send_positions(g, 0);
    g->ended = false;
}

// At most n steps, until a sequence is full; returns how many.
static int step_until_full(generator *g, int n)
{
    slide_full(g);
    for (int b = 0; g->slides && b < g->batch; b++) {
        if (g->done[b]) continue;
        int room = g->m->config.shape.context - g->processed[b];
        if (n > room) n = room;
    }
    decoder_steps(&g->d, n);
    for (int b = 0; b < g->batch; b++)
        if (!g->done[b]) g->processed[b] += n;
    return n;
}

void generator_decode(generator *g, int n)
{
    while (n > 0 && g->sampled < g->set.max_new_tokens && g->continuing > 0) {
        int steps = 1, left = g->set.max_new_tokens - g->sampled;
        if (g->set.cache)
            steps = step_until_full(g, n < left ? n : left);
        else
            prefill_and_sample(g);
        fetch_sampled(g, g->sampled, steps);
        g->sampled += steps, n -= steps;
    }
}
