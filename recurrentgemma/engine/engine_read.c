/* engine_read.c - rg_prefill and rg_score: tokens in, chunk by chunk. */
#include "engine.h"

#include <stdlib.h>
#include <string.h>

/* Refuses before anything is read. room: tokens that must fit behind the last one. */
static int check_row(
    const rg_engine *e, int b, const int *tokens, int count, int room, wb_error *err)
{
    const engine_row *r = &e->row[b];
    int V = e->info.vocab, context = e->set.context;
    if (count < 0) return error_set(err, "row %d: %d tokens to read", b, count);
    if (count == 0) return 0;
    if (r->spoiled)
        return error_set(
            err,
            "row %d ended before the others and was stepped on with them: its states are "
            "lost, rg_reset it and read its text again",
            b);
    if (count > context - room - r->have)
        return error_set(
            err,
            "row %d: %d tokens behind %d, and %d to draw, are more than the context of "
            "%d: open the engine with a larger context",
            b, count, r->have, room, context);
    for (int i = 0; i < count; i++)
        if (tokens[i] < 0 || tokens[i] >= V)
            return error_set(
                err, "row %d: token %d is %d, the vocabulary has 0 to %d", b, i,
                tokens[i], V - 1);
    return 0;
}

/* Puts the new tokens behind each row's text and sends what is unread. Returns the most
 * tokens of a row, -1 on an error. */
static int
begin(rg_engine *e, const int *const *tokens, const int *count, int room, wb_error *err)
{
    int longest = 0;
    for (int b = 0; b < e->B; b++)
        if (check_row(e, b, tokens[b], count[b], room, err)) return -1;
    for (int b = 0; b < e->B; b++) {
        engine_row *r = &e->row[b];
        if (count[b] > 0)
            memcpy(r->text + r->have, tokens[b], (size_t)count[b] * sizeof(int));
        r->have += count[b];
        r->drawn = 0;
        r->done = true;
        e->n[b] = count[b] > 0 ? r->have - r->read : 0;
        e->base[b] = r->read;
        e->unread[b] = r->text + r->read;
        if (e->n[b] > longest) longest = e->n[b];
    }
    e->columns = 0;
    if (longest > 0) decoder_begin(&e->d, e->unread, e->n, e->base);
    return longest;
}

static int in_chunk(const rg_engine *e, int b, int t0)  // tokens of row b
{
    int left = e->n[b] - t0, T = e->d.T;
    return left < 0 ? 0 : left < T ? left : T;
}

static int chunk_at(rg_engine *e, int t0, int longest)  // reads one; its length
{
    int T = longest - t0 < e->d.T ? longest - t0 : e->d.T;
    decoder_chunk(&e->d, t0, T);
    for (int b = 0; b < e->B; b++)
        e->row[b].read += in_chunk(e, b, t0);
    return T;
}

static int mark_texts(rg_engine *e, wb_error *err)
{
    for (int b = 0; b < e->B; b++)
        e->unread[b] = e->row[b].text, e->at[b] = e->row[b].have;
    return decoder_mark(&e->d, e->unread, e->at, err);
}

int rg_prefill(rg_engine *e, const int *const *tokens, const int *count, wb_error *err)
{
    int longest = begin(e, tokens, count, 1, err);
    if (longest <= 0) return longest;
    for (int t0 = 0; t0 < longest; t0 += e->d.T)
        chunk_at(e, t0, longest);
    if (mark_texts(e, err)) return -1;
    for (int b = 0; b < e->B; b++) {
        int read = e->row[b].read;
        e->idle[b] = count[b] == 0;
        e->row[b].done = e->idle[b];
        e->at[b] = read > 0 ? read - 1 : 0;
    }
    decoder_start(&e->d, e->idle);
    decoder_place(&e->d, e->at);
    decoder_choose(&e->d);
    engine_send(e, e->columns);
    return engine_take(e, e->columns++);
}

/* --- scores ------------------------------------------------------------------------- */

/* Logits of rows r0 .. of a chunk of T tokens, to the sink, but for padding and a token
 * that was drawn before this call. */
static int give_logits(
    rg_engine *e, const int *count, int t0, int T, int r0, int rows, rg_sink *sink,
    void *user)
{
    size_t V = (size_t)e->info.vocab;
    decoder_logits(&e->d, r0, rows);
    decoder_download(&e->d, e->h_logits, e->d.logits, (size_t)rows * V * sizeof(float));
    for (int r = r0; r < r0 + rows; r++) {
        int b = r / T, t = r % T, at = t0 + t - (e->n[b] - count[b]);
        if (t >= in_chunk(e, b, t0) || at < 0) continue;
        if (sink(user, b, at, e->h_logits + (size_t)(r - r0) * V, (int)V)) return -1;
    }
    return 0;
}

static int
score_chunk(rg_engine *e, const int *count, int t0, int T, rg_sink *sink, void *user)
{
    int R = e->B * T, most = e->d.set.score;
    decoder_norm(&e->d, T);
    for (int r = 0; r < R;) {
        if (r % T >= in_chunk(e, r / T, t0)) {  // padding
            r++;
            continue;
        }
        int rows = R - r < most ? R - r : most;
        if (give_logits(e, count, t0, T, r, rows, sink, user)) return -1;
        r += rows;
    }
    return 0;
}

int rg_score(
    rg_engine *e, const int *const *tokens, const int *count, rg_sink *sink, void *user,
    wb_error *err)
{
    int longest = begin(e, tokens, count, 0, err), rc = 0;
    if (longest < 0) return -1;
    size_t bytes = (size_t)e->d.set.score * (size_t)e->info.vocab * sizeof(float);
    if (!e->h_logits) CUDA_CHECK(cudaMallocHost((void **)&e->h_logits, bytes));
    e->d.every_row = true;
    for (int t0 = 0; t0 < longest && !rc; t0 += e->d.T) {
        int T = chunk_at(e, t0, longest);
        rc = score_chunk(e, count, t0, T, sink, user);
    }
    e->d.every_row = false;
    for (int b = 0; b < e->B; b++)  // a sink may have ended it before all was read
        if (count[b] > 0) e->row[b].have = e->row[b].read;
    return rc;
}
