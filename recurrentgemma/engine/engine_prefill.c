/* engine_prefill.c - rg_prefill and rg_score: prompts, chunk by chunk. */
#include "engine.h"

#include <stdlib.h>
#include <string.h>

// Refuses before anything is processed. room: tokens that must fit after the last one.
static int check_sequence(
    const rg_engine *e, int b, const int *tokens, int count, int room, wb_error *err)
{
    const engine_sequence *s = &e->sequence[b];
    int V = e->info.shape.vocab, context = e->set.context;
    if (count < 0) return error_set(err, "sequence %d: a prompt of %d tokens", b, count);
    if (count == 0) return 0;
    if (s->invalid)
        return error_set(
            err,
            "sequence %d ended before the others and was stepped past its end: its states "
            "are lost, rg_reset it and prefill its tokens again",
            b);
    if (count > context - room - s->length)
        return error_set(
            err,
            "sequence %d: %d tokens after %d, and %d to sample, exceed the context of %d: "
            "open the engine with a larger context",
            b, count, s->length, room, context);
    for (int i = 0; i < count; i++)
        if (tokens[i] < 0 || tokens[i] >= V)
            return error_set(
                err, "sequence %d: token %d is %d, the vocabulary has 0 to %d", b, i,
                tokens[i], V - 1);
    return 0;
}

// Appends the new tokens to each sequence and sends what is pending. Returns the most
// tokens of a sequence, or -1 on an error.
static int
begin(rg_engine *e, const int *const *tokens, const int *count, int room, wb_error *err)
{
    int longest = 0;
    for (int b = 0; b < e->batch; b++)
        if (check_sequence(e, b, tokens[b], count[b], room, err)) return -1;
    for (int b = 0; b < e->batch; b++) {
        engine_sequence *s = &e->sequence[b];
        if (count[b] > 0)
            memcpy(s->tokens + s->length, tokens[b], (size_t)count[b] * sizeof(int));
        s->length += count[b];
        s->sampled = 0;
        s->done = true;
        e->count[b] = count[b] > 0 ? s->length - s->processed : 0;
        e->base[b] = s->processed;
        e->pending[b] = s->tokens + s->processed;
        if (e->count[b] > longest) longest = e->count[b];
    }
    e->columns = 0;
    if (longest > 0) decoder_prefill_begin(&e->d, e->pending, e->count, e->base);
    engine_count_bytes(e);
    return longest;
}

// Tokens of sequence b in the chunk at t0.
static int in_chunk(const rg_engine *e, int b, int t0)
{
    int left = e->count[b] - t0, T = e->d.chunk;
    return left < 0 ? 0 : left < T ? left : T;
}

// Processes the chunk at t0; returns its length.
static int process_chunk(rg_engine *e, int t0, int longest)
{
    int T = longest - t0 < e->d.chunk ? longest - t0 : e->d.chunk;
    decoder_prefill_chunk(&e->d, t0, T);
    for (int b = 0; b < e->batch; b++)
        e->sequence[b].processed += in_chunk(e, b, t0);
    return T;
}

static int mark_seen(rg_engine *e, wb_error *err)
{
    for (int b = 0; b < e->batch; b++)
        e->pending[b] = e->sequence[b].tokens, e->at[b] = e->sequence[b].length;
    return decoder_mark_seen(&e->d, e->pending, e->at, err);
}

int rg_prefill(rg_engine *e, const int *const *tokens, const int *count, wb_error *err)
{
    int longest = begin(e, tokens, count, 1, err);
    if (longest <= 0) return longest;
    for (int t0 = 0; t0 < longest; t0 += e->d.chunk)
        process_chunk(e, t0, longest);
    if (mark_seen(e, err)) return -1;
    for (int b = 0; b < e->batch; b++) {
        int processed = e->sequence[b].processed;
        e->idle[b] = count[b] == 0;
        e->sequence[b].done = e->idle[b];
        e->at[b] = processed > 0 ? processed - 1 : 0;
    }
    decoder_start(&e->d, e->idle);
    decoder_set_positions(&e->d, e->at);
    decoder_sample(&e->d);
    engine_send(e, e->columns);
    return engine_take(e, e->columns++);
}

/* --- scores ------------------------------------------------------------------------- */

// Logits of rows r0 .. of a chunk of T tokens, to the sink, without padding and without a
// token that was sampled before this call.
static int give_logits(
    rg_engine *e, const int *count, int t0, int T, int r0, int rows, rg_sink *sink,
    void *user)
{
    size_t V = (size_t)e->info.shape.vocab;
    decoder_logits(&e->d, r0, rows);
    decoder_download(&e->d, e->h_logits, e->d.logits, (size_t)rows * V * sizeof(float));
    for (int r = r0; r < r0 + rows; r++) {
        int b = r / T, t = r % T, at = t0 + t - (e->count[b] - count[b]);
        if (t >= in_chunk(e, b, t0) || at < 0) continue;
        if (sink(user, b, at, e->h_logits + (size_t)(r - r0) * V, (int)V)) return -1;
    }
    return 0;
}

static int
score_chunk(rg_engine *e, const int *count, int t0, int T, rg_sink *sink, void *user)
{
    int R = e->batch * T, most = e->d.set.score_rows;
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
    size_t row_bytes = (size_t)e->info.shape.vocab * sizeof(float);
    size_t bytes = (size_t)e->d.set.score_rows * row_bytes;
    if (!e->h_logits) CUDA_CHECK(cudaMallocHost((void **)&e->h_logits, bytes));
    e->d.every_token = true;
    for (int t0 = 0; t0 < longest && !rc; t0 += e->d.chunk) {
        int T = process_chunk(e, t0, longest);
        rc = score_chunk(e, count, t0, T, sink, user);
    }
    e->d.every_token = false;
    for (int b = 0; b < e->batch; b++)  // a sink may have ended the call early
        if (count[b] > 0) e->sequence[b].length = e->sequence[b].processed;
    return rc;
}
