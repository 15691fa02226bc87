/* generator.c - see generator.h: which tokens are read and written when. */
#include "generator.h"

#include <string.h>

/* --- reading ------------------------------------------------------------------------ */

// Reads again `n[b]` tokens of each text from its `start` on, as a new document; 0: that
// text stays as it is.
static void read_texts(generator *g, const int *n)
{
    for (int b = 0; b < g->B; b++)
        g->seen[b] = g->text[b] + g->start[b];
    decoder_read(&g->d, g->seen, n, g->zero);
}

// Of the token that is read next: behind `back` of those that were read.
static void send_positions(generator *g, int back)
{
    for (int b = 0; b < g->B; b++)
        g->h_rows[b] = g->read[b] - back;
    decoder_place(&g->d, g->h_rows);
}

// A text that the model cannot see whole any more: its newer half is what it sees now.
// Says how many of the tokens seen remain.
static int slide(generator *g, int b)
{
    int context = g->m->config.context, seen = g->count[b] - g->start[b];
    if (g->slides && seen > context) {
        seen = context > 1 ? context / 2 : 1;
        g->start[b] = g->count[b] - seen;
    }
    return seen;
}

// All that the model sees of each text, and the next token of each.
static void read_and_choose(generator *g)
{
    for (int b = 0; b < g->B; b++)
        g->read[b] = slide(g, b);
    read_texts(g, g->read);
    send_positions(g, 1);  // choosing adds 1
    decoder_choose(&g->d);
}

// Waits for the device, and takes over the n tokens that each text has got.
static void take_drawn(generator *g, int first, int n)
{
    size_t row = (size_t)n * sizeof(int), pitch = (size_t)g->set.tokens * sizeof(int);
    CUDA_CHECK(cudaMemcpy2DAsync(
        g->h_rows, row, g->d.out + first, pitch, row, (size_t)g->B,
        cudaMemcpyDeviceToHost, g->m->stream));
    CUDA_CHECK(cudaStreamSynchronize(g->m->stream));
    for (int b = 0; b < g->B; b++) {
        memcpy(g->text[b] + g->count[b], g->h_rows + (size_t)b * n, row);
        g->count[b] += n;
    }
}

/* --- writing ------------------------------------------------------------------------ */

static int check_prompts(const generator *g, const int *length, wb_error *err)
{
    for (int b = 0; b < g->B; b++)
        if (length[b] < 1 || length[b] > g->set.longest)
            return error_set(
                err, "prompt %d has %d tokens, not 1 to %d", b, length[b],
                g->set.longest);
    return 0;
}

int generator_start(
    generator *g, const int *const *prompt, const int *length, const uint64_t *seed,
    wb_error *err)
{
    size_t B = (size_t)g->B;
    if (check_prompts(g, length, err)) return -1;
    for (size_t b = 0; b < B; b++) {
        memcpy(g->text[b], prompt[b], (size_t)length[b] * sizeof(int));
        g->count[b] = length[b], g->start[b] = 0;
    }
    decoder_upload(&g->d, g->d.seed, seed, B * sizeof *seed);
    decoder_start(&g->d, NULL);
    if (decoder_mark(&g->d, (const int *const *)g->text, g->count, err)) return -1;
    read_and_choose(g);
    take_drawn(g, 0, 1);
    g->written = 1;
    return 0;
}

// Texts that are full: all but the newest token of what is left of them is read again; the
// newest is read by the next step, as in all other texts.
static void slide_full_texts(generator *g)
{
    int *n = g->again, any = 0;
    for (int b = 0; b < g->B; b++) {
        int left = slide(g, b) - 1;
        n[b] = left == g->read[b] ? 0 : left;
        if (left != g->read[b]) any = 1;
        g->read[b] = left;
    }
    if (!any) return;
    read_texts(g, n);
    send_positions(g, 0);
}

// At most n steps, until a text is full; returns how many.
static int write_some(generator *g, int n)
{
    slide_full_texts(g);
    for (int b = 0; g->slides && b < g->B; b++) {
        int room = g->m->config.context - g->read[b];
        if (n > room) n = room;
    }
    for (int i = 0; i < n; i++)
        decoder_step(&g->d);
    for (int b = 0; b < g->B; b++)
        g->read[b] += n;
    return n;
}

void generator_write(generator *g, int n)
{
    while (n > 0 && g->written < g->set.tokens) {
        int some = 1, left = g->set.tokens - g->written;
        if (g->set.cache)
            some = write_some(g, n < left ? n : left);
        else
            read_and_choose(g);
        take_drawn(g, g->written, some);
        g->written += some, n -= some;
    }
}
